/* SPDX-License-Identifier: Apache-2.0 */
/* Answers a question in a part of a bucket: see planner.h. */
#include <config.h>

#include "store/planner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/keys.h"

/* Costs, in eighths of a nanosecond: of a row scanned, per term; of a row that an
 * index gives; of one test of one row. And what is fixed per conjunction. */
enum { SCAN_COST = 1, ROW_COST = 8, TEST_COST = 32, CONJUNCTION_COST = 4000 };

/* An index is intersected with if it is at most so many times as long. */
enum { INTERSECT_RATIO = 8 };

/* With bitmaps, if there are so many rows to test. */
enum { BITMAP_ROWS = 64 };

/* A term of more ranges is not looked up. */
enum { MAX_RANGES = 64 };

/* A part of a bucket, for the duration of a call. */
struct part {
    struct ef_bucket *bucket;
    unsigned number;
    uint32_t first, n_rows, n_words;
};

/* --- Setting up ------------------------------------------------------------------- */

static int
find_index(const struct ef_planner *p, const struct ef_plan_test *test)
{
    if (test->term &&
        (test->term->right_column >= 0 || test->term->mask != ~(ef_u128) 0 || test->term->n_ranges > MAX_RANGES)) {
        return -1;
    }
    for (unsigned i = 0; i < p->n_held; i++) {
        const struct ef_index_definition *d = p->held[i];
        if (test->term ? !d->extract && d->column == test->term->column
                       : d->extract == test->key->extract && d->type == test->key->key_type &&
                             d->width == ef_key_width(test->key->key_type, test->key->key_width)) {
            return (int) i;
        }
    }
    return -1;
}

static void
set_tests(struct ef_planner *p)
{
    const struct ef_predicate *predicate = p->query->predicate;
    for (unsigned i = 0; i < p->n_tests; i++) {
        struct ef_plan_test *test = &p->tests[i];
        if (i < p->n_terms) {
            test->term = ef_predicate_term(predicate, i);
        } else {
            test->key = &p->query->keys[i - p->n_terms];
        }
        test->index = find_index(p, test);
    }
}

int
ef_planner_init(struct ef_planner *p, struct ef_multilog *log, const struct ef_multilog_query *query)
{
    const struct ef_predicate *predicate = query->predicate;
    size_t bitmap_words = EF_MIN(log->bucket_rows, EF_INDEX_MAX_ROWS) / 64;
    p->log = log;
    p->query = query;
    p->is_always = !predicate || ef_predicate_is_always(predicate);
    p->n_terms = p->is_always ? 0 : ef_predicate_n_terms(predicate);
    p->n_tests = p->n_terms + query->n_keys;
    p->n_conjunctions = p->is_always ? 1 : ef_predicate_n_conjunctions(predicate);
    p->tests = calloc(p->n_tests + 1, sizeof *p->tests);
    p->conjunctions = calloc((size_t) EF_MAX(p->n_conjunctions, 0) + 1, sizeof *p->conjunctions);
    p->rows = calloc(bitmap_words, sizeof *p->rows);
    p->others = calloc(bitmap_words, sizeof *p->others);
    if (!p->tests || !p->conjunctions || !p->rows || !p->others) {
        return -ENOMEM;
    }
    p->n_held = ef_indexes_hold(log, p->held);
    set_tests(p);
    return 0;
}

void
ef_planner_deinit(struct ef_planner *p)
{
    if (p->n_held) {
        ef_indexes_let_go(p->log, p->held, p->n_held);
    }
    free(p->tests);
    free(p->conjunctions);
    free(p->rows);
    free(p->others);
}

int
ef_planner_next_test(const struct ef_planner *p, unsigned conjunction, unsigned *i)
{
    unsigned n_terms = 0;
    const uint16_t *terms = p->is_always ? NULL : ef_predicate_conjunction(p->query->predicate, conjunction, &n_terms);
    unsigned at = (*i)++;
    if (at < n_terms) {
        return terms[at];
    }
    at = at - n_terms + p->n_terms;
    return at < p->n_tests ? (int) at : -1;
}

/* --- Zones ------------------------------------------------------------------------ */

