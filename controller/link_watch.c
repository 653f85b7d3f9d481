/* SPDX-License-Identifier: Apache-2.0 */
/* Links under watch; see link_watch.h. */
#include <config.h>

#include "controller/link_watch.h"

#include <event2/event.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "controller/alerts.h"
#include "controller/controller.h"
#include "controller/diagnoses.h"
#include "controller/latency_circle.h"
#include "controller/link_probes.h"
#include "controller/link_ranks.h"
#include "controller/state.h"
#include "controller/topology_links.h"

enum {
    N_PROBES = 5,      /* Over a link in a cycle, from each end, */
    INTERVAL_MS = 40,  /* one so often. */
    WINDOW_CYCLES = 6, /* That the fine judgement is of. */
    HISTORY = 240,     /* Floors that are remembered. */
    LEARNED = 5,       /* From so many on one knows what is usual. */
    CONFIRM_MS = 50,   /* To the next cycle after a suspicion. */
    N_CONFIRM = 2,     /* Cycles in a row that make an alert, */
    N_WELL = 3,        /* and that end it. */
    MAX_CIRCLES = 5,   /* Tries to find the direction. */
    MAX_SERIES = 60,
};
static const double coarse_least_us = 200, fine_least_us = 30, still_queue_us = 1000;
static const double coarse_factor = 7, fine_factor = 6; /* Times the noise. */

/* A link as one end sees it. */
struct watched_end {
    struct round_trips window;
    double floors[HISTORY]; /* A ring. */
    size_t n_floors, next_floor;
};

struct watched {
    struct topology_link link;
    struct watched_end end[2];
    unsigned n_slow, n_well;   /* Cycles in a row. */
    unsigned n_circles;        /* Since the alert. */
    bool is_slow;              /* An alert says so. */
    bool has_queue;            /* What the alert says. */
    struct link_rank rank;     /* The last judgement. */
    const char *sender;        /* Of what is held back, or NULL. */
    double added_us, queue_us; /* In the last cycle alone. */
};

struct link_watch {
    struct controller *c;
    struct watched *links;
    struct link_probes *probes;
    struct event *timer;
    size_t n;
    int64_t period_ms;
    struct ef_time began[WINDOW_CYCLES]; /* The last cycles, a ring; real. */
    uint64_t n_cycles;
    struct latency_circle *circle; /* Finds the direction for `in_circle`. */
    struct watched *in_circle;
};

/* --- What is usual -------------------------------------------------------- */

static double
base_of(const struct watched_end *end)
{
    double sorted[HISTORY];
    if (end->n_floors < LEARNED) {
        return NAN;
    }
    memcpy(sorted, end->floors, end->n_floors * sizeof *sorted);
    return round_trips_median(sorted, end->n_floors);
}

/* The floor of the last cycles, or NAN: there are too few samples. */
static double
floor_of(const struct watched_end *end)
{
    struct round_trips_summary s;
    round_trips_summarize(&end->window, &s);
    return s.n >= (size_t) N_PROBES * LINK_PROBES_TURNS * WINDOW_CYCLES / 2 ? s.floor_us : NAN;
}

static double
median_floor(const struct link_watch *watch)
{
    double *floors = calloc(2 * watch->n + 1, sizeof *floors);
    size_t n = 0;
    if (!floors) {
        abort(); /* Control path. */
    }
    for (size_t i = 0; i < 2 * watch->n; i++) {
        double us = floor_of(&watch->links[i / 2].end[i % 2]);
        if (!isnan(us)) {
            floors[n++] = us;
        }
    }
    double median = n ? round_trips_median(floors, n) : NAN;
    free(floors);
    return median;
}

static void
learn(struct watched_end *end, double zero)
{
    double us = floor_of(end) - zero;
    if (!isnan(us)) {
        end->floors[end->next_floor] = us;
        end->next_floor = (end->next_floor + 1) % HISTORY;
        end->n_floors = EF_MIN(end->n_floors + 1, (size_t) HISTORY);
    }
}

