/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of a device's clock as a line in real time. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/util.h"
#include "io/tick_line.h"

/* A device of 156.25 MHz, 50 ppm too fast, that began to count long ago. */
#define TICKS_PER_NS (0.15625 * 1.00005)
enum { REAL_LESS_MONO_S = 1000000 };

static uint64_t
ticks_at(int64_t mono_ns)
{
    return 77777777777 + (uint64_t) ((double) mono_ns * TICKS_PER_NS);
}

/* As it is at `mono_ns`, with the clock set `set_ns` ahead. */
static void
note(struct ef_tick_line *line, int64_t mono_ns, int64_t set_ns)
{
    ef_tick_line_note(line, ticks_at(mono_ns), (struct ef_time){mono_ns},
                      (struct ef_time){mono_ns + REAL_LESS_MONO_S * EF_NS_PER_S + set_ns});
}

/* By how much the line is wrong about a packet of `mono_ns`, taken 1 ms later. */
static int64_t
error_at(const struct ef_tick_line *line, int64_t mono_ns, int64_t set_ns)
{
    struct ef_time right = {mono_ns + REAL_LESS_MONO_S * EF_NS_PER_S + set_ns}, said;
    assert_true(ef_tick_line_real(line, ticks_at(mono_ns), ef_time_add_ms(right, 1), &said));
    return llabs(ef_time_diff_ns(said, right));
}

static void
a_line_needs_two_points(void **state)
{
    struct ef_tick_line line = {0};
    struct ef_time real;
    assert_false(ef_tick_line_real(&line, 5, (struct ef_time){5}, &real));
    note(&line, EF_NS_PER_S, 0);
    assert_false(ef_tick_line_real(&line, ticks_at(EF_NS_PER_S), (struct ef_time){5}, &real));
    note(&line, EF_NS_PER_S + 50 * EF_NS_PER_MS, 0); /* Too near. */
    assert_false(ef_tick_line_real(&line, ticks_at(EF_NS_PER_S), (struct ef_time){5}, &real));
    note(&line, EF_NS_PER_S + 100 * EF_NS_PER_MS, 0);
    assert_true(error_at(&line, EF_NS_PER_S + 90 * EF_NS_PER_MS, 0) < 100);
}

static void
times_are_right_for_an_hour_and_after_the_clock_is_set(void **state)
{
    struct ef_tick_line line = {0};
    int64_t set_ns = 0;
    for (int64_t ms = 0; ms < 3600000; ms += 100) {
        set_ns = ms < 1800000 ? 0 : -7 * EF_NS_PER_S;
        note(&line, ms * EF_NS_PER_MS, set_ns);
        if (ms >= 200) {
            assert_true(error_at(&line, ms * EF_NS_PER_MS + 40 * EF_NS_PER_MS, set_ns) < 100);
            assert_true(error_at(&line, ms * EF_NS_PER_MS - 10 * EF_NS_PER_MS, set_ns) < 100);
        }
    }
}

static void
what_cannot_be_is_not_believed(void **state)
{
    struct ef_tick_line line = {0};
    struct ef_time now = {REAL_LESS_MONO_S * EF_NS_PER_S + 2 * EF_NS_PER_S}, said;
    note(&line, 0, 0);
    note(&line, 2 * EF_NS_PER_S, 0);
    /* From the future: now, at the latest. */
    assert_true(ef_tick_line_real(&line, ticks_at(3 * EF_NS_PER_S), now, &said));
    assert_int_equal(said.ns, now.ns);
    assert_false(ef_tick_line_real(&line, ticks_at(EF_NS_PER_S - EF_NS_PER_MS), now, &said)); /* Older than a second. */
    assert_false(ef_tick_line_real(&line, 0, now, &said));
    assert_false(ef_tick_line_real(&line, UINT64_MAX, now, &said));
    /* A device that was reset begins anew. */
    ef_tick_line_note(&line, 5, (struct ef_time){3 * EF_NS_PER_S}, now);
    assert_false(ef_tick_line_real(&line, 5, now, &said));
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_needs_two_points),
        cmocka_unit_test(times_are_right_for_an_hour_and_after_the_clock_is_set),
        cmocka_unit_test(what_cannot_be_is_not_believed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
