/* SPDX-License-Identifier: Apache-2.0 */
/* The store of closed traces in memory: asking; see trace_store.h.
 *
 * Two passes. The first goes through what the columns let through, newest
 * buckets first if there is a limit, and remembers where the matching traces are
 * in a heap whose root is the oldest: with a limit the root makes way for newer
 * ones, and buckets that are older than the root of a full heap are not looked
 * at. The second takes the roots off, oldest first, and reads those traces. So
 * an answer needs 24 bytes per trace, however long it is, and keeps no bucket in
 * memory for longer than a slice of work. */
#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/region.h"
#include "analyzer/trace_question.h"
#include "analyzer/trace_store_private.h"
#include "base/time.h"
#include "store/explain.h"
#include "trace/trace_match.h"

enum {
    ASKER_BYTES = 256 << 10, /* What an answer takes on its way out, beside the cursor. */
    SLICE_NS = 100000,
    TRACES_PER_LOOK = 16, /* Matched between two looks at the clock. */
    SMALL_HEAP = 4096,    /* Beyond this on pages of its own. */
};

struct found {
    struct ef_trace_key key;
    uint64_t where; /* ef_multilog_place() */
};

struct ef_trace_cursor {
    struct ef_trace_store *store;
    struct ef_trace_query query;
    struct ef_trace_question question;
    struct ef_multilog_query log_query;
    struct ef_multilog_cursor *cursor;
    uint64_t charged_bytes; /* Of the store's memory for queries. */
    bool is_found;          /* The first pass has ended. */
    uint64_t n_asked;       /* Traces that were looked at whole. */

    struct found *heap;
    uint64_t n_found, max_found, n_lost;
    bool more;
    struct ef_trace trace;
};

/* --- The heap --------------------------------------------------------------- */

static bool
is_older(const struct found *a, const struct found *b)
{
    int order = ef_trace_key_compare(a->key, b->key);
    return order ? order < 0 : a->where < b->where;
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

/* Of the snapshot; those that left memory before are too many. */
static uint64_t
count_traces(const struct ef_trace_cursor *c, const struct ef_multilog_stats *stats)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < c->store->n_writers; i++) {
        n += c->log_query.snapshot.tails[i];
    }
    return EF_MIN(n, (uint64_t) stats->n_buckets * stats->bucket_rows);
}

/* What the cursor of the log needs at most: its bitmaps and its list of buckets. */
static uint64_t
log_cursor_bytes(const struct ef_multilog_stats *stats)
{
    enum { BITMAPS = 3, BYTES_PER_BUCKET = 32, FIXED = 4096 };
    return FIXED + BITMAPS * stats->bucket_rows / 8 + (uint64_t) BYTES_PER_BUCKET * stats->n_buckets;
}

static int
begin(struct ef_trace_cursor *c)
{
    const struct ef_trace_query *q = &c->query;
    int rc = ef_trace_question_init(&c->question, &c->store->schema, q);
    if (rc) {
        return rc;
    }
    c->log_query.from = q->start;
    c->log_query.to = q->has_before && ef_time_before(q->before.start, q->end) ? q->before.start : q->end;
    c->log_query.predicate = c->question.predicate;
    c->log_query.keys = c->question.keys;
    c->log_query.n_keys = c->question.n_keys;
    c->log_query.newest_first = q->limit;
    c->log_query.is_explained = q->is_explained;
    return ef_multilog_query(c->store->log, &c->log_query, &c->cursor);
}

static int
reserve(struct ef_trace_cursor *c)
{
    struct ef_multilog_stats stats;
    ef_multilog_stats(c->store->log, &stats);
    uint64_t n = count_traces(c, &stats);
    c->max_found = EF_MAX(c->query.limit ? EF_MIN(c->query.limit, n) : n, (uint64_t) 1);
    uint64_t bytes = sizeof *c + ASKER_BYTES + log_cursor_bytes(&stats) + c->max_found * sizeof *c->heap;
    if (!charge(c->store, (int64_t) bytes)) {
        return -EBUSY;
    }
    c->charged_bytes = bytes;
    c->heap = c->max_found > SMALL_HEAP ? ef_region_alloc(c->max_found * sizeof *c->heap)
                                        : malloc(c->max_found * sizeof *c->heap);
    return c->heap ? 0 : -EBUSY;
}

