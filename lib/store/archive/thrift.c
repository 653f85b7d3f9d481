/* SPDX-License-Identifier: Apache-2.0 */
/* Thrift's compact protocol; see thrift.h. */
#include <config.h>

#include "store/archive/thrift.h"

/* --- Writing ----------------------------------------------------------------- */

void
ef_varint_add(struct ef_buffer *out, uint64_t value)
{
    while (value >= 0x80) {
        ef_buffer_add_byte(out, (uint8_t) (value | 0x80));
        value >>= 7;
    }
    ef_buffer_add_byte(out, (uint8_t) value);
}

static void
field_header(struct ef_thrift_writer *w, int id, enum ef_thrift_type type)
{
    int delta = id - w->last_id[w->depth];
    if (delta > 0 && delta <= 15) {
        ef_buffer_add_byte(w->out, (uint8_t) (delta << 4 | (int) type));
    } else {
        ef_buffer_add_byte(w->out, (uint8_t) type);
        ef_varint_add(w->out, ef_zigzag(id));
    }
    w->last_id[w->depth] = id;
}

void
ef_thrift_bool(struct ef_thrift_writer *w, int id, bool value)
{
    field_header(w, id, value ? EF_THRIFT_TRUE : EF_THRIFT_FALSE);
}

void
ef_thrift_byte(struct ef_thrift_writer *w, int id, int8_t value)
{
    field_header(w, id, EF_THRIFT_BYTE);
    ef_buffer_add_byte(w->out, (uint8_t) value);
}

void
ef_thrift_i32(struct ef_thrift_writer *w, int id, int32_t value)
{
    field_header(w, id, EF_THRIFT_I32);
    ef_varint_add(w->out, ef_zigzag(value));
}

void
ef_thrift_i64(struct ef_thrift_writer *w, int id, int64_t value)
{
    field_header(w, id, EF_THRIFT_I64);
    ef_varint_add(w->out, ef_zigzag(value));
}

void
ef_thrift_binary(struct ef_thrift_writer *w, int id, const void *data, size_t len)
{
    field_header(w, id, EF_THRIFT_BINARY);
    ef_varint_add(w->out, len);
    ef_buffer_add(w->out, data, len);
}

void
ef_thrift_text(struct ef_thrift_writer *w, int id, const char *text)
{
    ef_thrift_binary(w, id, text, strlen(text));
}

void
ef_thrift_begin(struct ef_thrift_writer *w, int id)
{
    if (id) {
        field_header(w, id, EF_THRIFT_STRUCT);
    }
    w->last_id[++w->depth] = 0;
}

void
ef_thrift_end(struct ef_thrift_writer *w)
{
    ef_buffer_add_byte(w->out, 0);
    w->depth--;
}

void
ef_thrift_stop(struct ef_thrift_writer *w)
{
    ef_buffer_add_byte(w->out, 0);
}

void
ef_thrift_list(struct ef_thrift_writer *w, int id, enum ef_thrift_type type, size_t n)
{
    field_header(w, id, EF_THRIFT_LIST);
    ef_buffer_add_byte(w->out, (uint8_t) ((n < 15 ? n : 15) << 4 | (size_t) type));
    if (n >= 15) {
        ef_varint_add(w->out, n);
    }
}

void
ef_thrift_element_i32(struct ef_thrift_writer *w, int32_t value)
{
    ef_varint_add(w->out, ef_zigzag(value));
}

void
ef_thrift_element_text(struct ef_thrift_writer *w, const char *text)
{
    ef_varint_add(w->out, strlen(text));
    ef_buffer_add(w->out, text, strlen(text));
}

/* --- Reading ----------------------------------------------------------------- */

bool
ef_varint_read(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; shift < 64 && *at < end; shift += 7) {
        uint8_t byte = *(*at)++;
        *value |= (uint64_t) (byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            return true;
        }
    }
    return false;
}

static uint64_t
read_varint(struct ef_thrift_reader *r)
{
    uint64_t value = 0;
    if (r->failed || !ef_varint_read(&r->at, r->end, &value)) {
        r->failed = true;
        return 0;
    }
    return value;
}

static uint8_t
read_byte(struct ef_thrift_reader *r)
{
    if (r->failed || r->at == r->end) {
        r->failed = true;
        return 0;
    }
    return *r->at++;
}

bool
ef_thrift_next(struct ef_thrift_reader *r, struct ef_thrift_field *field)
{
    uint8_t head = read_byte(r);
    if (r->failed || !head) {
        return false;
    }
    field->type = head & 0xf;
    /* Ids have 16 bits; a sum outside of that is no id of ours. */
    int64_t id = head >> 4 ? field->id + (head >> 4) : ef_unzigzag(read_varint(r));
    if (id < INT16_MIN || id > INT16_MAX) {
        r->failed = true;
    }
    field->id = r->failed ? 0 : (int) id;
    return !r->failed;
}

int64_t
ef_thrift_read_element_int(struct ef_thrift_reader *r)
{
    return ef_unzigzag(read_varint(r));
}

