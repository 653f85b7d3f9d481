/* SPDX-License-Identifier: Apache-2.0 */
/* RDMA under watch; see rdma_watch.h. */
#include <config.h>

#include "controller/rdma_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "controller/alerts.h"
#include "controller/controller.h"
#include "controller/diagnoses.h"
#include "controller/rdma_events.h"
#include "controller/rdma_losses.h"
#include "controller/trace_poll.h"

enum {
    WINDOW_MS = 6000,
    BEFORE_MS = 1000, /* So long before a receiver complains its packet was lost, at most. */
    MAX_TRACES = 3000,
    MAX_FOUND = 32,
    MAX_ALERTS = 64
};

/* An alert that we raised, and whether it was so at the last look. */
struct raised {
    const char *kind; /* NULL: the entry is free. */
    char subject[ALERT_SUBJECT_SIZE];
    bool is_still;
};

struct rdma_watch {
    struct controller *c;
    struct rdma_events *events;
    struct rdma_losses *losses;
    struct trace_poll *poll;
    struct raised raised[MAX_ALERTS];
};

/* --- Alerts --------------------------------------------------------------- */

/* Remembers that this one is active; false: there are too many. */
static bool
note(struct rdma_watch *w, const char *kind, const char *subject)
{
    struct raised *free_one = NULL;
    for (size_t i = 0; i < MAX_ALERTS; i++) {
        struct raised *r = &w->raised[i];
        if (r->kind && !strcmp(r->kind, kind) && !strcmp(r->subject, subject)) {
            r->is_still = true;
            return true;
        }
        free_one = r->kind ? free_one : r;
    }
    if (free_one) {
        *free_one = (struct raised){.kind = kind, .is_still = true};
        snprintf(free_one->subject, sizeof free_one->subject, "%s", subject);
    }
    return free_one;
}

static void
raise_alert(struct rdma_watch *w, const char *kind, const char *subject, enum alert_severity severity,
            const char *summary, json_t *evidence)
{
    if (!note(w, kind, subject)) {
        json_decref(evidence);
        return;
    }
    struct alert_report report = {
        .kind = kind, .subject = subject, .severity = severity, .summary = summary, .evidence = evidence};
    alerts_raise(w->c->alerts, &report);
}

/* Storms that begin at the same place are one alert. */
static void
raise_storm(struct rdma_watch *w, const struct rdma_storm *s)
{
    char subject[ALERT_SUBJECT_SIZE], summary[ALERT_SUMMARY_SIZE];
    snprintf(subject, sizeof subject, "%s>%s", s->origin ? s->origin : "?", s->origin_to);
    json_t *evidence = rdma_storm_show(s);
    json_object_set_new(evidence, "link", s->origin ? diagnosis_link(w->c, s->origin, s->origin_to) : json_null());
    raise_alert(w, "pfc", subject, ALERT_CRITICAL, rdma_storm_text(s, summary, sizeof summary), evidence);
}

/* What is missing may have been seen to be lost on the way. */
static void
add_loss(struct rdma_watch *w, const struct rdma_burst *b, struct ef_time since, char summary[ALERT_SUMMARY_SIZE],
         json_t *evidence)
{
    struct rdma_loss loss;
    char text[RDMA_LOSSES_TEXT];
    size_t n = strlen(summary);
    rdma_losses_find(w->losses, w->c->alerts, b->to, b->from, since, &loss);
    snprintf(summary + n, ALERT_SUMMARY_SIZE - n, " %s", rdma_loss_text(&loss, text));
    json_object_set_new(evidence, "loss", rdma_loss_show(&loss));
}

static void
raise_burst(struct rdma_watch *w, const struct rdma_burst *b, struct ef_time since)
{
    char subject[ALERT_SUBJECT_SIZE], summary[ALERT_SUMMARY_SIZE];
    snprintf(subject, sizeof subject, "%s>%s %s", b->from_name ? b->from_name : b->from,
             b->to_name ? b->to_name : b->to, rdma_kind_names[b->kind]);
    json_t *evidence = rdma_burst_show(b);
    json_object_set_new(evidence, "link",
                        b->from_name && b->from_switch ? diagnosis_link(w->c, b->from_name, b->from_switch)
                                                       : json_null());
    rdma_burst_text(b, summary, sizeof summary);
    if (b->kind == RDMA_SEQUENCE) {
        add_loss(w, b, since, summary, evidence);
    }
    raise_alert(w, "rdma", subject, b->kind == RDMA_CNP ? ALERT_INFO : ALERT_WARNING, summary, evidence);
}

static void
resolve_others(struct rdma_watch *w)
{
    for (size_t i = 0; i < MAX_ALERTS; i++) {
        struct raised *r = &w->raised[i];
        if (r->kind && !r->is_still) {
            alerts_resolve(w->c->alerts, r->kind, r->subject, "there are no more");
            r->kind = NULL;
        }
        r->is_still = false;
    }
}

/* --- Looking -------------------------------------------------------------- */

static void
on_trace(void *ctx, const json_t *trace)
{
    struct rdma_watch *w = ctx;
    rdma_events_take(w->events, trace);
    rdma_losses_take(w->losses, trace);
}

static void
on_poll(void *ctx, struct ef_time until)
{
    struct rdma_watch *w = ctx;
    struct ef_time since = ef_time_add_ms(until, -WINDOW_MS);
    struct rdma_storm *storms = calloc(MAX_FOUND, sizeof *storms);
    struct rdma_burst *bursts = calloc(MAX_FOUND, sizeof *bursts);
    if (!storms || !bursts) {
        abort(); /* Control path. */
    }
    size_t n_storms = rdma_events_storms(w->events, since, until, storms, MAX_FOUND);
    size_t n_bursts = rdma_events_bursts(w->events, since, bursts, MAX_FOUND);
    for (size_t i = 0; i < n_storms; i++) {
        raise_storm(w, &storms[i]);
    }
    for (size_t i = 0; i < n_bursts; i++) {
        raise_burst(w, &bursts[i], ef_time_add_ms(since, -BEFORE_MS));
    }
    resolve_others(w);
    free(storms);
    free(bursts);
}

/* --- Life ----------------------------------------------------------------- */

struct rdma_watch *
rdma_watch_start(struct controller *c)
{
    if (!c->configuration.watchers.rdma_s) {
        return NULL;
    }
    struct rdma_watch *w = calloc(1, sizeof *w);
    if (!w) {
        abort(); /* Control path at start-up. */
    }
    struct trace_poll_spec spec = {.filter = "macc || infiniband",
                                   .period_ms = c->configuration.watchers.rdma_s * 1000,
                                   .limit = MAX_TRACES,
                                   .take = on_trace,
                                   .done = on_poll,
                                   .ctx = w};
    w->c = c;
    w->events = rdma_events_create(c->topology.document);
    w->losses = rdma_losses_create(c->topology.document);
    w->poll = trace_poll_start(c, &spec);
    return w;
}

void
rdma_watch_stop(struct rdma_watch *w)
{
    if (w) {
        trace_poll_stop(w->poll);
        rdma_events_destroy(w->events);
        rdma_losses_destroy(w->losses);
        free(w);
    }
}
