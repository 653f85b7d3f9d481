/* SPDX-License-Identifier: Apache-2.0 */
/* The buckets: blocks of memory of one size, taken at create, passed around by
 * number. A bucket is counted: one reference belongs to the lane that filled
 * it, one to each cursor that reads it; whoever drops the last one puts it on
 * the free list. The memory itself is never given back before the pool goes,
 * so that a thread with an outdated number reads, at worst, the header of a
 * bucket that is now another's, and notices by the identity.
 *
 * Lock-free; the free list is a stack whose head carries a tag that changes
 * with every operation, so that a head which came back is not taken for the
 * same one (the ABA problem). Used by multilog.c, append.c and query.c. */
#ifndef EF_STORE_BUCKET_POOL_H
#define EF_STORE_BUCKET_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct ef_derived;

/* The head of every bucket; the columns follow (multilog.c). */
struct ef_bucket {
    _Atomic uint32_t refs;                /* 0: free, or being prepared by its taker. */
    _Atomic uint32_t n_rows;              /* Final once sealed; before, all that there is room for. */
    _Atomic uint64_t id;                  /* Which bucket of which lane; changes only while `refs` is 0. */
    uint64_t first_record;                /* The lane's number of its first row. */
    _Atomic int64_t min_ns, max_ns;       /* No visible row's time is outside. */
    _Atomic(struct ef_derived *) derived; /* derived.h; moved away by the taker of a free bucket. */
    _Atomic uint32_t done;                /* Derivers that have handled it, a bit each. */
};

struct ef_bucket_pool {
    uint8_t *blocks;
    uint64_t bucket_bytes;
    uint32_t n_buckets;
    _Atomic uint32_t *next; /* Of each free bucket. */
    _Atomic uint64_t free;  /* Tag << 32 | number of the first free bucket. */
    bool is_prefaulted;
};

/* Returns 0 or -ENOMEM. `bucket_bytes` is a multiple of the page size. */
int ef_bucket_pool_init(struct ef_bucket_pool *pool, uint64_t bucket_bytes, uint32_t n_buckets, bool prefault);
void ef_bucket_pool_deinit(struct ef_bucket_pool *pool);

static inline struct ef_bucket *
ef_bucket_at(const struct ef_bucket_pool *pool, uint32_t number)
{
    return (struct ef_bucket *) (void *) (pool->blocks + number * pool->bucket_bytes);
}

/* A free bucket without references, or NULL. The taker prepares it and then
 * stores 1 into `refs` (release). */
struct ef_bucket *ef_bucket_take(struct ef_bucket_pool *pool);

uint32_t ef_bucket_number(const struct ef_bucket_pool *pool, const struct ef_bucket *bucket);

/* Adds a reference if it is still the bucket `id`. */
bool ef_bucket_pin(struct ef_bucket_pool *pool, struct ef_bucket *bucket, uint64_t id);

/* Drops one reference. */
void ef_bucket_drop(struct ef_bucket_pool *pool, struct ef_bucket *bucket);

/* For who needs the memory for something else: gives the pages of a bucket that
 * was taken to the system; and gets them back and the bucket onto the free list. */
void ef_bucket_empty(struct ef_bucket_pool *pool, struct ef_bucket *bucket);
void ef_bucket_refill(struct ef_bucket_pool *pool, struct ef_bucket *bucket);

#endif