int
ef_trace_store_query(struct ef_trace_store *store, const struct ef_trace_query *query, struct ef_trace_cursor **out,
                     struct ef_error *err)
{
    struct ef_trace_cursor *c = calloc(1, sizeof *c);
    if (!c) {
        return ef_error_set(err, -EBUSY, "out of memory for the answer");
    }
    c->store = store;
    c->query = *query;
    ef_multilog_snapshot(store->log, &c->log_query.snapshot);
    int rc = reserve(c);
    rc = rc         ? ef_error_set(err, -EBUSY, "too many large answers at once; ask again later, or set a limit")
         : begin(c) ? ef_error_set(err, -EBUSY, "out of memory for the answer")
                    : 0;
    if (rc) {
        ef_trace_cursor_close(c);
        return rc;
    }
    *out = c;
    return 0;
}

void
ef_trace_cursor_close(struct ef_trace_cursor *c)
{
    if (c) {
        ef_multilog_cursor_close(c->cursor);
        ef_trace_question_deinit(&c->question);
        if (c->charged_bytes) {
            charge(c->store, -(int64_t) c->charged_bytes);
        }
        if (c->max_found > SMALL_HEAP) {
            ef_region_free(c->heap, c->max_found * sizeof *c->heap);
        } else {
            free(c->heap);
        }
        free(c);
    }
}

/* --- The two passes ----------------------------------------------------------- */

static struct ef_trace_key
current_key(const struct ef_trace_cursor *c)
{
    struct ef_trace_key key;
    memcpy(&key.start, ef_multilog_column(c->cursor, EF_TRACE_COLUMN_START, NULL), sizeof key.start);
    memcpy(&key.id, ef_multilog_column(c->cursor, EF_TRACE_COLUMN_ID, NULL), sizeof key.id);
    return key;
}

/* The columns let it through. */
static bool
matches(struct ef_trace_cursor *c)
{
    if (c->query.has_before && ef_trace_key_compare(current_key(c), c->query.before) >= 0) {
        return false;
    }
    if (c->question.is_exact) {
        return true;
    }
    c->n_asked++;
    ef_trace_of_cursor(c->cursor, &c->trace);
    return ef_trace_match(&c->trace, c->query.filter, c->query.condition);
}

/* Once the heap is full and it is known that there are more, only newer traces
 * than its oldest change anything. */
static void
remember_current(struct ef_trace_cursor *c)
{
    struct found found = {.key = current_key(c), .where = ef_multilog_place(c->cursor)};
    remember(c, found);
    if (c->more) {
        ef_multilog_raise_from(c->cursor, c->heap[0].key.start);
    }
}

/* A slice of the first pass. */
static void
find_more(struct ef_trace_cursor *c)
{
    struct ef_time until = ef_time_add_ns(ef_time_mono(), SLICE_NS);
    unsigned n = 0;
    int rc;
    while ((rc = ef_multilog_step(c->cursor))) {
        if (rc > 0 && matches(c)) {
            remember_current(c);
        }
        if ((rc < 0 || ++n % TRACES_PER_LOOK == 0) && ef_time_before(until, ef_time_mono())) {
            break;
        }
    }
    ef_multilog_pause(c->cursor);
    c->is_found = !rc;
}

int
ef_trace_cursor_next(struct ef_trace_cursor *c, struct ef_trace *trace)
{
    if (!c->is_found) {
        find_more(c);
        return -EAGAIN;
    }
    while (c->n_found > 0) {
        if (ef_multilog_go_to(c->cursor, take_oldest(c).where)) {
            ef_trace_of_cursor(c->cursor, trace);
            ef_multilog_pause(c->cursor);
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

char *
ef_trace_cursor_explain(const struct ef_trace_cursor *c)
{
    char *plan, *text = NULL;
    size_t size;
    if (ef_multilog_cursor_explain(c->cursor, EF_EXPLAIN_JSON, &plan)) {
        return NULL;
    }
    FILE *out = open_memstream(&text, &size);
    if (out) {
        fprintf(out, "{\"columns_decide\":%s,\"traces_looked_at\":%" PRIu64 ",\"plan\":%s}",
                c->question.is_exact ? "true" : "false", c->n_asked, plan);
    }
    free(plan);
    return out && !fclose(out) ? text : NULL;
}
