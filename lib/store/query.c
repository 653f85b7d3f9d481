/* SPDX-License-Identifier: Apache-2.0 */
/* Cursors over a snapshot: lane by lane, bucket by bucket, each held only while
 * it is read. */
#include <config.h>

#include "store/multilog_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct ef_multilog_cursor {
    struct ef_multilog *log;
    struct ef_multilog_query query;
    struct {
        uint64_t sequence, record;
    } firsts[EF_MULTILOG_MAX_WRITERS]; /* Oldest bucket of each lane when the query began, and its first record. */
    uint64_t n_missed;
    unsigned lane;
    uint64_t sequence;        /* Next bucket of the lane. */
    uint64_t expected;        /* Next record of the lane. */
    struct ef_bucket *bucket; /* Held, or NULL. */
    uint32_t row, n_rows;     /* Next and number of visible rows in it. */
    uint32_t current;         /* The row that the last call went to. */
};

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
    c->expected = c->firsts[number].record;
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
    for (unsigned i = 0; i < log->n_lanes; i++) {
        find_first(c, i);
    }
    enter_lane(c, 0);
    *out = c;
    return 0;
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
        free(c);
    }
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
        c->n_missed += bucket->first_record - c->expected;
        c->bucket = bucket;
        c->row = 0;
        c->n_rows =
            (uint32_t) EF_MIN(tail - bucket->first_record, atomic_load_explicit(&bucket->n_rows, memory_order_acquire));
        c->expected = bucket->first_record + c->n_rows;
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

/* Goes to the bucket's next row in the window. The bucket's own bounds spare
 * looking at each row of one that is wholly outside. */
static bool
next_row(struct ef_multilog_cursor *c)
{
    int64_t from = c->query.from.ns, to = c->query.to.ns, ns;
    if (atomic_load_explicit(&c->bucket->max_ns, memory_order_relaxed) < from ||
        atomic_load_explicit(&c->bucket->min_ns, memory_order_relaxed) > to) {
        return false;
    }
    const uint8_t *times = ef_bucket_column(c->log, c->bucket, 0);
    while (c->row < c->n_rows) {
        c->current = c->row++;
        memcpy(&ns, times + (size_t) c->current * sizeof ns, sizeof ns);
        if (ns >= from && ns <= to) {
            return true;
        }
    }
    return false;
}

bool
ef_multilog_next(struct ef_multilog_cursor *c)
{
    for (;;) {
        if (c->bucket) {
            if (next_row(c)) {
                return true;
            }
            let_go(c);
        }
        while (!next_bucket(c)) {
            if (!next_lane(c)) {
                return false;
            }
        }
    }
}

uint64_t
ef_multilog_n_missed(const struct ef_multilog_cursor *c)
{
    return c->n_missed;
}

static const void *
variable_part(const struct ef_multilog_cursor *c, const uint8_t *ends, uint32_t *len)
{
    uint32_t start = 0, end;
    memcpy(&end, ends + (size_t) c->current * sizeof end, sizeof end);
    if (c->current) {
        memcpy(&start, ends + (size_t) (c->current - 1) * sizeof start, sizeof start);
    }
    *len = end - start;
    return (const uint8_t *) c->bucket + c->log->variable_at + start;
}

const void *
ef_multilog_column(const struct ef_multilog_cursor *c, unsigned column, uint32_t *len)
{
    const struct ef_column *type = &c->log->schema.columns[column];
    const uint8_t *values = ef_bucket_column(c->log, c->bucket, column);
    uint32_t ignored;
    len = len ? len : &ignored;
    if (type->type == EF_COLUMN_VARIABLE) {
        return variable_part(c, values, len);
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
