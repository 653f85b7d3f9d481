/* SPDX-License-Identifier: Apache-2.0 */
/* The sequential test of shares, by simulation with many seeds: how often even shares are
 * called uneven, after how many flows uneven ones are, and that a fault is forgotten when it
 * is over. Prints the numbers; the limits leave room. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "controller/ecmp_sequence.h"

enum { N_SEEDS = 1000 };

/* The same numbers everywhere (xorshift64*). */
static uint64_t state_of_chance;

static double
chance(void)
{
    state_of_chance ^= state_of_chance >> 12;
    state_of_chance ^= state_of_chance << 25;
    state_of_chance ^= state_of_chance >> 27;
    return (double) (state_of_chance * 0x2545f4914f6cdd1d >> 11) / 9007199254740992.0;
}

static void
seed(uint64_t number)
{
    state_of_chance = number * 0x9e3779b97f4a7c15 + 1;
    for (int i = 0; i < 8; i++) {
        chance();
    }
}

/* Way 0 with `share`, the others alike. */
static size_t
choose(size_t n_ways, double share)
{
    double x = chance();
    return x < share ? 0 : 1 + (size_t) ((x - share) / (1 - share) * (double) (n_ways - 1)) % (n_ways - 1);
}

static void
add(struct ecmp_sequence *s, double share, unsigned *number)
{
    ecmp_sequence_add(s, choose(s->n_ways, share), (struct ef_time){.ns = (int64_t)++ * number});
}

/* The flows until it says what is expected, at most `limit`. */
static unsigned
flows_until(struct ecmp_sequence *s, bool is_uneven, double share, unsigned *number, unsigned limit)
{
    unsigned before = *number;
    while (s->is_uneven != is_uneven && *number - before < limit) {
        add(s, share, number);
    }
    return *number - before;
}

static int
compare(const void *a, const void *b)
{
    return (*(const unsigned *) a > *(const unsigned *) b) - (*(const unsigned *) a < *(const unsigned *) b);
}

/* --- Even shares ---------------------------------------------------------- */

/* On average there are at least as many flows between two false alarms as was asked for. */
static void
false_alarms_are_as_rare_as_asked_for(void **state)
{
    static const double asked[] = {100, 1000, 10000};
    static const size_t ways[] = {2, 3, 8};
    for (size_t i = 0; i < 3; i++) {
        for (size_t j = 0; j < 3; j++) {
            struct ecmp_sequence s;
            unsigned n = 0, alarms = 0, total = (unsigned) (300 * asked[j]) / (unsigned) (j + 1);
            seed(i * 10 + j);
            ecmp_sequence_init(&s, ways[i], asked[j]);
            while (n < total) {
                add(&s, 1.0 / (double) ways[i], &n);
                if (s.is_uneven) {
                    alarms++;
                    ecmp_sequence_init(&s, ways[i], asked[j]);
                }
            }
            print_message("# %zu ways, a false alarm in %.0f flows asked for: %u in %u\n", ways[i], asked[j], alarms,
                          total);
            assert_true(alarms * asked[j] <= total);
        }
    }
}

/* As the watcher has it: none at all. */
static void
even_shares_never_alarm(void **state)
{
    for (size_t ways = 2; ways <= 4; ways++) {
        for (unsigned i = 0; i < N_SEEDS; i++) {
            struct ecmp_sequence s;
            unsigned n = 0;
            seed(i);
            ecmp_sequence_init(&s, ways, 1e7);
            assert_int_equal(flows_until(&s, true, 1.0 / (double) ways, &n, 1000), 1000);
        }
    }
}

/* --- Uneven shares -------------------------------------------------------- */

