/* SPDX-License-Identifier: Apache-2.0 */
/* Parquet metadata as bytes: writing, and page headers; see parquet_meta.h. The
 * numbers of the fields are those of parquet.thrift. */
#include <config.h>

#include "store/archive/parquet_meta.h"

#include <errno.h>

#include "store/archive/thrift.h"

static void
write_bytes(struct ef_thrift_writer *w, int id, struct ef_bytes bytes)
{
    ef_thrift_binary(w, id, bytes.data, bytes.len);
}

/* --- Schema ------------------------------------------------------------------ */

/* How old readers are told the meaning. */
static const int8_t converted_type[] = {
    [EF_PARQUET_PLAIN_VALUE] = -1, [EF_PARQUET_LIST] = 3,    [EF_PARQUET_UINT8] = 11,  [EF_PARQUET_UINT16] = 12,
    [EF_PARQUET_UINT32] = 13,      [EF_PARQUET_UINT64] = 14, [EF_PARQUET_SINT64] = 18, [EF_PARQUET_TIMESTAMP_NS] = -1,
};

static void
write_integer(struct ef_thrift_writer *w, int8_t bits, bool is_signed)
{
    ef_thrift_begin(w, 10);
    ef_thrift_byte(w, 1, bits);
    ef_thrift_bool(w, 2, is_signed);
    ef_thrift_end(w);
}

static void
write_timestamp_ns(struct ef_thrift_writer *w)
{
    ef_thrift_begin(w, 8);
    ef_thrift_bool(w, 1, false);
    ef_thrift_begin(w, 2); /* The unit, a union of empty structs: 3 is nanoseconds. */
    ef_thrift_begin(w, 3);
    ef_thrift_end(w);
    ef_thrift_end(w);
    ef_thrift_end(w);
}

static void
write_meaning(struct ef_thrift_writer *w, enum ef_parquet_meaning meaning)
{
    ef_thrift_begin(w, 10);
    switch (meaning) {
    case EF_PARQUET_LIST:
        ef_thrift_begin(w, 3);
        ef_thrift_end(w);
        break;
    case EF_PARQUET_UINT8:
        write_integer(w, 8, false);
        break;
    case EF_PARQUET_UINT16:
        write_integer(w, 16, false);
        break;
    case EF_PARQUET_UINT32:
        write_integer(w, 32, false);
        break;
    case EF_PARQUET_UINT64:
        write_integer(w, 64, false);
        break;
    case EF_PARQUET_SINT64:
        write_integer(w, 64, true);
        break;
    case EF_PARQUET_TIMESTAMP_NS:
        write_timestamp_ns(w);
        break;
    case EF_PARQUET_PLAIN_VALUE:
        break;
    }
    ef_thrift_end(w);
}

static void
write_element(struct ef_thrift_writer *w, const struct ef_parquet_element *e, bool is_root)
{
    ef_thrift_begin(w, 0);
    if (e->type != EF_PARQUET_GROUP) {
        ef_thrift_i32(w, 1, e->type);
    }
    if (e->type == EF_PARQUET_FIXED) {
        ef_thrift_i32(w, 2, e->type_length);
    }
    if (!is_root) {
        ef_thrift_i32(w, 3, e->repetition);
    }
    write_bytes(w, 4, e->name);
    if (e->type == EF_PARQUET_GROUP) {
        ef_thrift_i32(w, 5, e->n_children);
    }
    if (converted_type[e->meaning] >= 0) {
        ef_thrift_i32(w, 6, converted_type[e->meaning]);
    }
    if (e->meaning != EF_PARQUET_PLAIN_VALUE) {
        write_meaning(w, e->meaning);
    }
    ef_thrift_end(w);
}

/* --- Row groups -------------------------------------------------------------- */

static void
write_statistics(struct ef_thrift_writer *w, const struct ef_parquet_chunk *c)
{
    ef_thrift_begin(w, 12);
    if (c->n_nulls >= 0) {
        ef_thrift_i64(w, 3, c->n_nulls);
    }
    if (c->min.data) {
        write_bytes(w, 5, c->max);
        write_bytes(w, 6, c->min);
    }
    ef_thrift_end(w);
}

