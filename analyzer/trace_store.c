/* SPDX-License-Identifier: Apache-2.0 */
/* The store of closed traces in memory: appending; see trace_store.h. */
#include <config.h>

#include "analyzer/trace_store_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int
init_writers(struct ef_trace_store *store, uint64_t bytes)
{
    uint64_t each = bytes / store->n_writers;
    if (each < 2 * EF_TRACE_ARENA_CHUNK) {
        return -ENOMEM;
    }
    for (unsigned i = 0; i < store->n_writers; i++) {
        struct ef_trace_writer *w = &store->writers[i];
        w->batch = malloc(EF_TRACE_ARENA_CHUNK);
        if (!w->batch || ef_trace_arena_init(&w->arena, each - EF_TRACE_ARENA_CHUNK)) {
            return -ENOMEM;
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
    if (init_writers(store, bytes)) {
        ef_trace_store_destroy(store);
        return ef_error_set(err, -ENOMEM, "no memory for %llu bytes of traces", (unsigned long long) bytes);
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
        ef_trace_arena_deinit(&store->writers[i].arena);
        free(store->writers[i].batch);
    }
    pthread_mutex_destroy(&store->queries);
    free(store->writers);
    free(store);
}

void
ef_trace_store_append(struct ef_trace_store *store, unsigned writer, const struct ef_trace *trace)
{
    struct ef_trace_writer *w = &store->writers[writer];
    if (w->batch_len + ef_trace_record_size(trace) > EF_TRACE_ARENA_CHUNK) {
        ef_trace_store_flush(store, writer);
    }
    w->batch_len += ef_trace_record_pack(trace, w->batch + w->batch_len);
}

void
ef_trace_store_flush(struct ef_trace_store *store, unsigned writer)
{
    struct ef_trace_writer *w = &store->writers[writer];
    if (w->batch_len) {
        ef_trace_arena_append(&w->arena, w->batch, w->batch_len);
        w->batch_len = 0;
    }
}

void
ef_trace_store_stats(struct ef_trace_store *store, struct ef_trace_store_stats *stats)
{
    *stats = (struct ef_trace_store_stats){.newest_evicted = {INT64_MIN}};
    for (unsigned i = 0; i < store->n_writers; i++) {
        struct ef_trace_arena_stats arena;
        ef_trace_arena_stats(&store->writers[i].arena, &arena);
        stats->n_stored += arena.n_records;
        stats->n_evicted += arena.n_evicted;
        stats->used_bytes += arena.used_bytes;
        stats->newest_evicted.ns = EF_MAX(stats->newest_evicted.ns, arena.newest_evicted.ns);
        if (arena.n_records && (!stats->has_oldest || ef_time_before(arena.oldest, stats->oldest))) {
            stats->has_oldest = true;
            stats->oldest = arena.oldest;
        }
    }
    pthread_mutex_lock(&store->queries);
    stats->n_queries = store->n_queries;
    pthread_mutex_unlock(&store->queries);
}
