/* SPDX-License-Identifier: Apache-2.0 */
/* The controller's state: following the database, changes on their way, and who is
 * active; see state.h. */
#include <config.h>

#include "controller/state.h"

#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/log.h"
#include "base/time.h"
#include "controller/state_copy.h"
#include "controller/state_operations.h"
#include "controller/text.h"
#include "net/ovsdb_client.h"

/* A new leader is looked for at once and often: there is one 3 s after the old
 * one's death. */
enum { PROBE_MS = 1000, BACKOFF_MIN_MS = 50, BACKOFF_MAX_MS = 250 };

static const char lock_name[] = "everflow_controller", active_key[] = "active";

struct watcher {
    TAILQ_ENTRY(watcher) next;
    enum state_table table;
    state_changed *changed;
    state_role_changed *role_changed; /* One of both. */
    void *ctx;
};

/* A change on its way. */
struct change {
    TAILQ_ENTRY(change) next;
    struct state_store *state;
    enum state_table table;
    char *key;
    json_t *document; /* Memory only: to be put; NULL: deleted. */
    state_done *done; /* NULL: not waited for any more. */
    void *ctx;
    const char *refused;    /* Not even sent. */
    struct event *deadline; /* Or the moment to do it. */
    bool sent;              /* The client will answer. */
};

struct state_store {
    struct event_base *base;
    struct ef_ovsdb_client *client; /* NULL: memory only. */
    const char *self;
    struct state_copy tables[STATE_N_TABLES];
    TAILQ_HEAD(, watcher) watchers;
    TAILQ_HEAD(, change) changes;
    bool is_ready;  /* The rows are those of the database now. */
    bool was_ready; /* Some time before. */
    bool is_active, is_activating;
};

/* --- Telling ------------------------------------------------------------------ */

static void
tell_row(struct state_store *s, enum state_table table, const char *key, json_t *document)
{
    struct watcher *w;
    TAILQ_FOREACH(w, &s->watchers, next)
    {
        if (w->changed && w->table == table) {
            w->changed(w->ctx, key, document);
        }
    }
}

/* Watchers may cause further changes, which then are told in their own time. */
static void
tell_changes(struct state_store *s)
{
    for (enum state_table table = 0; table < STATE_N_TABLES; table++) {
        const char *key;
        json_t *document, *changes = state_copy_changes(&s->tables[table]);
        json_object_foreach(changes, key, document)
        {
            tell_row(s, table, key, json_is_null(document) ? NULL : document);
        }
        json_decref(changes);
    }
}

static void
set_active(struct state_store *s, bool is_active)
{
    if (s->is_active == is_active) {
        return;
    }
    s->is_active = is_active;
    if (is_active) {
        ef_log_info("state", "this controller is the active one");
    } else {
        ef_log_warn("state", "this controller is not the active one any more");
    }
    struct watcher *w;
    TAILQ_FOREACH(w, &s->watchers, next)
    {
        if (w->role_changed) {
            w->role_changed(w->ctx, is_active);
        }
    }
}

/* --- Following the database --------------------------------------------------- */

/* All that others changed before we had the lock has come now, too. */
static void
on_activated(void *ctx, const char *error)
{
    struct state_store *s = ctx;
    s->is_activating = false;
    if (!error && ef_ovsdb_client_has_lock(s->client)) {
        set_active(s, true);
    } else {
        ef_log_warn("state", "cannot become the active one: %s", error ? error : "the lock was lost");
    }
}

static void
become_active(struct state_store *s)
{
    char since[EF_TIME_TEXT_SIZE];
    json_t *document = json_pack("{s:s?, s:s}", "listen", s->self, "since", ef_time_format(ef_time_real(), since));
    json_t *operations = state_operations_put(STATE_SETTING, active_key, document, lock_name);
    json_decref(document);
    s->is_activating = !ef_ovsdb_client_transact(s->client, operations, on_activated, s);
}

static void
on_database_changed(void *ctx)
{
    struct state_store *s = ctx;
    if (!s->client) {
        return; /* Still inside state_create(). */
    }
    bool was_ready = s->is_ready;
    s->is_ready = ef_ovsdb_client_state(s->client) == EF_OVSDB_READY;
    if (!s->is_ready) {
        if (was_ready) {
            ef_log_warn("state", "%s", ef_ovsdb_client_error(s->client));
        }
        set_active(s, false);
        return;
    }
    if (!was_ready) {
        ef_log_info("state", "follows %s", ef_ovsdb_client_remote(s->client));
        for (enum state_table table = 0; table < STATE_N_TABLES; table++) {
            const char *name = state_tables[table].name;
            state_copy_take_all(&s->tables[table], name, ef_ovsdb_client_rows(s->client, name));
        }
    }
    tell_changes(s);
    s->was_ready = true;
    if (!ef_ovsdb_client_has_lock(s->client)) {
        set_active(s, false);
    } else if (!s->is_active && !s->is_activating) {
        become_active(s);
    }
}

