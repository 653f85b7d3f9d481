/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of rows; see row_schema.h. */
#include <config.h>

#include "store/archive/row_schema.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/util.h"

static const uint32_t type_width[EF_N_ROW_TYPES] = {
    [EF_ROW_U8] = 1,  [EF_ROW_U16] = 2,  [EF_ROW_U32] = 4,   [EF_ROW_U64] = 8,
    [EF_ROW_I64] = 8, [EF_ROW_TIME] = 8, [EF_ROW_FIXED] = 0, [EF_ROW_BYTES] = sizeof(struct ef_bytes),
};

uint32_t
ef_row_column_width(const struct ef_row_column *column)
{
    return column->type == EF_ROW_FIXED ? column->width : type_width[column->type];
}

uint64_t
ef_row_get_number(const struct ef_row_column *column, const void *base)
{
    uint64_t value = 0;
    memcpy(&value, (const uint8_t *) base + column->offset, type_width[column->type]);
    return value;
}

void
ef_row_set_number(const struct ef_row_column *column, void *base, uint64_t value)
{
    memcpy((uint8_t *) base + column->offset, &value, type_width[column->type]);
}

int
ef_row_schema_find(const struct ef_row_schema *schema, const char *name)
{
    for (unsigned i = 0; i < schema->n_columns; i++) {
        if (!schema->columns[i].list && !strcmp(schema->columns[i].name, name)) {
            return (int) i;
        }
    }
    return -1;
}

/* --- Order ------------------------------------------------------------------- */

static int
compare_column(const struct ef_row_column *c, const void *a, const void *b)
{
    bool has_a = ef_row_has(c, a), has_b = ef_row_has(c, b);
    if (!has_a || !has_b) {
        return has_b - has_a;
    }
    if (c->type == EF_ROW_FIXED) {
        return memcmp((const uint8_t *) a + c->offset, (const uint8_t *) b + c->offset, c->width);
    }
    return ef_row_compare_numbers(c->type, ef_row_get_number(c, a), ef_row_get_number(c, b));
}

int
ef_row_compare(const struct ef_row_schema *schema, const void *a, const void *b)
{
    for (unsigned i = 0; i < schema->n_sort; i++) {
        int order = compare_column(&schema->columns[schema->sort[i]], a, b);
        if (order) {
            return order;
        }
    }
    return 0;
}

/* --- Checking ---------------------------------------------------------------- */

static bool
is_name(const char *name)
{
    size_t len = name ? strlen(name) : 0;
    return len > 0 && len <= EF_ROW_MAX_NAME && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == len;
}

/* True if `bytes` at `offset` lie within `size`. */
static bool
is_inside(uint32_t offset, uint32_t bytes, uint32_t size)
{
    return offset <= size && bytes <= size - offset;
}

static bool
is_name_taken(const struct ef_row_schema *s, unsigned index)
{
    const struct ef_row_column *c = &s->columns[index];
    for (unsigned i = 0; i < index; i++) {
        if (s->columns[i].list == c->list && !strcmp(s->columns[i].name, c->name)) {
            return true;
        }
    }
    for (unsigned i = 0; !c->list && i < s->n_lists; i++) {
        if (!strcmp(s->lists[i].name, c->name)) {
            return true;
        }
    }
    return false;
}

static int
check_column(const struct ef_row_schema *s, unsigned index, struct ef_error *err)
{
    const struct ef_row_column *c = &s->columns[index];
    if (!is_name(c->name) || is_name_taken(s, index)) {
        return ef_error_set(err, -EINVAL, "column %u has no proper name, or another's", index);
    }
    if ((unsigned) c->type >= EF_N_ROW_TYPES || (c->type == EF_ROW_FIXED && !c->width)) {
        return ef_error_set(err, -EINVAL, "column %s: unknown type, or fixed bytes without a width", c->name);
    }
    if (c->list > s->n_lists || (index > 0 && c->list < s->columns[index - 1].list)) {
        return ef_error_set(err, -EINVAL, "column %s: the row's columns come first, then list by list", c->name);
    }
    uint32_t size = c->list ? s->lists[c->list - 1].element_bytes : s->row_bytes;
    if (!is_inside(c->offset, ef_row_column_width(c), size) ||
        (c->null_flag && !is_inside(c->null_flag - 1, sizeof(bool), size))) {
        return ef_error_set(err, -EINVAL, "column %s ends behind its struct's %u bytes", c->name, size);
    }
    return 0;
}

