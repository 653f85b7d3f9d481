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

enum { MAX = EF_STEER_MAX_MEMBERS };

static char texts[MAX][24];
static struct ef_steer_member all[MAX]; /* Of weight 100, by number. */

static int
make_names(void **state)
{
    for (int i = 0; i < MAX; i++) {
        snprintf(texts[i], sizeof texts[i], "analyzer%d", i + 1);
        all[i] = (struct ef_steer_member){.name = texts[i], .weight = 100, .id = (uint16_t) i};
    }
    return 0;
}

static struct ef_steer *
make(const struct ef_steer_member members[], size_t n)
{
    struct ef_steer *steer = ef_steer_create(members, n);
    assert_non_null(steer);
    return steer;
}

static void
count_shares(const struct ef_steer *steer, unsigned shares[MAX], size_t n)
{
    memset(shares, 0, n * sizeof shares[0]);
    for (uint64_t slot = 0; slot < EF_STEER_SLOTS; slot++) {
        unsigned id = ef_steer_pick(steer, slot);
        assert_true(id < n);
        shares[id]++;
    }
}

static void
shares_are_equal(void **state)
{
    static const size_t sizes[] = {1, 2, 3, 5, 10, 64, 512};
    for (size_t k = 0; k < EF_ARRAY_SIZE(sizes); k++) {
        size_t n = sizes[k];
        unsigned shares[MAX];
        struct ef_steer *steer = make(all, n);
        count_shares(steer, shares, n);
        for (size_t i = 0; i < n; i++) { /* Taking turns, they differ by one at most. */
            assert_in_range(shares[i], EF_STEER_SLOTS / n, EF_STEER_SLOTS / n + 1);
        }
        free(steer);
    }
}

/* Each has its part of all weights, to within the turns that one round leaves
 * over: n turns for all, of which it has its part, and one of its own. */
static void
shares_are_as_the_weights(void **state)
{
    static const uint16_t cases[][5] = {
        {100, 100, 100, 100, 50}, {1, 1, 1, 1, 1000}, {1, 2, 3, 4, 5}, {999, 1000, 1000, 1, 7}, {300, 300, 300, 100, 1},
    };
    for (size_t k = 0; k < EF_ARRAY_SIZE(cases); k++) {
        struct ef_steer_member members[5];
        unsigned shares[MAX], sum = 0;
        for (unsigned i = 0; i < 5; i++) {
            members[i] = all[i];
            members[i].weight = cases[k][i];
            sum += cases[k][i];
        }
        struct ef_steer *steer = make(members, 5);
        count_shares(steer, shares, 5);
        for (unsigned i = 0; i < 5; i++) {
            double exact = (double) EF_STEER_SLOTS * cases[k][i] / sum, most = 5.0 * cases[k][i] / sum + 1;
            assert_true(shares[i] >= exact - most && shares[i] <= exact + most);
        }
        free(steer);
    }
}

static void
order_and_ids_do_not_matter(void **state)
{
    enum { N = 7 };
    static const unsigned order[N] = {3, 0, 6, 2, 5, 1, 4};
    struct ef_steer_member in_order[N], shuffled[N];
    for (unsigned i = 0; i < N; i++) {
        in_order[i] = all[i];
        in_order[i].weight = (uint16_t) (50 + 10 * i);
        in_order[i].is_away = i == 2 || i == 5;
    }
    for (unsigned i = 0; i < N; i++) {
        shuffled[i] = in_order[order[i]];
        shuffled[i].id = (uint16_t) (200 - i);
    }
    struct ef_steer *a = make(in_order, N), *b = make(shuffled, N);
    for (uint64_t slot = 0; slot < EF_STEER_SLOTS; slot++) {
        assert_int_equal(ef_steer_pick(a, slot), order[200 - ef_steer_pick(b, slot)]);
    }
    free(a);
    free(b);
}

/* The share of all slots that change their name though it stays, when
 * all[gone] is taken from the first n. */
