/* SPDX-License-Identifier: Apache-2.0 */
/* The store of closed traces in memory: asking; see trace_store.h.
 *
 * Two passes. The first reads every record, a chunk at a time, and remembers
 * where the matching ones are in a heap whose root is the oldest: with a limit
 * the root makes way for newer ones. The second takes the roots off, oldest
 * first, and reads those records again. So an answer needs 16 bytes per trace,
 * whatever it is long, and stops no writer for longer than a chunk's copy. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/region.h"
#include "analyzer/trace_store_private.h"
#include "trace/trace_match.h"

enum {
    WRITER_SHIFT = 48,       /* A position has 48 bits, the writer's number the rest. */
    ASKER_BYTES = 256 << 10, /* What an answer takes on its way out, beside the cursor. */
};

struct found {
    struct ef_time start;
    uint64_t where; /* Writer and position. */
};

struct ef_trace_cursor {
    struct ef_trace_store *store;
    struct ef_trace_query query;
    uint64_t charged_bytes; /* Of the store's memory for queries. */

    struct found *heap;
    uint64_t n_found, max_found, n_lost;
    bool more;

    /* The first pass: where it is, and up to where it goes. */
    unsigned writer;
    uint64_t position;
    uint64_t *ends; /* Per writer. */

    struct ef_trace trace;
    uint8_t chunk[EF_TRACE_ARENA_CHUNK];
};

/* --- The heap --------------------------------------------------------------- */

static bool
is_older(const struct found *a, const struct found *b)
{
    return a->start.ns != b->start.ns ? a->start.ns < b->start.ns : a->where < b->where;
}

static void
sift_up(struct ef_trace_cursor *c, uint64_t i)
{
    struct found item = c->heap[i];
    while (i > 0 && is_older(&item, &c->heap[(i - 1) / 2])) {
        c->heap[i] = c->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    c->heap[i] = item;
}

/* Puts `item` in the root's place, then where it belongs. */
static void
replace_root(struct ef_trace_cursor *c, struct found item)
{
    uint64_t i = 0, child;
    while ((child = 2 * i + 1) < c->n_found) {
        if (child + 1 < c->n_found && is_older(&c->heap[child + 1], &c->heap[child])) {
            child++;
        }
        if (!is_older(&c->heap[child], &item)) {
            break;
        }
        c->heap[i] = c->heap[child];
        i = child;
    }
    c->heap[i] = item;
}

static void
remember(struct ef_trace_cursor *c, struct found item)
{
    if (c->n_found < c->max_found) {
        c->heap[c->n_found++] = item;
        sift_up(c, c->n_found - 1);
        return;
    }
    c->more = true;
    if (is_older(&c->heap[0], &item)) {
        replace_root(c, item);
    }
}

static struct found
take_oldest(struct ef_trace_cursor *c)
{
    struct found oldest = c->heap[0];
    c->n_found--;
    if (c->n_found > 0) {
        replace_root(c, c->heap[c->n_found]);
    }
    return oldest;
}

/* --- Opening and closing ------------------------------------------------------ */

/* Takes part of the memory for queries, or gives it back (negative). */
static bool
charge(struct ef_trace_store *store, int64_t bytes)
{
    pthread_mutex_lock(&store->queries);
    bool ok = bytes <= 0 || (uint64_t) bytes <= store->query_bytes_left;
    if (ok) {
        store->query_bytes_left -= (uint64_t) bytes;
        store->n_queries += bytes < 0 ? -1ull : 1;
    }
    pthread_mutex_unlock(&store->queries);
    return ok;
}

/* Notes how far the answer goes; returns how many records there are. */
static uint64_t
snapshot(struct ef_trace_cursor *c)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < c->store->n_writers; i++) {
        struct ef_trace_arena_stats stats;
        ef_trace_arena_stats(&c->store->writers[i].arena, &stats);
        c->ends[i] = stats.head;
        n += stats.n_records;
    }
    return n;
}

