/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a JSON document that a person wrote, with errors that name the place:
 * "analyzers[1].url: missing", "everflow.sample_bits: 17 is not between 0 and 16".
 *
 *     struct doc_place root = doc_root(json), analyzer;
 *     if (doc_array(&root, "analyzers", false, &list, err)) return ...;
 *     for (i = 0; i < json_array_size(list.value); i++) {
 *         analyzer = doc_element(&list, i);
 *         if (doc_string(&analyzer, "url", NULL, &url, err)) return ...;
 *     }
 *
 * Everything returned is borrowed from the document. All functions return 0 or
 * -EINVAL with `err`. Used by config.c and topology.c. */
#ifndef CONTROLLER_DOCUMENT_H
#define CONTROLLER_DOCUMENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* A value and where it stands; a plain value. */
struct doc_place {
    json_t *value;
    char path[120]; /* "analyzers[1]"; empty at the root. */
};

/* Loads a file and checks that it is an object. The caller releases
 * `root->value`. Errors name the line and column. */
int doc_load(const char *file, struct doc_place *root, struct ef_error *err);

struct doc_place doc_member(const struct doc_place *object, const char *key);
struct doc_place doc_element(const struct doc_place *array, size_t index);

/* Refuses a key that is not in `known` (NULL-terminated), with the nearest that
 * is; and a value that is no object. */
int doc_check_keys(const struct doc_place *object, const char *const known[], struct ef_error *err);

/* A string that is not empty. `fallback` NULL: it must be there. */
int doc_string(const struct doc_place *object, const char *key, const char *fallback, const char **out,
               struct ef_error *err);

/* An integer in [min, max]. */
int doc_integer(const struct doc_place *object, const char *key, int64_t min, int64_t max, int64_t fallback,
                int64_t *out, struct ef_error *err);

/* true or false. */
int doc_boolean(const struct doc_place *object, const char *key, bool fallback, bool *out, struct ef_error *err);

/* An array or an object; if it may be absent and is, `out->value` is NULL. */
int doc_array(const struct doc_place *object, const char *key, bool required, struct doc_place *out,
              struct ef_error *err);
int doc_object(const struct doc_place *object, const char *key, bool required, struct doc_place *out,
               struct ef_error *err);

/* -EINVAL with "PATH: message". */
int doc_error(const struct doc_place *place, struct ef_error *err, const char *fmt, ...) EF_PRINTF(3, 4);

#endif
