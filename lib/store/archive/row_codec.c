/* SPDX-License-Identifier: Apache-2.0 */
/* Rows as bytes; see row_codec.h. */
#include <config.h>

#include "store/archive/row_codec.h"

/* --- Writing ------------------------------------------------------------------ */

static void
encode_value(const struct ef_row_column *c, const uint8_t *base, struct ef_buffer *out)
{
    bool has = ef_row_has(c, base);
    if (c->null_flag) {
        ef_buffer_add_byte(out, has);
    }
    if (!has) {
        return;
    }
    if (c->type == EF_ROW_BYTES) {
        struct ef_bytes value;
        memcpy(&value, base + c->offset, sizeof value);
        ef_buffer_add(out, &value.len, sizeof value.len);
        ef_buffer_add(out, value.data, value.len);
    } else {
        ef_buffer_add(out, base + c->offset, ef_row_column_width(c));
    }
}

static void
encode_struct(const struct ef_row_schema *s, unsigned list, const uint8_t *base, struct ef_buffer *out)
{
    for (unsigned i = 0; i < s->n_columns; i++) {
        if (s->columns[i].list == list) {
            encode_value(&s->columns[i], base, out);
        }
    }
}

void
ef_row_encode(const struct ef_row_schema *s, const void *row, struct ef_buffer *out)
{
    encode_struct(s, 0, row, out);
    for (unsigned i = 0; i < s->n_lists; i++) {
        struct ef_row_list list;
        memcpy(&list, (const uint8_t *) row + s->lists[i].offset, sizeof list);
        ef_buffer_add(out, &list.n, sizeof list.n);
        for (uint32_t k = 0; k < list.n; k++) {
            encode_struct(s, i + 1, (const uint8_t *) list.elements + (size_t) k * s->lists[i].element_bytes, out);
        }
    }
}

/* --- Reading ------------------------------------------------------------------ */

struct cursor {
    const uint8_t *at, *end;
};

static bool
take(struct cursor *c, void *to, size_t n)
{
    if ((size_t) (c->end - c->at) < n) {
        return false;
    }
    memcpy(to, c->at, n);
    c->at += n;
    return true;
}

static bool
decode_value(struct cursor *in, const struct ef_row_column *c, uint8_t *base, struct ef_row_set *rows)
{
    uint8_t has = 1;
    if (c->null_flag) {
        if (!take(in, &has, 1) || has > 1) {
            return false;
        }
        base[c->null_flag - 1] = has;
    }
    if (!has) {
        return true;
    }
    if (c->type != EF_ROW_BYTES) {
        return take(in, base + c->offset, ef_row_column_width(c));
    }
    struct ef_bytes value;
    if (!take(in, &value.len, sizeof value.len) || value.len > (size_t) (in->end - in->at)) {
        return false;
    }
    void *copy = ef_row_set_alloc(rows, value.len);
    value.data = copy;
    memcpy(base + c->offset, &value, sizeof value);
    return take(in, copy, value.len);
}

static bool
decode_struct(struct cursor *in, unsigned list, uint8_t *base, struct ef_row_set *rows)
{
    const struct ef_row_schema *s = rows->schema;
    bool ok = true;
    for (unsigned i = 0; ok && i < s->n_columns; i++) {
        ok = s->columns[i].list != list || decode_value(in, &s->columns[i], base, rows);
    }
    return ok;
}

static bool
decode_list(struct cursor *in, unsigned index, uint8_t *row, struct ef_row_set *rows)
{
    const struct ef_row_list_column *l = &rows->schema->lists[index];
    uint32_t n;
    /* Each element takes a byte at least. */
    if (!take(in, &n, sizeof n) || n > (size_t) (in->end - in->at) || n > EF_ROW_MAX_ELEMENTS) {
        return false;
    }
    size_t size = (size_t) n * l->element_bytes;
    uint8_t *elements = memset(ef_row_set_alloc(rows, size), 0, size);
    struct ef_row_list list = {elements, n};
    memcpy(row + l->offset, &list, sizeof list);
    bool ok = true;
    for (uint32_t k = 0; ok && k < n; k++) {
        ok = decode_struct(in, index + 1, elements + (size_t) k * l->element_bytes, rows);
    }
    return ok;
}

bool
ef_row_decode(const uint8_t *data, size_t len, struct ef_row_set *rows)
{
    struct cursor in = {data, data + len};
    uint32_t size = rows->schema->row_bytes;
    uint8_t *row = memset(ef_row_set_alloc(rows, size), 0, size);
    bool ok = decode_struct(&in, 0, row, rows);
    for (unsigned i = 0; ok && i < rows->schema->n_lists; i++) {
        ok = decode_list(&in, i, row, rows);
    }
    if (!ok || in.at != in.end) {
        return false;
    }
    ef_row_set_push(rows, row);
    return true;
}
