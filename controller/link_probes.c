/* SPDX-License-Identifier: Apache-2.0 */
/* Probes over links and straight back; see link_probes.h. */
#include <config.h>

#include "controller/link_probes.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "controller/controller.h"
#include "controller/probe_orders.h"
#include "controller/probe_results.h"
#include "controller/text.h"
#include "controller/trace_query.h"

enum {
    LOOK_MS = 100,          /* How often the orders are looked at. */
    TRACES_CLOSE_MS = 1500, /* After its last copy a trace is open for a second. */
    BUDGET_MS = 10000,
    GIVE_UP_MS = 5000, /* So long after the last probe was due. */
    EXPIRES_S = 3,     /* A prober that does not answer for so long is not waited for. */
    CLOCKS_DIFFER_MS = 2000,
    TRACES_AT_ONCE = 256,
};

struct link_probes {
    struct controller *c;
    struct link_probe *links;
    struct probe_results *results[LINK_PROBES_AT_ONCE]; /* Of the group that is under way. */
    size_t n, first, n_group;
    struct event *timer;
    struct trace_query *query;
    bool has_budget, is_waiting_for_traces, keep_orders;
    unsigned count;
    double interval_ms;
    struct ef_time started;  /* Of the group, real. */
    struct ef_time deadline; /* Monotonic: first for the budget, then for the orders. */
    void (*done)(void *ctx);
    void *ctx;
};

static void start_group(struct link_probes *p);

/* --- Orders --------------------------------------------------------------- */

static void
wait_ms(struct link_probes *p, int ms)
{
    struct timeval tv = {ms / 1000, ms % 1000 * 1000};
    evtimer_add(p->timer, &tv);
}

static void
note_error(struct link_probe *l, const char *text)
{
    snprintf(l->error, sizeof l->error, "%.199s", text);
    text_make_printable(l->error);
}

/* That a probe is led over, one after the other. */
static size_t
n_switches(const struct link_probe *l)
{
    return l->n_way == 2 ? 2 * LINK_PROBES_TURNS : l->n_way;
}

static double
group_interval_ms(const struct link_probes *p)
{
    size_t n_copies = 0; /* Of one probe each. */
    for (size_t i = 0; i < p->n_group; i++) {
        n_copies += n_switches(&p->links[p->first + i]) + 1;
    }
    return EF_MAX(p->interval_ms, 1000.0 * (double) n_copies / LINK_PROBES_RATE);
}

/* Gives the order for a link, the `number`th of its group. */
static void
give_order(struct link_probes *p, struct link_probe *l, size_t number)
{
    struct ef_error err = EF_ERROR_INIT;
    struct probe_order *order;
    double interval_ms = group_interval_ms(p) * (1 + 0.011 * (double) number);
    const char *way[LINK_PROBES_WAY];
    json_t *via = json_array();
    for (size_t i = 0; i < l->n_way; i++) {
        way[i] = l->way[i];
    }
    for (size_t i = 0; i < n_switches(l); i++) {
        json_array_append_new(via, json_string(way[i % l->n_way]));
    }
    json_t *document = json_pack("{s:{s:s, s:o}, s:i, s:f, s:i}", "packet", "dst", l->from, "via", via, "count",
                                 (int) p->count, "interval_ms", interval_ms, "expires_s", EXPIRES_S);
    l->error[0] = l->id[0] = '\0';
    if (probe_orders_add(p->c->probes, document, &order, &err)) {
        note_error(l, err.text);
    } else {
        snprintf(l->id, sizeof l->id, "%s", probe_order_id(order));
        p->results[number] = probe_results_create(l->id, p->count);
        probe_results_expect_way(p->results[number], way, l->n_way);
    }
    json_decref(document);
}

