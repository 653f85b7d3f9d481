/* SPDX-License-Identifier: Apache-2.0 */
/* Shares under watch; see ecmp_watch.h. */
#include <config.h>

#include "controller/ecmp_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "controller/alerts.h"
#include "controller/controller.h"
#include "controller/diagnoses.h"
#include "controller/ecmp_flows.h"
#include "controller/trace_poll.h"

/* Flows that are older than WINDOW_MS say nothing of now. */
enum { WINDOW_MS = 60000, MAX_TRACES = 3000, MAX_FINDINGS = 32 };
static const double flows_between_alarms = 1e7; /* Of a switch; with 10 new flows a second, 12 days. */

struct ecmp_watch {
    struct controller *c;
    struct ecmp_flows *flows;
    struct trace_poll *poll;
    bool *has_alert;            /* Of each switch. */
    struct ef_time *not_before; /* Real: flows from then on count, of each switch. */
};

static void
raise_alert(struct ecmp_watch *w, const struct ecmp_finding *x)
{
    char class[300], summary[ALERT_SUMMARY_SIZE];
    ecmp_finding_class(x, class, sizeof class);
    snprintf(summary, sizeof summary, "%s sends %.0f %% of %u flows to %s, one of %zu equal ways: %s.", x->at,
             100.0 * x->ways[0].flows / EF_MAX(x->flows, 1u), x->flows, x->ways[0].to, x->n_ways, class);
    json_t *evidence = ecmp_finding_show(x);
    json_object_set_new(evidence, "device", json_string(x->at));
    json_object_set_new(evidence, "link", diagnosis_link(w->c, x->at, x->ways[0].to));
    json_object_set_new(evidence, "class", json_string(class));
    struct alert_report report = {
        .kind = "ecmp", .subject = x->at, .severity = ALERT_WARNING, .summary = summary, .evidence = evidence};
    alerts_raise(w->c->alerts, &report);
}

/* Whether an alert of something else is about the switch or one that it sends to:
 * while packets are lost there, or copies, shares say nothing. */
static bool
is_in_trouble(const struct ecmp_watch *w, const json_t *alerts, const struct ecmp_finding *x)
{
    size_t i;
    const json_t *alert;
    json_array_foreach((json_t *) alerts, i, alert)
    {
        const char *kind = json_string_value(json_object_get(alert, "kind"));
        const json_t *evidence = json_object_get(alert, "evidence"), *link = json_object_get(evidence, "link");
        const char *names[] = {json_string_value(json_object_get(evidence, "device")),
                               json_string_value(json_object_get(link, "from")),
                               json_string_value(json_object_get(link, "to"))};
        bool is_ours = kind && !strcmp(kind, "ecmp");
        for (size_t j = 0; j < EF_ARRAY_SIZE(names) && !is_ours; j++) {
            if (names[j] && !strcmp(names[j], x->at)) {
                return true;
            }
            for (size_t k = 0; names[j] && k < x->n_ways; k++) {
                if (!strcmp(names[j], x->ways[k].to)) {
                    return true;
                }
            }
        }
    }
    return false;
}

static void
on_trace(void *ctx, const json_t *trace)
{
    ecmp_flows_take(((struct ecmp_watch *) ctx)->flows, trace);
}

/* Marks the switches that share unevenly, and says so. */
static void
judge(struct ecmp_watch *w, struct ef_time until, bool is_uneven[])
{
    struct ef_time since = ef_time_add_ms(until, -WINDOW_MS);
    struct ecmp_finding *findings = calloc(MAX_FINDINGS, sizeof *findings);
    json_t *alerts = alerts_list(w->c->alerts, "active", NULL);
    if (!findings) {
        abort(); /* Control path. */
    }
    for (size_t s = 0; s < w->c->topology.n_switches; s++) {
        bool is_later = ef_time_before(since, w->not_before[s]);
        size_t n = ecmp_flows_judge(w->flows, is_later ? w->not_before[s] : since, flows_between_alarms,
                                    w->c->topology.switches[s].name, findings, MAX_FINDINGS);
        for (size_t i = 0; i < n; i++) {
            if (is_in_trouble(w, alerts, &findings[i])) {
                w->not_before[s] = until;
            } else {
                is_uneven[s] = true;
                raise_alert(w, &findings[i]);
            }
        }
    }
    json_decref(alerts);
    free(findings);
}

static void
on_poll(void *ctx, struct ef_time until)
{
    struct ecmp_watch *w = ctx;
    bool *is_uneven = calloc(w->c->topology.n_switches + 1, sizeof *is_uneven);
    if (!is_uneven) {
        abort(); /* Control path. */
    }
    judge(w, until, is_uneven);
    for (size_t i = 0; i < w->c->topology.n_switches; i++) {
        if (w->has_alert[i] && !is_uneven[i]) {
            alerts_resolve(w->c->alerts, "ecmp", w->c->topology.switches[i].name, "its flows are shared evenly again");
        }
        w->has_alert[i] = is_uneven[i];
    }
    free(is_uneven);
}

struct ecmp_watch *
ecmp_watch_start(struct controller *c)
{
    if (!c->configuration.watchers.ecmp_s) {
        return NULL;
    }
    struct ecmp_watch *w = calloc(1, sizeof *w);
    if (!w || !(w->has_alert = calloc(c->topology.n_switches + 1, sizeof *w->has_alert)) ||
        !(w->not_before = calloc(c->topology.n_switches + 1, sizeof *w->not_before))) {
        abort(); /* Control path at start-up. */
    }
    struct trace_poll_spec spec = {.condition = "!trace.probe",
                                   .period_ms = c->configuration.watchers.ecmp_s * 1000,
                                   .limit = MAX_TRACES,
                                   .take = on_trace,
                                   .done = on_poll,
                                   .ctx = w};
    w->c = c;
    w->flows = ecmp_flows_create(c->topology.document);
    w->poll = trace_poll_start(c, &spec);
    return w;
}

void
ecmp_watch_stop(struct ecmp_watch *w)
{
    if (w) {
        trace_poll_stop(w->poll);
        ecmp_flows_destroy(w->flows);
        free(w->has_alert);
        free(w->not_before);
        free(w);
    }
}
