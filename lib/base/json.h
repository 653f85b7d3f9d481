/* SPDX-License-Identifier: Apache-2.0 */
/* What we add to jansson. How JSON is printed everywhere: real numbers with the digits
 * that a person wrote, 353.353 and not 353.35300000000001, which 15 digits give for
 * every value of up to 15 digits. And members that are text, or are not there.
 *
 *     char *text = json_dumps(document, JSON_COMPACT | EF_JSON_REALS);
 *     if (!strcmp(ef_json_text(hop, "direction"), "egress")) ...
 */
#ifndef EF_BASE_JSON_H
#define EF_BASE_JSON_H

#include <jansson.h>

#define EF_JSON_REALS JSON_REAL_PRECISION(15)

/* The member's text, borrowed; `otherwise` if it is no text, or `object` no object. */
static inline const char *
ef_json_text_or(const json_t *object, const char *key, const char *otherwise)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : otherwise;
}

static inline const char *
ef_json_text(const json_t *object, const char *key)
{
    return ef_json_text_or(object, key, "");
}

#endif
