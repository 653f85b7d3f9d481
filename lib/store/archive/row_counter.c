/* SPDX-License-Identifier: Apache-2.0 */
/* Counters as distances, and back; see row_counter.h. */
#include <config.h>

#include "store/archive/row_counter.h"

#include "base/hash.h"
#include "base/util.h"
#include "store/archive/byte_buffer.h"

/* From a key to its least number. */
struct bases {
    const struct ef_row_schema *schema;
    struct base {
        const uint8_t *key; /* NULL: a free place. Borrowed from a row. */
        uint64_t least;
    } * places;
    uint32_t n, mask;
};

static const struct ef_row_column *
column(const struct ef_row_schema *s, unsigned i)
{
    return &s->columns[i];
}

static void
init(struct bases *b, const struct ef_row_schema *schema, uint32_t room)
{
    uint32_t size = 64;
    while (size < 2 * (uint64_t) room) {
        size *= 2;
    }
    *b = (struct bases){.schema = schema, .places = calloc(size, sizeof *b->places), .mask = size - 1};
    if (!b->places) {
        abort();
    }
}

/* The place of the key, which may be free. */
static struct base *
find(const struct bases *b, const uint8_t *key)
{
    uint32_t width = column(b->schema, b->schema->counter->key)->width;
    uint32_t i = (uint32_t) ef_hash64(key, width) & b->mask;
    while (b->places[i].key && memcmp(b->places[i].key, key, width)) {
        i = (i + 1) & b->mask;
    }
    return &b->places[i];
}

/* Calls `each` for every element that has the number, until it returns false. */
static bool
for_each(struct ef_row_set *rows, bool (*each)(struct bases *b, uint8_t *element), struct bases *b)
{
    const struct ef_row_schema *s = rows->schema;
    const struct ef_row_column *c = column(s, s->counter->column);
    const struct ef_row_list_column *l = &s->lists[c->list - 1];
    bool ok = true;
    for (uint32_t i = 0; ok && i < rows->n_rows; i++) {
        struct ef_row_list list = {0};
        if (rows->rows[i]) {
            memcpy(&list, (uint8_t *) rows->rows[i] + l->offset, sizeof list);
        }
        uint8_t *element = (uint8_t *) list.elements; /* The set's own. */
        for (uint32_t k = 0; ok && k < list.n; k++, element += l->element_bytes) {
            ok = !ef_row_has(c, element) || each(b, element);
        }
    }
    return ok;
}

/* --- Packing -------------------------------------------------------------------- */

static void
grow(struct bases *b)
{
    struct bases larger;
    init(&larger, b->schema, b->mask + 1);
    for (uint32_t i = 0; i <= b->mask; i++) {
        if (b->places[i].key) {
            *find(&larger, b->places[i].key) = b->places[i];
        }
    }
    larger.n = b->n;
    free(b->places);
    *b = larger;
}

static bool
note_least(struct bases *b, uint8_t *element)
{
    const struct ef_row_counter *counter = b->schema->counter;
    const uint8_t *key = element + column(b->schema, counter->key)->offset;
    uint64_t number = ef_row_get_number(column(b->schema, counter->column), element);
    struct base *base = find(b, key);
    if (base->key) {
        base->least = EF_MIN(base->least, number);
        return true;
    }
    *base = (struct base){key, number};
    if (2 * ++b->n > b->mask) {
        grow(b);
    }
    return true;
}

static bool
subtract_least(struct bases *b, uint8_t *element)
{
    const struct ef_row_column *c = column(b->schema, b->schema->counter->column);
    const uint8_t *key = element + column(b->schema, b->schema->counter->key)->offset;
    ef_row_set_number(c, element, ef_row_get_number(c, element) - find(b, key)->least);
    return true;
}

static int
compare_bases(const void *a, const void *b, void *width)
{
    return memcmp(((const struct base *) a)->key, ((const struct base *) b)->key, *(const uint32_t *) width);
}

/* Puts what is known into the first row, in the order of the keys. */
static void
write_bases(struct bases *b, struct ef_row_set *rows)
{
    const struct ef_row_schema *s = b->schema;
    const struct ef_row_column *key = column(s, s->counter->base_key), *base = column(s, s->counter->base);
    const struct ef_row_list_column *l = &s->lists[base->list - 1];
    uint32_t width = key->width, n = 0;
    for (uint32_t i = 0; i <= b->mask; i++) {
        if (b->places[i].key) {
            b->places[n++] = b->places[i];
        }
    }
    qsort_r(b->places, n, sizeof *b->places, compare_bases, &width);
    size_t size = (size_t) n * l->element_bytes;
    uint8_t *elements = memset(ef_row_set_alloc(rows, size), 0, size), *at = elements;
    for (uint32_t i = 0; i < n; i++, at += l->element_bytes) {
        memcpy(at + key->offset, b->places[i].key, width);
        ef_row_set_number(base, at, b->places[i].least);
    }
    struct ef_row_list list = {elements, n};
    memcpy((uint8_t *) rows->rows[0] + l->offset, &list, sizeof list);
}

void
ef_row_counter_pack(struct ef_row_set *rows)
{
    struct bases bases;
    if (!rows->schema->counter || !rows->n_rows) {
        return;
    }
    init(&bases, rows->schema, 256);
    for_each(rows, note_least, &bases);
    if (bases.n <= EF_ROW_MAX_ELEMENTS) { /* Else they stay as they are. */
        for_each(rows, subtract_least, &bases);
        write_bases(&bases, rows);
    }
    free(bases.places);
}

/* --- Unpacking ------------------------------------------------------------------- */

static bool
add_least(struct bases *b, uint8_t *element)
{
    const struct ef_row_column *c = column(b->schema, b->schema->counter->column);
    const struct base *base = find(b, element + column(b->schema, b->schema->counter->key)->offset);
    if (base->key) {
        ef_row_set_number(c, element, ef_row_get_number(c, element) + base->least);
    }
    return base->key != NULL;
}

/* The list of the first row, which is emptied. */
static struct ef_row_list
take_list(struct ef_row_set *rows, const struct ef_row_list_column *l)
{
    struct ef_row_list list, none = {0};
    memcpy(&list, (uint8_t *) rows->rows[0] + l->offset, sizeof list);
    memcpy((uint8_t *) rows->rows[0] + l->offset, &none, sizeof none);
    return list;
}

bool
ef_row_counter_unpack(struct ef_row_set *rows)
{
    const struct ef_row_schema *s = rows->schema;
    struct bases bases;
    if (!s->counter || !rows->n_rows) {
        return true;
    }
    const struct ef_row_column *key = column(s, s->counter->base_key), *base = column(s, s->counter->base);
    struct ef_row_list list = take_list(rows, &s->lists[base->list - 1]);
    if (!list.n) {
        return true; /* The numbers themselves. */
    }
    init(&bases, s, list.n);
    const uint8_t *at = list.elements;
    for (uint32_t i = 0; i < list.n; i++, at += s->lists[base->list - 1].element_bytes) {
        *find(&bases, at + key->offset) = (struct base){at + key->offset, ef_row_get_number(base, at)};
    }
    bool ok = for_each(rows, add_least, &bases);
    free(bases.places);
    return ok;
}
