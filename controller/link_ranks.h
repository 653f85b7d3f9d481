/* SPDX-License-Identifier: Apache-2.0 */
/* Which links add delay: from round trips measured over several links at the
 * same time, from both ends of each where possible.
 *
 *     struct link_rank ranks[n] = {{.a = "leaf1", .b = "spine1", .kind = {"leaf", "spine"},
 *                                   .end = {{.floor_us = 120, .noise_us = 9, .p90_us = 500, .n = 200, .base_us = NAN},
 * ...}}}; link_ranks(ranks, n);                     // sorted: the one that adds most first if
 * (link_rank_is_slow(&ranks[0])) ...
 *
 * What the machines that forward and measure take is in each round trip, and
 * grows when they are busy: it is what links have in common. So a link is compared with
 * the others, by the floor of the same moment: with what each had before
 * (`base_us`, from the watcher) if that is known of all, else with links of the same kind
 * (from a leaf to a spine, say). `added_us` is what the link's floor is above
 * the median of the others; a delay put on a link shows as that, whichever
 * direction it is in. `queue_us` is the same of the 90th percentile, beyond
 * what the floor explains: what queues add at times.
 *
 * What a link really adds, both of its ends see: what one end alone sees is that end's
 * machine, and makes no link slow.
 *
 * How sure that is, the others say: `noise_us` adds up (as variances do) what the link's own
 * floor is known by and how far the others lie from each other (1.4826 times
 * their median absolute deviation): about a standard deviation. As it comes from few links,
 * the interval that has the delay with 95 % is that of Student's distribution. Pure functions. */
#ifndef CONTROLLER_LINK_RANKS_H
#define CONTROLLER_LINK_RANKS_H

#include <stdbool.h>
#include <stddef.h>

#include "controller/round_trips.h"

enum { LINK_RANKS_LEAST = 3 }; /* Links; of fewer nothing is said. */

/* The floor and p90 of the round trips as one end saw them. */
struct link_rank_end {
    size_t n; /* Samples; 0: none. */
    double floor_us, noise_us, p90_us;
    double base_us; /* The floor that is usual, above a zero that all links share; NAN: not known. */
};

struct link_rank {
    const char *a, *b;           /* Borrowed. */
    const char *kind[2];         /* The roles of both. */
    struct link_rank_end end[2]; /* As `a` and as `b` saw it. */

    /* The result. */
    bool is_known; /* There were enough to compare with. */
    bool by_history;
    double added_us, noise_us;
    double queue_us, queue_noise_us;
    double added_least_us, queue_least_us; /* As the end saw it that saw less. */
    double queue_usual_us;                 /* What the slowest tenth takes more over the other links. */
    double queue_others_us;                /* A quarter of the other links have a queue_us of so much, or more. */
    size_t n_others;                       /* Links that it was compared with. */
};

struct link_rank_end link_rank_end(const struct round_trips *trips, double base_us);

void link_ranks(struct link_rank ranks[], size_t n);

/* True if the link adds delay beyond doubt: at least `least_us`, and 4 times the
 * noise. */
bool link_rank_is_slow(const struct link_rank *rank, double least_us);

/* What the link adds lies within `added_us` plus or minus this, with 95 %. */
double link_rank_reach_us(const struct link_rank *rank);

/* The least delay that would be found just now, on this link. */
double link_rank_noise_floor_us(const struct link_rank *rank);

/* True if its queues do: at least 2 ms at the 90th percentile, six times the noise, and
 * as much as that of the others, which on a busy machine is milliseconds itself. If it is three times
 * what a quarter of the others have, that is: a machine that stands still now and then makes the
 * slowest tenth of some links slow, not that of one. */
bool link_rank_has_queue(const struct link_rank *rank);

/* In which direction is what a link adds (`us`, to all or, `is_queue`, to the slowest tenth)? Of round
 * trips `there`, which cross it one way, and `back`, which cross it the other way: 1: there, -1:
 * back, 0: both, or it is not clear, as the difference is not far from the noise or not that of `us`. */
int link_rank_direction(const struct round_trips_summary *there, const struct round_trips_summary *back, double us,
                        bool is_queue);

/* The least delay worth a verdict: 30 us where history is known, otherwise 60,
 * for links are not that alike. */
double link_rank_least_us(const struct link_rank *rank);

#endif
