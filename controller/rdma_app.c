/* SPDX-License-Identifier: Apache-2.0 */
/* The application "rdma": what makes RDMA slow? (Everflow, section 5, "RDMA debugger".)
 *
 * Switches copy pauses, NAKs and congestion notifications by their classes pfc,
 * rdma_nack and cnp. It looks at those of the last minute and of some seconds more, and ends
 * as soon as they make a storm or a burst (rdma_events.h), the gravest first: pauses that stop
 * a lossless class, then lost packets, receivers without buffers, wrong
 * requests, congestion. To packets that are missing it tells what the fabric did to them, if anything was seen of
 * it (rdma_losses.h). If the configuration has no class pfc, all switches get a rule for pauses as long as it
 * looks. */
#include <config.h>

#include "controller/rdma_app.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "base/util.h"
#include "controller/controller.h"
#include "controller/document.h"
#include "controller/rdma_events.h"
#include "controller/rdma_losses.h"
#include "controller/rule_sets.h"
#include "controller/trace_poll.h"

enum {
    POLL_MS = 1000,
    MAX_TRACES = 5000,
    MAX_FOUND = 64,
    DEFAULT_LAST_S = 60,
    DEFAULT_DURATION_S = 10,
    MAX_S = 3600,
    SPARE_S = 30, /* That the rule outlives what is asked for, at most. */
};

static const char owner[] = "rdma";

struct rdma {
    struct diagnosis *d;
    struct controller *c;
    struct rdma_events *events;
    struct rdma_losses *losses;
    struct trace_poll *poll;
    struct ef_time since; /* Real. */
    struct ef_time until; /* Monotonic. */
};

/* --- Verdicts ------------------------------------------------------------- */

static void
add_traces(struct rdma *r, const char traces[RDMA_TRACES][17], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        diagnosis_evidence_add(r->d, "traces", json_string(traces[i]));
    }
}

static void
finish_storm(struct rdma *r, const struct rdma_storm *s)
{
    struct verdict v = {.kind = s->is_circle ? "pause-deadlock" : "pause-storm",
                        .device = s->origin,
                        .link = s->origin ? diagnosis_link(r->c, s->origin, s->origin_to) : NULL,
                        .class_text = s->classes ? "priorities that are paused" : "all packets",
                        .persistence = VERDICT_PERSISTENT,
                        .confidence = 0.99,
                        .details = rdma_storm_show(s)};
    rdma_storm_text(s, v.summary, sizeof v.summary);
    add_traces(r, s->traces, s->n_traces);
    diagnosis_finish(r->d, &v);
}

/* What is missing may have been seen to be lost on the way: the summary says so, and the verdict's details. */
static void
add_loss(struct rdma *r, const struct rdma_burst *b, struct verdict *v)
{
    struct rdma_loss loss;
    char text[RDMA_LOSSES_TEXT];
    size_t n = strlen(v->summary);
    rdma_losses_find(r->losses, r->c->alerts, b->to, b->from, r->since, &loss);
    snprintf(v->summary + n, sizeof v->summary - n, " %s", rdma_loss_text(&loss, text));
    json_object_set_new(v->details, "loss", rdma_loss_show(&loss));
    add_traces(r, loss.traces, loss.n_traces);
}

static void
finish_burst(struct rdma *r, const struct rdma_burst *b)
{
    char class[160];
    struct verdict v = {.kind = b->kind == RDMA_CNP ? "rdma-congestion" : "rdma-nack",
                        .device = b->from_name ? b->from_name : b->from_switch,
                        .link =
                            b->from_name && b->from_switch ? diagnosis_link(r->c, b->from_name, b->from_switch) : NULL,
                        .class_text = class,
                        .persistence = VERDICT_PERSISTENT,
                        .confidence = 0.95,
                        .details = rdma_burst_show(b)};
    snprintf(class, sizeof class, "RoCEv2 from %s to %s, queue pair 0x%x", b->to, b->from, b->queue_pair);
    rdma_burst_text(b, v.summary, sizeof v.summary);
    add_traces(r, b->traces, b->n_traces);
    if (b->kind == RDMA_SEQUENCE) {
        add_loss(r, b, &v);
    }
    diagnosis_finish(r->d, &v);
}

static void
finish_none(struct rdma *r)
{
    struct verdict v = {.kind = "none", .persistence = VERDICT_UNKNOWN, .confidence = 0.9};
    snprintf(v.summary, sizeof v.summary, "No port is paused all the time, and no queue pair complains often.");
    diagnosis_finish(r->d, &v);
}

/* --- The search ----------------------------------------------------------- */

static void
on_trace(void *ctx, const json_t *trace)
{
    struct rdma *r = ctx;
    rdma_events_take(r->events, trace);
    rdma_losses_take(r->losses, trace);
}

