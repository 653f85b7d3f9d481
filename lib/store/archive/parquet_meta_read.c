/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the footer of a Parquet file that nobody vouches for; see
 * parquet_meta.h. A list never has more elements than what is left has room
 * for, so memory stays within a small multiple of the footer's length. */
#include <config.h>

#include "store/archive/parquet_meta.h"

#include <errno.h>

#include "store/archive/thrift.h"

/* No chunk, group or schema element of a real file is shorter. */
enum { MIN_CHUNK_BYTES = 16, MIN_ELEMENT_BYTES = 4 };

static struct ef_bytes
read_bytes(struct ef_thrift_reader *r, const struct ef_thrift_field *f)
{
    size_t len;
    const uint8_t *data = ef_thrift_read_binary(r, f, &len);
    return (struct ef_bytes){data, (uint32_t) len};
}

static int32_t
read_i32(struct ef_thrift_reader *r, const struct ef_thrift_field *f)
{
    int64_t value = ef_thrift_read_int(r, f);
    r->failed |= value != (int32_t) value;
    return (int32_t) value;
}

/* An array for the `n` elements that follow, `least` bytes each, or one of none. */
static void *
new_array(struct ef_thrift_reader *r, size_t *n, size_t size, size_t least)
{
    if (r->failed || *n > (size_t) (r->end - r->at) / least) {
        r->failed = true;
        *n = 0;
    }
    void *p = ef_must_realloc(NULL, *n * size);
    memset(p, 0, *n * size);
    return p;
}

static void
read_element(struct ef_thrift_reader *r, struct ef_parquet_element *e)
{
    struct ef_thrift_field f = {0};
    e->type = EF_PARQUET_GROUP;
    while (ef_thrift_next(r, &f)) {
        switch (f.id) {
        case 1:
            e->type = read_i32(r, &f);
            break;
        case 2:
            e->type_length = read_i32(r, &f);
            break;
        case 3:
            e->repetition = read_i32(r, &f);
            break;
        case 4:
            e->name = read_bytes(r, &f);
            break;
        case 5:
            e->n_children = read_i32(r, &f);
            break;
        default:
            ef_thrift_skip(r, &f);
        }
    }
}

static void
read_elements(struct ef_thrift_reader *r, const struct ef_thrift_field *f, struct ef_parquet_meta *meta)
{
    size_t n = ef_thrift_read_list(r, f, EF_THRIFT_STRUCT);
    if (meta->elements) {
        r->failed = true;
        return;
    }
    meta->elements = new_array(r, &n, sizeof *meta->elements, MIN_ELEMENT_BYTES);
    const uint8_t *start = r->at;
    for (; meta->n_elements < n && !r->failed; meta->n_elements++) {
        read_element(r, &meta->elements[meta->n_elements]);
    }
    meta->element_bytes = (struct ef_bytes){start, (uint32_t) (r->at - start)};
}

static void
read_statistics(struct ef_thrift_reader *r, struct ef_parquet_chunk *c)
{
    struct ef_thrift_field f = {0};
    while (ef_thrift_next(r, &f)) {
        if (f.id == 3) {
            c->n_nulls = ef_thrift_read_int(r, &f);
        } else if (f.id == 5) {
            c->max = read_bytes(r, &f);
        } else if (f.id == 6) {
            c->min = read_bytes(r, &f);
        } else {
            ef_thrift_skip(r, &f);
        }
    }
    if (!c->max.data) {
        c->min.data = NULL;
    }
}

static void
read_path(struct ef_thrift_reader *r, const struct ef_thrift_field *f, struct ef_parquet_chunk *c)
{
    size_t n = ef_thrift_read_list(r, f, EF_THRIFT_BINARY);
    r->failed |= n > EF_PARQUET_MAX_LEVELS || c->n_path;
    for (size_t i = 0; i < n && !r->failed; i++) {
        size_t len;
        const uint8_t *data = ef_thrift_read_element_binary(r, &len);
        c->path[c->n_path++] = (struct ef_bytes){data, (uint32_t) len};
    }
}

/* Those that we do not know are of no use to us. */
static void
read_encodings(struct ef_thrift_reader *r, const struct ef_thrift_field *f, struct ef_parquet_chunk *c)
{
    size_t n = ef_thrift_read_list(r, f, EF_THRIFT_I32);
    for (size_t i = 0; i < n && !r->failed; i++) {
        int64_t encoding = ef_thrift_read_element_int(r);
        c->encodings |= encoding >= 0 && encoding < 32 ? 1u << encoding : 0;
    }
}

static void
read_chunk_meta(struct ef_thrift_reader *r, struct ef_parquet_chunk *c)
{
    struct ef_thrift_field f = {0};
    while (ef_thrift_next(r, &f)) {
        switch (f.id) {
        case 1:
            c->type = read_i32(r, &f);
            break;
        case 2:
            read_encodings(r, &f, c);
            break;
        case 3:
            read_path(r, &f, c);
            break;
        case 4:
            c->codec = read_i32(r, &f);
            break;
        case 5:
            c->n_values = ef_thrift_read_int(r, &f);
            break;
        case 6:
            c->uncompressed_bytes = ef_thrift_read_int(r, &f);
            break;
        case 7:
            c->compressed_bytes = ef_thrift_read_int(r, &f);
            break;
        case 9:
            c->data_page_offset = ef_thrift_read_int(r, &f);
            break;
        case 11:
            c->dictionary_page_offset = ef_thrift_read_int(r, &f);
            break;
        case 12:
            if (ef_thrift_read_struct(r, &f)) {
                read_statistics(r, c);
            }
            break;
        default:
            ef_thrift_skip(r, &f);
        }
    }
}

