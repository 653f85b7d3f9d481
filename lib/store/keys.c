/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of variable parts: see keys.h. */
#include <config.h>

#include "store/keys.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "store/index.h"

uint32_t
ef_key_width(enum ef_column_type type, uint32_t width)
{
    static const uint32_t widths[] = {
        [EF_COLUMN_U8] = 1,   [EF_COLUMN_U16] = 2,  [EF_COLUMN_U32] = 4,   [EF_COLUMN_U64] = 8,
        [EF_COLUMN_TIME] = 8, [EF_COLUMN_IPV4] = 4, [EF_COLUMN_IPV6] = 16, [EF_COLUMN_MAC] = 6,
    };
    if (type == EF_COLUMN_BYTES) {
        return width <= EF_COLUMN_MAX_BYTES ? width : 0;
    }
    return (size_t) type < EF_ARRAY_SIZE(widths) ? widths[type] : 0;
}

static bool
grow(struct ef_multilog_keys *keys)
{
    uint32_t capacity = keys->capacity ? keys->capacity * 2 : 4096;
    uint8_t *values = realloc(keys->values, (size_t) capacity * keys->width);
    keys->values = values ? values : keys->values;
    uint32_t *rows = realloc(keys->rows, capacity * sizeof *rows);
    keys->rows = rows ? rows : keys->rows;
    if (!values || !rows) {
        keys->is_out_of_memory = true;
        return false;
    }
    keys->capacity = capacity;
    return true;
}

void
ef_multilog_add_key(struct ef_multilog_keys *keys, const void *key)
{
    const struct ef_multilog_key_test *test = keys->test;
    if (test) {
        keys->is_found |= ef_index_compare(keys->type, keys->width, test->low, key) <= 0 &&
                          ef_index_compare(keys->type, keys->width, key, test->high) <= 0;
        return;
    }
    if (keys->n == keys->capacity && !grow(keys)) {
        return;
    }
    memcpy(keys->values + (size_t) keys->n * keys->width, key, keys->width);
    keys->rows[keys->n++] = keys->row;
}

void
ef_keys_deinit(struct ef_multilog_keys *keys)
{
    free(keys->values);
    free(keys->rows);
}

bool
ef_keys_match(const struct ef_multilog_key_test *test, const void *data, uint32_t len)
{
    struct ef_multilog_keys keys = {
        .type = test->key_type, .width = ef_key_width(test->key_type, test->key_width), .test = test};
    test->extract(data, len, &keys);
    return keys.is_found;
}
