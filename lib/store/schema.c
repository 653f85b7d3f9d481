/* SPDX-License-Identifier: Apache-2.0 */
/* Schemas: see schema.h. */
#include <config.h>

#include "store/schema.h"

#include <errno.h>
#include <string.h>

static const uint32_t type_width[] = {
    [EF_COLUMN_U8] = 1,    [EF_COLUMN_U16] = 2,
    [EF_COLUMN_U32] = 4,   [EF_COLUMN_U64] = 8,
    [EF_COLUMN_TIME] = 8,  [EF_COLUMN_IPV4] = 4,
    [EF_COLUMN_IPV6] = 16, [EF_COLUMN_MAC] = 6,
    [EF_COLUMN_BYTES] = 0, [EF_COLUMN_VARIABLE] = sizeof(struct ef_bytes),
};

static int
set_width(struct ef_column *column, struct ef_error *err)
{
    uint32_t fixed = type_width[column->type];
    if (!fixed && (column->width < 1 || column->width > EF_COLUMN_MAX_BYTES)) {
        return ef_error_set(err, -EINVAL, "column %s: %u bytes; give 1 to %d", column->name, column->width,
                            EF_COLUMN_MAX_BYTES);
    }
    if (fixed && column->width && column->width != fixed) {
        return ef_error_set(err, -EINVAL, "column %s: width %u, but its type has %u", column->name, column->width,
                            fixed);
    }
    column->width = fixed ? fixed : column->width;
    return 0;
}

static int
add_column(struct ef_schema *schema, const struct ef_column *column, struct ef_error *err)
{
    struct ef_column *own = &schema->columns[schema->n_columns];
    *own = *column;
    if (!own->name || !*own->name || ef_schema_find(schema, own->name) >= 0) {
        return ef_error_set(err, -EINVAL, "column %u has no name, or another column's", schema->n_columns);
    }
    if ((unsigned) own->type > EF_COLUMN_VARIABLE) {
        return ef_error_set(err, -EINVAL, "column %s: unknown type %d", own->name, (int) own->type);
    }
    int rc = set_width(own, err);
    if (rc) {
        return rc;
    }
    if (own->offset > schema->record_bytes || schema->record_bytes - own->offset < own->width) {
        return ef_error_set(err, -EINVAL, "column %s ends behind the record's %u bytes", own->name,
                            schema->record_bytes);
    }
    if (own->type == EF_COLUMN_VARIABLE) {
        if (schema->variable >= 0) {
            return ef_error_set(err, -EINVAL, "column %s: a record has only one variable part", own->name);
        }
        schema->variable = (int) schema->n_columns;
    }
    schema->n_columns++;
    return 0;
}

int
ef_schema_init(struct ef_schema *schema, const struct ef_column *columns, unsigned n_columns, uint32_t record_bytes,
               struct ef_error *err)
{
    if (n_columns < 1 || n_columns > EF_SCHEMA_MAX_COLUMNS) {
        return ef_error_set(err, -EINVAL, "%u columns; give 1 to %d", n_columns, EF_SCHEMA_MAX_COLUMNS);
    }
    if (columns[0].type != EF_COLUMN_TIME) {
        return ef_error_set(err, -EINVAL, "the first column must be the record's time");
    }
    *schema = (struct ef_schema){.record_bytes = record_bytes, .variable = -1};
    for (unsigned i = 0; i < n_columns; i++) {
        int rc = add_column(schema, &columns[i], err);
        if (rc) {
            return rc;
        }
    }
    return 0;
}

int
ef_schema_find(const struct ef_schema *schema, const char *name)
{
    for (unsigned i = 0; i < schema->n_columns; i++) {
        if (!strcmp(schema->columns[i].name, name)) {
            return (int) i;
        }
    }
    return -1;
}
