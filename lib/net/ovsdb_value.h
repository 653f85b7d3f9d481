/* SPDX-License-Identifier: Apache-2.0 */
/* OVSDB's values in JSON (RFC 7047, section 5.1): an atom stands for a set of
 * one, ["set", [...]] for others, ["map", [[k, v], ...]], ["uuid", "..."].
 *
 *     json_t *names = ef_ovsdb_set_elements(json_object_get(row, "targets"));
 *     if (ef_ovsdb_value_equal(have, want)) ...
 *
 * What is read here came over a socket: each function takes any JSON, NULL
 * included, and says so when it is not what it should be. Any thread. */
#ifndef EF_NET_OVSDB_VALUE_H
#define EF_NET_OVSDB_VALUE_H

#include <jansson.h>
#include <stdbool.h>

/* The elements of a set as an array (new reference; atoms and uuids become
 * arrays of one). NULL if `value` is no set. */
json_t *ef_ovsdb_set_elements(const json_t *value);

/* A map as a JSON object from key to value (new reference). NULL if `value` is
 * no map whose keys are strings. */
json_t *ef_ovsdb_map_object(const json_t *value);

/* The reverse: a map from a JSON object. */
json_t *ef_ovsdb_map_of_object(const json_t *object);

/* A set from an array (new reference): one element stands for itself. */
json_t *ef_ovsdb_set_of_array(const json_t *array);

/* The text of a ["uuid", "..."], or NULL. Borrowed. */
const char *ef_ovsdb_uuid(const json_t *value);

/* The same set (in any order), or the same map. */
bool ef_ovsdb_value_equal(const json_t *a, const json_t *b);

#endif
