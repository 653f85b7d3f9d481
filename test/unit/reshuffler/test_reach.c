/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of whether copies reach an analyzer. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "reshuffler/reach.h"

/* Ten reports a second are sent, and the analyzer is asked five times. */
enum { ASK_EVERY_MS = 200, REPORT_EVERY_MS = 100 };

static bool
ask(struct ef_reach *r, int64_t ms, uint64_t arrived, uint64_t lost)
{
    return ef_reach_note(r, (uint64_t) ms / REPORT_EVERY_MS, arrived, lost, (struct ef_time){ms * EF_NS_PER_MS});
}

static void
reports_that_come_are_good(void **state)
{
    struct ef_reach r = {0};
    for (int64_t ms = 0; ms < 60000; ms += ASK_EVERY_MS) {
        /* One in three is lost, and those that come are some late. */
        assert_true(ask(&r, ms, (uint64_t) ms / 150, 0));
    }
}

static void
a_link_that_fails_is_noticed_in_time_and_so_is_its_return(void **state)
{
    /* Whenever it fails between two questions. */
    for (int64_t fails = 2000; fails < 2000 + ASK_EVERY_MS; fails += 10) {
        struct ef_reach r = {0};
        int64_t ms = 0, first = 0, second = 0;
        for (; !second; ms += ASK_EVERY_MS) {
            int64_t until = ms < fails ? ms : fails;
            if (!ask(&r, ms, (uint64_t) until / REPORT_EVERY_MS, 0)) {
                assert_true(ms > fails);
                second = first ? ms : 0;
                first = first ? first : ms;
            }
        }
        assert_true(second - fails <= 850); /* Two bad answers in a row take it out (health.h). */
        assert_false(ask(&r, ms, (uint64_t) fails / REPORT_EVERY_MS, 0));
        assert_true(ask(&r, ms + ASK_EVERY_MS, (uint64_t) fails / REPORT_EVERY_MS + 1, 0));
    }
}

static void
who_loses_frames_or_whom_we_send_nothing_is_not_judged(void **state)
{
    struct ef_reach r = {0};
    for (int64_t ms = 0; ms < 5000; ms += ASK_EVERY_MS) {
        assert_true(ask(&r, ms, 7, (uint64_t) ms));
    }
    r = (struct ef_reach){0};
    for (int64_t ms = 0; ms < 5000; ms += ASK_EVERY_MS) {
        assert_true(ef_reach_note(&r, 7, 7, 0, (struct ef_time){ms * EF_NS_PER_MS}));
    }
    /* Many at once after a stall of ours, no answer to which can be there yet. */
    assert_true(ef_reach_note(&r, 7, 8, 0, (struct ef_time){6 * EF_NS_PER_S}));
    assert_true(ef_reach_note(&r, 70, 8, 0, (struct ef_time){6 * EF_NS_PER_S + 100 * EF_NS_PER_MS}));
}

static void
an_analyzer_that_starts_again_counts_from_zero(void **state)
{
    struct ef_reach r = {0};
    assert_true(ask(&r, 0, 1000, 0));
    assert_true(ask(&r, 1000, 0, 0));
    assert_false(ask(&r, 2000, 0, 0));
    assert_true(ask(&r, 2200, 1, 0));
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(reports_that_come_are_good),
        cmocka_unit_test(a_link_that_fails_is_noticed_in_time_and_so_is_its_return),
        cmocka_unit_test(who_loses_frames_or_whom_we_send_nothing_is_not_judged),
        cmocka_unit_test(an_analyzer_that_starts_again_counts_from_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
