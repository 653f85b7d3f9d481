/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates predicates, one or a set of them, on a chunk of rows: terms give
 * bitmaps (predicate_kernels.c), the tree joins them. What cannot change the
 * result any more is not evaluated. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "store/predicate_kernels.h"
#include "store/predicate_private.h"

enum { WORDS = EF_PREDICATE_CHUNK_WORDS };

/* The rows, and what is known of them already. */
struct rows {
    const uint8_t *const *columns;
    uint32_t first, n, n_words;
    uint64_t last; /* The rows there are of the last word. */
    const struct ef_range_kernels *kernels;
    uint64_t (*known)[WORDS]; /* Of each test of a set, or NULL. */
    uint64_t *is_known;       /* One bit each. */
};

/* --- Terms -------------------------------------------------------------------------- */

static bool
holds(enum ef_relation relation, ef_u128 left, ef_u128 right)
{
    switch (relation) {
    case EF_RELATION_EQ:
        return left == right;
    case EF_RELATION_NE:
        return left != right;
    case EF_RELATION_LT:
        return left < right;
    case EF_RELATION_LE:
        return left <= right;
    case EF_RELATION_GT:
        return left > right;
    default:
        return left >= right;
    }
}

static bool
is_in_ranges(const struct ef_predicate_test *test, ef_u128 value)
{
    for (uint32_t i = 0; i < test->n_ranges; i++) {
        if (value - test->ranges[i].low <= test->ranges[i].high - test->ranges[i].low) {
            return true;
        }
    }
    return false;
}

/* Row by row: two columns, and addresses of 6 and 16 bytes. */
static void
eval_each(const struct rows *rows, const struct ef_predicate_test *test, uint64_t *bits)
{
    const uint8_t *left = rows->columns[test->term.column] + (size_t) rows->first * test->width, *right = NULL;
    if (test->term.right_column >= 0) {
        right = rows->columns[test->term.right_column] + (size_t) rows->first * test->right_width;
    }
    for (uint32_t i = 0; i < rows->n; i++) {
        ef_u128 value = ef_column_value(test->type, left + (size_t) i * test->width);
        bool is = right ? holds(test->term.relation, value,
                                ef_column_value(test->right_type, right + (size_t) i * test->right_width))
                        : is_in_ranges(test, value & test->term.mask);
        bits[i / 64] |= (uint64_t) is << i % 64;
    }
}

/* Whole blocks where they lie; the rows after the last one from a copy, since a
 * writer may be filling what follows them. */
static void
eval_ranges(const struct rows *rows, const struct ef_predicate_test *test, uint64_t *bits)
{
    ef_range_kernel *kernel = rows->kernels->by_width[__builtin_ctz(test->width)];
    const uint8_t *values = rows->columns[test->term.column] + (size_t) rows->first * test->width;
    uint32_t n_blocks = rows->n / 64, n_rest = rows->n % 64;
    uint8_t rest[64 * sizeof(uint64_t)] = {0};
    memcpy(rest, values + (size_t) n_blocks * 64 * test->width, (size_t) n_rest * test->width);
    for (uint32_t i = 0; i < test->n_ranges; i++) {
        uint64_t low = (uint64_t) test->ranges[i].low, span = (uint64_t) (test->ranges[i].high - test->ranges[i].low);
        kernel(values, n_blocks, (uint64_t) test->term.mask, low, span, bits);
        if (n_rest) {
            kernel(rest, 1, (uint64_t) test->term.mask, low, span, bits + n_blocks);
        }
    }
}

static void
eval_test(const struct rows *rows, const struct ef_predicate_test *test, uint64_t *bits)
{
    memset(bits, 0, rows->n_words * sizeof *bits);
    if (test->term.right_column >= 0 || test->type == EF_COLUMN_MAC || test->type == EF_COLUMN_IPV6) {
        eval_each(rows, test, bits);
    } else {
        eval_ranges(rows, test, bits);
    }
    for (uint32_t i = 0; test->negate && i < rows->n_words; i++) {
        bits[i] = ~bits[i];
    }
    bits[rows->n_words - 1] &= rows->last;
}

/* --- Trees -------------------------------------------------------------------------- */

