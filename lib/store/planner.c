/* SPDX-License-Identifier: Apache-2.0 */
/* Answers a question in a bucket: see planner.h. */
#include <config.h>

#include "store/planner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/plan_rows.h"

/* Costs, in eighths of a nanosecond: of a row scanned, per term; of a row that an
 * index gives; of one test of one row. And what is fixed per conjunction. */
enum { SCAN_COST = 1, ROW_COST = 8, TEST_COST = 32, CONJUNCTION_COST = 4000 };

/* An index is intersected with if it is at most so many times as long. */
enum { INTERSECT_RATIO = 8 };

/* With bitmaps, if there are so many rows to test. */
enum { BITMAP_ROWS = 64 };

/* A term of more ranges is not looked up. */
enum { MAX_RANGES = 64 };

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
    size_t bitmap_words = log->bucket_rows / 64;
    p->log = log;
    p->query = query;
    p->is_explained = query->is_explained;
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

/* --- Conjunctions ----------------------------------------------------------------- */

/* How a conjunction would be answered in a bucket. */
struct choice {
    int test; /* Whose index has the fewest rows; -1: there is no index. */
    uint64_t n_rows;
    uint64_t cost;
};

static const struct ef_index *
index_of(const struct ef_planner *p, const struct ef_plan_rows *rows, const struct ef_plan_test *test)
{
    return test->index < 0 ? NULL : ef_indexes_of(p->held[test->index], rows->bucket);
}

static struct choice
choose(const struct ef_planner *p, const struct ef_plan_rows *rows, unsigned conjunction)
{
    struct choice choice = {.test = -1, .n_rows = UINT64_MAX};
    unsigned i = 0, n_tests = 0;
    for (int t; (t = ef_planner_next_test(p, conjunction, &i)) >= 0; n_tests++) {
        const struct ef_index *index = index_of(p, rows, &p->tests[t]);
        if (!index || !choice.n_rows) {
            continue;
        }
        uint64_t n = ef_plan_count(&p->tests[t], index);
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
intersect(struct ef_planner *p, const struct ef_plan_rows *rows, const struct ef_plan_test *test, uint64_t n,
          uint64_t *bits)
{
    const struct ef_index *index = index_of(p, rows, test);
    bool is_cheap = index && index->form == EF_INDEX_BITMAPS && n >= BITMAP_ROWS;
    if (!index || (!is_cheap && ef_plan_count(test, index) > n * INTERSECT_RATIO)) {
        return false;
    }
    ef_plan_mark(test, index, p->others);
    for (uint32_t i = 0; i < rows->n_words; i++) {
        bits[i] &= p->others[i];
    }
    return true;
}

/* Intersects with other indexes; then tests the rest. */
static void
narrow(struct ef_planner *p, const struct ef_plan_rows *rows, unsigned conjunction, struct choice choice,
       uint64_t *bits)
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
        if (intersect(p, rows, test, choice.n_rows, bits)) {
            stats->intersected[test->index]++;
        } else if (test->term && test->term->right_column >= 0) {
            has_comparison = true;
        } else if (i <= 64) {
            is_left |= UINT64_C(1) << (i - 1);
        } else {
            ef_plan_test(rows, test, bits);
        }
    }
    if (p->is_explained) {
        stats->n_candidates += ef_plan_count_bits(bits, rows->n_words);
    }
    for (; is_left; is_left &= is_left - 1) {
        i = (unsigned) __builtin_ctzll(is_left);
        ef_plan_test(rows, &p->tests[ef_planner_next_test(p, conjunction, &i)], bits);
    }
    if (has_comparison) {
        ef_plan_evaluate(rows, bits);
    }
}

/* Writes the conjunction's rows into `bits`. */
static void
answer_conjunction(struct ef_planner *p, const struct ef_plan_rows *rows, unsigned conjunction, struct choice choice,
                   uint64_t *bits)
{
    struct ef_plan_conjunction *stats = &p->conjunctions[conjunction];
    const struct ef_plan_test *test = &p->tests[choice.test];
    ef_plan_mark(test, index_of(p, rows, test), bits);
    ef_plan_cut(rows, bits);
    narrow(p, rows, conjunction, choice, bits);
    if (p->is_explained) {
        stats->n_matches += ef_plan_count_bits(bits, rows->n_words);
    }
}

