/* SPDX-License-Identifier: Apache-2.0 */
/* Answers that begin with the newest buckets, so that who wants only the newest
 * records can stop early; and records that are found again by their place. */
#include <config.h>

#include "store/cursor.h"

#include <errno.h>
#include <stdlib.h>

enum { ROW_BITS = 16, SEQUENCE_BITS = 40 };

/* --- Newest first ----------------------------------------------------------------- */

/* The newest time is read after the snapshot was taken, so it covers what the
 * snapshot has of the bucket. */
static void
list_bucket(struct ef_multilog_cursor *c, unsigned number, uint64_t sequence)
{
    struct ef_multilog_writer *lane = &c->log->lanes[number];
    struct ef_bucket *bucket = ef_lane_bucket(lane, sequence);
    if (!ef_bucket_pin(&c->log->pool, bucket, ef_bucket_id(lane, sequence))) {
        return;
    }
    if (ef_cursor_enter_bucket(c, bucket, number)) {
        c->order[c->n_order++] = (struct ef_cursor_bucket){
            .lane = number,
            .n_rows = c->n_rows - c->n_before,
            .sequence = sequence,
            .max_ns = atomic_load_explicit(&bucket->max_ns, memory_order_relaxed),
        };
    }
    ef_bucket_drop(&c->log->pool, bucket);
}

static int
compare_newest_first(const void *a_, const void *b_)
{
    const struct ef_cursor_bucket *a = a_, *b = b_;
    if (a->max_ns != b->max_ns) {
        return a->max_ns > b->max_ns ? -1 : 1;
    }
    return a->lane != b->lane ? (a->lane < b->lane ? -1 : 1) : a->sequence < b->sequence ? 1 : -1;
}

int
ef_cursor_make_order(struct ef_multilog_cursor *c)
{
    uint32_t room = c->log->pool.n_buckets;
    c->order = calloc(room, sizeof *c->order);
    if (!c->order) {
        return -ENOMEM;
    }
    for (unsigned i = 0; i < c->log->n_lanes; i++) {
        uint64_t end = atomic_load_explicit(&c->log->lanes[i].n_begun, memory_order_acquire);
        for (uint64_t s = c->firsts[i].sequence; s < end && c->n_order < room; s++) {
            list_bucket(c, i, s);
        }
    }
    qsort(c->order, c->n_order, sizeof *c->order, compare_newest_first);
    return 0;
}

bool
ef_cursor_next_in_order(struct ef_multilog_cursor *c)
{
    while (c->order_at < c->n_order) {
        const struct ef_cursor_bucket *next = &c->order[c->order_at++];
        if (next->max_ns < c->query.from.ns) { /* And so are all that follow. */
            c->planner.stats.n_buckets += c->n_order - c->order_at + 1;
            c->planner.stats.n_outside_window += c->n_order - c->order_at + 1;
            c->order_at = c->n_order;
            return false;
        }
        struct ef_multilog_writer *lane = &c->log->lanes[next->lane];
        struct ef_bucket *bucket = ef_lane_bucket(lane, next->sequence);
        if (ef_bucket_pin(&c->log->pool, bucket, ef_bucket_id(lane, next->sequence))) {
            ef_cursor_enter_bucket(c, bucket, next->lane);
            c->bucket = bucket;
            return true;
        }
        c->n_missed += next->n_rows;
    }
    return false;
}

/* --- Places ----------------------------------------------------------------------- */

uint64_t
ef_multilog_place(const struct ef_multilog_cursor *c)
{
    return c->bucket_id << ROW_BITS | c->current;
}

bool
ef_multilog_go_to(struct ef_multilog_cursor *c, uint64_t place)
{
    uint64_t id = place >> ROW_BITS;
    c->paused = NULL;
    c->current = (uint32_t) (place & ((UINT64_C(1) << ROW_BITS) - 1));
    if (c->bucket && c->bucket_id == id) {
        return true;
    }
    if (c->bucket) {
        ef_bucket_drop(&c->log->pool, c->bucket);
        c->bucket = NULL;
    }
    const struct ef_multilog_writer *lane = &c->log->lanes[(id >> SEQUENCE_BITS) - 1];
    struct ef_bucket *bucket = ef_lane_bucket(lane, id & ((UINT64_C(1) << SEQUENCE_BITS) - 1));
    if (ef_bucket_pin(&c->log->pool, bucket, id)) {
        c->bucket = bucket;
        c->bucket_id = id;
    }
    return c->bucket;
}
