/* SPDX-License-Identifier: Apache-2.0 */
/* How often durations occurred, in buckets that grow with them: four for each
 * power of two from 256 ns to 268 ms, so that a percentile is right to an eighth;
 * the last bucket holds all that took longer.
 * Buckets are the same everywhere: histograms of several threads or machines add up.
 *
 *     struct ef_histogram h = {0};
 *     ef_histogram_add(&h, 41230);
 *     ef_histogram_merge(&h, &other);
 *     uint64_t p99_ns = ef_histogram_quantile(&h, 0.99);
 *
 * As JSON (ns as they are, so that nothing is lost on the way to who adds them up):
 *     {"probes": 1, "min_us": 41.23, "mean_us": 41.23, "median_us": 41.23, "p90_us": ..., "p99_us": ..., "p999_us":
 * ..., "max_us": 41.23, "histogram": [{"from_ns": 40960, "probes": 1}]}
 *
 * Plain values, no thread protocol. */
#ifndef EF_BASE_HISTOGRAM_H
#define EF_BASE_HISTOGRAM_H

#include <jansson.h>
#include <stdint.h>

enum {
    EF_HISTOGRAM_OCTAVES = 20,
    EF_HISTOGRAM_BUCKETS = 4 * EF_HISTOGRAM_OCTAVES,
};

struct ef_histogram {
    uint64_t n, sum_ns, min_ns, max_ns; /* The last two only if `n`. */
    uint64_t buckets[EF_HISTOGRAM_BUCKETS];
};

/* The bucket that `ns` falls into, and the least value of bucket `i`. */
unsigned ef_histogram_bucket(uint64_t ns);
uint64_t ef_histogram_bucket_ns(unsigned i);

void ef_histogram_add(struct ef_histogram *h, uint64_t ns);
void ef_histogram_merge(struct ef_histogram *sum, const struct ef_histogram *part);

/* The value that the share (0 to 1) of all is not above: the middle of its
 * bucket, within what really occurred; 0 of an empty one. */
uint64_t ef_histogram_quantile(const struct ef_histogram *h, double share);

/* The caller takes over the reference. */
json_t *ef_histogram_json(const struct ef_histogram *h);

/* Adds what ef_histogram_json() wrote, perhaps elsewhere. Returns 0, or -EINVAL
 * if `json` is no such thing; then nothing was added. */
int ef_histogram_merge_json(struct ef_histogram *sum, const json_t *json);

#endif
