/* SPDX-License-Identifier: Apache-2.0 */
/* Diagnoses in the state; see diagnoses_kept.h. A row's document is what
 * diagnosis_show() gives. */
#include <config.h>

#include "controller/diagnoses_kept.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "controller/diagnoses_private.h"
#include "controller/write_behind.h"

struct diagnoses_kept {
    struct diagnoses *diagnoses;
    struct state_store *state;
    struct write_behind *rows;
};

/* --- Reading ---------------------------------------------------------------- */

static const char *
text_member(const json_t *document, const char *key)
{
    return json_string_value(json_object_get(document, key));
}

static struct ef_time
time_member(const json_t *document, const char *key)
{
    struct ef_time t = {0};
    const char *text = text_member(document, key);
    if (text) {
        ef_time_parse(text, ef_time_real(), &t, NULL);
    }
    return t;
}

static int
find_state(const char *name)
{
    for (int i = 0; name && diagnosis_state_names[i]; i++) {
        if (!strcmp(diagnosis_state_names[i], name)) {
            return i;
        }
    }
    return -1;
}

static const struct diagnosis_app *
find_app(const char *name)
{
    for (size_t i = 0; name && diagnosis_apps[i]; i++) {
        if (!strcmp(diagnosis_apps[i]->name, name)) {
            return diagnosis_apps[i];
        }
    }
    return NULL;
}

/* `value` if it is of that type, or an empty one; new reference. */
static json_t *
part(json_t *value, json_type type)
{
    return value && json_typeof(value) == type ? json_incref(value) : type == JSON_ARRAY ? json_array() : json_object();
}

/* One that another controller had, or NULL. */
static struct diagnosis *
read_diagnosis(struct diagnoses *diagnoses, const char *id, const json_t *document)
{
    const char *error = text_member(document, "error"), *origin = text_member(document, "origin");
    const struct diagnosis_app *app = find_app(text_member(document, "app"));
    int state = find_state(text_member(document, "state"));
    json_t *verdict = json_object_get(document, "verdict");
    if (!app || !origin || state < 0 || strlen(id) != 16) {
        return NULL;
    }
    struct diagnosis *d = calloc(1, sizeof *d);
    if (!d) {
        abort(); /* Control path. */
    }
    d->diagnoses = diagnoses;
    d->app = app;
    d->origin = strcmp(origin, "watcher") ? "operator" : "watcher";
    d->state = (enum diagnosis_state) state;
    snprintf(d->id, sizeof d->id, "%s", id);
    snprintf(d->error, sizeof d->error, "%s", error ? error : "");
    d->options = part(json_object_get(document, "options"), JSON_OBJECT);
    d->progress = part(json_object_get(document, "progress"), JSON_ARRAY);
    d->evidence = part(json_object_get(document, "evidence"), JSON_OBJECT);
    d->verdict = json_is_object(verdict) ? json_incref(verdict) : NULL;
    d->created = time_member(document, "created");
    d->ended = time_member(document, "ended");
    return d;
}

/* The active controller knows its diagnoses better than what it wrote of them. */
static void
on_row_changed(void *ctx, const char *id, json_t *document)
{
    struct diagnoses_kept *k = ctx;
    struct diagnosis *have = diagnoses_find(k->diagnoses, id), *read;
    bool runs = find_state(text_member(document, "state")) == DIAGNOSIS_RUNNING;
    if (state_is_active(k->state) || (have && have->deadline && runs)) {
        return; /* Our own, when the database was away for a moment. */
    }
    read = document ? read_diagnosis(k->diagnoses, id, document) : NULL;
    if (document && !read) {
        ef_log_warn("diagnoses", "%.20s: a row that is no diagnosis; it is left alone", id);
        return;
    }
    if (have) {
        diagnosis_stop(have, "another controller took over, and ended it"); /* If it runs here. */
        diagnosis_remove(have);
    }
    write_behind_forget(k->rows, id);
    if (read) {
        diagnosis_insert(k->diagnoses, read);
    }
}

/* --- Writing ---------------------------------------------------------------- */

static json_t *
document_of(void *ctx, const char *id)
{
    const struct diagnoses_kept *k = ctx;
    const struct diagnosis *d = diagnoses_find(k->diagnoses, id);
    return d ? diagnosis_show(d) : NULL;
}

void
diagnoses_kept_changed(struct diagnoses_kept *k, const char *id, bool now)
{
    if (k) {
        write_behind_note(k->rows, id, now);
    }
}

void
diagnoses_kept_put(struct diagnoses_kept *k, const struct diagnosis *d, state_done *done, void *ctx)
{
    write_behind_put(k->rows, d->id, diagnosis_show(d), done, ctx);
}

/* What ran elsewhere runs no more: its controller has ended, or is not the active one. */
static void
on_role_changed(void *ctx, bool is_active)
{
    struct diagnoses_kept *k = ctx;
    struct diagnosis *d;
    TAILQ_FOREACH(d, &k->diagnoses->list, next)
    {
        if (is_active && d->state == DIAGNOSIS_RUNNING && !d->deadline) {
            d->state = DIAGNOSIS_FAILED;
            d->ended = ef_time_real();
            snprintf(d->error, sizeof d->error,
                     "interrupted: the controller that worked on it ended, or lost its database; order it again");
            write_behind_note(k->rows, d->id, true);
        }
    }
}

/* --- Life ------------------------------------------------------------------- */

struct diagnoses_kept *
diagnoses_kept_create(struct event_base *base, struct diagnoses *diagnoses, struct state_store *state)
{
    struct diagnoses_kept *k = calloc(1, sizeof *k);
    if (!k) {
        abort(); /* Control path, at the start. */
    }
    k->diagnoses = diagnoses;
    k->state = state;
    state_watch(state, STATE_DIAGNOSIS, on_row_changed, k);
    k->rows = write_behind_create(base, state, STATE_DIAGNOSIS, document_of, k);
    state_watch_role(state, on_role_changed, k);
    diagnoses->kept = k;
    return k;
}

void
diagnoses_kept_destroy(struct diagnoses_kept *k)
{
    if (k) {
        k->diagnoses->kept = NULL;
        write_behind_destroy(k->rows);
        free(k);
    }
}
