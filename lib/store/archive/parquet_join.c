/* SPDX-License-Identifier: Apache-2.0 */
/* Several Parquet files as one; see parquet_join.h. */
#include <config.h>

#include "store/archive/parquet_join.h"

#include <errno.h>

#include "base/util.h"

enum { COPY_BYTES = 1 << 20 };

struct part {
    struct ef_buffer footer; /* What `meta` borrows. */
    struct ef_parquet_meta meta;
};

struct ef_parquet_join {
    int (*sink)(void *ctx, const void *data, size_t len);
    void *ctx;
    int64_t offset; /* Bytes written. */
    struct part **parts;
    unsigned n_parts;
    uint8_t copy[COPY_BYTES];
};

struct ef_parquet_join *
ef_parquet_join_create(int (*sink)(void *ctx, const void *data, size_t len), void *ctx)
{
    struct ef_parquet_join *j = ef_must_realloc(NULL, sizeof *j);
    j->sink = sink;
    j->ctx = ctx;
    j->offset = 0;
    j->parts = NULL;
    j->n_parts = 0;
    return j;
}

static void
part_destroy(struct part *part)
{
    ef_parquet_meta_deinit(&part->meta);
    ef_buffer_deinit(&part->footer);
    free(part);
}

void
ef_parquet_join_destroy(struct ef_parquet_join *j)
{
    for (unsigned i = 0; j && i < j->n_parts; i++) {
        part_destroy(j->parts[i]);
    }
    if (j) {
        free(j->parts);
        free(j);
    }
}

static int
put(struct ef_parquet_join *j, const void *data, size_t len)
{
    int rc = j->sink(j->ctx, data, len);
    j->offset += (int64_t) len;
    return rc;
}

/* Where a chunk begins: with its dictionary if it has one. */
static int64_t
start_of(const struct ef_parquet_chunk *c)
{
    return c->dictionary_page_offset > 0 ? EF_MIN(c->dictionary_page_offset, c->data_page_offset) : c->data_page_offset;
}

/* The chunks lie within the file. */
static bool
is_inside(const struct ef_parquet_meta *meta, uint64_t size)
{
    for (unsigned g = 0; g < meta->n_groups; g++) {
        for (unsigned i = 0; i < meta->groups[g].n_chunks; i++) {
            const struct ef_parquet_chunk *c = &meta->groups[g].chunks[i];
            if (start_of(c) < EF_PARQUET_MAGIC_BYTES || c->compressed_bytes < 0 || (uint64_t) start_of(c) > size ||
                (uint64_t) c->compressed_bytes > size - (uint64_t) start_of(c)) {
                return false;
            }
        }
    }
    return true;
}

static bool
has_same_columns(const struct ef_parquet_meta *a, const struct ef_parquet_meta *b)
{
    return a->n_elements == b->n_elements && a->element_bytes.len == b->element_bytes.len &&
           !memcmp(a->element_bytes.data, b->element_bytes.data, a->element_bytes.len);
}

static int
copy_chunk(struct ef_parquet_join *j, const struct ef_parquet_source *source, struct ef_parquet_chunk *c)
{
    int64_t from = start_of(c), moved = j->offset - from, left = c->compressed_bytes;
    c->data_page_offset += moved;
    c->dictionary_page_offset += c->dictionary_page_offset > 0 ? moved : 0;
    int rc = 0;
    while (!rc && left > 0) {
        size_t n = (size_t) EF_MIN(left, (int64_t) COPY_BYTES);
        rc = source->read(source->ctx, (uint64_t) from, j->copy, n);
        rc = rc ? rc : put(j, j->copy, n);
        from += (int64_t) n;
        left -= (int64_t) n;
    }
    return rc;
}

static int
copy_groups(struct ef_parquet_join *j, const struct ef_parquet_source *source, struct ef_parquet_meta *meta)
{
    int rc = 0;
    for (unsigned g = 0; !rc && g < meta->n_groups; g++) {
        meta->groups[g].file_offset = j->offset;
        for (unsigned i = 0; !rc && i < meta->groups[g].n_chunks; i++) {
            rc = copy_chunk(j, source, &meta->groups[g].chunks[i]);
        }
    }
    return rc;
}

int
ef_parquet_join_add(struct ef_parquet_join *j, const struct ef_parquet_source *source, struct ef_error *err)
{
    struct part *part = ef_must_realloc(NULL, sizeof *part);
    *part = (struct part){0};
    int rc = ef_parquet_footer_read(source, &part->footer, &part->meta, err);
    if (!rc && !is_inside(&part->meta, source->size)) {
        rc = ef_error_set(err, -EBADMSG, "the footer contradicts the file's size");
    }
    if (!rc && j->n_parts && !has_same_columns(&part->meta, &j->parts[0]->meta)) {
        rc = ef_error_set(err, -EINVAL, "it has other columns");
    }
    if (rc) {
        part_destroy(part);
        return rc;
    }
    rc = j->n_parts ? 0 : put(j, EF_PARQUET_MAGIC, EF_PARQUET_MAGIC_BYTES);
    j->parts = ef_must_realloc(j->parts, (j->n_parts + 1) * sizeof *j->parts);
    j->parts[j->n_parts++] = part;
    rc = rc ? rc : copy_groups(j, source, &part->meta);
    return rc ? ef_error_set(err, rc, "%s", strerror(-rc)) : 0;
}

const struct ef_parquet_meta *
ef_parquet_join_meta(const struct ef_parquet_join *j)
{
    return &j->parts[j->n_parts - 1]->meta;
}

/* The first part's metadata, with the row groups of all. */
static struct ef_parquet_meta
join_meta(const struct ef_parquet_join *j, struct ef_parquet_group *groups)
{
    struct ef_parquet_meta meta = j->parts[0]->meta;
    meta.n_rows = meta.n_groups = meta.n_pairs = 0;
    meta.groups = groups;
    for (unsigned i = 0; i < j->n_parts; i++) {
        const struct ef_parquet_meta *part = &j->parts[i]->meta;
        for (unsigned g = 0; g < part->n_groups; g++) {
            groups[meta.n_groups++] = part->groups[g];
            meta.n_rows += part->groups[g].n_rows;
        }
    }
    return meta;
}

int
ef_parquet_join_finish(struct ef_parquet_join *j)
{
    unsigned n_groups = 0;
    struct ef_buffer out = {0};
    if (!j->n_parts) {
        return -EINVAL;
    }
    for (unsigned i = 0; i < j->n_parts; i++) {
        n_groups += j->parts[i]->meta.n_groups;
    }
    struct ef_parquet_group *groups = ef_must_realloc(NULL, n_groups * sizeof *groups);
    struct ef_parquet_meta meta = join_meta(j, groups);
    ef_parquet_meta_write(&meta, &out);
    uint32_t len = (uint32_t) out.len;
    ef_store_le32(ef_buffer_grow(&out, 4), len);
    ef_buffer_add(&out, EF_PARQUET_MAGIC, EF_PARQUET_MAGIC_BYTES);
    int rc = put(j, out.data, out.len);
    ef_buffer_deinit(&out);
    free(groups);
    return rc;
}
