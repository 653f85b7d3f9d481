/* SPDX-License-Identifier: Apache-2.0 */
/* Counts over time; see counter_series.h. */
#include <config.h>

#include "analyzer/counter_series.h"

#include <stdbool.h>
#include <stdlib.h>

#define INTERVAL_NS (EF_COUNTER_INTERVAL_S * EF_NS_PER_S)

/* --- The writer -------------------------------------------------------------------- */

/* The cell of the interval, begun anew if an older one is there; NULL if a newer one is. */
static struct ef_counter_cell *
cell_of(struct ef_counter_series *series, struct ef_time start)
{
    int64_t number = start.ns / INTERVAL_NS + 1;
    struct ef_counter_cell *cell = &series->cells[(uint64_t) number % EF_COUNTER_INTERVALS];
    int64_t there = atomic_load_explicit(&cell->number, memory_order_relaxed);
    if (number > there) {
        atomic_store_explicit(&cell->number, 0, memory_order_relaxed);
        atomic_store_explicit(&cell->packets.value, 0, memory_order_release);
        atomic_store_explicit(&cell->bytes.value, 0, memory_order_release);
        atomic_store_explicit(&cell->number, number, memory_order_release);
    }
    return number >= there ? cell : NULL;
}

void
ef_counter_series_add(struct ef_counter_series *series, struct ef_time start, uint32_t bytes)
{
    struct ef_counter_cell *cell = cell_of(series, start);
    ef_counter_add(&series->packets, 1);
    ef_counter_add(&series->bytes, bytes);
    if (cell) {
        ef_counter_add(&cell->packets, 1);
        ef_counter_add(&cell->bytes, bytes);
    }
}

/* --- Readers ----------------------------------------------------------------------- */

void
ef_counter_series_total(const struct ef_counter_series *series, struct ef_counter_values *sum)
{
    sum->packets += ef_counter_get(&series->packets);
    sum->bytes += ef_counter_get(&series->bytes);
}

/* A cell as it stands; false while its worker begins another interval in it. */
static bool
read_cell(const struct ef_counter_cell *cell, int64_t *number, struct ef_counter_values *values)
{
    *number = atomic_load_explicit(&cell->number, memory_order_acquire);
    values->packets = atomic_load_explicit(&cell->packets.value, memory_order_acquire);
    values->bytes = atomic_load_explicit(&cell->bytes.value, memory_order_acquire);
    return *number && atomic_load_explicit(&cell->number, memory_order_relaxed) == *number;
}

static unsigned
add_interval(struct ef_counter_interval intervals[], unsigned n, int64_t number, const struct ef_counter_values *values)
{
    struct ef_time start = {(number - 1) * INTERVAL_NS};
    unsigned i = 0;
    while (i < n && intervals[i].start.ns != start.ns) {
        i++;
    }
    if (i == EF_COUNTER_INTERVALS) {
        return n; /* Workers far apart in time: the first ones have filled it. */
    }
    if (i == n) {
        intervals[n++] = (struct ef_counter_interval){.start = start};
    }
    intervals[i].values.packets += values->packets;
    intervals[i].values.bytes += values->bytes;
    return n;
}

unsigned
ef_counter_series_intervals(const struct ef_counter_series *series,
                            struct ef_counter_interval intervals[EF_COUNTER_INTERVALS], unsigned n)
{
    for (unsigned i = 0; i < EF_COUNTER_INTERVALS; i++) {
        int64_t number;
        struct ef_counter_values values;
        if (read_cell(&series->cells[i], &number, &values)) {
            n = add_interval(intervals, n, number, &values);
        }
    }
    return n;
}

static int
by_start(const void *a_, const void *b_)
{
    const struct ef_counter_interval *a = a_, *b = b_;
    return (a->start.ns > b->start.ns) - (a->start.ns < b->start.ns);
}

void
ef_counter_intervals_sort(struct ef_counter_interval intervals[], unsigned n)
{
    qsort(intervals, n, sizeof intervals[0], by_start);
}
