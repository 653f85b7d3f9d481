/* SPDX-License-Identifier: Apache-2.0 */
/* What one test gives in one bucket, by an index or row by row, and what is done
 * to bitmaps of rows (bit i is row i). The steps of planner.c; private to it. */
#ifndef EF_STORE_PLAN_ROWS_H
#define EF_STORE_PLAN_ROWS_H

#include "store/planner.h"

/* A bucket that is held, and how much of it the snapshot has. */
struct ef_plan_rows {
    const struct ef_multilog *log;
    const struct ef_multilog_query *query;
    struct ef_bucket *bucket;
    uint32_t n_rows, n_words;
};

/* How many rows the index has for the test (a row of two equal keys counts
 * twice); and their bits, those that the snapshot has not included. */
uint64_t ef_plan_count(const struct ef_plan_test *test, const struct ef_index *index);
void ef_plan_mark(const struct ef_plan_test *test, const struct ef_index *index, uint64_t *bits);

/* Leaves the bits of rows for which the test is true; not for comparisons of two
 * columns. */
void ef_plan_test(const struct ef_plan_rows *rows, const struct ef_plan_test *test, uint64_t *bits);

/* Leaves the bits of rows that match the whole predicate. For conjunctions with
 * comparisons of two columns: a row that is otherwise theirs and matches the
 * predicate is in the answer. */
void ef_plan_evaluate(const struct ef_plan_rows *rows, uint64_t *bits);

uint64_t ef_plan_count_bits(const uint64_t *bits, uint32_t n_words);

/* Takes away what the snapshot has not; sets what it has; takes away what is
 * outside of the query's window. */
void ef_plan_cut(const struct ef_plan_rows *rows, uint64_t *bits);
void ef_plan_mark_all(const struct ef_plan_rows *rows, uint64_t *bits);
void ef_plan_cut_to_window(const struct ef_plan_rows *rows, uint64_t *bits);

#endif
