/* SPDX-License-Identifier: Apache-2.0 */
/* The application "latency": which link makes the way between two servers slow?
 * (Everflow, sections 5 and 7.1.)
 *
 * It has the switches of both servers mark the SYNs between them (a rule set, for
 * as long as it runs), so that their traces tell which links they use, and takes all
 * links that ECMP may choose from the topology. It probes these links at the same
 * time, from both ends of each (link_probes.h), round after round, and with them
 * some others to compare with; after each round it ranks them (link_ranks.h):
 *
 *     the same link is slow in two rounds, and by how much is known to 10 % or 20 us
 *                                           -> verdict: it adds so many us
 *     or has long round trips now and then  -> verdict: a queue
 *     neither until the time is over        -> the same if it was slow in two, else none
 *
 * The first rounds are short, as great delays show at once; later ones are longer. A verdict has
 * the interval that the delay lies in with 95 %, and what the least is that could be found just now.
 *
 * A round trip says nothing of the direction: that is found by probes that go
 * round a circle over the link in either direction (latency_circle.h). */
#include <config.h>

#include "controller/latency_app.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "base/util.h"
#include "controller/controller.h"
#include "controller/document.h"
#include "controller/fabric_map.h"
#include "controller/latency_circle.h"
#include "controller/latency_links.h"
#include "controller/link_probes.h"
#include "controller/link_ranks.h"
#include "controller/link_watch.h"
#include "controller/rule_sets.h"
#include "controller/trace_query.h"
#include "filter/filter.h"

enum {
    N_PROBES = 16,      /* Over a link in a round, from each end, */
    N_MORE_PROBES = 40, /* from the third on, */
    INTERVAL_MS = 20,   /* one so often. */
    DEFAULT_DURATION_S = 30,
    MAX_DURATION_S = 600,
    N_CONFIRM = 2,      /* Rounds that must agree, */
    N_FAINT = 3,        /* if what it adds is not known exactly. */
    MAX_TRACES = 300,   /* That tell the links, each time. */
    MARKS_LAST_S = 700, /* At most; the set is removed at the end. */
    SERIES_MS = 500,
    MAX_SERIES = 100,
};

static const char owner[] = "latency";
static const double exact_us = 20, exact_part = 0.1; /* To know a delay exactly is one of both. */

struct latency {
    struct diagnosis *d;
    struct controller *c;
    struct latency_links links;
    struct link_probes *probes;
    struct latency_circle *circle;
    struct trace_query *query;
    char *filter;
    struct ef_time started, until;     /* Real; monotonic. */
    char last[2 * LATENCY_LINKS_NAME]; /* The link found bad by the last round, "" if none. */
    bool last_was_queue;
    unsigned n_rounds, n_agreed;
    struct link_rank *ranks; /* Of the last round, the worst first. */
};

/* --- The verdict ---------------------------------------------------------- */

/* What is known of every link, for people and scripts. */
static void
show_links(struct latency *a)
{
    json_t *list = json_array();
    for (size_t i = 0; i < a->links.n; i++) {
        const struct link_rank *r = &a->ranks[i];
        const struct latency_link *l = latency_links_find(&a->links, r->a, r->b);
        const struct round_trips *trips[2] = {&link_probes_get(a->probes, l->probe[0])->trips,
                                              &link_probes_get(a->probes, l->probe[1])->trips};
        json_t *entry = json_pack("{s:s, s:s, s:b, s:I, s:o, s:o, s:o, s:o}", "a", r->a, "b", r->b, "between",
                                  l->is_between, "traces", (json_int_t) l->n_traces, "added_us",
                                  r->is_known ? json_real(r->added_us) : json_null(), "noise_us",
                                  r->is_known ? json_real(r->noise_us) : json_null(), "queue_us",
                                  r->is_known ? json_real(r->queue_us) : json_null(), "series",
                                  round_trips_series(trips[0], SERIES_MS, MAX_SERIES));
        for (size_t j = 0; j < 2; j++) {
            struct round_trips_summary s;
            round_trips_summarize(trips[j], &s);
            json_object_set_new(entry, j ? "from_b" : "from_a", round_trips_show(&s));
        }
        json_array_append_new(list, entry);
    }
    diagnosis_evidence_set(a->d, "links", list);
    diagnosis_evidence_set(a->d, "compared_with",
                           json_string(a->links.n && a->ranks[0].by_history ? "history" : "links of the same kind"));
}

static void
add_probe_ids(struct latency *a)
{
    for (size_t i = 0; i < link_probes_n(a->probes); i++) {
        const struct link_probe *l = link_probes_get(a->probes, i);
        if (*l->id) {
            diagnosis_evidence_add(a->d, "probes", json_string(l->id));
        }
    }
}

