/* SPDX-License-Identifier: Apache-2.0 */
/* A single-producer, single-consumer ring of fixed-size slots.
 *
 * Protocol: one thread calls the producer functions, one (other) thread the
 * consumer functions. The producer fills a slot in place and publishes it with
 * a release store of the tail; the consumer sees it through an acquire load
 * and gives the slot back with a release store of the head. Each side caches
 * the other's index, and keeps its own where the other never looks: only a
 * published index is on a line that both touch, and it changes once per batch.
 *
 *     void *slot = ef_ring_reserve(r);     // NULL: full; count it, go on
 *     fill(slot); ef_ring_commit(r);       // visible after flush
 *     ef_ring_flush(r);
 *
 *     while ((slot = ef_ring_peek(r))) { use(slot); ef_ring_release(r); }
 *
 * Commit and release move private indexes; ef_ring_flush() and
 * ef_ring_release_flush() publish them, once per batch. */
#ifndef EF_BASE_RING_H
#define EF_BASE_RING_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

struct ef_ring {
    uint8_t *slots;
    uint32_t mask; /* Number of slots - 1. */
    uint32_t slot_bytes;
    EF_CACHE_ALIGNED _Atomic uint32_t tail; /* Published by the producer. */
    EF_CACHE_ALIGNED _Atomic uint32_t head; /* Published by the consumer. */
    EF_CACHE_ALIGNED uint32_t tail_private; /* The producer's own. */
    uint32_t head_cached;
    EF_CACHE_ALIGNED uint32_t head_private; /* The consumer's own. */
    uint32_t tail_cached;
};

/* `n_slots` is rounded up to a power of two. Returns 0 or -ENOMEM. */
static inline int
ef_ring_init(struct ef_ring *r, uint32_t n_slots, uint32_t slot_bytes)
{
    uint32_t n = 1;
    while (n < n_slots && n < 1u << 31) {
        n <<= 1;
    }
    memset(r, 0, sizeof *r);
    slot_bytes = (slot_bytes + EF_CACHE_LINE - 1) / EF_CACHE_LINE * EF_CACHE_LINE;
    r->slots = (uint8_t *) aligned_alloc(EF_CACHE_LINE, (size_t) n * slot_bytes);
    r->mask = n - 1;
    r->slot_bytes = slot_bytes;
    return r->slots ? 0 : -ENOMEM;
}

static inline void
ef_ring_deinit(struct ef_ring *r)
{
    free(r->slots);
    r->slots = NULL;
}

static inline void *
ef_ring_slot(struct ef_ring *r, uint32_t index)
{
    return r->slots + (size_t) (index & r->mask) * r->slot_bytes;
}

/* Producer: the next free slot, or NULL if the ring is full. */
static inline void *
ef_ring_reserve(struct ef_ring *r)
{
    if (r->tail_private - r->head_cached > r->mask) {
        r->head_cached = atomic_load_explicit(&r->head, memory_order_acquire);
        if (r->tail_private - r->head_cached > r->mask) {
            return NULL;
        }
    }
    return ef_ring_slot(r, r->tail_private);
}

/* Producer: where it will be in a while, free or not. */
static inline void *
ef_ring_later(struct ef_ring *r, uint32_t later)
{
    return ef_ring_slot(r, r->tail_private + later);
}

static inline void
ef_ring_commit(struct ef_ring *r)
{
    r->tail_private++;
}

static inline void
ef_ring_flush(struct ef_ring *r)
{
    atomic_store_explicit(&r->tail, r->tail_private, memory_order_release);
}

/* Consumer: the oldest slot not yet released, or NULL if there is none. */
static inline void *
ef_ring_peek(struct ef_ring *r)
{
    if (r->head_private == r->tail_cached) {
        r->tail_cached = atomic_load_explicit(&r->tail, memory_order_acquire);
        if (r->head_private == r->tail_cached) {
            return NULL;
        }
    }
    return ef_ring_slot(r, r->head_private);
}

/* Consumer: how many slots ef_ring_peek() would give one after the other, as far
 * as it knows without looking again, and the one `ahead` of the next. */
static inline uint32_t
ef_ring_known(const struct ef_ring *r)
{
    return r->tail_cached - r->head_private;
}

static inline const void *
ef_ring_ahead(struct ef_ring *r, uint32_t ahead)
{
    return ef_ring_slot(r, r->head_private + ahead);
}

static inline void
ef_ring_release(struct ef_ring *r)
{
    r->head_private++;
}

static inline void
ef_ring_release_flush(struct ef_ring *r)
{
    atomic_store_explicit(&r->head, r->head_private, memory_order_release);
}

#endif