static bool
is_outside_zone(const struct ef_planner *p, const struct ef_zones *zones, const struct ef_term *term)
{
    const struct ef_column *column = &p->log->schema.columns[term->column];
    if (term->right_column >= 0 || term->mask != ~(ef_u128) 0 || !ef_column_is_number(column)) {
        return false;
    }
    ef_u128 min = zones->columns[term->column].min, max = zones->columns[term->column].max;
    for (uint32_t i = 0; i < term->n_ranges; i++) {
        if (term->ranges[i].low <= max && term->ranges[i].high >= min) {
            return false;
        }
    }
    return true;
}

static bool
can_conjunction_match(const struct ef_planner *p, const struct ef_zones *zones, unsigned conjunction)
{
    unsigned i = 0;
    for (int t; (t = ef_planner_next_test(p, conjunction, &i)) >= 0;) {
        if (p->tests[t].term && is_outside_zone(p, zones, p->tests[t].term)) {
            return false;
        }
    }
    return true;
}

bool
ef_planner_can_match(struct ef_planner *p, struct ef_bucket *bucket)
{
    p->stats.n_buckets++;
    if (atomic_load_explicit(&bucket->max_ns, memory_order_relaxed) < p->query->from.ns ||
        atomic_load_explicit(&bucket->min_ns, memory_order_relaxed) > p->query->to.ns) {
        p->stats.n_outside_window++;
        return false;
    }
    const struct ef_zones *zones = ef_indexes_zones(p->log, bucket);
    if (!zones || p->n_conjunctions < 0) {
        return true;
    }
    for (unsigned i = 0; i < (unsigned) p->n_conjunctions; i++) {
        if (can_conjunction_match(p, zones, i)) {
            return true;
        }
    }
    p->stats.n_outside_zones++;
    return false;
}

/* --- Looking up ------------------------------------------------------------------- */

/* A number that filters compare as the bytes of a column; see ef_column_value(). */
static void
store_value(enum ef_column_type type, uint32_t width, ef_u128 value, uint8_t *bytes)
{
    uint64_t n64 = (uint64_t) value ^ (type == EF_COLUMN_TIME ? UINT64_C(1) << 63 : 0);
    uint32_t n32 = (uint32_t) n64;
    uint16_t n16 = (uint16_t) n64;
    if (type > EF_COLUMN_IPV4) {
        for (uint32_t i = width; i-- > 0; value >>= 8) {
            bytes[i] = (uint8_t) value;
        }
    } else if (width == 1) {
        bytes[0] = (uint8_t) n64;
    } else if (width == 2) {
        memcpy(bytes, &n16, sizeof n16);
    } else if (width == 4) {
        memcpy(bytes, &n32, sizeof n32);
    } else {
        memcpy(bytes, &n64, sizeof n64);
    }
}

static struct ef_index_range
find_range(const struct ef_index *index, const struct ef_value_range *range)
{
    uint8_t low[16], high[16];
    ef_u128 most = index->width < 16 ? ((ef_u128) 1 << 8 * index->width) - 1 : ~(ef_u128) 0;
    if (range->low > most) {
        return (struct ef_index_range){0, 0};
    }
    store_value(index->type, index->width, range->low, low);
    store_value(index->type, index->width, EF_MIN(range->high, most), high);
    return ef_index_find(index, low, high);
}

static const struct ef_index *
index_of(const struct ef_planner *p, const struct part *part, const struct ef_plan_test *test)
{
    if (test->index < 0) {
        return NULL;
    }
    const struct ef_index_list *list = ef_indexes_of(p->held[test->index], part->bucket);
    return list ? list->parts[part->number] : NULL;
}

static uint64_t
count_rows(const struct ef_plan_test *test, const struct ef_index *index)
{
    if (!test->term) {
        return ef_index_find(index, test->key->low, test->key->high).n;
    }
    uint64_t n = 0;
    for (uint32_t i = 0; i < test->term->n_ranges; i++) {
        n += find_range(index, &test->term->ranges[i]).n;
    }
    return n;
}

