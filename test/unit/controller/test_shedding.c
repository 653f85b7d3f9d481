/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of how switches leave reshufflers that are congested or down, and of how
 * they come back; time is injected. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "controller/shedding.h"

static struct ef_time now = {EF_NS_PER_S};

/* `seconds` of the same answers; returns how often the state changed. */
static int
note(struct shedding_state *s, int seconds, bool has_answered, bool is_congested)
{
    int n = 0;
    for (int i = 0; i < seconds; i++) {
        now = ef_time_add_ms(now, 1000);
        n += shedding_note(s, has_answered, is_congested, now);
    }
    return n;
}

static void
congested_sheds_step_by_step(void **state)
{
    struct shedding_state s = {0};
    assert_int_equal(note(&s, 100, true, false), 0);
    assert_int_equal(note(&s, 1, true, true), 1);
    assert_int_equal(s.n_shed, 1);
    assert_int_equal(note(&s, SHEDDING_STEP_MS / 1000, true, true), 1);
    assert_int_equal(s.n_shed, 2);
    note(&s, 100, true, true);
    assert_int_equal(s.n_shed, SHEDDING_QUARTERS - 1); /* A quarter it keeps. */
    assert_int_equal(note(&s, SHEDDING_RETURN_MS / 1000 - 1 - SHEDDING_STEP_MS / 1000, true, false), 0);
    assert_int_equal(note(&s, 3 * (SHEDDING_RETURN_MS / 1000 + 1), true, false), 3);
    assert_int_equal(s.n_shed, 0);
}

static void
down_sheds_all_and_gets_all_back(void **state)
{
    struct shedding_state s = {0};
    assert_int_equal(note(&s, SHEDDING_DOWN_AFTER - 1, false, false), 0);
    assert_int_equal(note(&s, 1, true, false), 0);
    assert_int_equal(note(&s, SHEDDING_DOWN_AFTER, false, false), 1);
    assert_int_equal(s.n_shed, SHEDDING_QUARTERS);
    assert_int_equal(note(&s, 50, false, false), 0);
    assert_int_equal(note(&s, 1, true, false), 1);
    assert_int_equal(s.n_shed, 0);
}

/* Checks the targets that the switches 0 to 3 have. */
static void
check(const char *configured, const struct shedding_state states[], const char *const expected[4])
{
    json_t *targets = json_loads(configured, 0, NULL);
    for (size_t i = 0; i < 4; i++) {
        json_t *got = shedding_targets(targets, states, 2, i);
        char *text = json_dumps(got, JSON_COMPACT);
        assert_string_equal(text, expected[i]);
        free(text);
        json_decref(got);
    }
    json_decref(targets);
}

static void
switches_go_where_it_is_well(void **state)
{
    json_t *one = json_pack("[s]", "10.0.0.1"), *two = json_pack("[s, s]", "fd00::2", "10.0.0.2");
    struct shedding_state states[2] = {{.vips = one}, {.vips = two}};
    static const char just_one[] = "[\"10.0.0.1\"]", just_two[] = "[\"10.0.0.2\"]",
                      both[] = "[\"10.0.0.1\",\"10.0.0.2\"]";
    check(just_one, states, (const char *[]){just_one, just_one, just_one, just_one});
    states[0].n_shed = 1; /* The second is not among the targets, but can be had. */
    check(just_one, states, (const char *[]){just_two, just_one, just_one, just_one});
    check(both, states, (const char *[]){just_two, both, both, both});
    states[0].n_shed = 4;
    check(both, states, (const char *[]){just_two, just_two, just_two, just_two});
    states[1].n_shed = 1; /* Nobody is well: another quarter of the switches has nowhere to go. */
    check(both, states, (const char *[]){just_two, just_two, just_two, both});
    states[0].vips = NULL; /* One that is left alone. */
    check(both, states, (const char *[]){both, both, both, just_one});
    json_decref(one);
    json_decref(two);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(congested_sheds_step_by_step),
        cmocka_unit_test(down_sheds_all_and_gets_all_back),
        cmocka_unit_test(switches_go_where_it_is_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
