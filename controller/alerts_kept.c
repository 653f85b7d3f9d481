/* SPDX-License-Identifier: Apache-2.0 */
/* Alerts in the state; see alerts_kept.h. A row's document is what alert_show()
 * gives. */
#include <config.h>

#include "controller/alerts_kept.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "controller/alerts_private.h"
#include "controller/state.h"
#include "controller/write_behind.h"

struct alerts_kept {
    struct alerts *alerts;
    struct state_store *state;
    struct write_behind *rows;
    TAILQ_HEAD(, waiting) waiting;
};

/* A change by hand on its way. */
struct waiting {
    TAILQ_ENTRY(waiting) next;
    struct alerts_kept *kept;
    json_t *document;
    alerts_kept_done *done;
    void *ctx;
};

/* --- Reading ---------------------------------------------------------------- */

/* The number of `name` in the NULL-terminated `names`, or -1. */
static int
find_name(const char *const names[], const char *name)
{
    for (int i = 0; name && names[i]; i++) {
        if (!strcmp(names[i], name)) {
            return i;
        }
    }
    return -1;
}

static struct ef_time
time_member(const json_t *document, const char *key)
{
    struct ef_time t = {0};
    const char *text = json_string_value(json_object_get(document, key));
    if (text) {
        ef_time_parse(text, ef_time_real(), &t, NULL);
    }
    return t;
}

static const char *
text_member(const json_t *document, const char *key)
{
    return json_string_value(json_object_get(document, key));
}

static void
read_acknowledgement(struct alert *a, const json_t *document)
{
    a->acknowledged = time_member(document, "acknowledged");
    alert_copy_text(a->acknowledged_by, sizeof a->acknowledged_by, text_member(document, "acknowledged_by"));
}

/* How far it has come, which a person may have said. */
static void
read_state(struct alert *a, const json_t *document)
{
    a->state = (enum alert_state) find_name(alert_state_names, text_member(document, "state"));
    read_acknowledgement(a, document);
    a->resolved = time_member(document, "resolved");
    alert_copy_text(a->resolved_why, sizeof a->resolved_why, text_member(document, "resolved_why"));
}

static void
read_alert(struct alert *a, const json_t *document)
{
    json_t *evidence = json_object_get(document, "evidence");
    json_int_t count = json_integer_value(json_object_get(document, "count"));
    alert_copy_text(a->id, sizeof a->id, text_member(document, "id"));
    alert_copy_text(a->kind, sizeof a->kind, text_member(document, "kind"));
    alert_copy_text(a->subject, sizeof a->subject, text_member(document, "subject"));
    alert_copy_text(a->summary, sizeof a->summary, text_member(document, "summary"));
    a->severity = (enum alert_severity) find_name(alert_severity_names, text_member(document, "severity"));
    json_decref(a->evidence);
    a->evidence = json_is_object(evidence) ? json_incref(evidence) : NULL;
    a->count = count > 0 ? (uint64_t) count : 0;
    a->first = time_member(document, "first");
    a->last = time_member(document, "last");
    read_state(a, document);
}

static bool
is_alert(const char *id, const json_t *document)
{
    const char *own = text_member(document, "id");
    return own && !strcmp(own, id) && strlen(id) == 16 && text_member(document, "kind") &&
           text_member(document, "subject") && find_name(alert_state_names, text_member(document, "state")) >= 0 &&
           find_name(alert_severity_names, text_member(document, "severity")) >= 0;
}

/* Oldest first, in whatever order rows are told. */
static void
put_in_order(struct alert *a)
{
    struct alert *before;
    TAILQ_REMOVE(&a->alerts->list, a, next);
    TAILQ_FOREACH_REVERSE(before, &a->alerts->list, alert_list, next)
    {
        if (!ef_time_before(a->first, before->first)) {
            TAILQ_INSERT_AFTER(&a->alerts->list, before, a, next);
            return;
        }
    }
    TAILQ_INSERT_HEAD(&a->alerts->list, a, next);
}

/* The active controller knows its alerts better than what it wrote of them. */
static void
on_row_changed(void *ctx, const char *id, json_t *document)
{
    struct alerts_kept *k = ctx;
    if (state_is_active(k->state)) {
        return;
    }
    struct alert *a = alerts_find(k->alerts, id);
    write_behind_forget(k->rows, id);
    if (document && !is_alert(id, document)) {
        ef_log_warn("alerts", "%.20s: a row that is no alert; it is left alone", id);
    } else if (document) {
        a = a ? a : alert_insert(k->alerts);
        read_alert(a, document);
        put_in_order(a);
        if (!state_is_first_load(k->state)) {
            alert_tell(a);
        }
    } else if (a) {
        alert_remove(a);
    }
}