static double
needless_moves(size_t n, size_t gone)
{
    struct ef_steer_member left[MAX];
    memcpy(left, all, gone * sizeof left[0]);
    memcpy(left + gone, all + gone + 1, (n - gone - 1) * sizeof left[0]);
    struct ef_steer *with = make(all, n), *without = make(left, n - 1);
    unsigned moved = 0;
    for (uint64_t slot = 0; slot < EF_STEER_SLOTS; slot++) {
        unsigned before = ef_steer_pick(with, slot);
        moved += before != gone && before != ef_steer_pick(without, slot);
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

/* Who goes away, one after the other and then back in another order: at each
 * step exactly the slots of that one move, and when all are back nothing has. */
static void
away_moves_exactly_its_share(void **state)
{
    enum { N = 8 };
    static const struct {
        unsigned who;
        bool is_away;
    } steps[] = {{3, true}, {0, true}, {7, true}, {0, false}, {5, true}, {3, false}, {7, false}, {5, false}};
    struct ef_steer_member members[N];
    memcpy(members, all, sizeof members);
    members[1].weight = 300;
    struct ef_steer *first = make(members, N), *before = make(members, N);
    for (size_t k = 0; k < EF_ARRAY_SIZE(steps); k++) {
        members[steps[k].who].is_away = steps[k].is_away;
        struct ef_steer *after = make(members, N);
        for (uint64_t slot = 0; slot < EF_STEER_SLOTS; slot++) {
            unsigned was = ef_steer_pick(before, slot), is = ef_steer_pick(after, slot);
            assert_true(was == is || (steps[k].is_away ? was : is) == steps[k].who);
            assert_false(members[is].is_away);
            assert_int_equal(ef_steer_home(after, slot), ef_steer_pick(first, slot));
        }
        free(before);
        before = after;
    }
    assert_memory_equal(first, before, sizeof *first);
    free(first);
    free(before);
}

/* What one leaves is spread by weight, to within four standard deviations. */
static void
what_is_left_is_spread_by_weight(void **state)
{
    enum { N = 4 };
    static const uint16_t weights[N] = {100, 100, 200, 400};
    struct ef_steer_member members[N];
    unsigned gained[N] = {0}, sum = 0;
    for (unsigned i = 0; i < N; i++) {
        members[i] = all[i];
        members[i].weight = weights[i];
        members[i].is_away = i == 0;
    }
    struct ef_steer *steer = make(members, N);
    for (uint64_t slot = 0; slot < EF_STEER_SLOTS; slot++) {
        if (ef_steer_home(steer, slot) == 0) {
            gained[ef_steer_pick(steer, slot)]++;
            sum++;
        }
    }
    assert_int_equal(gained[0], 0);
    for (unsigned i = 1; i < N; i++) {
        double p = weights[i] / 700.0, off = gained[i] - sum * p;
        assert_true(off * off <= 16 * sum * p * (1 - p));
    }
    free(steer);
}

static void
all_away_is_nobody(void **state)
{
    struct ef_steer_member members[2] = {all[0], all[1]};
    members[0].is_away = members[1].is_away = true;
    struct ef_steer *steer = make(members, 2);
    for (uint64_t slot = 0; slot < EF_STEER_SLOTS; slot++) {
        assert_int_equal(ef_steer_pick(steer, slot), EF_STEER_NOBODY);
    }
    free(steer);
}

/* One tiny survivor among many: found though no draw meets it. */
static void
a_last_survivor_gets_all(void **state)
{
    struct ef_steer_member members[100];
    for (unsigned i = 0; i < 100; i++) {
        members[i] = all[i];
        members[i].weight = i == 42 ? 1 : 1000;
        members[i].is_away = i != 42;
    }
    struct ef_steer *steer = make(members, 100);
    for (uint64_t slot = 0; slot < EF_STEER_SLOTS; slot++) {
        assert_int_equal(ef_steer_pick(steer, slot), 42);
    }
    free(steer);
}

/* Reshufflers of different versions work side by side: the table may not change. */
static void
table_is_the_same_for_ever(void **state)
{
    struct ef_steer_member fixed[] = {all[0], all[1], all[2]};
    struct ef_steer *steer = make(fixed, 3);
    assert_int_equal(ef_hash64(steer->slots, sizeof steer->slots), 0xb631c03c1b0d90a1);
    free(steer);
    fixed[1].weight = 37;
    fixed[2].is_away = true;
    steer = make(fixed, 3);
    assert_int_equal(ef_hash64(steer->slots, sizeof steer->slots), 0x1ef08086df0a8684);
    free(steer);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_equal),
        cmocka_unit_test(shares_are_as_the_weights),
        cmocka_unit_test(order_and_ids_do_not_matter),
        cmocka_unit_test(coming_and_going_moves_little),
        cmocka_unit_test(away_moves_exactly_its_share),
        cmocka_unit_test(what_is_left_is_spread_by_weight),
        cmocka_unit_test(all_away_is_nobody),
        cmocka_unit_test(a_last_survivor_gets_all),
        cmocka_unit_test(table_is_the_same_for_ever),
    };
    return cmocka_run_group_tests(tests, make_names, NULL);
}
