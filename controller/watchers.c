/* SPDX-License-Identifier: Apache-2.0 */
/* From traces to alerts; see watchers.h. */
#include <config.h>

#include "controller/watchers.h"

#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "base/util.h"
#include "controller/alerts.h"
#include "controller/collection.h"
#include "controller/controller.h"
#include "controller/diagnoses.h"
#include "controller/trace_query.h"
#include "controller/watch_case.h"
#include "controller/watch_causes.h"
#include "controller/watch_faults.h"
#include "controller/watch_switches.h"

enum {
    LOOK_BACK_MS = 15000, /* A trace can be seen when its last copy is long enough ago. */
    MAX_TRACES = 500,     /* Of one look. */
    MAX_RUNNING = 4,      /* Diagnoses at the same time. */
    AFTER_EXPLAINED_MS = 30000,
    AFTER_TRANSIENT_MS = 3000,
    AFTER_FAILURE_MS = 10000,
    TRANSIENT_TIMES = 3, /* So often within TRANSIENT_MS it is worth an alert. */
    TRANSIENT_MS = 60000,
    DOUBT_MS = 4000,  /* A copy that was lost was missed so long before, at most, the trace came. */
    QUIET_MS = 60000, /* An alert without a probe that tells ends after so long without a trace. */
};

struct watchers {
    struct controller *controller;
    struct event *timer;
    struct trace_query *query;
    struct ef_time started; /* Real time. */
    struct watch_seen seen;
    struct watch_cases cases;
    struct watch_faults *faults;
    unsigned n_running;
    double allowance; /* Diagnoses that may be started. */
    struct ef_time filled;
    uint64_t n_polls, n_traces, n_diagnoses, n_put_off, n_unsettled;
};

/* --- Verdicts -------------------------------------------------------------- */

/* Whether lost copies explain the newest trace. */
static bool
is_doubtful(const struct watchers *w, const struct watch_case *c)
{
    struct collection_lack lack = {1, 1, ef_time_add_ms(c->last, -DOUBT_MS)};
    return collection_is_doubtful(w->controller->collection, c->analyzer, c->expected, &lack);
}

/* An alert that no probe can end. */
static void
raise_quiet(struct watchers *w, struct watch_case *c, const struct diagnosis *d, const char *summary)
{
    const json_t *found = diagnosis_evidence(d), *verdict = diagnosis_verdict(d);
    char subject[WATCH_SUBJECT_SIZE];
    watch_faults_subject(d, subject);
    struct alert_report report = {
        .kind = c->app,
        .subject = subject,
        .severity = ALERT_WARNING,
        .summary = summary,
        .evidence = json_pack("{s:s, s:O?, s:O?, s:O?}", "diagnosis", diagnosis_id(d), "device",
                              json_object_get(verdict, "device"), "link", json_object_get(verdict, "link"), "traces",
                              json_object_get(found, "traces")),
    };
    alerts_raise(w->controller->alerts, &report);
    snprintf(c->alert, sizeof c->alert, "%s", subject);
}

/* It is over, or cannot be told now, for copies of probes get lost: worth an alert only
 * if it goes on like this. */
static void
take_transient(struct watchers *w, struct watch_case *c, const struct diagnosis *d, struct ef_time now)
{
    char summary[ALERT_SUMMARY_SIZE];
    if (!c->n_transient || ef_time_before(ef_time_add_ms(c->transient_since, TRANSIENT_MS), now)) {
        c->n_transient = 0;
        c->transient_since = now;
    }
    c->not_before = ef_time_add_ms(now, AFTER_TRANSIENT_MS);
    c->has_news = false; /* What came meanwhile was dropped before the probes passed. */
    if (++c->n_transient >= TRANSIENT_TIMES) {
        const char *text = json_string_value(json_object_get(diagnosis_verdict(d), "summary"));
        snprintf(summary, sizeof summary, "Again and again (%" PRIu64 " packets): %.480s", c->n_traces,
                 text ? text : "");
        raise_quiet(w, c, d, summary);
    }
}

static void
take_verdict(struct watchers *w, struct watch_case *c, const struct diagnosis *d)
{
    const json_t *verdict = diagnosis_verdict(d), *persistent = json_object_get(verdict, "persistent");
    const json_t *details = json_object_get(verdict, "details");
    struct ef_time now = ef_time_mono();
    bool is_explained =
        watch_causes_explain(w->controller->alerts, ef_json_text(verdict, "kind"), ef_json_text(verdict, "device"),
                             json_object_get(verdict, "link"), json_object_get(details, "unseen"));
    if (switch_watch_is_unsettled(w->controller->switch_watch)) {
        c->not_before = ef_time_add_ms(now, AFTER_TRANSIENT_MS); /* It has changed since the last look at the cases. */
    } else if (!verdict || !strcmp(ef_json_text(verdict, "kind"), "none")) {
        c->not_before = ef_time_add_ms(now, AFTER_FAILURE_MS);
    } else if (json_is_true(persistent) && is_explained) {
        c->not_before = ef_time_add_ms(now, AFTER_EXPLAINED_MS);
    } else if (json_is_true(persistent)) {
        c->n_transient = 0;
        c->not_before = ef_time_add_ms(now, AFTER_TRANSIENT_MS); /* Once its alert is over, else not at all. */
        watch_faults_take(w->faults, c->key, d);
    } else if (is_explained || is_doubtful(w, c)) {
        c->not_before = ef_time_add_ms(now, AFTER_TRANSIENT_MS);
    } else if (json_is_false(persistent) || json_is_true(json_object_get(details, "probed_in_vain"))) {
        take_transient(w, c, d, now);
    } else {
        c->not_before = ef_time_add_ms(now, AFTER_FAILURE_MS);
        raise_quiet(w, c, d, ef_json_text(verdict, "summary"));
    }
}

