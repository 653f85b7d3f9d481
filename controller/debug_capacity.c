/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of admission; see debug_capacity.h. */
#include <config.h>

#include "controller/debug_capacity.h"

struct debug_load
debug_cost(const struct debug_traffic *traffic, unsigned bits)
{
    double copies_per_s = traffic->packets_per_s / (double) (1U << bits) * traffic->copies;
    return (struct debug_load){copies_per_s, copies_per_s * traffic->bytes_per_copy * 8};
}

struct debug_load
debug_sum(const struct debug_load *a, const struct debug_load *b)
{
    return (struct debug_load){a->copies_per_s + b->copies_per_s, a->bits_per_s + b->bits_per_s};
}

bool
debug_fits(const struct debug_load *capacity, const struct debug_load *used, const struct debug_load *cost)
{
    struct debug_load sum = debug_sum(used, cost);
    return sum.copies_per_s <= capacity->copies_per_s && sum.bits_per_s <= capacity->bits_per_s;
}

int
debug_bits_that_fit(const struct debug_load *capacity, const struct debug_load *used,
                    const struct debug_traffic *traffic, unsigned least)
{
    for (unsigned bits = least; bits <= DEBUG_MAX_SAMPLE_BITS; bits++) {
        struct debug_load cost = debug_cost(traffic, bits);
        if (debug_fits(capacity, used, &cost)) {
            return (int) bits;
        }
    }
    return -1;
}

int
debug_bits_to_shed(const struct debug_load *capacity, const struct debug_load *measured, const struct debug_load *own,
                   unsigned bits)
{
    struct debug_load goal = {capacity->copies_per_s * DEBUG_TARGET, capacity->bits_per_s * DEBUG_TARGET};
    struct debug_load others = {measured->copies_per_s - own->copies_per_s, measured->bits_per_s - own->bits_per_s};
    for (unsigned coarser = bits + 1; coarser <= DEBUG_MAX_SAMPLE_BITS; coarser++) {
        double share = 1.0 / (double) (1U << (coarser - bits));
        struct debug_load left = {own->copies_per_s * share, own->bits_per_s * share};
        if (debug_fits(&goal, &others, &left)) {
            return (int) coarser;
        }
    }
    return -1;
}
