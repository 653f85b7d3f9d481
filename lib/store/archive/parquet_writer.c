/* SPDX-License-Identifier: Apache-2.0 */
/* Row groups and the footer around them; see parquet_writer.h. */
#include <config.h>

#include "store/archive/parquet_writer.h"

#include <errno.h>

#include "base/util.h"
#include "store/archive/chunk_writer.h"
#include "store/archive/row_counter.h"
#include "store/archive/row_set.h"

struct ef_parquet_writer {
    struct ef_parquet_writer_config config;
    struct ef_chunk_writer chunks;
    struct ef_row_set rows; /* Of the group that is gathered. */
    struct ef_buffer out;   /* Bytes not yet given to the sink. */
    int64_t file_offset;    /* Of the first of them. */
    int error;

    struct ef_parquet_group *groups;
    struct ef_chunk_bounds **bounds; /* Per group, of each column. */
    unsigned n_groups;
    int64_t n_rows;
};

int
ef_parquet_writer_create(const struct ef_parquet_writer_config *config, struct ef_parquet_writer **out,
                         struct ef_error *err)
{
    int rc = ef_row_schema_check(config->schema, err);
    if (!rc && config->group_rows > EF_PARQUET_MAX_GROUP_ROWS) {
        rc = ef_error_set(err, -EINVAL, "a row group has at most %d rows", EF_PARQUET_MAX_GROUP_ROWS);
    }
    if (rc) {
        return rc;
    }
    struct ef_parquet_writer *w = ef_must_realloc(NULL, sizeof *w);
    *w = (struct ef_parquet_writer){.config = *config, .rows.schema = config->schema};
    w->config.group_rows = config->group_rows ? config->group_rows : EF_PARQUET_GROUP_ROWS;
    w->chunks.zstd_level = config->zstd_level ? config->zstd_level : EF_PARQUET_ZSTD_LEVEL;
    w->chunks.page_rows = config->page_rows;
    w->chunks.zstd = ZSTD_createCCtx();
    if (!w->chunks.zstd) {
        abort();
    }
    ef_buffer_add(&w->out, EF_PARQUET_MAGIC, EF_PARQUET_MAGIC_BYTES);
    *out = w;
    return 0;
}

void
ef_parquet_writer_destroy(struct ef_parquet_writer *w)
{
    if (!w) {
        return;
    }
    for (unsigned i = 0; i < w->n_groups; i++) {
        free(w->groups[i].chunks);
        free(w->bounds[i]);
    }
    free(w->groups);
    free(w->bounds);
    ef_chunk_writer_deinit(&w->chunks);
    ef_row_set_deinit(&w->rows);
    ef_buffer_deinit(&w->out);
    free(w);
}

static int
flush(struct ef_parquet_writer *w)
{
    if (!w->error && w->out.len) {
        w->error = w->config.sink(w->config.ctx, w->out.data, w->out.len);
    }
    w->file_offset += (int64_t) w->out.len;
    w->out.len = 0;
    return w->error;
}

/* --- Row groups ---------------------------------------------------------------- */

static struct ef_bytes
text_bytes(const char *text)
{
    return (struct ef_bytes){text, (uint32_t) strlen(text)};
}

static void
set_path(const struct ef_row_schema *schema, const struct ef_row_column *c, struct ef_parquet_chunk *chunk)
{
    if (c->list) {
        chunk->path[chunk->n_path++] = text_bytes(schema->lists[c->list - 1].name);
        chunk->path[chunk->n_path++] = text_bytes("list");
        chunk->path[chunk->n_path++] = text_bytes("element");
    }
    chunk->path[chunk->n_path++] = text_bytes(c->name);
}

static void
write_column(struct ef_parquet_writer *w, unsigned column, struct ef_parquet_chunk *chunk,
             struct ef_chunk_bounds *bounds)
{
    const struct ef_row_schema *schema = w->config.schema;
    struct ef_column_data data;
    ef_column_gather(schema, column, (const void *const *) w->rows.rows, w->rows.n_rows, &data);
    ef_chunk_bounds_find(&data, bounds);
    ef_chunk_write(&w->chunks, &data, w->file_offset, &w->out, chunk);
    ef_column_data_deinit(&data);
    set_path(schema, &schema->columns[column], chunk);
    if (bounds->len) {
        chunk->min = (struct ef_bytes){bounds->min, bounds->len};
        chunk->max = (struct ef_bytes){bounds->max, bounds->len};
    }
}

