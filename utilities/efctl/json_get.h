/* SPDX-License-Identifier: Apache-2.0 */
/* Reads documents that may be anything: a field that is missing, null or of
 * another type gives the default, never an error. Results are borrowed from
 * the document.
 *
 *     const char *name = efctl_get_string(hop, "name", "?");
 */
#ifndef EFCTL_JSON_GET_H
#define EFCTL_JSON_GET_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

const char *efctl_get_string(const json_t *object, const char *key, const char *otherwise);
int64_t efctl_get_int(const json_t *object, const char *key, int64_t otherwise);
bool efctl_get_bool(const json_t *object, const char *key);

/* Any number as a double; false if there is none. */
bool efctl_get_number(const json_t *object, const char *key, double *value);

/* True if the field is there and a number. */
bool efctl_has_number(const json_t *object, const char *key);

/* The array or object, or NULL, which jansson takes for an empty one. */
const json_t *efctl_get_array(const json_t *object, const char *key);
const json_t *efctl_get_object(const json_t *object, const char *key);

/* A scalar (or an array of scalars, separated by ", ") as text; "" for null
 * and missing. The caller frees it. */
char *efctl_get_text(const json_t *object, const char *key);

#endif
