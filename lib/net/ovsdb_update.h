/* SPDX-License-Identifier: Apache-2.0 */
/* What "monitor_cond_since" of an OVSDB server says of rows ("update2": only
 * what is not the default, only what differs; ovsdb-server(7)), applied to a
 * copy of the rows.
 *
 *     rc = ef_ovsdb_update_row(rows, columns_of_schema, wanted, uuid, update);
 *
 * Everything here came over a socket: all of it is checked. Any thread. */
#ifndef EF_NET_OVSDB_UPDATE_H
#define EF_NET_OVSDB_UPDATE_H

#include <jansson.h>
#include <stddef.h>

/* Applies `update` ({"initial"|"insert"|"modify": columns} or {"delete": null})
 * to the row `uuid` of `rows`, an object from UUID to row. `columns` is the
 * table's "columns" in the schema, `wanted` (NULL-terminated) those that rows
 * have. Returns 0; -EPROTO if it is malformed or changes a row that is not
 * there; -ENOBUFS if there would be more than `max_rows`. */
int ef_ovsdb_update_row(json_t *rows, const json_t *columns, const char *const wanted[], const char *uuid,
                        const json_t *update, size_t max_rows);

/* The value that a column has unless it is set, by its "type" in the schema (new
 * reference). NULL if that is no type. */
json_t *ef_ovsdb_default_value(const json_t *type);

#endif