static void
fill(const struct rows *rows, bool value, uint64_t *bits)
{
    memset(bits, value ? 0xff : 0, rows->n_words * sizeof *bits);
    bits[rows->n_words - 1] &= rows->last;
}

/* The bits of a test of a set, which are found once for all predicates. */
static const uint64_t *
known_bits(const struct rows *rows, const struct ef_predicate_test *test, uint32_t number)
{
    uint64_t *known = rows->known[number];
    if (!(rows->is_known[number / 64] >> number % 64 & 1)) {
        eval_test(rows, test, known);
        rows->is_known[number / 64] |= UINT64_C(1) << number % 64;
    }
    return known;
}

/* Returns true if any bit is set. */
static bool
join(uint64_t *bits, const uint64_t *more, uint32_t n_words, bool is_and)
{
    uint64_t any = 0;
    for (uint32_t i = 0; i < n_words; i++) {
        bits[i] = is_and ? bits[i] & more[i] : bits[i] | more[i];
        any |= bits[i];
    }
    return any;
}

static void eval_node(const struct rows *rows, const struct ef_predicate *p, const uint32_t *numbers, uint32_t number,
                      uint64_t *bits);

/* `numbers`: those of the predicate's tests in the set, or NULL. */
static void
eval_children(const struct rows *rows, const struct ef_predicate *p, const uint32_t *numbers, uint32_t first,
              bool is_and, uint64_t *bits)
{
    eval_node(rows, p, numbers, first, bits);
    for (uint32_t child = p->nodes[first].next; child != EF_PREDICATE_NONE; child = p->nodes[child].next) {
        const struct ef_predicate_node *node = &p->nodes[child];
        uint64_t of_child[WORDS];
        const uint64_t *more = of_child;
        if (node->op == EF_PREDICATE_TERM && numbers) {
            more = known_bits(rows, &p->tests[node->term], numbers[node->term]);
        } else {
            eval_node(rows, p, numbers, child, of_child);
        }
        if (!join(bits, more, rows->n_words, is_and) && is_and) {
            return;
        }
    }
}

static void
eval_node(const struct rows *rows, const struct ef_predicate *p, const uint32_t *numbers, uint32_t number,
          uint64_t *bits)
{
    const struct ef_predicate_node *node = &p->nodes[number];
    bool is_and = node->op == EF_PREDICATE_AND, is_inner = is_and || node->op == EF_PREDICATE_OR;
    if (node->op == EF_PREDICATE_TERM && numbers) {
        memcpy(bits, known_bits(rows, &p->tests[node->term], numbers[node->term]), rows->n_words * sizeof *bits);
    } else if (node->op == EF_PREDICATE_TERM) {
        eval_test(rows, &p->tests[node->term], bits);
    } else if (is_inner && node->first != EF_PREDICATE_NONE) {
        eval_children(rows, p, numbers, node->first, is_and, bits);
    } else {
        fill(rows, is_and || node->op == EF_PREDICATE_TRUE, bits);
    }
}

static struct rows
rows_of(const uint8_t *const *columns, uint32_t first, uint32_t n)
{
    return (struct rows){
        .columns = columns,
        .first = first,
        .n = n,
        .n_words = (n + 63) / 64,
        .last = n % 64 ? (UINT64_C(1) << n % 64) - 1 : UINT64_MAX,
        .kernels = ef_range_kernels(),
    };
}

void
ef_predicate_eval(const struct ef_predicate *p, const uint8_t *const *columns, uint32_t first_row, uint32_t n_rows,
                  uint64_t *bits)
{
    if (n_rows) {
        struct rows rows = rows_of(columns, first_row, n_rows);
        eval_node(&rows, p, NULL, p->n_nodes - 1, bits);
    }
}

/* --- Sets --------------------------------------------------------------------------- */

/* A predicate of a set: of the same text as an earlier one, or its own. */
struct member {
    const struct ef_predicate *predicate;
    unsigned same_as;
    uint32_t *numbers; /* Of its tests among the set's. */
};

struct ef_predicate_set {
    unsigned n_members;
    uint32_t n_tests;
    struct member *members;
    uint32_t *numbers;
    const struct ef_predicate_test **tests;
};

struct ef_predicate_scratch {
    uint64_t (*known)[WORDS];
    uint64_t *is_known;
};

