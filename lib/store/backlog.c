/* SPDX-License-Identifier: Apache-2.0 */
/* The backlog: which rows the tallies have that some meters have not, and
 * bringing meters up to date; see trigger_private.h. Its rows stay where they
 * are, in buckets that may leave memory: what is gone when it is wanted is
 * counted as missed. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/multilog_private.h"

int
ef_backlog_init(struct ef_backlog *backlog)
{
    if (!backlog->segments) {
        backlog->segments = calloc(EF_BACKLOG_SEGMENTS, sizeof *backlog->segments);
    }
    return backlog->segments ? 0 : -ENOMEM;
}

bool
ef_backlog_is_full(const struct ef_backlog *backlog)
{
    return backlog->end - backlog->first == EF_BACKLOG_SEGMENTS || backlog->n_rows >= backlog->max_rows;
}

static struct ef_segment *
segment_of(const struct ef_backlog *backlog, uint64_t number)
{
    return &backlog->segments[number % EF_BACKLOG_SEGMENTS];
}

void
ef_backlog_push(struct ef_backlog *backlog, const struct ef_segment *segment)
{
    *segment_of(backlog, backlog->end++) = *segment;
    backlog->n_rows += segment->n_rows;
}

void
ef_backlog_trim(struct ef_triggers *t, bool all)
{
    struct ef_backlog *backlog = &t->backlog;
    for (; backlog->first < backlog->end; backlog->first++) {
        const struct ef_segment *segment = segment_of(backlog, backlog->first);
        bool is_past = true;
        for (const struct ef_tally *tally = t->tallies; tally && !all && is_past; tally = tally->next) {
            is_past = ef_tally_is_past(tally, segment->max_ns);
        }
        if (!is_past) {
            break;
        }
        backlog->n_rows -= segment->n_rows;
    }
}

/* --- Reading ------------------------------------------------------------------------ */

/* Which of the due meters want the segment; false if none. */
static bool
choose(struct ef_triggers *t, uint64_t number)
{
    const struct ef_segment *segment = segment_of(&t->backlog, number);
    bool any = false;
    memset(t->wanted, 0, (t->n_meters / 64 + 1) * sizeof *t->wanted);
    for (unsigned i = 0; i < t->n_due; i++) {
        const struct ef_meter *meter = t->due[i];
        if (meter->n_read <= number && !ef_tally_is_past(meter->tally, segment->max_ns)) {
            t->wanted[meter->number / 64] |= UINT64_C(1) << meter->number % 64;
            any = true;
        }
    }
    return any;
}

static void
read_chunk(struct ef_multilog *log, const uint8_t *const *columns, uint32_t row, uint32_t n_rows)
{
    struct ef_triggers *t = &log->triggers;
    const struct ef_tally *tally = NULL;
    unsigned n_runs = 0;
    ef_predicate_set_eval(t->set, t->scratch, t->wanted, columns, row, n_rows, t->bits);
    for (unsigned i = 0; i < t->n_due; i++) {
        struct ef_meter *meter = t->due[i];
        if (!(t->wanted[meter->number / 64] >> meter->number % 64 & 1)) {
            continue;
        }
        if (tally != meter->tally) { /* The due ones come tally by tally. */
            tally = meter->tally;
            n_runs = ef_tally_runs(tally, columns[0] + (size_t) row * sizeof(int64_t), n_rows, t->runs);
        }
        ef_meter_add(meter, &log->schema, columns, row, t->runs, n_runs,
                     t->bits + (size_t) meter->number * EF_PREDICATE_CHUNK_WORDS);
    }
}

/* Rows that were counted as looked at are missed after all. */
static void
lose(struct ef_triggers *t, struct ef_segment *segment)
{
    if (!segment->is_lost) {
        segment->is_lost = true;
        t->stats.n_records -= segment->n_rows;
        t->stats.n_missed += segment->n_rows;
    }
}

static void
read_segment(struct ef_multilog *log, struct ef_segment *segment)
{
    struct ef_multilog_writer *lane = &log->lanes[segment->lane];
    struct ef_bucket *bucket = ef_lane_bucket(lane, segment->sequence);
    const uint8_t *columns[EF_SCHEMA_MAX_COLUMNS];
    if (!ef_bucket_pin(&log->pool, bucket, ef_bucket_id(lane, segment->sequence))) {
        lose(&log->triggers, segment);
        return;
    }
    ef_bucket_columns(log, bucket, columns);
    for (uint32_t row = 0; row < segment->n_rows; row += EF_PREDICATE_CHUNK_ROWS) {
        uint32_t n = EF_MIN(segment->n_rows - row, (uint32_t) EF_PREDICATE_CHUNK_ROWS);
        read_chunk(log, columns, segment->first_row + row, n);
    }
    ef_bucket_drop(&log->pool, bucket);
}

void
ef_backlog_read(struct ef_multilog *log)
{
    struct ef_triggers *t = &log->triggers;
    uint64_t first = t->backlog.end;
    for (unsigned i = 0; i < t->n_due; i++) {
        first = EF_MIN(first, t->due[i]->n_read);
    }
    for (uint64_t n = EF_MAX(first, t->backlog.first); n < t->backlog.end; n++) {
        if (choose(t, n)) {
            read_segment(log, segment_of(&t->backlog, n));
        }
    }
    for (unsigned i = 0; i < t->n_due; i++) {
        t->due[i]->n_read = t->backlog.end;
    }
}