/* The first conjunction that has rows writes, the others add theirs. */
static void
join_conjunctions(struct ef_planner *p, const struct ef_plan_rows *rows, const struct choice *choices, uint64_t *bits)
{
    bool is_empty = true;
    for (unsigned i = 0; i < (unsigned) p->n_conjunctions; i++) {
        struct ef_plan_conjunction *stats = &p->conjunctions[i];
        stats->n_buckets++;
        stats->n_estimated += choices[i].n_rows;
        stats->chosen[p->tests[choices[i].test].index]++;
        if (!choices[i].n_rows) {
            stats->n_empty++;
            continue;
        }
        answer_conjunction(p, rows, i, choices[i], is_empty ? bits : p->rows);
        for (uint32_t k = 0; !is_empty && k < rows->n_words; k++) {
            bits[k] |= p->rows[k];
        }
        is_empty = false;
    }
    if (is_empty) {
        memset(bits, 0, rows->n_words * sizeof *bits);
    }
}

/* Of a scan of all rows; which of them are left for the tests of keys is not
 * known, some if there are other tests. */
static uint64_t
scan_cost(const struct ef_planner *p, uint32_t n_rows)
{
    enum { SHARE_LEFT = 4 };
    uint64_t key_cost = (uint64_t) (p->n_tests - p->n_terms) * TEST_COST / (p->n_terms ? SHARE_LEFT : 1);
    return n_rows * (SCAN_COST * (p->n_terms + 1) + key_cost);
}

/* False if a scan is better, or the only way. */
static bool
answer_by_index(struct ef_planner *p, const struct ef_plan_rows *rows, uint64_t *bits)
{
    struct choice choices[EF_PREDICATE_MAX_CONJUNCTIONS];
    uint64_t cost = 0, most = p->query->plan == EF_MULTILOG_BY_INDEX ? UINT64_MAX : scan_cost(p, rows->n_rows);
    if (!p->n_held || p->n_conjunctions < 0 || p->query->plan == EF_MULTILOG_BY_SCAN) {
        return false;
    }
    for (unsigned i = 0; i < (unsigned) p->n_conjunctions; i++) {
        choices[i] = choose(p, rows, i);
        cost += choices[i].cost;
        if (choices[i].test < 0 || (choices[i].n_rows && cost > most)) {
            return false;
        }
    }
    join_conjunctions(p, rows, choices, bits);
    return true;
}

static void
scan(struct ef_planner *p, const struct ef_plan_rows *rows, uint64_t *bits)
{
    p->stats.n_scanned++;
    p->stats.n_rows_scanned += rows->n_rows;
    if (p->is_always) {
        ef_plan_mark_all(rows, bits);
    } else {
        const uint8_t *columns[EF_SCHEMA_MAX_COLUMNS];
        ef_bucket_columns(p->log, rows->bucket, columns);
        for (uint32_t at = 0; at < rows->n_rows; at += EF_PREDICATE_CHUNK_ROWS) {
            ef_predicate_eval(p->query->predicate, columns, at,
                              EF_MIN(rows->n_rows - at, (uint32_t) EF_PREDICATE_CHUNK_ROWS), bits + at / 64);
        }
    }
    for (unsigned i = p->n_terms; i < p->n_tests; i++) {
        ef_plan_test(rows, &p->tests[i], bits);
    }
}

/* By what is kept of the installed filter that is asked for. */
static bool
answer_by_filter(struct ef_planner *p, const struct ef_plan_rows *rows, uint64_t *bits)
{
    if (!p->query->filter || p->query->plan != EF_MULTILOG_CHEAPEST ||
        !ef_installed_filter_kept(p->query->filter, p->log, rows->bucket, 0, rows->n_rows, bits)) {
        return false;
    }
    p->stats.n_by_filter++;
    for (unsigned i = p->n_terms; i < p->n_tests; i++) {
        ef_plan_test(rows, &p->tests[i], bits);
    }
    return true;
}

uint64_t
ef_planner_find(struct ef_planner *p, struct ef_bucket *bucket, uint32_t n_rows, uint64_t *bits)
{
    struct ef_plan_rows rows = {
        .log = p->log,
        .query = p->query,
        .bucket = bucket,
        .n_rows = n_rows,
        .n_words = (n_rows + 63) / 64,
    };
    p->stats.n_looked_at++;
    if (!answer_by_filter(p, &rows, bits) && !answer_by_index(p, &rows, bits)) {
        scan(p, &rows, bits);
    }
    ef_plan_cut_to_window(&rows, bits);
    uint64_t n = ef_plan_count_bits(bits, rows.n_words);
    p->stats.n_matches += n;
    return n;
}