static void
end_orders(struct link_probes *p)
{
    if (p->has_budget) {
        p->has_budget = false;
        probe_budget_return(&p->c->probe_budget, (unsigned) p->n_group);
    }
    for (size_t i = 0; i < p->n_group; i++) {
        struct link_probe *l = &p->links[p->first + i];
        struct probe_order *order = p->results[i] ? probe_orders_find(p->c->probes, l->id) : NULL;
        if (order) {
            probe_order_stop(order);
            l->sent += (unsigned) probe_order_sent(order);
            note_error(l, probe_order_error(order));
            if (!p->keep_orders) {
                probe_order_forget(order);
            }
        }
    }
}

static bool
is_one_running(const struct link_probes *p)
{
    for (size_t i = 0; i < p->n_group; i++) {
        const struct probe_order *order =
            p->results[i] ? probe_orders_find(p->c->probes, p->links[p->first + i].id) : NULL;
        if (order && !probe_order_is_over(order)) {
            return true;
        }
    }
    return false;
}

/* --- Traces --------------------------------------------------------------- */

static void
release_group(struct link_probes *p)
{
    trace_query_destroy(p->query);
    p->query = NULL;
    for (size_t i = 0; i < LINK_PROBES_AT_ONCE; i++) {
        probe_results_destroy(p->results[i]);
        p->results[i] = NULL;
    }
}

static void
take_trips(struct link_probe *l, const struct round_trips *trips)
{
    for (size_t i = 0; trips && i < trips->n; i++) {
        round_trips_add(&l->trips, trips->samples[i].at, trips->samples[i].us);
    }
}

/* The round trips of a link, as both ends saw them. */
static void
take_link(struct link_probes *p, struct link_probe *l, const struct probe_results *results)
{
    take_trips(l, probe_results_link(results, l->from, l->to));
    for (size_t i = 0; i < p->n; i++) {
        struct link_probe *other = &p->links[i];
        if (other->n_way == 2 && !strcmp(other->from, l->to) && !strcmp(other->to, l->from)) {
            take_trips(other, probe_results_link(results, l->to, l->from));
        }
    }
}

static void
take_results(struct link_probes *p)
{
    for (size_t i = 0; i < p->n_group; i++) {
        struct link_probe *l = &p->links[p->first + i];
        const struct probe_results *results = p->results[i];
        if (results && l->n_way == 2) {
            take_link(p, l, results);
        } else if (results) {
            take_trips(l, probe_results_way(results));
        }
    }
}

static void
finish_group(struct link_probes *p)
{
    take_results(p);
    release_group(p);
    p->first += p->n_group;
    p->n_group = 0;
    if (p->first < p->n) {
        start_group(p);
    } else {
        p->done(p->ctx);
    }
}

static void
on_traces(void *ctx)
{
    struct link_probes *p = ctx;
    struct trace_item *item;
    for (int i = 0; i < TRACES_AT_ONCE; i++) {
        int rc = trace_query_next(p->query, &item);
        if (rc == TRACE_QUERY_END) {
            finish_group(p);
            return;
        }
        if (rc == TRACE_QUERY_WAIT) {
            return;
        }
        for (size_t j = 0; j < p->n_group; j++) {
            if (p->results[j]) {
                probe_results_add(p->results[j], item->json, item->len);
            }
        }
        free(item);
    }
    trace_query_wake(p->query);
}

static void
ask_for_traces(struct link_probes *p)
{
    struct ef_time start = ef_time_add_ms(p->started, -CLOCKS_DIFFER_MS);
    struct trace_question question = {.condition = "trace.probe", .start = &start};
    p->query = trace_query_start(p->c->base, &question, &p->c->configuration, &p->c->topology, on_traces, p);
}

/* --- Groups --------------------------------------------------------------- */

