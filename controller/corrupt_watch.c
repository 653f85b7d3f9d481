/* SPDX-License-Identifier: Apache-2.0 */
/* Corruption under watch; see corrupt_watch.h. How many packets the links carried, the
 * analyzers are asked only while there is something to tell. */
#include <config.h>

#include "controller/corrupt_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "controller/alerts.h"
#include "controller/controller.h"
#include "controller/corrupt_links.h"
#include "controller/diagnoses.h"
#include "controller/fan_out.h"
#include "controller/trace_poll.h"

enum { WINDOW_MS = 10000, QUIET_MS = 15000, MAX_TRACES = 2000, MAX_FOUND = 32 };

/* An alert that we raised. */
struct raised {
    char subject[ALERT_SUBJECT_SIZE]; /* "": the entry is free. */
    struct ef_time last;              /* Of the traces. */
};

struct corrupt_watch {
    struct controller *c;
    struct corrupt_links *links;
    struct trace_poll *poll;
    struct fan_out *asking; /* While the analyzers are asked about `found`. */
    struct corrupt_finding found[MAX_FOUND];
    size_t n_found;
    struct ef_time since; /* Of the packets that they are asked about. */
    struct raised raised[MAX_FOUND];
};

/* --- Alerts --------------------------------------------------------------------- */

static void
subject_of(const struct corrupt_finding *f, char subject[ALERT_SUBJECT_SIZE])
{
    if (strcmp(f->from, f->to)) {
        snprintf(subject, ALERT_SUBJECT_SIZE, "%.60s>%.60s", f->from, f->to);
    } else {
        snprintf(subject, ALERT_SUBJECT_SIZE, "%s", f->from);
    }
}

/* Remembers when this one was last seen; NULL: there are too many. */
static struct raised *
note(struct corrupt_watch *w, const char *subject, struct ef_time last)
{
    struct raised *free_one = NULL;
    for (size_t i = 0; i < MAX_FOUND; i++) {
        struct raised *r = &w->raised[i];
        if (*r->subject && !strcmp(r->subject, subject)) {
            r->last = last;
            return r;
        }
        free_one = *r->subject ? free_one : r;
    }
    if (free_one) {
        free_one->last = last;
        snprintf(free_one->subject, sizeof free_one->subject, "%s", subject);
    }
    return free_one;
}

static void
raise_alert(struct corrupt_watch *w, const struct corrupt_finding *f)
{
    char subject[ALERT_SUBJECT_SIZE], summary[ALERT_SUMMARY_SIZE];
    subject_of(f, subject);
    if (!note(w, subject, f->last)) {
        return;
    }
    bool is_certain = corrupt_finding_text(f, summary, sizeof summary);
    json_t *evidence = corrupt_finding_show(f);
    json_object_set_new(evidence, "link", f->is_link ? diagnosis_link(w->c, f->from, f->to) : json_null());
    struct alert_report report = {.kind = "corrupt",
                                  .subject = subject,
                                  .severity = is_certain ? ALERT_CRITICAL : ALERT_INFO,
                                  .summary = summary,
                                  .evidence = evidence};
    alerts_raise(w->c->alerts, &report);
}

static void
resolve_quiet(struct corrupt_watch *w, struct ef_time until)
{
    for (size_t i = 0; i < MAX_FOUND; i++) {
        struct raised *r = &w->raised[i];
        if (*r->subject && ef_time_diff_ns(until, r->last) > QUIET_MS * EF_NS_PER_MS) {
            alerts_resolve(w->c->alerts, "corrupt", r->subject, "no more packets are corrupted there");
            *r->subject = '\0';
        }
    }
}

/* --- How many of how many --------------------------------------------------------- */

/* True if the switch with that address has that name, or has none. */
static bool
is_named(const struct corrupt_watch *w, const char *address, const char *name)
{
    const struct topology_switch *node = address ? topology_find(&w->c->topology, address) : NULL;
    return address && !strcmp(node ? node->name : address, name);
}

static void
add_load(struct corrupt_watch *w, struct corrupt_finding *f, const json_t *load)
{
    size_t i;
    const json_t *link;
    double span_s = json_number_value(json_object_get(load, "span_s"));
    json_array_foreach(json_object_get(load, "links"), i, link)
    {
        if (is_named(w, json_string_value(json_object_get(link, "from")), f->from) &&
            is_named(w, json_string_value(json_object_get(link, "to")), f->to)) {
            f->n_packets += (uint64_t) json_integer_value(json_object_get(link, "packets"));
            f->n_corrupted += (uint64_t) json_integer_value(json_object_get(link, "corrupted"));
            f->span_s = EF_MAX(f->span_s, span_s);
        }
    }
}

static void
on_loads(void *ctx, const struct fan_out_answer answers[], size_t n)
{
    struct corrupt_watch *w = ctx;
    w->asking = NULL;
    for (size_t k = 0; k < w->n_found; k++) {
        struct corrupt_finding *f = &w->found[k];
        f->span_s = WINDOW_MS / 1000.0;
        for (size_t i = 0; i < n && f->is_link; i++) {
            if (!*answers[i].error) {
                add_load(w, f, answers[i].body);
            }
        }
        f->n_packets = f->n_corrupted ? f->n_packets : 0;
        raise_alert(w, f);
    }
}

/* --- Looking -------------------------------------------------------------------- */

static void
on_trace(void *ctx, const json_t *trace)
{
    corrupt_links_take(((struct corrupt_watch *) ctx)->links, trace);
}

static void
on_poll(void *ctx, struct ef_time until)
{
    struct corrupt_watch *w = ctx;
    if (w->asking) {
        return; /* The next time. */
    }
    struct ef_time since = ef_time_add_ms(until, -WINDOW_MS);
    w->n_found = corrupt_links_find(w->links, since, w->found, MAX_FOUND);
    resolve_quiet(w, until);
    if (w->n_found) {
        char start[EF_TIME_TEXT_SIZE], target[EF_TIME_TEXT_SIZE + 32];
        snprintf(target, sizeof target, "/v1/load?start=%s", ef_time_format(since, start));
        struct fan_out_request request = {.method = "GET", .target = target, .program = "ef-analyzer"};
        w->asking = fan_out_start(w->c->base, w->c->configuration.analyzers, w->c->configuration.n_analyzers, &request,
                                  on_loads, w);
    }
}

/* --- Life ----------------------------------------------------------------------- */

struct corrupt_watch *
corrupt_watch_start(struct controller *c)
{
    if (!c->configuration.watchers.corrupt_s) {
        return NULL;
    }
    struct corrupt_watch *w = calloc(1, sizeof *w);
    if (!w) {
        abort(); /* Control path at start-up. */
    }
    struct trace_poll_spec spec = {.condition = "trace.corrupt",
                                   .period_ms = c->configuration.watchers.corrupt_s * 1000,
                                   .limit = MAX_TRACES,
                                   .take = on_trace,
                                   .done = on_poll,
                                   .ctx = w};
    w->c = c;
    w->links = corrupt_links_create(c->topology.document);
    w->poll = trace_poll_start(c, &spec);
    return w;
}

void
corrupt_watch_stop(struct corrupt_watch *w)
{
    if (w) {
        fan_out_cancel(w->asking);
        trace_poll_stop(w->poll);
        corrupt_links_destroy(w->links);
        free(w);
    }
}
