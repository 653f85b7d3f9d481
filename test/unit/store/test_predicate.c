/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of lib/store/predicate: messages, terms and normal form, and random
 * expressions, alone and in sets, against the same expressions evaluated row by
 * row while their text is made. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "base/util.h"
#include "store/predicate.h"
#include "store/predicate_kernels.h"

struct record {
    struct ef_time time;
    uint32_t src, dst;
    uint16_t port;
    uint8_t flags;
    uint64_t wide;
    uint8_t mac[6], address[16], payload[5];
};

static const struct ef_column columns[] = {
    {"time", EF_COLUMN_TIME, offsetof(struct record, time)},
    {"src", EF_COLUMN_IPV4, offsetof(struct record, src)},
    {"dst", EF_COLUMN_IPV4, offsetof(struct record, dst)},
    {"port", EF_COLUMN_U16, offsetof(struct record, port)},
    {"flags", EF_COLUMN_U8, offsetof(struct record, flags)},
    {"wide", EF_COLUMN_U64, offsetof(struct record, wide)},
    {"mac", EF_COLUMN_MAC, offsetof(struct record, mac)},
    {"address", EF_COLUMN_IPV6, offsetof(struct record, address)},
    {"payload", EF_COLUMN_BYTES, offsetof(struct record, payload), 5},
};

enum { N_COLUMNS = EF_ARRAY_SIZE(columns), N_ROWS = 300 };

static struct ef_schema schema;
static uint8_t *values[N_COLUMNS]; /* Each an allocation of its own, so that reading beyond it is noticed. */
static unsigned seed = 1;

static uint32_t
draw(uint32_t n)
{
    return (uint32_t) rand_r(&seed) % n;
}

static int
setup(void **state)
{
    struct ef_error err = EF_ERROR_INIT;
    assert_int_equal(ef_schema_init(&schema, columns, N_COLUMNS, sizeof(struct record), &err), 0);
    for (unsigned c = 0; c < N_COLUMNS; c++) {
        uint32_t width = schema.columns[c].width;
        values[c] = malloc((size_t) N_ROWS * width);
        assert_non_null(values[c]);
        for (uint32_t i = 0; i < N_ROWS * width; i++) {
            values[c][i] = 0;
        }
        for (uint32_t row = 0; row < N_ROWS; row++) { /* Few different values, also negative times. */
            uint8_t *p = values[c] + (size_t) row * width;
            bool low_first = ef_column_is_number(&schema.columns[c]);
            p[low_first ? 0 : width - 1] = (uint8_t) draw(8);
            uint8_t top = c == 0 ? 0xff : (uint8_t) (0x80 + draw(2)); /* 1967 can be written as text, 1678 not. */
            p[low_first ? width - 1 : 0] |= draw(2) ? 0 : top;
        }
    }
    return 0;
}

static int
teardown(void **state)
{
    for (unsigned c = 0; c < N_COLUMNS; c++) {
        free(values[c]);
    }
    return 0;
}

/* --- Random expressions, evaluated as they are written -------------------------------- */

struct expression {
    char text[8192];
    size_t len;
};

static void EF_PRINTF(2, 3) put(struct expression *e, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    e->len += (size_t) vsnprintf(e->text + e->len, sizeof e->text - e->len, fmt, args);
    va_end(args);
    assert_true(e->len < sizeof e->text);
}

static void
put_value(struct expression *e, unsigned column, ef_u128 v)
{
    switch (columns[column].type) {
    case EF_COLUMN_IPV4:
        put(e, "%u.%u.%u.%u", (unsigned) (v >> 24) & 255, (unsigned) (v >> 16) & 255, (unsigned) (v >> 8) & 255,
            (unsigned) v & 255);
        break;
    case EF_COLUMN_MAC:
        for (int i = 40; i >= 0; i -= 8) {
            put(e, "%02x%s", (unsigned) (v >> i) & 255, i ? ":" : "");
        }
        break;
    case EF_COLUMN_IPV6:
        for (int i = 112; i >= 0; i -= 16) {
            put(e, "%x%s", (unsigned) (v >> i) & 65535, i ? ":" : "");
        }
        break;
    case EF_COLUMN_TIME: {
        char text[EF_TIME_TEXT_SIZE];
        put(e, "%s", ef_time_format((struct ef_time){(int64_t) ((uint64_t) v - (UINT64_C(1) << 63))}, text));
        break;
    }
    default:
        put(e, "%llu", (unsigned long long) v);
    }
}

