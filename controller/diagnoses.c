/* SPDX-License-Identifier: Apache-2.0 */
/* What all applications have in common; see diagnoses.h. */
#include <config.h>

#include "controller/diagnoses_private.h"

#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/log.h"
#include "base/options.h"
#include "base/time.h"
#include "controller/controller.h"
#include "controller/document.h"
#include "controller/text.h"

const char *const diagnosis_state_names[] = {"running", "done", "stopped", "failed", NULL};

/* --- The end -------------------------------------------------------------- */

static void
end(struct diagnosis *d, enum diagnosis_state state)
{
    struct diagnoses_counts *counts = &d->diagnoses->counts;
    void *app_state = d->app_state;
    d->state = state;
    d->ended = ef_time_real();
    d->app_state = NULL;
    event_free(d->deadline);
    d->deadline = NULL;
    counts->running--;
    *(state == DIAGNOSIS_DONE ? &counts->done : state == DIAGNOSIS_STOPPED ? &counts->stopped : &counts->failed) += 1;
    if (app_state) {
        d->app->end(app_state);
    }
    const char *summary = json_string_value(json_object_get(d->verdict, "summary"));
    ef_log_info("diagnoses", "%s %s: %s: %s", d->app->name, d->id, diagnosis_state_names[state],
                summary ? summary : d->error);
    diagnoses_kept_changed(d->diagnoses->kept, d->id, true);
    if (d->told) {
        d->told(d->told_ctx, d);
    }
}

static json_t *
show_persistence(const struct verdict *v)
{
    return v->persistence == VERDICT_UNKNOWN ? json_null() : json_boolean(v->persistence == VERDICT_PERSISTENT);
}

static void
set_verdict(struct diagnosis *d, const struct verdict *v)
{
    char summary[sizeof v->summary];
    snprintf(summary, sizeof summary, "%s", v->summary);
    json_decref(d->verdict);
    d->verdict = json_pack("{s:s, s:s, s:s?, s:o?, s:s?, s:o, s:f, s:o?}", "summary", text_make_printable(summary),
                           "kind", v->kind, "device", v->device, "link", v->link, "class", v->class_text, "persistent",
                           show_persistence(v), "confidence", v->confidence, "details", v->details);
    if (!d->verdict) {
        abort(); /* Control path: out of memory. */
    }
}

void
diagnosis_finish(struct diagnosis *d, const struct verdict *v)
{
    set_verdict(d, v);
    end(d, DIAGNOSIS_DONE);
}

void
diagnosis_suspect(struct diagnosis *d, const struct verdict *v)
{
    set_verdict(d, v);
    diagnoses_kept_changed(d->diagnoses->kept, d->id, false);
    if (d->told) {
        d->told(d->told_ctx, d);
    }
}

void
diagnosis_fail(struct diagnosis *d, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(d->error, sizeof d->error, fmt, args);
    va_end(args);
    text_make_printable(d->error);
    end(d, DIAGNOSIS_FAILED);
}

void
diagnosis_stop(struct diagnosis *d, const char *why)
{
    if (d->state == DIAGNOSIS_RUNNING && d->deadline) { /* Here, that is. */
        snprintf(d->error, sizeof d->error, "%s", why);
        end(d, DIAGNOSIS_STOPPED);
    }
}

static void
on_deadline(evutil_socket_t fd, short what, void *ctx)
{
    diagnosis_fail(ctx, "there is no verdict at the deadline; see the progress for what was waited for");
}

/* --- For applications ----------------------------------------------------- */

struct controller *
diagnosis_controller(const struct diagnosis *d)
{
    return d->diagnoses->controller;
}

void *
diagnosis_state(const struct diagnosis *d)
{
    return d->app_state;
}

const char *
diagnosis_id(const struct diagnosis *d)
{
    return d->id;
}

void
diagnosis_progress(struct diagnosis *d, const char *fmt, ...)
{
    char text[400], now[EF_TIME_TEXT_SIZE];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (json_array_size(d->progress) >= DIAGNOSIS_MAX_PROGRESS) {
        json_array_remove(d->progress, 0);
    }
    json_array_append_new(d->progress, json_pack("{s:s, s:s}", "time", ef_time_format(ef_time_real(), now), "text",
                                                 text_make_printable(text)));
}

void
diagnosis_evidence_add(struct diagnosis *d, const char *key, json_t *value)
{
    json_t *list = json_object_get(d->evidence, key), *entry;
    size_t i;
    if (!json_is_array(list)) {
        list = json_array();
        json_object_set_new(d->evidence, key, list);
    }
    json_array_foreach(list, i, entry)
    {
        if (json_equal(entry, value)) {
            json_decref(value);
            return;
        }
    }
    if (json_array_size(list) < DIAGNOSIS_MAX_EVIDENCE) {
        json_array_append_new(list, value);
    } else {
        json_decref(value);
    }
}

