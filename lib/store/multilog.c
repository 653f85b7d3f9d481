/* SPDX-License-Identifier: Apache-2.0 */
/* The multilog as a whole: configuration, layout of the buckets, writers,
 * statistics. */
#include <config.h>

#include "store/bucket_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    PAGE = 4096,
    DEFAULT_ROWS = 65536,
    DEFAULT_VARIABLE_PER_ROW = 64,
    MAX_ROWS = 65536 /* So that 2 bytes number one. */
};

static uint64_t
round_up(uint64_t n, uint64_t to)
{
    return (n + to - 1) / to * to;
}

/* Places the columns behind the header; returns the size of a bucket. */
static uint64_t
lay_out(struct ef_multilog *log)
{
    uint64_t at = round_up(sizeof(struct ef_bucket), EF_CACHE_LINE);
    for (unsigned i = 0; i < log->schema.n_columns; i++) {
        const struct ef_column *column = &log->schema.columns[i];
        uint32_t width = column->type == EF_COLUMN_VARIABLE ? sizeof(uint32_t) : column->width;
        log->column_at[i] = (uint32_t) at;
        at = round_up(at + (uint64_t) width * log->bucket_rows, EF_CACHE_LINE);
    }
    log->variable_at = (uint32_t) at;
    return round_up(at + log->bucket_variable_bytes, PAGE);
}

static int
init_lanes(struct ef_multilog *log, unsigned n)
{
    size_t bytes = n * sizeof *log->lanes;
    log->lanes = aligned_alloc(EF_CACHE_LINE, bytes);
    if (!log->lanes) {
        return -ENOMEM;
    }
    memset(log->lanes, 0, bytes);
    log->n_lanes = n;
    for (unsigned i = 0; i < n; i++) {
        log->lanes[i].log = log;
        log->lanes[i].number = i;
        log->lanes[i].random = i + 1;
        log->lanes[i].buckets = calloc(log->pool.n_buckets, sizeof *log->lanes[i].buckets);
        if (!log->lanes[i].buckets) {
            return -ENOMEM;
        }
    }
    return 0;
}

static int
check_config(const struct ef_multilog_config *config, struct ef_error *err)
{
    if (config->max_writers < 1 || config->max_writers > EF_MULTILOG_MAX_WRITERS) {
        return ef_error_set(err, -EINVAL, "%u writers; give 1 to %d", config->max_writers, EF_MULTILOG_MAX_WRITERS);
    }
    if (config->bucket_rows % 64 || config->bucket_rows > MAX_ROWS) {
        return ef_error_set(err, -EINVAL, "%u records per bucket; give a multiple of 64 up to %d", config->bucket_rows,
                            MAX_ROWS);
    }
    return 0;
}

/* A writer needs a bucket to fill and one to let go of. */
static int
init(struct ef_multilog *log, const struct ef_multilog_config *config, struct ef_error *err)
{
    uint64_t bucket_bytes = lay_out(log);
    uint64_t least = bucket_bytes * 2 * config->max_writers, n_buckets = config->memory_bytes / bucket_bytes;
    if (bucket_bytes > UINT32_MAX || config->memory_bytes < least || n_buckets >= UINT32_MAX) {
        return ef_error_set(err, -EINVAL, "%llu bytes of memory; %u writers with buckets of %llu need at least %llu",
                            (unsigned long long) config->memory_bytes, config->max_writers,
                            (unsigned long long) bucket_bytes, (unsigned long long) least);
    }
    if (ef_bucket_pool_init(&log->pool, bucket_bytes, (uint32_t) n_buckets, config->prefault) ||
        init_lanes(log, config->max_writers) || ef_indexes_create(log, &log->indexes)) {
        return ef_error_set(err, -ENOMEM, "out of memory for %llu bytes of records",
                            (unsigned long long) config->memory_bytes);
    }
    return 0;
}

