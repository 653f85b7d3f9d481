/* SPDX-License-Identifier: Apache-2.0 */
/* What was counted, in all and in each of the last EF_COUNTER_INTERVALS intervals
 * of 10 s of the traces' starts.
 *
 *     ef_counter_series_add(&series, trace->start, trace->wire_len);       // its worker
 *     ef_counter_series_total(&series, &sum);                              // anyone: added to `sum`
 *     n = ef_counter_series_intervals(&series, intervals, n);              // the same; for each worker's
 *     ef_counter_intervals_sort(intervals, n);
 *
 * Zero is a series in which nothing was counted. One thread adds, any may read:
 * while the writer begins an interval, a reader takes it as not there. */
#ifndef EF_ANALYZER_COUNTER_SERIES_H
#define EF_ANALYZER_COUNTER_SERIES_H

#include "base/counter.h"
#include "base/time.h"

enum {
    EF_COUNTER_INTERVALS = 360, /* One hour. */
    EF_COUNTER_INTERVAL_S = 10,
};

struct ef_counter_values {
    uint64_t packets, bytes;
};

/* What was counted in the interval that starts at `start`. */
struct ef_counter_interval {
    struct ef_time start;
    struct ef_counter_values values;
};

struct ef_counter_cell {
    _Atomic int64_t number; /* Of the interval since 1970, + 1; 0: none. */
    ef_counter packets, bytes;
};

struct ef_counter_series {
    ef_counter packets, bytes;
    struct ef_counter_cell cells[EF_COUNTER_INTERVALS]; /* By the interval's number. */
};

/* One packet of `bytes` more. */
void ef_counter_series_add(struct ef_counter_series *series, struct ef_time start, uint32_t bytes);

/* Adds what was counted in all to `sum`. */
void ef_counter_series_total(const struct ef_counter_series *series, struct ef_counter_values *sum);

/* Adds the intervals in which anything was counted to the `n` of `intervals`.
 * Returns how many there are then, in any order. */
unsigned ef_counter_series_intervals(const struct ef_counter_series *series,
                                     struct ef_counter_interval intervals[EF_COUNTER_INTERVALS], unsigned n);

void ef_counter_intervals_sort(struct ef_counter_interval intervals[], unsigned n); /* Ascending. */

#endif
