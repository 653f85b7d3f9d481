/* SPDX-License-Identifier: Apache-2.0 */
/* Traces out of the archive, in order; see trace_history.h. */
#include <config.h>

#include "analyzer/trace_history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/trace_bounds.h"
#include "analyzer/trace_record.h"
#include "analyzer/trace_row.h"
#include "analyzer/trace_sieve.h"
#include "store/archive/byte_buffer.h"
#include "trace/trace_match.h"

enum { PAGE_BYTES = 8 << 20 };

enum phase { BEGINNING, COUNTING, GATHERING, GIVING, OVER };

struct item {
    struct ef_trace_key key;
    uint8_t *record; /* Packed; NULL while counting. */
    uint32_t record_bytes;
};

struct ef_trace_history {
    struct ef_archive *archive;
    struct ef_trace_history_query query;
    enum phase phase;
    struct ef_archive_cursor *cursor; /* Of the pass under way. */
    uint64_t n_failed;                /* In the passes before, */
    struct ef_archive_effort effort;  /* and this. */

    /* A heap: while counting with the oldest at the root, while gathering with the
     * newest; an ascending list while giving. */
    struct item *items;
    uint64_t n, room, at;
    uint64_t n_found;
    bool more;

    /* The page has the keys of [from, next). */
    struct ef_trace_key from, next;
    bool has_next;
    uint64_t page_bytes;

    struct ef_archive_bound bounds[EF_TRACE_MAX_BOUNDS]; /* Of the condition. */
    unsigned n_bounds;
    struct ef_trace_sieve sieve;
    bool wanted[EF_ROW_MAX_COLUMNS]; /* Columns, where the keys are enough. */
    struct ef_trace trace;
};

static int
compare_items(const void *a, const void *b)
{
    return ef_trace_key_compare(((const struct item *) a)->key, ((const struct item *) b)->key);
}

/* --- The heap ----------------------------------------------------------------------- */

/* True if `a` is nearer to the root. */
static bool
is_above(const struct ef_trace_history *h, const struct item *a, const struct item *b)
{
    int order = compare_items(a, b);
    return h->phase == COUNTING ? order < 0 : order > 0;
}

