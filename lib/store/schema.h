/* SPDX-License-Identifier: Apache-2.0 */
/* The shape of a record: typed columns, and where each lies in the struct that
 * the program has of it.
 *
 *     struct flow { struct ef_time time; uint32_t src, dst; uint16_t dstport; };
 *     static const struct ef_column columns[] = {
 *         {"time", EF_COLUMN_TIME, offsetof(struct flow, time)},
 *         {"src", EF_COLUMN_IPV4, offsetof(struct flow, src)},
 *         {"dst", EF_COLUMN_IPV4, offsetof(struct flow, dst)},
 *         {"dstport", EF_COLUMN_U16, offsetof(struct flow, dstport)},
 *     };
 *     struct ef_schema schema;
 *     if (ef_schema_init(&schema, columns, EF_ARRAY_SIZE(columns), sizeof(struct flow), &err)) ...
 *
 * The first column is the record's time. Numbers are in the machine's byte
 * order, addresses of 6 and 16 bytes in network order. An immutable value: it
 * may be copied and read by any thread; the names are borrowed. */
#ifndef EF_STORE_SCHEMA_H
#define EF_STORE_SCHEMA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum { EF_SCHEMA_MAX_COLUMNS = 32, EF_COLUMN_MAX_BYTES = 256 };

enum ef_column_type {
    EF_COLUMN_U8,
    EF_COLUMN_U16,
    EF_COLUMN_U32,
    EF_COLUMN_U64,
    EF_COLUMN_TIME,     /* struct ef_time: signed nanoseconds. */
    EF_COLUMN_IPV4,     /* uint32_t, 10.0.0.1 is 0x0a000001. */
    EF_COLUMN_IPV6,     /* 16 bytes. */
    EF_COLUMN_MAC,      /* 6 bytes. */
    EF_COLUMN_BYTES,    /* `width` bytes. */
    EF_COLUMN_VARIABLE, /* struct ef_bytes; at most one column. */
};

/* What a variable column is in the program's struct. */
struct ef_bytes {
    const void *data;
    uint32_t len;
};

struct ef_column {
    const char *name;
    enum ef_column_type type;
    uint32_t offset; /* In the program's struct. */
    uint32_t width;  /* Bytes; for EF_COLUMN_BYTES given by the program, otherwise filled in. */
};

struct ef_schema {
    unsigned n_columns;
    uint32_t record_bytes; /* Size of the program's struct. */
    int variable;          /* Number of the variable column, or -1. */
    struct ef_column columns[EF_SCHEMA_MAX_COLUMNS];
};

/* Checks `columns` and fills `schema`. Returns 0, or -EINVAL with `err`, which
 * names the column that is wrong. */
int ef_schema_init(struct ef_schema *schema, const struct ef_column *columns, unsigned n_columns, uint32_t record_bytes,
                   struct ef_error *err);

/* The number of the column of that name, or -1. */
int ef_schema_find(const struct ef_schema *schema, const char *name);

/* True for the types whose values are numbers with an order: U8 to IPV4. */
static inline bool
ef_column_is_number(const struct ef_column *column)
{
    return column->type <= EF_COLUMN_IPV4;
}

#endif