static void
on_row_changed(void *ctx, const char *table_name, const char *uuid, json_t *row)
{
    struct state_store *s = ctx;
    for (enum state_table table = 0; table < STATE_N_TABLES; table++) {
        if (!strcmp(state_tables[table].name, table_name)) {
            if (row) {
                state_copy_take_row(&s->tables[table], table_name, uuid, row);
            } else {
                state_copy_drop_row(&s->tables[table], uuid);
            }
        }
    }
}

/* --- Changing ----------------------------------------------------------------- */

static void
change_free(struct change *c)
{
    TAILQ_REMOVE(&c->state->changes, c, next);
    event_free(c->deadline);
    json_decref(c->document);
    free(c->key);
    free(c);
}

static void
answer(struct change *c, const char *error)
{
    state_done *done = c->done;
    c->done = NULL;
    if (done) {
        done(c->ctx, error);
    }
}

/* What the database refused, in words for the one who asked for the change. */
static void
on_committed(void *ctx, const char *error)
{
    struct change *c = ctx;
    char text[800];
    if (error == ef_ovsdb_lost) {
        snprintf(text, sizeof text,
                 "the connection to the controller's database was lost: whether the change was made is not known; "
                 "look, and repeat it");
    } else if (error) {
        snprintf(text, sizeof text, "the controller's database refuses the change: %.500s", error);
    }
    c->sent = false;
    answer(c, error ? text_make_printable(text) : NULL);
    change_free(c);
}

static void
on_deadline(evutil_socket_t fd, short what, void *arg)
{
    struct change *c = arg;
    char why[800];
    if (c->sent) {
        /* In a cluster without a majority nobody says no. The answer may still come. */
        answer(c, "the controller's database did not answer within 5 s: whether the change was made is not known; "
                  "look, and repeat it; of a cluster, most servers must run");
        return;
    }
    if (c->refused) {
        snprintf(why, sizeof why, "%s", c->refused);
        answer(c, why);
    } else if (c->state->client) {
        answer(c, state_refuses(c->state, why, sizeof why) ? why : "the role has just changed; repeat it");
    } else {
        state_copy_keep(&c->state->tables[c->table], c->key, c->document);
        tell_changes(c->state);
        answer(c, NULL);
    }
    change_free(c);
}

static const char *
why_refused(const char *key, const json_t *document)
{
    size_t len = strlen(key);
    if (!len || len > STATE_MAX_KEY_BYTES) {
        return "a key has from 1 to 255 bytes";
    }
    return document && json_dumpb(document, NULL, 0, JSON_COMPACT) > STATE_MAX_DOCUMENT_BYTES
               ? "the document has more than 4 MiB"
               : NULL;
}

/* `document` NULL: delete. Taken over. */
static void
change_row(struct state_store *s, enum state_table table, const char *key, json_t *document, state_done *done,
           void *ctx)
{
    struct change *c = calloc(1, sizeof *c);
    if (!c || !(c->deadline = evtimer_new(s->base, on_deadline, c)) || !(c->key = strdup(key))) {
        abort(); /* Control path. */
    }
    c->state = s;
    c->table = table;
    c->document = document;
    c->done = done;
    c->ctx = ctx;
    c->refused = why_refused(key, document);
    TAILQ_INSERT_TAIL(&s->changes, c, next);
    if (!c->refused && s->client && s->is_active) {
        json_t *operations = document ? state_operations_put(table, key, document, lock_name)
                                      : state_operations_delete(table, key, lock_name);
        c->sent = !ef_ovsdb_client_transact(s->client, operations, on_committed, c);
    }
    if (c->sent) {
        static const struct timeval deadline = {STATE_PUT_DEADLINE_MS / 1000, STATE_PUT_DEADLINE_MS % 1000 * 1000};
        event_add(c->deadline, &deadline);
    } else {
        event_active(c->deadline, EV_TIMEOUT, 1); /* Those of one moment in their order. */
    }
}

void
state_put(struct state_store *s, enum state_table table, const char *key, json_t *document, state_done *done, void *ctx)
{
    change_row(s, table, key, document, done, ctx);
}

void
state_delete(struct state_store *s, enum state_table table, const char *key, state_done *done, void *ctx)
{
    change_row(s, table, key, NULL, done, ctx);
}

/* --- Reading ------------------------------------------------------------------ */

json_t *
state_get(const struct state_store *s, enum state_table table, const char *key)
{
    return json_object_get(s->tables[table].documents, key);
}

json_t *
state_rows(const struct state_store *s, enum state_table table)
{
    return s->tables[table].documents;
}

bool
state_is_active(const struct state_store *s)
{
    return s->is_active;
}

