/* SPDX-License-Identifier: Apache-2.0 */
/* The store of closed traces in memory: appending; see trace_store.h. */
#include <config.h>

#include "analyzer/trace_store_private.h"

#include <errno.h>
#include <stdlib.h>

#include "store/derived.h"
#include "store/indexes.h"

/* A bucket is a sixteenth of a writer's share: less is lost with each that
 * leaves, and at its end; but it must be worth an index. */
enum {
    BUCKETS_PER_WRITER = 16,
    MIN_BUCKET_BYTES = 8 * EF_TRACE_RECORD_MAX,
    MAX_BUCKET_BYTES = 4 << 20,
    BATCHES_PER_BUCKET = 16,
    BYTES_PER_TRACE = 256, /* Of the usual trace; a bucket is full when the rows or the bytes are. */
};

static int
create_log(struct ef_trace_store *store, uint64_t bytes, struct ef_error *err)
{
    uint64_t bucket_bytes = EF_MIN(bytes / store->n_writers / BUCKETS_PER_WRITER, (uint64_t) MAX_BUCKET_BYTES);
    bucket_bytes = EF_MAX(bucket_bytes, (uint64_t) MIN_BUCKET_BYTES);
    uint32_t rows = (uint32_t) bucket_bytes / BYTES_PER_TRACE / 64 * 64 + 64;
    uint32_t column_bytes = rows * (uint32_t) (sizeof(struct ef_trace_columns) - sizeof(struct ef_bytes));
    struct ef_multilog_config config = {
        .schema = &store->schema,
        .memory_bytes = bytes,
        .max_writers = store->n_writers,
        .bucket_rows = rows,
        .bucket_variable_bytes = (uint32_t) bucket_bytes - column_bytes,
    };
    /* What a batch may need is not begun in a bucket's end, so it is lost there. */
    store->batch_rows = EF_MIN(rows / BATCHES_PER_BUCKET, (uint32_t) EF_TRACE_BATCH);
    store->batch_bytes =
        EF_MIN(EF_MAX(config.bucket_variable_bytes / BATCHES_PER_BUCKET, (uint32_t) EF_TRACE_RECORD_MAX),
               (uint32_t) EF_TRACE_BATCH_BYTES);
    int rc =
        ef_schema_init(&store->schema, ef_trace_columns_list, ef_trace_columns_n, sizeof(struct ef_trace_columns), err);
    return rc ? rc : ef_multilog_create(&config, &store->log, err);
}

/* What is asked for most, and what few traces have. */
static const struct ef_multilog_index indexes[EF_TRACE_STORE_INDEXES] = {
    {.column = "id"},
    {.column = "src"},
    {.column = "dst"},
    {.column = "flags"},
    {.column = "trace", .extract = ef_trace_columns_switches, .key_type = EF_COLUMN_IPV6},
};

static int
add_indexes(struct ef_trace_store *store, struct ef_error *err)
{
    for (size_t i = 0; i < EF_ARRAY_SIZE(indexes); i++) {
        int rc = ef_multilog_add_index(store->log, &indexes[i], err);
        if (rc) {
            return rc;
        }
    }
    return 0;
}

static int
open_writers(struct ef_trace_store *store, struct ef_error *err)
{
    for (unsigned i = 0; i < store->n_writers; i++) {
        int rc = ef_multilog_writer_open(store->log, &store->writers[i].writer);
        if (rc) {
            return ef_error_set(err, rc, "more writers than the store has");
        }
    }
    return 0;
}

