/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of indexes: see index_memory.h. */
#include <config.h>

#include "store/index_memory.h"

#include <errno.h>
#include <stdlib.h>

int
ef_index_memory_init(struct ef_index_memory *memory, struct ef_multilog *log)
{
    uint32_t n_buckets = log->pool.n_buckets, least = 2 * log->n_lanes;
    memory->log = log;
    memory->most = n_buckets > least ? EF_MIN(n_buckets / 2, n_buckets - least) : 0;
    memory->taken = calloc(memory->most + 1, sizeof *memory->taken);
    return memory->taken ? 0 : -ENOMEM;
}

/* The buckets go with the pool. */
void
ef_index_memory_deinit(struct ef_index_memory *memory)
{
    free(memory->taken);
}

static bool
take_bucket(struct ef_index_memory *memory)
{
    struct ef_bucket_pool *pool = &memory->log->pool;
    struct ef_bucket *bucket;
    if (memory->n_taken == memory->most) {
        return false;
    }
    while (!(bucket = ef_bucket_take(pool))) {
        if (!ef_multilog_evict_oldest(memory->log)) {
            return false;
        }
    }
    ef_derived_bury(memory->log, bucket);
    ef_bucket_empty(pool, bucket);
    memory->taken[memory->n_taken++] = ef_bucket_number(pool, bucket);
    return true;
}

bool
ef_index_memory_reserve(struct ef_index_memory *memory, uint64_t bytes)
{
    while (memory->used + bytes > memory->n_taken * memory->log->pool.bucket_bytes) {
        if (!take_bucket(memory)) {
            return false;
        }
    }
    memory->used += bytes;
    return true;
}

/* One bucket more than needed is kept, so that none goes to and fro. */
void
ef_index_memory_release(struct ef_index_memory *memory, uint64_t bytes)
{
    struct ef_bucket_pool *pool = &memory->log->pool;
    memory->used -= bytes;
    while (memory->n_taken >= 2 && memory->used <= (memory->n_taken - 2) * pool->bucket_bytes) {
        ef_bucket_refill(pool, ef_bucket_at(pool, memory->taken[--memory->n_taken]));
    }
}
