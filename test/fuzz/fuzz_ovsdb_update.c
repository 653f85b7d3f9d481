/* SPDX-License-Identifier: Apache-2.0 */
/* What a database server may say of rows, line by line after a line with the columns
 * of its schema: the copy of the rows is changed as said or the line refused, and
 * what the controller makes of such rows holds. A line is {"UUID": update, ...}. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "controller/everflow_row.h"
#include "controller/everflow_rules.h"
#include "fuzz/fuzz.h"
#include "net/ovsdb_update.h"

enum { MAX_ROWS = 4 };
static const char *const wanted[] = {"name",         "match",   "action",       "sample_bits", "sample_value",
                                     "idle_timeout", "rules",   "hard_timeout", "status",      "external_ids",
                                     "statistics",   "targets", "in_port",      "source_ip",   NULL};

static void
check(bool condition)
{
    if (!condition) {
        abort();
    }
}

static json_t *
load_line(const char **text, const char *end)
{
    const char *newline = memchr(*text, '\n', (size_t) (end - *text)), *stop = newline ? newline : end;
    json_t *json = json_loadb(*text, (size_t) (stop - *text), 0, NULL);
    *text = newline ? newline + 1 : end;
    return json;
}

static void
apply(json_t *rows, const json_t *columns, json_t *updates)
{
    const char *uuid;
    json_t *update;
    json_object_foreach(updates, uuid, update)
    {
        int rc = ef_ovsdb_update_row(rows, columns, wanted, uuid, update, MAX_ROWS);
        check(rc == 0 || rc == -EPROTO || rc == -ENOBUFS);
        check(json_object_size(rows) <= MAX_ROWS);
    }
}

/* As managed_switch.c does: of the Everflow row, its rules. */
static void
use(const json_t *rows, const json_t *row)
{
    const json_t *column = json_object_get(row, "rules");
    json_t *operations = json_array(), *desired = json_array(), *shown;
    char why[200];
    json_decref(shown = everflow_row_show(row));
    check(shown != NULL);
    everflow_row_is_ours(row);
    json_decref(everflow_row_show_map(row, "status"));
    json_decref(everflow_rules_show(column, rows));
    everflow_rules_match(desired, true, column, rows);
    everflow_rules_refused(column, rows, why, sizeof why);
    everflow_rules_status(column, rows, "web");
    json_decref(everflow_rules_write(desired, true, column, rows, operations));
    json_decref(operations);
    json_decref(desired);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *) data, *end = text + size, *uuid;
    if (!size) {
        return 0;
    }
    json_t *columns = load_line(&text, end), *rows = json_object(), *row;
    while (text < end) {
        json_t *updates = load_line(&text, end);
        apply(rows, columns, updates);
        json_decref(updates);
    }
    json_object_foreach(rows, uuid, row)
    {
        use(rows, row);
    }
    json_decref(rows);
    json_decref(columns);
    return 0;
}
