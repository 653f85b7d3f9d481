/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the consistent hash: equal shares, little movement when an analyzer
 * comes or goes, and the same answer everywhere and in every version. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/util.h"
#include "reshuffler/steer.h"

enum { MAX = EF_STEER_MAX_NAMES };

static char texts[MAX][24];
static const char *names[MAX];

static int
make_names(void **state)
{
    for (int i = 0; i < MAX; i++) {
        snprintf(texts[i], sizeof texts[i], "analyzer%d", i + 1);
        names[i] = texts[i];
    }
    return 0;
}

static void
shares_are_equal(void **state)
{
    static const size_t sizes[] = {1, 2, 3, 5, 10, 64, 512};
    for (size_t k = 0; k < EF_ARRAY_SIZE(sizes); k++) {
        size_t n = sizes[k];
        unsigned shares[MAX] = {0};
        struct ef_steer *steer = ef_steer_create(names, n);
        for (uint64_t slot = 0; slot < EF_STEER_SLOTS; slot++) {
            unsigned i = ef_steer_pick(steer, slot);
            assert_true(i < n);
            shares[i]++;
        }
        for (size_t i = 0; i < n; i++) { /* Taking turns, they differ by one at most. */
            assert_in_range(shares[i], EF_STEER_SLOTS / n, EF_STEER_SLOTS / n + 1);
        }
        free(steer);
    }
}

static void
order_of_names_does_not_matter(void **state)
{
    enum { N = 7 };
    const char *shuffled[N] = {names[3], names[0], names[6], names[2], names[5], names[1], names[4]};
    struct ef_steer *a = ef_steer_create(names, N), *b = ef_steer_create(shuffled, N);
    for (uint64_t slot = 0; slot < EF_STEER_SLOTS; slot++) {
        assert_ptr_equal(names[ef_steer_pick(a, slot)], shuffled[ef_steer_pick(b, slot)]);
    }
    free(a);
    free(b);
}

/* The share of all slots that change their name though it stays, when
 * names[gone] is taken from the first n. */
static double
needless_moves(size_t n, size_t gone)
{
    const char *left[MAX];
    memcpy(left, names, gone * sizeof left[0]);
    memcpy(left + gone, names + gone + 1, (n - gone - 1) * sizeof left[0]);
    struct ef_steer *with = ef_steer_create(names, n), *without = ef_steer_create(left, n - 1);
    unsigned moved = 0;
    for (uint64_t slot = 0; slot < EF_STEER_SLOTS; slot++) {
        unsigned before = ef_steer_pick(with, slot);
        moved += before != gone && names[before] != left[ef_steer_pick(without, slot)];
    }
    free(with);
    free(without);
    return (double) moved / EF_STEER_SLOTS;
}

/* Removing one of n must move its share, 1/n. What moves beyond that is the
 * price of equal shares; adding one is the same comparison the other way. */
static void
coming_and_going_moves_little(void **state)
{
    static const struct {
        size_t n;
        double most;
    } cases[] = {{2, 0.0}, {3, 0.03}, {5, 0.03}, {10, 0.03}, {50, 0.02}, {200, 0.015}};
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        size_t n = cases[i].n;
        double most = 0;
        for (size_t gone = 0; gone < n; gone += 1 + n / 10) {
            most = EF_MAX(most, needless_moves(n, gone));
        }
        print_message("# %zu names: at most %.2f %% of all slots move beyond the %.2f %% that must\n", n, 100 * most,
                      100.0 / (double) n);
        assert_true(most <= cases[i].most);
    }
}

/* Reshufflers of different versions work side by side: the table may not change. */
static void
table_is_the_same_for_ever(void **state)
{
    static const char *const fixed[] = {"analyzer1", "analyzer2", "analyzer3"};
    struct ef_steer *steer = ef_steer_create(fixed, 3);
    assert_int_equal(ef_hash64(steer->slots, sizeof steer->slots), 0xb631c03c1b0d90a1);
    free(steer);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_equal),
        cmocka_unit_test(order_of_names_does_not_matter),
        cmocka_unit_test(coming_and_going_moves_little),
        cmocka_unit_test(table_is_the_same_for_ever),
    };
    return cmocka_run_group_tests(tests, make_names, NULL);
}
