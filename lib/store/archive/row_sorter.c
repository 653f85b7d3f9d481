/* SPDX-License-Identifier: Apache-2.0 */
/* Rows in order; see row_sorter.h. Each has a key of bytes that memcmp() orders
 * as ef_row_compare() orders the rows. */
#include <config.h>

#include "store/archive/row_sorter.h"

#include "base/byteorder.h"
#include "base/util.h"

static void
add_number(struct ef_buffer *keys, enum ef_row_type type, uint64_t value)
{
    bool is_signed = type == EF_ROW_I64 || type == EF_ROW_TIME;
    ef_store_be64(ef_buffer_grow(keys, 8), is_signed ? value ^ (uint64_t) 1 << 63 : value);
}

/* Nulls come last, and are equal. */
static void
add_column(struct ef_buffer *keys, const struct ef_row_column *c, const void *row)
{
    bool has = ef_row_has(c, row);
    ef_buffer_add_byte(keys, !has);
    if (c->type == EF_ROW_FIXED) {
        uint8_t *at = ef_buffer_grow(keys, c->width);
        memset(at, 0, c->width);
        if (has) {
            memcpy(at, (const uint8_t *) row + c->offset, c->width);
        }
    } else {
        add_number(keys, c->type, has ? ef_row_get_number(c, row) : 0);
    }
}

void
ef_row_sorter_add(struct ef_row_sorter *s, const uint8_t *record, size_t len, const void *row)
{
    if (s->n == s->room) {
        s->room = EF_MAX(s->room * 2, 1024u);
        s->entries = ef_must_realloc(s->entries, s->room * sizeof *s->entries);
    }
    s->entries[s->n] = (struct ef_row_sorter_entry){.offset = s->records.len, .len = (uint32_t) len, .number = s->n};
    ef_buffer_add(&s->records, record, len);
    size_t start = s->keys.len;
    for (unsigned i = 0; i < s->schema->n_sort; i++) {
        add_column(&s->keys, &s->schema->columns[s->schema->sort[i]], row);
    }
    s->key_bytes = s->keys.len - start;
    s->n++;
}

static int
compare_entries(const void *a_, const void *b_, void *sorter_)
{
    const struct ef_row_sorter_entry *a = a_, *b = b_;
    const struct ef_row_sorter *s = sorter_;
    int order = s->key_bytes ? memcmp(a->key, b->key, s->key_bytes) : 0;
    return order ? order : (a->number > b->number) - (a->number < b->number);
}

void
ef_row_sorter_sort(struct ef_row_sorter *s)
{
    for (uint32_t i = 0; i < s->n; i++) {
        s->entries[i].key = s->keys.data + (size_t) s->entries[i].number * s->key_bytes;
    }
    if (s->n) {
        qsort_r(s->entries, s->n, sizeof *s->entries, compare_entries, s);
    }
}

struct ef_bytes
ef_row_sorter_get(const struct ef_row_sorter *s, uint32_t i)
{
    return (struct ef_bytes){s->records.data + s->entries[i].offset, s->entries[i].len};
}

void
ef_row_sorter_deinit(struct ef_row_sorter *s)
{
    ef_buffer_deinit(&s->records);
    ef_buffer_deinit(&s->keys);
    free(s->entries);
    *s = (struct ef_row_sorter){.schema = s->schema};
}
