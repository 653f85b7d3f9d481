/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds of probes; see probe_round.h. */
#include <config.h>

#include "controller/probe_round.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/time.h"
#include "base/util.h"
#include "controller/collection.h"
#include "controller/controller.h"
#include "controller/hop.h"
#include "controller/probe_budget.h"
#include "controller/probe_orders.h"
#include "controller/trace_query.h"

enum {
    LOOK_MS = 50,          /* Whether the orders are over. */
    ASK_AGAIN_MS = 250,    /* For traces that are not there yet. */
    TRACES_DUE_MS = 1600,  /* After the last probe was sent: as analyzers close traces by default; */
    TRACES_LATE_MS = 3500, /* nobody waits longer, though more come. */
    EXPIRES_S = 10,
    CLOCKS_DIFFER_MS = 2000,
    TRACES_AT_ONCE = 256,
};

/* The worst that is said of a probe counts least. */
enum fate { NO_TRACE, AWAY, REACHED, FAILED, LOOPED, PASSED };

struct order {
    struct probe_round_order o; /* First: what others see. */
    uint8_t *fates;             /* enum fate of each probe, by its sequence number. */
    bool is_over;
    char analyzer[PROBE_ROUND_NAME],
        expected[PROBE_ROUND_NAME]; /* Of traces of dropped ones: all of a flow are alike. */
};

struct probe_round {
    struct controller *controller;
    struct order *orders[PROBE_ROUND_ORDERS];
    unsigned n;
    bool has_budget, all_over, has_news; /* News: the last question brought traces. */
    struct event *timer;
    struct trace_query *query;
    struct ef_time began, over; /* Monotonic. */
    struct ef_time began_real;
    void (*done)(void *ctx);
    void *ctx;
};

/* --- One trace ------------------------------------------------------------ */

/* A copy may also be made where the packet leaves the switch, or is dropped. */
static bool
is_arrival(const json_t *hop)
{
    return strcmp(ef_json_text_or(hop, "direction", ""), "egress") &&
           !json_is_string(json_object_get(hop, "drop_reason"));
}

static struct order *
order_of(struct probe_round *r, const char *id)
{
    for (unsigned i = 0; i < r->n; i++) {
        if (*r->orders[i]->o.id && !strcmp(r->orders[i]->o.id, id)) {
            return r->orders[i];
        }
    }
    return NULL;
}

/* Where the packet went from `at`, "" if it was not seen behind it; NULL: it was not
 * even there. `*last` is the last switch that it reached. */
static const char *
next_after(const json_t *hops, const char *at, const char **last)
{
    const char *next = NULL;
    size_t i;
    const json_t *hop;
    *last = "?";
    json_array_foreach((json_t *) hops, i, hop)
    {
        if (!is_arrival(hop)) {
            continue;
        }
        *last = hop_switch(hop, "?");
        if (next && !*next) {
            next = *last;
        } else if (!next && (!*at || !strcmp(*last, at))) {
            next = "";
        }
    }
    return next;
}

static enum fate
fate_of(const json_t *trace, const char *next)
{
    const char *fate = ef_json_text_or(trace, "fate", "unknown");
    if (json_is_true(json_object_get(trace, "loop"))) {
        return LOOPED;
    }
    return !next                        ? AWAY
           : *next                      ? PASSED
           : !strcmp(fate, "delivered") ? PASSED
           : !strcmp(fate, "dropped")   ? FAILED
                                        : REACHED;
}

static void
count_next(struct probe_round_order *o, const char *next)
{
    for (unsigned i = 0; i < o->n_next; i++) {
        if (!strcmp(o->next[i].name, next)) {
            o->next[i].passed++;
            return;
        }
    }
    if (o->n_next < PROBE_ROUND_NEXT) {
        struct probe_round_next *new = &o->next[o->n_next++];
        snprintf(new->name, sizeof new->name, "%s", next);
        new->passed = 1;
    }
}

static void
count(struct order *order, enum fate before, enum fate fate)
{
    struct probe_round_order *o = &order->o;
    o->traced += before == NO_TRACE;
    o->reached += before < REACHED && fate >= REACHED;
    o->failed += (unsigned) (fate == FAILED) - (unsigned) (before == FAILED);
    o->looped += (unsigned) (fate == LOOPED) - (unsigned) (before == LOOPED);
    o->passed += fate == PASSED;
}

