/* SPDX-License-Identifier: Apache-2.0 */
/* What trace_store.c, trace_cursor.c and trace_follower.c share. */
#ifndef EF_ANALYZER_TRACE_STORE_PRIVATE_H
#define EF_ANALYZER_TRACE_STORE_PRIVATE_H

#include <pthread.h>
#include <string.h>

#include "analyzer/trace_columns.h"
#include "analyzer/trace_record.h"
#include "analyzer/trace_store.h"
#include "base/util.h"

enum {
    EF_TRACE_BATCH = 64,
    EF_TRACE_BATCH_BYTES = 4 * EF_TRACE_RECORD_MAX,
};

/* Traces that are not yet visible. */
struct ef_trace_writer {
    EF_CACHE_ALIGNED struct ef_multilog_writer *writer;
    unsigned n;
    uint32_t n_bytes;
    uint8_t *room; /* Where their variable parts are: in the log, or `bytes`. */
    struct ef_trace_columns batch[EF_TRACE_BATCH];
    uint8_t bytes[EF_TRACE_BATCH_BYTES];
};

struct ef_trace_store {
    struct ef_schema schema;
    struct ef_multilog *log;
    uint32_t batch_rows, batch_bytes; /* At most, the bytes of variable parts. */
    unsigned n_writers;
    struct ef_trace_writer *writers;
    pthread_mutex_t queries; /* Guards what follows. */
    uint64_t query_bytes_left;
    uint64_t n_queries;
};

/* The trace that the cursor is on. */
static inline void
ef_trace_of_cursor(const struct ef_multilog_cursor *cursor, struct ef_trace *trace)
{
    struct ef_time start;
    uint64_t id;
    memcpy(&start, ef_multilog_column(cursor, EF_TRACE_COLUMN_START, NULL), sizeof start);
    memcpy(&id, ef_multilog_column(cursor, EF_TRACE_COLUMN_ID, NULL), sizeof id);
    ef_trace_record_unpack(ef_multilog_column(cursor, EF_TRACE_COLUMN_TRACE, NULL), start, id, trace);
}

#endif
