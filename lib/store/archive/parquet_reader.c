/* SPDX-License-Identifier: Apache-2.0 */
/* Rows out of Parquet files; see parquet_reader.h. */
#include <config.h>

#include "store/archive/parquet_reader.h"

#include <errno.h>
#include <unistd.h>

#include "base/util.h"
#include "store/archive/chunk_reader.h"
#include "store/archive/chunk_writer.h"
#include "store/archive/encoding.h"
#include "store/archive/parquet_writer.h"
#include "store/archive/row_counter.h"

enum { TAIL_BYTES = 4 + EF_PARQUET_MAGIC_BYTES, MAX_FOOTER_BYTES = 16 << 20, NO_CHUNK = -1 };

struct ef_parquet_reader {
    const struct ef_row_schema *schema;
    struct ef_parquet_source source;
    struct ef_parquet_meta meta;
    struct ef_buffer footer, bytes; /* What `meta` borrows; scratch. */
    int chunks[EF_ROW_MAX_COLUMNS]; /* The number of each column's chunk, or NO_CHUNK. */
    void *first_row;                /* Of the row group that was read last; it has the bases of a counter. */
};

int
ef_parquet_read_fd(void *ctx, uint64_t offset, void *buf, size_t len)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = pread(*(const int *) ctx, (uint8_t *) buf + done, len - done, (off_t) (offset + done));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return n ? -errno : -EIO;
        }
        done += (size_t) n;
    }
    return 0;
}

/* --- Opening --------------------------------------------------------------------- */

int
ef_parquet_footer_read(const struct ef_parquet_source *source, struct ef_buffer *footer, struct ef_parquet_meta *meta,
                       struct ef_error *err)
{
    uint8_t tail[TAIL_BYTES];
    if (source->size < TAIL_BYTES + EF_PARQUET_MAGIC_BYTES) {
        return ef_error_set(err, -EBADMSG, "too short for a Parquet file");
    }
    int rc = source->read(source->ctx, source->size - TAIL_BYTES, tail, TAIL_BYTES);
    if (rc) {
        return ef_error_set(err, rc, "cannot read the footer: %s", strerror(-rc));
    }
    uint32_t len = ef_load_le32(tail);
    if (memcmp(tail + 4, EF_PARQUET_MAGIC, EF_PARQUET_MAGIC_BYTES) || len > MAX_FOOTER_BYTES ||
        len > source->size - TAIL_BYTES - EF_PARQUET_MAGIC_BYTES) {
        return ef_error_set(err, -EBADMSG, "not a Parquet file, or its end is missing");
    }
    rc = source->read(source->ctx, source->size - TAIL_BYTES - len, ef_buffer_grow(footer, len), len);
    if (rc) {
        return ef_error_set(err, rc, "cannot read the footer: %s", strerror(-rc));
    }
    return ef_parquet_meta_read(meta, footer->data, len, err);
}

static bool
is_text(struct ef_bytes bytes, const char *text)
{
    return bytes.len == strlen(text) && !memcmp(bytes.data, text, bytes.len);
}

/* One leaf of the file's schema while its tree is walked. */
struct leaf {
    struct ef_bytes path[EF_PARQUET_MAX_LEVELS];
    unsigned n_path, max_definition, max_repetition;
    const struct ef_parquet_element *element;
};

static bool
is_column(const struct leaf *leaf, const struct ef_row_schema *s, const struct ef_row_column *c)
{
    if (!c->list) {
        return leaf->n_path == 1 && is_text(leaf->path[0], c->name);
    }
    return leaf->n_path == 4 && is_text(leaf->path[0], s->lists[c->list - 1].name) && is_text(leaf->path[1], "list") &&
           is_text(leaf->path[2], "element") && is_text(leaf->path[3], c->name);
}

