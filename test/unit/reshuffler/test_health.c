/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the hysteresis between up and down; time is injected. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "reshuffler/health.h"

static struct ef_time now;

/* Notes `n` answers; returns the 1-based number of the one that changed it, or 0. */
static unsigned
note(struct ef_health *h, bool is_good, unsigned n)
{
    for (unsigned i = 1; i <= n; i++) {
        now = ef_time_add_ms(now, EF_HEALTH_ASK_EVERY_MS);
        if (ef_health_note(h, is_good, now)) {
            assert_int_equal(h->since.ns, now.ns);
            return i;
        }
    }
    return 0;
}

static void
one_bad_answer_is_forgiven(void **state)
{
    struct ef_health h = {0};
    for (int i = 0; i < 20; i++) {
        assert_int_equal(note(&h, false, EF_HEALTH_BAD_TO_DOWN - 1), 0);
        assert_int_equal(note(&h, true, 1), 0);
    }
    assert_false(h.is_down);
    assert_int_equal(h.n_failures, 0);
}

static void
down_and_up_again(void **state)
{
    struct ef_health h = {0};
    assert_int_equal(note(&h, false, 10), EF_HEALTH_BAD_TO_DOWN);
    assert_true(h.is_down);
    assert_false(h.has_answered);
    /* Not by single good answers. */
    assert_int_equal(note(&h, true, EF_HEALTH_GOOD_TO_UP - 1), 0);
    assert_int_equal(note(&h, false, 1), 0);
    assert_int_equal(note(&h, true, 10), EF_HEALTH_GOOD_TO_UP);
    assert_false(h.is_down);
    assert_true(h.has_answered);
}

static void
one_that_flaps_stays_away_longer(void **state)
{
    struct ef_health h = {0};
    unsigned expected = EF_HEALTH_GOOD_TO_UP;
    for (int i = 0; i < 10; i++) {
        assert_int_equal(note(&h, false, 5), EF_HEALTH_BAD_TO_DOWN);
        assert_int_equal(note(&h, true, 1000), expected);
        expected = expected * 2 < EF_HEALTH_GOOD_TO_UP_MAX ? expected * 2 : EF_HEALTH_GOOD_TO_UP_MAX;
    }
    assert_int_equal(h.n_failures, 10);
    /* Calm for long enough, it is trusted as at first. */
    assert_int_equal(note(&h, true, EF_HEALTH_CALM_MS / EF_HEALTH_ASK_EVERY_MS + 1), 0);
    assert_int_equal(note(&h, false, 5), EF_HEALTH_BAD_TO_DOWN);
    assert_int_equal(note(&h, true, 1000), EF_HEALTH_GOOD_TO_UP);
}

/* What health.h promises: a hung one is noticed within a second. */
static void
a_hung_one_is_noticed_in_time(void **state)
{
    assert_true(EF_HEALTH_ASK_EVERY_MS + EF_HEALTH_BAD_TO_DOWN * EF_HEALTH_TIMEOUT_MS + EF_HEALTH_ASK_EVERY_MS / 4 <
                1000);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_bad_answer_is_forgiven),
        cmocka_unit_test(down_and_up_again),
        cmocka_unit_test(one_that_flaps_stays_away_longer),
        cmocka_unit_test(a_hung_one_is_noticed_in_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
