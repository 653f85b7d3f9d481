/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of lib/store/index.h: every form of an index, of every type of column,
 * answers as a look at every row does, within the memory that it promises. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "store/index.h"

enum { MAX_WIDTH = 40, MAX_VALUES = 3 * EF_INDEX_MAX_ROWS };

static uint8_t values[MAX_VALUES * MAX_WIDTH];
static uint32_t rows[MAX_VALUES];
static uint64_t state = 42;

static uint64_t
random_number(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * UINT64_C(0x2545f4914f6cdd1d);
}

static struct ef_index_scratch *
scratch(void)
{
    static struct ef_index_scratch *s;
    if (!s) {
        s = ef_index_scratch_create();
        assert_non_null(s);
    }
    return s;
}

/* One value among `n_keys`, spread over all of its bytes. */
static void
make_value(uint8_t *value, uint32_t width, uint64_t n_keys, uint64_t salt)
{
    uint64_t key = random_number() % n_keys;
    for (uint32_t i = 0; i < width; i++) {
        key = (key + salt) * UINT64_C(0x9e3779b97f4a7c15);
        value[i] = (uint8_t) (key >> 56);
    }
}

static void
check_range(const struct ef_index_input *in, const struct ef_index *index, const void *low, const void *high)
{
    static uint64_t bits[EF_INDEX_WORDS], expected[EF_INDEX_WORDS];
    memset(bits, 0, sizeof bits);
    memset(expected, 0, sizeof expected);
    uint32_t n = 0;
    for (uint32_t i = 0; i < in->n; i++) {
        const uint8_t *value = in->values + (size_t) i * in->width;
        uint32_t row = in->rows ? in->rows[i] : i;
        if (ef_index_compare(in->type, in->width, low, value) <= 0 &&
            ef_index_compare(in->type, in->width, value, high) <= 0) {
            expected[row / 64] |= UINT64_C(1) << row % 64;
            n++;
        }
    }
    struct ef_index_range range = ef_index_find(index, low, high);
    assert_int_equal(range.n, n);
    ef_index_mark(index, range, bits);
    assert_memory_equal(bits, expected, sizeof bits);
}

/* Values that are there, ranges between such, and any. */
static void
check_index(const struct ef_index_input *in, const struct ef_index *index)
{
    uint8_t least[MAX_WIDTH] = {0}, most[MAX_WIDTH], any[2][MAX_WIDTH];
    memset(most, 0xff, sizeof most);
    if (in->type == EF_COLUMN_TIME) { /* Little or big endian, this is the least and the most. */
        memcpy(least, &(int64_t){INT64_MIN}, 8);
        memcpy(most, &(int64_t){INT64_MAX}, 8);
    }
    check_range(in, index, least, most);
    check_range(in, index, most, least);
    for (int i = 0; i < 4; i++) {
        make_value(any[0], in->width, UINT64_MAX, 1);
        make_value(any[1], in->width, UINT64_MAX, 1);
        check_range(in, index, any[0], any[1]);
        check_range(in, index, any[0], any[0]);
        if (in->n) {
            const uint8_t *a = in->values + random_number() % in->n * in->width;
            const uint8_t *b = in->values + random_number() % in->n * in->width;
            check_range(in, index, a, a);
            check_range(in, index, a, b);
            check_range(in, index, least, b);
        }
    }
}

static void
check_memory(const struct ef_index_input *in, const struct ef_index *index, uint64_t n_keys)
{
    assert_true(index->bytes <= ef_index_max_bytes(in->n, in->width, in->rows != NULL));
    uint64_t n_different = EF_MIN(n_keys, in->n);
    if (in->width <= 16) { /* What the store promises. */
        assert_true(index->bytes <= sizeof *index + 8 + 4 * (uint64_t) in->n + 200 * n_different);
    }
    if (!in->rows) {
        assert_true(index->bytes <= sizeof *index + 8 + 4 * (uint64_t) in->n + 16 * ((uint64_t) in->width + 4));
    }
}

static const struct {
    enum ef_column_type type;
    uint32_t width;
} types[] = {{EF_COLUMN_U8, 1},    {EF_COLUMN_U16, 2},   {EF_COLUMN_U32, 4},   {EF_COLUMN_U64, 8},
             {EF_COLUMN_TIME, 8},  {EF_COLUMN_IPV4, 4},  {EF_COLUMN_IPV6, 16}, {EF_COLUMN_MAC, 6},
             {EF_COLUMN_BYTES, 1}, {EF_COLUMN_BYTES, 7}, {EF_COLUMN_BYTES, 40}};