static void
read_chunk(struct ef_thrift_reader *r, struct ef_parquet_chunk *c)
{
    struct ef_thrift_field f = {0};
    c->n_nulls = -1;
    c->type = EF_PARQUET_GROUP;
    while (ef_thrift_next(r, &f)) {
        if (f.id == 3 && ef_thrift_read_struct(r, &f)) {
            read_chunk_meta(r, c);
        } else {
            ef_thrift_skip(r, &f);
        }
    }
}

static void
read_chunks(struct ef_thrift_reader *r, const struct ef_thrift_field *f, struct ef_parquet_group *g)
{
    size_t n = ef_thrift_read_list(r, f, EF_THRIFT_STRUCT);
    if (g->chunks) {
        r->failed = true;
        return;
    }
    g->chunks = new_array(r, &n, sizeof *g->chunks, MIN_CHUNK_BYTES);
    for (; g->n_chunks < n && !r->failed; g->n_chunks++) {
        read_chunk(r, &g->chunks[g->n_chunks]);
    }
}

static void
read_group(struct ef_thrift_reader *r, struct ef_parquet_group *g)
{
    struct ef_thrift_field f = {0};
    while (ef_thrift_next(r, &f)) {
        switch (f.id) {
        case 1:
            read_chunks(r, &f, g);
            break;
        case 2:
            g->uncompressed_bytes = ef_thrift_read_int(r, &f);
            break;
        case 3:
            g->n_rows = ef_thrift_read_int(r, &f);
            break;
        case 5:
            g->file_offset = ef_thrift_read_int(r, &f);
            break;
        case 6:
            g->compressed_bytes = ef_thrift_read_int(r, &f);
            break;
        default:
            ef_thrift_skip(r, &f);
        }
    }
}

static void
read_groups(struct ef_thrift_reader *r, const struct ef_thrift_field *f, struct ef_parquet_meta *meta)
{
    size_t n = ef_thrift_read_list(r, f, EF_THRIFT_STRUCT);
    if (meta->groups) {
        r->failed = true;
        return;
    }
    meta->groups = new_array(r, &n, sizeof *meta->groups, MIN_CHUNK_BYTES);
    for (; meta->n_groups < n && !r->failed; meta->n_groups++) {
        read_group(r, &meta->groups[meta->n_groups]);
    }
}

static void
read_pairs(struct ef_thrift_reader *r, const struct ef_thrift_field *list, struct ef_parquet_meta *meta)
{
    size_t n = ef_thrift_read_list(r, list, EF_THRIFT_STRUCT);
    if (meta->pairs) {
        r->failed = true;
        return;
    }
    meta->pairs = new_array(r, &n, sizeof *meta->pairs, MIN_ELEMENT_BYTES);
    for (; meta->n_pairs < n && !r->failed; meta->n_pairs++) {
        struct ef_parquet_pair *pair = &meta->pairs[meta->n_pairs];
        struct ef_thrift_field f = {0};
        while (ef_thrift_next(r, &f)) {
            if (f.id == 1) {
                pair->key = read_bytes(r, &f);
            } else if (f.id == 2) {
                pair->value = read_bytes(r, &f);
            } else {
                ef_thrift_skip(r, &f);
            }
        }
    }
}

static void
read_meta(struct ef_thrift_reader *r, struct ef_parquet_meta *meta)
{
    struct ef_thrift_field f = {0};
    while (ef_thrift_next(r, &f)) {
        switch (f.id) {
        case 2:
            read_elements(r, &f, meta);
            break;
        case 3:
            meta->n_rows = ef_thrift_read_int(r, &f);
            break;
        case 4:
            read_groups(r, &f, meta);
            break;
        case 5:
            read_pairs(r, &f, meta);
            break;
        case 6:
            meta->created_by = read_bytes(r, &f);
            break;
        default:
            ef_thrift_skip(r, &f);
        }
    }
}

int
ef_parquet_meta_read(struct ef_parquet_meta *meta, const uint8_t *data, size_t len, struct ef_error *err)
{
    struct ef_thrift_reader r = {.at = data, .end = data + len};
    *meta = (struct ef_parquet_meta){0};
    read_meta(&r, meta);
    if (r.failed) {
        ef_parquet_meta_deinit(meta);
        return ef_error_set(err, -EBADMSG, "the footer is damaged");
    }
    return 0;
}

void
ef_parquet_meta_deinit(struct ef_parquet_meta *meta)
{
    for (unsigned i = 0; i < meta->n_groups; i++) {
        free(meta->groups[i].chunks);
    }
    free(meta->elements);
    free(meta->groups);
    free(meta->pairs);
    *meta = (struct ef_parquet_meta){0};
}

struct ef_bytes
ef_parquet_meta_find(const struct ef_parquet_meta *meta, const char *key)
{
    for (unsigned i = 0; i < meta->n_pairs; i++) {
        if (meta->pairs[i].key.len == strlen(key) && !memcmp(meta->pairs[i].key.data, key, strlen(key))) {
            return meta->pairs[i].value;
        }
    }
    return (struct ef_bytes){0};
}
