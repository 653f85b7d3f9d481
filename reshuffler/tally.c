/* SPDX-License-Identifier: Apache-2.0 */
/* Counters that are read all at one moment; see tally.h. */
#include <config.h>

#include "reshuffler/tally.h"

#include <sched.h>
#include <string.h>

void
ef_tally_publish(struct ef_tally *tally, const struct ef_totals *totals, unsigned n_analyzers)
{
    const uint64_t *from = (const uint64_t *) totals;
    size_t n = offsetof(struct ef_totals, steered) / sizeof *from + n_analyzers;
    uint64_t generation = atomic_load_explicit(&tally->generation, memory_order_relaxed);
    atomic_store_explicit(&tally->generation, generation + 1, memory_order_relaxed);
    for (size_t i = 0; i < n; i++) {
        atomic_store_explicit(&tally->words[i], from[i], memory_order_release);
    }
    atomic_store_explicit(&tally->generation, generation + 2, memory_order_release);
}

static void
read_all(struct ef_tally *tally, uint64_t words[EF_TOTALS_WORDS])
{
    for (;;) {
        uint64_t before = atomic_load_explicit(&tally->generation, memory_order_acquire);
        for (size_t i = 0; i < EF_TOTALS_WORDS; i++) {
            words[i] = atomic_load_explicit(&tally->words[i], memory_order_acquire);
        }
        if (before % 2 == 0 && atomic_load_explicit(&tally->generation, memory_order_relaxed) == before) {
            return;
        }
        sched_yield();
    }
}

void
ef_tally_add_to(struct ef_tally *tally, struct ef_totals *sum)
{
    uint64_t words[EF_TOTALS_WORDS], *to = (uint64_t *) sum;
    read_all(tally, words);
    for (size_t i = 0; i < EF_TOTALS_WORDS; i++) {
        to[i] += words[i];
    }
}
