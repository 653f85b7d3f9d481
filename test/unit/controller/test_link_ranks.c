/* SPDX-License-Identifier: Apache-2.0 */
/* Links compared: a delay is found on its link and no other, what all links have
 * in common is nobody's, and nothing is said without enough to compare with. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "controller/link_ranks.h"
#include "controller/topology_links.h"

enum { SPINES = 2, LEAVES = 3, N = SPINES * LEAVES };
static const char *const spines[SPINES] = {"spine1", "spine2"};
static const char *const leaves[LEAVES] = {"leaf1", "leaf2", "leaf3"};

/* Normally distributed, always the same numbers. */
static double
normal(double deviation)
{
    double sum = 0;
    for (int i = 0; i < 12; i++) {
        sum += drand48();
    }
    return (sum - 6) * deviation;
}

/* All links of a fabric; from a leaf it takes 100 us, from a spine 150; each has
 * its own share, up to 30 us of the `history`, and all have `load` in common. */
static void
fabric(struct link_rank ranks[N], bool history, double load, double noise)
{
    for (int i = 0; i < N; i++) {
        struct link_rank *r = &ranks[i];
        *r = (struct link_rank){.a = leaves[i / SPINES], .b = spines[i % SPINES], .kind = {"leaf", "spine"}};
        for (int j = 0; j < 2; j++) {
            double base = (j ? 150 : 100) + (history ? 10 * (i % 4) : 0);
            r->end[j] = (struct link_rank_end){.n = 200,
                                               .floor_us = base + load + normal(noise),
                                               .noise_us = 3 * noise,
                                               .p90_us = base + load + 600 + normal(30),
                                               .base_us = history ? base - 120 : NAN};
        }
    }
}

static void
delay(struct link_rank *rank, double us)
{
    for (int j = 0; j < 2; j++) {
        rank->end[j].floor_us += us;
        rank->end[j].p90_us += us;
    }
}

static void
a_delay_is_found_where_it_is(void **state)
{
    static const double delays[] = {1000, 200, 50};
    srand48(1);
    for (size_t k = 0; k < 3; k++) {
        for (int at = 0; at < N; at++) {
            struct link_rank ranks[N];
            fabric(ranks, true, 37, 5);
            const char *a = ranks[at].a, *b = ranks[at].b;
            delay(&ranks[at], delays[k]);
            link_ranks(ranks, N);
            assert_string_equal(ranks[0].a, a);
            assert_string_equal(ranks[0].b, b);
            assert_true(ranks[0].by_history);
            assert_true(link_rank_is_slow(&ranks[0], link_rank_least_us(&ranks[0])));
            assert_true(fabs(ranks[0].added_us - delays[k]) < 20);
            assert_false(link_rank_is_slow(&ranks[1], link_rank_least_us(&ranks[1])));
            assert_false(link_rank_has_queue(&ranks[0]));
        }
    }
}

/* The interval has what was put on the link about as often as it says, and is no wider than it must be. */
static void
the_interval_has_the_delay(void **state)
{
    enum { ROUNDS = 1000 };
    unsigned inside = 0, found = 0, wrong = 0;
    double widest = 0;
    srand48(6);
    for (int i = 0; i < ROUNDS; i++) {
        struct link_rank ranks[N];
        fabric(ranks, true, i % 300, 6);
        const char *a = ranks[i % N].a, *b = ranks[i % N].b;
        delay(&ranks[i % N], 50);
        link_ranks(ranks, N);
        for (int j = 0; j < N; j++) {
            bool is_it = ranks[j].a == a && ranks[j].b == b;
            bool is_slow = link_rank_is_slow(&ranks[j], link_rank_least_us(&ranks[j]));
            inside += is_it && fabs(ranks[j].added_us - 50) <= link_rank_reach_us(&ranks[j]);
            widest = is_it ? fmax(widest, link_rank_reach_us(&ranks[j])) : widest;
            found += is_it && is_slow;
            wrong += !is_it && is_slow;
            /* What is below the noise floor is not found. */
            assert_true(!is_slow || ranks[j].added_us >= link_rank_noise_floor_us(&ranks[j]));
            assert_int_equal(ranks[j].n_others, N - 1);
        }
    }
    print_message(
        "# 50 us among floors of +- 6: inside of the interval %u of %d times, found %u, others %u; widest +- %.0f\n",
        inside, ROUNDS, found, wrong, widest);
    assert_true(inside >= ROUNDS * 94 / 100);
    assert_true(found >= ROUNDS * 9 / 10);
    assert_int_equal(wrong, 0);
    assert_true(widest < 120);
}

