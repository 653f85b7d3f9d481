/* SPDX-License-Identifier: Apache-2.0 */
/* Random schemas and rows of them, the same ones for the same seed: for the
 * tests of the archive. */
#ifndef EF_TEST_UNIT_STORE_RANDOM_ROWS_H
#define EF_TEST_UNIT_STORE_RANDOM_ROWS_H

#include "store/archive/row_schema.h"

enum { RANDOM_MAX_COLUMNS = 32, RANDOM_ROW_BYTES = 2048 };

struct random_rows {
    uint64_t state;
    struct ef_row_schema schema;
    struct ef_row_column columns[RANDOM_MAX_COLUMNS];
    struct ef_row_list_column lists[3];
    struct ef_row_counter counter_columns;
    char names[RANDOM_MAX_COLUMNS][8];
    uint8_t kinds[RANDOM_MAX_COLUMNS]; /* How a column's values are spread. */
    uint64_t counter;
    uint8_t row[RANDOM_ROW_BYTES] __attribute__((aligned(8)));
    uint8_t elements[2][64 * RANDOM_ROW_BYTES] __attribute__((aligned(8)));
    uint8_t bytes[1 << 17]; /* What values of variable length borrow. */
    uint32_t bytes_used;
};

uint64_t random_number(struct random_rows *r);

/* Makes the schema. */
void random_rows_init(struct random_rows *r, uint64_t seed);

/* Adds a counter (row_counter.h) to a schema that was just made and has two lists;
 * returns false, and does nothing, if it has not. */
bool random_rows_add_counter(struct random_rows *r);

/* The next row, good until the next call. */
const void *random_row(struct random_rows *r);

#endif