static ef_u128
value_at(unsigned column, uint32_t row)
{
    return ef_column_value(columns[column].type, values[column] + (size_t) row * schema.columns[column].width);
}

/* A value of the column that some row has, or one beside it. */
static ef_u128
some_value(unsigned column)
{
    ef_u128 v = value_at(column, draw(N_ROWS));
    unsigned bits = 8 * schema.columns[column].width;
    ef_u128 greatest = bits == 128 ? ~(ef_u128) 0 : ((ef_u128) 1 << bits) - 1;
    return draw(4) == 0 && v < greatest ? v + 1 : draw(4) == 0 && v > 0 ? v - 1 : v;
}

static bool
compare(int relation, ef_u128 a, ef_u128 b)
{
    return relation == 0   ? a == b
           : relation == 1 ? a != b
           : relation == 2 ? a < b
           : relation == 3 ? a <= b
           : relation == 4 ? a > b
                           : a >= b;
}

static void
make_test(struct expression *e, bool rows[N_ROWS])
{
    static const char *const relations[] = {"==", "!=", "<", "<=", ">", ">="};
    unsigned column = draw(8), relation = draw(6), kind = draw(6);
    ef_u128 a = some_value(column), b = some_value(column), mask = ~(ef_u128) 0;
    put(e, "%s", columns[column].name);
    if (kind == 0 && columns[column].type == EF_COLUMN_IPV4) {
        unsigned other = 3 - column;
        put(e, " %s %s", relations[relation], columns[other].name);
        for (uint32_t i = 0; i < N_ROWS; i++) {
            rows[i] = compare((int) relation, value_at(column, i), value_at(other, i));
        }
        return;
    }
    if (kind == 1) { /* A set, with a range. */
        ef_u128 c = some_value(column);
        put(e, " in {");
        put_value(e, column, c);
        put(e, ", ");
        put_value(e, column, a);
        put(e, "..");
        put_value(e, column, b);
        put(e, "}");
        for (uint32_t i = 0; i < N_ROWS; i++) {
            ef_u128 v = value_at(column, i);
            rows[i] = v == c || (v >= a && v <= b);
        }
        return;
    }
    if (kind == 2 && columns[column].type == EF_COLUMN_IPV4) { /* A prefix. */
        put(e, " == ");
        put_value(e, column, a);
        put(e, "/30");
        for (uint32_t i = 0; i < N_ROWS; i++) {
            rows[i] = value_at(column, i) >> 2 == a >> 2;
        }
        return;
    }
    bool has_mask = kind == 3 && columns[column].type <= EF_COLUMN_U64;
    if (has_mask) {
        mask = 1 + draw(200);
        put(e, " & %llu", (unsigned long long) mask);
    }
    if (has_mask && draw(2)) {
        for (uint32_t i = 0; i < N_ROWS; i++) {
            rows[i] = value_at(column, i) & mask;
        }
        return;
    }
    put(e, " %s ", relations[relation]);
    put_value(e, column, a);
    for (uint32_t i = 0; i < N_ROWS; i++) {
        rows[i] = compare((int) relation, value_at(column, i) & mask, a);
    }
}

static void
make_expression(struct expression *e, bool rows[N_ROWS], unsigned depth)
{
    if (!depth || draw(4) == 0) {
        make_test(e, rows);
        return;
    }
    bool negate = draw(3) == 0, is_and = draw(2);
    unsigned n = 1 + draw(3);
    put(e, "%s(", negate ? "!" : "");
    for (uint32_t i = 0; i < N_ROWS; i++) {
        rows[i] = is_and;
    }
    for (unsigned k = 0; k < n; k++) {
        bool child[N_ROWS];
        put(e, k ? is_and ? " && " : " || " : "");
        make_expression(e, child, depth - 1);
        for (uint32_t i = 0; i < N_ROWS; i++) {
            rows[i] = is_and ? rows[i] && child[i] : rows[i] || child[i];
        }
    }
    put(e, ")");
    for (uint32_t i = 0; i < N_ROWS; i++) {
        rows[i] ^= negate;
    }
}

static void
check_bits(const char *text, const uint64_t *bits, const bool *rows, uint32_t n)
{
    for (uint32_t i = 0; i < (n + 63) / 64 * 64; i++) {
        if ((bits[i / 64] >> i % 64 & 1) != (i < n && rows[i])) {
            fail_msg("row %u of %u: %s", i, n, text);
        }
    }
}

