/* SPDX-License-Identifier: Apache-2.0 */
/* Reads documents that may be anything; see json_get.h. */
#include <config.h>

#include "utilities/efctl/json_get.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

const char *
efctl_get_string(const json_t *object, const char *key, const char *otherwise)
{
    const char *value = json_string_value(json_object_get(object, key));
    return value ? value : otherwise;
}

bool
efctl_get_number(const json_t *object, const char *key, double *value)
{
    const json_t *field = json_object_get(object, key);
    if (json_is_number(field)) {
        *value = json_number_value(field);
        return true;
    }
    return false;
}

bool
efctl_has_number(const json_t *object, const char *key)
{
    return json_is_number(json_object_get(object, key));
}

int64_t
efctl_get_int(const json_t *object, const char *key, int64_t otherwise)
{
    const json_t *field = json_object_get(object, key);
    if (json_is_integer(field)) {
        return json_integer_value(field);
    }
    /* A whole number that some other writer gave a fraction. */
    double value = json_real_value(field);
    return json_is_real(field) && value > -9e18 && value < 9e18 ? (int64_t) value : otherwise;
}

bool
efctl_get_bool(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

const json_t *
efctl_get_array(const json_t *object, const char *key)
{
    const json_t *field = json_object_get(object, key);
    return json_is_array(field) ? field : NULL;
}

const json_t *
efctl_get_object(const json_t *object, const char *key)
{
    const json_t *field = json_object_get(object, key);
    return json_is_object(field) ? field : NULL;
}

static void
write_scalar(FILE *out, const json_t *value)
{
    if (json_is_string(value)) {
        fputs(json_string_value(value), out);
    } else if (!json_is_null(value)) {
        json_dumpf(value, out, JSON_ENCODE_ANY | JSON_ENSURE_ASCII | JSON_COMPACT | EF_JSON_REALS);
    }
}

char *
efctl_get_text(const json_t *object, const char *key)
{
    const json_t *field = json_object_get(object, key);
    char *text;
    size_t size, i;
    FILE *out = open_memstream(&text, &size);
    if (!out) {
        abort();
    }
    if (json_is_array(field)) {
        json_t *item;
        json_array_foreach(field, i, item)
        {
            fputs(i ? ", " : "", out);
            write_scalar(out, item);
        }
    } else if (field) {
        write_scalar(out, field);
    }
    if (fclose(out)) {
        abort();
    }
    return text;
}
