/* SPDX-License-Identifier: Apache-2.0 */
/* Admission: what a session costs, what fits, what is made coarser; and "capacity"
 * of the configuration. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "controller/configuration.h"
#include "controller/debug_settings.h"

static const struct debug_load capacity = {1000, 1e6};

static void
test_cost(void **state)
{
    const struct debug_traffic traffic = {.packets_per_s = 100, .bytes_per_copy = 125, .copies = 3};
    struct debug_load all = debug_cost(&traffic, 0), some = debug_cost(&traffic, 2);
    assert_true(all.copies_per_s == 300 && all.bits_per_s == 300000);
    assert_true(some.copies_per_s == 75 && some.bits_per_s == 75000);
}

/* Up to the capacity it fits, and not beyond, in copies and in bits. */
static void
test_fits(void **state)
{
    static const struct {
        struct debug_load used, cost;
        bool fits;
    } cases[] = {
        {{0, 0}, {1000, 1e6}, true}, {{0, 0}, {1001, 0}, false},  {{0, 0}, {0, 1000001}, false},
        {{700, 0}, {300, 0}, true},  {{701, 0}, {300, 0}, false}, {{0, 9e5}, {1, 1e5}, true},
        {{0, 9e5}, {1, 2e5}, false}, {{2000, 0}, {0, 0}, false},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        assert_int_equal(debug_fits(&capacity, &cases[i].used, &cases[i].cost), cases[i].fits);
    }
}

static void
test_what_fits(void **state)
{
    const struct debug_load half = {500, 0}, full = {1000, 1e6};
    const struct debug_traffic traffic = {.packets_per_s = 1000, .bytes_per_copy = 100, .copies = 4};
    /* 4000 copies/s and 3.2 Mbit/s: the copies decide beside `half`, the bits alone. */
    assert_int_equal(debug_bits_that_fit(&capacity, &half, &traffic, 0), 3);
    assert_int_equal(debug_bits_that_fit(&capacity, &(struct debug_load){0, 0}, &traffic, 0), 2);
    assert_int_equal(debug_bits_that_fit(&capacity, &half, &traffic, 5), 5);
    assert_int_equal(debug_bits_that_fit(&capacity, &full, &traffic, 0), -1);
    assert_int_equal(debug_bits_that_fit(&capacity, &full, &(struct debug_traffic){0, 100, 4}, 0), 0);
}

/* What does not fit unsampled fits at the finest that was offered, and at none finer. */
static void
test_offer_is_the_finest(void **state)
{
    for (double packets = 1; packets < 1e9; packets *= 3) {
        const struct debug_traffic traffic = {.packets_per_s = packets, .bytes_per_copy = 90, .copies = 3};
        const struct debug_load none = {0, 0};
        int bits = debug_bits_that_fit(&capacity, &none, &traffic, 0);
        if (bits >= 0) {
            struct debug_load cost = debug_cost(&traffic, (unsigned) bits);
            assert_true(debug_fits(&capacity, &none, &cost));
        }
        if (bits > 0) {
            struct debug_load finer = debug_cost(&traffic, (unsigned) bits - 1);
            assert_false(debug_fits(&capacity, &none, &finer));
        }
    }
}

static void
test_shedding(void **state)
{
    /* 1200 of which 800 are its own: half of them leaves 800. */
    assert_int_equal(debug_bits_to_shed(&capacity, &(struct debug_load){1200, 0}, &(struct debug_load){800, 0}, 0), 1);
    /* Ten times as much: 1/16 of it fits. */
    assert_int_equal(debug_bits_to_shed(&capacity, &(struct debug_load){10000, 0}, &(struct debug_load){10000, 0}, 3),
                     7);
    /* The others alone are too much. */
    assert_int_equal(debug_bits_to_shed(&capacity, &(struct debug_load){1200, 0}, &(struct debug_load){100, 0}, 0), -1);
    assert_int_equal(debug_bits_to_shed(&capacity, &(struct debug_load){1200, 0}, &(struct debug_load){1200, 0}, 16),
                     -1);
}

/* --- Configuration -------------------------------------------------------- */

static int
read_settings(const char *text, struct debug_load *load, struct ef_error *err)
{
    static const struct peer analyzers[] = {{.name = "a1", .weight = 300}, {.name = "a2", .weight = 100}};
    static const struct peer reshufflers[] = {{.name = "r1"}, {.name = "r2"}};
    const struct debug_collectors collectors = {analyzers, reshufflers, 2, 2};
    struct doc_place root = {.value = json_loads(text, 0, NULL)};
    assert_non_null(root.value);
    *err = EF_ERROR_INIT;
    int rc = debug_settings_read(&root, &collectors, load, err);
    json_decref(root.value);
    return rc;
}

static void
test_settings(void **state)
{
    static const struct {
        const char *text;
        double copies, bits;
    } cases[] = {
        {"{}", 100000, 1e9},
        {"{\"capacity\": {\"copies_per_s\": 900, \"bits_per_s\": 70000}}", 900, 70000},
        /* The first collector that is full decides: a1 gets 3 of 4 copies, a reshuffler 1 of 2. */
        {"{\"capacity\": {\"collectors\": {\"a1\": {\"copies_per_s\": 300}}}}", 400, 1e9},
        {"{\"capacity\": {\"collectors\": {\"a1\": {\"copies_per_s\": 300}, \"r2\": {\"copies_per_s\": 150}}}}", 300,
         1e9},
        {"{\"capacity\": {\"collectors\": {\"a2\": {\"bits_per_s\": 1000}}}}", 100000, 4000},
    };
    static const char *const wrong[][2] = {
        {"{\"capacity\": {\"copies\": 1}}", "capacity"},
        {"{\"capacity\": {\"copies_per_s\": 0}}", "capacity.copies_per_s"},
        {"{\"capacity\": {\"collectors\": {\"a3\": {}}}}", "capacity.collectors.a3"},
        {"{\"capacity\": {\"collectors\": {\"a1\": 5}}}", "must be an object"},
        {"{\"capacity\": []}", "capacity"},
    };
    struct debug_load load;
    struct ef_error err;
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        assert_int_equal(read_settings(cases[i].text, &load, &err), 0);
        assert_true(load.copies_per_s == cases[i].copies && load.bits_per_s == cases[i].bits);
    }
    for (size_t i = 0; i < EF_ARRAY_SIZE(wrong); i++) {
        assert_int_equal(read_settings(wrong[i][0], &load, &err), -EINVAL);
        assert_non_null(strstr(err.text, wrong[i][1]));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cost),      cmocka_unit_test(test_fits),
        cmocka_unit_test(test_what_fits), cmocka_unit_test(test_offer_is_the_finest),
        cmocka_unit_test(test_shedding),  cmocka_unit_test(test_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
