/* SPDX-License-Identifier: Apache-2.0 */
/* What would a debug session cost? Asked before it is admitted:
 *
 *     measure = debug_measure_start(sessions, c, &question, done, ctx);
 *
 * Nobody knows how much of the traffic matches a filter, so
 *
 *     1. all that the servers' switches see is the bound; if that takes no
 *        more than a tenth of what is free, it is the answer;
 *     2. otherwise rules copy what matches at those switches only, one packet in so many
 *        that even the bound would not take more than half of what is free, and the
 *        switches' own counters of these rules, over one interval (5 s), are the answer.
 *        A sample's number is taken a standard deviation higher.
 *
 * IPv4 packets with ID 0 are in no sample: of those, 2. sees nothing, and debug_watch.h
 * has to. It takes 12 s at most as a rule, 28 s at the very most. One event base's thread. */
#ifndef CONTROLLER_DEBUG_MEASURE_H
#define CONTROLLER_DEBUG_MEASURE_H

#include <jansson.h>

#include "controller/debug_sessions.h"

struct debug_measure;

struct debug_question {
    const char *id;           /* Of the session to be. */
    json_t *places, *matches; /* See debug_place.h, debug_match.h. A reference is taken. */
    double copies;            /* Of each packet that is marked. */
    unsigned bits;            /* It shall mark one packet in 2**bits. */
};

enum debug_how { DEBUG_BOUND, DEBUG_MEASURED };

/* `error` NULL: the answer. Otherwise why there is none; `is_refused`: a switch cannot
 * follow the rules, as opposed to not having answered. From the event loop, once. */
typedef void debug_measured(void *ctx, const struct debug_traffic *traffic, enum debug_how how, bool is_refused,
                            const char *error);

struct debug_measure *debug_measure_start(struct debug_sessions *sessions, struct controller *c,
                                          const struct debug_question *question, debug_measured *done, void *ctx);

/* Before `done`; NULL is fine. */
void debug_measure_cancel(struct debug_measure *m);

#endif
