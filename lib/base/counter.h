/* SPDX-License-Identifier: Apache-2.0 */
/* Counters on the packet path: each has one writing thread and any number of
 * readers; an update is a plain load and store, no locked instruction.
 *
 *     ef_counter_add(&worker->drops[EF_DROP_TABLE_FULL], 1);   // its worker
 *     total += ef_counter_get(&worker->drops[i]);              // anyone
 */
#ifndef EF_BASE_COUNTER_H
#define EF_BASE_COUNTER_H

#include <stdatomic.h>
#include <stdint.h>

typedef struct {
    _Atomic uint64_t value;
} ef_counter;

static inline void
ef_counter_add(ef_counter *c, uint64_t n)
{
    atomic_store_explicit(&c->value, atomic_load_explicit(&c->value, memory_order_relaxed) + n, memory_order_relaxed);
}

static inline void
ef_counter_set(ef_counter *c, uint64_t n)
{
    atomic_store_explicit(&c->value, n, memory_order_relaxed);
}

static inline uint64_t
ef_counter_get(const ef_counter *c)
{
    return atomic_load_explicit(&((ef_counter *) c)->value, memory_order_relaxed);
}

#endif
