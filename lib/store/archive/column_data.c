/* SPDX-License-Identifier: Apache-2.0 */
/* Columns out of rows; see column_data.h. */
#include <config.h>

#include "store/archive/column_data.h"

#include "base/util.h"

void
ef_column_data_init(struct ef_column_data *data, const struct ef_row_column *column)
{
    *data = (struct ef_column_data){
        .type = column->type,
        .width = column->type == EF_ROW_FIXED ? column->width : 0,
        .max_definition = (uint8_t) ((column->list != 0) + (column->null_flag != 0)),
        .max_repetition = column->list != 0,
    };
}

void
ef_column_data_deinit(struct ef_column_data *data)
{
    free(data->numbers);
    free(data->fixed);
    free(data->bytes);
    free(data->definition);
    free(data->repetition);
    *data = (struct ef_column_data){0};
}

static void
reserve_values(struct ef_column_data *d, uint32_t room)
{
    d->values_room = EF_MAX(room, d->values_room * 2);
    if (d->type == EF_ROW_BYTES) {
        d->bytes = ef_must_realloc(d->bytes, d->values_room * sizeof *d->bytes);
    } else if (d->type == EF_ROW_FIXED) {
        d->fixed = ef_must_realloc(d->fixed, (size_t) d->values_room * d->width);
    } else {
        d->numbers = ef_must_realloc(d->numbers, d->values_room * sizeof *d->numbers);
    }
}

void
ef_column_data_reserve(struct ef_column_data *d, uint32_t n_values, uint32_t n_places)
{
    if (d->values_room - d->n_values < n_values) {
        reserve_values(d, d->n_values + n_values);
    }
    if (d->places_room - d->n_places < n_places) {
        d->places_room = EF_MAX(d->n_places + n_places, d->places_room * 2);
        if (d->max_definition) {
            d->definition = ef_must_realloc(d->definition, d->places_room);
        }
        if (d->max_repetition) {
            d->repetition = ef_must_realloc(d->repetition, d->places_room);
        }
    }
}

static void
add_value(struct ef_column_data *d, const struct ef_row_column *c, const void *base)
{
    const uint8_t *at = (const uint8_t *) base + c->offset;
    if (c->type == EF_ROW_BYTES) {
        memcpy(&d->bytes[d->n_values], at, sizeof d->bytes[0]);
    } else if (c->type == EF_ROW_FIXED) {
        memcpy(d->fixed + (size_t) d->n_values * d->width, at, d->width);
    } else {
        d->numbers[d->n_values] = ef_row_get_number(c, base);
    }
    d->n_values++;
}

/* Adds what the struct at `base` has there: a value or null. */
static void
add_place(struct ef_column_data *d, const struct ef_row_column *c, const void *base, bool is_repeated)
{
    bool has = ef_row_has(c, base);
    if (has) {
        add_value(d, c, base);
    }
    if (d->definition) {
        d->definition[d->n_places] = has ? d->max_definition : (uint8_t) (d->max_definition - 1);
    }
    if (d->repetition) {
        d->repetition[d->n_places] = is_repeated;
    }
    d->n_places++;
}

static void
add_empty_list(struct ef_column_data *d)
{
    d->definition[d->n_places] = 0;
    d->repetition[d->n_places] = 0;
    d->n_places++;
}

static void
add_list(struct ef_column_data *d, const struct ef_row_column *c, const struct ef_row_list_column *l, const void *row)
{
    struct ef_row_list list;
    memcpy(&list, (const uint8_t *) row + l->offset, sizeof list);
    ef_column_data_reserve(d, list.n, EF_MAX(list.n, 1u));
    for (uint32_t i = 0; i < list.n; i++) {
        add_place(d, c, (const uint8_t *) list.elements + (size_t) i * l->element_bytes, i > 0);
    }
    if (!list.n) {
        add_empty_list(d);
    }
}

void
ef_column_gather(const struct ef_row_schema *schema, unsigned column, const void *const *rows, uint32_t n_rows,
                 struct ef_column_data *data)
{
    const struct ef_row_column *c = &schema->columns[column];
    ef_column_data_init(data, c);
    ef_column_data_reserve(data, n_rows, n_rows);
    for (uint32_t i = 0; i < n_rows; i++) {
        if (c->list) {
            add_list(data, c, &schema->lists[c->list - 1], rows[i]);
        } else {
            add_place(data, c, rows[i], false);
        }
    }
}
