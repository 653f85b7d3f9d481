/* SPDX-License-Identifier: Apache-2.0 */
/* What a debug session would cost; see debug_measure.h. */
#include <config.h>

#include "controller/debug_measure.h"

#include <event2/event.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "controller/controller.h"
#include "controller/debug_place.h"
#include "controller/rule_sets.h"

enum {
    LOOK_MS = 200,
    DEADLINE_MS = 28000,
    RULES_S = 30,
    NAME_SIZE = 64,
    HEADERS = 62, /* ERSPAN III in IPv4, with the Ethernet header; others are shorter or little longer. */
    MAX_FRAME = 1518,
};

/* What measuring itself may take when nothing is free, and by how much the bound may
 * have grown since it was measured. */
static const double least_share = 0.02, growth = 1.25;

/* The bound is of the last seconds: where much more would not do any harm, it is the answer. */
static const double quick_share = 0.1;

struct group {
    size_t number, n_rules;
    bool is_installed;
    struct ef_time installed; /* Monotonic. */
    struct debug_rate rate;
};

struct debug_measure {
    struct debug_sessions *sessions;
    struct controller *controller;
    struct debug_question question;
    char id[DEBUG_ID_SIZE];
    debug_measured *done;
    void *ctx;
    struct event *timer;
    struct ef_time started; /* Monotonic. */
    struct group *groups;
    size_t n_groups;
    unsigned bits; /* Of the rules that measure. */
    bool has_rules;
};

static const char owner[] = "debug";

/* --- Rules that measure --------------------------------------------------- */

static void
set_name(const struct debug_measure *m, const struct group *g, char *buf)
{
    snprintf(buf, NAME_SIZE, "m.%s.%zu", m->id, g->number);
}

static int
put_rules(struct debug_measure *m, struct ef_error *err)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < m->n_groups; i++) {
        char name[NAME_SIZE];
        struct group *g = &m->groups[i];
        const char *at = m->controller->topology.switches[g->number].name;
        json_t *switches = json_pack("[s]", at);
        json_t *rules = debug_rules_at(m->question.places, at, m->question.matches, "mirror", m->bits, RULES_S);
        set_name(m, g, name);
        struct rule_set_spec spec = {.owner = owner,
                                     .name = name,
                                     .switches = switches,
                                     .rules = rules,
                                     .expires = ef_time_add_ms(ef_time_real(), RULES_S * 1000)};
        g->n_rules = json_array_size(rules);
        rc = rule_sets_put(m->controller->rule_sets, &spec, err);
        json_decref(rules);
        json_decref(switches);
    }
    m->has_rules = true;
    return rc;
}

static void
remove_rules(struct debug_measure *m)
{
    for (size_t i = 0; m->has_rules && i < m->n_groups; i++) {
        char name[NAME_SIZE];
        set_name(m, &m->groups[i], name);
        rule_sets_remove(m->controller->rule_sets, owner, name);
    }
}

/* --- The end -------------------------------------------------------------- */

void
debug_measure_cancel(struct debug_measure *m)
{
    if (m) {
        remove_rules(m);
        event_free(m->timer);
        json_decref(m->question.places);
        json_decref(m->question.matches);
        free(m->groups);
        free(m);
    }
}

static void
answer(struct debug_measure *m, const struct debug_traffic *traffic, enum debug_how how)
{
    debug_measured *done = m->done;
    void *ctx = m->ctx;
    debug_measure_cancel(m);
    done(ctx, traffic, how, false, NULL);
}

static void
fail(struct debug_measure *m, bool is_refused, const char *error)
{
    debug_measured *done = m->done;
    void *ctx = m->ctx;
    debug_measure_cancel(m);
    done(ctx, NULL, DEBUG_MEASURED, is_refused, error);
}

/* --- The bound ------------------------------------------------------------ */

/* All that the switches see, per second; -1: not known yet. */
static double
bound_of(const struct debug_measure *m)
{
    double sum = 0;
    for (size_t i = 0; i < m->n_groups; i++) {
        double seen = debug_rates_seen(debug_sessions_rates(m->sessions), m->groups[i].number);
        if (seen < 0) {
            return -1;
        }
        sum += seen * growth;
    }
    return sum;
}

/* The finest sampling that measures within what is free. */
static unsigned
bits_to_measure(const struct debug_measure *m, double bound, const struct debug_load *used)
{
    const struct debug_load *capacity = &m->controller->configuration.capacity;
    double free_per_s = (capacity->copies_per_s - used->copies_per_s) / 2;
    double allowed = EF_MAX(free_per_s, capacity->copies_per_s * least_share);
    unsigned bits = 0;
    while (bits < DEBUG_MAX_SAMPLE_BITS && bound / (double) (1U << bits) > allowed) {
        bits++;
    }
    return bits;
}

static void
look_at_bound(struct debug_measure *m)
{
    struct ef_error err = EF_ERROR_INIT;
    double bound = bound_of(m);
    if (bound < 0) {
        return;
    }
    struct debug_load used = debug_sessions_used(m->sessions);
    struct debug_traffic most = {bound, debug_bytes_of_copy(m->controller, MAX_FRAME), m->question.copies};
    struct debug_load cost = debug_cost(&most, m->question.bits), limit = m->controller->configuration.capacity;
    limit.copies_per_s = used.copies_per_s + (limit.copies_per_s - used.copies_per_s) * quick_share;
    limit.bits_per_s = used.bits_per_s + (limit.bits_per_s - used.bits_per_s) * quick_share;
    if (debug_fits(&limit, &used, &cost)) {
        answer(m, &most, DEBUG_BOUND);
        return;
    }
    m->bits = bits_to_measure(m, bound, &used);
    if (put_rules(m, &err)) {
        fail(m, false, err.text);
    }
}