static json_t *
details(const struct link_rank *r, unsigned n_rounds)
{
    double reach_us = link_rank_reach_us(r);
    return json_pack("{s:f, s:f, s:[f, f], s:f, s:f, s:s, s:i}", "added_us", r->added_us, "noise_us", r->noise_us,
                     "interval_us", r->added_us - reach_us, r->added_us + reach_us, "noise_floor_us",
                     link_rank_noise_floor_us(r), "queue_us", r->queue_us, "compared_with",
                     r->by_history ? "history" : "links of the same kind", "rounds", (int) n_rounds);
}

static const struct link_rank *
rank_of(const struct latency *a, const char *name)
{
    for (size_t i = 0; i < a->links.n; i++) {
        char text[2 * LATENCY_LINKS_NAME];
        if (!strcmp(latency_links_text(text, a->ranks[i].a, a->ranks[i].b), name)) {
            return &a->ranks[i];
        }
    }
    return NULL;
}

/* `sender` is the switch at whose end packets are held back, or NULL. */
static void
finish_bad(struct latency *a, const char *sender)
{
    const struct link_rank *r = rank_of(a, a->last);
    const char *other = sender && !strcmp(sender, r->a) ? r->b : r->a;
    char where[3 * LATENCY_LINKS_NAME] = ", in one direction or both";
    struct verdict v = {.kind = a->last_was_queue ? "queue" : "latency",
                        .device = sender,
                        .link = diagnosis_link(a->c, sender ? sender : r->a, sender ? other : r->b),
                        .class_text = "all packets",
                        .persistence = VERDICT_PERSISTENT,
                        .confidence = 0.99,
                        .details = details(r, a->n_rounds)};
    if (sender) {
        snprintf(where, sizeof where, ", on the way from %s to %s", sender, other);
    }
    if (a->last_was_queue) {
        v.persistence = VERDICT_TRANSIENT;
        snprintf(v.summary, sizeof v.summary,
                 "The link %s - %s has a queue%s: one in ten round trips takes %.2f ms more than over the others.",
                 r->a, r->b, where, r->queue_us / 1000);
    } else {
        snprintf(v.summary, sizeof v.summary, "The link %s - %s adds %.0f us (+- %.0f us) to each round trip%s.", r->a,
                 r->b, r->added_us, link_rank_reach_us(r), where);
    }
    diagnosis_finish(a->d, &v);
}

static void
finish_none(struct latency *a)
{
    struct verdict v = {.kind = "none", .persistence = VERDICT_UNKNOWN, .confidence = 0.9};
    const struct link_rank *top = NULL;
    for (size_t i = 0; i < a->links.n && !top; i++) {
        const struct latency_link *l = latency_links_find(&a->links, a->ranks[i].a, a->ranks[i].b);
        top = l->is_between && a->ranks[i].is_known ? &a->ranks[i] : NULL;
    }
    if (!top) {
        const struct link_probe *l = link_probes_get(a->probes, 0);
        diagnosis_fail(a->d, "no link could be measured: %s", *l->error ? l->error : "the probes left no traces");
        return;
    }
    bool stands_out = link_rank_is_slow(top, link_rank_least_us(top));
    snprintf(v.summary, sizeof v.summary,
             "No link between them is %sslower than the others: the worst, %s - %s, adds %.0f us (+- %.0f us)%s. The"
             " noise floor is %.0f us: less than that would not be found just now.",
             stands_out ? "surely " : "", top->a, top->b, top->added_us, link_rank_reach_us(top),
             stands_out ? ", but only lately" : "", link_rank_noise_floor_us(top));
    v.details = details(top, a->n_rounds);
    diagnosis_finish(a->d, &v);
}

/* --- The direction -------------------------------------------------------- */

static void
on_circle(void *ctx)
{
    struct latency *a = ctx;
    char why[200];
    const char *sender = latency_circle_sender(a->circle, why, sizeof why);
    diagnosis_progress(a->d, "%s", why);
    finish_bad(a, sender);
}

static void
find_direction(struct latency *a)
{
    const struct link_rank *r = rank_of(a, a->last);
    a->circle = latency_circle_start(a->c, r->a, r->b, a->last_was_queue ? r->queue_us : r->added_us, a->last_was_queue,
                                     on_circle, a);
    if (a->circle) {
        diagnosis_progress(a->d, "%s: probing around a circle, in both directions", a->last);
    } else {
        finish_bad(a, NULL);
    }
}

/* --- Rounds --------------------------------------------------------------- */

static void start_round(struct latency *a);