void
diagnosis_evidence_set(struct diagnosis *d, const char *key, json_t *value)
{
    json_object_set_new(d->evidence, key, value);
}

json_t *
diagnosis_evidence(const struct diagnosis *d)
{
    return d->evidence;
}

/* The number of the port of the switch `from` that leads to `to`, or null. */
static json_t *
port_towards(const json_t *switches, const char *from, const char *to)
{
    size_t i, j;
    const json_t *node, *port;
    json_array_foreach((json_t *) switches, i, node)
    {
        const char *name = json_string_value(json_object_get(node, "name"));
        if (!name || strcmp(name, from)) {
            continue;
        }
        json_array_foreach(json_object_get(node, "ports"), j, port)
        {
            const char *peer = json_string_value(json_object_get(json_object_get(port, "peer"), "node"));
            if (peer && !strcmp(peer, to)) {
                return json_incref(json_object_get(port, "number"));
            }
        }
    }
    return NULL;
}

json_t *
diagnosis_link(const struct controller *c, const char *from, const char *to)
{
    const json_t *switches = json_object_get(c->topology.document, "switches");
    return json_pack("{s:s, s:o?, s:s, s:o?}", "from", from, "from_port", port_towards(switches, from, to), "to", to,
                     "to_port", port_towards(switches, to, from));
}

/* --- The start ------------------------------------------------------------ */

static const struct diagnosis_app *
find_app(const json_t *document, struct ef_error *err)
{
    const char *name, *names[16];
    size_t n = 0;
    struct doc_place root = {.value = (json_t *) document};
    if (!json_is_object(document)) {
        doc_error(&root, err, "the body should be an object");
        return NULL;
    }
    if (doc_string(&root, "app", NULL, &name, err)) {
        return NULL;
    }
    for (; diagnosis_apps[n] && n + 1 < EF_ARRAY_SIZE(names); n++) {
        names[n] = diagnosis_apps[n]->name;
        if (!strcmp(name, names[n])) {
            return diagnosis_apps[n];
        }
    }
    names[n] = NULL;
    const char *near = ef_nearest_word(name, names);
    ef_error_set(err, -EINVAL, "app: there is no '%.40s'%s%s", name, near ? "; did you mean " : "", near ? near : "");
    return NULL;
}

void
diagnosis_free(struct diagnosis *d)
{
    if (d->app_state) {
        d->app->end(d->app_state);
    }
    if (d->deadline) {
        event_free(d->deadline);
    }
    json_decref(d->options);
    json_decref(d->progress);
    json_decref(d->evidence);
    json_decref(d->verdict);
    free(d);
}

static struct diagnosis *
create(struct diagnoses *diagnoses, const struct diagnosis_app *app, const json_t *document, const char *origin)
{
    uint64_t id;
    struct diagnosis *d = calloc(1, sizeof *d);
    if (!d || getrandom(&id, sizeof id, 0) != sizeof id) {
        abort(); /* Control path. */
    }
    d->diagnoses = diagnoses;
    d->app = app;
    d->origin = origin;
    snprintf(d->id, sizeof d->id, "%016" PRIx64, id);
    d->options = json_deep_copy(document);
    json_object_del(d->options, "app");
    json_object_del(d->options, "deadline_s");
    d->progress = json_array();
    d->evidence = json_object();
    d->created = ef_time_real();
    d->deadline = evtimer_new(diagnoses->controller->base, on_deadline, d);
    if (!d->options || !d->progress || !d->evidence || !d->deadline) {
        abort(); /* Control path. */
    }
    return d;
}

void
diagnosis_remove(struct diagnosis *d)
{
    TAILQ_REMOVE(&d->diagnoses->list, d, next);
    d->diagnoses->n--;
    diagnosis_free(d);
}

static void
forget_oldest(struct diagnoses *diagnoses)
{
    struct diagnosis *d;
    TAILQ_FOREACH(d, &diagnoses->list, next)
    {
        if (d->state != DIAGNOSIS_RUNNING) {
            char id[sizeof d->id];
            memcpy(id, d->id, sizeof id);
            diagnosis_remove(d);
            diagnoses_kept_changed(diagnoses->kept, id, true);
            return;
        }
    }
}

