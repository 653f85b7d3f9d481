/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of when a reshuffler calls itself congested. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "reshuffler/congestion.h"

static uint64_t received, lost;

/* One second with so many copies, of which so many were lost. */
static bool
second(struct ef_congestion *c, uint64_t n, uint64_t n_lost)
{
    received += n;
    lost += n_lost;
    return ef_congestion_note(c, received, lost);
}

static void
it_begins_with_much_loss_and_ends_after_calm(void **state)
{
    struct ef_congestion c = {.received = received, .lost = lost};
    assert_false(second(&c, 0, 0));
    assert_false(second(&c, 1000, 9)); /* Less than one in a hundred. */
    assert_true(second(&c, 1000, 10));
    assert_true(c.is_congested);
    for (int i = 0; i < 3; i++) {
        for (int k = 1; k < EF_CONGESTION_CALM_S; k++) {
            assert_false(second(&c, 1000, 0));
        }
        assert_false(second(&c, 1000, 500));
        assert_true(c.lost_share > 0.49 && c.lost_share < 0.51);
    }
    for (int k = 1; k < EF_CONGESTION_CALM_S; k++) {
        assert_false(second(&c, 0, 0));
        assert_true(c.is_congested);
    }
    assert_true(second(&c, 0, 0));
    assert_false(c.is_congested);
    assert_int_equal(c.n_begun, 1);
    assert_true(second(&c, 5, 5)); /* All of few. */
    assert_int_equal(c.n_begun, 2);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_begins_with_much_loss_and_ends_after_calm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
