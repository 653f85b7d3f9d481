/* SPDX-License-Identifier: Apache-2.0 */
/* What reshufflers reported, when they die, are followed by others, or fall silent. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/loss_table.h"

enum { FIRST = 1, SECOND = 2 }; /* Reshufflers. */

static const uint8_t leaf[16] = {[10] = 0xff, 0xff, 10, 255, 0, 1}, spine[16] = {[10] = 0xff, 0xff, 10, 255, 0, 11};

static int
make_table(void **state)
{
    static struct ef_loss_table table;
    *state = &table;
    return ef_loss_table_init(&table);
}

static int
free_table(void **state)
{
    ef_loss_table_deinit(*state);
    return 0;
}

/* At `now_ms` by our clock `sender` says that the leaf's copies are settled up to `settled_ms` by its own. */
static void
report(struct ef_loss_table *t, uint64_t sender, int64_t settled_ms, int64_t now_ms)
{
    struct ef_loss_entry entry = {.settled = {settled_ms * EF_NS_PER_MS}};
    for (int i = 0; i < 16; i++) {
        entry.switch_address[i] = leaf[i];
    }
    ef_loss_table_enter(t, sender, &entry, (struct ef_time){now_ms * EF_NS_PER_MS});
}

static enum ef_loss
ask(const struct ef_loss_table *t, int64_t from_ms, int64_t to_ms, int64_t heard_ms)
{
    return ef_loss_table_ask(t, leaf, (struct ef_time){from_ms * EF_NS_PER_MS}, (struct ef_time){to_ms * EF_NS_PER_MS},
                             (struct ef_time){heard_ms * EF_NS_PER_MS});
}

static void
what_nobody_reports_of_is_possible(void **state)
{
    struct ef_loss_table *t = *state;
    assert_int_equal(ask(t, 100, 110, 500), EF_LOSS_POSSIBLE);
    report(t, FIRST, 1000, 500);
    assert_int_equal(
        ef_loss_table_ask(t, spine, (struct ef_time){0}, (struct ef_time){1}, (struct ef_time){500 * EF_NS_PER_MS}),
        EF_LOSS_POSSIBLE);
}

static void
a_reshuffler_that_is_alive_settles(void **state)
{
    struct ef_loss_table *t = *state;
    report(t, FIRST, 1000, 500);
    report(t, FIRST, 1100, 600);
    assert_int_equal(ask(t, 1050, 1060, 600), EF_LOSS_NONE);
    /* The switch made no more copies, and the reshuffler says so. */
    assert_int_equal(ask(t, 1200, 1210, 600), EF_LOSS_POSSIBLE);
}

static void
while_it_is_silent_copies_may_be_lost(void **state)
{
    struct ef_loss_table *t = *state;
    report(t, FIRST, 1000, 500);
    assert_int_equal(ask(t, 950, 960, 700), EF_LOSS_NONE);
    assert_int_equal(ask(t, 1200, 1210, 700), EF_LOSS_SEEN);
    /* Until it is plain that the stream is no more, as when its target was given up. */
    assert_int_equal(ask(t, 9000, 9010, 500 + EF_LOSS_TABLE_GONE_NS / EF_NS_PER_MS), EF_LOSS_SEEN);
    assert_int_equal(ask(t, 9000, 9010, 501 + EF_LOSS_TABLE_GONE_NS / EF_NS_PER_MS), EF_LOSS_POSSIBLE);
}

static void
what_came_between_two_reshufflers_is_lost(void **state)
{
    struct ef_loss_table *t = *state;
    report(t, FIRST, 1000, 500);
    report(t, SECOND, 1400, 900);
    report(t, SECOND, 1500, 1000);
    assert_int_equal(ask(t, 900, 950, 1000), EF_LOSS_NONE);
    assert_int_equal(ask(t, 990, 1010, 1000), EF_LOSS_SEEN);
    assert_int_equal(ask(t, 1200, 1210, 1000), EF_LOSS_SEEN);
    assert_int_equal(ask(t, 1410, 1420, 1000), EF_LOSS_NONE);
}

/* The switch's copies go to another one now; the first lives on and repeats what it said. */
static void
one_that_the_stream_left_is_no_other(void **state)
{
    struct ef_loss_table *t = *state;
    report(t, FIRST, 1000, 500);
    report(t, SECOND, 1400, 900);
    for (int64_t i = 1; i < 5; i++) {
        report(t, FIRST, 1000, 900 + 100 * i);
        report(t, SECOND, 1400 + 100 * i, 900 + 100 * i);
    }
    assert_int_equal(ask(t, 1200, 1210, 1300), EF_LOSS_SEEN);
    assert_int_equal(ask(t, 1450, 1460, 1300), EF_LOSS_NONE);
    assert_int_equal(ask(t, 1650, 1660, 1300), EF_LOSS_NONE);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_nobody_reports_of_is_possible, make_table, free_table),
        cmocka_unit_test_setup_teardown(a_reshuffler_that_is_alive_settles, make_table, free_table),
        cmocka_unit_test_setup_teardown(while_it_is_silent_copies_may_be_lost, make_table, free_table),
        cmocka_unit_test_setup_teardown(what_came_between_two_reshufflers_is_lost, make_table, free_table),
        cmocka_unit_test_setup_teardown(one_that_the_stream_left_is_no_other, make_table, free_table),
    };
    return cmocka_run_group_tests_name("analyzer/loss_table", tests, NULL, NULL);
}
