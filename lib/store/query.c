/* SPDX-License-Identifier: Apache-2.0 */
/* Cursors over a snapshot: lane by lane, bucket by bucket, each held only while
 * it is read; which of its rows match is the planner's answer (planner.h). */
#include <config.h>

#include "store/cursor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Where the lane begins now. One whose records have all left begins where the
 * snapshot ends. */
static void
find_first(struct ef_multilog_cursor *c, unsigned number)
{
    struct ef_multilog_writer *lane = &c->log->lanes[number];
    for (;;) {
        uint64_t sequence = atomic_load_explicit(&lane->first, memory_order_acquire);
        c->firsts[number].sequence = sequence;
        c->firsts[number].record = c->query.snapshot.tails[number];
        if (sequence >= atomic_load_explicit(&lane->n_begun, memory_order_acquire)) {
            return;
        }
        struct ef_bucket *bucket = ef_lane_bucket(lane, sequence);
        if (ef_bucket_pin(&c->log->pool, bucket, ef_bucket_id(lane, sequence))) {
            c->firsts[number].record = bucket->first_record;
            ef_bucket_drop(&c->log->pool, bucket);
            return;
        }
    }
}

static void
enter_lane(struct ef_multilog_cursor *c, unsigned number)
{
    c->lane = number;
    c->sequence = c->firsts[number].sequence;
    c->expected = EF_MAX(c->firsts[number].record, c->query.after.tails[number]);
}

static void
let_go(struct ef_multilog_cursor *c)
{
    if (c->bucket) {
        ef_bucket_drop(&c->log->pool, c->bucket);
        c->bucket = NULL;
    }
}

void
ef_multilog_cursor_close(struct ef_multilog_cursor *c)
{
    if (c) {
        let_go(c);
        ef_planner_deinit(&c->planner);
        free(c->order);
        free(c->bits);
        free(c);
    }
}

int
ef_multilog_query(struct ef_multilog *log, const struct ef_multilog_query *query, struct ef_multilog_cursor **out)
{
    struct ef_multilog_cursor *c = calloc(1, sizeof *c);
    if (!c) {
        return -ENOMEM;
    }
    c->log = log;
    c->query = *query;
    if (query->filter) {
        c->query.predicate = ef_installed_filter_predicate(query->filter);
    }
    c->bits = calloc(log->bucket_rows / 64, sizeof *c->bits);
    if (!c->bits || ef_planner_init(&c->planner, log, &c->query)) {
        ef_multilog_cursor_close(c);
        return -ENOMEM;
    }
    for (unsigned i = 0; i < log->n_lanes; i++) {
        find_first(c, i);
    }
    enter_lane(c, 0);
    if (query->newest_first && ef_cursor_make_order(c)) {
        ef_multilog_cursor_close(c);
        return -ENOMEM;
    }
    *out = c;
    return 0;
}

bool
ef_cursor_enter_bucket(struct ef_multilog_cursor *c, struct ef_bucket *bucket, unsigned lane)
{
    uint64_t first = bucket->first_record, tail = c->query.snapshot.tails[lane], after = c->query.after.tails[lane];
    uint32_t n_rows = atomic_load_explicit(&bucket->n_rows, memory_order_acquire);
    c->n_rows = tail > first ? (uint32_t) EF_MIN(tail - first, n_rows) : 0;
    c->n_before = after > first ? (uint32_t) EF_MIN(after - first, c->n_rows) : 0;
    return c->n_before < c->n_rows;
}

/* Takes hold of the lane's next bucket that is still there and has records of
 * the snapshot; false if there is none. Records are numbered without a gap, so
 * the numbers tell how many were in the buckets that left. */