static void
take_trace(struct probe_round *r, struct order *order, const json_t *trace, uint64_t sequence)
{
    struct probe_round_order *o = &order->o;
    const char *last, *next = next_after(json_object_get(trace, "hops"), o->at, &last);
    enum fate fate = fate_of(trace, next), before = order->fates[sequence];
    if (fate <= before) {
        return;
    }
    order->fates[sequence] = (uint8_t) fate;
    r->has_news = true;
    count(order, before, fate);
    if (fate == PASSED && *next) {
        count_next(o, next);
    }
    if (!strcmp(ef_json_text_or(trace, "fate", ""), "dropped")) {
        snprintf(order->analyzer, sizeof order->analyzer, "%s", ef_json_text_or(trace, "analyzer", ""));
        snprintf(order->expected, sizeof order->expected, "%s", ef_json_text_or(trace, "expected_name", ""));
        json_object_set_new(o->ends, last, json_integer(json_integer_value(json_object_get(o->ends, last)) + 1));
    }
    if (!*o->a_trace || fate < PASSED) {
        snprintf(o->a_trace, sizeof o->a_trace, "%s", ef_json_text_or(trace, "id", ""));
    }
}

void
probe_round_take(struct probe_round *r, const char *json, size_t len)
{
    json_t *trace = json_loadb(json, len, 0, NULL);
    const json_t *probe = json_object_get(trace, "probe"), *sequence = json_object_get(probe, "sequence");
    struct order *order = order_of(r, ef_json_text_or(probe, "id", ""));
    json_int_t n = json_integer_value(sequence);
    collection_take(r->controller->collection, trace);
    if (order && json_is_integer(sequence) && n >= 0 && n < (json_int_t) order->o.count) {
        take_trace(r, order, trace, (uint64_t) n);
    }
    json_decref(trace);
}

/* --- The traces ----------------------------------------------------------- */

static void
again_in(struct probe_round *r, int ms)
{
    struct timeval tv = {ms / 1000, ms % 1000 * 1000};
    evtimer_add(r->timer, &tv);
}

static bool
all_are_traced(const struct probe_round *r)
{
    for (unsigned i = 0; i < r->n; i++) {
        if (r->orders[i]->o.traced < r->orders[i]->o.sent) {
            return false;
        }
    }
    return true;
}

static void
return_budget(struct probe_round *r)
{
    if (r->has_budget) {
        probe_budget_return(&r->controller->probe_budget, r->n);
        r->has_budget = false;
    }
}

/* Probes that seem dropped, wherever. */
static unsigned
n_ended(const struct order *order)
{
    unsigned n = 0;
    const char *last;
    json_t *count;
    json_object_foreach(order->o.ends, last, count)
    {
        n += (unsigned) json_integer_value(count);
    }
    return n;
}

/* What lost copies may explain was not seen to fail. */
static void
doubt(struct probe_round *r)
{
    for (unsigned i = 0; i < r->n; i++) {
        struct order *order = r->orders[i];
        unsigned n = n_ended(order);
        struct collection_lack lack = {n, n + order->o.passed, r->began};
        if (n && collection_is_doubtful(r->controller->collection, order->analyzer, order->expected, &lack)) {
            order->o.is_doubtful = true;
            order->o.failed = 0;
            json_object_clear(order->o.ends);
        }
    }
}

static void
finish(struct probe_round *r)
{
    return_budget(r);
    doubt(r);
    r->done(r->ctx); /* May have destroyed us. */
}

static void
on_traces(void *ctx)
{
    struct probe_round *r = ctx;
    struct trace_item *item;
    for (int i = 0; i < TRACES_AT_ONCE; i++) {
        int rc = trace_query_next(r->query, &item);
        if (rc == TRACE_QUERY_WAIT) {
            return;
        }
        if (rc == TRACE_QUERY_END) {
            trace_query_destroy(r->query);
            r->query = NULL;
            again_in(r, all_are_traced(r) ? 0 : ASK_AGAIN_MS);
            return;
        }
        probe_round_take(r, item->json, item->len);
        free(item);
    }
    trace_query_wake(r->query);
}

static void
ask(struct probe_round *r)
{
    struct controller *c = r->controller;
    struct ef_time start = ef_time_add_ms(r->began_real, -CLOCKS_DIFFER_MS);
    r->has_news = false;
    struct trace_question question = {.condition = "trace.probe", .start = &start};
    r->query = trace_query_start(c->base, &question, &c->configuration, &c->topology, on_traces, r);
}

/* --- The orders ----------------------------------------------------------- */

static void
give(struct probe_round *r, struct order *order, double duration_ms)
{
    struct probe_round_order *o = &order->o;
    struct probe_order *given;
    struct ef_error err = EF_ERROR_INIT;
    json_t *document = json_pack("{s:O, s:I, s:f, s:i}", "packet", o->packet, "count", (json_int_t) o->count,
                                 "interval_ms", duration_ms / o->count, "expires_s", EXPIRES_S);
    if (!document || probe_orders_add(r->controller->probes, document, &given, &err)) {
        snprintf(o->error, sizeof o->error, "%.199s", err.text);
        order->is_over = true;
    } else {
        snprintf(o->id, sizeof o->id, "%s", probe_order_id(given));
    }
    json_decref(document);
}

