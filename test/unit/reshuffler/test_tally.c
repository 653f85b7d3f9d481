/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the counters: a reader never sees one moment's half. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <string.h>

#include "reshuffler/tally.h"

enum { ROUNDS = 300000, N_ANALYZERS = 3 };

static struct ef_tally tally;

static void *
count(void *arg)
{
    struct ef_totals totals = {0};
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        totals.received += 3;
        totals.sent += 1 + i % 2;
        totals.drops[EF_DROP_NOT_A_COPY] += 1;
        totals.drops[EF_DROP_SEND_FAILED] += 1 - i % 2;
        totals.steered[i % N_ANALYZERS]++;
        ef_tally_publish(&tally, &totals, N_ANALYZERS);
    }
    return NULL;
}

static void
readers_see_whole_moments(void **state)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, count, NULL), 0);
    uint64_t last = 0, reads = 0;
    while (last < 3 * ROUNDS) {
        struct ef_totals t = {0};
        ef_tally_add_to(&tally, &t);
        uint64_t drops = 0, steered = 0;
        for (int i = 0; i < EF_N_DROP_REASONS; i++) {
            drops += t.drops[i];
        }
        for (int i = 0; i < EF_PLAN_MAX_ANALYZERS; i++) {
            steered += t.steered[i];
        }
        assert_int_equal(t.received, t.sent + drops);
        assert_int_equal(t.received, 3 * steered);
        assert_true(t.received >= last);
        last = t.received;
        reads++;
    }
    pthread_join(thread, NULL);
    assert_true(reads > 0);
}

static void
totals_add_up(void **state)
{
    static struct ef_tally a, b;
    struct ef_totals one = {.received = 5, .sent = 4, .steered = {4}}, sum = {0};
    one.drops[EF_DROP_BAD_GRE] = 1;
    ef_tally_publish(&a, &one, 1);
    ef_tally_publish(&b, &one, 1);
    ef_tally_add_to(&a, &sum);
    ef_tally_add_to(&b, &sum);
    assert_int_equal(sum.received, 10);
    assert_int_equal(sum.sent, 8);
    assert_int_equal(sum.drops[EF_DROP_BAD_GRE], 2);
    assert_int_equal(sum.steered[0], 8);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_see_whole_moments),
        cmocka_unit_test(totals_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
