/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a URL after '?': "filter=ip.dst%20%3D%3D%2010.0.0.1&limit=5".
 *
 *     static const char *const known[] = {"filter", "limit", NULL};
 *     struct ef_http_query q;
 *     if (ef_http_query_parse(&q, text, known, &err)) ...
 *     const char *filter = ef_http_query_get(&q, "filter");
 *     ef_http_query_deinit(&q);
 *
 * Strict, so that a mistyped question is not answered as if it were another
 * one: a name that is not known, a name given twice, a broken %-escape or a NUL
 * is an error. '+' means a space, as in forms. Any thread. */
#ifndef EF_NET_HTTP_QUERY_H
#define EF_NET_HTTP_QUERY_H

#include "base/error.h"

struct evbuffer;

enum { EF_HTTP_MAX_PARAMS = 16 };

struct ef_http_query {
    size_t n;
    const char *names[EF_HTTP_MAX_PARAMS]; /* From `known`; borrowed. */
    char *values[EF_HTTP_MAX_PARAMS];      /* Decoded, in `storage`. */
    char *storage;
};

/* Reads `text` (NULL and "" have no parameters). `known` ends with NULL and
 * must live as long as `query`. Returns 0, or -EINVAL or -ENOMEM with `err`
 * (offset in `text`); `query` then needs no deinit. */
int ef_http_query_parse(struct ef_http_query *query, const char *text, const char *const known[], struct ef_error *err);
void ef_http_query_deinit(struct ef_http_query *query);

/* The decoded value, or NULL if the parameter was not given. */
const char *ef_http_query_get(const struct ef_http_query *query, const char *name);

/* Appends "name=value" to `url`, percent-encoded, with '?' or '&' in front as
 * the text so far needs. A NULL value appends nothing. */
void ef_http_query_append(struct evbuffer *url, const char *name, const char *value);

#endif