/* --- Writing ---------------------------------------------------------------- */

static json_t *
document_of(void *ctx, const char *id)
{
    const struct alerts_kept *k = ctx;
    const struct alert *a = alerts_find(k->alerts, id);
    return a ? alert_show(a) : NULL;
}

void
alerts_kept_changed(struct alerts_kept *k, const struct alert *a)
{
    const json_t *row = k ? state_get(k->state, STATE_ALERT, a->id) : NULL;
    bool is_more = !row || find_name(alert_state_names, text_member(row, "state")) != (int) a->state ||
                   find_name(alert_severity_names, text_member(row, "severity")) != (int) a->severity;
    if (k) {
        write_behind_note(k->rows, a->id, is_more);
    }
}

void
alerts_kept_forgotten(struct alerts_kept *k, const char *id)
{
    if (k) {
        write_behind_note(k->rows, id, true);
    }
}

/* --- By hand ---------------------------------------------------------------- */

static void
waiting_free(struct waiting *w)
{
    TAILQ_REMOVE(&w->kept->waiting, w, next);
    json_decref(w->document);
    free(w);
}

static void
on_kept(void *ctx, const char *error)
{
    struct waiting *w = ctx;
    struct alert *a = alerts_find(w->kept->alerts, text_member(w->document, "id"));
    if (!error && a) {
        if (a->state == ALERT_RESOLVED) { /* Meanwhile, by itself; who acknowledged it is to be known all the same. */
            read_acknowledgement(a, w->document);
        } else {
            read_state(a, w->document);
        }
        alert_tell(a);
        alerts_kept_changed(w->kept, a);
    }
    w->done(w->ctx, error ? NULL : w->document, error);
    waiting_free(w);
}

/* Keeps `a` as it would be in `state`, since now, by or because of `text`. */
static bool
keep_changed(struct alerts_kept *k, const struct alert *a, enum alert_state state, const char *text_key,
             const char *text, alerts_kept_done *done, void *ctx)
{
    char now[EF_TIME_TEXT_SIZE], shown[ALERT_WHY_SIZE];
    struct waiting *w = malloc(sizeof *w);
    if (!w) {
        abort(); /* Control path. */
    }
    *w = (struct waiting){.kept = k, .document = alert_show(a), .done = done, .ctx = ctx};
    if (a->state < state) { /* Acknowledged once more, it stays as it is. */
        const char *name = alert_state_names[state];
        alert_copy_text(shown, state == ALERT_RESOLVED ? ALERT_WHY_SIZE : ALERT_BY_SIZE, text);
        json_object_set_new(w->document, "state", json_string(name));
        json_object_set_new(w->document, name, json_string(ef_time_format(ef_time_real(), now)));
        json_object_set_new(w->document, text_key, *shown ? json_string(shown) : json_null());
    }
    TAILQ_INSERT_TAIL(&k->waiting, w, next);
    write_behind_put(k->rows, a->id, json_incref(w->document), on_kept, w);
    return true;
}

bool
alerts_kept_acknowledge(struct alerts_kept *k, const struct alert *a, const char *by, alerts_kept_done *done, void *ctx)
{
    return a->state != ALERT_RESOLVED && keep_changed(k, a, ALERT_ACKNOWLEDGED, "acknowledged_by", by, done, ctx);
}

bool
alerts_kept_resolve(struct alerts_kept *k, const struct alert *a, const char *why, alerts_kept_done *done, void *ctx)
{
    return a->state != ALERT_RESOLVED && keep_changed(k, a, ALERT_RESOLVED, "resolved_why", why, done, ctx);
}

/* --- Life ------------------------------------------------------------------- */

struct alerts_kept *
alerts_kept_create(struct event_base *base, struct alerts *alerts, struct state_store *state)
{
    struct alerts_kept *k = calloc(1, sizeof *k);
    if (!k) {
        abort(); /* Control path, at the start. */
    }
    k->alerts = alerts;
    k->state = state;
    TAILQ_INIT(&k->waiting);
    state_watch(state, STATE_ALERT, on_row_changed, k);
    k->rows = write_behind_create(base, state, STATE_ALERT, document_of, k);
    alerts->kept = k;
    return k;
}

void
alerts_kept_destroy(struct alerts_kept *k)
{
    if (k) {
        k->alerts->kept = NULL;
        write_behind_destroy(k->rows);
        while (!TAILQ_EMPTY(&k->waiting)) {
            waiting_free(TAILQ_FIRST(&k->waiting));
        }
        free(k);
    }
}