int
ef_trace_store_query(struct ef_trace_store *store, const struct ef_trace_query *query, struct ef_trace_cursor **out,
                     struct ef_error *err)
{
    struct ef_trace_cursor *c = calloc(1, sizeof *c);
    uint64_t *ends = calloc(store->n_writers, sizeof *ends);
    if (!c || !ends) {
        free(c);
        free(ends);
        return ef_error_set(err, -EBUSY, "out of memory for the answer");
    }
    c->store = store;
    c->query = *query;
    c->ends = ends;
    uint64_t n = snapshot(c);
    c->max_found = EF_MAX(query->limit ? EF_MIN(query->limit, n) : n, (uint64_t) 1);
    uint64_t bytes = sizeof *c + ASKER_BYTES + c->max_found * sizeof *c->heap;
    if (charge(store, (int64_t) bytes)) {
        c->charged_bytes = bytes;
        c->heap = ef_region_alloc(c->max_found * sizeof *c->heap);
    }
    if (!c->heap) {
        ef_trace_cursor_close(c);
        return ef_error_set(err, -EBUSY, "too many large answers at once; ask again later, or set a limit");
    }
    *out = c;
    return 0;
}

void
ef_trace_cursor_close(struct ef_trace_cursor *c)
{
    if (c) {
        if (c->charged_bytes) {
            charge(c->store, -(int64_t) c->charged_bytes);
        }
        ef_region_free(c->heap, c->max_found * sizeof *c->heap);
        free(c->ends);
        free(c);
    }
}

/* --- The two passes ----------------------------------------------------------- */

static bool
record_matches(struct ef_trace_cursor *c, const uint8_t *record)
{
    const struct ef_trace_query *q = &c->query;
    struct ef_time start = ef_trace_record_start(record);
    if (ef_time_before(start, q->start) || ef_time_before(q->end, start)) {
        return false;
    }
    if (!q->filter && !q->condition) {
        return true;
    }
    ef_trace_record_unpack(record, &c->trace);
    return ef_trace_match(&c->trace, q->filter, q->condition);
}

static void
scan_chunk(struct ef_trace_cursor *c)
{
    uint64_t next;
    size_t len =
        ef_trace_arena_copy(&c->store->writers[c->writer].arena, &c->position, c->ends[c->writer], c->chunk, &next);
    for (const uint8_t *record = c->chunk; record < c->chunk + len;) {
        struct ef_trace_record header;
        memcpy(&header, record, sizeof header);
        if (record_matches(c, record)) {
            uint64_t position = c->position + (uint64_t) (record - c->chunk);
            remember(c, (struct found){ef_trace_record_start(record), (uint64_t) c->writer << WRITER_SHIFT | position});
        }
        record += header.size;
    }
    c->position = next;
    if (!len) {
        c->writer++;
        c->position = 0;
    }
}

int
ef_trace_cursor_next(struct ef_trace_cursor *c, struct ef_trace *trace)
{
    if (c->writer < c->store->n_writers) {
        scan_chunk(c);
        return -EAGAIN;
    }
    while (c->n_found > 0) {
        struct found found = take_oldest(c);
        struct ef_trace_arena *arena = &c->store->writers[found.where >> WRITER_SHIFT].arena;
        if (ef_trace_arena_read(arena, found.where & (((uint64_t) 1 << WRITER_SHIFT) - 1), c->chunk)) {
            ef_trace_record_unpack(c->chunk, trace);
            return 1;
        }
        c->n_lost++;
    }
    return 0;
}

bool
ef_trace_cursor_more(const struct ef_trace_cursor *c)
{
    return c->more;
}

uint64_t
ef_trace_cursor_left(const struct ef_trace_cursor *c)
{
    return c->n_found;
}

uint64_t
ef_trace_cursor_lost(const struct ef_trace_cursor *c)
{
    return c->n_lost;
}
