/* SPDX-License-Identifier: Apache-2.0 */
/* Tallies: what all records of the last buckets of time add up to, which is an
 * upper bound of what any filter's can; see trigger_private.h. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "store/trigger_private.h"

#define PATIENCE_NS (100 * EF_NS_PER_MS)

static struct ef_tally *
make_tally(unsigned column, int64_t width_ns)
{
    struct ef_tally *tally = calloc(1, sizeof *tally);
    if (tally) {
        tally->column = column;
        tally->width_ns = width_ns;
        tally->newest = EF_NO_BUCKET;
        tally->oldest = INT64_MAX;
        for (unsigned i = 0; i < EF_TALLY_CELLS; i++) {
            tally->cells[i].bucket = EF_NO_BUCKET;
        }
    }
    return tally;
}

int
ef_tally_join(struct ef_triggers *t, struct ef_meter *meter, unsigned column, int64_t width_ns)
{
    struct ef_tally **link = &t->tallies;
    while (*link && ((*link)->column != column || (*link)->width_ns != width_ns)) {
        link = &(*link)->next;
    }
    struct ef_tally *tally = *link ? *link : (*link = make_tally(column, width_ns));
    if (!tally) {
        return -ENOMEM;
    }
    meter->tally = tally;
    meter->next_of_tally = tally->meters;
    tally->meters = meter;
    tally->n_meters++;
    return 0;
}

void
ef_tally_leave(struct ef_triggers *t, struct ef_meter *meter)
{
    struct ef_tally *tally = meter->tally, **link = &t->tallies;
    struct ef_meter **of_tally = &tally->meters;
    while (*of_tally != meter) {
        of_tally = &(*of_tally)->next_of_tally;
    }
    *of_tally = meter->next_of_tally;
    tally->has_changed = true;
    if (--tally->n_meters) {
        return;
    }
    while (*link != tally) {
        link = &(*link)->next;
    }
    *link = tally->next;
    free(tally);
}

/* --- Buckets of time ------------------------------------------------------------------ */

static int64_t
time_at(const uint8_t *times, uint32_t row)
{
    int64_t ns;
    memcpy(&ns, times + (size_t) row * sizeof ns, sizeof ns);
    return ns;
}

static int64_t
bucket_of(int64_t ns, int64_t width_ns)
{
    return ns / width_ns - (ns % width_ns < 0);
}

/* Records mostly come in the order of time. The first row after `row` that is
 * not in its bucket. */
static uint32_t
run_end(const uint8_t *times, uint32_t row, uint32_t n_rows, int64_t bucket, int64_t width_ns)
{
    uint64_t start = (uint64_t) bucket * (uint64_t) width_ns;
    do {
        row++;
    } while (row < n_rows && (uint64_t) time_at(times, row) - start < (uint64_t) width_ns);
    return row;
}

static unsigned
position_of(int64_t bucket)
{
    return (unsigned) ((uint64_t) bucket % EF_TALLY_CELLS);
}

bool
ef_tally_is_past(const struct ef_tally *tally, int64_t max_ns)
{
    return bucket_of(max_ns, tally->width_ns) <= tally->newest - EF_TALLY_CELLS;
}

/* Where nothing but late records has come for some time, such as those of a
 * trace that is replayed, or all after one whose time was in the far future,
 * their time is the one that counts. */
static void
follow(struct ef_tally *tally, int64_t bucket, int64_t now_ns)
{
    if (bucket <= tally->newest - EF_TALLY_CELLS && now_ns - tally->accepted_ns >= 2 * tally->width_ns + PATIENCE_NS) {
        tally->newest = bucket;
    }
}

uint32_t
ef_tally_room(struct ef_tally *tally, const uint8_t *times, uint32_t n_rows, int64_t now_ns)
{
    follow(tally, bucket_of(time_at(times, 0), tally->width_ns), now_ns);
    int64_t oldest = tally->oldest, newest = tally->newest;
    for (uint32_t row = 0; row < n_rows;) {
        int64_t bucket = bucket_of(time_at(times, row), tally->width_ns);
        if (oldest != INT64_MAX && bucket - oldest >= EF_TALLY_CELLS) {
            tally->newest = row ? tally->newest : EF_MAX(tally->newest, bucket);
            return row;
        }
        if (bucket > newest - EF_TALLY_CELLS) {
            oldest = EF_MIN(oldest, bucket);
            newest = EF_MAX(newest, bucket);
        }
        row = run_end(times, row, n_rows, bucket, tally->width_ns);
    }
    return n_rows;
}