/* Which rows the index has for the test; those past the visible ones go later. */
static void
mark_rows(const struct ef_plan_test *test, const struct ef_index *index, uint64_t *bits)
{
    memset(bits, 0, (index->n_rows + 63) / 64 * sizeof *bits);
    if (!test->term) {
        ef_index_mark(index, ef_index_find(index, test->key->low, test->key->high), bits);
        return;
    }
    for (uint32_t i = 0; i < test->term->n_ranges; i++) {
        ef_index_mark(index, find_range(index, &test->term->ranges[i]), bits);
    }
}

/* --- Testing rows ----------------------------------------------------------------- */

static bool
is_in_ranges(const struct ef_term *term, ef_u128 value)
{
    for (uint32_t i = 0; i < term->n_ranges; i++) {
        if (value - term->ranges[i].low <= term->ranges[i].high - term->ranges[i].low) {
            return true;
        }
    }
    return false;
}

static bool
is_true(const struct ef_planner *p, const struct part *part, const struct ef_plan_test *test, uint32_t row)
{
    if (!test->term) {
        uint32_t len;
        const void *data = ef_bucket_variable(p->log, part->bucket, row, &len);
        return ef_keys_match(test->key, data, len);
    }
    const struct ef_column *column = &p->log->schema.columns[test->term->column];
    const uint8_t *value = ef_bucket_column(p->log, part->bucket, test->term->column) + (size_t) row * column->width;
    ef_u128 number = ef_column_is_number(column) ? ef_index_number(column->type, column->width, value)
                                                 : ef_column_value(column->type, value);
    return is_in_ranges(test->term, number & test->term->mask);
}

static void
test_rows(const struct ef_planner *p, const struct part *part, const struct ef_plan_test *test, uint64_t *bits)
{
    for (uint32_t i = 0; i < part->n_words; i++) {
        for (uint64_t word = bits[i]; word; word &= word - 1) {
            uint32_t bit = (uint32_t) __builtin_ctzll(word);
            if (!is_true(p, part, test, part->first + i * 64 + bit)) {
                bits[i] &= ~(UINT64_C(1) << bit);
            }
        }
    }
}

static void
set_columns(const struct ef_planner *p, const struct part *part, const uint8_t *columns[EF_SCHEMA_MAX_COLUMNS])
{
    for (unsigned i = 0; i < p->log->schema.n_columns; i++) {
        columns[i] = ef_bucket_column(p->log, part->bucket, i);
    }
}

/* Evaluates the whole predicate where there are candidates: for comparisons of
 * two columns. A row of the conjunction that matches it matches the predicate. */
static void
test_words(const struct ef_planner *p, const struct part *part, uint64_t *bits)
{
    const uint8_t *columns[EF_SCHEMA_MAX_COLUMNS];
    set_columns(p, part, columns);
    for (uint32_t i = 0; i < part->n_words; i++) {
        if (bits[i]) {
            uint64_t word = 0;
            uint32_t n = EF_MIN(part->n_rows - i * 64, 64u);
            ef_predicate_eval(p->query->predicate, columns, part->first + i * 64, n, &word);
            bits[i] &= word;
        }
    }
}

/* --- Bitmaps ---------------------------------------------------------------------- */

static EF_ALWAYS_INLINE uint64_t
count_words(const uint64_t *bits, uint32_t n_words)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < n_words; i++) {
        n += (uint64_t) __builtin_popcountll(bits[i]);
    }
    return n;
}

#ifdef __x86_64__
static __attribute__((target("popcnt"))) uint64_t
count_words_popcnt(const uint64_t *bits, uint32_t n_words)
{
    return count_words(bits, n_words);
}
#endif

/* Without the instruction, counting would take longer than finding. */
static uint64_t
count_bits(const uint64_t *bits, uint32_t n_words)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("popcnt")) {
        return count_words_popcnt(bits, n_words);
    }
#endif
    return count_words(bits, n_words);
}

/* Rows that the snapshot has not are none, though an index may know them. */
static void
cut_rows(const struct part *part, uint64_t *bits)
{
    if (part->n_rows % 64) {
        bits[part->n_words - 1] &= (UINT64_C(1) << part->n_rows % 64) - 1;
    }
}

