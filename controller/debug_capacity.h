/* SPDX-License-Identifier: Apache-2.0 */
/* How much may be traced: the arithmetic of admission. A debug session is expected
 * to cost
 *
 *     copies/s = matching packets/s / sample x hops
 *     bits/s   = copies/s x 8 x (bytes of a packet, truncated, + those of the headers in front of it)
 *
 * and is admitted if that, with what is already there, does not exceed the capacity.
 * Pure functions on values; any thread. Example, with 100 packets/s over 3 switches:
 *
 *     struct debug_load cost = debug_cost(&traffic, 0);      // 300 copies/s
 *     if (!debug_fits(&capacity, &used, &cost)) bits = debug_bits_that_fit(&capacity, &used, &traffic, 0); */
#ifndef CONTROLLER_DEBUG_CAPACITY_H
#define CONTROLLER_DEBUG_CAPACITY_H

#include <stdbool.h>

enum { DEBUG_MAX_SAMPLE_BITS = 16 };

/* Copies, and the bits of all of them with their headers, of a second. */
struct debug_load {
    double copies_per_s, bits_per_s;
};

struct debug_traffic {
    double packets_per_s;  /* That match, sampled or not. */
    double bytes_per_copy; /* With the headers in front. */
    double copies;         /* Made of each packet that is marked: one at each switch that it crosses. */
};

/* What it costs when one packet in 2**bits is marked. */
struct debug_load debug_cost(const struct debug_traffic *traffic, unsigned bits);

struct debug_load debug_sum(const struct debug_load *a, const struct debug_load *b);

bool debug_fits(const struct debug_load *capacity, const struct debug_load *used, const struct debug_load *cost);

/* The finest sampling from `least` bits on that fits; -1: not even 1 in 65,536 does. */
int debug_bits_that_fit(const struct debug_load *capacity, const struct debug_load *used,
                        const struct debug_traffic *traffic, unsigned least);

/* With `measured` of which `own` is that of a session that samples by `bits`: how
 * many bits bring the sum back to DEBUG_TARGET of the capacity; -1: none does. */
#define DEBUG_TARGET 0.95
int debug_bits_to_shed(const struct debug_load *capacity, const struct debug_load *measured,
                       const struct debug_load *own, unsigned bits);

#endif