static struct watch_case *
case_of(struct watchers *w, const struct diagnosis *d)
{
    for (int i = 0; i < WATCH_CASES; i++) {
        if (w->cases.cases[i].running == d) {
            return &w->cases.cases[i];
        }
    }
    return NULL;
}

static void
on_verdict(void *ctx, struct diagnosis *d)
{
    struct watchers *w = ctx;
    struct watch_case *c = case_of(w, d);
    bool is_over = !diagnosis_is_running(d);
    w->n_running -= is_over;
    if (c) {
        c->running = is_over ? NULL : d;
        take_verdict(w, c, d);
    }
}

/* --- Diagnoses ---------------------------------------------------------------- */

static bool
may_start(struct watchers *w, struct ef_time now)
{
    double per_minute = (double) w->controller->configuration.watchers.diagnoses_per_minute;
    double passed_s = (double) ef_time_diff_ns(now, w->filled) / 1e9;
    w->allowance = EF_MIN(w->allowance + passed_s * per_minute / 60, per_minute / 2);
    w->filled = now;
    return w->n_running < MAX_RUNNING && w->allowance >= 1;
}

static void
diagnose(struct watchers *w, struct watch_case *c)
{
    struct diagnosis *d;
    struct ef_error err = EF_ERROR_INIT;
    json_t *order = json_pack("{s:s, s:s}", "app", c->app, "trace", c->trace);
    int rc = diagnoses_start(w->controller->diagnoses, order, "watcher", &d, &err);
    json_decref(order);
    if (rc) {
        w->n_put_off++;
        ef_log_debug("watchers", "%s %s: %s", c->app, c->key, err.text);
        return;
    }
    c->running = d;
    c->has_news = false;
    w->n_running++;
    w->n_diagnoses++;
    w->allowance--;
    diagnosis_on_verdict(d, on_verdict, w);
}

/* Ends an alert that was raised by traces alone. */
static void
end_quiet(struct watchers *w, struct watch_case *c, struct ef_time now)
{
    if (*c->alert && ef_time_before(ef_time_add_ms(c->last, QUIET_MS), now)) {
        alerts_resolve(w->controller->alerts, c->app, c->alert, "no packet was dropped for a minute");
        *c->alert = '\0';
        c->n_transient = 0;
    }
}

/* Nothing that diagnoses are finding out now holds. */
static void
stop_diagnoses(struct watchers *w)
{
    for (int i = 0; i < WATCH_CASES; i++) {
        struct watch_case *c = &w->cases.cases[i];
        struct diagnosis *d = c->running;
        c->has_news = false;
        c->running = NULL;
        if (d) {
            diagnosis_stop(d, "a link or a switch has just failed or come back");
        }
    }
}

static void
look_at_cases(struct watchers *w)
{
    struct ef_time now = ef_time_mono();
    watch_faults_explain(w->faults);
    if (switch_watch_is_unsettled(w->controller->switch_watch)) {
        stop_diagnoses(w);
    }
    for (int i = 0; i < WATCH_CASES; i++) {
        struct watch_case *c = &w->cases.cases[i];
        end_quiet(w, c, now);
        if (!c->has_news || c->running || ef_time_before(now, c->not_before)) {
            continue;
        }
        if (may_start(w, now)) {
            diagnose(w, c);
        } else {
            w->n_put_off++;
        }
    }
}

/* --- Traces ---------------------------------------------------------------- */

static bool
is_watched(const struct watchers *w, const char *app)
{
    return *app == 'd' ? w->controller->configuration.watchers.drop : w->controller->configuration.watchers.loop;
}

/* What reshufflers send to analyzers is traced like any other packet. Nobody probes in
 * their name, and what becomes of it collection.h knows. */
static bool
is_our_own(const struct watchers *w, const json_t *trace)
{
    const char *vip = ef_json_text(w->controller->topology.document, "vip");
    const json_t *packet = json_object_get(trace, "packet");
    return *vip && (!strcmp(ef_json_text(packet, "src"), vip) || !strcmp(ef_json_text(packet, "dst"), vip));
}

