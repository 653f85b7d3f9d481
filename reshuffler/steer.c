/* SPDX-License-Identifier: Apache-2.0 */
/* The table that assigns flows to analyzers; see steer.h. */
#include <config.h>

#include "reshuffler/steer.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum { FREE = UINT16_MAX, OFFSET_SEED = 1, SKIP_SEED = 2 };

struct claimant {
    const char *name;
    uint16_t index; /* In the caller's array. */
    uint32_t slot;  /* The next of its permutation ... */
    uint32_t skip;  /* ... which goes on in steps of this. */
};

static int
by_name(const void *a_, const void *b_)
{
    const struct claimant *a = a_, *b = b_;
    return strcmp(a->name, b->name);
}

/* Turns go by name, so that the order of the caller does not matter. */
static void
prepare(struct claimant claimants[], const char *const names[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(names[i]);
        claimants[i] = (struct claimant){
            .name = names[i],
            .index = (uint16_t) i,
            .slot = (uint32_t) (ef_hash64_seed(names[i], len, OFFSET_SEED) % EF_STEER_SLOTS),
            .skip = (uint32_t) (ef_hash64_seed(names[i], len, SKIP_SEED) % (EF_STEER_SLOTS - 1)) + 1,
        };
    }
    qsort(claimants, n, sizeof claimants[0], by_name);
}

static void
claim(struct claimant *c, uint16_t slots[])
{
    while (slots[c->slot] != FREE) {
        c->slot = (c->slot + c->skip) % EF_STEER_SLOTS;
    }
    slots[c->slot] = c->index;
}

struct ef_steer *
ef_steer_create(const char *const names[], size_t n)
{
    struct claimant claimants[EF_STEER_MAX_NAMES];
    struct ef_steer *steer = malloc(sizeof *steer);
    if (!steer) {
        return NULL;
    }
    prepare(claimants, names, n);
    memset(steer->slots, 0xff, sizeof steer->slots);
    for (uint32_t claimed = 0; claimed < EF_STEER_SLOTS; claimed++) {
        claim(&claimants[claimed % n], steer->slots);
    }
    return steer;
}
