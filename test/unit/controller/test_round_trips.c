/* SPDX-License-Identifier: Apache-2.0 */
/* Round trips: percentiles, the floor and how well it is known, the series. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "controller/round_trips.h"

static struct ef_time
at_ms(int64_t ms)
{
    return (struct ef_time){.ns = 1700000000 * EF_NS_PER_S + ms * EF_NS_PER_MS};
}

static void
numbers(void **state)
{
    struct round_trips trips = {0};
    struct round_trips_summary s;
    for (int i = 100; i >= 1; i--) {
        round_trips_add(&trips, at_ms(i * 37 % 100), i);
    }
    round_trips_summarize(&trips, &s);
    assert_int_equal(s.n, 100);
    assert_float_equal(s.min_us, 1, 1e-9);
    assert_float_equal(s.floor_us, 1.5, 1e-9);
    assert_float_equal(s.p50_us, 50, 1e-9);
    assert_float_equal(s.p90_us, 90, 1e-9);
    assert_float_equal(s.p99_us, 99, 1e-9);
    assert_float_equal(s.max_us, 100, 1e-9);
    assert_float_equal(s.mad_us, 25, 1e-9);
    assert_true(s.noise_us >= 0);
    round_trips_free(&trips);
    assert_int_equal(trips.n, 0);
}

/* On a busy machine few round trips show what the link takes; a delay is found from them to 20 us, which
 * neither the median tells nor, as well, the 5th percentile. */
static void
the_floor_of_a_busy_machine(void **state)
{
    enum { N_SAMPLES = 300, N_TRIALS = 200 };
    unsigned exact = 0, exact_by_median = 0;
    srand48(11);
    for (int i = 0; i < N_TRIALS; i++) {
        struct round_trips_summary s[2];
        double load = 200 + 400 * drand48();
        for (int j = 0; j < 2; j++) {
            struct round_trips trips = {0};
            for (int k = 0; k < N_SAMPLES; k++) {
                double queue = drand48() < 0.1 ? 8 * drand48() : -log(1 - drand48()) * load * (1 + 0.5 * j);
                round_trips_add(&trips, at_ms(k * 30), 100 + 50 * j + queue);
            }
            round_trips_summarize(&trips, &s[j]);
            round_trips_free(&trips);
        }
        exact += fabs(s[1].floor_us - s[0].floor_us - 50) <= 20;
        exact_by_median += fabs(s[1].p50_us - s[0].p50_us - 50) <= 20;
    }
    print_message("# 50 us to 20 us: %u of %d by the floor, %u by the median\n", exact, N_TRIALS, exact_by_median);
    assert_true(exact == N_TRIALS);
    assert_true(exact_by_median < N_TRIALS / 2);
}

/* Few samples say little, none nothing. */
static void
too_few(void **state)
{
    struct round_trips trips = {0};
    struct round_trips_summary s;
    round_trips_summarize(&trips, &s);
    assert_int_equal(s.n, 0);
    assert_float_equal(s.max_us, 0, 0);
    assert_true(s.noise_us < 0);
    round_trips_add(&trips, at_ms(0), 7);
    round_trips_summarize(&trips, &s);
    assert_float_equal(s.min_us, 7, 0);
    assert_float_equal(s.floor_us, 7, 0);
    assert_float_equal(s.p99_us, 7, 0);
    assert_true(s.noise_us < 0);
    json_t *shown = round_trips_show(&s), *series = round_trips_series(&trips, 100, 10);
    assert_true(json_is_null(json_object_get(shown, "noise_us")));
    assert_int_equal(json_array_size(series), 1);
    json_decref(shown);
    json_decref(series);
    round_trips_free(&trips);
    series = round_trips_series(&trips, 100, 10);
    assert_int_equal(json_array_size(series), 0);
    json_decref(series);
}

/* Bursts of queueing do not move the floor, and do not make it uncertain; a
 * floor that moves does. */
static void
noise_is_that_of_the_floor(void **state)
{
    struct round_trips busy = {0}, moving = {0};
    struct round_trips_summary s;
    for (int i = 0; i < 400; i++) {
        int jitter = i * 7 % 5;
        round_trips_add(&busy, at_ms(i), 200 + jitter + (i % 3 ? 700 : 0));
        round_trips_add(&moving, at_ms(i), 200 + jitter + i / 40 * 30);
    }
    round_trips_summarize(&busy, &s);
    assert_in_range(s.floor_us, 200, 204);
    assert_true(s.noise_us >= 0 && s.noise_us < 3);
    round_trips_summarize(&moving, &s);
    assert_true(s.noise_us > 50);
    round_trips_free(&busy);
    round_trips_free(&moving);
}

static void
series(void **state)
{
    struct round_trips trips = {0};
    int ms[] = {2999, 0, 999, 1000, 3000}; /* Not in order of time. */
    for (size_t i = 0; i < 5; i++) {
        round_trips_add(&trips, at_ms(ms[i]), ms[i] + 1);
    }
    json_t *all = round_trips_series(&trips, 1000, 10), *last = round_trips_series(&trips, 1000, 2);
    json_t *first = json_array_get(all, 0);
    assert_int_equal(json_array_size(all), 4);
    assert_string_equal(json_string_value(json_object_get(first, "start")), "2023-11-14T22:13:20.000000000Z");
    assert_int_equal(json_integer_value(json_object_get(first, "n")), 2);
    assert_float_equal(json_real_value(json_object_get(first, "min_us")), 1, 0);
    assert_float_equal(json_real_value(json_object_get(first, "max_us")), 1000, 0);
    assert_int_equal(json_array_size(last), 2);
    assert_true(json_equal(json_array_get(last, 0), json_array_get(all, 2)));
    json_decref(all);
    json_decref(last);
    round_trips_free(&trips);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers), cmocka_unit_test(the_floor_of_a_busy_machine),
        cmocka_unit_test(too_few), cmocka_unit_test(noise_is_that_of_the_floor),
        cmocka_unit_test(series),
    };
    return cmocka_run_group_tests_name("controller/round_trips", tests, NULL, NULL);
}