static void
rank_links(struct latency *a)
{
    free(a->ranks);
    a->ranks = calloc(a->links.n + 1, sizeof *a->ranks);
    if (!a->ranks) {
        abort(); /* Control path. */
    }
    for (size_t i = 0; i < a->links.n; i++) {
        const struct latency_link *l = &a->links.links[i];
        struct link_rank *r = &a->ranks[i];
        *r = (struct link_rank){.a = l->link.a, .b = l->link.b, .kind = {l->link.a_role, l->link.b_role}};
        r->end[0] = link_rank_end(&link_probes_get(a->probes, l->probe[0])->trips,
                                  link_watch_base(a->c->link_watch, r->a, r->b));
        r->end[1] = link_rank_end(&link_probes_get(a->probes, l->probe[1])->trips,
                                  link_watch_base(a->c->link_watch, r->b, r->a));
    }
    link_ranks(a->ranks, a->links.n);
}

/* The link between the two that is worst, if any is bad. */
static const struct link_rank *
worst(const struct latency *a, bool *is_queue)
{
    const struct link_rank *queue = NULL;
    for (size_t i = 0; i < a->links.n; i++) {
        const struct link_rank *r = &a->ranks[i];
        if (!latency_links_find(&a->links, r->a, r->b)->is_between) {
            continue;
        }
        if (link_rank_is_slow(r, link_rank_least_us(r))) {
            *is_queue = false;
            return r;
        }
        if (link_rank_has_queue(r) && (!queue || r->queue_us > queue->queue_us)) {
            queue = r;
        }
    }
    *is_queue = queue != NULL;
    return queue;
}

static bool
is_exact(const struct link_rank *r)
{
    return link_rank_reach_us(r) <= fmax(exact_us, exact_part * r->added_us);
}

static void
judge(struct latency *a)
{
    char now[sizeof a->last] = "";
    bool is_queue;
    const struct link_rank *r = worst(a, &is_queue);
    if (r) {
        latency_links_text(now, r->a, r->b);
        diagnosis_progress(a->d, "round %u: %s adds %.0f us (+- %.0f us)%s", a->n_rounds, now,
                           is_queue ? r->queue_us : r->added_us, is_queue ? r->queue_noise_us : link_rank_reach_us(r),
                           is_queue ? " to one round trip in ten" : "");
    } else {
        diagnosis_progress(a->d, "round %u: no link stands out", a->n_rounds);
    }
    a->n_agreed = *now && !strcmp(now, a->last) && is_queue == a->last_was_queue ? a->n_agreed + 1 : *now != '\0';
    memcpy(a->last, now, sizeof now);
    a->last_was_queue = is_queue;
    bool is_late = ef_time_before(a->until, ef_time_mono());
    bool is_sure = a->n_agreed >= N_CONFIRM && (is_queue || is_exact(r));
    if (is_sure || (is_late && a->n_agreed >= N_FAINT)) {
        find_direction(a);
    } else if (is_late) {
        finish_none(a);
    } else {
        start_round(a);
    }
}

static void
on_traces(void *ctx)
{
    struct latency *a = ctx;
    struct trace_item *item;
    for (;;) {
        int rc = trace_query_next(a->query, &item);
        if (rc == TRACE_QUERY_WAIT) {
            return;
        }
        if (rc == TRACE_QUERY_END) {
            break;
        }
        json_t *trace = json_loadb(item->json, item->len, 0, NULL);
        if (latency_links_take(&a->links, a->probes, trace)) {
            diagnosis_evidence_add(a->d, "traces", json_incref(json_object_get(trace, "id")));
        }
        json_decref(trace);
        free(item);
    }
    trace_query_destroy(a->query);
    a->query = NULL;
    rank_links(a);
    show_links(a);
    judge(a);
}

/* Which links did their packets take meanwhile? */
static void
on_round(void *ctx)
{
    struct latency *a = ctx;
    struct trace_question question = {
        .filter = a->filter, .condition = "!trace.probe", .start = &a->started, .limit = MAX_TRACES};
    a->n_rounds++;
    add_probe_ids(a);
    latency_links_forget_traces(&a->links);
    a->query = trace_query_start(a->c->base, &question, &a->c->configuration, &a->c->topology, on_traces, a);
}

static void
start_round(struct latency *a)
{
    link_probes_run(a->probes, a->n_rounds < N_CONFIRM ? N_PROBES : N_MORE_PROBES, INTERVAL_MS, on_round, a);
}

/* --- The beginning -------------------------------------------------------- */

