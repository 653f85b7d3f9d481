/* SPDX-License-Identifier: Apache-2.0 */
/* The shape of an archived row: typed columns, some of them in lists of
 * elements, and where each lies in the structs that the program has of them.
 * Wider than store/schema.h, which is for packed records in memory: columns may
 * be absent (null), there may be several of variable length, and lists.
 *
 *     struct visit { int64_t after_ns; uint8_t ttl; };
 *     struct flow {
 *         struct ef_time time;
 *         bool has_port;
 *         uint16_t port;
 *         struct ef_bytes payload;
 *         struct ef_row_list visits;
 *     };
 *     static const struct ef_row_list_column lists[] = {
 *         {"visits", offsetof(struct flow, visits), sizeof(struct visit)},
 *     };
 *     static const struct ef_row_column columns[] = {
 *         {"time", EF_ROW_TIME, offsetof(struct flow, time)},
 *         {"port", EF_ROW_U16, offsetof(struct flow, port), EF_ROW_NULL_UNLESS(struct flow, has_port)},
 *         {"payload", EF_ROW_BYTES, offsetof(struct flow, payload)},
 *         {"after_ns", EF_ROW_I64, offsetof(struct visit, after_ns), .list = 1},
 *         {"ttl", EF_ROW_U8, offsetof(struct visit, ttl), .list = 1},
 *     };
 *     static const struct ef_row_schema schema = {
 *         .columns = columns, .n_columns = EF_ARRAY_SIZE(columns),
 *         .lists = lists, .n_lists = EF_ARRAY_SIZE(lists), .row_bytes = sizeof(struct flow),
 *     };
 *
 * Column 0 is the row's time. Columns of a list stand together. Constant
 * tables: read by any thread, all borrowed. */
#ifndef EF_STORE_ARCHIVE_ROW_SCHEMA_H
#define EF_STORE_ARCHIVE_ROW_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "store/schema.h"

enum {
    EF_ROW_MAX_COLUMNS = 128,
    EF_ROW_MAX_LISTS = 4,
    EF_ROW_MAX_SORT = 4,
    EF_ROW_MAX_NAME = 48,
    EF_ROW_MAX_ELEMENTS = 1 << 16, /* Of one list of one row. */
    EF_ROW_MAX_BYTES = 1 << 24,    /* Of one value of variable length. */
};

enum ef_row_type {
    EF_ROW_U8,
    EF_ROW_U16,
    EF_ROW_U32, /* Also IPv4 addresses, 10.0.0.1 is 0x0a000001. */
    EF_ROW_U64,
    EF_ROW_I64,
    EF_ROW_TIME,  /* struct ef_time. */
    EF_ROW_FIXED, /* `width` bytes, such as a MAC or an IPv6 address. */
    EF_ROW_BYTES, /* struct ef_bytes. */
    EF_N_ROW_TYPES
};

struct ef_row_column {
    const char *name; /* Lower-case letters, digits, '_'. */
    enum ef_row_type type;
    uint32_t offset;    /* In the row's struct, or in the element's. */
    uint32_t null_flag; /* 0: never null; else 1 + the offset of the bool that says that there is a value. */
    uint8_t list;       /* 0: of the row; else 1 + the number of its list. */
    uint16_t width;     /* Of EF_ROW_FIXED. */
};

#define EF_ROW_NULL_UNLESS(STRUCT, FLAG) .null_flag = offsetof(STRUCT, FLAG) + 1

/* What a list is in the row's struct. */
struct ef_row_list {
    const void *elements;
    uint32_t n;
};

struct ef_row_list_column {
    const char *name;
    uint32_t offset; /* Of the struct ef_row_list in the row's struct. */
    uint32_t element_bytes;
};

/* Columns of a number that is counted up per key; see row_counter.h. */
struct ef_row_counter {
    uint8_t column, key;    /* Of one list: a number, which may be null; fixed bytes, which may not. */
    uint8_t base_key, base; /* Of another one, which only files have elements of; like `key` and like `column`. */
};

struct ef_row_schema {
    const struct ef_row_column *columns;
    unsigned n_columns;
    const struct ef_row_list_column *lists;
    unsigned n_lists;
    uint32_t row_bytes;
    /* By which columns of the row rows are ordered within a row group. */
    uint8_t sort[EF_ROW_MAX_SORT];
    unsigned n_sort;
    const struct ef_row_counter *counter; /* NULL: there is none. */
};

/* Returns 0, or -EINVAL with `err`, which names what is wrong. */
int ef_row_schema_check(const struct ef_row_schema *schema, struct ef_error *err);

/* The number of the column of that name outside of lists, or -1. */
int ef_row_schema_find(const struct ef_row_schema *schema, const char *name);

/* A value that is the same for schemas with equal columns and lists, whatever
 * the structs look like. */
uint64_t ef_row_schema_fingerprint(const struct ef_row_schema *schema);

static inline bool
ef_row_type_is_number(enum ef_row_type type)
{
    return type <= EF_ROW_TIME;
}

/* Bytes of a value in its struct. */
uint32_t ef_row_column_width(const struct ef_row_column *column);

/* False if the column of the struct at `base` is null. */
static inline bool
ef_row_has(const struct ef_row_column *column, const void *base)
{
    return !column->null_flag || *((const bool *) base + column->null_flag - 1);
}

/* A number of the struct at `base` as 64 bits, and back. */
uint64_t ef_row_get_number(const struct ef_row_column *column, const void *base);
void ef_row_set_number(const struct ef_row_column *column, void *base, uint64_t value);

/* Less than, equal to or greater than 0, as numbers of the type are ordered. */
static inline int
ef_row_compare_numbers(enum ef_row_type type, uint64_t a, uint64_t b)
{
    if (type == EF_ROW_I64 || type == EF_ROW_TIME) {
        return ((int64_t) a > (int64_t) b) - ((int64_t) a < (int64_t) b);
    }
    return (a > b) - (a < b);
}

/* The order of two rows by the schema's sort columns; nulls come last. */
int ef_row_compare(const struct ef_row_schema *schema, const void *a, const void *b);

#endif
