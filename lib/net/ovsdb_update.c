/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that follow a monitor; see ovsdb_update.h. */
#include <config.h>

#include "net/ovsdb_update.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "net/ovsdb_value.h"

/* --- Types (RFC 7047, section 3.2) ---------------------------------------- */

static json_t *
default_atom(const json_t *base_type)
{
    const char *name = json_string_value(json_is_object(base_type) ? json_object_get(base_type, "type") : base_type);
    if (!name) {
        return NULL;
    }
    if (!strcmp(name, "integer")) {
        return json_integer(0);
    }
    if (!strcmp(name, "real")) {
        return json_real(0);
    }
    if (!strcmp(name, "boolean")) {
        return json_false();
    }
    if (!strcmp(name, "string")) {
        return json_string("");
    }
    return strcmp(name, "uuid") ? NULL : json_pack("[s, s]", "uuid", "00000000-0000-0000-0000-000000000000");
}

json_t *
ef_ovsdb_default_value(const json_t *type)
{
    const json_t *min = json_object_get(type, "min"), *value = json_object_get(type, "value");
    if (min && !json_integer_value(min)) {
        return json_pack("[s, []]", value ? "map" : "set");
    }
    json_t *key = default_atom(json_is_object(type) ? json_object_get(type, "key") : type);
    return key && value ? json_pack("[s, [[o, o]]]", "map", key, default_atom(value)) : key;
}

/* At most one element or pair: a change then is the new value as a whole. */
static bool
holds_one(const json_t *type)
{
    const json_t *max = json_object_get(type, "max");
    return !max || (json_is_integer(max) && json_integer_value(max) == 1);
}

/* --- Differences ---------------------------------------------------------- */

/* Moves what `list` has of `element` out of it; false if it has none. */
static bool
take_out(json_t *list, const json_t *element)
{
    size_t i;
    json_t *have;
    json_array_foreach(list, i, have)
    {
        if (json_equal(have, element)) {
            json_array_remove(list, i);
            return true;
        }
    }
    return false;
}

/* The elements that are in exactly one of two sets; NULL if one is no set. */
static json_t *
differ_sets(const json_t *old, const json_t *diff)
{
    json_t *result = ef_ovsdb_set_elements(old), *elements = ef_ovsdb_set_elements(diff), *element, *set = NULL;
    size_t i;
    if (result && elements) {
        json_array_foreach(elements, i, element)
        {
            if (!take_out(result, element)) {
                json_array_append(result, element);
            }
        }
        set = ef_ovsdb_set_of_array(result);
    }
    json_decref(result);
    json_decref(elements);
    return set;
}

/* A pair that is there as it is goes; another replaces the one of its key. */
static json_t *
differ_maps(const json_t *old, const json_t *diff)
{
    json_t *result = ef_ovsdb_map_object(old), *pairs = ef_ovsdb_map_object(diff), *value, *map = NULL;
    const char *key;
    if (result && pairs) {
        json_object_foreach(pairs, key, value)
        {
            if (json_equal(json_object_get(result, key), value)) {
                json_object_del(result, key);
            } else {
                json_object_set(result, key, value);
            }
        }
        map = ef_ovsdb_map_of_object(result);
    }
    json_decref(result);
    json_decref(pairs);
    return map;
}

static json_t *
apply_difference(const json_t *type, json_t *old, json_t *diff)
{
    if (holds_one(type)) {
        return json_incref(diff);
    }
    return json_object_get(type, "value") ? differ_maps(old, diff) : differ_sets(old, diff);
}

/* --- Rows ----------------------------------------------------------------- */

static json_t *
type_of(const json_t *columns, const char *column)
{
    return json_object_get(json_object_get(columns, column), "type");
}

static json_t *
default_row(const json_t *columns, const char *const wanted[])
{
    json_t *row = json_object();
    for (size_t i = 0; wanted[i]; i++) {
        json_object_set_new(row, wanted[i], ef_ovsdb_default_value(type_of(columns, wanted[i])));
    }
    return row;
}

static int
insert_row(json_t *rows, const json_t *columns, const char *const wanted[], const char *uuid, json_t *values,
           size_t max_rows)
{
    if (!json_object_get(rows, uuid) && json_object_size(rows) >= max_rows) {
        return -ENOBUFS;
    }
    json_t *row = default_row(columns, wanted);
    json_object_update(row, values);
    return json_object_set_new(rows, uuid, row) ? -EPROTO : 0;
}

/* Rows are borrowed by others only until the event loop goes on: changing one in
 * place is fine. */
static int
modify_row(json_t *row, const json_t *columns, json_t *differences)
{
    const char *column;
    json_t *diff;
    json_object_foreach(differences, column, diff)
    {
        json_t *type = type_of(columns, column), *old = json_object_get(row, column);
        json_t *value = type && old ? apply_difference(type, old, diff) : NULL;
        if (!value || json_object_set_new(row, column, value)) {
            return -EPROTO;
        }
    }
    return 0;
}

int
ef_ovsdb_update_row(json_t *rows, const json_t *columns, const char *const wanted[], const char *uuid,
                    const json_t *update, size_t max_rows)
{
    json_t *inserted = json_object_get(update, "insert"), *modified = json_object_get(update, "modify");
    inserted = inserted ? inserted : json_object_get(update, "initial");
    if (inserted) {
        return json_is_object(inserted) ? insert_row(rows, columns, wanted, uuid, inserted, max_rows) : -EPROTO;
    }
    json_t *row = json_object_get(rows, uuid);
    if (modified) {
        return row && json_is_object(modified) ? modify_row(row, columns, modified) : -EPROTO;
    }
    if (!json_object_get(update, "delete")) {
        return -EPROTO;
    }
    json_object_del(rows, uuid);
    return 0;
}