/* The median and the worst of all seeds, after 500 even flows that do not delay it. */
static void
detection(size_t ways, double share, unsigned median_at_most, unsigned worst_at_most)
{
    static unsigned taken[N_SEEDS];
    unsigned early = 0;
    for (unsigned i = 0; i < N_SEEDS; i++) {
        struct ecmp_sequence s;
        unsigned n = 0;
        seed(i);
        ecmp_sequence_init(&s, ways, 1e7);
        while (n < 500) {
            add(&s, 1.0 / (double) ways, &n);
        }
        taken[i] = flows_until(&s, true, share, &n, 100000);
        assert_true(s.is_uneven);
        assert_int_equal(s.way, 0);
        early += s.since.ns < 400;
    }
    qsort(taken, N_SEEDS, sizeof *taken, compare);
    print_message("# %zu ways, one with %.0f %%: found after %u flows (median), %u (99 of 100), %u (worst)\n", ways,
                  100 * share, taken[N_SEEDS / 2], taken[N_SEEDS * 99 / 100], taken[N_SEEDS - 1]);
    assert_true(taken[N_SEEDS / 2] <= median_at_most);
    assert_true(taken[N_SEEDS - 1] <= worst_at_most);
    /* And it is known, more or less, when it began. */
    assert_true(early <= N_SEEDS / 10);
}

static void
uneven_shares_are_found(void **state)
{
    detection(2, 0.95, 40, 100);
    detection(2, 0.8, 110, 300);
    detection(2, 0.7, 250, 700);
    detection(3, 0.95, 25, 60);
    detection(4, 0.6, 80, 200);
}

static void
one_that_stays_uneven_stays_found(void **state)
{
    struct ecmp_sequence s;
    unsigned n = 0, over = 0;
    seed(7);
    ecmp_sequence_init(&s, 2, 1e7);
    flows_until(&s, true, 0.95, &n, 1000);
    while (n < 100000) {
        add(&s, 0.95, &n);
        if (!s.is_uneven) {
            over++;
            flows_until(&s, true, 0.95, &n, 1000);
        }
    }
    assert_true(over <= 1);
}

/* However long it lasted, some fair flows end it, and it does not come back by itself. */
static void
what_is_over_is_forgotten(void **state)
{
    static unsigned taken[N_SEEDS];
    for (unsigned i = 0; i < N_SEEDS; i++) {
        struct ecmp_sequence s;
        unsigned n = 0;
        seed(i);
        ecmp_sequence_init(&s, 2, 1e7);
        while (n < 1000 + i) {
            add(&s, 0.95, &n);
        }
        flows_until(&s, true, 0.95, &n, 1000);
        taken[i] = flows_until(&s, false, 0.5, &n, 1000);
        assert_false(s.is_uneven);
        assert_int_equal(flows_until(&s, true, 0.5, &n, 1000), 1000);
        /* The next fault is one of its own. */
        unsigned began = n;
        flows_until(&s, true, 0.95, &n, 1000);
        assert_true(s.is_uneven && s.since.ns > began - 100);
    }
    qsort(taken, N_SEEDS, sizeof *taken, compare);
    print_message("# fair again: known after %u flows (median), %u (99 of 100), %u (worst)\n", taken[N_SEEDS / 2],
                  taken[N_SEEDS * 99 / 100], taken[N_SEEDS - 1]);
    assert_true(taken[N_SEEDS / 2] <= 25);
    assert_true(taken[N_SEEDS - 1] <= 100);
}

/* All that are seen took one way, but as many are not seen. */
static void
what_is_not_known_is_no_evidence(void **state)
{
    struct ecmp_sequence s;
    ecmp_sequence_init(&s, 2, 1e7);
    for (unsigned n = 0; n < 100000; n++) {
        ecmp_sequence_add(&s, n % 2 ? 0 : 2, (struct ef_time){.ns = n});
    }
    assert_false(s.is_uneven);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(false_alarms_are_as_rare_as_asked_for),
        cmocka_unit_test(even_shares_never_alarm),
        cmocka_unit_test(uneven_shares_are_found),
        cmocka_unit_test(one_that_stays_uneven_stays_found),
        cmocka_unit_test(what_is_over_is_forgotten),
        cmocka_unit_test(what_is_not_known_is_no_evidence),
    };
    return cmocka_run_group_tests_name("controller/ecmp_sequence", tests, NULL, NULL);
}
