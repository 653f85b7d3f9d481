/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that follow what is in memory; see write_behind.h. */
#include <config.h>

#include "controller/write_behind.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

enum { LATER_S = 5 };

/* A row on its way. */
struct writing {
    TAILQ_ENTRY(writing) next;
    struct write_behind *rows;
    char *key;
    state_done *done; /* NULL: nobody waits. */
    void *ctx;
};

struct write_behind {
    struct state_store *state;
    enum state_table table;
    write_behind_document *document_of;
    void *ctx;
    struct event *timer;
    json_t *changed; /* {key: true}: to be written. */
    TAILQ_HEAD(, writing) on_way;
};

static bool
is_on_way(const struct write_behind *rows, const char *key)
{
    const struct writing *w;
    TAILQ_FOREACH(w, &rows->on_way, next)
    {
        if (!strcmp(w->key, key)) {
            return true;
        }
    }
    return false;
}

static void
writing_free(struct writing *w)
{
    TAILQ_REMOVE(&w->rows->on_way, w, next);
    free(w->key);
    free(w);
}

static void
look_later(struct write_behind *rows)
{
    static const struct timeval later = {.tv_sec = LATER_S};
    if (json_object_size(rows->changed) && !evtimer_pending(rows->timer, NULL)) {
        evtimer_add(rows->timer, &later);
    }
}

static void write_one(struct write_behind *rows, const char *key);

static void
on_written(void *ctx, const char *error)
{
    struct writing *w = ctx;
    struct write_behind *rows = w->rows;
    char *key = w->key;
    state_done *done = w->done;
    void *done_ctx = w->ctx;
    w->key = NULL;
    writing_free(w);
    if (error && !done) {
        json_object_set_new(rows->changed, key, json_true()); /* Once more, when it can be. */
    }
    if (done) {
        done(done_ctx, error);
    }
    if (!error && json_object_get(rows->changed, key)) {
        write_one(rows, key);
    }
    look_later(rows);
    free(key);
}

/* `document` NULL: the row goes. Taken over. */
static void
send_row(struct write_behind *rows, const char *key, json_t *document, state_done *done, void *ctx)
{
    struct writing *w = malloc(sizeof *w);
    if (!w) {
        abort(); /* Control path. */
    }
    *w = (struct writing){.rows = rows, .key = strdup(key), .done = done, .ctx = ctx};
    if (!w->key) {
        abort(); /* Control path. */
    }
    TAILQ_INSERT_TAIL(&rows->on_way, w, next);
    if (document) {
        state_put(rows->state, rows->table, key, document, on_written, w);
    } else {
        state_delete(rows->state, rows->table, key, on_written, w);
    }
}

/* Writes what `key` is now, if the row differs, and nothing of it is on its way. */
static void
write_one(struct write_behind *rows, const char *key)
{
    if (!state_is_active(rows->state) || is_on_way(rows, key)) {
        return;
    }
    json_t *document = rows->document_of(rows->ctx, key), *row = state_get(rows->state, rows->table, key);
    bool is_same = document && row ? json_equal(document, row) : !document && !row;
    if (is_same) {
        json_decref(document);
    } else {
        send_row(rows, key, document, NULL, NULL);
    }
    json_object_del(rows->changed, key);
}

static void
write_all(struct write_behind *rows)
{
    const char *key;
    json_t *value;
    json_t *changed = json_copy(rows->changed); /* Each that is written leaves the original. */
    json_object_foreach(changed, key, value)
    {
        write_one(rows, key);
    }
    json_decref(changed);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
    write_all(arg);
    look_later(arg);
}

static void
on_role_changed(void *ctx, bool is_active)
{
    if (is_active) {
        write_all(ctx);
    }
}

void
write_behind_note(struct write_behind *rows, const char *key, bool now)
{
    json_object_set_new(rows->changed, key, json_true());
    if (now) {
        write_one(rows, key);
    }
    look_later(rows);
}

void
write_behind_forget(struct write_behind *rows, const char *key)
{
    json_object_del(rows->changed, key);
}

void
write_behind_put(struct write_behind *rows, const char *key, json_t *document, state_done *done, void *ctx)
{
    send_row(rows, key, document, done, ctx);
}

struct write_behind *
write_behind_create(struct event_base *base, struct state_store *state, enum state_table table,
                    write_behind_document *document_of, void *ctx)
{
    struct write_behind *rows = calloc(1, sizeof *rows);
    if (!rows || !(rows->timer = evtimer_new(base, on_timer, rows)) || !(rows->changed = json_object())) {
        abort(); /* Control path, at the start. */
    }
    rows->state = state;
    rows->table = table;
    rows->document_of = document_of;
    rows->ctx = ctx;
    TAILQ_INIT(&rows->on_way);
    state_watch_role(state, on_role_changed, rows);
    return rows;
}

void
write_behind_destroy(struct write_behind *rows)
{
    if (rows) {
        while (!TAILQ_EMPTY(&rows->on_way)) {
            writing_free(TAILQ_FIRST(&rows->on_way));
        }
        event_free(rows->timer);
        json_decref(rows->changed);
        free(rows);
    }
}