/* Notes chunk number `index`, if it is of one of our columns and like it. */
static int
match_leaf(struct ef_parquet_reader *r, const struct leaf *leaf, int index, struct ef_error *err)
{
    for (unsigned i = 0; i < r->schema->n_columns; i++) {
        const struct ef_row_column *c = &r->schema->columns[i];
        if (!is_column(leaf, r->schema, c)) {
            continue;
        }
        if (leaf->element->type != ef_parquet_type_of(c->type) ||
            (c->type == EF_ROW_FIXED && leaf->element->type_length != c->width) ||
            leaf->max_repetition != (c->list != 0) ||
            leaf->max_definition != (unsigned) (c->list != 0) + (c->null_flag != 0)) {
            return ef_error_set(err, -EINVAL, "column %s has another type than ours", c->name);
        }
        r->chunks[i] = index;
    }
    return 0;
}

struct walk {
    struct ef_parquet_reader *reader;
    unsigned next; /* Element. */
    int n_leaves;
    struct ef_error *err;
};

/* Walks the children of a group; `leaf` has the path to it. */
static int
walk_children(struct walk *w, struct leaf *leaf, int32_t n_children)
{
    const struct ef_parquet_meta *meta = &w->reader->meta;
    for (int32_t i = 0; i < n_children; i++) {
        if (w->next >= meta->n_elements || leaf->n_path >= EF_PARQUET_MAX_LEVELS) {
            return ef_error_set(w->err, -EBADMSG, "the schema is no tree, or too deep");
        }
        const struct ef_parquet_element *e = &meta->elements[w->next++];
        struct leaf child = *leaf;
        child.path[child.n_path++] = e->name;
        child.max_definition += e->repetition != EF_PARQUET_REQUIRED;
        child.max_repetition += e->repetition == EF_PARQUET_REPEATED;
        child.element = e;
        int rc = e->type == EF_PARQUET_GROUP ? walk_children(w, &child, e->n_children)
                                             : match_leaf(w->reader, &child, w->n_leaves++, w->err);
        if (rc) {
            return rc;
        }
    }
    return 0;
}

static int
match_columns(struct ef_parquet_reader *r, struct ef_error *err)
{
    struct walk w = {.reader = r, .next = 1, .err = err};
    struct leaf root = {0};
    for (unsigned i = 0; i < r->schema->n_columns; i++) {
        r->chunks[i] = NO_CHUNK;
    }
    int rc = r->meta.n_elements ? walk_children(&w, &root, r->meta.elements[0].n_children) : 0;
    for (unsigned i = 0; !rc && i < r->schema->n_columns; i++) {
        if (r->chunks[i] == NO_CHUNK && !r->schema->columns[i].null_flag) {
            rc = ef_error_set(err, -EINVAL, "there is no column %s", r->schema->columns[i].name);
        }
    }
    return rc;
}

/* What the rest relies on: each group has all chunks, of the types that the
 * schema says, within the file. */
static int
check_groups(const struct ef_parquet_reader *r, struct ef_error *err)
{
    for (unsigned g = 0; g < r->meta.n_groups; g++) {
        const struct ef_parquet_group *group = &r->meta.groups[g];
        bool ok = group->n_rows >= 0 && group->n_rows <= EF_PARQUET_MAX_GROUP_ROWS;
        for (unsigned i = 0; ok && i < r->schema->n_columns; i++) {
            ok = r->chunks[i] < (int) group->n_chunks &&
                 (r->chunks[i] < 0 ||
                  group->chunks[r->chunks[i]].type == (int32_t) ef_parquet_type_of(r->schema->columns[i].type));
        }
        if (!ok) {
            return ef_error_set(err, -EBADMSG, "row group %u contradicts the schema", g);
        }
    }
    return 0;
}

int
ef_parquet_reader_create(const struct ef_row_schema *schema, const struct ef_parquet_source *source,
                         struct ef_parquet_reader **out, struct ef_error *err)
{
    struct ef_parquet_reader *r = ef_must_realloc(NULL, sizeof *r);
    *r = (struct ef_parquet_reader){.schema = schema, .source = *source};
    int rc;
    if ((rc = ef_row_schema_check(schema, err)) ||
        (rc = ef_parquet_footer_read(&r->source, &r->footer, &r->meta, err)) || (rc = match_columns(r, err)) ||
        (rc = check_groups(r, err))) {
        ef_parquet_reader_destroy(r);
        return rc;
    }
    *out = r;
    return 0;
}

