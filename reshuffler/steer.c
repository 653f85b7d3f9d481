/* SPDX-License-Identifier: Apache-2.0 */
/* The table that assigns flows to analyzers; see steer.h. */
#include <config.h>

#include "reshuffler/steer.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/util.h"

enum { FREE = UINT16_MAX, OFFSET_SEED = 1, SKIP_SEED = 2, AWAY_SEED = 3 };

/* Draws for a slot whose owner is away; then each one that is there gets a number
 * of its own for the slot, and the greatest takes it. */
enum { MAX_DRAWS = 64 };

struct claimant {
    const char *name;
    uint16_t id;
    uint64_t name_hash;
    uint32_t slot; /* The next of its permutation ... */
    uint32_t skip; /* ... which goes on in steps of this. */
    bool is_away;
    uint32_t weight, credit; /* A turn is had when the credit reaches the greatest weight. */
};

static int
by_name(const void *a_, const void *b_)
{
    const struct claimant *a = a_, *b = b_;
    return strcmp(a->name, b->name);
}

/* Turns go by name, so that the order of the caller does not matter. */
static void
prepare(struct claimant claimants[], const struct ef_steer_member members[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *name = members[i].name;
        size_t len = strlen(name);
        claimants[i] = (struct claimant){
            .name = name,
            .id = members[i].id,
            .name_hash = ef_hash64_seed(name, len, AWAY_SEED),
            .slot = (uint32_t) (ef_hash64_seed(name, len, OFFSET_SEED) % EF_STEER_SLOTS),
            .skip = (uint32_t) (ef_hash64_seed(name, len, SKIP_SEED) % (EF_STEER_SLOTS - 1)) + 1,
            .is_away = members[i].is_away,
            .weight = members[i].weight,
        };
    }
    qsort(claimants, n, sizeof claimants[0], by_name);
}

static void
claim(struct claimant *c, uint16_t homes[])
{
    while (homes[c->slot] != FREE) {
        c->slot = (c->slot + c->skip) % EF_STEER_SLOTS;
    }
    homes[c->slot] = c->id;
}

static void
settle_homes(struct claimant claimants[], size_t n, uint16_t homes[])
{
    uint32_t greatest = 1, claimed = 0;
    for (size_t i = 0; i < n; i++) {
        greatest = EF_MAX(greatest, claimants[i].weight);
    }
    for (size_t i = 0; claimed < EF_STEER_SLOTS; i = (i + 1) % n) {
        struct claimant *c = &claimants[i];
        c->credit += EF_MAX(c->weight, 1u);
        if (c->credit >= greatest) {
            c->credit -= greatest;
            claim(c, homes);
            claimed++;
        }
    }
}

/* Whose homes are so few that no draw meets them still can be found: the highest
 * random weight (D. Thaler and C. Ravishankar, 1998) of those that are there. */
static uint16_t
highest_number(const struct claimant claimants[], size_t n, uint32_t slot)
{
    uint64_t highest = 0;
    uint16_t id = EF_STEER_NOBODY;
    for (size_t i = 0; i < n; i++) {
        const struct claimant *c = &claimants[i];
        uint64_t number = ef_hash_mix(c->name_hash ^ (slot * 0x9e3779b97f4a7c15));
        if (!c->is_away && (id == EF_STEER_NOBODY || number > highest)) {
            highest = number;
            id = c->id;
        }
    }
    return id;
}

/* Where the flows of a slot go whose owner is away. Neither the draws nor the
 * numbers depend on who is away: whoever else goes or comes back, the slot stays
 * where it is unless that one had it, or comes first. */
static uint16_t
stand_in(const uint16_t homes[], const bool is_away[], uint32_t slot)
{
    for (uint32_t i = 0; i < MAX_DRAWS; i++) {
        uint32_t key[2] = {slot, i};
        uint16_t owner = homes[ef_hash64_seed(key, sizeof key, AWAY_SEED) % EF_STEER_SLOTS];
        if (!is_away[owner]) {
            return owner;
        }
    }
    return EF_STEER_NOBODY;
}

static void
steer_around(struct ef_steer *steer, const bool is_away[], const struct claimant claimants[], size_t n)
{
    for (uint32_t slot = 0; slot < EF_STEER_SLOTS; slot++) {
        if (is_away[steer->homes[slot]]) {
            uint16_t id = stand_in(steer->homes, is_away, slot);
            steer->slots[slot] = id == EF_STEER_NOBODY ? highest_number(claimants, n, slot) : id;
        }
    }
}

struct ef_steer *
ef_steer_create(const struct ef_steer_member members[], size_t n)
{
    struct claimant claimants[EF_STEER_MAX_MEMBERS];
    bool is_away[UINT16_MAX + 1] = {0}; /* By id. */
    size_t n_away = 0;
    struct ef_steer *steer = malloc(sizeof *steer);
    if (!steer) {
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        is_away[members[i].id] = members[i].is_away;
        n_away += members[i].is_away;
    }
    prepare(claimants, members, n);
    memset(steer->homes, 0xff, sizeof steer->homes);
    settle_homes(claimants, n, steer->homes);
    memcpy(steer->slots, steer->homes, sizeof steer->slots);
    if (n_away) {
        steer_around(steer, is_away, claimants, n);
    }
    return steer;
}
