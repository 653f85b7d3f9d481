/* SPDX-License-Identifier: Apache-2.0 */
/* Which packets were lately refused because the table of open traces was full.
 * A packet that lost one copy that way is refused wholly, since a trace that
 * starts at its third hop because room was found then would be a wrong one. So
 * a flood costs whole traces, and those that exist are right.
 *
 * Two bit maps by turns, each for one idle period (no copy of a packet is
 * expected after that): a packet is remembered for one to two periods. Like a
 * Bloom filter it may refuse a packet by mistake, in a flood; it never forgets
 * early, if each copy that is refused is added. One thread. */
#ifndef EF_ANALYZER_REFUSED_SET_H
#define EF_ANALYZER_REFUSED_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"

struct ef_refused_set {
    uint64_t *maps[2]; /* The present and the previous period's. */
    uint64_t n_bits;   /* Of each; a power of two. */
    bool used[2];
    struct ef_time turn; /* When the present period ends; steady time. */
    int64_t period_ns;
    void *region;
};

/* Takes at most `bytes`. Returns 0 or -ENOMEM. */
int ef_refused_set_init(struct ef_refused_set *r, uint64_t bytes, int64_t period_ns);
void ef_refused_set_deinit(struct ef_refused_set *r);

void ef_refused_set_add(struct ef_refused_set *r, uint64_t hash);

/* To be called as time goes on, before the others. */
void ef_refused_set_advance(struct ef_refused_set *r, struct ef_time now);

static inline bool
ef_refused_set_has(const struct ef_refused_set *r, uint64_t hash)
{
    uint64_t bit = hash >> 20 & (r->n_bits - 1);
    return (r->used[0] && r->maps[0][bit / 64] >> bit % 64 & 1) || (r->used[1] && r->maps[1][bit / 64] >> bit % 64 & 1);
}

#endif