int
ef_multilog_create(const struct ef_multilog_config *config, struct ef_multilog **out, struct ef_error *err)
{
    int rc = check_config(config, err);
    if (rc) {
        return rc;
    }
    struct ef_multilog *log = calloc(1, sizeof *log);
    if (!log) {
        return ef_error_set(err, -ENOMEM, "out of memory");
    }
    pthread_mutex_init(&log->snapshots, NULL);
    atomic_init(&log->newest_evicted_ns, INT64_MIN);
    ef_derivers_init(&log->derivers);
    ef_filters_init(&log->filters);
    ef_triggers_init(&log->triggers);
    log->schema = *config->schema;
    log->bucket_rows = config->bucket_rows ? config->bucket_rows : DEFAULT_ROWS;
    if (log->schema.variable >= 0) {
        log->bucket_variable_bytes =
            config->bucket_variable_bytes ? config->bucket_variable_bytes : log->bucket_rows * DEFAULT_VARIABLE_PER_ROW;
    }
    rc = init(log, config, err);
    if (rc) {
        ef_multilog_destroy(log);
        return rc;
    }
    *out = log;
    return 0;
}

void
ef_multilog_destroy(struct ef_multilog *log)
{
    if (!log) {
        return;
    }
    ef_triggers_deinit(&log->triggers);
    ef_capture_destroy(atomic_load(&log->capture));
    ef_derivers_stop(log);
    ef_indexes_destroy(log->indexes);
    ef_filters_deinit(&log->filters);
    for (unsigned i = 0; i < log->n_lanes; i++) {
        free(log->lanes[i].buckets);
    }
    free(log->lanes);
    ef_bucket_pool_deinit(&log->pool);
    pthread_mutex_destroy(&log->snapshots);
    free(log);
}

const struct ef_schema *
ef_multilog_schema(const struct ef_multilog *log)
{
    return &log->schema;
}

int
ef_multilog_writer_open(struct ef_multilog *log, struct ef_multilog_writer **writer)
{
    for (unsigned i = 0; i < log->n_lanes; i++) {
        bool expected = false;
        if (atomic_compare_exchange_strong(&log->lanes[i].busy, &expected, true)) {
            *writer = &log->lanes[i];
            return 0;
        }
    }
    return -EBUSY;
}

void
ef_multilog_seal(struct ef_multilog_writer *writer)
{
    ef_lane_seal(writer);
}

void
ef_multilog_writer_close(struct ef_multilog_writer *writer)
{
    if (writer) {
        ef_lane_seal(writer); /* So that it can leave memory. */
        atomic_store(&writer->busy, false);
    }
}

/* The oldest time of the lane's buckets in memory. One that leaves meanwhile is
 * passed over. */
static void
take_oldest(struct ef_multilog_writer *lane, struct ef_multilog_stats *stats)
{
    uint64_t end = atomic_load_explicit(&lane->n_begun, memory_order_acquire);
    for (uint64_t s = atomic_load_explicit(&lane->first, memory_order_acquire); s < end; s++) {
        struct ef_bucket *bucket = ef_lane_bucket(lane, s);
        if (!ef_bucket_pin(&lane->log->pool, bucket, ef_bucket_id(lane, s))) {
            continue;
        }
        int64_t ns = atomic_load_explicit(&bucket->min_ns, memory_order_relaxed);
        ef_bucket_drop(&lane->log->pool, bucket);
        if (ns != INT64_MAX && (!stats->has_oldest || ns < stats->oldest.ns)) {
            stats->has_oldest = true;
            stats->oldest.ns = ns;
        }
    }
}

void
ef_multilog_stats(struct ef_multilog *log, struct ef_multilog_stats *stats)
{
    *stats = (struct ef_multilog_stats){
        .n_evicted = atomic_load_explicit(&log->n_evicted, memory_order_relaxed),
        .memory_bytes = log->pool.bucket_bytes * log->pool.n_buckets,
        .n_buckets = log->pool.n_buckets,
        .bucket_rows = log->bucket_rows,
        .bucket_bytes = (uint32_t) log->pool.bucket_bytes,
        .newest_evicted = {atomic_load(&log->newest_evicted_ns)},
    };
    for (unsigned i = 0; i < log->n_lanes; i++) {
        stats->n_appended += atomic_load_explicit(&log->lanes[i].tail, memory_order_acquire);
        stats->n_refused += ef_counter_get(&log->lanes[i].n_refused);
        stats->n_not_captured += ef_counter_get(&log->lanes[i].n_not_captured);
        uint64_t first = atomic_load_explicit(&log->lanes[i].first, memory_order_acquire);
        stats->used_bytes +=
            (atomic_load_explicit(&log->lanes[i].n_begun, memory_order_acquire) - first) * log->pool.bucket_bytes;
        take_oldest(&log->lanes[i], stats);
    }
}
