/* SPDX-License-Identifier: Apache-2.0 */
/* The application "ecmp": does a switch share its load evenly over equal ways, and if
 * not, is all traffic hit or some prefixes? (Everflow, section 5, "ECMP profiler".)
 *
 *     flows of the last minute, and those to come, by switch and way (ecmp_flows.h)
 *         -> one is uneven, and still is
 *         -> finer counters at the analyzers: connections by way and prefix (ecmp_counters.h)
 *         -> verdict: the switch, the link that gets too much, the class; the counters go
 *
 * Without connections for the counters to count, the flows of the traces tell the class. */
#include <config.h>

#include "controller/ecmp_app.h"

#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "base/util.h"
#include "controller/controller.h"
#include "controller/document.h"
#include "controller/ecmp_counters.h"
#include "controller/ecmp_flows.h"
#include "controller/trace_poll.h"

enum {
    POLL_MS = 2000,
    BACK_MS = 60000,
    MAX_TRACES = 5000,
    DEFAULT_DURATION_S = 30,
    MAX_DURATION_S = 3600,
    COUNT_MS = 8000, /* How long finer counters count at most, */
    READ_MS = 1000,  /* looked at so often. */
    MAX_FINDINGS = 16,
    ENOUGH_FLOWS = 100,
};
/* One that was found falsely is not confirmed by the counters. */
static const double flows_between_alarms = 1e5, uneven_p = 1e-4, even_p = 0.05;

struct ecmp {
    struct diagnosis *d;
    struct controller *c;
    struct ecmp_flows *flows;
    struct trace_poll *poll;
    struct ecmp_counters *counters;
    struct event *timer; /* Of the counters. */
    struct ecmp_finding finding;
    struct ef_time since; /* Real: flows from then on count. */
    struct ef_time until; /* Monotonic: of the search, then of the counters. */
    const char *only;     /* A switch, or NULL. */
    unsigned n_polls;
    bool is_over; /* The counters say that shares are even now. */
};

/* --- The verdict ---------------------------------------------------------- */

static void
finish_uneven(struct ecmp *e)
{
    const struct ecmp_finding *x = &e->finding;
    char class[300];
    struct verdict v = {.kind = "ecmp",
                        .device = x->at,
                        .link = diagnosis_link(e->c, x->at, x->ways[0].to),
                        .class_text = ecmp_finding_class(x, class, sizeof class),
                        .persistence = VERDICT_PERSISTENT,
                        .confidence = 1 - x->p,
                        .details = ecmp_finding_show(x)};
    v.persistence = e->is_over ? VERDICT_TRANSIENT : VERDICT_PERSISTENT;
    snprintf(v.summary, sizeof v.summary,
             "%s %s %.0f %% of %u flows to %s, one of %zu equal ways: %s. By chance that would be one time in %.0e.",
             x->at, e->is_over ? "does not any more send" : "sends", 100.0 * x->ways[0].flows / EF_MAX(x->flows, 1u),
             x->flows, x->ways[0].to, x->n_ways, class, 1 / EF_MAX(x->p, 1e-99));
    diagnosis_finish(e->d, &v);
}

static void
finish_even(struct ecmp *e)
{
    struct verdict v = {.kind = "none", .persistence = VERDICT_UNKNOWN, .confidence = 0.9};
    json_t *shares = json_object();
    size_t n = 0;
    for (size_t i = 0; i < e->c->topology.n_switches; i++) {
        struct ecmp_finding x;
        const char *name = e->c->topology.switches[i].name;
        if ((!e->only || !strcmp(e->only, name)) && ecmp_flows_look(e->flows, e->since, name, &x)) {
            json_object_set_new(shares, name, ecmp_finding_show(&x));
            n += x.flows >= ECMP_FLOWS_LEAST;
        }
    }
    snprintf(v.summary, sizeof v.summary,
             n ? "The flows are shared evenly by the %zu switches that had at least %d to share."
               : "No switch (of %zu with enough) had %d flows to share: nothing can be said.",
             n, ECMP_FLOWS_LEAST);
    v.confidence = n ? 0.9 : 0;
    v.details = json_pack("{s:o}", "switches", shares);
    diagnosis_finish(e->d, &v);
}

/* --- Finer counters ------------------------------------------------------- */

static void
on_counted(void *ctx, const struct ecmp_finding *counted)
{
    struct ecmp *e = ctx;
    bool is_over = ef_time_before(e->until, ef_time_mono());
    static const struct timeval later = {READ_MS / 1000, READ_MS % 1000 * 1000};
    if (counted->flows < ENOUGH_FLOWS && !is_over) {
        evtimer_add(e->timer, &later);
        return;
    }
    diagnosis_evidence_set(e->d, "counters", ecmp_finding_show(counted));
    diagnosis_progress(e->d, "the counters have %u connections", counted->flows);
    if (counted->flows >= ECMP_FLOWS_LEAST && counted->p < uneven_p &&
        !strcmp(counted->ways[0].to, e->finding.ways[0].to)) {
        e->finding = *counted;
    }
    e->is_over = counted->flows >= ENOUGH_FLOWS && counted->p > even_p;
    finish_uneven(e);
}