static bool
next_bucket(struct ef_multilog_cursor *c)
{
    struct ef_multilog_writer *lane = &c->log->lanes[c->lane];
    uint64_t tail = c->query.snapshot.tails[c->lane];
    uint64_t end = atomic_load_explicit(&lane->n_begun, memory_order_acquire);
    while (c->sequence < end && c->expected < tail) {
        uint64_t sequence = c->sequence++;
        struct ef_bucket *bucket = ef_lane_bucket(lane, sequence);
        if (!ef_bucket_pin(&c->log->pool, bucket, ef_bucket_id(lane, sequence))) {
            continue;
        }
        if (bucket->first_record >= tail) {
            ef_bucket_drop(&c->log->pool, bucket);
            break;
        }
        if (!ef_cursor_enter_bucket(c, bucket, c->lane)) {
            ef_bucket_drop(&c->log->pool, bucket);
            continue;
        }
        c->n_missed += EF_MAX(bucket->first_record, c->expected) - c->expected;
        c->expected = bucket->first_record + c->n_rows;
        c->bucket = bucket;
        return true;
    }
    return false;
}

static bool
next_lane(struct ef_multilog_cursor *c)
{
    uint64_t tail = c->query.snapshot.tails[c->lane];
    if (c->expected < tail) {
        c->n_missed += tail - c->expected;
        c->expected = tail;
    }
    if (c->lane + 1 == c->log->n_lanes) {
        return false;
    }
    enter_lane(c, c->lane + 1);
    return true;
}

/* Takes away what an earlier snapshot has; returns how many are left. */
static uint64_t
cut_before(struct ef_multilog_cursor *c, uint64_t n_matches)
{
    for (uint32_t row = 0; row < c->n_before; row += 64) {
        uint64_t *word = &c->bits[row / 64];
        uint64_t mask = c->n_before - row < 64 ? (UINT64_C(1) << (c->n_before - row)) - 1 : UINT64_MAX;
        n_matches -= (uint64_t) __builtin_popcountll(*word & mask);
        *word &= ~mask;
    }
    return n_matches;
}

static int64_t
time_of_row(const struct ef_multilog_cursor *c, uint32_t row)
{
    int64_t ns;
    memcpy(&ns, (const uint8_t *) ef_bucket_column(c->log, c->bucket, 0) + (size_t) row * sizeof ns, sizeof ns);
    return ns;
}

/* Whether the bucket's last rows seem to be its newest. */
static bool
is_time_rising(const struct ef_multilog_cursor *c)
{
    return time_of_row(c, c->n_rows - 1) >= time_of_row(c, 0);
}

/* Takes hold of the next bucket of all and looks for matches; false at the end. */
static bool
look_at_bucket(struct ef_multilog_cursor *c, uint64_t *n_matches)
{
    let_go(c);
    c->n_words = c->n_words_taken = 0;
    c->is_raised = false;
    *n_matches = 0;
    if (c->query.newest_first) {
        if (!ef_cursor_next_in_order(c)) {
            return false;
        }
    } else {
        while (!next_bucket(c)) {
            if (!next_lane(c)) {
                return false;
            }
        }
    }
    c->bucket_id = atomic_load_explicit(&c->bucket->id, memory_order_relaxed);
    if (ef_planner_can_match(&c->planner, c->bucket)) {
        *n_matches = cut_before(c, ef_planner_find(&c->planner, c->bucket, c->n_rows, c->bits));
    }
    if (*n_matches) {
        c->n_words = (c->n_rows + 63) / 64;
        c->is_backward = c->query.newest_first && is_time_rising(c);
    }
    return true;
}

bool
ef_cursor_next_bucket(struct ef_multilog_cursor *c, uint64_t *n_matches)
{
    do {
        if (!look_at_bucket(c, n_matches)) {
            return false;
        }
    } while (!*n_matches);
    return true;
}

void
ef_multilog_pause(struct ef_multilog_cursor *c)
{
    if (c->bucket) {
        c->paused = c->bucket;
        let_go(c);
    }
}

/* The next word of the bucket's bitmap, from the end where the newest rows are
 * if those are to come first. */
static uint32_t
next_word(struct ef_multilog_cursor *c)
{
    uint32_t i = c->n_words_taken++;
    return c->is_backward ? c->n_words - 1 - i : i;
}

/* Takes hold of the bucket again; if it has left, so have its matches. */
static void
resume(struct ef_multilog_cursor *c)
{
    struct ef_bucket *bucket = c->paused;
    c->paused = NULL;
    if (ef_bucket_pin(&c->log->pool, bucket, c->bucket_id)) {
        c->bucket = bucket;
        return;
    }
    c->n_missed += (uint64_t) __builtin_popcountll(c->word);
    while (c->n_words_taken < c->n_words) {
        c->n_missed += (uint64_t) __builtin_popcountll(c->bits[next_word(c)]);
    }
    c->word = 0;
}

