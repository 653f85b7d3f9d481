/* SPDX-License-Identifier: Apache-2.0 */
/* Reads an HTTP/1.x response as its bytes arrive, in pieces of any size: status
 * line, headers, and a body that is counted, chunked or ends with the
 * connection. The bytes are not trusted: every length is bounded.
 *
 *     struct ef_http_response r;
 *     ef_http_response_init(&r, on_body, ctx);
 *     int rc = ef_http_response_feed(&r, data, len, &err);   // 0: more, 1: complete
 *     ...
 *     if (end of file) rc = ef_http_response_end(&r, &err);
 *
 * Used by http_client.c. A plain struct; one thread at a time. */
#ifndef EF_NET_HTTP_RESPONSE_H
#define EF_NET_HTTP_RESPONSE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum { EF_HTTP_RESPONSE_LINE_BYTES = 8192, EF_HTTP_RESPONSE_MAX_LINES = 256 };

struct ef_http_response {
    int status;         /* From the status line, 0 before it. */
    bool head_complete; /* Status and headers are known. */
    bool json, ndjson;  /* Content-Type said so. */
    bool is_persistent; /* Once complete: the server keeps the connection, and its end was beyond doubt. */
    void (*on_body)(void *ctx, const char *data, size_t len);
    void *ctx;
    /* Internal. */
    int state;
    bool chunked, counted;
    uint64_t remaining; /* Bytes of the body or chunk still to come. */
    unsigned n_lines;
    size_t line_len;
    char line[EF_HTTP_RESPONSE_LINE_BYTES];
};

/* `on_body` gets the body's bytes piece by piece, once the head is complete. */
void ef_http_response_init(struct ef_http_response *response, void (*on_body)(void *ctx, const char *data, size_t len),
                           void *ctx);

/* Takes the next bytes. Returns 0 (more is needed), 1 (the response is complete;
 * bytes beyond it are ignored) or -EPROTO with `err`. */
int ef_http_response_feed(struct ef_http_response *response, const char *data, size_t len, struct ef_error *err);

/* The connection has ended. Returns 1 if the response is complete with that,
 * or -EPROTO with `err`. */
int ef_http_response_end(struct ef_http_response *response, struct ef_error *err);

#endif