static int
check_list(const struct ef_row_schema *s, unsigned index, struct ef_error *err)
{
    const struct ef_row_list_column *l = &s->lists[index];
    unsigned n = 0;
    for (unsigned i = 0; i < s->n_columns; i++) {
        n += s->columns[i].list == index + 1;
    }
    if (!is_name(l->name) || !is_inside(l->offset, sizeof(struct ef_row_list), s->row_bytes) || !l->element_bytes ||
        !n) {
        return ef_error_set(err, -EINVAL, "list %u has no proper name, place, size or columns", index);
    }
    return 0;
}

static int
check_sort(const struct ef_row_schema *s, struct ef_error *err)
{
    if (s->n_sort > EF_ROW_MAX_SORT) {
        return ef_error_set(err, -EINVAL, "rows are ordered by %d columns at most", EF_ROW_MAX_SORT);
    }
    for (unsigned i = 0; i < s->n_sort; i++) {
        if (s->sort[i] >= s->n_columns || s->columns[s->sort[i]].list || s->columns[s->sort[i]].type == EF_ROW_BYTES) {
            return ef_error_set(err, -EINVAL, "rows cannot be ordered by column %u", s->sort[i]);
        }
    }
    return 0;
}

static int
check_counter(const struct ef_row_schema *s, struct ef_error *err)
{
    const struct ef_row_counter *k = s->counter;
    if (!k) {
        return 0;
    }
    unsigned most = EF_MAX(EF_MAX(k->column, k->key), EF_MAX(k->base_key, k->base));
    const struct ef_row_column *c = s->columns;
    bool ok = most < s->n_columns && ef_row_type_is_number(c[k->column].type) && c[k->key].type == EF_ROW_FIXED &&
              c[k->base].type == c[k->column].type && c[k->base_key].type == EF_ROW_FIXED &&
              c[k->base_key].width == c[k->key].width && c[k->column].list && c[k->base].list &&
              c[k->column].list == c[k->key].list && c[k->base].list == c[k->base_key].list &&
              c[k->base].list != c[k->column].list && !c[k->key].null_flag && !c[k->base_key].null_flag &&
              !c[k->base].null_flag;
    return ok ? 0 : ef_error_set(err, -EINVAL, "the counter's columns do not belong together");
}

int
ef_row_schema_check(const struct ef_row_schema *s, struct ef_error *err)
{
    if (s->n_columns < 1 || s->n_columns > EF_ROW_MAX_COLUMNS || s->n_lists > EF_ROW_MAX_LISTS) {
        return ef_error_set(err, -EINVAL, "%u columns and %u lists; at most %d and %d", s->n_columns, s->n_lists,
                            EF_ROW_MAX_COLUMNS, EF_ROW_MAX_LISTS);
    }
    if (s->columns[0].type != EF_ROW_TIME || s->columns[0].list || s->columns[0].null_flag) {
        return ef_error_set(err, -EINVAL, "the first column must be the row's time");
    }
    int rc = 0;
    for (unsigned i = 0; !rc && i < s->n_columns; i++) {
        rc = check_column(s, i, err);
    }
    for (unsigned i = 0; !rc && i < s->n_lists; i++) {
        rc = check_list(s, i, err);
    }
    rc = rc ? rc : check_sort(s, err);
    return rc ? rc : check_counter(s, err);
}

uint64_t
ef_row_schema_fingerprint(const struct ef_row_schema *s)
{
    uint64_t h = s->n_columns;
    for (unsigned i = 0; i < s->n_columns; i++) {
        const struct ef_row_column *c = &s->columns[i];
        uint64_t shape[] = {h, (uint64_t) c->type, c->null_flag != 0, c->list, ef_row_column_width(c)};
        h = ef_hash64_seed(c->name, strlen(c->name), ef_hash64(shape, sizeof shape));
    }
    for (unsigned i = 0; i < s->n_lists; i++) {
        h = ef_hash64_seed(s->lists[i].name, strlen(s->lists[i].name), h);
    }
    return h;
}
