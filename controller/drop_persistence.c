/* SPDX-License-Identifier: Apache-2.0 */
/* Whether packets are dropped; see drop_persistence.h. */
#include <config.h>

#include "controller/drop_persistence.h"

#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "controller/drop_class.h"
#include "controller/drop_rate.h"
#include "controller/drop_run.h"
#include "controller/drop_verdict.h"

enum {
    N_BASE = 60,
    N_PORT = 4,
    MAX_REPEATS = 1,
    MAX_TRIES = 2, /* Other source ports to begin with. */
};

static void start_base(struct drop *a);

/* The prober's way to the switch may itself be broken: over one of its neighbours,
 * which all get a try. */
static void
on_detours(void *ctx)
{
    struct drop *a = ctx;
    drop_round_keep(a);
    for (unsigned i = 0; i < probe_round_n(a->round); i++) {
        const struct probe_round_order *o = probe_round_order(a->round, i);
        if (o->failed || o->passed) {
            const char *first = json_string_value(json_array_get(json_object_get(o->packet, "via"), 0));
            snprintf(a->detour, sizeof a->detour, "%s", first ? first : "");
            start_base(a);
            return;
        }
    }
    diagnosis_fail(a->d, "no probe reaches %s, or its copies do not arrive", a->at);
}

static void
try_detours(struct drop *a)
{
    const char *neighbours[FABRIC_MAP_NEXT];
    size_t n = fabric_map_neighbours(a->map, a->at, neighbours, EF_ARRAY_SIZE(neighbours));
    const struct probe_round_order *o = probe_round_order(a->round, 0);
    if (!o->sent || *a->detour || !n) {
        char why[256];
        snprintf(why, sizeof why, "%s",
                 o->sent     ? "no probe reaches the switch"
                 : *o->error ? o->error
                             : "none was sent");
        drop_finish_unprobed(a, why);
        return;
    }
    diagnosis_progress(a->d, "no probe reached %s on the direct way: trying %zu others", a->at, n);
    drop_round_begin(a);
    for (size_t i = 0; i < n; i++) {
        const char *via[2] = {neighbours[i], a->at};
        probe_round_add(a->round, probe_flow_packet(&a->flow, via, 2), DROP_N_VARIED, a->at);
    }
    probe_round_start(a->round, on_detours, a);
}

/* The packet itself passes, or cannot be told of, but with another source port, that
 * is, perhaps another way or analyzer, it is dropped: then that is looked into. */
static bool
takes_another_port(struct drop *a)
{
    for (size_t i = 0; i < a->n_variations; i++) {
        const struct probe_round_order *o = probe_round_order(a->round, (unsigned) i + 1);
        const char *end = o ? json_object_iter_key(json_object_iter(o->ends)) : NULL;
        if (end && fabric_map_has_switch(a->map, end)) {
            char at[PROBE_ROUND_NAME];
            snprintf(at, sizeof at, "%s", end);
            a->flow = a->variations[i].flow;
            diagnosis_progress(a->d, "with source port %d it is dropped at %s", a->flow.src_port, at);
            drop_persistence_start(a, at);
            return true;
        }
    }
    return false;
}

/* Those that were seen passed, but too many were not seen. */
static void
repeat(struct drop *a, const char *why)
{
    if (a->n_repeats++ < MAX_REPEATS) {
        diagnosis_progress(a->d, "%s: once more", why);
        start_base(a);
    } else {
        drop_finish_unprobed(a, why);
    }
}

static void
on_base(void *ctx)
{
    struct drop *a = ctx;
    const struct probe_round_order *o = probe_round_order(a->round, 0);
    const struct drop_variation base = {DROP_BASE, a->flow, a->at};
    char why[DROP_WHY_SIZE];
    drop_round_keep(a);
    if (o->is_doubtful) {
        diagnosis_progress(a->d, "copies are being lost on their way to the analyzer that would tell of these probes");
    }
    bool asks_others = o->is_doubtful || (!o->failed && o->passed && !*a->trace_id);
    if (asks_others && a->n_tries++ < MAX_TRIES && takes_another_port(a)) {
        return;
    }
    if (o->is_doubtful) {
        diagnosis_fail(a->d, "copies are being lost: nothing can be told of packets at %s", a->at);
        return;
    }
    if (!o->failed && !o->passed) {
        try_detours(a);
        return;
    }
    if (!o->failed && !drop_round_is_seen(a, why)) {
        repeat(a, why);
        return;
    }
    a->n_failed = o->failed;
    a->n_probed = o->failed + o->passed;
    drop_pattern_note(&a->pattern, &base, o);
    drop_round_note(a, 1);
    if (o->failed && !o->passed) {
        drop_class_start(a);
    } else {
        drop_rate_start(a);
    }
}

static void
start_base(struct drop *a)
{
    const struct drop_variation base = {DROP_BASE, a->flow, a->at};
    drop_round_begin(a);
    drop_round_add(a, &base, N_BASE);
    a->n_variations = drop_pattern_ports(&a->pattern, a->variations, EF_ARRAY_SIZE(a->variations));
    diagnosis_progress(a->d, "probing from %s%s%s: %d like it, and %zu other source ports", a->at,
                       *a->detour ? " over " : "", a->detour, N_BASE, a->n_variations);
    drop_round_add_variations(a, N_PORT);
    probe_round_start(a->round, on_base, a);
}

static void
set_subnet(struct drop *a, const char *address, const char **subnet)
{
    const char *name = fabric_map_switch_of(a->map, address);
    *subnet = name ? fabric_map_subnet(a->map, name, strchr(address, ':')) : NULL;
}

void
drop_persistence_start(struct drop *a, const char *at)
{
    snprintf(a->at, sizeof a->at, "%s", at);
    drop_pattern_init(&a->pattern, a->map, a->at, &a->flow);
    set_subnet(a, a->flow.src, &a->pattern.subnets[0]);
    set_subnet(a, a->flow.dst, &a->pattern.subnets[1]);
    a->has_pattern = true;
    start_base(a);
}