static void
mark_all(const struct part *part, uint64_t *bits)
{
    memset(bits, 0xff, part->n_words * sizeof *bits);
    cut_rows(part, bits);
}

static void
cut_to_window(const struct ef_planner *p, const struct part *part, uint64_t *bits)
{
    int64_t from = p->query->from.ns, to = p->query->to.ns, ns;
    if (atomic_load_explicit(&part->bucket->min_ns, memory_order_relaxed) >= from &&
        atomic_load_explicit(&part->bucket->max_ns, memory_order_relaxed) <= to) {
        return;
    }
    const uint8_t *times = ef_bucket_column(p->log, part->bucket, 0) + (size_t) part->first * sizeof ns;
    for (uint32_t i = 0; i < part->n_words; i++) {
        for (uint64_t word = bits[i]; word; word &= word - 1) {
            uint32_t bit = (uint32_t) __builtin_ctzll(word);
            memcpy(&ns, times + (size_t) (i * 64 + bit) * sizeof ns, sizeof ns);
            if (ns < from || ns > to) {
                bits[i] &= ~(UINT64_C(1) << bit);
            }
        }
    }
}

/* --- Conjunctions ----------------------------------------------------------------- */

/* How a conjunction would be answered in a part. */
struct choice {
    int test; /* Whose index has the fewest rows; -1: there is no index. */
    uint64_t n_rows;
    uint64_t cost;
};

static struct choice
choose(const struct ef_planner *p, const struct part *part, unsigned conjunction)
{
    struct choice choice = {.test = -1, .n_rows = UINT64_MAX};
    unsigned i = 0, n_tests = 0;
    for (int t; (t = ef_planner_next_test(p, conjunction, &i)) >= 0; n_tests++) {
        const struct ef_index *index = index_of(p, part, &p->tests[t]);
        if (!index || !choice.n_rows) {
            continue;
        }
        uint64_t n = count_rows(&p->tests[t], index);
        if (n < choice.n_rows) {
            choice.test = t;
            choice.n_rows = n;
        }
    }
    if (choice.test >= 0) {
        choice.cost = CONJUNCTION_COST + choice.n_rows * (ROW_COST + TEST_COST * (n_tests - 1));
    }
    return choice;
}

/* Leaves the rows of `bits`, which are `n`, that the test's index has, too; false
 * if it is better to test them. */
static bool
intersect(struct ef_planner *p, const struct part *part, const struct ef_plan_test *test, uint64_t n, uint64_t *bits)
{
    const struct ef_index *index = index_of(p, part, test);
    bool is_cheap = index && index->form == EF_INDEX_BITMAPS && n >= BITMAP_ROWS;
    if (!index || (!is_cheap && count_rows(test, index) > n * INTERSECT_RATIO)) {
        return false;
    }
    mark_rows(test, index, p->others);
    for (uint32_t i = 0; i < part->n_words; i++) {
        bits[i] &= p->others[i];
    }
    return true;
}

/* Intersects with other indexes; then tests the rest. */
static void
narrow(struct ef_planner *p, const struct part *part, unsigned conjunction, struct choice choice, uint64_t *bits)
{
    struct ef_plan_conjunction *stats = &p->conjunctions[conjunction];
    uint64_t is_left = 0;
    bool has_comparison = false;
    unsigned i = 0;
    for (int t; (t = ef_planner_next_test(p, conjunction, &i)) >= 0;) {
        const struct ef_plan_test *test = &p->tests[t];
        if (t == choice.test) {
            continue;
        }
        if (intersect(p, part, test, choice.n_rows, bits)) {
            stats->intersected[test->index]++;
        } else if (test->term && test->term->right_column >= 0) {
            has_comparison = true;
        } else if (i <= 64) {
            is_left |= UINT64_C(1) << (i - 1);
        } else {
            test_rows(p, part, test, bits);
        }
    }
    if (p->is_explained) {
        stats->n_candidates += count_bits(bits, part->n_words);
    }
    for (; is_left; is_left &= is_left - 1) {
        i = (unsigned) __builtin_ctzll(is_left);
        test_rows(p, part, &p->tests[ef_planner_next_test(p, conjunction, &i)], bits);
    }
    if (has_comparison) {
        test_words(p, part, bits);
    }
}