void
diagnosis_insert(struct diagnoses *diagnoses, struct diagnosis *d)
{
    struct diagnosis *before;
    diagnoses->n++;
    TAILQ_FOREACH_REVERSE(before, &diagnoses->list, diagnosis_list, next)
    {
        if (!ef_time_before(d->created, before->created)) {
            TAILQ_INSERT_AFTER(&diagnoses->list, before, d, next);
            break;
        }
    }
    if (!before) {
        TAILQ_INSERT_HEAD(&diagnoses->list, d, next);
    }
    if (diagnoses->n > DIAGNOSES_MAX_KEPT) {
        forget_oldest(diagnoses);
    }
}

int
diagnoses_start(struct diagnoses *diagnoses, const json_t *document, const char *origin, struct diagnosis **out,
                struct ef_error *err)
{
    struct doc_place root = {.value = (json_t *) document};
    int64_t deadline_s;
    const struct diagnosis_app *app = find_app(document, err);
    if (!app || doc_integer(&root, "deadline_s", 1, DIAGNOSIS_MAX_DEADLINE_S, DIAGNOSIS_DEADLINE_S, &deadline_s, err)) {
        return -EINVAL;
    }
    if (diagnoses->counts.running >= DIAGNOSES_MAX_RUNNING) {
        return ef_error_set(err, -ENOSPC, "%d diagnoses are running; ask again later", DIAGNOSES_MAX_RUNNING);
    }
    struct diagnosis *d = create(diagnoses, app, document, origin);
    int rc = app->start(d, d->options, &d->app_state, err);
    if (rc) {
        diagnosis_free(d);
        return rc;
    }
    const struct timeval deadline = {deadline_s, 0};
    evtimer_add(d->deadline, &deadline);
    diagnoses->counts.started++;
    diagnoses->counts.running++;
    diagnosis_insert(diagnoses, d);
    diagnoses_kept_changed(diagnoses->kept, d->id, false); /* Whoever must know that it is kept sees to that. */
    *out = d;
    return 0;
}

void
diagnosis_on_verdict(struct diagnosis *d, void (*told)(void *ctx, struct diagnosis *d), void *ctx)
{
    d->told = told;
    d->told_ctx = ctx;
}

/* --- Looking -------------------------------------------------------------- */

struct diagnosis *
diagnoses_find(const struct diagnoses *diagnoses, const char *id)
{
    struct diagnosis *d;
    TAILQ_FOREACH(d, &diagnoses->list, next)
    {
        if (!strcmp(d->id, id)) {
            return d;
        }
    }
    return NULL;
}

bool
diagnosis_is_running(const struct diagnosis *d)
{
    return d->state == DIAGNOSIS_RUNNING;
}

const json_t *
diagnosis_verdict(const struct diagnosis *d)
{
    return d->verdict;
}

static json_t *
show_head(const struct diagnosis *d)
{
    char created[EF_TIME_TEXT_SIZE], ended[EF_TIME_TEXT_SIZE];
    return json_pack("{s:s, s:s, s:s, s:s, s:s?, s:O, s:s, s:s?, s:O?}", "id", d->id, "app", d->app->name, "origin",
                     d->origin, "state", diagnosis_state_names[d->state], "error", *d->error ? d->error : NULL,
                     "options", d->options, "created", ef_time_format(d->created, created), "ended",
                     d->state == DIAGNOSIS_RUNNING ? NULL : ef_time_format(d->ended, ended), "verdict", d->verdict);
}

json_t *
diagnosis_show(const struct diagnosis *d)
{
    json_t *shown = show_head(d);
    json_object_set(shown, "progress", d->progress);
    json_object_set(shown, "evidence", d->evidence);
    return shown;
}

json_t *
diagnoses_list(const struct diagnoses *diagnoses)
{
    json_t *list = json_array();
    const struct diagnosis *d;
    TAILQ_FOREACH(d, &diagnoses->list, next)
    {
        json_array_append_new(list, show_head(d));
    }
    return list;
}

void
diagnoses_count(const struct diagnoses *diagnoses, struct diagnoses_counts *counts)
{
    *counts = diagnoses->counts;
}

/* --- Life ----------------------------------------------------------------- */

struct diagnoses *
diagnoses_create(struct controller *c)
{
    struct diagnoses *diagnoses = calloc(1, sizeof *diagnoses);
    if (!diagnoses) {
        abort(); /* Control path at start-up. */
    }
    diagnoses->controller = c;
    TAILQ_INIT(&diagnoses->list);
    return diagnoses;
}

void
diagnoses_destroy(struct diagnoses *diagnoses)
{
    struct diagnosis *d;
    while (diagnoses && (d = TAILQ_FIRST(&diagnoses->list))) {
        TAILQ_REMOVE(&diagnoses->list, d, next);
        diagnosis_free(d);
    }
    free(diagnoses);
}