static void
write_encodings(struct ef_thrift_writer *w, uint32_t encodings)
{
    ef_thrift_list(w, 2, EF_THRIFT_I32, (size_t) __builtin_popcount(encodings));
    for (int i = 0; i < 32; i++) {
        if (encodings >> i & 1) {
            ef_thrift_element_i32(w, i);
        }
    }
}

static void
write_chunk(struct ef_thrift_writer *w, const struct ef_parquet_chunk *c)
{
    ef_thrift_begin(w, 0);
    ef_thrift_i64(w, 2, c->dictionary_page_offset ? c->dictionary_page_offset : c->data_page_offset);
    ef_thrift_begin(w, 3);
    ef_thrift_i32(w, 1, c->type);
    write_encodings(w, c->encodings);
    ef_thrift_list(w, 3, EF_THRIFT_BINARY, c->n_path);
    for (unsigned i = 0; i < c->n_path; i++) {
        ef_varint_add(w->out, c->path[i].len);
        ef_buffer_add(w->out, c->path[i].data, c->path[i].len);
    }
    ef_thrift_i32(w, 4, c->codec);
    ef_thrift_i64(w, 5, c->n_values);
    ef_thrift_i64(w, 6, c->uncompressed_bytes);
    ef_thrift_i64(w, 7, c->compressed_bytes);
    ef_thrift_i64(w, 9, c->data_page_offset);
    if (c->dictionary_page_offset) {
        ef_thrift_i64(w, 11, c->dictionary_page_offset);
    }
    write_statistics(w, c);
    ef_thrift_end(w);
    ef_thrift_end(w);
}

static void
write_group(struct ef_thrift_writer *w, const struct ef_parquet_meta *meta, unsigned index)
{
    const struct ef_parquet_group *g = &meta->groups[index];
    ef_thrift_begin(w, 0);
    ef_thrift_list(w, 1, EF_THRIFT_STRUCT, g->n_chunks);
    for (unsigned i = 0; i < g->n_chunks; i++) {
        write_chunk(w, &g->chunks[i]);
    }
    ef_thrift_i64(w, 2, g->uncompressed_bytes);
    ef_thrift_i64(w, 3, g->n_rows);
    if (meta->n_sort) {
        ef_thrift_list(w, 4, EF_THRIFT_STRUCT, meta->n_sort);
        for (unsigned i = 0; i < meta->n_sort; i++) {
            ef_thrift_begin(w, 0);
            ef_thrift_i32(w, 1, meta->sort[i]);
            ef_thrift_bool(w, 2, false); /* Ascending, */
            ef_thrift_bool(w, 3, false); /* nulls last. */
            ef_thrift_end(w);
        }
    }
    ef_thrift_i64(w, 5, g->file_offset);
    ef_thrift_i64(w, 6, g->compressed_bytes);
    ef_thrift_end(w);
}

static void
write_pairs(struct ef_thrift_writer *w, const struct ef_parquet_meta *meta)
{
    ef_thrift_list(w, 5, EF_THRIFT_STRUCT, meta->n_pairs);
    for (unsigned i = 0; i < meta->n_pairs; i++) {
        ef_thrift_begin(w, 0);
        write_bytes(w, 1, meta->pairs[i].key);
        write_bytes(w, 2, meta->pairs[i].value);
        ef_thrift_end(w);
    }
}

/* Says for each column that its statistics follow the order of its type. */
static void
write_column_orders(struct ef_thrift_writer *w, const struct ef_parquet_meta *meta)
{
    size_t n_leaves = 0;
    for (unsigned i = 0; i < meta->n_elements; i++) {
        n_leaves += meta->elements[i].type != EF_PARQUET_GROUP;
    }
    ef_thrift_list(w, 7, EF_THRIFT_STRUCT, n_leaves);
    for (size_t i = 0; i < n_leaves; i++) {
        ef_thrift_begin(w, 0);
        ef_thrift_begin(w, 1);
        ef_thrift_end(w);
        ef_thrift_end(w);
    }
}

