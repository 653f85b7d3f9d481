/* SPDX-License-Identifier: Apache-2.0 */
/* The account of the copies that one thread receives, by the switch that sent
 * them and the target that it sent them to (each has its own sequence).
 *
 *     ef_ledger_enter(&ledger, &copy, arrival);                       // its thread
 *     for (uint32_t i = 0; i < ef_ledger_size(&ledger); i++) // any thread
 *         show(&ledger.entries[i]);
 *
 * Bounded: the copies of switches beyond EF_LEDGER_MAX are only counted
 * together. Entries are never moved nor removed. */
#ifndef RESHUFFLER_LEDGER_H
#define RESHUFFLER_LEDGER_H

#include "packet/copy.h"
#include "packet/copy_sequence.h"
#include "packet/hole_finder.h"

enum { EF_LEDGER_MAX = 4096 };

struct ef_ledger_entry {
    uint8_t switch_address[16], target_address[16];
    ef_counter copies; /* All that came, with and without a number. */
    struct ef_copy_sequence sequence;
    struct ef_hole_finder holes;

    /* Holes of the last loss report, which the next one repeats. */
    unsigned n_told;
    struct ef_hole told[EF_HOLE_FINDER_HOLES];
};

struct ef_ledger {
    struct ef_ledger_entry *entries;
    uint16_t *index; /* Hash to entry + 1; open addressing. */
    _Atomic uint32_t n;
    ef_counter uncounted; /* Copies of switches beyond the bound. */
    void *region;
};

/* Bytes that one takes at most; they are touched only as switches turn up. */
uint64_t ef_ledger_memory(void);

/* Returns 0 or -ENOMEM. */
int ef_ledger_init(struct ef_ledger *ledger);
void ef_ledger_deinit(struct ef_ledger *ledger); /* A zeroed one is fine. */

void ef_ledger_enter(struct ef_ledger *ledger, const struct ef_copy *copy, struct ef_time arrival);

static inline uint32_t
ef_ledger_size(const struct ef_ledger *ledger)
{
    return atomic_load_explicit(&((struct ef_ledger *) ledger)->n, memory_order_acquire);
}

#endif