static const uint32_t sizes[] = {0, 1, 2, 63, 64, 65, 1000, 4097, EF_INDEX_MAX_ROWS};
static const uint64_t cardinalities[] = {1, 2, 15, 17, 300, 20000, UINT64_MAX};

static void
test_single_valued(void **state_)
{
    (void) state_;
    for (size_t t = 0; t < EF_ARRAY_SIZE(types); t++) {
        for (size_t s = 0; s < EF_ARRAY_SIZE(sizes); s++) {
            for (size_t c = 0; c < EF_ARRAY_SIZE(cardinalities); c++) {
                struct ef_index_input in = {types[t].type, types[t].width, values, sizes[s], sizes[s], NULL};
                for (uint32_t i = 0; i < in.n; i++) {
                    make_value(values + (size_t) i * in.width, in.width, cardinalities[c], 7);
                }
                struct ef_index *index = ef_index_build(&in, scratch());
                assert_non_null(index);
                check_index(&in, index);
                check_memory(&in, index, cardinalities[c]);
                ef_index_destroy(index);
            }
        }
    }
}

/* Runs of numbers: constant high bits, a digit's border, what is in order. */
static void
test_numbers(void **state_)
{
    (void) state_;
    static const struct {
        uint64_t first, spread;
        bool is_ascending;
        enum ef_index_form form;
    } cases[] = {
        {0x0a000000, 256, false, EF_INDEX_POSTINGS},
        {0x0a000ffe, 5, false, EF_INDEX_BITMAPS},
        {UINT64_C(0xfffffffe), 5, false, EF_INDEX_BITMAPS},
        {UINT64_C(1700000000000000000), 100000, false, EF_INDEX_POSTINGS},
        {UINT64_MAX - 70000, 70000, false, EF_INDEX_POSTINGS},
        {0, 3, true, EF_INDEX_IN_ORDER},
        {UINT64_C(0xfffffff0), 1, true, EF_INDEX_IN_ORDER},
    };
    for (size_t c = 0; c < EF_ARRAY_SIZE(cases); c++) {
        struct ef_index_input in = {EF_COLUMN_U64, 8, values, 30000, 30000, NULL};
        uint64_t number = cases[c].first;
        for (uint32_t i = 0; i < in.n; i++) {
            uint64_t step = random_number() % cases[c].spread;
            number = cases[c].is_ascending ? number + step : cases[c].first + step;
            memcpy(values + i * sizeof number, &number, sizeof number);
        }
        struct ef_index *index = ef_index_build(&in, scratch());
        assert_non_null(index);
        assert_int_equal(index->form, cases[c].form);
        check_index(&in, index);
        ef_index_destroy(index);
    }
}

/* Times before 1970 come before those after. */
static void
test_times(void **state_)
{
    (void) state_;
    struct ef_index_input in = {EF_COLUMN_TIME, 8, values, 20000, 20000, NULL};
    for (uint32_t i = 0; i < in.n; i++) {
        int64_t ns = (int64_t) (random_number() % 10000) - 5000;
        memcpy(values + i * sizeof ns, &ns, sizeof ns);
    }
    struct ef_index *index = ef_index_build(&in, scratch());
    assert_non_null(index);
    check_index(&in, index);
    check_range(&in, index, &(int64_t){-10}, &(int64_t){10});
    ef_index_destroy(index);
}

/* No, one or several values per row; the values themselves go away after. */
static void
test_multi_valued(void **state_)
{
    (void) state_;
    for (size_t t = 0; t < EF_ARRAY_SIZE(types); t++) {
        for (size_t c = 0; c < EF_ARRAY_SIZE(cardinalities); c++) {
            for (uint32_t n_rows = 1; n_rows <= EF_INDEX_MAX_ROWS; n_rows *= 256) {
                struct ef_index_input in = {types[t].type, types[t].width, values, 0, n_rows, rows};
                for (uint32_t row = 0; row < n_rows; row++) {
                    for (uint64_t k = random_number() % 4; k > 0; k--) {
                        make_value(values + (size_t) in.n * in.width, in.width, cardinalities[c], 7);
                        rows[in.n++] = row;
                    }
                }
                struct ef_index *index = ef_index_build(&in, scratch());
                assert_non_null(index);
                check_index(&in, index);
                check_memory(&in, index, cardinalities[c]);
                assert_true(!in.n || index->n_keys > 0);
                ef_index_destroy(index);
            }
        }
    }
}

static int
free_scratch(void **state_)
{
    (void) state_;
    ef_index_scratch_destroy(scratch());
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_single_valued),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_multi_valued),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, free_scratch);
}