static void
without_history_with_links_of_its_kind(void **state)
{
    struct link_rank ranks[N];
    srand48(2);
    fabric(ranks, false, 0, 8);
    delay(&ranks[3], 200);
    link_ranks(ranks, N);
    assert_string_equal(ranks[0].a, "leaf2");
    assert_string_equal(ranks[0].b, "spine2");
    assert_false(ranks[0].by_history);
    assert_true(link_rank_is_slow(&ranks[0], link_rank_least_us(&ranks[0])));
    assert_true(fabs(ranks[0].added_us - 200) < 20);
    assert_false(link_rank_is_slow(&ranks[1], link_rank_least_us(&ranks[1])));
}

/* What is the same for all is nobody's fault; nor is noise, however often. */
static void
no_false_alarm(void **state)
{
    srand48(3);
    for (int i = 0; i < 2000; i++) {
        struct link_rank ranks[N];
        fabric(ranks, i % 2, i, 8);
        link_ranks(ranks, N);
        assert_false(link_rank_is_slow(&ranks[0], i % 2 ? 30 : 60));
        for (int j = 0; j < N; j++) {
            assert_false(link_rank_has_queue(&ranks[j]));
        }
    }
}

/* Its floor is as ever, now and then it takes long. */
static void
a_queue_is_told_from_a_delay(void **state)
{
    struct link_rank ranks[N];
    unsigned n = 0;
    srand48(4);
    fabric(ranks, true, 0, 5);
    ranks[2].end[0].p90_us += 4000;
    ranks[2].end[1].p90_us += 5000;
    link_ranks(ranks, N);
    for (int i = 0; i < N; i++) {
        assert_false(link_rank_is_slow(&ranks[i], 20));
        if (link_rank_has_queue(&ranks[i])) {
            n++;
            assert_string_equal(ranks[i].a, "leaf2");
            assert_string_equal(ranks[i].b, "spine1");
            assert_true(fabs(ranks[i].queue_us - 4500) < 100);
        }
    }
    assert_int_equal(n, 1);
}

/* What only one end sees is no delay, and no queue, of the link. */
static void
what_one_end_sees_is_no_link(void **state)
{
    struct link_rank ranks[N];
    srand48(9);
    fabric(ranks, true, 0, 5);
    ranks[2].end[1].floor_us += 400;
    ranks[2].end[1].p90_us += 9000;
    link_ranks(ranks, N);
    for (int i = 0; i < N; i++) {
        assert_false(link_rank_is_slow(&ranks[i], 30));
        assert_false(link_rank_has_queue(&ranks[i]));
    }
    assert_true(ranks[0].added_us > 150); /* It is shown, though. */
}

/* On a busy machine the slowest tenth takes long over every link; a bit more of that is no queue. */
static void
a_busy_machine_is_no_queue(void **state)
{
    struct link_rank ranks[N];
    srand48(10);
    fabric(ranks, true, 0, 5);
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < 2; j++) {
            ranks[i].end[j].p90_us += i == 3 ? 5000 : 3000;
        }
    }
    link_ranks(ranks, N);
    for (int i = 0; i < N; i++) {
        assert_false(link_rank_has_queue(&ranks[i]));
    }
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < 2; j++) {
            ranks[i].end[j].p90_us += i == 3 ? 9000 : 0;
        }
    }
    const char *a = ranks[3].a, *b = ranks[3].b;
    link_ranks(ranks, N);
    for (int i = 0; i < N; i++) {
        assert_int_equal(link_rank_has_queue(&ranks[i]), ranks[i].a == a && ranks[i].b == b);
    }
}

/* Some links have slower tenths than others for a while: the machine's, not that of the slowest of them. */
static void
some_slow_links_are_no_queue(void **state)
{
    struct link_rank ranks[N];
    srand48(11);
    fabric(ranks, true, 0, 5);
    for (int i = 0; i < 2 * N; i++) {
        ranks[i / 2].end[i % 2].p90_us += i / 2 == 1 ? 4000 : i / 2 == 4 || i / 2 == 5 ? 2500 : 0;
    }
    link_ranks(ranks, N);
    for (int i = 0; i < N; i++) {
        assert_false(link_rank_has_queue(&ranks[i]));
    }
    fabric(ranks, true, 0, 5);
    ranks[1].end[0].p90_us += 1200; /* A millisecond may be anything's. */
    ranks[1].end[1].p90_us += 1200;
    link_ranks(ranks, N);
    for (int i = 0; i < N; i++) {
        assert_false(link_rank_has_queue(&ranks[i]));
    }
}

