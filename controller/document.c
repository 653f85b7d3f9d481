/* SPDX-License-Identifier: Apache-2.0 */
/* Reading JSON documents; see document.h. */
#include <config.h>

#include "controller/document.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/options.h"

int
doc_load(const char *file, struct doc_place *root, struct ef_error *err)
{
    json_error_t where;
    *root = (struct doc_place){.value = json_load_file(file, JSON_REJECT_DUPLICATES, &where)};
    if (!root->value) {
        return where.line > 0 ? ef_error_set(err, -EINVAL, "%s:%d:%d: %s", file, where.line, where.column, where.text)
                              : ef_error_set(err, -EINVAL, "%s", where.text);
    }
    if (!json_is_object(root->value)) {
        json_decref(root->value);
        root->value = NULL;
        return ef_error_set(err, -EINVAL, "%s: the document is not an object", file);
    }
    return 0;
}

int
doc_error(const struct doc_place *place, struct ef_error *err, const char *fmt, ...)
{
    char message[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    return place->path[0] ? ef_error_set(err, -EINVAL, "%s: %s", place->path, message)
                          : ef_error_set(err, -EINVAL, "%s", message);
}

struct doc_place
doc_member(const struct doc_place *object, const char *key)
{
    struct doc_place place = {.value = json_object_get(object->value, key)};
    snprintf(place.path, sizeof place.path, "%.80s%s%.36s", object->path, object->path[0] ? "." : "", key);
    return place;
}

struct doc_place
doc_element(const struct doc_place *array, size_t index)
{
    struct doc_place place = {.value = json_array_get(array->value, index)};
    snprintf(place.path, sizeof place.path, "%.90s[%zu]", array->path, index);
    return place;
}

/* "a, b, c", as far as it fits. */
static const char *
join_words(const char *const words[], char *list, size_t size)
{
    size_t n = 0;
    list[0] = '\0';
    for (size_t i = 0; words[i] && n < size; i++) {
        n += (size_t) snprintf(list + n, size - n, "%s%s", i ? ", " : "", words[i]);
    }
    return list;
}

int
doc_check_keys(const struct doc_place *object, const char *const known[], struct ef_error *err)
{
    const char *key;
    json_t *value;
    if (!json_is_object(object->value)) {
        return doc_error(object, err, "must be an object");
    }
    json_object_foreach(object->value, key, value)
    {
        size_t i = 0;
        while (known[i] && strcmp(known[i], key)) {
            i++;
        }
        if (!known[i]) {
            struct doc_place place = doc_member(object, key);
            const char *near = ef_nearest_word(key, known);
            char list[320];
            return near ? doc_error(&place, err, "unknown; did you mean %s?", near)
                        : doc_error(&place, err, "unknown; there are %s", join_words(known, list, sizeof list));
        }
    }
    return 0;
}

int
doc_string(const struct doc_place *object, const char *key, const char *fallback, const char **out,
           struct ef_error *err)
{
    struct doc_place place = doc_member(object, key);
    if (!place.value && fallback) {
        *out = fallback;
        return 0;
    }
    if (!place.value) {
        return doc_error(&place, err, "missing");
    }
    *out = json_string_value(place.value);
    return !*out || !**out ? doc_error(&place, err, "must be a text that is not empty") : 0;
}

int
doc_integer(const struct doc_place *object, const char *key, int64_t min, int64_t max, int64_t fallback, int64_t *out,
            struct ef_error *err)
{
    struct doc_place place = doc_member(object, key);
    if (!place.value) {
        *out = fallback;
        return 0;
    }
    if (!json_is_integer(place.value)) {
        return doc_error(&place, err, "must be a whole number");
    }
    *out = json_integer_value(place.value);
    return *out < min || *out > max ? doc_error(&place, err, "%lld is not between %lld and %lld", (long long) *out,
                                                (long long) min, (long long) max)
                                    : 0;
}

int
doc_boolean(const struct doc_place *object, const char *key, bool fallback, bool *out, struct ef_error *err)
{
    struct doc_place place = doc_member(object, key);
    *out = place.value ? json_is_true(place.value) : fallback;
    return place.value && !json_is_boolean(place.value) ? doc_error(&place, err, "must be true or false") : 0;
}

int
doc_array(const struct doc_place *object, const char *key, bool required, struct doc_place *out, struct ef_error *err)
{
    *out = doc_member(object, key);
    if (!out->value) {
        return required ? doc_error(out, err, "missing") : 0;
    }
    return json_is_array(out->value) ? 0 : doc_error(out, err, "must be an array");
}

int
doc_object(const struct doc_place *object, const char *key, bool required, struct doc_place *out, struct ef_error *err)
{
    *out = doc_member(object, key);
    if (!out->value) {
        return required ? doc_error(out, err, "missing") : 0;
    }
    return json_is_object(out->value) ? 0 : doc_error(out, err, "must be an object");
}
