/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of lib/base: times, numbers, options, the ring. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "base/options.h"
#include "base/parse_number.h"
#include "base/ring.h"
#include "base/time.h"

static void
times_are_parsed(void **state)
{
    static const struct {
        const char *text;
        int64_t ns;
    } cases[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"1970-01-01T00:00:01.5Z", 1500000000},
        {"1970-01-01T00:00:00.123456789Z", 123456789},
        {"1970-01-01T01:00:00+01:00", 0},
        {"1969-12-31T23:00:00-01:00", 0},
        {"42", 42},
        {"now", 1000000000000},
        {"-5m", 1000000000000 - 300 * EF_NS_PER_S},
        {"-1.5s", 1000000000000 - 1500000000},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        struct ef_time t;
        assert_int_equal(ef_time_parse(cases[i].text, (struct ef_time){1000000000000}, &t, NULL), 0);
        assert_int_equal(t.ns, cases[i].ns);
    }
    static const char *const bad[] = {"",
                                      "-",
                                      "5 minutes",
                                      "1970-01-01",
                                      "1970-01-01T00:00:00",
                                      "-5x",
                                      "1970-01-01T00:00:00+1",
                                      "1013-01-01T00:00:00Z",
                                      "9999-12-31T23:59:59Z",
                                      "99999999999999999999"};
    for (size_t i = 0; i < EF_ARRAY_SIZE(bad); i++) {
        struct ef_time t;
        struct ef_error err = EF_ERROR_INIT;
        assert_int_equal(ef_time_parse(bad[i], (struct ef_time){0}, &t, &err), -EINVAL);
        assert_non_null(strstr(err.text, "is not a time"));
    }
}

static void
times_print_and_parse_back(void **state)
{
    static const int64_t values[] = {0, 1, 999999999, 1795228200123456789, -1};
    for (size_t i = 0; i < EF_ARRAY_SIZE(values); i++) {
        char text[EF_TIME_TEXT_SIZE];
        struct ef_time t;
        assert_int_equal(
            ef_time_parse(ef_time_format((struct ef_time){values[i]}, text), (struct ef_time){0}, &t, NULL), 0);
        assert_int_equal(t.ns, values[i]);
    }
}

static void
numbers_and_sizes_are_whole_or_refused(void **state)
{
    uint64_t v;
    struct ef_error err = EF_ERROR_INIT;
    assert_int_equal(ef_parse_size("512M", "--memory", 0, UINT64_MAX, &v, &err), 0);
    assert_int_equal(v, 512u << 20);
    assert_int_equal(ef_parse_size("2GiB", "--memory", 0, UINT64_MAX, &v, &err), 0);
    assert_int_equal(v, 2ull << 30);
    assert_int_equal(ef_parse_size("1x", "--memory", 0, UINT64_MAX, &v, &err), -EINVAL);
    assert_int_equal(ef_parse_size("99999999999G", "--memory", 0, UINT64_MAX, &v, &err), -ERANGE);
    assert_int_equal(ef_parse_u64("0x10", "n", 0, 20, &v, &err), 0);
    assert_int_equal(v, 16);
    assert_int_equal(ef_parse_u64("-1", "n", 0, 20, &v, &err), -EINVAL);
    assert_int_equal(ef_parse_u64("21", "n", 0, 20, &v, &err), -ERANGE);
    assert_string_equal(err.text, "n: 21 is not between 0 and 20");
    assert_int_equal(ef_parse_u64("99999999999999999999", "n", 0, 20, &v, &err), -ERANGE);
}

struct seen {
    char name[16];
    int verbose;
};

static int
set_name(void *ctx, const char *value, struct ef_error *err)
{
    struct seen *seen = ctx;
    strncpy(seen->name, value, sizeof seen->name - 1);
    return 0;
}

static int
set_verbose(void *ctx, const char *value, struct ef_error *err)
{
    ((struct seen *) ctx)->verbose++;
    return 0;
}

static void
options_are_set_or_explained(void **state)
{
    static const struct ef_option table[] = {
        {"name", 'n', "NAME", "a name", set_name},
        {"verbose", 'v', NULL, "more", set_verbose},
        {0},
    };
    struct seen seen = {0};
    struct ef_option_group groups[] = {{"Options", table, &seen}, {0}};
    struct ef_error err = EF_ERROR_INIT;
    char *ok[] = {"p", "--name=a", "-v", "-n", "b", "rest", "--verbose"};
    assert_int_equal(ef_options_parse(groups, 7, ok, &err), 5);
    assert_string_equal(seen.name, "b");
    assert_int_equal(seen.verbose, 1);
    char *wrong[] = {"p", "--nmae", "a"};
    assert_int_equal(ef_options_parse(groups, 3, wrong, &err), -EINVAL);
    assert_string_equal(err.text, "unknown option --nmae; did you mean --name?");
    char *missing[] = {"p", "--name"};
    assert_int_equal(ef_options_parse(groups, 2, missing, &err), -EINVAL);
    assert_string_equal(err.text, "option --name needs a value (NAME)");
    char *extra[] = {"p", "--verbose=1"};
    assert_int_equal(ef_options_parse(groups, 2, extra, &err), -EINVAL);
    char *help[] = {"p", "--help"};
    assert_int_equal(ef_options_parse(groups, 2, help, &err), EF_OPTIONS_HELP);
}

enum { RING_ITEMS = 200000 };

static void *
produce(void *arg)
{
    struct ef_ring *r = arg;
    for (uint64_t i = 0; i < RING_ITEMS;) {
        uint64_t *slot = ef_ring_reserve(r);
        if (slot) {
            *slot = i++;
            ef_ring_commit(r);
        }
        if (!slot || i % 32 == 0 || i == RING_ITEMS) {
            ef_ring_flush(r);
        }
    }
    return NULL;
}

static void
ring_keeps_order_between_threads(void **state)
{
    struct ef_ring r;
    assert_int_equal(ef_ring_init(&r, 1000, sizeof(uint64_t)), 0);
    assert_int_equal(r.mask, 1023);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, produce, &r), 0);
    for (uint64_t expected = 0; expected < RING_ITEMS;) {
        uint64_t *slot = ef_ring_peek(&r);
        if (slot) {
            assert_int_equal(*slot, expected++);
            ef_ring_release(&r);
        }
        ef_ring_release_flush(&r);
    }
    pthread_join(thread, NULL);
    assert_null(ef_ring_peek(&r));
    ef_ring_deinit(&r);
}

static void
full_ring_refuses(void **state)
{
    struct ef_ring r;
    assert_int_equal(ef_ring_init(&r, 4, 8), 0);
    for (int i = 0; i < 4; i++) {
        assert_non_null(ef_ring_reserve(&r));
        ef_ring_commit(&r);
    }
    assert_null(ef_ring_reserve(&r));
    ef_ring_deinit(&r);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_parsed),
        cmocka_unit_test(times_print_and_parse_back),
        cmocka_unit_test(numbers_and_sizes_are_whole_or_refused),
        cmocka_unit_test(options_are_set_or_explained),
        cmocka_unit_test(ring_keeps_order_between_threads),
        cmocka_unit_test(full_ring_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
