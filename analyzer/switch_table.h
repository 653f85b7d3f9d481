/* SPDX-License-Identifier: Apache-2.0 */
/* What came from each switch, as one ingest thread sees it: how many copies,
 * and between which sequence numbers. Bounded: the copies of switches beyond
 * EF_SWITCH_TABLE_MAX are traced like all others, but not counted by switch.
 *
 * Thread-safety: one thread counts; any may read the first
 * ef_switch_table_size() entries, which are never moved nor removed. */
#ifndef EF_ANALYZER_SWITCH_TABLE_H
#define EF_ANALYZER_SWITCH_TABLE_H

#include "base/counter.h"
#include "trace/packet_trace.h"

enum { EF_SWITCH_TABLE_MAX = 4096 };

struct ef_switch_count {
    EF_CACHE_ALIGNED uint8_t address[16];
    ef_counter copies;
    ef_counter first_sequence, last_sequence; /* Least and greatest; 1 more than the number, 0: none came. */
};

struct ef_switch_table {
    struct ef_switch_count *counts;
    uint16_t *index; /* Hash to entry + 1; open addressing. */
    _Atomic uint32_t n;
    ef_counter uncounted; /* Copies of switches beyond the bound. */
    void *region;
};

/* Bytes that one table takes. */
uint64_t ef_switch_table_memory(void);

/* Returns 0 or -ENOMEM. */
int ef_switch_table_init(struct ef_switch_table *t);
void ef_switch_table_deinit(struct ef_switch_table *t);

void ef_switch_table_count(struct ef_switch_table *t, const struct ef_hop *hop);

static inline uint32_t
ef_switch_table_size(const struct ef_switch_table *t)
{
    return atomic_load_explicit(&((struct ef_switch_table *) t)->n, memory_order_acquire);
}

#endif
