/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms of durations: buckets, percentiles next to the sorted values, sums, JSON. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/histogram.h"
#include "base/util.h"

static void
buckets_follow_each_other(void **state)
{
    assert_int_equal(ef_histogram_bucket(0), 0);
    assert_int_equal(ef_histogram_bucket(UINT64_MAX), EF_HISTOGRAM_BUCKETS - 1);
    for (unsigned i = 1; i < EF_HISTOGRAM_BUCKETS; i++) {
        uint64_t from = ef_histogram_bucket_ns(i);
        assert_int_equal(ef_histogram_bucket(from), i);
        assert_int_equal(ef_histogram_bucket(from - 1), i - 1);
    }
}

static int
by_value(const void *a_, const void *b_)
{
    const uint64_t *a = a_, *b = b_;
    return (*a > *b) - (*a < *b);
}

/* Values of some milliseconds to some nanoseconds, as many of each power of two. */
static void
make_values(uint64_t *values, size_t n)
{
    uint64_t x = 88172645463325252ull; /* Marsaglia, Xorshift RNGs, 2003. */
    for (size_t i = 0; i < n; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        values[i] = (x >> 32 & 0xfffffff) >> (x & 15);
    }
}

static void
percentiles_are_right_to_an_eighth(void **state)
{
    enum { N = 10000 };
    static const double shares[] = {0, 0.01, 0.5, 0.9, 0.99, 0.999, 1};
    static uint64_t values[N];
    struct ef_histogram h = {0};
    make_values(values, N);
    for (size_t i = 0; i < N; i++) {
        ef_histogram_add(&h, values[i]);
    }
    qsort(values, N, sizeof values[0], by_value);
    for (size_t i = 0; i < EF_ARRAY_SIZE(shares); i++) {
        double exact = (double) values[(size_t) (shares[i] * (N - 1))];
        double told = (double) ef_histogram_quantile(&h, shares[i]);
        assert_true(told <= exact * 1.125 + 160 && told >= exact / 1.125 - 160);
    }
    assert_int_equal(h.min_ns, values[0]);
    assert_int_equal(h.max_ns, values[N - 1]);
}

static void
one_value_is_itself_and_none_is_0(void **state)
{
    struct ef_histogram h = {0};
    assert_int_equal(ef_histogram_quantile(&h, 0.5), 0);
    ef_histogram_add(&h, 41230);
    assert_int_equal(ef_histogram_quantile(&h, 0), 41230);
    assert_int_equal(ef_histogram_quantile(&h, 1), 41230);
}

/* Parts of two machines, one sent as JSON, are what one would have counted. */
static void
parts_add_up_also_as_json(void **state)
{
    enum { N = 1000 };
    static uint64_t values[N];
    struct ef_histogram all = {0}, parts[2] = {{0}}, sum = {0}, empty = {0};
    make_values(values, N);
    for (size_t i = 0; i < N; i++) {
        ef_histogram_add(&all, values[i]);
        ef_histogram_add(&parts[i % 2], values[i]);
    }
    json_t *json = ef_histogram_json(&parts[1]);
    ef_histogram_merge(&sum, &parts[0]);
    ef_histogram_merge(&sum, &empty);
    assert_int_equal(ef_histogram_merge_json(&sum, json), 0);
    json_decref(json);
    assert_int_equal(sum.n, N);
    assert_int_equal(sum.min_ns, all.min_ns);
    assert_int_equal(sum.max_ns, all.max_ns);
    assert_true(llabs((long long) (sum.sum_ns - all.sum_ns)) <= 1); /* It went as a mean. */
    assert_memory_equal(sum.buckets, all.buckets, sizeof all.buckets);
}

static void
what_is_no_histogram_adds_nothing(void **state)
{
    static const char *const texts[] = {
        "[]",
        "{}",
        "{\"min_us\": 1, \"mean_us\": 1, \"max_us\": 1}",
        "{\"min_us\": 1, \"mean_us\": 1, \"max_us\": 1, \"histogram\": []}",
        "{\"min_us\": -1, \"mean_us\": 1, \"max_us\": 1, \"histogram\": [{\"from_ns\": 0, \"probes\": 1}]}",
        "{\"min_us\": 1, \"mean_us\": 1e300, \"max_us\": 1, \"histogram\": [{\"from_ns\": 0, \"probes\": 1}]}",
        "{\"min_us\": 1, \"mean_us\": 9e12, \"max_us\": 1, \"histogram\": [{\"from_ns\": 0, \"probes\": 1000000}]}",
        "{\"min_us\": 1, \"mean_us\": 1, \"max_us\": 1, \"histogram\": [{\"from_ns\": -1, \"probes\": 1}]}",
        "{\"min_us\": 1, \"mean_us\": 1, \"max_us\": 1, \"histogram\": [{\"from_ns\": 0, \"probes\": 0}]}",
        "{\"min_us\": 1, \"mean_us\": 1, \"max_us\": 1, \"histogram\": [{\"from_ns\": 0, \"probes\": 99999999999}]}",
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(texts); i++) {
        struct ef_histogram sum = {0};
        static const struct ef_histogram nothing;
        json_t *json = json_loads(texts[i], 0, NULL);
        assert_non_null(json);
        assert_int_equal(ef_histogram_merge_json(&sum, json), -EINVAL);
        assert_memory_equal(&sum, &nothing, sizeof sum);
        json_decref(json);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_follow_each_other),         cmocka_unit_test(percentiles_are_right_to_an_eighth),
        cmocka_unit_test(one_value_is_itself_and_none_is_0), cmocka_unit_test(parts_add_up_also_as_json),
        cmocka_unit_test(what_is_no_histogram_adds_nothing),
    };
    return cmocka_run_group_tests_name("base histogram", tests, NULL, NULL);
}