static void
the_direction(void **state)
{
    static const struct {
        double there, back, noise, us;
        int direction;
    } cases[] = {
        {1500, 500, 30, 1000, 1},  {500, 1500, 30, 1000, -1}, /* It is there, back. */
        {1500, 1500, 30, 1000, 0},                            /* In both. */
        {700, 520, 20, 200, 1},    {560, 500, 10, 50, 0},     /* Ways differ by as much as 50 us anyway. */
        {700, 520, 150, 200, 0},                              /* The noise is as great, */
        {1500, 500, 30, 200, 0},                              /* or the difference is of something else. */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct round_trips_summary there = {.n = 150, .floor_us = cases[i].there, .noise_us = cases[i].noise},
                                   back = {.n = 150, .floor_us = cases[i].back, .noise_us = cases[i].noise};
        assert_int_equal(link_rank_direction(&there, &back, cases[i].us, false), cases[i].direction);
    }
    struct round_trips_summary there = {.n = 150, .p90_us = 9000, .noise_us = 500}, back = {.n = 150, .p90_us = 900};
    assert_int_equal(link_rank_direction(&there, &back, 8000, true), 1);
    assert_int_equal(link_rank_direction(&back, &there, 8000, true), -1);
}

static void
too_few_say_nothing(void **state)
{
    struct link_rank ranks[N];
    srand48(5);
    fabric(ranks, false, 0, 5);
    delay(&ranks[0], 1000);
    link_ranks(ranks, 2);
    assert_false(ranks[0].is_known);
    link_ranks(ranks, 3);
    assert_true(ranks[0].is_known);
    link_ranks(ranks, 0);
    link_ranks(ranks, 1);
    assert_false(ranks[0].is_known);
    assert_false(link_rank_is_slow(&ranks[0], 0));
    /* One that was not measured is last, and no other's measure. */
    fabric(ranks, true, 0, 5);
    ranks[1].end[0].n = ranks[1].end[1].n = 0;
    ranks[1].end[0].base_us = NAN;
    delay(&ranks[4], 300);
    link_ranks(ranks, N);
    assert_string_equal(ranks[0].a, "leaf3");
    assert_false(ranks[N - 1].is_known);
}

static void
links_of_a_topology(void **state)
{
    json_t *document = json_loads(
        "{\"switches\":[{\"name\":\"leaf1\",\"role\":\"leaf\",\"ports\":[{\"number\":1,\"peer\":{\"node\":\"spine1\"}},"
        "{\"number\":2,\"peer\":{\"node\":\"spine1\"}},{\"number\":3,\"peer\":{\"node\":\"h1\"}},{\"number\":4}]},"
        "{\"name\":\"spine1\",\"ports\":[{\"number\":1,\"peer\":{\"node\":\"leaf1\"}},{\"peer\":{\"node\":\"leaf2\"}}]}"
        ","
        "{\"name\":\"leaf2\",\"ports\":[]},{\"name\":7}]}",
        0, NULL);
    size_t n;
    struct topology_link *links = topology_links(document, &n);
    assert_int_equal(n, 2);
    assert_string_equal(links[0].a, "leaf1");
    assert_string_equal(links[0].a_role, "leaf");
    assert_string_equal(links[0].b, "spine1");
    assert_string_equal(links[0].b_role, "");
    assert_string_equal(links[1].b, "leaf2");
    free(links);
    json_decref(document);
    links = topology_links(NULL, &n);
    assert_int_equal(n, 0);
    free(links);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_delay_is_found_where_it_is),
        cmocka_unit_test(the_interval_has_the_delay),
        cmocka_unit_test(without_history_with_links_of_its_kind),
        cmocka_unit_test(no_false_alarm),
        cmocka_unit_test(a_queue_is_told_from_a_delay),
        cmocka_unit_test(what_one_end_sees_is_no_link),
        cmocka_unit_test(a_busy_machine_is_no_queue),
        cmocka_unit_test(some_slow_links_are_no_queue),
        cmocka_unit_test(the_direction),
        cmocka_unit_test(too_few_say_nothing),
        cmocka_unit_test(links_of_a_topology),
    };
    return cmocka_run_group_tests_name("controller/link_ranks", tests, NULL, NULL);
}
