/* SPDX-License-Identifier: Apache-2.0 */
/* Which analyzer a flow belongs to: a consistent hash with weights. All
 * reshufflers that know the same members give the same answer, in whatever order
 * they were told them.
 *
 *     struct ef_steer_member members[] = {{"a1", 100, .id = 0}, {"a2", 50, .id = 1, .is_away = true}};
 *     struct ef_steer *steer = ef_steer_create(members, 2);
 *     unsigned id = ef_steer_pick(steer, flow_hash); // or EF_STEER_NOBODY
 *
 * Each slot of the table has a home, and where its flows go. Homes are the
 * lookup table of D. Eisenbud et al., "Maglev: A Fast and Reliable Software
 * Network Load Balancer", NSDI 2016, section 3.4: each name has its own
 * permutation of the slots, and the names take turns, as often as their weights
 * say, each claiming the next slot of its permutation that is free. A name that
 * is added or removed moves little more than its share.
 *
 * A member that is away (down, draining) keeps its homes, but their flows go to
 * others: to the owner of another slot, drawn by a hash of the slot, again and
 * again until one is met that is there. So exactly the flows of those that are away
 * move, spread by weight, and exactly those come back.
 *
 * The table is never changed once made: any number of threads may pick. */
#ifndef RESHUFFLER_STEER_H
#define RESHUFFLER_STEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A prime, as the permutations need; a hundred slots and more per name keep the
 * shares equal to about one in a hundred (section 5.3 of the paper). */
#define EF_STEER_SLOTS 65537u
enum { EF_STEER_MAX_MEMBERS = 512, EF_STEER_MAX_WEIGHT = 1000, EF_STEER_NOBODY = UINT16_MAX };

struct ef_steer_member {
    const char *name;
    uint16_t weight; /* 1 to EF_STEER_MAX_WEIGHT; only ratios matter. */
    uint16_t id;     /* What picking gives. */
    bool is_away;
};

struct ef_steer {
    uint16_t slots[EF_STEER_SLOTS]; /* Where flows go: an id. */
    uint16_t homes[EF_STEER_SLOTS]; /* To whom they belong. */
};

/* Makes the table for `n` members with different names, 1 to EF_STEER_MAX_MEMBERS.
 * Returns NULL if memory is out; the caller frees it with free(). */
struct ef_steer *ef_steer_create(const struct ef_steer_member members[], size_t n);

/* EF_STEER_NOBODY if all are away. */
static inline unsigned
ef_steer_pick(const struct ef_steer *steer, uint64_t flow_hash)
{
    return steer->slots[flow_hash % EF_STEER_SLOTS];
}

/* Begins to fetch what picking will read. */
static inline void
ef_steer_prefetch(const struct ef_steer *steer, uint64_t flow_hash)
{
    __builtin_prefetch(&steer->slots[flow_hash % EF_STEER_SLOTS]);
}

/* Who would have got it, were nobody away. */
static inline unsigned
ef_steer_home(const struct ef_steer *steer, uint64_t flow_hash)
{
    return steer->homes[flow_hash % EF_STEER_SLOTS];
}

#endif