int
ef_trace_store_create(unsigned n_writers, uint64_t bytes, uint64_t query_bytes, struct ef_trace_store **out,
                      struct ef_error *err)
{
    struct ef_trace_store *store = calloc(1, sizeof *store);
    size_t writers_bytes = n_writers * sizeof *store->writers;
    struct ef_trace_writer *writers = aligned_alloc(EF_CACHE_LINE, writers_bytes);
    if (!store || !writers) {
        free(store);
        free(writers);
        return ef_error_set(err, -ENOMEM, "out of memory");
    }
    memset(writers, 0, writers_bytes);
    store->n_writers = n_writers;
    store->writers = writers;
    store->query_bytes_left = query_bytes;
    pthread_mutex_init(&store->queries, NULL);
    int rc;
    bytes -= EF_MIN(bytes, (uint64_t) writers_bytes);
    if ((rc = create_log(store, bytes, err)) || (rc = open_writers(store, err)) || (rc = add_indexes(store, err))) {
        ef_trace_store_destroy(store);
        return rc;
    }
    *out = store;
    return 0;
}

void
ef_trace_store_destroy(struct ef_trace_store *store)
{
    if (!store) {
        return;
    }
    for (unsigned i = 0; i < store->n_writers; i++) {
        ef_multilog_writer_close(store->writers[i].writer);
    }
    ef_multilog_destroy(store->log);
    pthread_mutex_destroy(&store->queries);
    free(store->writers);
    free(store);
}

void
ef_trace_store_append(struct ef_trace_store *store, unsigned writer, const struct ef_trace *trace)
{
    struct ef_trace_writer *w = &store->writers[writer];
    if (w->n == store->batch_rows || w->n_bytes + EF_TRACE_RECORD_MAX > store->batch_bytes) {
        ef_trace_store_flush(store, writer);
    }
    if (!w->n) {
        uint8_t *room = ef_multilog_room(w->writer, store->batch_rows, store->batch_bytes);
        w->room = room ? room : w->bytes;
    }
    struct ef_trace_columns *columns = &w->batch[w->n++];
    uint8_t *at = w->room + w->n_bytes;
    ef_trace_columns_fill(columns, trace);
    columns->trace = (struct ef_bytes){at, ef_trace_record_pack(trace, at)};
    w->n_bytes += columns->trace.len;
}

/* What the log cannot take, it counts. */
void
ef_trace_store_flush(struct ef_trace_store *store, unsigned writer)
{
    struct ef_trace_writer *w = &store->writers[writer];
    if (w->n) {
        ef_multilog_append(w->writer, w->batch, w->n);
        w->n = 0;
        w->n_bytes = 0;
    }
}

void
ef_trace_store_settle(struct ef_trace_store *store)
{
    ef_multilog_flush_derived(store->log);
}

/* Indexes are listed in the order in which they were added. */
static void
add_index_stats(struct ef_trace_store *store, struct ef_trace_store_stats *stats)
{
    struct ef_multilog_index_stats costs[EF_TRACE_STORE_INDEXES];
    unsigned n = ef_multilog_index_stats(store->log, costs, EF_TRACE_STORE_INDEXES);
    for (unsigned i = 0; i < EF_MIN(n, (unsigned) EF_TRACE_STORE_INDEXES); i++) {
        stats->index_bytes += costs[i].memory_bytes;
        stats->indexes[i] = (struct ef_trace_index_stats){
            .name = indexes[i].extract ? "switches" : indexes[i].column,
            .n_traces = costs[i].n_records,
            .n_bytes = costs[i].memory_bytes,
            .n_without = costs[i].n_without,
            .processor_time = {(int64_t) costs[i].builder_ns},
        };
    }
}

void
ef_trace_store_stats(struct ef_trace_store *store, struct ef_trace_store_stats *stats)
{
    struct ef_multilog_stats log;
    ef_multilog_stats(store->log, &log);
    *stats = (struct ef_trace_store_stats){
        .n_stored = log.n_appended - log.n_evicted,
        .n_evicted = log.n_evicted,
        .n_refused = log.n_refused,
        .has_oldest = log.has_oldest,
        .oldest = log.oldest,
        .newest_evicted = log.newest_evicted,
    };
    add_index_stats(store, stats);
    stats->used_bytes = log.used_bytes + stats->index_bytes;
    pthread_mutex_lock(&store->queries);
    stats->n_queries = store->n_queries;
    pthread_mutex_unlock(&store->queries);
}
