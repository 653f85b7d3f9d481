/* SPDX-License-Identifier: Apache-2.0 */
/* One run of the application "drop" (drop_app.h): what its phases share, and the rounds
 * of probes that they send.
 *
 *     drop_round_begin(a);
 *     a->n_variations = drop_pattern_ports(&a->pattern, a->variations, EF_ARRAY_SIZE(a->variations));
 *     drop_round_add_variations(a, 4);
 *     probe_round_start(a->round, on_ports, a);
 *         on_ports:  drop_round_keep(a);  drop_round_note(a, 0);  ... the next phase
 *
 * Each phase is a file, begins with one function and hands over to the next, or to
 * drop_verdict.h as its last act, after which the run is gone:
 *
 *     drop_place.h        where was it seen last?             from a trace, or by probes
 *     drop_persistence.h  are packets like it dropped there?  all, some, none
 *     drop_rate.h         some: how many                      more probes
 *     drop_class.h        all: which packets                  fields are varied
 *     drop_lengths.h      the length matters: from which on   bisection
 *
 * The run is the application's, one event base's thread. */
#ifndef CONTROLLER_DROP_RUN_H
#define CONTROLLER_DROP_RUN_H

#include "base/time.h"
#include "controller/controller.h"
#include "controller/diagnoses.h"
#include "controller/drop_pattern.h"
#include "controller/drop_witnesses.h"
#include "controller/fabric_map.h"
#include "controller/probe_flow.h"
#include "controller/probe_round.h"
#include "controller/trace_search.h"

enum { DROP_N_VARIED = 4 }; /* Probes of each variation. */

struct drop {
    struct diagnosis *d;
    struct controller *c;
    struct trace_search *search;
    struct probe_round *round;
    struct fabric_map *map;
    struct probe_flow flow;
    char trace_id[17], at[PROBE_ROUND_NAME], reason[64];
    char detour[PROBE_ROUND_NAME]; /* A switch over which `at` is reached; "": directly. */
    bool has_pattern;
    bool goes_on;     /* The verdict is not the last word. */
    bool was_dropped; /* A moment ago, and is not any more. */
    bool was_in_vain; /* Probes were sent, but too few were seen. */
    struct drop_pattern pattern;
    struct drop_variation variations[PROBE_ROUND_ORDERS];
    size_t n_variations;
    unsigned n_failed, n_probed; /* Of probes like the packet. */
    unsigned n_steps, n_tries, n_repeats;
    struct drop_witnesses witnesses; /* As they were before the fields were varied. */
    struct event *timer;             /* While it is waited for what the next switch says of itself. */
    struct ef_time wait_until;
};

/* A new round without probes or variations; what was asked before is dropped. */
void drop_round_begin(struct drop *a);

/* `count` probes of one variation; of all in `a->variations`. */
void drop_round_add(struct drop *a, const struct drop_variation *v, unsigned count);
void drop_round_add_variations(struct drop *a, unsigned count);

/* When the round is done: what its orders left behind becomes evidence; what became of
 * the variations, of which the first is order `skip` of the round, is noted in the pattern. */
void drop_round_keep(struct drop *a);
void drop_round_note(struct drop *a, unsigned skip);

/* Whether nearly all of the round's probes were seen to pass or to be dropped, so that
 * what was seen can be said of all: copies get lost, too. If not, `why` says so. */
enum { DROP_WHY_SIZE = 128 };
bool drop_round_is_seen(const struct drop *a, char why[DROP_WHY_SIZE]);

#endif