/* The normal form says the same as the tree, row by row. */
static void
check_dnf(const struct ef_predicate *p, const bool rows[N_ROWS])
{
    for (uint32_t row = 0; row < N_ROWS && ef_predicate_n_conjunctions(p) != -E2BIG; row++) {
        bool matches = false;
        for (int c = 0; c < ef_predicate_n_conjunctions(p); c++) {
            unsigned n;
            const uint16_t *terms = ef_predicate_conjunction(p, (unsigned) c, &n);
            bool all = true;
            for (unsigned i = 0; i < n; i++) {
                const struct ef_term *t = ef_predicate_term(p, terms[i]);
                ef_u128 v = value_at(t->column, row);
                bool in = false;
                for (uint32_t k = 0; k < t->n_ranges; k++) {
                    in |= (v & t->mask) >= t->ranges[k].low && (v & t->mask) <= t->ranges[k].high;
                }
                if (t->right_column >= 0) {
                    static const int relations[] = {0, 1, -1, -1, 2, 3, 4, 5};
                    in = compare(relations[t->relation], v, value_at((unsigned) t->right_column, row));
                }
                all = all && in;
            }
            matches = matches || all;
        }
        assert_int_equal(matches, rows[row]);
    }
}

enum { N_SET = 20 };

static void
test_random(void **state)
{
    static struct expression texts[N_SET];
    static bool rows[N_SET][N_ROWS];
    struct ef_predicate *predicates[N_SET];
    static uint64_t bits[N_SET * EF_PREDICATE_CHUNK_WORDS];
    int n_too_big = 0, n_normal = 0;
    for (int round = 0; round < 60; round++) {
        for (unsigned i = 0; i < N_SET; i++) {
            texts[i].len = 0;
            struct ef_error err = EF_ERROR_INIT;
            if (i % 5 == 4) { /* Twice in the set. */
                texts[i] = texts[i - 1];
                memcpy(rows[i], rows[i - 1], sizeof rows[i]);
            } else {
                make_expression(&texts[i], rows[i], draw(5));
            }
            if (ef_predicate_compile(texts[i].text, &schema, &predicates[i], &err)) {
                fail_msg("%s: %s", err.text, texts[i].text);
            }
            uint32_t n = draw(N_ROWS + 1), first = draw(N_ROWS + 1 - n);
            ef_predicate_eval(predicates[i], (const uint8_t *const *) values, first, n, bits);
            check_bits(texts[i].text, bits, rows[i] + first, n);
            check_dnf(predicates[i], rows[i]);
            n_too_big += ef_predicate_n_conjunctions(predicates[i]) == -E2BIG;
            n_normal += ef_predicate_n_conjunctions(predicates[i]) > 1;
        }
        struct ef_predicate_set *set;
        assert_int_equal(ef_predicate_set_create((const struct ef_predicate *const *) predicates, N_SET, &set), 0);
        struct ef_predicate_scratch *scratch = ef_predicate_scratch_create(set);
        assert_non_null(scratch);
        for (int k = 0; k < 3; k++) {
            uint32_t n = draw(N_ROWS + 1), first = draw(N_ROWS + 1 - n);
            memset(bits, 0xa5, sizeof bits);
            ef_predicate_set_eval(set, scratch, NULL, (const uint8_t *const *) values, first, n, bits);
            for (unsigned i = 0; i < N_SET; i++) {
                check_bits(texts[i].text, bits + i * EF_PREDICATE_CHUNK_WORDS, rows[i] + first, n);
            }
        }
        ef_predicate_scratch_destroy(scratch);
        ef_predicate_set_destroy(set);
        for (unsigned i = 0; i < N_SET; i++) {
            ef_predicate_destroy(predicates[i]);
        }
    }
    assert_true(n_too_big > 0 && n_normal > 100);
}