/* Has both switches mark the SYNs. That this fails is no reason not to probe. */
static void
mark_syns(struct latency *a, const char *src, const char *dst)
{
    bool is_v6 = strchr(src, ':') != NULL;
    struct ef_error err = EF_ERROR_INIT;
    json_t *there = json_sprintf(is_v6 ? "tcp6,ipv6_src=%s,ipv6_dst=%s,tcp_flags=+syn"
                                       : "tcp,nw_src=%s,nw_dst=%s,tcp_flags=+syn",
                                 src, dst),
           *back = json_sprintf(is_v6 ? "tcp6,ipv6_src=%s,ipv6_dst=%s,tcp_flags=+syn"
                                      : "tcp,nw_src=%s,nw_dst=%s,tcp_flags=+syn",
                                dst, src);
    json_t *rules = json_pack("[{s:s, s:o, s:s}, {s:s, s:o, s:s}]", "name", "there", "match", there, "action", "mark",
                              "name", "back", "match", back, "action", "mark");
    json_t *switches = json_pack("[s, s]", a->links.ends[0], a->links.ends[1]);
    struct rule_set_spec spec = {.owner = owner,
                                 .name = diagnosis_id(a->d),
                                 .switches = switches,
                                 .rules = rules,
                                 .expires = ef_time_add_ms(ef_time_real(), MARKS_LAST_S * 1000)};
    if (rule_sets_put(a->c->rule_sets, &spec, &err)) {
        diagnosis_progress(a->d, "their SYNs are not marked: %s", err.text);
    } else {
        diagnosis_progress(a->d, "%s and %s mark the SYNs between them", a->links.ends[0], a->links.ends[1]);
    }
    json_decref(rules);
    json_decref(switches);
}

static int
check_filter(const char *text, struct ef_error *err)
{
    struct ef_filter *filter;
    struct ef_error why = EF_ERROR_INIT;
    if (ef_filter_compile(text, EF_FILTER_PACKET, &filter, &why)) {
        return ef_error_set(err, -EINVAL, "filter: %s", why.text);
    }
    ef_filter_destroy(filter);
    return 0;
}

static int
make_filter(struct latency *a, const char *src, const char *dst, const char *more, struct ef_error *err)
{
    const char *field = strchr(src, ':') ? "ipv6.addr" : "ip.addr";
    if (*more && check_filter(more, err)) {
        return -EINVAL; /* Before it is put into brackets, so that the error is about what was written. */
    }
    if (asprintf(&a->filter, "%s == %s && %s == %s%s%s%s", field, src, field, dst, *more ? " && (" : "", more,
                 *more ? ")" : "") < 0) {
        abort(); /* Control path. */
    }
    return check_filter(a->filter, err);
}

static int
begin(struct latency *a, const json_t *options, struct ef_error *err)
{
    static const char *const known[] = {"src", "dst", "filter", "duration_s", NULL};
    struct doc_place root = {.value = (json_t *) options};
    const char *src, *dst, *filter = "", *address[2];
    int64_t duration_s;
    if (doc_check_keys(&root, known, err) || doc_string(&root, "src", NULL, &src, err) ||
        doc_string(&root, "dst", NULL, &dst, err) ||
        (json_object_get(options, "filter") && doc_string(&root, "filter", NULL, &filter, err)) ||
        doc_integer(&root, "duration_s", 1, MAX_DURATION_S, DEFAULT_DURATION_S, &duration_s, err)) {
        return -EINVAL;
    }
    int rc = latency_links_init(&a->links, a->c->topology.document, src, dst, address, err);
    rc = rc ? rc : make_filter(a, address[0], address[1], filter, err);
    if (rc) {
        return rc;
    }
    a->started = ef_time_real();
    a->until = ef_time_add_ms(ef_time_mono(), duration_s * 1000);
    a->probes = link_probes_create(a->c);
    link_probes_keep_orders(a->probes);
    latency_links_add_probes(&a->links, a->probes);
    diagnosis_progress(a->d, "%zu links between %s and %s, %zu others to compare with", a->links.n_between,
                       a->links.ends[0], a->links.ends[1], a->links.n - a->links.n_between);
    mark_syns(a, address[0], address[1]);
    start_round(a);
    return 0;
}

static void
end(void *state)
{
    struct latency *a = state;
    rule_sets_remove(a->c->rule_sets, owner, diagnosis_id(a->d));
    trace_query_destroy(a->query);
    latency_circle_stop(a->circle);
    link_probes_destroy(a->probes);
    latency_links_deinit(&a->links);
    free(a->ranks);
    free(a->filter);
    free(a);
}

static int
start(struct diagnosis *d, const json_t *options, void **state, struct ef_error *err)
{
    struct latency *a = calloc(1, sizeof *a);
    if (!a) {
        abort(); /* Control path. */
    }
    a->d = d;
    a->c = diagnosis_controller(d);
    int rc = begin(a, options, err);
    if (rc) {
        end(a);
        return rc;
    }
    *state = a;
    return 0;
}

const struct diagnosis_app latency_app = {"latency", "which link makes the way between two servers slow", start, end};