int64_t
ef_thrift_read_int(struct ef_thrift_reader *r, const struct ef_thrift_field *field)
{
    switch (field->type) {
    case EF_THRIFT_BYTE:
        return (int8_t) read_byte(r);
    case EF_THRIFT_I16:
    case EF_THRIFT_I32:
    case EF_THRIFT_I64:
        return ef_thrift_read_element_int(r);
    default:
        r->failed = true;
        return 0;
    }
}

bool
ef_thrift_read_bool(struct ef_thrift_reader *r, const struct ef_thrift_field *field)
{
    r->failed |= field->type != EF_THRIFT_TRUE && field->type != EF_THRIFT_FALSE;
    return field->type == EF_THRIFT_TRUE;
}

const uint8_t *
ef_thrift_read_element_binary(struct ef_thrift_reader *r, size_t *len)
{
    uint64_t n = read_varint(r);
    if (r->failed || n > (uint64_t) (r->end - r->at)) {
        r->failed = true;
        *len = 0;
        return r->end;
    }
    const uint8_t *data = r->at;
    r->at += n;
    *len = n;
    return data;
}

const uint8_t *
ef_thrift_read_binary(struct ef_thrift_reader *r, const struct ef_thrift_field *field, size_t *len)
{
    r->failed |= field->type != EF_THRIFT_BINARY;
    return ef_thrift_read_element_binary(r, len);
}

/* The head of a list or set: how many of which type. */
static size_t
read_list_head(struct ef_thrift_reader *r, enum ef_thrift_type *type)
{
    uint8_t head = read_byte(r);
    uint64_t n = head >> 4;
    *type = head & 0xf;
    if (n == 15) {
        n = read_varint(r);
    }
    if (n > (uint64_t) (r->end - r->at)) {
        r->failed = true;
    }
    return r->failed ? 0 : n;
}

size_t
ef_thrift_read_list(struct ef_thrift_reader *r, const struct ef_thrift_field *field, enum ef_thrift_type type)
{
    enum ef_thrift_type found = 0;
    r->failed |= field->type != EF_THRIFT_LIST;
    size_t n = read_list_head(r, &found);
    r->failed |= n > 0 && found != type;
    return r->failed ? 0 : n;
}

bool
ef_thrift_read_struct(struct ef_thrift_reader *r, const struct ef_thrift_field *field)
{
    r->failed |= field->type != EF_THRIFT_STRUCT;
    return !r->failed;
}

static void skip_value(struct ef_thrift_reader *r, enum ef_thrift_type type, int depth);

static void
skip_elements(struct ef_thrift_reader *r, size_t n, enum ef_thrift_type type, int depth)
{
    for (size_t i = 0; i < n && !r->failed; i++) {
        /* A boolean takes a byte as an element, and none as a field. */
        if (type == EF_THRIFT_TRUE || type == EF_THRIFT_FALSE) {
            read_byte(r);
        } else {
            skip_value(r, type, depth + 1);
        }
    }
}

static void
skip_struct(struct ef_thrift_reader *r, int depth)
{
    struct ef_thrift_field field = {0};
    while (ef_thrift_next(r, &field)) {
        skip_value(r, field.type, depth + 1);
    }
}

static void
skip_map(struct ef_thrift_reader *r, int depth)
{
    uint64_t n = read_varint(r);
    uint8_t types = n ? read_byte(r) : 0;
    for (uint64_t i = 0; i < n && !r->failed; i++) {
        skip_elements(r, 1, types >> 4, depth);
        skip_elements(r, 1, types & 0xf, depth);
    }
}

static void
skip_value(struct ef_thrift_reader *r, enum ef_thrift_type type, int depth)
{
    size_t n;
    if (depth > EF_THRIFT_MAX_DEPTH) {
        r->failed = true;
        return;
    }
    switch (type) {
    case EF_THRIFT_TRUE:
    case EF_THRIFT_FALSE:
        break;
    case EF_THRIFT_BYTE:
        read_byte(r);
        break;
    case EF_THRIFT_I16:
    case EF_THRIFT_I32:
    case EF_THRIFT_I64:
        read_varint(r);
        break;
    case EF_THRIFT_DOUBLE:
        for (int i = 0; i < 8; i++) {
            read_byte(r);
        }
        break;
    case EF_THRIFT_BINARY:
        ef_thrift_read_element_binary(r, &n);
        break;
    case EF_THRIFT_LIST:
    case EF_THRIFT_SET: {
        enum ef_thrift_type element;
        n = read_list_head(r, &element);
        skip_elements(r, n, element, depth);
        break;
    }
    case EF_THRIFT_MAP:
        skip_map(r, depth);
        break;
    case EF_THRIFT_STRUCT:
        skip_struct(r, depth);
        break;
    default:
        r->failed = true;
    }
}

void
ef_thrift_skip(struct ef_thrift_reader *r, const struct ef_thrift_field *field)
{
    skip_value(r, field->type, 0);
}