void
ef_parquet_reader_destroy(struct ef_parquet_reader *r)
{
    if (r) {
        ef_parquet_meta_deinit(&r->meta);
        ef_buffer_deinit(&r->footer);
        ef_buffer_deinit(&r->bytes);
        free(r);
    }
}

const struct ef_parquet_meta *
ef_parquet_reader_meta(const struct ef_parquet_reader *r)
{
    return &r->meta;
}

bool
ef_parquet_reader_bounds(const struct ef_parquet_reader *r, unsigned group, unsigned column, uint8_t min[64],
                         uint8_t max[64])
{
    const struct ef_row_column *c = &r->schema->columns[column];
    if (r->chunks[column] == NO_CHUNK || c->type == EF_ROW_BYTES) {
        return false;
    }
    const struct ef_parquet_chunk *chunk = &r->meta.groups[group].chunks[r->chunks[column]];
    uint32_t len = c->type == EF_ROW_FIXED ? c->width : ef_row_type_is_32_bit(c->type) ? 4 : 8;
    if (!chunk->min.data || chunk->min.len != len || chunk->max.len != len || len > 64) {
        return false;
    }
    memset(min, 0, 64);
    memset(max, 0, 64);
    memcpy(min, chunk->min.data, len);
    memcpy(max, chunk->max.data, len);
    return true;
}

bool
ef_parquet_reader_may_be_null(const struct ef_parquet_reader *r, unsigned group, unsigned column)
{
    int chunk = r->chunks[column];
    return r->schema->columns[column].null_flag &&
           (chunk == NO_CHUNK || r->meta.groups[group].chunks[chunk].n_nulls != 0);
}

/* --- Row groups ------------------------------------------------------------------ */

static int
read_column(struct ef_parquet_reader *r, const struct ef_parquet_group *group, unsigned column, struct ef_row_set *rows,
            struct ef_column_data *data)
{
    const struct ef_parquet_chunk *chunk = &group->chunks[r->chunks[column]];
    int64_t start = chunk->dictionary_page_offset > 0 ? EF_MIN(chunk->dictionary_page_offset, chunk->data_page_offset)
                                                      : chunk->data_page_offset;
    if (start < 0 || chunk->compressed_bytes < 0 || chunk->compressed_bytes > EF_CHUNK_MAX_BYTES ||
        (uint64_t) start > r->source.size || (uint64_t) chunk->compressed_bytes > r->source.size - (uint64_t) start) {
        return -EBADMSG;
    }
    r->bytes.len = 0;
    size_t len = (size_t) chunk->compressed_bytes;
    int rc = r->source.read(r->source.ctx, (uint64_t) start, ef_buffer_grow(&r->bytes, len), len);
    if (rc) {
        return rc;
    }
    /* Pages that were not compressed are borrowed from by values: they stay. */
    const uint8_t *bytes = r->bytes.data;
    if (chunk->codec == EF_PARQUET_UNCOMPRESSED) {
        bytes = memcpy(ef_row_set_alloc(rows, len), r->bytes.data, len);
    }
    return ef_chunk_read(chunk, bytes, len, rows, data) ? 0 : -EBADMSG;
}

static void
set_value(const struct ef_row_column *c, void *base, const struct ef_column_data *d, uint32_t i)
{
    if (c->null_flag) {
        *((bool *) base + c->null_flag - 1) = true;
    }
    if (c->type == EF_ROW_BYTES) {
        memcpy((uint8_t *) base + c->offset, &d->bytes[i], sizeof d->bytes[i]);
    } else if (c->type == EF_ROW_FIXED) {
        memcpy((uint8_t *) base + c->offset, d->fixed + (size_t) i * d->width, d->width);
    } else {
        ef_row_set_number(c, base, d->numbers[i]);
    }
}