/* Leaves the rows of a word that are not before query.from, which rose since the
 * bucket was looked at. */
static uint64_t
cut_earlier(const struct ef_multilog_cursor *c, uint64_t word)
{
    uint64_t left = 0;
    if (word == UINT64_MAX) { /* Without a branch for each. */
        for (uint32_t bit = 0; bit < 64; bit++) {
            left |= (uint64_t) (time_of_row(c, c->word_number * 64 + bit) >= c->query.from.ns) << bit;
        }
        return left;
    }
    for (; word; word &= word - 1) {
        uint32_t bit = (uint32_t) __builtin_ctzll(word);
        left |= (uint64_t) (time_of_row(c, c->word_number * 64 + bit) >= c->query.from.ns) << bit;
    }
    return left;
}

static void
take_word(struct ef_multilog_cursor *c)
{
    c->word_number = next_word(c);
    c->word = c->bits[c->word_number];
    if (c->word && c->is_raised) {
        c->word = cut_earlier(c, c->word);
    }
}

int
ef_multilog_step(struct ef_multilog_cursor *c)
{
    uint64_t n_matches;
    if (c->paused) {
        resume(c);
    }
    while (!c->word) {
        if (c->n_words_taken < c->n_words) {
            take_word(c);
        } else if (!look_at_bucket(c, &n_matches)) {
            return 0;
        } else if (!n_matches) {
            return -EAGAIN;
        }
    }
    uint32_t bit = (uint32_t) (c->is_backward ? 63 - __builtin_clzll(c->word) : __builtin_ctzll(c->word));
    c->current = c->word_number * 64 + bit;
    c->word &= ~(UINT64_C(1) << bit);
    return 1;
}

bool
ef_multilog_next(struct ef_multilog_cursor *c)
{
    int rc;
    while ((rc = ef_multilog_step(c)) == -EAGAIN) {
    }
    return rc;
}

void
ef_multilog_raise_from(struct ef_multilog_cursor *c, struct ef_time from)
{
    if (c->query.from.ns < from.ns) {
        c->query.from = from;
        c->is_raised = true;
    }
}

uint64_t
ef_multilog_n_missed(const struct ef_multilog_cursor *c)
{
    return c->n_missed;
}

const void *
ef_bucket_variable(const struct ef_multilog *log, struct ef_bucket *bucket, uint32_t row, uint32_t *len)
{
    const uint8_t *ends = ef_bucket_column(log, bucket, (unsigned) log->schema.variable);
    uint32_t start = 0, end;
    memcpy(&end, ends + (size_t) row * sizeof end, sizeof end);
    if (row) {
        memcpy(&start, ends + (size_t) (row - 1) * sizeof start, sizeof start);
    }
    *len = end - start;
    return (const uint8_t *) bucket + log->variable_at + start;
}

const void *
ef_multilog_column(const struct ef_multilog_cursor *c, unsigned column, uint32_t *len)
{
    const struct ef_column *type = &c->log->schema.columns[column];
    const uint8_t *values = ef_bucket_column(c->log, c->bucket, column);
    uint32_t ignored;
    len = len ? len : &ignored;
    if (type->type == EF_COLUMN_VARIABLE) {
        return ef_bucket_variable(c->log, c->bucket, c->current, len);
    }
    *len = type->width;
    return values + (size_t) c->current * type->width;
}

void
ef_multilog_record(const struct ef_multilog_cursor *c, void *record)
{
    const struct ef_schema *schema = &c->log->schema;
    for (unsigned i = 0; i < schema->n_columns; i++) {
        uint32_t len;
        const void *value = ef_multilog_column(c, i, &len);
        uint8_t *to = (uint8_t *) record + schema->columns[i].offset;
        if (schema->columns[i].type == EF_COLUMN_VARIABLE) {
            memcpy(to, &(struct ef_bytes){value, len}, sizeof(struct ef_bytes));
        } else {
            memcpy(to, value, len);
        }
    }
}