/* Writes the conjunction's rows into `bits`. */
static void
answer_conjunction(struct ef_planner *p, const struct part *part, unsigned conjunction, struct choice choice,
                   uint64_t *bits)
{
    struct ef_plan_conjunction *stats = &p->conjunctions[conjunction];
    const struct ef_plan_test *test = &p->tests[choice.test];
    mark_rows(test, index_of(p, part, test), bits);
    cut_rows(part, bits);
    narrow(p, part, conjunction, choice, bits);
    if (p->is_explained) {
        stats->n_matches += count_bits(bits, part->n_words);
    }
}

/* The first conjunction that has rows writes, the others add theirs. */
static void
join_conjunctions(struct ef_planner *p, const struct part *part, const struct choice *choices, uint64_t *bits)
{
    bool is_empty = true;
    for (unsigned i = 0; i < (unsigned) p->n_conjunctions; i++) {
        struct ef_plan_conjunction *stats = &p->conjunctions[i];
        stats->n_parts++;
        stats->n_estimated += choices[i].n_rows;
        stats->chosen[p->tests[choices[i].test].index]++;
        if (!choices[i].n_rows) {
            stats->n_empty++;
            continue;
        }
        answer_conjunction(p, part, i, choices[i], is_empty ? bits : p->rows);
        for (uint32_t k = 0; !is_empty && k < part->n_words; k++) {
            bits[k] |= p->rows[k];
        }
        is_empty = false;
    }
    if (is_empty) {
        memset(bits, 0, part->n_words * sizeof *bits);
    }
}

/* False if a scan is better, or the only way. */
static bool
answer_by_index(struct ef_planner *p, const struct part *part, uint64_t *bits)
{
    struct choice choices[EF_PREDICATE_MAX_CONJUNCTIONS];
    uint64_t cost = 0, scan_cost = (uint64_t) part->n_rows * SCAN_COST * (p->n_terms + 1);
    if (!p->n_held || p->n_conjunctions < 0 || p->query->plan == EF_MULTILOG_BY_SCAN) {
        return false;
    }
    if (p->query->plan == EF_MULTILOG_BY_INDEX) {
        scan_cost = UINT64_MAX;
    }
    for (unsigned i = 0; i < (unsigned) p->n_conjunctions; i++) {
        choices[i] = choose(p, part, i);
        cost += choices[i].cost;
        if (choices[i].test < 0 || (choices[i].n_rows && cost > scan_cost)) {
            return false;
        }
    }
    join_conjunctions(p, part, choices, bits);
    return true;
}

static void
scan(struct ef_planner *p, const struct part *part, uint64_t *bits)
{
    p->stats.n_scanned++;
    p->stats.n_rows_scanned += part->n_rows;
    if (p->is_always) {
        mark_all(part, bits);
    } else {
        const uint8_t *columns[EF_SCHEMA_MAX_COLUMNS];
        set_columns(p, part, columns);
        for (uint32_t at = 0; at < part->n_rows; at += EF_PREDICATE_CHUNK_ROWS) {
            ef_predicate_eval(p->query->predicate, columns, part->first + at,
                              EF_MIN(part->n_rows - at, (uint32_t) EF_PREDICATE_CHUNK_ROWS), bits + at / 64);
        }
    }
    for (unsigned i = p->n_terms; i < p->n_tests; i++) {
        test_rows(p, part, &p->tests[i], bits);
    }
}

uint64_t
ef_planner_find(struct ef_planner *p, struct ef_bucket *bucket, unsigned number, uint32_t n_rows, uint64_t *bits)
{
    struct part part = {
        .bucket = bucket,
        .number = number,
        .first = number * EF_INDEX_MAX_ROWS,
        .n_rows = n_rows,
        .n_words = (n_rows + 63) / 64,
    };
    p->stats.n_parts++;
    if (!answer_by_index(p, &part, bits)) {
        scan(p, &part, bits);
    }
    cut_to_window(p, &part, bits);
    uint64_t n = count_bits(bits, part.n_words);
    p->stats.n_matches += n;
    return n;
}
