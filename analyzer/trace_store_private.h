/* SPDX-License-Identifier: Apache-2.0 */
/* What trace_store.c and trace_cursor.c share. */
#ifndef EF_ANALYZER_TRACE_STORE_PRIVATE_H
#define EF_ANALYZER_TRACE_STORE_PRIVATE_H

#include "analyzer/trace_arena.h"
#include "analyzer/trace_store.h"

struct ef_trace_writer {
    EF_CACHE_ALIGNED struct ef_trace_arena arena;
    uint8_t *batch; /* Records not yet in the arena; EF_TRACE_ARENA_CHUNK bytes. */
    size_t batch_len;
};

struct ef_trace_store {
    unsigned n_writers;
    struct ef_trace_writer *writers;
    pthread_mutex_t queries; /* Guards what follows. */
    uint64_t query_bytes_left;
    uint64_t n_queries;
};

#endif
