/* SPDX-License-Identifier: Apache-2.0 */
/* Measurements of a link; see round_trips.h. */
#include <config.h>

#include "controller/round_trips.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

enum { FLOOR_PART = 50 }; /* One in so many is averaged. */
static const double mad_to_deviation = 1.4826;

void
round_trips_add(struct round_trips *trips, struct ef_time at, double us)
{
    if (trips->n == trips->size) {
        trips->size = trips->size ? 2 * trips->size : 64;
        trips->samples = realloc(trips->samples, trips->size * sizeof *trips->samples);
        if (!trips->samples) {
            abort(); /* Control path. */
        }
    }
    trips->samples[trips->n++] = (struct round_trip){at, us};
}

void
round_trips_free(struct round_trips *trips)
{
    free(trips->samples);
    *trips = (struct round_trips){0};
}

void
round_trips_forget(struct round_trips *trips, struct ef_time before)
{
    size_t n = 0;
    for (size_t i = 0; i < trips->n; i++) {
        if (!ef_time_before(trips->samples[i].at, before)) {
            trips->samples[n++] = trips->samples[i];
        }
    }
    trips->n = n;
}

/* --- Numbers -------------------------------------------------------------- */

static int
compare_numbers(const void *a_, const void *b_)
{
    double a = *(const double *) a_, b = *(const double *) b_;
    return (a > b) - (a < b);
}

/* The least value that `percent` of all are not greater than. */
static double
percentile(const double sorted[], size_t n, unsigned percent)
{
    size_t rank = (n * percent + 99) / 100;
    return n ? sorted[rank ? rank - 1 : 0] : 0;
}

/* The mean of the least. */
static double
floor_of(const double sorted[], size_t n)
{
    size_t n_least = EF_MAX((n + FLOOR_PART / 2) / FLOOR_PART, (size_t) 1);
    double sum = 0;
    for (size_t i = 0; i < n_least && i < n; i++) {
        sum += sorted[i];
    }
    return n ? sum / (double) n_least : 0;
}

static void
sort(double values[], size_t n)
{
    if (n) {
        qsort(values, n, sizeof *values, compare_numbers);
    }
}

double
round_trips_median(double values[], size_t n)
{
    sort(values, n);
    return n ? (values[(n - 1) / 2] + values[n / 2]) / 2 : 0;
}

/* The median absolute deviation of `values`, which are lost. */
static double
deviation(double values[], size_t n)
{
    double median = round_trips_median(values, n);
    for (size_t i = 0; i < n; i++) {
        values[i] = fabs(values[i] - median);
    }
    return round_trips_median(values, n);
}

/* --- Summaries ------------------------------------------------------------ */

static int
compare_times(const void *a_, const void *b_)
{
    const struct round_trip *a = a_, *b = b_;
    return (a->at.ns > b->at.ns) - (a->at.ns < b->at.ns);
}

/* The samples by time; freed by the caller. */
static struct round_trip *
by_time(const struct round_trips *trips)
{
    struct round_trip *copy = malloc((trips->n + 1) * sizeof *copy);
    if (!copy) {
        abort(); /* Control path. */
    }
    if (trips->n) {
        memcpy(copy, trips->samples, trips->n * sizeof *copy);
        qsort(copy, trips->n, sizeof *copy, compare_times);
    }
    return copy;
}

static double
noise(const struct round_trips *trips, double room[])
{
    size_t n_blocks = EF_MIN(trips->n / ROUND_TRIPS_BLOCK_LEAST, (size_t) ROUND_TRIPS_BLOCKS);
    double floors[ROUND_TRIPS_BLOCKS];
    if (n_blocks < 2) {
        return -1;
    }
    struct round_trip *samples = by_time(trips);
    for (size_t i = 0; i < n_blocks; i++) {
        size_t from = trips->n * i / n_blocks, n = trips->n * (i + 1) / n_blocks - from;
        for (size_t j = 0; j < n; j++) {
            room[j] = samples[from + j].us;
        }
        sort(room, n);
        floors[i] = floor_of(room, n);
    }
    free(samples);
    return mad_to_deviation * deviation(floors, n_blocks);
}

void
round_trips_summarize(const struct round_trips *trips, struct round_trips_summary *s)
{
    *s = (struct round_trips_summary){.n = trips->n, .noise_us = -1};
    if (!trips->n) {
        return;
    }
    double *us = malloc(trips->n * sizeof *us);
    if (!us) {
        abort(); /* Control path. */
    }
    s->noise_us = noise(trips, us);
    for (size_t i = 0; i < trips->n; i++) {
        us[i] = trips->samples[i].us;
    }
    sort(us, trips->n);
    s->min_us = us[0];
    s->floor_us = floor_of(us, trips->n);
    s->p50_us = percentile(us, trips->n, 50);
    s->p90_us = percentile(us, trips->n, 90);
    s->p99_us = percentile(us, trips->n, 99);
    s->max_us = us[trips->n - 1];
    s->mad_us = deviation(us, trips->n);
    free(us);
}

json_t *
round_trips_show(const struct round_trips_summary *s)
{
    return json_pack("{s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:o}", "n", (json_int_t) s->n, "min_us", s->min_us,
                     "floor_us", s->floor_us, "p50_us", s->p50_us, "p90_us", s->p90_us, "p99_us", s->p99_us, "max_us",
                     s->max_us, "mad_us", s->mad_us, "noise_us",
                     s->noise_us < 0 ? json_null() : json_real(s->noise_us));
}

/* --- Series --------------------------------------------------------------- */

/* What `n` samples, of one interval, which `room` has space for, come to. */
static json_t *
series_entry(const struct round_trip samples[], size_t n, struct ef_time start, double room[])
{
    char text[EF_TIME_TEXT_SIZE];
    for (size_t i = 0; i < n; i++) {
        room[i] = samples[i].us;
    }
    sort(room, n);
    return json_pack("{s:s, s:I, s:f, s:f, s:f}", "start", ef_time_format(start, text), "n", (json_int_t) n, "min_us",
                     percentile(room, n, 0), "p50_us", percentile(room, n, 50), "max_us", percentile(room, n, 100));
}

json_t *
round_trips_series(const struct round_trips *trips, int64_t interval_ms, size_t max)
{
    struct round_trip *samples = by_time(trips);
    int64_t interval_ns = interval_ms * EF_NS_PER_MS;
    double *room = malloc((trips->n + 1) * sizeof *room);
    json_t *series = json_array();
    if (!room) {
        abort(); /* Control path. */
    }
    for (size_t i = 0, end; i < trips->n; i = end) {
        int64_t number = samples[i].at.ns / interval_ns;
        for (end = i + 1; end < trips->n && samples[end].at.ns / interval_ns == number; end++) {
        }
        if (json_array_size(series) >= max) {
            json_array_remove(series, 0);
        }
        json_array_append_new(series,
                              series_entry(&samples[i], end - i, (struct ef_time){.ns = number * interval_ns}, room));
    }
    free(room);
    free(samples);
    return series;
}
