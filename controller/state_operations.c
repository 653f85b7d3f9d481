/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of the controller's state; see state_operations.h. */
#include <config.h>

#include "controller/state_operations.h"

#include <stdlib.h>

#include "net/ovsdb_client.h"

const struct ef_ovsdb_table *
state_operations_monitored(void)
{
    static const char *const columns[] = {"key", "document", NULL};
    static struct ef_ovsdb_table tables[STATE_N_TABLES + 1];
    for (int i = 0; i < STATE_N_TABLES; i++) {
        tables[i] = (struct ef_ovsdb_table){state_tables[i].name, columns,
                                            "the database's schema is not that of this version; "
                                            "convert it: ovsdb-client convert SERVER everflow.ovsschema"};
    }
    return tables;
}

/* Columns are copies of the document's texts, for those who query the database. */
static json_t *
row_of(enum state_table table, const char *key, const json_t *document)
{
    char *text = json_dumps(document, JSON_COMPACT);
    if (!text) {
        abort(); /* Control path. */
    }
    json_t *row = json_pack("{s:s, s:s}", "key", key, "document", text);
    for (const char *const *column = state_tables[table].columns; *column; column++) {
        json_t *value = json_object_get(document, *column);
        if (json_is_string(value)) {
            json_object_set(row, *column, value);
        }
    }
    free(text);
    return row;
}

/* Whether the row is there or not. */
json_t *
state_operations_delete(enum state_table table, const char *key, const char *lock)
{
    return json_pack("[{s:s, s:s}, {s:s, s:s, s:[[s, s, s]]}]", "op", "assert", "lock", lock, "op", "delete", "table",
                     state_tables[table].name, "where", "key", "==", key);
}

json_t *
state_operations_put(enum state_table table, const char *key, const json_t *document, const char *lock)
{
    json_t *operations = state_operations_delete(table, key, lock);
    json_array_append_new(operations, json_pack("{s:s, s:s, s:o}", "op", "insert", "table", state_tables[table].name,
                                                "row", row_of(table, key, document)));
    return operations;
}