static void
take_trace(struct watchers *w, const json_t *trace)
{
    char app[8], key[WATCH_KEY_SIZE];
    const char *id = json_string_value(json_object_get(trace, "id"));
    struct watch_case *c;
    if (!id || is_our_own(w, trace) || !watch_seen_add(&w->seen, strtoull(id, NULL, 16)) ||
        watch_case_read(trace, app, key) || !is_watched(w, app)) {
        return;
    }
    w->n_traces++;
    if (switch_watch_is_unsettled(w->controller->switch_watch)) {
        w->n_unsettled++;
        return;
    }
    c = watch_cases_get(&w->cases, app, key);
    if (!c) {
        w->n_put_off++;
        return;
    }
    snprintf(c->trace, sizeof c->trace, "%s", id);
    snprintf(c->analyzer, sizeof c->analyzer, "%s", ef_json_text(trace, "analyzer"));
    snprintf(c->expected, sizeof c->expected, "%s", ef_json_text(trace, "expected_name"));
    c->n_traces++;
    c->last = ef_time_mono();
    c->has_news = !watch_faults_note(w->faults, app, key, id);
}

static void
again_in(struct watchers *w, int64_t ms)
{
    struct timeval tv = {ms / 1000, ms % 1000 * 1000};
    evtimer_add(w->timer, &tv);
}

static void
on_traces(void *ctx)
{
    struct watchers *w = ctx;
    struct trace_item *item;
    int rc;
    while ((rc = trace_query_next(w->query, &item)) > 0) {
        json_t *trace = json_loadb(item->json, item->len, 0, NULL);
        if (trace) {
            take_trace(w, trace);
        }
        json_decref(trace);
        free(item);
    }
    if (rc == TRACE_QUERY_END) {
        trace_query_destroy(w->query);
        w->query = NULL;
        look_at_cases(w);
        again_in(w, w->controller->configuration.watchers.poll_ms);
    }
}

/* Probes are excepted: who sends them looks at them. */
static void
on_timer(evutil_socket_t fd, short what, void *ctx)
{
    struct watchers *w = ctx;
    struct controller *c = w->controller;
    struct ef_time start = ef_time_add_ms(ef_time_real(), -LOOK_BACK_MS);
    if (!state_is_active(c->state)) {
        again_in(w, c->configuration.watchers.poll_ms); /* Of several controllers one watches. */
        return;
    }
    if (ef_time_before(start, w->started)) {
        start = w->started;
    }
    struct trace_question question = {.condition = "(trace.drop || trace.loop) && !trace.probe && !trace.corrupt",
                                      .start = &start,
                                      .limit = MAX_TRACES};
    w->n_polls++;
    w->query = trace_query_start(c->base, &question, &c->configuration, &c->topology, on_traces, w);
}

/* --- Life ----------------------------------------------------------------- */

struct watchers *
watchers_start(struct controller *c)
{
    const struct watcher_settings *s = &c->configuration.watchers;
    if (!s->drop && !s->loop) {
        return NULL;
    }
    struct watchers *w = calloc(1, sizeof *w);
    if (!w) {
        abort(); /* Control path at start-up. */
    }
    w->controller = c;
    w->started = ef_time_real();
    w->filled = ef_time_mono();
    w->allowance = (double) s->diagnoses_per_minute / 2;
    w->faults = watch_faults_create(c, (unsigned) s->recheck_s);
    w->timer = evtimer_new(c->base, on_timer, w);
    if (!w->timer) {
        abort(); /* Control path at start-up. */
    }
    again_in(w, s->poll_ms);
    return w;
}

void
watchers_stop(struct watchers *w)
{
    if (w) {
        watch_faults_destroy(w->faults);
        trace_query_destroy(w->query);
        event_free(w->timer);
        free(w);
    }
}

json_t *
watchers_show(const struct watchers *w)
{
    if (!w) {
        return json_null();
    }
    const struct probe_budget *b = &w->controller->probe_budget;
    size_t n_cases = 0;
    for (int i = 0; i < WATCH_CASES; i++) {
        n_cases += *w->cases.cases[i].app != '\0';
    }
    return json_pack("{s:b, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:{s:I, s:I, s:I}, s:o}", "drop",
                     w->controller->configuration.watchers.drop, "loop", w->controller->configuration.watchers.loop,
                     "polls", (json_int_t) w->n_polls, "traces", (json_int_t) w->n_traces, "cases",
                     (json_int_t) n_cases, "faults", (json_int_t) watch_faults_n(w->faults), "diagnoses",
                     (json_int_t) w->n_diagnoses, "put_off", (json_int_t) w->n_put_off, "unsettled",
                     (json_int_t) w->n_unsettled, "probes", "orders", (json_int_t) b->orders, "sent",
                     (json_int_t) b->taken, "put_off", (json_int_t) b->refused, "lost_copies",
                     collection_show(w->controller->collection));
}
