/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the accounts by sequence number: cases, and long random streams
 * whose truth is known. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "packet/copy_sequence.h"

enum { W = EF_COPY_SEQUENCE_WINDOW };

static void
check(const struct ef_copy_sequence *s, uint64_t made, uint64_t received, uint64_t duplicates, uint64_t late,
      uint64_t restarts)
{
    struct ef_copy_account a;
    ef_copy_sequence_get(s, &a);
    assert_int_equal(a.n_made, made);
    assert_int_equal(a.n_received, received);
    assert_int_equal(a.n_lost, made - received);
    assert_int_equal(a.n_duplicates, duplicates);
    assert_int_equal(a.n_late, late);
    assert_int_equal(a.n_restarts, restarts);
}

static void
cases(void **state)
{
    static const struct {
        uint32_t numbers[8];
        unsigned n;
        uint64_t made, received, duplicates, late, restarts;
    } cases[] = {
        {{0}, 0, 0, 0, 0, 0, 0},
        {{5}, 1, 1, 1, 0, 0, 0},
        {{5, 6, 7}, 3, 3, 3, 0, 0, 0},
        {{5, 7}, 2, 3, 2, 0, 0, 0},
        {{5, 7, 6}, 3, 3, 3, 0, 0, 0},                        /* Late, but there. */
        {{5, 6, 6, 5}, 4, 2, 2, 2, 0, 0},                     /* Twice. */
        {{5, 3, 4}, 3, 3, 3, 0, 0, 0},                        /* Begun out of order. */
        {{UINT32_MAX, 0, 1}, 3, 3, 3, 0, 0, 0},               /* Wraps. */
        {{0, UINT32_MAX}, 2, 2, 2, 0, 0, 0},                  /* The same, out of order. */
        {{0, 2 * W, 2 * W + 1}, 3, 2 * W + 2, 3, 0, 0, 0},    /* A great loss. */
        {{0, 2 * W, 1, 2 * W + 1}, 4, 2 * W + 2, 3, 0, 1, 0}, /* One of them is there after all. */
        {{0, 2 * W, W + 1}, 3, 2 * W + 1, 3, 0, 0, 0},        /* Just within the window. */
        {{0, 2 * W, W}, 3, 2 * W + 1, 2, 0, 1, 0},            /* Just not. */
        {{1u << 30, 0, 1, 2}, 4, 4, 4, 0, 0, 1},              /* A switch restarted, */
        {{1u << 30, 1, 0, 2}, 4, 4, 4, 0, 0, 1},              /* its copies out of order, */
        {{1u << 30, 0, 2}, 3, 4, 3, 0, 0, 1},                 /* or with a loss, */
        {{5, 1u << 30, (1u << 30) + 1}, 3, 3, 3, 0, 0, 1},    /* or anywhere. */
        {{1u << 30, 7, 7, 7}, 4, 1, 1, 0, 3, 0},              /* One number alone is none. */
        {{1u << 30, 7, 1u << 29, 8}, 4, 1, 1, 0, 3, 0},       /* Nor are those far apart. */
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        struct ef_copy_sequence s = {0};
        for (unsigned k = 0; k < cases[i].n; k++) {
            ef_copy_sequence_add(&s, cases[i].numbers[k]);
        }
        check(&s, cases[i].made, cases[i].received, cases[i].duplicates, cases[i].late, cases[i].restarts);
    }
}

/* A switch that restarts before it has made more copies than the window holds:
 * nothing of what it makes then is lost, and none is a duplicate. */
static void
a_restart_within_the_window_is_one(void **state)
{
    enum { BEFORE = 5000, AFTER = 3000 };
    struct ef_copy_sequence s = {0};
    for (uint32_t i = 0; i < BEFORE; i++) {
        ef_copy_sequence_add(&s, i);
    }
    for (uint32_t i = 0; i < AFTER; i += 1 + (i % 100 == 7)) { /* Some are lost. */
        ef_copy_sequence_add(&s, i);
    }
    struct ef_copy_account a;
    ef_copy_sequence_get(&s, &a);
    assert_int_equal(a.n_restarts, 1);
    assert_int_equal(a.n_duplicates, 0);
    assert_int_equal(a.n_received, BEFORE + AFTER - AFTER / 100);
    assert_int_equal(a.n_lost, AFTER / 100 - 1); /* What was lost before it was known, nobody knows. */
}

/* A network that sends everything twice, or some hundred of them again. */
static void
duplicates_are_no_restart(void **state)
{
    struct ef_copy_sequence s = {0};
    for (uint32_t i = 0; i < 1000; i++) {
        ef_copy_sequence_add(&s, i);
        ef_copy_sequence_add(&s, i);
    }
    for (uint32_t i = 999; i > 0; i--) {
        ef_copy_sequence_add(&s, i);
    }
    for (uint32_t i = 0; i < EF_COPY_SEQUENCE_AGAIN - 1; i++) {
        ef_copy_sequence_add(&s, i);
    }
    check(&s, 1000, 1000, 1999 + EF_COPY_SEQUENCE_AGAIN - 1, 0, 0);
}

static uint32_t
draw(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t) (*seed >> 33);
}

/* Numbers in blocks that are shuffled, some left out, some twice. */
static void
streams_with_known_truth(void **state)
{
    enum { N = 200000, BLOCK = 500 };
    for (uint64_t seed = 1; seed <= 8; seed++) {
        uint64_t x = seed;
        struct ef_copy_sequence *s = calloc(1, sizeof *s);
        uint32_t base = draw(&x), block[BLOCK * 2];
        uint64_t received = 0, duplicates = 0;
        for (uint32_t at = 0; at < N; at += BLOCK) {
            unsigned n = 0;
            for (uint32_t i = at; i < at + BLOCK; i++) {
                bool is_end = i == 0 || i == N - 1; /* They say how many there were. */
                unsigned copies = is_end ? 1 : draw(&x) % 100 < seed ? 0 : draw(&x) % 100 < seed ? 2 : 1;
                for (unsigned k = 0; k < copies; k++) {
                    block[n++] = base + i;
                }
                received += copies > 0;
                duplicates += copies > 1;
            }
            for (unsigned i = n - 1; i > 0; i--) {
                unsigned k = draw(&x) % (i + 1);
                uint32_t number = block[i];
                block[i] = block[k];
                block[k] = number;
            }
            for (unsigned i = 0; i < n; i++) {
                ef_copy_sequence_add(s, block[i]);
            }
        }
        check(s, N, received, duplicates, 0, 0);
        free(s);
    }
}

/* Whatever comes: nothing is counted twice, and no more lost than made. */
static void
any_numbers_leave_the_sums_right(void **state)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        uint64_t x = seed;
        struct ef_copy_sequence s = {0};
        uint32_t number = 0;
        for (unsigned i = 1; i <= 3000; i++) {
            number = draw(&x) % 4 ? number + draw(&x) % 5 - 1 : draw(&x) << (draw(&x) % 20);
            ef_copy_sequence_add(&s, number);
            struct ef_copy_account a;
            ef_copy_sequence_get(&s, &a);
            assert_int_equal(a.n_received + a.n_duplicates + a.n_late, i);
            assert_int_equal(a.n_made, a.n_received + a.n_lost);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases),
        cmocka_unit_test(a_restart_within_the_window_is_one),
        cmocka_unit_test(duplicates_are_no_restart),
        cmocka_unit_test(streams_with_known_truth),
        cmocka_unit_test(any_numbers_leave_the_sums_right),
    };
    return cmocka_run_group_tests_name("packet/copy_sequence", tests, NULL, NULL);
}