static struct ef_parquet_group *
add_group(struct ef_parquet_writer *w)
{
    unsigned n = w->config.schema->n_columns;
    w->groups = ef_must_realloc(w->groups, (w->n_groups + 1) * sizeof *w->groups);
    w->bounds = ef_must_realloc(w->bounds, (w->n_groups + 1) * sizeof *w->bounds);
    w->bounds[w->n_groups] = ef_must_realloc(NULL, n * sizeof **w->bounds);
    struct ef_parquet_group *g = &w->groups[w->n_groups++];
    *g = (struct ef_parquet_group){.chunks = ef_must_realloc(NULL, n * sizeof *g->chunks), .n_chunks = n};
    return g;
}

static int
write_group(struct ef_parquet_writer *w)
{
    if (!w->rows.n_rows || w->error) {
        return w->error;
    }
    ef_row_set_sort(&w->rows);
    ef_row_counter_pack(&w->rows);
    struct ef_parquet_group *g = add_group(w);
    g->n_rows = w->rows.n_rows;
    g->file_offset = w->file_offset + (int64_t) w->out.len;
    for (unsigned i = 0; i < g->n_chunks; i++) {
        write_column(w, i, &g->chunks[i], &w->bounds[w->n_groups - 1][i]);
        g->uncompressed_bytes += g->chunks[i].uncompressed_bytes;
        g->compressed_bytes += g->chunks[i].compressed_bytes;
        if (flush(w)) {
            return w->error;
        }
    }
    w->n_rows += w->rows.n_rows;
    ef_row_set_clear(&w->rows);
    return 0;
}

/* --- Rows ---------------------------------------------------------------------- */

static bool
is_struct_within_bounds(const struct ef_row_schema *s, unsigned list, const void *base)
{
    for (unsigned i = 0; i < s->n_columns; i++) {
        const struct ef_row_column *c = &s->columns[i];
        if (c->list == list && c->type == EF_ROW_BYTES && ef_row_has(c, base)) {
            struct ef_bytes value;
            memcpy(&value, (const uint8_t *) base + c->offset, sizeof value);
            if (value.len > EF_ROW_MAX_BYTES) {
                return false;
            }
        }
    }
    return true;
}

static bool
is_row_within_bounds(const struct ef_row_schema *s, const void *row)
{
    bool ok = is_struct_within_bounds(s, 0, row);
    for (unsigned i = 0; ok && i < s->n_lists; i++) {
        struct ef_row_list list;
        memcpy(&list, (const uint8_t *) row + s->lists[i].offset, sizeof list);
        ok = list.n <= EF_ROW_MAX_ELEMENTS;
        for (uint32_t k = 0; ok && k < list.n; k++) {
            ok = is_struct_within_bounds(s, i + 1, (const uint8_t *) list.elements + k * s->lists[i].element_bytes);
        }
    }
    return ok;
}

/* A page has to stay within the 31 bits of its length, whatever the rows hold. */
enum { MAX_GROUP_BYTES = 512 << 20 };

int
ef_parquet_writer_add(struct ef_parquet_writer *w, const void *row)
{
    if (w->error) {
        return w->error;
    }
    if (!is_row_within_bounds(w->config.schema, row)) {
        return -EMSGSIZE;
    }
    ef_row_set_add(&w->rows, row);
    bool is_full = w->rows.n_rows == w->config.group_rows || w->rows.n_bytes > MAX_GROUP_BYTES;
    return is_full ? write_group(w) : 0;
}

int
ef_parquet_writer_pad(struct ef_parquet_writer *w)
{
    ef_buffer_add_byte(&w->out, 0);
    return flush(w);
}

/* --- The footer ----------------------------------------------------------------- */

