/* SPDX-License-Identifier: Apache-2.0 */
/* Query strings of URLs; see http_query.h. */
#include <config.h>

#include "net/http_query.h"

#include <ctype.h>
#include <errno.h>
#include <event2/buffer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"

static int
hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Decodes [p, end) to `*out`, moved behind the final NUL. Returns NULL, or
 * where the text is wrong. */
static const char *
decode(const char *p, const char *end, char **out)
{
    char *o = *out;
    for (; p < end; p++) {
        if (*p != '%') {
            *o++ = *p == '+' ? ' ' : *p;
            continue;
        }
        int high = end - p > 2 ? hex_digit(p[1]) : -1, low = end - p > 2 ? hex_digit(p[2]) : -1;
        if (high < 0 || low < 0 || !(high | low)) {
            return p;
        }
        *o++ = (char) (high << 4 | low);
        p += 2;
    }
    *o++ = '\0';
    *out = o;
    return NULL;
}

static int
unknown_name(const char *name, int offset, const char *const known[], struct ef_error *err)
{
    char list[256];
    size_t n = 0;
    list[0] = '\0';
    for (size_t i = 0; known[i] && n < sizeof list; i++) {
        n += (size_t) snprintf(list + n, sizeof list - n, "%s%s", i ? ", " : "", known[i]);
    }
    if (!known[0]) {
        return ef_error_set_at(err, -EINVAL, offset, "unknown parameter '%.40s'; there is none here", name);
    }
    const char *near = ef_nearest_word(name, known);
    return near ? ef_error_set_at(err, -EINVAL, offset, "unknown parameter '%.40s'; did you mean %s? (known: %s)", name,
                                  near, list)
                : ef_error_set_at(err, -EINVAL, offset, "unknown parameter '%.40s'; known: %s", name, list);
}

/* Adds one decoded pair; `offset` is where it stands, for the error. */
static int
add_pair(struct ef_http_query *query, const char *name, char *value, int offset, const char *const known[],
         struct ef_error *err)
{
    size_t i = 0;
    while (known[i] && strcmp(known[i], name)) {
        i++;
    }
    if (!known[i]) {
        return unknown_name(name, offset, known, err);
    }
    if (ef_http_query_get(query, name)) {
        return ef_error_set_at(err, -EINVAL, offset, "parameter '%s' is given twice", name);
    }
    if (query->n == EF_HTTP_MAX_PARAMS) {
        return ef_error_set_at(err, -EINVAL, offset, "more than %d parameters", EF_HTTP_MAX_PARAMS);
    }
    query->names[query->n] = known[i];
    query->values[query->n++] = value;
    return 0;
}

static int
parse_pairs(struct ef_http_query *query, const char *text, const char *const known[], struct ef_error *err)
{
    char *out = query->storage;
    for (const char *p = text; *p;) {
        const char *end = p + strcspn(p, "&");
        if (end > p) {
            const char *equals = memchr(p, '=', (size_t) (end - p));
            char *name = out;
            const char *bad = decode(p, equals ? equals : end, &out);
            char *value = out;
            bad = bad ? bad : decode(equals ? equals + 1 : end, end, &out);
            if (bad) {
                return ef_error_set_at(err, -EINVAL, (int) (bad - text),
                                       "'%%' must be followed by two hexadecimal digits other than 00");
            }
            int rc = add_pair(query, name, value, (int) (p - text), known, err);
            if (rc) {
                return rc;
            }
        }
        p = *end ? end + 1 : end;
    }
    return 0;
}

int
ef_http_query_parse(struct ef_http_query *query, const char *text, const char *const known[], struct ef_error *err)
{
    memset(query, 0, sizeof *query);
    if (!text || !*text) {
        return 0;
    }
    /* Decoding never grows a text, but each pair gets two NULs, and the pair
     * that is one too many is decoded before it is refused. */
    query->storage = malloc(strlen(text) + 2 * (EF_HTTP_MAX_PARAMS + 1));
    if (!query->storage) {
        return ef_error_set(err, -ENOMEM, "out of memory");
    }
    int rc = parse_pairs(query, text, known, err);
    if (rc) {
        ef_http_query_deinit(query);
    }
    return rc;
}

void
ef_http_query_deinit(struct ef_http_query *query)
{
    free(query->storage);
    memset(query, 0, sizeof *query);
}

const char *
ef_http_query_get(const struct ef_http_query *query, const char *name)
{
    for (size_t i = 0; i < query->n; i++) {
        if (!strcmp(query->names[i], name)) {
            return query->values[i];
        }
    }
    return NULL;
}

void
ef_http_query_append(struct evbuffer *url, const char *name, const char *value)
{
    if (!value) {
        return;
    }
    char first = evbuffer_search(url, "?", 1, NULL).pos < 0 ? '?' : '&';
    evbuffer_add_printf(url, "%c%s=", first, name);
    for (const unsigned char *p = (const unsigned char *) value; *p; p++) {
        if (isalnum(*p) || strchr("-._~", *p)) {
            evbuffer_add(url, p, 1);
        } else {
            evbuffer_add_printf(url, "%%%02X", *p);
        }
    }
}