/* Without a budget by the deadline, the links of the group are not measured. */
static void
begin_group(struct link_probes *p)
{
    unsigned n = (unsigned) p->n_group;
    if (!probe_budget_take(&p->c->probe_budget, n, n * p->count, ef_time_mono())) {
        if (!ef_time_before(ef_time_mono(), p->deadline)) {
            for (size_t i = 0; i < p->n_group; i++) {
                note_error(&p->links[p->first + i], "there was no room in the budget of probes");
            }
            finish_group(p);
            return;
        }
        wait_ms(p, LOOK_MS);
        return;
    }
    p->has_budget = true;
    p->started = ef_time_real();
    p->deadline = ef_time_add_ms(ef_time_mono(), (int64_t) (1.5 * p->count * group_interval_ms(p)) + GIVE_UP_MS);
    for (size_t i = 0; i < p->n_group; i++) {
        give_order(p, &p->links[p->first + i], i);
    }
    wait_ms(p, LOOK_MS);
}

static void
on_timer(evutil_socket_t fd, short what, void *ctx)
{
    struct link_probes *p = ctx;
    if (!p->has_budget && !p->is_waiting_for_traces) {
        begin_group(p);
    } else if (p->is_waiting_for_traces) {
        p->is_waiting_for_traces = false;
        ask_for_traces(p);
    } else if (is_one_running(p) && ef_time_before(ef_time_mono(), p->deadline)) {
        wait_ms(p, LOOK_MS);
    } else {
        end_orders(p);
        p->is_waiting_for_traces = true;
        wait_ms(p, TRACES_CLOSE_MS);
    }
}

static void
start_group(struct link_probes *p)
{
    p->n_group = EF_MIN(p->n - p->first, (size_t) LINK_PROBES_AT_ONCE);
    p->deadline = ef_time_add_ms(ef_time_mono(), BUDGET_MS);
    wait_ms(p, 0);
}

void
link_probes_run(struct link_probes *p, unsigned count, double interval_ms, void (*done)(void *ctx), void *ctx)
{
    p->count = count;
    p->interval_ms = interval_ms;
    p->done = done;
    p->ctx = ctx;
    p->first = 0;
    start_group(p);
}

/* --- Life ----------------------------------------------------------------- */

struct link_probes *
link_probes_create(struct controller *c)
{
    struct link_probes *p = calloc(1, sizeof *p);
    if (!p || !(p->links = calloc(LINK_PROBES_MAX, sizeof *p->links)) ||
        !(p->timer = evtimer_new(c->base, on_timer, p))) {
        abort(); /* Control path. */
    }
    p->c = c;
    return p;
}

void
link_probes_destroy(struct link_probes *p)
{
    if (!p) {
        return;
    }
    end_orders(p);
    release_group(p);
    for (size_t i = 0; i < p->n; i++) {
        round_trips_free(&p->links[i].trips);
    }
    event_free(p->timer);
    free(p->links);
    free(p);
}

bool
link_probes_add_way(struct link_probes *p, const char *const way[], size_t n)
{
    if (p->n == LINK_PROBES_MAX || n < 2 || n > LINK_PROBES_WAY) {
        return false;
    }
    struct link_probe *l = &p->links[p->n++];
    snprintf(l->from, sizeof l->from, "%s", way[0]);
    snprintf(l->to, sizeof l->to, "%s", way[1]);
    l->n_way = n;
    for (size_t i = 0; i < n; i++) {
        snprintf(l->way[i], sizeof l->way[i], "%s", way[i]);
    }
    return true;
}

bool
link_probes_add(struct link_probes *p, const char *from, const char *to)
{
    const char *way[] = {from, to};
    for (size_t i = 0; i < p->n; i++) {
        if (!strcmp(p->links[i].from, from) && !strcmp(p->links[i].to, to) && p->links[i].n_way == 2) {
            return true;
        }
    }
    return link_probes_add_way(p, way, 2);
}

size_t
link_probes_n(const struct link_probes *p)
{
    return p->n;
}

struct link_probe *
link_probes_get(struct link_probes *p, size_t i)
{
    return &p->links[i];
}

void
link_probes_clear(struct link_probes *p)
{
    for (size_t i = 0; i < p->n; i++) {
        round_trips_free(&p->links[i].trips);
        p->links[i].sent = 0;
    }
}

void
link_probes_keep_orders(struct link_probes *p)
{
    p->keep_orders = true;
}
