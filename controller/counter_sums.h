/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of what the analyzers say about their counters by filter.
 *
 *     ask_analyzers(http, c, &request, 200, counter_sums_of_lists);            // of GET /v1/counters
 *     ask_analyzers_then(c, &request, 200, counter_sums_of_one, then, ctx);    // of GET /v1/counters/NAME
 *     counter_sums_join(answer, 60);                                           // its values by the minute
 *
 * Counters are summed by name, values by the start of their interval, groups by
 * what they are of; switches in groups get their names from the topology. What is
 * in an answer comes from outside: parts without what they are summed by are left
 * out. Pure. */
#ifndef CONTROLLER_COUNTER_SUMS_H
#define CONTROLLER_COUNTER_SUMS_H

#include "controller/ask_analyzers.h"

enum { COUNTER_INTERVAL_S = 10 }; /* The analyzers'. */

answers_merge counter_sums_of_lists, counter_sums_of_one;

/* Puts the values of `step_s` seconds, counted from 1970, together, also those of groups. */
void counter_sums_join(json_t *answer, int64_t step_s);

#endif