double
link_watch_base(const struct link_watch *watch, const char *from, const char *to)
{
    for (size_t i = 0; watch && i < watch->n; i++) {
        const struct watched *w = &watch->links[i];
        if (!strcmp(w->link.a, from) && !strcmp(w->link.b, to)) {
            return base_of(&w->end[0]);
        }
        if (!strcmp(w->link.b, from) && !strcmp(w->link.a, to)) {
            return base_of(&w->end[1]);
        }
    }
    return NAN;
}

/* --- Judgement ------------------------------------------------------------ */

static struct link_rank
rank_of(const struct watched *w, bool is_fine, const struct link_probe *ends[2])
{
    struct link_rank rank = {.a = w->link.a, .b = w->link.b, .kind = {w->link.a_role, w->link.b_role}};
    for (size_t i = 0; i < 2; i++) {
        rank.end[i] = link_rank_end(is_fine ? &w->end[i].window : &ends[i]->trips, base_of(&w->end[i]));
    }
    return rank;
}

static struct watched *
watched_of(struct link_watch *watch, const struct link_rank *rank)
{
    for (size_t i = 0; i < watch->n; i++) {
        if (watch->links[i].link.a == rank->a && watch->links[i].link.b == rank->b) {
            return &watch->links[i];
        }
    }
    return NULL;
}

static bool
is_bad(const struct watched *w, const struct link_rank *rank, bool is_fine)
{
    if (!rank->by_history) {
        return false;
    }
    /* It looks at many links, all day long: chance must not raise alerts. */
    if (!is_fine) {
        return link_rank_is_slow(rank, coarse_least_us) && rank->added_us >= coarse_factor * rank->noise_us;
    }
    /* What the last cycles show may be over: the very last must agree. */
    return (link_rank_is_slow(rank, fine_least_us) && rank->added_us >= fine_factor * rank->noise_us &&
            w->added_us >= fine_least_us / 3) ||
           (link_rank_has_queue(rank) && w->queue_us >= still_queue_us);
}

/* Judges all links by the last cycle or the last few, and marks those that are bad. */
static void
judge(struct link_watch *watch, bool is_fine, bool bad[])
{
    struct link_rank *ranks = calloc(watch->n + 1, sizeof *ranks);
    if (!ranks) {
        abort(); /* Control path. */
    }
    for (size_t i = 0; i < watch->n; i++) {
        const struct link_probe *ends[2] = {link_probes_get(watch->probes, 2 * i),
                                            link_probes_get(watch->probes, 2 * i + 1)};
        ranks[i] = rank_of(&watch->links[i], is_fine, ends);
    }
    link_ranks(ranks, watch->n);
    for (size_t i = 0; i < watch->n; i++) {
        struct watched *w = watched_of(watch, &ranks[i]);
        if (!is_fine) {
            w->added_us = ranks[i].added_us;
            w->queue_us = ranks[i].queue_us;
        }
        bool is_one = is_bad(w, &ranks[i], is_fine);
        if (is_fine ? !bad[w - watch->links] : is_one) {
            w->rank = ranks[i];
        }
        if (is_fine && is_one && !bad[w - watch->links]) {
            w->has_queue = !link_rank_is_slow(&ranks[i], fine_least_us);
        } else if (is_one) {
            w->has_queue = false;
        }
        bad[w - watch->links] |= is_one;
    }
    free(ranks);
}

/* --- Alerts --------------------------------------------------------------- */

static void
subject_of(const struct watched *w, char subject[ALERT_SUBJECT_SIZE])
{
    snprintf(subject, ALERT_SUBJECT_SIZE, "%s-%s", w->link.a, w->link.b);
}

static json_t *
evidence_of(const struct link_watch *watch, const struct watched *w)
{
    struct round_trips_summary a, b;
    round_trips_summarize(&w->end[0].window, &a);
    round_trips_summarize(&w->end[1].window, &b);
    const char *from = w->sender ? w->sender : w->link.a, *to = from == w->link.b ? w->link.a : w->link.b;
    return json_pack("{s:s?, s:o, s:s, s:f, s:f, s:f, s:f, s:f, s:o, s:o, s:o}", "device", w->sender, "link",
                     diagnosis_link(watch->c, from, to), "direction", w->sender ? "one" : "unknown", "added_us",
                     w->rank.added_us, "reach_us", link_rank_reach_us(&w->rank), "noise_us", w->rank.noise_us,
                     "noise_floor_us", link_rank_noise_floor_us(&w->rank), "queue_us", w->rank.queue_us, "a",
                     round_trips_show(&a), "b", round_trips_show(&b), "series",
                     round_trips_series(&w->end[0].window, watch->period_ms, MAX_SERIES));
}

