/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of HTTP that come from outside. First byte 0: a query string, whose
 * values must come back when they are written again. Otherwise: a response,
 * which must be read the same at once and cut in two at that byte's place. */
#include <config.h>

#include <event2/buffer.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "net/http_query.h"
#include "net/http_response.h"

static void
must(bool holds)
{
    if (!holds) {
        abort();
    }
}

static void
query_string(const uint8_t *data, size_t size)
{
    static const char *const known[] = {"filter", "limit", "a", NULL};
    struct ef_http_query q, again;
    char *text = malloc(size + 1);
    memcpy(text, data, size);
    text[size] = '\0';
    if (!ef_http_query_parse(&q, text, known, NULL)) {
        struct evbuffer *url = evbuffer_new();
        evbuffer_add(url, "/", 1);
        for (size_t i = 0; i < q.n; i++) {
            ef_http_query_append(url, q.names[i], q.values[i]);
        }
        evbuffer_add(url, "", 1);
        const char *written = (const char *) evbuffer_pullup(url, -1);
        must(!ef_http_query_parse(&again, written[1] ? written + 2 : "", known, NULL) && again.n == q.n);
        for (size_t i = 0; i < q.n; i++) {
            must(!strcmp(q.values[i], again.values[i]));
        }
        ef_http_query_deinit(&again);
        evbuffer_free(url);
        ef_http_query_deinit(&q);
    }
    free(text);
}

struct outcome {
    int rc, status;
    uint64_t hash, len; /* Of the body. */
};

static void
take_body(void *ctx, const char *data, size_t len)
{
    struct outcome *o = ctx;
    for (size_t i = 0; i < len; i++) {
        o->hash = (o->hash ^ (uint8_t) data[i]) * 0x100000001b3u;
    }
    o->len += len;
}

static struct outcome
read_response(const char *data, size_t size, size_t cut)
{
    static struct ef_http_response r;
    struct outcome o = {0};
    ef_http_response_init(&r, take_body, &o);
    o.rc = ef_http_response_feed(&r, data, cut, NULL);
    if (!o.rc) {
        o.rc = ef_http_response_feed(&r, data + cut, size - cut, NULL);
    }
    if (!o.rc) {
        o.rc = ef_http_response_end(&r, NULL);
    }
    o.status = r.status;
    return o;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size) {
        return 0;
    }
    if (!data[0]) {
        query_string(data + 1, size - 1);
        return 0;
    }
    const char *text = (const char *) data + 1;
    size_t len = size - 1, cut = data[0] > len ? len : data[0];
    struct outcome whole = read_response(text, len, len), pieces = read_response(text, len, cut);
    must(whole.rc == pieces.rc);
    if (whole.rc == 1) {
        must(whole.status == pieces.status && whole.hash == pieces.hash && whole.len == pieces.len);
    }
    return 0;
}