unsigned
ef_tally_runs(const struct ef_tally *tally, const uint8_t *times, uint32_t n_rows, struct ef_run *runs)
{
    unsigned n = 0;
    for (uint32_t row = 0; row < n_rows;) {
        int64_t bucket = bucket_of(time_at(times, row), tally->width_ns);
        uint32_t end = run_end(times, row, n_rows, bucket, tally->width_ns);
        unsigned cell = position_of(bucket);
        if (tally->cells[cell].bucket == bucket) {
            runs[n++] = (struct ef_run){(uint16_t) row, (uint16_t) end, (uint16_t) cell};
        }
        row = end;
    }
    return n;
}

/* --- Counting ------------------------------------------------------------------------- */

/* The cell of a bucket of time, or NULL if it is too late for that one. */
static struct ef_tally_cell *
cell_of(struct ef_tally *tally, int64_t bucket)
{
    struct ef_tally_cell *cell = &tally->cells[position_of(bucket)];
    if (cell->bucket != bucket) {
        if (bucket <= tally->newest - EF_TALLY_CELLS) {
            return NULL;
        }
        *cell = (struct ef_tally_cell){.bucket = bucket, .total = EF_AGGREGATE_VALUE_INIT, .fresh_min = UINT64_MAX};
        memcpy(cell->due_at, tally->first_due, sizeof cell->due_at);
        tally->newest = EF_MAX(tally->newest, bucket);
    }
    return cell;
}

static void
add_run(struct ef_tally *tally, struct ef_tally_cell *cell, const struct ef_schema *schema,
        const uint8_t *const *columns, uint32_t row, uint32_t n_rows, int64_t now_ns)
{
    struct ef_aggregate_value value = EF_AGGREGATE_VALUE_INIT;
    ef_aggregate_add_all(&value, schema, tally->column, columns, row, n_rows);
    ef_aggregate_merge(&cell->total, &value);
    cell->fresh_min = EF_MIN(cell->fresh_min, value.min);
    cell->fresh_max = EF_MAX(cell->fresh_max, value.max);
    cell->is_fresh = true;
    cell->changed_ns = now_ns;
    tally->accepted_ns = now_ns;
    tally->oldest = EF_MIN(tally->oldest, cell->bucket);
}

void
ef_tally_add(struct ef_triggers *t, struct ef_tally *tally, const struct ef_schema *schema,
             const uint8_t *const *columns, uint32_t first_row, uint32_t n_rows, int64_t now_ns)
{
    const uint8_t *times = columns[0] + (size_t) first_row * sizeof(int64_t);
    for (uint32_t row = 0; row < n_rows;) {
        int64_t bucket = bucket_of(time_at(times, row), tally->width_ns);
        uint32_t end = run_end(times, row, n_rows, bucket, tally->width_ns);
        struct ef_tally_cell *cell = cell_of(tally, bucket);
        if (cell) {
            add_run(tally, cell, schema, columns, first_row + row, end - row, now_ns);
        }
        if (!cell || cell->is_complete) {
            t->stats.n_late += end - row;
        }
        row = end;
    }
}

/* --- Looking -------------------------------------------------------------------------- */

ef_u128
ef_tally_reading(const struct ef_tally_cell *cell, enum ef_trigger_group group)
{
    switch (group) {
    case EF_TRIGGER_COUNT_GE:
        return cell->total.count;
    case EF_TRIGGER_SUM_GE:
        return cell->total.sum;
    case EF_TRIGGER_MAX_GE:
        return cell->fresh_max;
    default:
        return UINT64_MAX - cell->fresh_min;
    }
}

bool
ef_tally_is_over(const struct ef_tally *tally, const struct ef_tally_cell *cell, int64_t now_ns)
{
    return cell->bucket != EF_NO_BUCKET && !cell->is_complete &&
           (tally->newest - cell->bucket >= 2 || now_ns - cell->changed_ns >= 2 * tally->width_ns);
}

int64_t
ef_tally_next_end(const struct ef_tally *tally)
{
    int64_t next_ns = INT64_MAX;
    for (unsigned i = 0; tally->has_at_end && i < EF_TALLY_CELLS; i++) {
        const struct ef_tally_cell *cell = &tally->cells[i];
        if (cell->bucket != EF_NO_BUCKET && !cell->is_complete) {
            next_ns = EF_MIN(next_ns, cell->changed_ns + 2 * tally->width_ns);
        }
    }
    return next_ns;
}

void
ef_tally_looked(struct ef_tally *tally)
{
    tally->oldest = INT64_MAX;
    for (unsigned i = 0; i < EF_TALLY_CELLS; i++) {
        struct ef_tally_cell *cell = &tally->cells[i];
        cell->is_fresh = false;
        cell->completes = false;
        cell->fresh_min = UINT64_MAX;
        cell->fresh_max = 0;
        if (tally->has_at_end && cell->bucket != EF_NO_BUCKET && !cell->is_complete) {
            tally->oldest = EF_MIN(tally->oldest, cell->bucket);
        }
    }
    tally->has_changed = false;
}