static void
raise_alert(struct link_watch *watch, struct watched *w)
{
    char subject[ALERT_SUBJECT_SIZE], summary[ALERT_SUMMARY_SIZE];
    subject_of(w, subject);
    if (w->has_queue) {
        snprintf(summary, sizeof summary,
                 "The link %s - %s has a queue: one in ten round trips takes %.1f ms more than it used to.", w->link.a,
                 w->link.b, w->rank.queue_us / 1000);
    } else {
        snprintf(summary, sizeof summary,
                 "The link %s - %s adds %.0f us (+- %.0f) to each round trip since lately, %s%s.", w->link.a, w->link.b,
                 w->rank.added_us, link_rank_reach_us(&w->rank),
                 w->sender ? "on the way from " : "in one direction or both", w->sender ? w->sender : "");
    }
    struct alert_report report = {.kind = "latency",
                                  .subject = subject,
                                  .severity = ALERT_WARNING,
                                  .summary = summary,
                                  .evidence = evidence_of(watch, w)};
    alerts_raise(watch->c->alerts, &report);
}

/* The direction, of one link at a time. */
static void
on_circle(void *ctx)
{
    struct link_watch *watch = ctx;
    struct watched *w = watch->in_circle;
    char why[200];
    w->sender = latency_circle_sender(watch->circle, why, sizeof why);
    latency_circle_stop(watch->circle);
    watch->circle = NULL;
    if (w->is_slow && w->sender) {
        raise_alert(watch, w);
    }
}

static void
find_direction(struct link_watch *watch, struct watched *w)
{
    double us = w->has_queue ? w->rank.queue_us : w->rank.added_us;
    if (!watch->circle && !w->sender && w->n_circles < MAX_CIRCLES) {
        w->n_circles++;
        watch->in_circle = w;
        watch->circle = latency_circle_start(watch->c, w->link.a, w->link.b, us, w->has_queue, on_circle, watch);
    }
}

static void
note(struct link_watch *watch, struct watched *w, bool is_bad_now)
{
    w->n_slow = is_bad_now ? w->n_slow + 1 : 0;
    w->n_well = is_bad_now ? 0 : w->n_well + 1;
    if (w->n_slow >= N_CONFIRM) {
        if (!w->is_slow) {
            w->sender = NULL;
            w->n_circles = 0;
        }
        w->is_slow = true;
        raise_alert(watch, w);
        find_direction(watch, w);
    } else if (w->is_slow && w->n_well >= N_WELL) {
        char subject[ALERT_SUBJECT_SIZE];
        subject_of(w, subject);
        w->is_slow = false;
        alerts_resolve(watch->c->alerts, "latency", subject, "the link is as fast as before");
    }
}

/* --- Cycles --------------------------------------------------------------- */

static void
wait_ms(struct link_watch *watch, int64_t ms)
{
    struct timeval tv = {ms / 1000, ms % 1000 * 1000};
    evtimer_add(watch->timer, &tv);
}

static void
take_samples(struct link_watch *watch)
{
    /* By cycles, not by time: on a busy machine they take longer. */
    struct ef_time oldest = watch->began[(watch->n_cycles + 1) % WINDOW_CYCLES];
    for (size_t i = 0; i < watch->n; i++) {
        for (size_t j = 0; j < 2; j++) {
            const struct link_probe *l = link_probes_get(watch->probes, 2 * i + j);
            struct watched_end *end = &watch->links[i].end[j];
            round_trips_forget(&end->window, oldest);
            for (size_t k = 0; k < l->trips.n; k++) {
                round_trips_add(&end->window, l->trips.samples[k].at, l->trips.samples[k].us);
            }
        }
    }
}

/* While a link or a switch is known to have failed, others have its load. */
static bool
is_something_down(const struct link_watch *watch)
{
    static const char *const kinds[] = {"link", "switch"};
    size_t n = 0;
    for (size_t i = 0; i < EF_ARRAY_SIZE(kinds); i++) {
        json_t *active = alerts_list(watch->c->alerts, "active", kinds[i]);
        n += json_array_size(active);
        json_decref(active);
    }
    return n > 0;
}