/* How far the order is; one that was forgotten is over. */
static void
look_at(struct probe_round *r, struct order *order)
{
    const struct probe_order *given = probe_orders_find(r->controller->probes, order->o.id);
    if (!given) {
        order->is_over = true;
        return;
    }
    json_t *shown = probe_order_show(given);
    const char *state = ef_json_text_or(shown, "state", "done");
    order->is_over = strcmp(state, "queued") && strcmp(state, "running");
    order->o.sent = (unsigned) probe_order_sent(given);
    snprintf(order->o.error, sizeof order->o.error, "%s", ef_json_text_or(shown, "error", ""));
    json_decref(shown);
}

static bool
all_are_over(struct probe_round *r)
{
    bool all = true;
    for (unsigned i = 0; i < r->n; i++) {
        if (!r->orders[i]->is_over) {
            look_at(r, r->orders[i]);
            all = all && r->orders[i]->is_over;
        }
    }
    return all;
}

/* How long it takes to send them all. Of the rate a half, so that two rounds go on
 * at the same time; no two probes of an order within the same 2 ms. */
static double
duration_ms(const struct probe_round *r, unsigned probes)
{
    double least = 0;
    for (unsigned i = 0; i < r->n; i++) {
        least = EF_MAX(least, 2.0 * r->orders[i]->o.count);
    }
    return EF_MAX(least, 2000.0 * probes / r->controller->probe_budget.rate);
}

static void
begin(struct probe_round *r)
{
    unsigned probes = 0;
    for (unsigned i = 0; i < r->n; i++) {
        probes += r->orders[i]->o.count;
    }
    if (!probe_budget_take(&r->controller->probe_budget, r->n, probes, ef_time_mono())) {
        again_in(r, LOOK_MS);
        return;
    }
    r->has_budget = true;
    r->began_real = ef_time_real();
    for (unsigned i = 0; i < r->n; i++) {
        give(r, r->orders[i], duration_ms(r, probes));
    }
    again_in(r, LOOK_MS);
}

static void
on_timer(evutil_socket_t fd, short what, void *ctx)
{
    struct probe_round *r = ctx;
    struct ef_time now = ef_time_mono();
    bool is_late = ef_time_before(ef_time_add_ms(r->began, PROBE_ROUND_MAX_MS), now);
    if (is_late) {
        finish(r);
    } else if (!r->has_budget && !r->all_over) {
        begin(r);
    } else if (!r->all_over) {
        r->all_over = all_are_over(r);
        r->over = now;
        r->has_news = true;
        again_in(r, LOOK_MS);
        if (r->all_over) {
            return_budget(r); /* What follows costs questions, not probes. */
        }
    } else if (all_are_traced(r) || ef_time_before(ef_time_add_ms(r->over, TRACES_LATE_MS), now) ||
               (!r->has_news && ef_time_before(ef_time_add_ms(r->over, TRACES_DUE_MS), now))) {
        finish(r);
    } else {
        ask(r);
    }
}

/* --- Life ----------------------------------------------------------------- */

struct probe_round *
probe_round_create(struct controller *c)
{
    struct probe_round *r = calloc(1, sizeof *r);
    if (!r) {
        abort(); /* Control path. */
    }
    r->controller = c;
    return r;
}

struct probe_round_order *
probe_round_add(struct probe_round *r, json_t *packet, unsigned count, const char *at)
{
    struct order *order = r->n < PROBE_ROUND_ORDERS ? calloc(1, sizeof *order) : NULL;
    if (!order) {
        json_decref(packet);
        return NULL;
    }
    order->o.packet = packet;
    order->o.count = count;
    snprintf(order->o.at, sizeof order->o.at, "%s", at);
    order->o.ends = json_object();
    order->fates = calloc(count, 1);
    if (!order->fates || !order->o.ends) {
        abort(); /* Control path. */
    }
    r->orders[r->n++] = order;
    return &order->o;
}

void
probe_round_start(struct probe_round *r, void (*done)(void *ctx), void *ctx)
{
    r->done = done;
    r->ctx = ctx;
    r->began = ef_time_mono();
    r->timer = evtimer_new(r->controller->base, on_timer, r);
    if (!r->timer) {
        abort(); /* Control path. */
    }
    again_in(r, 0);
}

unsigned
probe_round_n(const struct probe_round *r)
{
    return r->n;
}

struct probe_round_order *
probe_round_order(struct probe_round *r, unsigned index)
{
    return index < r->n ? &r->orders[index]->o : NULL;
}

void
probe_round_destroy(struct probe_round *r)
{
    if (!r) {
        return;
    }
    return_budget(r);
    trace_query_destroy(r->query);
    if (r->timer) {
        event_free(r->timer);
    }
    for (unsigned i = 0; i < r->n; i++) {
        struct order *order = r->orders[i];
        struct probe_order *given =
            *order->o.id && !order->is_over ? probe_orders_find(r->controller->probes, order->o.id) : NULL;
        if (given) {
            probe_order_stop(given);
        }
        json_decref(order->o.packet);
        json_decref(order->o.ends);
        free(order->fates);
        free(order);
    }
    free(r);
}
