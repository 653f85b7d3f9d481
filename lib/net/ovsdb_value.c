/* SPDX-License-Identifier: Apache-2.0 */
/* OVSDB's values in JSON; see ovsdb_value.h. */
#include <config.h>

#include "net/ovsdb_value.h"

#include <string.h>

/* The array behind a tag, as in ["set", [...]]; NULL if there is none. */
static json_t *
tagged(const json_t *value, const char *tag)
{
    const char *name = json_string_value(json_array_get(value, 0));
    json_t *inner = json_array_get(value, 1);
    return json_array_size(value) == 2 && name && !strcmp(name, tag) && json_is_array(inner) ? inner : NULL;
}

const char *
ef_ovsdb_uuid(const json_t *value)
{
    const char *tag = json_string_value(json_array_get(value, 0));
    return json_array_size(value) == 2 && tag && !strcmp(tag, "uuid") ? json_string_value(json_array_get(value, 1))
                                                                      : NULL;
}

static bool
is_atom(const json_t *value)
{
    return json_is_string(value) || json_is_number(value) || json_is_boolean(value) || ef_ovsdb_uuid(value);
}

json_t *
ef_ovsdb_set_elements(const json_t *value)
{
    if (is_atom(value)) {
        return json_pack("[O]", value);
    }
    json_t *elements = tagged(value, "set"), *element;
    size_t i;
    json_array_foreach(elements, i, element)
    {
        if (!is_atom(element)) {
            return NULL;
        }
    }
    return elements ? json_copy(elements) : NULL;
}

json_t *
ef_ovsdb_map_object(const json_t *value)
{
    json_t *pairs = tagged(value, "map"), *pair, *object = pairs ? json_object() : NULL;
    size_t i;
    json_array_foreach(pairs, i, pair)
    {
        const char *key = json_string_value(json_array_get(pair, 0));
        json_t *mapped = json_array_get(pair, 1);
        if (!key || json_array_size(pair) != 2 || !is_atom(mapped)) {
            json_decref(object);
            return NULL;
        }
        json_object_set(object, key, mapped);
    }
    return object;
}

json_t *
ef_ovsdb_map_of_object(const json_t *object)
{
    json_t *pairs = json_array(), *mapped;
    const char *key;
    json_object_foreach((json_t *) object, key, mapped)
    {
        json_array_append_new(pairs, json_pack("[s, O]", key, mapped));
    }
    return json_pack("[s, o]", "map", pairs);
}

json_t *
ef_ovsdb_set_of_array(const json_t *array)
{
    return json_array_size(array) == 1 ? json_incref(json_array_get(array, 0)) : json_pack("[s, O]", "set", array);
}

static bool
contains(const json_t *array, const json_t *wanted)
{
    size_t i;
    json_t *element;
    json_array_foreach((json_t *) array, i, element)
    {
        if (json_equal(element, wanted)) {
            return true;
        }
    }
    return false;
}

/* Sets have no element twice, so equal sizes and one direction are enough. */
static bool
sets_equal(const json_t *a, const json_t *b)
{
    size_t i;
    json_t *element;
    if (json_array_size(a) != json_array_size(b)) {
        return false;
    }
    json_array_foreach((json_t *) a, i, element)
    {
        if (!contains(b, element)) {
            return false;
        }
    }
    return true;
}

bool
ef_ovsdb_value_equal(const json_t *a, const json_t *b)
{
    json_t *map_a = ef_ovsdb_map_object(a), *map_b = ef_ovsdb_map_object(b);
    bool equal;
    if (map_a || map_b) {
        equal = map_a && map_b && json_equal(map_a, map_b);
    } else {
        json_t *set_a = ef_ovsdb_set_elements(a), *set_b = ef_ovsdb_set_elements(b);
        equal = set_a && set_b && sets_equal(set_a, set_b);
        json_decref(set_a);
        json_decref(set_b);
    }
    json_decref(map_a);
    json_decref(map_b);
    return equal;
}