static void
push(struct ef_trace_history *h, struct item item)
{
    if (h->n == h->room) {
        h->room = EF_MAX(h->room * 2, (uint64_t) 256);
        h->items = ef_must_realloc(h->items, h->room * sizeof *h->items);
    }
    uint64_t i = h->n++;
    while (i > 0 && is_above(h, &item, &h->items[(i - 1) / 2])) {
        h->items[i] = h->items[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    h->items[i] = item;
}

/* Puts `item` in the root's place, then where it belongs. */
static void
replace_root(struct ef_trace_history *h, struct item item)
{
    uint64_t i = 0, child;
    while ((child = 2 * i + 1) < h->n) {
        if (child + 1 < h->n && is_above(h, &h->items[child + 1], &h->items[child])) {
            child++;
        }
        if (!is_above(h, &h->items[child], &item)) {
            break;
        }
        h->items[i] = h->items[child];
        i = child;
    }
    h->items[i] = item;
}

static void
pop_root(struct ef_trace_history *h)
{
    struct item root = h->items[0];
    if (--h->n > 0) {
        replace_root(h, h->items[h->n]);
    }
    h->page_bytes -= root.record_bytes;
    free(root.record);
}

static void
clear_items(struct ef_trace_history *h)
{
    for (uint64_t i = 0; i < h->n; i++) {
        free(h->items[i].record);
    }
    h->n = h->at = h->page_bytes = 0;
}

/* --- Passes --------------------------------------------------------------------------- */

/* To count, the trace itself is not needed where the columns say whether it matches. */
static bool
are_keys_enough(const struct ef_trace_history *h, enum phase phase)
{
    return phase == COUNTING && h->sieve.question.is_exact;
}

static void
begin_pass(struct ef_trace_history *h, enum phase phase)
{
    struct ef_archive_query query = {
        .from = h->from.start,
        .to = h->query.has_before && ef_time_before(h->query.before.start, h->query.end) ? h->query.before.start
                                                                                         : h->query.end,
        .oldest_first = phase == GATHERING,
        .limits_fresh = true,
        .fresh_to = h->query.fresh_to,
        .wanted = are_keys_enough(h, phase) ? h->wanted : NULL,
        .sieve = &h->sieve.archive,
        .bounds = h->bounds,
        .n_bounds = h->n_bounds,
    };
    h->phase = phase;
    h->has_next = false;
    h->cursor = ef_archive_query(h->archive, &query);
}

static void
add_effort(const struct ef_archive_cursor *cursor, struct ef_archive_effort *sum)
{
    struct ef_archive_effort e;
    ef_archive_effort(cursor, &e);
    sum->n_segments += e.n_segments;
    sum->n_groups += e.n_groups;
    sum->n_groups_skipped += e.n_groups_skipped;
    sum->n_groups_sifted += e.n_groups_sifted;
    sum->n_rows += e.n_rows;
    sum->n_rows_read += e.n_rows_read;
}

static void
end_pass(struct ef_trace_history *h)
{
    if (h->cursor) {
        add_effort(h->cursor, &h->effort);
        h->n_failed += ef_archive_n_failed(h->cursor);
        ef_archive_cursor_close(h->cursor);
        h->cursor = NULL;
    }
}

static bool
row_matches(struct ef_trace_history *h, const struct ef_trace_row *row)
{
    if (are_keys_enough(h, h->phase)) {
        return true;
    }
    return ef_trace_of_row(row, &h->trace) &&
           (h->sieve.question.is_exact || ef_trace_match(&h->trace, h->query.filter, h->query.condition));
}

static void
count(struct ef_trace_history *h, struct ef_trace_key key)
{
    struct item item = {.key = key};
    if (h->n < h->query.limit) {
        push(h, item);
        return;
    }
    h->more = true;
    if (is_above(h, &h->items[0], &item)) {
        replace_root(h, item);
    }
}

/* The page is full: it ends before its newest trace. Traces with one and the same
 * key, which would fill a page, are one trace that was archived again and again. */
static void
cut_page(struct ef_trace_history *h)
{
    struct ef_trace_key newest = h->items[0].key;
    while (h->n > 1 && !ef_trace_key_compare(h->items[0].key, newest)) {
        pop_root(h);
    }
    if (!ef_trace_key_compare(h->items[0].key, newest)) {
        newest = ef_trace_key_after(newest);
    }
    h->has_next = true;
    h->next = newest;
}

/* Keeps h->trace. */
static void
gather(struct ef_trace_history *h, struct ef_trace_key key)
{
    uint8_t *record = ef_must_realloc(NULL, EF_TRACE_RECORD_MAX);
    uint32_t size = ef_trace_record_pack(&h->trace, record);
    struct item item = {.key = key, .record = ef_must_realloc(record, size), .record_bytes = size};
    h->page_bytes += size;
    push(h, item);
    while (h->page_bytes > PAGE_BYTES && h->n > 1) {
        cut_page(h);
    }
}

static bool
is_behind(const struct ef_trace_history *h, struct ef_trace_key key)
{
    return h->query.has_before && ef_trace_key_compare(key, h->query.before) >= 0;
}

static void
take_row(struct ef_trace_history *h, const struct ef_trace_row *row)
{
    struct ef_trace_key key = {row->start, row->id};
    if (ef_trace_key_compare(key, h->from) < 0 || is_behind(h, key) ||
        (h->query.has_id && (key.id < h->query.id_low || key.id > h->query.id_high)) ||
        (h->phase == GATHERING && h->has_next && ef_trace_key_compare(key, h->next) >= 0) || !row_matches(h, row)) {
        return;
    }
    if (h->phase == COUNTING) {
        count(h, key);
    } else {
        gather(h, key);
    }
}

/* True if what is still to come, on the far side of `edge`, changes nothing. */
static bool
is_decided(const struct ef_trace_history *h, struct ef_time edge)
{
    if (h->phase == COUNTING) {
        return h->more && ef_time_before(edge, h->items[0].key.start);
    }
    return h->has_next && ef_time_before(h->next.start, edge);
}

/* A slice of work; true at the end of the pass. */
static bool
step(struct ef_trace_history *h)
{
    struct ef_row_set *rows;
    struct ef_time edge;
    if (!ef_archive_next(h->cursor, &rows, &edge)) {
        return true;
    }
    for (uint32_t i = 0; i < rows->n_rows; i++) {
        take_row(h, rows->rows[i]);
    }
    return is_decided(h, edge);
}

/* --- The answer ----------------------------------------------------------------------- */

struct ef_trace_history *
ef_trace_history_create(struct ef_archive *archive, const struct ef_trace_history_query *query)
{
    struct ef_trace_history *h = ef_must_realloc(NULL, sizeof *h);
    memset(h, 0, sizeof *h);
    h->archive = archive;
    h->query = *query;
    h->from = query->from;
    h->n_bounds = ef_trace_bounds(query->condition, h->bounds);
    ef_trace_sieve_init(&h->sieve, &(struct ef_trace_query){.filter = query->filter,
                                                            .condition = query->condition,
                                                            .has_id = query->has_id,
                                                            .id_low = query->id_low,
                                                            .id_high = query->id_high});
    h->wanted[0] = true;
    h->wanted[ef_row_schema_find(&ef_trace_schema, "id")] = true;
    return h;
}

void
ef_trace_history_destroy(struct ef_trace_history *h)
{
    if (h) {
        end_pass(h);
        clear_items(h);
        free(h->items);
        ef_trace_sieve_deinit(&h->sieve);
        free(h);
    }
}

/* A pass is over: what comes now. */
static void
turn(struct ef_trace_history *h)
{
    end_pass(h);
    if (h->phase == COUNTING) {
        h->n_found = h->n;
        h->from = h->n ? h->items[0].key : h->from;
        bool is_empty = !h->n;
        clear_items(h);
        if (is_empty) {
            h->phase = OVER;
        } else {
            begin_pass(h, GATHERING);
        }
    } else {
        if (h->n) {
            qsort(h->items, h->n, sizeof *h->items, compare_items);
        }
        h->phase = GIVING;
    }
}

/* The next trace of the page; false at its end. */
static bool
give(struct ef_trace_history *h, struct ef_trace *trace)
{
    if (h->at == h->n) {
        clear_items(h);
        h->from = h->next;
        if (h->has_next) {
            begin_pass(h, GATHERING);
        } else {
            h->phase = OVER;
        }
        return false;
    }
    const struct item *item = &h->items[h->at++];
    ef_trace_record_unpack(item->record, item->key.start, item->key.id, trace);
    return true;
}

int
ef_trace_history_next(struct ef_trace_history *h, struct ef_trace *trace)
{
    switch (h->phase) {
    case BEGINNING:
        begin_pass(h, h->query.limit ? COUNTING : GATHERING);
        return -EAGAIN;
    case COUNTING:
    case GATHERING:
        if (step(h)) {
            turn(h);
        }
        return -EAGAIN;
    case GIVING:
        return give(h, trace) ? 1 : -EAGAIN;
    case OVER:
        break;
    }
    return 0;
}

uint64_t
ef_trace_history_found(const struct ef_trace_history *h)
{
    return h->n_found;
}

bool
ef_trace_history_more(const struct ef_trace_history *h)
{
    return h->more;
}

uint64_t
ef_trace_history_n_failed(const struct ef_trace_history *h)
{
    return h->n_failed + (h->cursor ? ef_archive_n_failed(h->cursor) : 0);
}

void
ef_trace_history_effort(const struct ef_trace_history *h, struct ef_archive_effort *effort)
{
    *effort = h->effort;
    if (h->cursor) {
        add_effort(h->cursor, effort);
    }
}
