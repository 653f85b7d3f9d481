/* SPDX-License-Identifier: Apache-2.0 */
/* What an extract function fills: all keys of some rows, for an index; or only
 * whether one of a record's keys passes a test. Private to lib/store. */
#ifndef EF_STORE_KEYS_H
#define EF_STORE_KEYS_H

#include "store/multilog.h"

struct ef_multilog_keys {
    enum ef_column_type type;
    uint32_t width;

    /* Testing. */
    const struct ef_multilog_key_test *test; /* NULL: collecting. */
    bool is_found;

    /* Collecting. */
    uint32_t row; /* Set by the caller of the extract function. */
    uint8_t *values;
    uint32_t *rows; /* Of each value. */
    uint32_t n, capacity;
    bool is_out_of_memory;
};

/* The bytes of a key of that type; `width` counts for EF_COLUMN_BYTES only. 0:
 * no type of keys. */
uint32_t ef_key_width(enum ef_column_type type, uint32_t width);

void ef_keys_deinit(struct ef_multilog_keys *keys);

/* True if one of the record's keys passes. */
bool ef_keys_match(const struct ef_multilog_key_test *test, const void *data, uint32_t len);

#endif
