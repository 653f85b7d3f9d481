/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a log's indexes, which counts within the log's own: for what
 * they need, whole buckets are taken out of the pool and their pages given to
 * the system; when less is needed, buckets come back. At most half of the
 * buckets, and never those that the writers need to go on.
 *
 * Private to lib/store, of the thread that calls derivers. */
#ifndef EF_STORE_INDEX_MEMORY_H
#define EF_STORE_INDEX_MEMORY_H

#include "store/multilog_private.h"

struct ef_index_memory {
    struct ef_multilog *log;
    uint64_t used;    /* Bytes. */
    uint32_t n_taken; /* Buckets. */
    uint32_t most;    /* Of them. */
    uint32_t *taken;  /* Their numbers. */
};

int ef_index_memory_init(struct ef_index_memory *memory, struct ef_multilog *log); /* 0 or -ENOMEM. */
void ef_index_memory_deinit(struct ef_index_memory *memory);

/* May let the oldest records go; false if there is no room. */
bool ef_index_memory_reserve(struct ef_index_memory *memory, uint64_t bytes);
void ef_index_memory_release(struct ef_index_memory *memory, uint64_t bytes);

#endif