static void
test_kernels(void **state)
{
    enum { BLOCKS = 3 };
    uint8_t numbers[BLOCKS * 64 * 8 + 1];
    for (int round = 0; round < 300; round++) {
        for (size_t i = 0; i < sizeof numbers; i++) {
            numbers[i] = (uint8_t) draw(round % 2 ? 256 : 3);
        }
        uint64_t mask = round % 3 ? UINT64_MAX : (uint64_t) draw(65536) << draw(48),
                 low = (uint64_t) draw(65536) << draw(48), span = (uint64_t) draw(65536) << draw(48);
        for (unsigned width = 0; width < 4; width++) {
            uint64_t expected[BLOCKS] = {0};
            const struct ef_range_kernels *kernels;
            for (unsigned i = 0; i < BLOCKS * 64; i++) {
                uint64_t ones = width == 3 ? UINT64_MAX : (UINT64_C(1) << (8 << width)) - 1, v = 0;
                memcpy(&v, numbers + 1 + ((size_t) i << width), (size_t) 1 << width); /* Little endian. */
                bool is = (((v & mask) - low) & ones) <= (span & ones);
                expected[i / 64] |= (uint64_t) is << i % 64;
            }
            expected[1] |= 0xff; /* Bits that are set stay. */
            for (unsigned k = 0; (kernels = ef_range_kernels_at(k)); k++) {
                uint64_t bits[BLOCKS] = {0, 0xff, 0};
                kernels->by_width[width](numbers + 1, BLOCKS, mask, low, span, bits);
                assert_memory_equal(bits, expected, sizeof bits);
            }
        }
    }
}

/* --- Terms, text, messages ------------------------------------------------------------ */

static void
test_forms(void **state)
{
    static const struct {
        const char *text, *normal;
        unsigned n_terms;
        int n_conjunctions;
        bool always;
    } cases[] = {
        {"", "", 0, 1, true},
        {"src", "src", 0, 1, true},
        {"!src", "!src", 0, 0, false},
        {"src == 10.1.2.3/8", "src == 10.0.0.0/8", 1, 1, false},
        {"src == 0.0.0.0/0", "src == 0.0.0.0/0", 0, 1, true},
        {"flags < 0", "flags < 0", 0, 0, false},
        {"flags >= 0 || port == 1", "flags >= 0 || port == 1", 1, 2, true},
        {"port == 0x50 && port eq 80", "port == 80 && port == 80", 1, 1, false},
        {"port in {80..90, 85..99, 100}", "port in {80..90, 85..99, 100}", 1, 1, false},
        {"(src == 1.2.3.4 || dst == 1.2.3.4) && (port == 1 || port == 2)",
         "(src == 1.2.3.4 || dst == 1.2.3.4) && (port == 1 || port == 2)", 4, 4, false},
        {"!(port == 1 && flags == 2)", "!(port == 1 && flags == 2)", 2, 2, false},
        {"flags & 2", "flags & 2", 1, 1, false},
        {"address == 10.0.0.0/8", "address == 10.0.0.0/8", 1, 1, false},
        {"time >= 2026-11-21T02:30:00Z", "time >= 2026-11-21T02:30:00.000000000Z", 1, 1, false},
        {"time < 0", "time < 1970-01-01T00:00:00.000000000Z", 1, 1, false},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        struct ef_predicate *p;
        struct ef_error err = EF_ERROR_INIT;
        assert_int_equal(ef_predicate_compile(cases[i].text, &schema, &p, &err), 0);
        assert_string_equal(ef_predicate_text(p), cases[i].normal);
        assert_int_equal(ef_predicate_n_terms(p), cases[i].n_terms);
        assert_int_equal(ef_predicate_n_conjunctions(p), cases[i].n_conjunctions);
        assert_int_equal(ef_predicate_is_always(p), cases[i].always);
        ef_predicate_destroy(p);
    }
    ef_predicate_destroy(NULL);
    ef_predicate_set_destroy(NULL);
    ef_predicate_scratch_destroy(NULL);
}

static void
test_errors(void **state)
{
    static const struct {
        const char *text, *says;
        int offset;
    } cases[] = {
        {"srcc == 10.0.0.1", "did you mean src", 0},
        {"ip.src == 10.0.0.1", "'ip.src'", 0}, /* The packet's fields are not here. */
        {"payload == 1", "'payload'", 0},
        {"port == -1", "not a number", 8},
        {"port == 65536", "too great", 8},
        {"src == ::1", "IPv4 address", 7},
        {"time == yesterday", "a time", 8},
        {"time & 1", "'&' does not apply", 7},
        {"src == port", "cannot be compared", 7},
        {"port = 80", "'=' is no comparison", 5},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        struct ef_predicate *p;
        struct ef_error err = EF_ERROR_INIT;
        assert_int_equal(ef_predicate_compile(cases[i].text, &schema, &p, &err), -EINVAL);
        assert_null(p);
        if (!strstr(err.text, cases[i].says)) {
            fail_msg("%s: %s", cases[i].text, err.text);
        }
        assert_int_equal(err.offset, cases[i].offset);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests_name("predicate", tests, setup, teardown);
}