static bool
fill_rows(const struct ef_row_column *c, const struct ef_column_data *d, struct ef_row_set *rows)
{
    if (d->n_places != rows->n_rows || !d->n_values) {
        return d->n_places == rows->n_rows; /* All are null. */
    }
    for (uint32_t i = 0, value = 0; i < rows->n_rows; i++) {
        bool has = !d->definition || d->definition[i];
        if (has && rows->rows[i]) {
            set_value(c, rows->rows[i], d, value);
        }
        value += has;
    }
    return true;
}

/* How many places belong to the row whose first is `place`. */
static uint32_t
places_of_row(const struct ef_column_data *d, uint32_t place)
{
    uint32_t n = 1;
    while (place + n < d->n_places && d->repetition[place + n]) {
        n++;
    }
    return n;
}

/* The list of `n` elements in the row: made by the first column of it that is
 * read, and required to be as long by the others. NULL if it is not. */
static uint8_t *
list_elements(const struct ef_row_list_column *l, struct ef_row_set *rows, void *row, uint32_t n, bool is_first)
{
    struct ef_row_list list;
    memcpy(&list, (uint8_t *) row + l->offset, sizeof list);
    if (is_first) {
        uint8_t *elements = ef_row_set_alloc(rows, (size_t) n * l->element_bytes);
        memset(elements, 0, (size_t) n * l->element_bytes);
        list = (struct ef_row_list){elements, n};
        memcpy((uint8_t *) row + l->offset, &list, sizeof list);
        return elements;
    }
    return list.n == n ? (uint8_t *) list.elements : NULL;
}

/* Goes over the places of one row's list, and fills its elements if there are any.
 * Returns how many values there were, or -1 for damage. */
static int64_t
fill_list(const struct ef_row_list_column *l, const struct ef_row_column *c, const struct ef_column_data *d,
          uint32_t place, uint32_t n, uint32_t value, uint8_t *elements)
{
    uint32_t first = value;
    for (uint32_t k = 0; k < n; k++) {
        uint8_t definition = d->definition[place + k];
        if (!definition) {
            return -1;
        }
        if (definition == d->max_definition) {
            if (elements) {
                set_value(c, elements + (size_t) k * l->element_bytes, d, value);
            }
            value++;
        }
    }
    return value - first;
}

static bool
fill_lists(const struct ef_row_schema *s, const struct ef_row_column *c, const struct ef_column_data *d,
           struct ef_row_set *rows, bool is_first)
{
    const struct ef_row_list_column *l = &s->lists[c->list - 1];
    uint32_t place = 0, value = 0;
    for (uint32_t i = 0; i < rows->n_rows; i++) {
        if (place == d->n_places || d->repetition[place]) {
            return false;
        }
        uint32_t n_places = places_of_row(d, place), n = d->definition[place] ? n_places : 0;
        bool is_kept = rows->rows[i] != NULL;
        uint8_t *elements = is_kept ? list_elements(l, rows, rows->rows[i], n, is_first) : NULL;
        if ((is_kept && !elements) || n_places > EF_ROW_MAX_ELEMENTS || (!n && n_places > 1)) {
            return false;
        }
        int64_t n_values = fill_list(l, c, d, place, n, value, elements);
        if (n_values < 0) {
            return false;
        }
        value += (uint32_t) n_values;
        place += n_places;
    }
    return place == d->n_places;
}

static void
make_rows(struct ef_row_set *rows, uint32_t n)
{
    uint32_t bytes = rows->schema->row_bytes;
    ef_row_set_clear(rows);
    if (rows->rows_room < n) {
        rows->rows_room = n;
        rows->rows = ef_must_realloc(rows->rows, n * sizeof *rows->rows);
    }
    for (uint32_t i = 0; i < n; i++) {
        rows->rows[i] = memset(ef_row_set_alloc(rows, bytes), 0, bytes);
    }
    rows->n_rows = n;
}

