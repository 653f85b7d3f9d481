/* SPDX-License-Identifier: Apache-2.0 */
/* Durations by log-linear buckets; see histogram.h. */
#include <config.h>

#include "base/histogram.h"

#include <errno.h>

#include "base/util.h"

enum { FIRST_BIT = 8 /* 256 ns. */ };

/* Of what comes from outside. */
#define MAX_NS 1e16
#define MAX_SUM_NS 9e18

unsigned
ef_histogram_bucket(uint64_t ns)
{
    if (ns >> FIRST_BIT == 0) {
        return 0;
    }
    unsigned bit = 63 - (unsigned) __builtin_clzll(ns);
    unsigned bucket = (bit - FIRST_BIT) * 4 + (unsigned) (ns >> (bit - 2) & 3);
    return EF_MIN(bucket, (unsigned) EF_HISTOGRAM_BUCKETS - 1);
}

uint64_t
ef_histogram_bucket_ns(unsigned i)
{
    return i ? (uint64_t) (4 + i % 4) << (i / 4 + FIRST_BIT - 2) : 0;
}

void
ef_histogram_add(struct ef_histogram *h, uint64_t ns)
{
    h->min_ns = h->n ? EF_MIN(h->min_ns, ns) : ns;
    h->max_ns = EF_MAX(h->max_ns, ns);
    h->n++;
    h->sum_ns += ns;
    h->buckets[ef_histogram_bucket(ns)]++;
}

void
ef_histogram_merge(struct ef_histogram *sum, const struct ef_histogram *part)
{
    if (!part->n) {
        return;
    }
    sum->min_ns = sum->n ? EF_MIN(sum->min_ns, part->min_ns) : part->min_ns;
    sum->max_ns = EF_MAX(sum->max_ns, part->max_ns);
    sum->n += part->n;
    sum->sum_ns += part->sum_ns;
    for (unsigned i = 0; i < EF_HISTOGRAM_BUCKETS; i++) {
        sum->buckets[i] += part->buckets[i];
    }
}

uint64_t
ef_histogram_quantile(const struct ef_histogram *h, double share)
{
    uint64_t n = 0, wanted = h->n ? (uint64_t) (share * (double) (h->n - 1)) + 1 : 0;
    unsigned i = 0;
    while (i < EF_HISTOGRAM_BUCKETS - 1 && (n += h->buckets[i]) < wanted) {
        i++;
    }
    uint64_t next = i + 1 < EF_HISTOGRAM_BUCKETS ? ef_histogram_bucket_ns(i + 1) : h->max_ns;
    uint64_t middle = (ef_histogram_bucket_ns(i) + next) / 2;
    return EF_MIN(EF_MAX(middle, h->min_ns), h->max_ns);
}

/* --- JSON ------------------------------------------------------------------------- */

json_t *
ef_histogram_json(const struct ef_histogram *h)
{
    json_t *buckets = json_array();
    for (unsigned i = 0; i < EF_HISTOGRAM_BUCKETS; i++) {
        if (h->buckets[i]) {
            json_array_append_new(buckets, json_pack("{s:I, s:I}", "from_ns", (json_int_t) ef_histogram_bucket_ns(i),
                                                     "probes", (json_int_t) h->buckets[i]));
        }
    }
    double mean_ns = h->n ? (double) h->sum_ns / (double) h->n : 0;
    return json_pack(
        "{s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:o}", "probes", (json_int_t) h->n, "min_us",
        (double) h->min_ns / 1e3, "mean_us", mean_ns / 1e3, "median_us", (double) ef_histogram_quantile(h, 0.5) / 1e3,
        "p90_us", (double) ef_histogram_quantile(h, 0.9) / 1e3, "p99_us", (double) ef_histogram_quantile(h, 0.99) / 1e3,
        "p999_us", (double) ef_histogram_quantile(h, 0.999) / 1e3, "max_us", (double) h->max_ns / 1e3, "histogram",
        buckets);
}

static int
read_us(const json_t *json, const char *key, double *ns)
{
    const json_t *us = json_object_get(json, key);
    *ns = json_number_value(us) * 1e3;
    return json_is_number(us) && *ns >= 0 && *ns <= MAX_NS ? 0 : -EINVAL;
}

static int
read_buckets(struct ef_histogram *h, const json_t *list)
{
    size_t i;
    const json_t *entry;
    json_array_foreach((json_t *) list, i, entry)
    {
        json_int_t from = json_integer_value(json_object_get(entry, "from_ns"));
        json_int_t n = json_integer_value(json_object_get(entry, "probes"));
        if (from < 0 || n <= 0 || n > UINT32_MAX) {
            return -EINVAL;
        }
        h->buckets[ef_histogram_bucket((uint64_t) from)] += (uint64_t) n;
        h->n += (uint64_t) n;
    }
    return h->n ? 0 : -EINVAL;
}

int
ef_histogram_merge_json(struct ef_histogram *sum, const json_t *json)
{
    struct ef_histogram part = {0};
    double min_ns, mean_ns, max_ns;
    if (read_us(json, "min_us", &min_ns) || read_us(json, "mean_us", &mean_ns) || read_us(json, "max_us", &max_ns) ||
        read_buckets(&part, json_object_get(json, "histogram")) || mean_ns * (double) part.n > MAX_SUM_NS) {
        return -EINVAL;
    }
    part.min_ns = (uint64_t) (min_ns + 0.5);
    part.max_ns = (uint64_t) (max_ns + 0.5);
    part.sum_ns = (uint64_t) (mean_ns * (double) part.n + 0.5);
    ef_histogram_merge(sum, &part);
    return 0;
}
