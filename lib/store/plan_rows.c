/* SPDX-License-Identifier: Apache-2.0 */
/* What one test gives in a bucket: see plan_rows.h. */
#include <config.h>

#include "store/plan_rows.h"

#include <string.h>

#include "store/keys.h"

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

uint64_t
ef_plan_count(const struct ef_plan_test *test, const struct ef_index *index)
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
void
ef_plan_mark(const struct ef_plan_test *test, const struct ef_index *index, uint64_t *bits)
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
is_true(const struct ef_plan_rows *rows, const struct ef_plan_test *test, uint32_t row)
{
    if (!test->term) {
        uint32_t len;
        const void *data = ef_bucket_variable(rows->log, rows->bucket, row, &len);
        return ef_keys_match(test->key, data, len);
    }
    const struct ef_column *column = &rows->log->schema.columns[test->term->column];
    const uint8_t *value = ef_bucket_column(rows->log, rows->bucket, test->term->column) + (size_t) row * column->width;
    ef_u128 number = ef_column_is_number(column) ? ef_index_number(column->type, column->width, value)
                                                 : ef_column_value(column->type, value);
    return is_in_ranges(test->term, number & test->term->mask);
}

void
ef_plan_test(const struct ef_plan_rows *rows, const struct ef_plan_test *test, uint64_t *bits)
{
    for (uint32_t i = 0; i < rows->n_words; i++) {
        for (uint64_t word = bits[i]; word; word &= word - 1) {
            uint32_t bit = (uint32_t) __builtin_ctzll(word);
            if (!is_true(rows, test, i * 64 + bit)) {
                bits[i] &= ~(UINT64_C(1) << bit);
            }
        }
    }
}

/* Evaluates the whole predicate where there are candidates: for comparisons of
 * two columns. A row of the conjunction that matches it matches the predicate. */
void
ef_plan_evaluate(const struct ef_plan_rows *rows, uint64_t *bits)
{
    const uint8_t *columns[EF_SCHEMA_MAX_COLUMNS];
    ef_bucket_columns(rows->log, rows->bucket, columns);
    for (uint32_t i = 0; i < rows->n_words; i++) {
        if (bits[i]) {
            uint64_t word = 0;
            uint32_t n = EF_MIN(rows->n_rows - i * 64, 64u);
            ef_predicate_eval(rows->query->predicate, columns, i * 64, n, &word);
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
uint64_t
ef_plan_count_bits(const uint64_t *bits, uint32_t n_words)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("popcnt")) {
        return count_words_popcnt(bits, n_words);
    }
#endif
    return count_words(bits, n_words);
}

/* Rows that the snapshot has not are none, though an index may know them. */
void
ef_plan_cut(const struct ef_plan_rows *rows, uint64_t *bits)
{
    if (rows->n_rows % 64) {
        bits[rows->n_words - 1] &= (UINT64_C(1) << rows->n_rows % 64) - 1;
    }
}

void
ef_plan_mark_all(const struct ef_plan_rows *rows, uint64_t *bits)
{
    memset(bits, 0xff, rows->n_words * sizeof *bits);
    ef_plan_cut(rows, bits);
}

void
ef_plan_cut_to_window(const struct ef_plan_rows *rows, uint64_t *bits)
{
    int64_t from = rows->query->from.ns, to = rows->query->to.ns, ns;
    if (atomic_load_explicit(&rows->bucket->min_ns, memory_order_relaxed) >= from &&
        atomic_load_explicit(&rows->bucket->max_ns, memory_order_relaxed) <= to) {
        return;
    }
    const uint8_t *times = ef_bucket_column(rows->log, rows->bucket, 0);
    for (uint32_t i = 0; i < rows->n_words; i++) {
        for (uint64_t word = bits[i]; word; word &= word - 1) {
            uint32_t bit = (uint32_t) __builtin_ctzll(word);
            memcpy(&ns, times + (size_t) (i * 64 + bit) * sizeof ns, sizeof ns);
            if (ns < from || ns > to) {
                bits[i] &= ~(UINT64_C(1) << bit);
            }
        }
    }
}