static int
add_column(struct ef_parquet_reader *r, const struct ef_parquet_group *group, unsigned column, bool is_first,
           struct ef_row_set *rows)
{
    const struct ef_row_column *c = &r->schema->columns[column];
    struct ef_column_data data;
    ef_column_data_init(&data, c);
    int rc = read_column(r, group, column, rows, &data);
    if (!rc && !(c->list ? fill_lists(r->schema, c, &data, rows, is_first) : fill_rows(c, &data, rows))) {
        rc = -EBADMSG;
    }
    ef_column_data_deinit(&data);
    return rc;
}

/* The most rows that the chunks of a group can have; a lie about the number of
 * rows costs no memory then. */
static bool
is_n_rows_possible(const struct ef_parquet_reader *r, const struct ef_parquet_group *group)
{
    return group->chunks[r->chunks[0]].n_values == group->n_rows;
}

/* With a counter, what it is counted from is needed, too. */
static bool
is_wanted(const struct ef_row_schema *s, const bool *wanted, unsigned column)
{
    const struct ef_row_counter *c = s->counter;
    bool is_part = c && (column == c->key || column == c->base_key || column == c->base);
    return !wanted || wanted[column] || (is_part && wanted[c->column]);
}

/* Reads the columns that are in `wanted` and not in `had`, either NULL for all or
 * none, into the rows that are there. */
static int
read_columns(struct ef_parquet_reader *r, unsigned index, const bool *had, const bool *wanted, struct ef_row_set *rows,
             struct ef_error *err)
{
    const struct ef_row_schema *s = r->schema;
    bool is_new[EF_ROW_MAX_COLUMNS];
    unsigned lists_made = 0;
    for (unsigned i = 0; i < s->n_columns; i++) {
        bool was_there = had && is_wanted(s, had, i);
        is_new[i] = !was_there && is_wanted(s, wanted, i);
        lists_made |= was_there && r->chunks[i] != NO_CHUNK ? 1u << s->columns[i].list : 0;
    }
    for (unsigned i = 0; i < s->n_columns; i++) {
        if (r->chunks[i] == NO_CHUNK || !is_new[i]) {
            continue;
        }
        unsigned list = 1u << s->columns[i].list;
        int rc = add_column(r, &r->meta.groups[index], i, !(lists_made & list), rows);
        lists_made |= list;
        if (rc) {
            return ef_error_set(err, rc, "column %s of row group %u: %s", s->columns[i].name, index,
                                rc == -EBADMSG ? "damaged" : strerror(-rc));
        }
    }
    bool ok = !s->counter || !is_new[s->counter->column] || ef_row_counter_unpack(rows);
    return ok ? 0 : ef_error_set(err, -EBADMSG, "row group %u: damaged", index);
}

int
ef_parquet_reader_group(struct ef_parquet_reader *r, unsigned index, const bool *wanted, struct ef_row_set *rows,
                        struct ef_error *err)
{
    const struct ef_parquet_group *group = &r->meta.groups[index];
    bool is_possible = is_n_rows_possible(r, group);
    rows->schema = r->schema;
    make_rows(rows, is_possible ? (uint32_t) group->n_rows : 0);
    r->first_row = rows->n_rows ? rows->rows[0] : NULL;
    int rc = is_possible ? read_columns(r, index, NULL, wanted, rows, err)
                         : ef_error_set(err, -EBADMSG, "row group %u: damaged", index);
    if (rc) {
        ef_row_set_clear(rows);
    }
    return rc;
}

int
ef_parquet_reader_rest(struct ef_parquet_reader *r, unsigned index, const bool *had, const bool *wanted,
                       struct ef_row_set *rows, struct ef_error *err)
{
    if (!rows->n_rows) {
        return 0;
    }
    void *first = rows->rows[0];
    rows->rows[0] = r->first_row;
    int rc = read_columns(r, index, had, wanted, rows, err);
    rows->rows[0] = first;
    if (rc) {
        ef_row_set_clear(rows);
    }
    return rc;
}