void
ef_parquet_meta_write(const struct ef_parquet_meta *meta, struct ef_buffer *out)
{
    struct ef_thrift_writer w = {.out = out};
    ef_thrift_i32(&w, 1, 2);
    ef_thrift_list(&w, 2, EF_THRIFT_STRUCT, meta->n_elements);
    for (unsigned i = 0; !meta->element_bytes.len && i < meta->n_elements; i++) {
        write_element(&w, &meta->elements[i], i == 0);
    }
    ef_buffer_add(out, meta->element_bytes.data, meta->element_bytes.len);
    ef_thrift_i64(&w, 3, meta->n_rows);
    ef_thrift_list(&w, 4, EF_THRIFT_STRUCT, meta->n_groups);
    for (unsigned i = 0; i < meta->n_groups; i++) {
        write_group(&w, meta, i);
    }
    if (meta->n_pairs) {
        write_pairs(&w, meta);
    }
    write_bytes(&w, 6, meta->created_by);
    write_column_orders(&w, meta);
    ef_thrift_stop(&w);
}

/* --- Page headers ------------------------------------------------------------ */

void
ef_parquet_page_write(const struct ef_parquet_page *page, struct ef_buffer *out)
{
    struct ef_thrift_writer w = {.out = out};
    ef_thrift_i32(&w, 1, page->type);
    ef_thrift_i32(&w, 2, page->uncompressed_bytes);
    ef_thrift_i32(&w, 3, page->compressed_bytes);
    if (page->has_crc) {
        ef_thrift_i32(&w, 4, (int32_t) page->crc);
    }
    ef_thrift_begin(&w, page->type == EF_PARQUET_DICTIONARY_PAGE ? 7 : 5);
    ef_thrift_i32(&w, 1, page->n_values);
    ef_thrift_i32(&w, 2, page->encoding);
    if (page->type == EF_PARQUET_DATA_PAGE) {
        ef_thrift_i32(&w, 3, page->definition_encoding);
        ef_thrift_i32(&w, 4, page->repetition_encoding);
    }
    ef_thrift_end(&w);
    ef_thrift_stop(&w);
}

/* The header of a data page or of a dictionary page; their fields 1 and 2 agree. */
static void
read_page_kind(struct ef_thrift_reader *r, struct ef_parquet_page *page, bool is_data)
{
    struct ef_thrift_field f = {0};
    while (ef_thrift_next(r, &f)) {
        if (f.id == 1) {
            page->n_values = (int32_t) ef_thrift_read_int(r, &f);
        } else if (f.id == 2) {
            page->encoding = (int32_t) ef_thrift_read_int(r, &f);
        } else if (is_data && f.id == 3) {
            page->definition_encoding = (int32_t) ef_thrift_read_int(r, &f);
        } else if (is_data && f.id == 4) {
            page->repetition_encoding = (int32_t) ef_thrift_read_int(r, &f);
        } else {
            ef_thrift_skip(r, &f);
        }
    }
}

int
ef_parquet_page_read(struct ef_parquet_page *page, const uint8_t **at, const uint8_t *end)
{
    struct ef_thrift_reader r = {.at = *at, .end = end};
    struct ef_thrift_field f = {0};
    *page = (struct ef_parquet_page){.type = -1, .uncompressed_bytes = -1, .compressed_bytes = -1, .n_values = -1};
    while (ef_thrift_next(&r, &f)) {
        switch (f.id) {
        case 1:
            page->type = (int32_t) ef_thrift_read_int(&r, &f);
            break;
        case 2:
            page->uncompressed_bytes = (int32_t) ef_thrift_read_int(&r, &f);
            break;
        case 3:
            page->compressed_bytes = (int32_t) ef_thrift_read_int(&r, &f);
            break;
        case 4:
            page->crc = (uint32_t) ef_thrift_read_int(&r, &f);
            page->has_crc = true;
            break;
        case 5:
        case 7:
            if (ef_thrift_read_struct(&r, &f)) {
                read_page_kind(&r, page, f.id == 5);
            }
            break;
        default:
            ef_thrift_skip(&r, &f);
        }
    }
    *at = r.at;
    return r.failed || page->uncompressed_bytes < 0 || page->compressed_bytes < 0 ? -EBADMSG : 0;
}
