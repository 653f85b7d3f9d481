/* SPDX-License-Identifier: Apache-2.0 */
/* Which analyzer a flow belongs to: a consistent hash. All reshufflers that know
 * the same set of names give the same answer, in whatever order they were told
 * them, and a name that is added or removed moves little more than its share of
 * the flows.
 *
 *     struct ef_steer *steer = ef_steer_create(names, n);
 *     unsigned analyzer = ef_steer_pick(steer, flow_hash);   // an index into `names`
 *
 * It is the lookup table of D. Eisenbud et al., "Maglev: A Fast and Reliable
 * Software Network Load Balancer", NSDI 2016, section 3.4: each name has its own
 * permutation of the slots, and the names take turns, each claiming the next
 * slot of its permutation that is free. The table is never changed once made:
 * any number of threads may pick. */
#ifndef RESHUFFLER_STEER_H
#define RESHUFFLER_STEER_H

#include <stddef.h>
#include <stdint.h>

/* A prime, as the permutations need; a hundred slots and more per name keep the
 * shares equal to about one in a hundred (section 5.3 of the paper). */
#define EF_STEER_SLOTS 65537u
enum { EF_STEER_MAX_NAMES = 512 };

struct ef_steer {
    uint16_t slots[EF_STEER_SLOTS];
};

/* Makes the table for `n` different names, 1 to EF_STEER_MAX_NAMES. Returns NULL
 * if memory is out; the caller frees it with free(). */
struct ef_steer *ef_steer_create(const char *const names[], size_t n);

static inline unsigned
ef_steer_pick(const struct ef_steer *steer, uint64_t flow_hash)
{
    return steer->slots[flow_hash % EF_STEER_SLOTS];
}

#endif
