/* SPDX-License-Identifier: Apache-2.0 */
/* Are flows shared evenly over equal ways: asked after each flow, not of a window.
 *
 *     struct ecmp_sequence s;
 *     ecmp_sequence_init(&s, 2, 1e7);                 // 2 ways, a false alarm in 1e7 flows at most
 *     ecmp_sequence_add(&s, way, time);  ...          // flow after flow, each once
 *     if (s.is_uneven) ... s.way has too many since s.since
 *
 * For each way and each of some shares that are more than fair, the logarithm of how much
 * likelier the flows are with that share than with the fair one is added up, and begins again
 * at zero whenever it would be below (CUSUM: E. S. Page, "Continuous inspection
 * schemes", 1954). So what was even before a fault does not hide it, and the last time it
 * was zero is when the fault began. The ratio is at most 1 on average as long as shares
 * are fair, whence with a threshold of log(a) there are a flows or more between two false
 * alarms on average, however often one looks (G. Lorden, "Procedures for reacting to a change in
 * distribution", 1971); of k sums that are looked at together the threshold is log(k a).
 *
 * After an alarm the same test runs the other way round, against the share that was found: when
 * flows are fair again, it is over, and nothing of it is remembered. A share
 * that is really uneven is called over once in ECMP_SEQUENCE_OVER flows at most.
 *
 * A flow of which nobody knows where it went counts against each of the
 * suspicions. A value that the caller owns; pure functions. */
#ifndef CONTROLLER_ECMP_SEQUENCE_H
#define CONTROLLER_ECMP_SEQUENCE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/time.h"

enum { ECMP_SEQUENCE_WAYS = 16, ECMP_SEQUENCE_SHARES = 3, ECMP_SEQUENCE_OVER = 100000 };

struct ecmp_sequence {
    size_t n_ways;
    double flows_between, threshold;

    bool is_uneven;
    size_t way;           /* That has too many, */
    struct ef_time since; /* from this flow on. */
    double log_odds;      /* How much likelier that is than fair shares: the logarithm, never below the threshold. */

    /* Private. */
    double log_ratio[ECMP_SEQUENCE_SHARES][2]; /* Of one flow that did not take the way, and one that did. */
    size_t share;                              /* That was found. */
    double fair_again;
    struct ecmp_suspicion {
        double log_odds;
        struct ef_time since;
    } suspicions[ECMP_SEQUENCE_WAYS][ECMP_SEQUENCE_SHARES];
};

/* Of 2 to ECMP_SEQUENCE_WAYS ways; `flows_between` false alarms, more than 1. */
void ecmp_sequence_init(struct ecmp_sequence *s, size_t n_ways, double flows_between);

/* A flow took `way`; n_ways or more: nobody knows which. */
void ecmp_sequence_add(struct ecmp_sequence *s, size_t way, struct ef_time time);

#endif
