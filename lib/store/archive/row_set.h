/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of rows, with their lists and bytes, until all are let go at once.
 *
 *     struct ef_row_set set = {.schema = &schema};
 *     ef_row_set_add(&set, &row);
 *     ef_row_set_sort(&set);
 *     use(set.rows[0]);
 *     ef_row_set_deinit(&set);
 *
 * Rows stay where they are. One thread. */
#ifndef EF_STORE_ARCHIVE_ROW_SET_H
#define EF_STORE_ARCHIVE_ROW_SET_H

#include "store/archive/row_schema.h"

struct ef_row_set_block;

struct ef_row_set {
    const struct ef_row_schema *schema;
    void **rows;
    uint32_t n_rows, rows_room;
    struct ef_row_set_block *blocks, *spare; /* In use, newest first; and to be used again. */
    uint64_t n_bytes;                        /* Of the rows. */
};

void ef_row_set_deinit(struct ef_row_set *set);

/* Lets all rows go and keeps the memory. */
void ef_row_set_clear(struct ef_row_set *set);

/* Copies `row`, and returns the copy. */
void *ef_row_set_add(struct ef_row_set *set, const void *row);

/* Adds a row that was made with ef_row_set_alloc(), without a copy. */
void ef_row_set_push(struct ef_row_set *set, void *row);

/* `size` bytes that live as long as the rows, 8-byte aligned. */
void *ef_row_set_alloc(struct ef_row_set *set, size_t size);

/* Puts the rows into the schema's order; equal ones keep theirs. */
void ef_row_set_sort(struct ef_row_set *set);

#endif