static void
on_count(evutil_socket_t fd, short what, void *ctx)
{
    ecmp_counters_read(((struct ecmp *) ctx)->counters);
}

static void
drill_down(struct ecmp *e, const struct ecmp_finding *x)
{
    static const struct timeval later = {READ_MS / 1000, READ_MS % 1000 * 1000};
    e->finding = *x;
    trace_poll_stop(e->poll);
    e->poll = NULL;
    e->until = ef_time_add_ms(ef_time_mono(), COUNT_MS);
    e->counters = ecmp_counters_start(e->c, diagnosis_id(e->d), x, on_counted, e);
    diagnosis_progress(e->d, "%s sends %u of %u flows to %s, one of %zu: %zu finer counters by prefix", x->at,
                       x->ways[0].flows, x->flows, x->ways[0].to, x->n_ways, ecmp_counters_n(e->counters));
    evtimer_add(e->timer, &later);
}

/* --- The search ----------------------------------------------------------- */

static void
on_trace(void *ctx, const json_t *trace)
{
    ecmp_flows_take(((struct ecmp *) ctx)->flows, trace);
}

/* The most uneven first. */
static int
by_chance(const void *a_, const void *b_)
{
    const struct ecmp_finding *a = a_, *b = b_;
    return (a->p > b->p) - (a->p < b->p);
}

static void
on_poll(void *ctx, struct ef_time until)
{
    struct ecmp *e = ctx;
    struct ecmp_finding *findings = calloc(MAX_FINDINGS, sizeof *findings);
    if (!findings) {
        abort(); /* Control path. */
    }
    size_t n = ecmp_flows_judge(e->flows, e->since, flows_between_alarms, e->only, findings, MAX_FINDINGS);
    qsort(findings, n, sizeof *findings, by_chance);
    e->n_polls++;
    for (size_t i = 0; i < n; i++) {
        diagnosis_evidence_add(e->d, "uneven", json_string(findings[i].at));
    }
    if (n) {
        drill_down(e, &findings[0]);
    } else if (ef_time_before(e->until, ef_time_mono())) {
        finish_even(e);
    }
    free(findings);
}

static int
begin(struct ecmp *e, const json_t *options, struct ef_error *err)
{
    static const char *const known[] = {"switch", "duration_s", NULL};
    struct doc_place root = {.value = (json_t *) options};
    int64_t duration_s;
    if (doc_check_keys(&root, known, err) ||
        (json_object_get(options, "switch") && doc_string(&root, "switch", NULL, &e->only, err)) ||
        doc_integer(&root, "duration_s", 1, MAX_DURATION_S, DEFAULT_DURATION_S, &duration_s, err)) {
        return -EINVAL;
    }
    bool is_known = !e->only;
    for (size_t i = 0; !is_known && i < e->c->topology.n_switches; i++) {
        is_known = !strcmp(e->only, e->c->topology.switches[i].name);
    }
    if (!is_known) {
        return ef_error_set(err, -ENOENT, "switch: the topology has no '%.60s'", e->only);
    }
    struct trace_poll_spec spec = {.condition = "!trace.probe",
                                   .period_ms = POLL_MS,
                                   .back_ms = BACK_MS,
                                   .limit = MAX_TRACES,
                                   .take = on_trace,
                                   .done = on_poll,
                                   .ctx = e};
    e->since = ef_time_add_ms(ef_time_real(), -BACK_MS);
    e->until = ef_time_add_ms(ef_time_mono(), duration_s * 1000);
    e->flows = ecmp_flows_create(e->c->topology.document);
    e->timer = evtimer_new(e->c->base, on_count, e);
    e->poll = trace_poll_start(e->c, &spec);
    diagnosis_progress(e->d, "counting the flows of the last minute%s%s", e->only ? " at " : "",
                       e->only ? e->only : "");
    return 0;
}

static void
end(void *state)
{
    struct ecmp *e = state;
    trace_poll_stop(e->poll);
    ecmp_counters_stop(e->counters);
    ecmp_flows_destroy(e->flows);
    if (e->timer) {
        event_free(e->timer);
    }
    free(e);
}

static int
start(struct diagnosis *d, const json_t *options, void **state, struct ef_error *err)
{
    struct ecmp *e = calloc(1, sizeof *e);
    if (!e) {
        abort(); /* Control path. */
    }
    e->d = d;
    e->c = diagnosis_controller(d);
    int rc = begin(e, options, err);
    if (rc) {
        end(e);
        return rc;
    }
    *state = e;
    return 0;
}

const struct diagnosis_app ecmp_app = {"ecmp", "which switch shares its load unevenly, and for which packets", start,
                                       end};