static enum ef_parquet_meaning
meaning_of(enum ef_row_type type)
{
    static const enum ef_parquet_meaning meanings[EF_N_ROW_TYPES] = {
        [EF_ROW_U8] = EF_PARQUET_UINT8,          [EF_ROW_U16] = EF_PARQUET_UINT16,
        [EF_ROW_U32] = EF_PARQUET_UINT32,        [EF_ROW_U64] = EF_PARQUET_UINT64,
        [EF_ROW_I64] = EF_PARQUET_SINT64,        [EF_ROW_TIME] = EF_PARQUET_TIMESTAMP_NS,
        [EF_ROW_FIXED] = EF_PARQUET_PLAIN_VALUE, [EF_ROW_BYTES] = EF_PARQUET_PLAIN_VALUE,
    };
    return meanings[type];
}

static struct ef_parquet_element
group_element(const char *name, enum ef_parquet_repetition repetition, unsigned n_children,
              enum ef_parquet_meaning meaning)
{
    return (struct ef_parquet_element){.type = EF_PARQUET_GROUP,
                                       .repetition = repetition,
                                       .n_children = (int32_t) n_children,
                                       .meaning = meaning,
                                       .name = text_bytes(name)};
}

static unsigned
n_columns_of(const struct ef_row_schema *s, unsigned list)
{
    unsigned n = 0;
    for (unsigned i = 0; i < s->n_columns; i++) {
        n += s->columns[i].list == list;
    }
    return n;
}

/* The schema's tree, depth first; a list is three levels deep, as the format
 * demands. Returns the number of elements. */
static unsigned
make_elements(const struct ef_row_schema *s, struct ef_parquet_element *e)
{
    unsigned n = 0;
    e[n++] = group_element("schema", EF_PARQUET_REQUIRED, n_columns_of(s, 0) + s->n_lists, EF_PARQUET_PLAIN_VALUE);
    for (unsigned i = 0; i < s->n_columns; i++) {
        const struct ef_row_column *c = &s->columns[i];
        if (c->list && c->list != s->columns[i - 1].list) {
            e[n++] = group_element(s->lists[c->list - 1].name, EF_PARQUET_REQUIRED, 1, EF_PARQUET_LIST);
            e[n++] = group_element("list", EF_PARQUET_REPEATED, 1, EF_PARQUET_PLAIN_VALUE);
            e[n++] = group_element("element", EF_PARQUET_REQUIRED, n_columns_of(s, c->list), EF_PARQUET_PLAIN_VALUE);
        }
        e[n++] = (struct ef_parquet_element){
            .type = ef_parquet_type_of(c->type),
            .type_length = c->width,
            .repetition = c->null_flag ? EF_PARQUET_OPTIONAL : EF_PARQUET_REQUIRED,
            .meaning = meaning_of(c->type),
            .name = text_bytes(c->name),
        };
    }
    return n;
}

int
ef_parquet_writer_finish(struct ef_parquet_writer *w, const struct ef_parquet_pair *pairs, unsigned n_pairs)
{
    const struct ef_row_schema *s = w->config.schema;
    struct ef_parquet_element elements[EF_ROW_MAX_COLUMNS + 3 * EF_ROW_MAX_LISTS + 1];
    int32_t sort[EF_ROW_MAX_SORT];
    if (write_group(w)) {
        return w->error;
    }
    for (unsigned i = 0; i < s->n_sort; i++) {
        sort[i] = s->sort[i];
    }
    struct ef_parquet_meta meta = {
        .n_rows = w->n_rows,
        .elements = elements,
        .n_elements = make_elements(s, elements),
        .groups = w->groups,
        .n_groups = w->n_groups,
        .pairs = (struct ef_parquet_pair *) pairs,
        .n_pairs = n_pairs,
        .created_by = text_bytes(PACKAGE_NAME " version " PACKAGE_VERSION " (build 0)"),
        .sort = sort,
        .n_sort = s->n_sort,
    };
    size_t start = w->out.len;
    ef_parquet_meta_write(&meta, &w->out);
    size_t len = w->out.len - start;
    ef_store_le32(ef_buffer_grow(&w->out, 4), (uint32_t) len);
    ef_buffer_add(&w->out, EF_PARQUET_MAGIC, EF_PARQUET_MAGIC_BYTES);
    return flush(w);
}