/* Everything that was found is evidence, the gravest the verdict. */
static void
on_poll(void *ctx, struct ef_time until)
{
    struct rdma *r = ctx;
    struct rdma_storm *storms = calloc(MAX_FOUND, sizeof *storms);
    struct rdma_burst *bursts = calloc(MAX_FOUND, sizeof *bursts);
    json_t *shown_storms = json_array(), *shown_bursts = json_array();
    if (!storms || !bursts) {
        abort(); /* Control path. */
    }
    size_t n_storms = rdma_events_storms(r->events, r->since, until, storms, MAX_FOUND);
    size_t n_bursts = rdma_events_bursts(r->events, r->since, bursts, MAX_FOUND);
    for (size_t i = 0; i < n_storms; i++) {
        json_array_append_new(shown_storms, rdma_storm_show(&storms[i]));
    }
    for (size_t i = 0; i < n_bursts; i++) {
        json_array_append_new(shown_bursts, rdma_burst_show(&bursts[i]));
    }
    diagnosis_evidence_set(r->d, "storms", shown_storms);
    diagnosis_evidence_set(r->d, "queue_pairs", shown_bursts);
    if (n_storms) {
        finish_storm(r, &storms[0]);
    } else if (n_bursts) {
        finish_burst(r, &bursts[0]);
    } else if (ef_time_before(r->until, ef_time_mono())) {
        finish_none(r);
    }
    free(storms);
    free(bursts);
}

/* --- The beginning -------------------------------------------------------- */

static void
copy_pauses(struct rdma *r, int64_t duration_s)
{
    struct ef_error err = EF_ERROR_INIT;
    json_t *rules = json_pack("[{s:s, s:s, s:s}]", "name", "pauses", "match", "dl_type=0x8808", "action", "mirror");
    struct rule_set_spec spec = {.owner = owner,
                                 .name = diagnosis_id(r->d),
                                 .rules = rules,
                                 .expires = ef_time_add_ms(ef_time_real(), (duration_s + SPARE_S) * 1000)};
    int rc = rule_sets_put(r->c->rule_sets, &spec, &err);
    diagnosis_progress(r->d, rc ? "switches do not copy pauses: %s" : "switches copy pauses by a rule, for now%s",
                       rc ? err.text : "");
    json_decref(rules);
}

static int
begin(struct rdma *r, const json_t *options, struct ef_error *err)
{
    static const char *const known[] = {"last_s", "duration_s", NULL};
    struct doc_place root = {.value = (json_t *) options};
    int64_t last_s, duration_s;
    if (doc_check_keys(&root, known, err) || doc_integer(&root, "last_s", 1, MAX_S, DEFAULT_LAST_S, &last_s, err) ||
        doc_integer(&root, "duration_s", 1, MAX_S, DEFAULT_DURATION_S, &duration_s, err)) {
        return -EINVAL;
    }
    struct trace_poll_spec spec = {.filter = "macc || infiniband",
                                   .period_ms = POLL_MS,
                                   .back_ms = last_s * 1000,
                                   .limit = MAX_TRACES,
                                   .take = on_trace,
                                   .done = on_poll,
                                   .ctx = r};
    r->since = ef_time_add_ms(ef_time_real(), -last_s * 1000);
    r->until = ef_time_add_ms(ef_time_mono(), duration_s * 1000);
    r->events = rdma_events_create(r->c->topology.document);
    r->losses = rdma_losses_create(r->c->topology.document);
    r->poll = trace_poll_start(r->c, &spec);
    diagnosis_progress(r->d, "looking at pauses, NAKs and congestion notifications since %lld s", (long long) last_s);
    if (!everflow_has_class(&r->c->configuration.everflow, "pfc")) {
        copy_pauses(r, duration_s);
    }
    if (!everflow_has_class(&r->c->configuration.everflow, "rdma_nack")) {
        diagnosis_progress(r->d, "NAKs are not copied: the configuration's classes lack rdma_nack");
    }
    return 0;
}

static void
end(void *state)
{
    struct rdma *r = state;
    rule_sets_remove(r->c->rule_sets, owner, diagnosis_id(r->d));
    trace_poll_stop(r->poll);
    rdma_events_destroy(r->events);
    rdma_losses_destroy(r->losses);
    free(r);
}

static int
start(struct diagnosis *d, const json_t *options, void **state, struct ef_error *err)
{
    struct rdma *r = calloc(1, sizeof *r);
    if (!r) {
        abort(); /* Control path. */
    }
    r->d = d;
    r->c = diagnosis_controller(d);
    int rc = begin(r, options, err);
    if (rc) {
        end(r);
        return rc;
    }
    *state = r;
    return 0;
}

const struct diagnosis_app rdma_app = {"rdma", "where pauses begin, and which queue pairs lose packets", start, end};