static void
on_cycle(void *ctx)
{
    struct link_watch *watch = ctx;
    bool is_suspicious = false, *bad = calloc(watch->n + 1, sizeof *bad);
    if (!bad) {
        abort(); /* Control path. */
    }
    struct ef_time began = watch->began[watch->n_cycles % WINDOW_CYCLES];
    take_samples(watch);
    watch->n_cycles++;
    double zero = median_floor(watch);
    judge(watch, false, bad);
    judge(watch, true, bad);
    bool is_held = is_something_down(watch);
    for (size_t i = 0; i < watch->n; i++) {
        struct watched *w = &watch->links[i];
        bad[i] = bad[i] && (w->is_slow || !is_held);
        is_suspicious |= bad[i] && !w->is_slow;
        note(watch, w, bad[i]);
        if (!bad[i] && !w->is_slow && !is_held) {
            learn(&w->end[0], zero);
            learn(&w->end[1], zero);
        }
    }
    free(bad);
    int64_t gone_ms = ef_time_diff_ns(ef_time_real(), began) / EF_NS_PER_MS;
    wait_ms(watch, is_suspicious ? CONFIRM_MS : EF_MAX(watch->period_ms - gone_ms, CONFIRM_MS));
}

/* A standby controller leaves the links to the active one. */
static void
on_timer(evutil_socket_t fd, short what, void *ctx)
{
    struct link_watch *watch = ctx;
    watch->began[watch->n_cycles % WINDOW_CYCLES] = ef_time_real();
    if (!state_is_active(watch->c->state)) {
        wait_ms(watch, watch->period_ms);
        return;
    }
    link_probes_clear(watch->probes);
    link_probes_run(watch->probes, N_PROBES, INTERVAL_MS, on_cycle, watch);
}

/* --- Life ----------------------------------------------------------------- */

struct link_watch *
link_watch_start(struct controller *c)
{
    static const struct timeval soon = {1, 0};
    size_t n;
    struct topology_link *links = topology_links(c->topology.document, &n);
    n = EF_MIN(n, (size_t) LINK_PROBES_MAX / 2);
    if (!c->configuration.watchers.latency_s || !c->configuration.n_probers || n < LINK_RANKS_LEAST) {
        free(links);
        return NULL;
    }
    struct link_watch *watch = calloc(1, sizeof *watch);
    if (!watch || !(watch->links = calloc(n, sizeof *watch->links)) ||
        !(watch->timer = evtimer_new(c->base, on_timer, watch))) {
        abort(); /* Control path at start-up. */
    }
    watch->c = c;
    watch->n = n;
    watch->period_ms = c->configuration.watchers.latency_s * 1000;
    watch->probes = link_probes_create(c);
    for (size_t i = 0; i < n; i++) {
        watch->links[i].link = links[i];
        link_probes_add(watch->probes, links[i].a, links[i].b);
        link_probes_add(watch->probes, links[i].b, links[i].a);
    }
    free(links);
    evtimer_add(watch->timer, &soon);
    return watch;
}

void
link_watch_stop(struct link_watch *watch)
{
    if (!watch) {
        return;
    }
    link_probes_destroy(watch->probes);
    latency_circle_stop(watch->circle);
    for (size_t i = 0; i < watch->n; i++) {
        round_trips_free(&watch->links[i].end[0].window);
        round_trips_free(&watch->links[i].end[1].window);
    }
    event_free(watch->timer);
    free(watch->links);
    free(watch);
}

json_t *
link_watch_show(const struct link_watch *watch)
{
    size_t learned = 0, slow = 0;
    if (!watch) {
        return json_null();
    }
    for (size_t i = 0; i < watch->n; i++) {
        const struct watched *w = &watch->links[i];
        learned += !isnan(base_of(&w->end[0])) && !isnan(base_of(&w->end[1]));
        slow += w->is_slow;
    }
    return json_pack("{s:I, s:I, s:I, s:I}", "cycles", (json_int_t) watch->n_cycles, "links", (json_int_t) watch->n,
                     "learned", (json_int_t) learned, "slow", (json_int_t) slow);
}