static uint32_t
number_of(struct ef_predicate_set *set, const struct ef_predicate_test *test)
{
    for (uint32_t i = 0; i < set->n_tests; i++) {
        if (ef_predicate_same_test(set->tests[i], test)) {
            return i;
        }
    }
    set->tests[set->n_tests] = test;
    return set->n_tests++;
}

static void
add_member(struct ef_predicate_set *set, const struct ef_predicate *predicate, uint32_t *numbers)
{
    unsigned number = set->n_members;
    struct member *member = &set->members[set->n_members++];
    *member = (struct member){.predicate = predicate, .numbers = numbers};
    for (member->same_as = 0; member->same_as < number; member->same_as++) {
        if (!strcmp(set->members[member->same_as].predicate->text, predicate->text)) {
            return;
        }
    }
    for (uint32_t i = 0; i < predicate->n_tests; i++) {
        numbers[i] = number_of(set, &predicate->tests[i]);
    }
}

int
ef_predicate_set_create(const struct ef_predicate *const *predicates, unsigned n, struct ef_predicate_set **out)
{
    size_t n_tests = 1;
    for (unsigned i = 0; i < n; i++) {
        n_tests += predicates[i]->n_tests;
    }
    struct ef_predicate_set *set = calloc(1, sizeof *set);
    if (!set) {
        return -ENOMEM;
    }
    set->members = calloc(n + 1, sizeof *set->members);
    set->numbers = calloc(n_tests, sizeof *set->numbers);
    set->tests = calloc(n_tests, sizeof *set->tests);
    if (!set->members || !set->numbers || !set->tests) {
        ef_predicate_set_destroy(set);
        return -ENOMEM;
    }
    uint32_t *numbers = set->numbers;
    for (unsigned i = 0; i < n; i++) {
        add_member(set, predicates[i], numbers);
        numbers += predicates[i]->n_tests;
    }
    *out = set;
    return 0;
}

void
ef_predicate_set_destroy(struct ef_predicate_set *set)
{
    if (set) {
        free(set->members);
        free(set->numbers);
        free(set->tests);
        free(set);
    }
}

struct ef_predicate_scratch *
ef_predicate_scratch_create(const struct ef_predicate_set *set)
{
    struct ef_predicate_scratch *scratch = calloc(1, sizeof *scratch);
    if (!scratch) {
        return NULL;
    }
    scratch->known = calloc(set->n_tests + 1, sizeof *scratch->known);
    scratch->is_known = calloc(set->n_tests / 64 + 1, sizeof *scratch->is_known);
    if (!scratch->known || !scratch->is_known) {
        ef_predicate_scratch_destroy(scratch);
        return NULL;
    }
    return scratch;
}

void
ef_predicate_scratch_destroy(struct ef_predicate_scratch *scratch)
{
    if (scratch) {
        free(scratch->known);
        free(scratch->is_known);
        free(scratch);
    }
}

static bool
is_wanted(const uint64_t *wanted, unsigned i)
{
    return !wanted || (wanted[i / 64] >> i % 64 & 1);
}

void
ef_predicate_set_eval(const struct ef_predicate_set *set, struct ef_predicate_scratch *scratch, const uint64_t *wanted,
                      const uint8_t *const *columns, uint32_t first_row, uint32_t n_rows, uint64_t *bits)
{
    if (!n_rows) {
        return;
    }
    struct rows rows = rows_of(columns, first_row, n_rows);
    rows.known = scratch->known;
    rows.is_known = scratch->is_known;
    memset(scratch->is_known, 0, (set->n_tests / 64 + 1) * sizeof *scratch->is_known);
    for (unsigned i = 0; i < set->n_members; i++) {
        const struct member *member = &set->members[i];
        uint64_t *out = bits + (size_t) i * WORDS;
        if (!is_wanted(wanted, i)) {
            continue;
        }
        if (member->same_as < i && is_wanted(wanted, member->same_as)) {
            memcpy(out, bits + (size_t) member->same_as * WORDS, rows.n_words * sizeof *out);
        } else {
            member = &set->members[member->same_as]; /* Which alone has numbers. */
            eval_node(&rows, member->predicate, member->numbers, member->predicate->n_nodes - 1, out);
        }
    }
}
