/* SPDX-License-Identifier: Apache-2.0 */
/* The pool of buckets: see bucket_pool.h. */
#include <config.h>

#include "store/bucket_pool.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#define NO_BUCKET UINT32_MAX

enum { PAGE = 4096 };

static void
put(struct ef_bucket_pool *pool, uint32_t number)
{
    uint64_t head = atomic_load_explicit(&pool->free, memory_order_relaxed), next;
    do {
        atomic_store_explicit(&pool->next[number], (uint32_t) head, memory_order_relaxed);
        next = ((head >> 32) + 1) << 32 | number;
    } while (
        !atomic_compare_exchange_weak_explicit(&pool->free, &head, next, memory_order_acq_rel, memory_order_relaxed));
}

struct ef_bucket *
ef_bucket_take(struct ef_bucket_pool *pool)
{
    uint64_t head = atomic_load_explicit(&pool->free, memory_order_acquire), next;
    do {
        if ((uint32_t) head == NO_BUCKET) {
            return NULL;
        }
        uint32_t second = atomic_load_explicit(&pool->next[(uint32_t) head], memory_order_relaxed);
        next = ((head >> 32) + 1) << 32 | second;
    } while (
        !atomic_compare_exchange_weak_explicit(&pool->free, &head, next, memory_order_acq_rel, memory_order_acquire));
    return ef_bucket_at(pool, (uint32_t) head);
}

uint32_t
ef_bucket_number(const struct ef_bucket_pool *pool, const struct ef_bucket *bucket)
{
    return (uint32_t) ((uint64_t) ((const uint8_t *) bucket - pool->blocks) / pool->bucket_bytes);
}

bool
ef_bucket_pin(struct ef_bucket_pool *pool, struct ef_bucket *bucket, uint64_t id)
{
    uint32_t refs = atomic_load_explicit(&bucket->refs, memory_order_relaxed);
    do {
        if (!refs) {
            return false;
        }
    } while (!atomic_compare_exchange_weak(&bucket->refs, &refs, refs + 1)); /* derived.c says why so strong. */
    if (atomic_load_explicit(&bucket->id, memory_order_relaxed) == id) {
        return true;
    }
    ef_bucket_drop(pool, bucket);
    return false;
}

void
ef_bucket_drop(struct ef_bucket_pool *pool, struct ef_bucket *bucket)
{
    if (atomic_fetch_sub_explicit(&bucket->refs, 1, memory_order_acq_rel) == 1) {
        put(pool, ef_bucket_number(pool, bucket));
    }
}

/* Asks the kernel for all pages now; one that does not know how gets them
 * touched one by one. */
static void
touch_all(uint8_t *p, uint64_t bytes, uint64_t step)
{
#ifdef MADV_POPULATE_WRITE
    if (!madvise(p, bytes, MADV_POPULATE_WRITE)) {
        return;
    }
#endif
    for (uint64_t i = 0; i < bytes; i += step) {
        ((volatile uint8_t *) p)[i] = 0;
    }
}

/* The first page stays: it is read by who has an outdated number. */
void
ef_bucket_empty(struct ef_bucket_pool *pool, struct ef_bucket *bucket)
{
    madvise((uint8_t *) bucket + PAGE, pool->bucket_bytes - PAGE, MADV_DONTNEED);
}

void
ef_bucket_refill(struct ef_bucket_pool *pool, struct ef_bucket *bucket)
{
    if (pool->is_prefaulted) {
        touch_all((uint8_t *) bucket, pool->bucket_bytes, PAGE);
    }
    put(pool, ef_bucket_number(pool, bucket));
}

int
ef_bucket_pool_init(struct ef_bucket_pool *pool, uint64_t bucket_bytes, uint32_t n_buckets, bool prefault)
{
    uint64_t bytes = bucket_bytes * n_buckets;
    void *blocks = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (blocks == MAP_FAILED) {
        return -ENOMEM;
    }
    _Atomic uint32_t *next = calloc(n_buckets, sizeof *next);
    if (!next) {
        munmap(blocks, bytes);
        return -ENOMEM;
    }
    madvise(blocks, bytes, MADV_HUGEPAGE);
    if (prefault) {
        touch_all(blocks, bytes, PAGE);
    }
    pool->is_prefaulted = prefault;
    pool->blocks = blocks;
    pool->bucket_bytes = bucket_bytes;
    pool->n_buckets = n_buckets;
    pool->next = next;
    atomic_init(&pool->free, NO_BUCKET);
    for (uint32_t i = n_buckets; i-- > 0;) {
        put(pool, i);
    }
    return 0;
}

void
ef_bucket_pool_deinit(struct ef_bucket_pool *pool)
{
    if (pool->blocks) {
        munmap(pool->blocks, pool->bucket_bytes * pool->n_buckets);
    }
    free(pool->next);
}