bool
state_is_first_load(const struct state_store *s)
{
    return s->client && !s->was_ready;
}

bool
state_is_durable(const struct state_store *s)
{
    return s->client;
}

bool
state_refuses(const struct state_store *s, char *buf, size_t size)
{
    const char *active = json_string_value(json_object_get(state_get(s, STATE_SETTING, active_key), "listen"));
    if (s->is_active) {
        return false;
    }
    if (!s->is_ready) {
        snprintf(buf, size,
                 "the controller's database is not reachable (%.300s): nothing was changed; start its ovsdb-server, or "
                 "of a cluster most of them",
                 ef_ovsdb_client_error(s->client));
    } else if (s->is_activating || ef_ovsdb_client_has_lock(s->client)) {
        snprintf(buf, size, "this controller is about to become the active one: nothing was changed; repeat it");
    } else {
        snprintf(buf, size, "this controller is the standby: nothing was changed; ask the active one%s%.200s",
                 active ? ", " : "", active ? active : "");
    }
    text_make_printable(buf);
    return true;
}

json_t *
state_show(const struct state_store *s)
{
    json_t *rows = json_object();
    for (enum state_table table = 0; table < STATE_N_TABLES; table++) {
        json_int_t n = (json_int_t) json_object_size(s->tables[table].documents);
        json_object_set_new(rows, state_tables[table].name, json_integer(n));
    }
    json_t *active = state_get(s, STATE_SETTING, active_key);
    const char *error = s->client && !s->is_ready ? ef_ovsdb_client_error(s->client) : NULL;
    return json_pack("{s:s, s:s, s:s?, s:b, s:s?, s:O?, s:o}", "kept", s->client ? "database" : "memory", "role",
                     s->is_active ? "active" : "standby", "database",
                     s->client ? ef_ovsdb_client_remote(s->client) : NULL, "connected", s->client && s->is_ready,
                     "error", error && *error ? error : NULL, "active", active, "rows", rows);
}

/* --- Watching ----------------------------------------------------------------- */

static struct watcher *
add_watcher(struct state_store *s, void *ctx)
{
    struct watcher *w = calloc(1, sizeof *w);
    if (!w) {
        abort(); /* Control path. */
    }
    w->ctx = ctx;
    TAILQ_INSERT_TAIL(&s->watchers, w, next);
    return w;
}

void
state_watch(struct state_store *s, enum state_table table, state_changed *changed, void *ctx)
{
    struct watcher *w = add_watcher(s, ctx);
    w->table = table;
    w->changed = changed;
}

void
state_watch_role(struct state_store *s, state_role_changed *changed, void *ctx)
{
    add_watcher(s, ctx)->role_changed = changed;
}

/* --- Life --------------------------------------------------------------------- */

static int
create_client(struct state_store *s, const struct state_config *config, struct ef_error *err)
{
    struct ef_ovsdb_config client = {
        .remote = config->database,
        .database = STATE_DATABASE,
        .tables = state_operations_monitored(),
        .tls = config->tls,
        .lock = lock_name,
        .leader_only = true,
        .changed = on_database_changed,
        .row_changed = on_row_changed,
        .ctx = s,
        .probe_ms = PROBE_MS,
        .backoff_min_ms = BACKOFF_MIN_MS,
        .backoff_max_ms = BACKOFF_MAX_MS,
    };
    return ef_ovsdb_client_create(s->base, &client, &s->client, err);
}

int
state_create(struct event_base *base, const struct state_config *config, struct state_store **out, struct ef_error *err)
{
    struct state_store *s = calloc(1, sizeof *s);
    if (!s) {
        return ef_error_set(err, -ENOMEM, "out of memory");
    }
    s->base = base;
    s->self = config->self;
    TAILQ_INIT(&s->watchers);
    TAILQ_INIT(&s->changes);
    for (enum state_table table = 0; table < STATE_N_TABLES; table++) {
        state_copy_init(&s->tables[table]);
    }
    int rc = config->database ? create_client(s, config, err) : 0;
    if (rc) {
        state_destroy(s);
        return rc;
    }
    s->is_active = !config->database;
    *out = s;
    return 0;
}

void
state_destroy(struct state_store *s)
{
    if (!s) {
        return;
    }
    ef_ovsdb_client_destroy(s->client);
    while (!TAILQ_EMPTY(&s->changes)) {
        change_free(TAILQ_FIRST(&s->changes));
    }
    while (!TAILQ_EMPTY(&s->watchers)) {
        struct watcher *w = TAILQ_FIRST(&s->watchers);
        TAILQ_REMOVE(&s->watchers, w, next);
        free(w);
    }
    for (enum state_table table = 0; table < STATE_N_TABLES; table++) {
        state_copy_deinit(&s->tables[table]);
    }
    free(s);
}
