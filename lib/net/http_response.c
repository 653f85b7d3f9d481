/* SPDX-License-Identifier: Apache-2.0 */
/* An incremental reader of HTTP responses (RFC 9112); see http_response.h. */
#include <config.h>

#include "net/http_response.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum state { STATUS_LINE, HEADER, BODY, CHUNK_SIZE, CHUNK_DATA, CHUNK_END, TRAILER, COMPLETE, BROKEN };

void
ef_http_response_init(struct ef_http_response *r, void (*on_body)(void *ctx, const char *data, size_t len), void *ctx)
{
    *r = (struct ef_http_response){.on_body = on_body, .ctx = ctx, .state = STATUS_LINE};
}

static int
broken(struct ef_http_response *r, struct ef_error *err, const char *what)
{
    r->state = BROKEN;
    return ef_error_set(err, -EPROTO, "not an HTTP answer: %s", what);
}

static int
read_status_line(struct ef_http_response *r, struct ef_error *err)
{
    const char *p = r->line;
    if (strncmp(p, "HTTP/1.", 7) || !isdigit((unsigned char) p[7]) || p[8] != ' ') {
        return broken(r, err, "it does not begin with HTTP/1");
    }
    p += 9;
    if (!isdigit((unsigned char) p[0]) || !isdigit((unsigned char) p[1]) || !isdigit((unsigned char) p[2]) ||
        (p[3] && p[3] != ' ') || p[0] == '0') {
        return broken(r, err, "no status code");
    }
    r->is_persistent = r->line[7] == '1';
    r->status = (p[0] - '0') * 100 + (p[1] - '0') * 10 + (p[2] - '0');
    r->state = HEADER;
    return 0;
}

/* Digits of `base` and nothing else but what may follow in `stop`. */
static int
read_length(const char *text, int base, const char *stop, uint64_t *out)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, base);
    if (end == text || !isxdigit((unsigned char) *text) || errno || (*end && !strchr(stop, *end)) ||
        value > INT64_MAX) {
        return -EPROTO;
    }
    *out = value;
    return 0;
}

static int
read_header(struct ef_http_response *r, struct ef_error *err)
{
    char *colon = strchr(r->line, ':');
    if (!colon) {
        return broken(r, err, "a header without a colon");
    }
    *colon = '\0';
    const char *value = colon + 1 + strspn(colon + 1, " \t");
    if (!strcasecmp(r->line, "Content-Length")) {
        uint64_t length;
        if (read_length(value, 10, " \t", &length) || (r->counted && length != r->remaining)) {
            return broken(r, err, "a wrong Content-Length");
        }
        r->counted = true;
        r->remaining = length;
    } else if (!strcasecmp(r->line, "Transfer-Encoding")) {
        if (strcasecmp(value, "chunked")) {
            return broken(r, err, "a Transfer-Encoding other than chunked");
        }
        r->chunked = true;
    } else if (!strcasecmp(r->line, "Connection")) {
        r->is_persistent &= !strcasecmp(value, "keep-alive");
    } else if (!strcasecmp(r->line, "Content-Type")) {
        r->json = !strncasecmp(value, "application/json", 16);
        r->ndjson = !strncasecmp(value, "application/x-ndjson", 20);
    }
    return 0;
}

static void
end_of_head(struct ef_http_response *r)
{
    if (r->status / 100 == 1) { /* 100 Continue: the real one follows. */
        r->state = STATUS_LINE;
        r->status = 0;
        return;
    }
    r->head_complete = true;
    r->is_persistent &= r->chunked != r->counted || r->status == 204 || r->status == 304;
    bool empty = r->status == 204 || r->status == 304 || (!r->chunked && r->counted && !r->remaining);
    r->state = empty ? COMPLETE : r->chunked ? CHUNK_SIZE : BODY;
}

static int
read_chunk_size(struct ef_http_response *r, struct ef_error *err)
{
    if (read_length(r->line, 16, "; \t", &r->remaining) || (r->line[0] == '0' && (r->line[1] | 32) == 'x')) {
        return broken(r, err, "a wrong chunk size");
    }
    r->state = r->remaining ? CHUNK_DATA : TRAILER;
    r->n_lines = 0; /* Lines are only bounded for the head and the trailer. */
    return 0;
}

/* One whole line, without its end. */
static int
take_line(struct ef_http_response *r, struct ef_error *err)
{
    if (r->line_len && r->line[r->line_len - 1] == '\r') {
        r->line_len--;
    }
    r->line[r->line_len] = '\0';
    bool empty = r->line_len == 0;
    bool has_nul = strlen(r->line) != r->line_len;
    r->line_len = 0;
    if (has_nul || ++r->n_lines > EF_HTTP_RESPONSE_MAX_LINES) {
        return broken(r, err, has_nul ? "a NUL in its head" : "too many headers");
    }
    switch (r->state) {
    case STATUS_LINE:
        return read_status_line(r, err);
    case HEADER:
        if (!empty) {
            return read_header(r, err);
        }
        end_of_head(r);
        return 0;
    case CHUNK_SIZE:
        return read_chunk_size(r, err);
    case CHUNK_END:
        r->state = CHUNK_SIZE;
        return empty ? 0 : broken(r, err, "a chunk longer than it said");
    default: /* TRAILER */
        if (empty) {
            r->state = COMPLETE;
        }
        return 0;
    }
}

/* Body bytes: as many as belong to the body or the chunk. Returns how many. */
static size_t
take_body(struct ef_http_response *r, const char *data, size_t len)
{
    bool bounded = r->chunked || r->counted;
    size_t n = bounded && len > r->remaining ? (size_t) r->remaining : len;
    if (bounded) {
        r->remaining -= n;
        if (!r->remaining) {
            r->state = r->chunked ? CHUNK_END : COMPLETE;
        }
    }
    r->on_body(r->ctx, data, n);
    return n;
}

int
ef_http_response_feed(struct ef_http_response *r, const char *data, size_t len, struct ef_error *err)
{
    while (len && r->state != COMPLETE && r->state != BROKEN) {
        if (r->state == BODY || r->state == CHUNK_DATA) {
            size_t n = take_body(r, data, len);
            data += n;
            len -= n;
            continue;
        }
        const char *newline = memchr(data, '\n', len);
        size_t n = newline ? (size_t) (newline - data) : len;
        if (n >= sizeof r->line - r->line_len) {
            return broken(r, err, "a line in its head is too long");
        }
        memcpy(r->line + r->line_len, data, n);
        r->line_len += n;
        n += newline != NULL;
        data += n;
        len -= n;
        int rc = newline ? take_line(r, err) : 0;
        if (rc) {
            return rc;
        }
    }
    r->is_persistent &= !len; /* Nobody asked for what comes after it. */
    return r->state == COMPLETE ? 1 : r->state == BROKEN ? broken(r, err, "it went wrong before") : 0;
}

int
ef_http_response_end(struct ef_http_response *r, struct ef_error *err)
{
    if (r->state == COMPLETE || (r->state == BODY && !r->counted)) {
        r->state = COMPLETE;
        return 1;
    }
    if (r->state == STATUS_LINE && !r->line_len) {
        r->state = BROKEN;
        return ef_error_set(err, -EPROTO, "the connection was closed without an answer");
    }
    r->state = BROKEN;
    return ef_error_set(err, -EPROTO, "the connection was closed in the middle of the answer");
}
