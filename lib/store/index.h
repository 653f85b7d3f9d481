/* SPDX-License-Identifier: Apache-2.0 */
/* An index of one column over at most 65536 rows that change no more: which
 * rows have a value between two bounds. Built once, read by any thread.
 *
 *     struct ef_index_scratch *scratch = ef_index_scratch_create();
 *     struct ef_index_input in = {.type = EF_COLUMN_IPV4, .width = 4, .values = column, .n = n, .n_rows = n};
 *     struct ef_index *index = ef_index_build(&in, scratch);
 *     struct ef_index_range range = ef_index_find(index, &low, &high);  // both included
 *     if (range.n) {
 *         ef_index_mark(index, range, rows);      // a bit per row
 *     }
 *     ef_index_destroy(index);
 *
 * It takes whichever form is the smallest, so that it needs at most 4 bytes per
 * row (multi-valued: 2 bytes per value, and the keys):
 * - in order: the column is sorted as it is (times mostly are), nothing is kept;
 * - bitmaps: few different values, a bit per row for each;
 * - postings: row numbers of 2 bytes in the order of their values, with a
 *   directory of the values if they are few enough to pay for it; otherwise a
 *   search looks at the column itself.
 * A row may have several values (multi-valued): then `rows` says whose each is.
 *
 * The values of a column that is a number are in its order, those of others in
 * the order of their bytes, so that a prefix is a range. The sort is by counting,
 * of the least digit first, over the bits in which the values differ.
 *
 * Called by the thread that builds indexes (bucket_index.c) and by queries. */
#ifndef EF_STORE_INDEX_H
#define EF_STORE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "store/schema.h"

enum { EF_INDEX_MAX_ROWS = 65536, EF_INDEX_WORDS = EF_INDEX_MAX_ROWS / 64 };

enum ef_index_form {
    EF_INDEX_IN_ORDER,
    EF_INDEX_BITMAPS,
    EF_INDEX_POSTINGS,
};

struct ef_index_input {
    enum ef_column_type type; /* Says how values are compared. */
    uint32_t width;           /* Bytes of each value. */
    const uint8_t *values;    /* `n` of them, one after another. */
    uint32_t n;
    uint32_t n_rows;      /* At most EF_INDEX_MAX_ROWS. */
    const uint32_t *rows; /* Multi-valued: the row of each value, ascending; NULL: value i is row i's, n == n_rows. */
};

struct ef_index {
    enum ef_index_form form;
    enum ef_column_type type;
    uint32_t width;
    uint32_t n, n_rows;
    uint32_t n_keys;        /* Of the directory; 0: there is none. */
    size_t bytes;           /* Of memory, this struct included. */
    const uint8_t *values;  /* The column, borrowed; read where there is no directory. */
    const uint8_t *keys;    /* The directory: different values in order, */
    const uint32_t *starts; /* and where each begins in the order; n_keys + 1 of them. */
    const uint16_t *rows;   /* Postings. */
    const uint64_t *bitmaps;
};

/* Values in their order: of the `n` values that were asked for, the first. */
struct ef_index_range {
    uint32_t first, n;
};

/* Memory that building needs for a while; grows as needed, is of one thread. */
struct ef_index_scratch;
struct ef_index_scratch *ef_index_scratch_create(void); /* NULL for lack of memory. */
void ef_index_scratch_destroy(struct ef_index_scratch *scratch);

/* Returns the index, or NULL for lack of memory. The column stays the caller's
 * and must stay as it is while the index lives; the values of a multi-valued
 * one are copied. */
struct ef_index *ef_index_build(const struct ef_index_input *in, struct ef_index_scratch *scratch);
void ef_index_destroy(struct ef_index *index); /* NULL is fine. */

/* The most memory that an index of `n` values of `width` bytes can need. */
size_t ef_index_max_bytes(uint32_t n, uint32_t width, bool is_multi_valued);

/* The values from `low` to `high`, both included, each `width` bytes as in the
 * column. */
struct ef_index_range ef_index_find(const struct ef_index *index, const void *low, const void *high);

/* Sets the bit of each row of `range` in `bits`, which has n_rows of them. */
void ef_index_mark(const struct ef_index *index, struct ef_index_range range, uint64_t *bits);

/* A number (a column of type U8 to IPV4) as one whose order is that of the
 * values: times are signed. */
static inline uint64_t
ef_index_number(enum ef_column_type type, uint32_t width, const uint8_t *value)
{
    uint16_t n16;
    uint32_t n32;
    uint64_t n64;
    switch (width) {
    case 1:
        return *value;
    case 2:
        memcpy(&n16, value, sizeof n16);
        return n16;
    case 4:
        memcpy(&n32, value, sizeof n32);
        return n32;
    default:
        memcpy(&n64, value, sizeof n64);
        return type == EF_COLUMN_TIME ? n64 ^ UINT64_C(1) << 63 : n64;
    }
}

/* How two values of that type compare, as memcmp() says it. */
int ef_index_compare(enum ef_column_type type, uint32_t width, const void *a, const void *b);

#endif