/* --- Measuring ------------------------------------------------------------ */

static void
count(const struct debug_measure *m, struct group *g)
{
    const struct managed_switch *at = m->controller->switches[g->number];
    int64_t packets = 0, bytes = 0;
    for (size_t i = 0; i < g->n_rules; i++) {
        char rule[2 * NAME_SIZE];
        int64_t of_rule[2];
        snprintf(rule, sizeof rule, "@%s/m.%s.%zu/r%zu", owner, m->id, g->number, i);
        if (!managed_switch_rule_counts(at, rule, &of_rule[0], &of_rule[1])) {
            return;
        }
        packets += of_rule[0];
        bytes += of_rule[1];
    }
    if (ef_time_before(g->installed, managed_switch_refreshed(at))) {
        debug_rate_take(&g->rate, managed_switch_refreshed(at), packets, bytes, ef_time_mono());
    }
}

/* False if the switch has not said enough. */
static bool
is_counted(const struct group *g)
{
    struct ef_time now = ef_time_mono();
    bool silent = ef_time_before(ef_time_add_ms(g->installed, DEBUG_SILENT_MS), now);
    return g->is_installed && (silent || debug_rate_is_known(&g->rate, now));
}

static void
sum_up(struct debug_measure *m)
{
    double packets = 0, bytes = 0, in_sample = (double) (1U << m->bits);
    for (size_t i = 0; i < m->n_groups; i++) {
        const struct debug_rate *rate = &m->groups[i].rate;
        double n = rate->packets_per_s * DEBUG_REFRESH_MS / 1000;
        double more = m->bits ? (sqrt(n) + 1) * 1000 / DEBUG_REFRESH_MS : 0;
        packets += (rate->packets_per_s + more) * in_sample;
        bytes += rate->packets_per_s > 0
                     ? rate->bytes_per_s / rate->packets_per_s * (rate->packets_per_s + more) * in_sample
                     : more * in_sample * MAX_FRAME;
    }
    struct debug_traffic traffic = {
        packets, debug_bytes_of_copy(m->controller, packets > 0 ? bytes / packets : MAX_FRAME), m->question.copies};
    answer(m, &traffic, DEBUG_MEASURED);
}

static void
look_at_counts(struct debug_measure *m)
{
    bool all = true;
    for (size_t i = 0; i < m->n_groups; i++) {
        char name[NAME_SIZE], why[300] = "";
        struct group *g = &m->groups[i];
        set_name(m, g, name);
        enum rule_state state = rule_sets_state(m->controller->rule_sets, owner, name, why, sizeof why);
        if (state == RULE_REFUSED) {
            fail(m, true, why);
            return;
        }
        if (state == RULE_INSTALLED && !g->is_installed) {
            g->is_installed = true;
            g->installed = ef_time_mono();
        }
        if (g->is_installed) {
            count(m, g);
        }
        all = all && is_counted(g);
    }
    if (all) {
        sum_up(m);
    }
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct debug_measure *m = arg;
    int64_t ms = ef_time_diff_ns(ef_time_mono(), m->started) / EF_NS_PER_MS;
    if (ms > DEADLINE_MS) {
        fail(m, false,
             "the switches of the servers did not say how much they carry; are they configured (efctl switches)?");
    } else if (m->has_rules) {
        look_at_counts(m);
    } else {
        look_at_bound(m);
    }
}

/* --- The beginning -------------------------------------------------------- */

static void
read_groups(struct debug_measure *m)
{
    json_t *place;
    size_t i, k;
    m->groups = calloc(json_array_size(m->question.places) + 1, sizeof *m->groups);
    if (!m->groups) {
        abort(); /* Control path. */
    }
    json_array_foreach(m->question.places, i, place)
    {
        size_t number = debug_place_number(&m->controller->topology, place);
        for (k = 0; k < m->n_groups && m->groups[k].number != number; k++) {
        }
        if (k == m->n_groups && number < m->controller->topology.n_switches) {
            m->groups[m->n_groups++].number = number;
        }
    }
}

struct debug_measure *
debug_measure_start(struct debug_sessions *sessions, struct controller *c, const struct debug_question *question,
                    debug_measured *done, void *ctx)
{
    static const struct timeval interval = {.tv_usec = LOOK_MS * 1000};
    struct debug_measure *m = calloc(1, sizeof *m);
    if (!m || !(m->timer = event_new(c->base, -1, EV_PERSIST, on_timer, m)) || event_add(m->timer, &interval)) {
        abort(); /* Control path. */
    }
    event_active(m->timer, EV_TIMEOUT, 1);
    m->sessions = sessions;
    m->controller = c;
    m->question = *question;
    json_incref(m->question.places);
    json_incref(m->question.matches);
    snprintf(m->id, sizeof m->id, "%s", question->id);
    m->question.id = m->id;
    m->done = done;
    m->ctx = ctx;
    m->started = ef_time_mono();
    read_groups(m);
    return m;
}
