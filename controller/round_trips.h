/* SPDX-License-Identifier: Apache-2.0 */
/* Repeated measurements of one link's round trip, and what they are worth.
 *
 *     struct round_trips trips = {0};
 *     round_trips_add(&trips, copy_time, 241.2);  ...
 *     struct round_trips_summary s;
 *     round_trips_summarize(&trips, &s);         // s.floor_us +- s.noise_us
 *     round_trips_free(&trips);
 *
 * A round trip is what the link takes and, on top, what queues, schedulers and
 * other work happened to add. What is added is never negative, so the link shows
 * in the least of them, whatever the machine does meanwhile: `floor_us` is the mean of the fastest
 * fiftieth. (Not the one fastest: that gets luckier with the number of samples. Not more of them: of 300 probes
 * over each of 12 ends on a busy machine the mean of a fiftieth told 50 us to within 20 us 14 times of 19, the 5th
 * percentile 9 times, the median 6 times.)
 *
 * `noise_us` says how well that floor is known: the samples are cut in the order of
 * their time into up to ROUND_TRIPS_BLOCKS blocks, each a measurement of its own,
 * and the noise is how far their floors lie from each other (1.4826 times their
 * median absolute deviation, which for normally distributed errors is the standard deviation). A
 * difference that is not several times as large is none. `mad_us` is the median
 * absolute deviation of the single round trips.
 *
 * Values that the caller owns; one thread. Control path: aborts when out of memory. */
#ifndef CONTROLLER_ROUND_TRIPS_H
#define CONTROLLER_ROUND_TRIPS_H

#include <jansson.h>
#include <stddef.h>

#include "base/time.h"

enum { ROUND_TRIPS_BLOCKS = 10, ROUND_TRIPS_BLOCK_LEAST = 8 };

struct round_trip {
    struct ef_time at; /* Real time. */
    double us;
};

struct round_trips {
    struct round_trip *samples;
    size_t n, size;
};

struct round_trips_summary {
    size_t n;
    double min_us, floor_us, p50_us, p90_us, p99_us, max_us;
    double mad_us;
    double noise_us; /* Negative if there are not two blocks of samples. */
};

void round_trips_add(struct round_trips *trips, struct ef_time at, double us);
void round_trips_free(struct round_trips *trips); /* Leaves it empty. */
void round_trips_forget(struct round_trips *trips, struct ef_time before);

/* All 0 but `noise_us` without samples. */
void round_trips_summarize(const struct round_trips *trips, struct round_trips_summary *summary);

/* {"n", "min_us", "floor_us", "p50_us", "p90_us", "p99_us", "max_us", "mad_us", "noise_us" (or null)}, a new
 * reference. */
json_t *round_trips_show(const struct round_trips_summary *summary);

/* The time series: [{"start", "n", "min_us", "p50_us", "max_us"}], an entry for each interval
 * in which there are samples, at most `max` of them (the last). */
json_t *round_trips_series(const struct round_trips *trips, int64_t interval_ms, size_t max);

/* The median of `values`, which are sorted by it; 0 of none. */
double round_trips_median(double values[], size_t n);

#endif
