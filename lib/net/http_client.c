/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP client; see http_client.h. */
#include <config.h>

#include "net/http_client.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/address.h"
#include "net/http_pool.h"
#include "net/http_response.h"
#include "net/tls.h"

enum {
    DEFAULT_TIMEOUT_MS = 5000,
    DEFAULT_MAX_BYTES = 64 << 20,
    FEED_BYTES = 65536, /* Between looks whether the owner has paused. */
    READ_BYTES = 4 * FEED_BYTES,
    LIBEVENT_READ_BYTES = 4096,
    MAX_SERVER_BYTES = 160, /* What parse_server() accepts is shorter. */
};

struct ef_http_call {
    struct event_base *base;
    struct bufferevent *bev; /* NULL if connecting failed at once. */
    struct event *deadline;  /* Also used to report an immediate failure. */
    struct ef_http_call_spec spec;
    struct ef_http_pool *pool; /* Gets the connection, or NULL. */
    char server[MAX_SERVER_BYTES];
    struct evbuffer *again; /* The request, on a connection that was used before; or NULL. */
    char program[32];
    char where[EF_NET_ADDRESS_TEXT_SIZE];
    struct evbuffer *kept; /* The body, or the beginning of a line. */
    struct ef_http_response response;
    struct ef_error error;
    bool paused, deadline_is_report;
    bool has_answer;             /* Or some bytes of it. */
    bool is_plain;               /* Not TLS. */
    bool in_callback, cancelled; /* Cancelled inside a callback: freed after it. */
};

/* --- Life ----------------------------------------------------------------- */

static void
call_free(struct ef_http_call *call)
{
    if (call->bev) {
        bufferevent_free(call->bev);
    }
    if (call->deadline) {
        event_free(call->deadline);
    }
    if (call->again) {
        evbuffer_free(call->again);
    }
    evbuffer_free(call->kept);
    free(call);
}

void
ef_http_call_cancel(struct ef_http_call *call)
{
    if (!call) {
        return;
    }
    if (call->in_callback) {
        call->cancelled = true;
        return;
    }
    call_free(call);
}

/* Keeps the connection for the next call if the answer is whole and leaves no
 * doubt about where it ended. */
static void
keep_connection(struct ef_http_call *call)
{
    if (call->pool && !call->error.text[0] && call->response.is_persistent &&
        !evbuffer_get_length(bufferevent_get_input(call->bev)) &&
        !evbuffer_get_length(bufferevent_get_output(call->bev))) {
        ef_http_pool_put(call->pool, call->server, call->spec.tls, call->bev);
        call->bev = NULL;
    }
}

/* Ends the call: tells its owner, then frees it. */
static void
finish(struct ef_http_call *call)
{
    keep_connection(call);
    evbuffer_add(call->kept, "", 1);
    struct ef_http_result result = {
        .status = call->error.text[0] ? 0 : call->response.status,
        .error = call->error.text[0] ? call->error.text : NULL,
        .body = (const char *) evbuffer_pullup(call->kept, -1),
        .body_len = evbuffer_get_length(call->kept) - 1,
    };
    call->in_callback = true;
    call->spec.on_done(call->spec.ctx, &result);
    call_free(call);
}

static void
fail_with_errno(struct ef_http_call *call, int code)
{
    const char *who = call->program[0] ? call->program : "a server";
    if (code == ECONNREFUSED || code == ENOENT) {
        ef_error_set(&call->error, -code, "%s: %s: is %s running?", call->where,
                     code == ENOENT ? "no such socket" : "connection refused", who);
    } else {
        ef_error_set(&call->error, -code, "%s: %s", call->where, strerror(code));
    }
}

/* --- The body ------------------------------------------------------------- */

static size_t
max_bytes(const struct ef_http_call *call)
{
    return call->spec.max_bytes ? call->spec.max_bytes : DEFAULT_MAX_BYTES;
}

static void
too_large(struct ef_http_call *call, const char *what)
{
    ef_error_set(&call->error, -EMSGSIZE, "%s: the answer has %s of more than %zu bytes", call->where, what,
                 max_bytes(call));
}

/* Hands out a line that ends with NUL. */
static void
hand_line(struct ef_http_call *call, char *line, size_t len)
{
    if (len && line[len - 1] == '\r') {
        line[--len] = '\0';
    }
    if (len > max_bytes(call)) {
        too_large(call, "a line");
    } else if (len) {
        call->spec.on_line(call->spec.ctx, line, len);
    }
}

/* Hands out the line that began before and ended now. */
static void
hand_kept_line(struct ef_http_call *call)
{
    size_t len = evbuffer_get_length(call->kept);
    evbuffer_add(call->kept, "", 1);
    hand_line(call, (char *) evbuffer_pullup(call->kept, -1), len);
    evbuffer_drain(call->kept, len + 1);
}

/* Hands out the lines of `data` where they are, and keeps what is not a whole one. */
static void
split_lines(struct ef_http_call *call, char *data, size_t len)
{
    char *newline;
    while (!call->cancelled && !call->error.text[0] && (newline = memchr(data, '\n', len))) {
        size_t n = (size_t) (newline - data);
        if (evbuffer_get_length(call->kept)) {
            evbuffer_add(call->kept, data, n);
            hand_kept_line(call);
        } else {
            *newline = '\0';
            hand_line(call, data, n);
        }
        data += n + 1;
        len -= n + 1;
    }
    if (call->cancelled || call->error.text[0]) {
        return;
    }
    evbuffer_add(call->kept, data, len);
    if (evbuffer_get_length(call->kept) > max_bytes(call)) {
        too_large(call, "a line");
    }
}

static void
on_body(void *ctx, const char *data, size_t len)
{
    struct ef_http_call *call = ctx;
    bool streamed = call->response.status / 100 == 2;
    if (call->cancelled || call->error.text[0] || !len) {
        return;
    }
    if (streamed && call->spec.on_data) {
        call->spec.on_data(call->spec.ctx, data, len);
        return;
    }
    if (streamed && call->spec.on_line) {
        split_lines(call, (char *) (uintptr_t) data, len); /* It is in our own input buffer. */
        return;
    }
    evbuffer_add(call->kept, data, len);
    if (evbuffer_get_length(call->kept) > max_bytes(call)) {
        too_large(call, "a body");
    }
}

/* The last line need not have an end. */
static void
flush_last_line(struct ef_http_call *call)
{
    if (call->spec.on_line && call->response.status / 100 == 2 && evbuffer_get_length(call->kept)) {
        hand_kept_line(call);
    }
}

/* --- The connection ------------------------------------------------------- */

/* Goes on after the response reader said `rc`. */
static void
after_progress(struct ef_http_call *call, int rc)
{
    if (rc == 1 && !call->error.text[0] && !call->cancelled) {
        flush_last_line(call);
    } else if (rc < 0) {
        ef_error_prefix(&call->error, rc, "%s", call->where);
    }
    call->in_callback = false;
    if (call->cancelled) {
        call_free(call);
    } else if (rc || call->error.text[0]) {
        finish(call);
    }
}

static bool
goes_on(const struct ef_http_call *call, int rc)
{
    return !rc && !call->cancelled && !call->paused && !call->error.text[0];
}

static int
feed_bytes(struct ef_http_call *call, const char *data, size_t len)
{
    struct ef_error err = EF_ERROR_INIT;
    call->has_answer = true;
    int rc = ef_http_response_feed(&call->response, data, len, &err);
    if (rc < 0 && !call->error.text[0]) {
        call->error = err;
    }
    return rc;
}

/* Feeds what has arrived to the response reader. Returns as that does. */
static int
feed(struct ef_http_call *call)
{
    struct evbuffer *in = bufferevent_get_input(call->bev);
    int rc = 0;
    while (goes_on(call, rc) && evbuffer_get_length(in)) {
        size_t len = EF_MIN(evbuffer_get_contiguous_space(in), (size_t) FEED_BYTES);
        rc = feed_bytes(call, (const char *) evbuffer_pullup(in, (ssize_t) len), len);
        evbuffer_drain(in, len);
    }
    return rc;
}

/* Feeds what else the socket has: libevent takes 4 KiB at a time, each for two system
 * calls. The end of the stream is left to it. */
static int
feed_from_socket(struct ef_http_call *call)
{
    char data[FEED_BYTES];
    int rc = 0;
    ssize_t n = sizeof data;
    for (size_t sum = 0; goes_on(call, rc) && n == sizeof data && sum < READ_BYTES; sum += sizeof data) {
        n = recv(bufferevent_getfd(call->bev), data, sizeof data, MSG_DONTWAIT);
        if (n > 0) {
            rc = feed_bytes(call, data, (size_t) n);
        } else if (n < 0 && errno != EAGAIN && errno != EINTR) {
            fail_with_errno(call, errno);
        }
    }
    return rc;
}

static void
on_readable(struct bufferevent *bev, void *arg)
{
    struct ef_http_call *call = arg;
    bool has_much = call->is_plain && evbuffer_get_length(bufferevent_get_input(bev)) >= LIBEVENT_READ_BYTES;
    call->in_callback = true;
    int rc = feed(call);
    after_progress(call, has_much && goes_on(call, rc) ? feed_from_socket(call) : rc);
}

static bool ask_again(struct ef_http_call *call);

static void
on_event(struct bufferevent *bev, short what, void *arg)
{
    struct ef_http_call *call = arg;
    int code = EVUTIL_SOCKET_ERROR();
    if (what & BEV_EVENT_CONNECTED) {
        return;
    }
    call->pool = NULL;
    if (!(what & BEV_EVENT_TIMEOUT) && ask_again(call)) {
        return;
    }
    if (what & BEV_EVENT_EOF) {
        call->in_callback = true;
        call->paused = false; /* Nothing more will come that could be waited for. */
        int rc = feed(call);
        bool going_on = !rc && !call->cancelled && !call->error.text[0];
        after_progress(call, going_on ? ef_http_response_end(&call->response, &call->error) : rc);
        return;
    }
    struct ef_error why = EF_ERROR_INIT;
    if (ef_tls_explain(bev, &why)) {
        ef_error_set(&call->error, -EPROTO, "%s: %s", call->where, why.text);
    } else if (what & BEV_EVENT_TIMEOUT) {
        ef_error_set(&call->error, -ETIMEDOUT, "%s: no answer within %.1f s", call->where,
                     (double) call->spec.timeout_ms / 1000);
    } else {
        fail_with_errno(call, code);
    }
    finish(call);
}

static void
on_deadline(evutil_socket_t fd, short what, void *arg)
{
    struct ef_http_call *call = arg;
    if (!call->deadline_is_report) {
        ef_error_set(&call->error, -ETIMEDOUT, "%s: no whole answer within %.1f s", call->where,
                     (double) call->spec.deadline_ms / 1000);
    }
    finish(call);
}

static struct timeval
timeval_of_ms(int64_t ms)
{
    return (struct timeval){.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
}

static void
set_timeouts(struct ef_http_call *call, bool on)
{
    struct timeval tv = timeval_of_ms(call->spec.timeout_ms);
    bufferevent_set_timeouts(call->bev, on ? &tv : NULL, on ? &tv : NULL);
}

void
ef_http_call_pause(struct ef_http_call *call)
{
    if (!call->paused && call->bev) {
        call->paused = true;
        bufferevent_disable(call->bev, EV_READ);
        set_timeouts(call, false);
    }
}

void
ef_http_call_resume(struct ef_http_call *call)
{
    if (call->paused && call->bev) {
        call->paused = false;
        set_timeouts(call, true);
        bufferevent_enable(call->bev, EV_READ);
        /* What was read before the pause waits in the buffer. */
        bufferevent_trigger(call->bev, EV_READ, BEV_OPT_DEFER_CALLBACKS);
    }
}

/* --- The start ------------------------------------------------------------ */

/* What the base URL of a server says. */
struct url {
    struct ef_net_address address;
    bool is_https;
    char host[128]; /* Without brackets and port. */
};

/* Splits "host", "host:port", "[v6]" or "[v6]:port". */
static int
parse_authority(char *text, size_t len, struct url *url, struct ef_error *err)
{
    char *colon = strrchr(text, ':'), *bracket = strrchr(text, ']');
    if (!colon || (bracket && colon < bracket)) {
        strcpy(text + len, url->is_https ? ":443" : ":80");
        colon = text + len;
    }
    if (*text == '[' && bracket) {
        snprintf(url->host, sizeof url->host, "%.*s", (int) (bracket - text - 1), text + 1);
    } else {
        snprintf(url->host, sizeof url->host, "%.*s", (int) (colon - text), text);
    }
    return ef_net_address_parse(text, &url->address, err);
}

static int
parse_server(const char *server, struct url *url, struct ef_error *err)
{
    char text[sizeof url->host];
    *url = (struct url){.is_https = !strncmp(server, "https://", 8)};
    if (!strncmp(server, "unix:", 5)) {
        return ef_net_address_parse(server, &url->address, err);
    }
    if (!url->is_https && strncmp(server, "http://", 7)) {
        return ef_error_set(err, -EINVAL,
                            "'%.80s' is not a URL; write http://127.0.0.1:PORT, https://ADDRESS:PORT or unix:/path",
                            server);
    }
    const char *p = server + (url->is_https ? 8 : 7);
    size_t len = strcspn(p, "/");
    if (len + 5 > sizeof text || (p[len] && p[len + 1])) {
        return ef_error_set(err, -EINVAL, "'%.80s' has more than a host and a port; write http://127.0.0.1:PORT",
                            server);
    }
    memcpy(text, p, len);
    text[len] = '\0';
    return parse_authority(text, len, url, err);
}

int
ef_http_server_url_check(const char *server, struct ef_error *err)
{
    struct url url;
    return parse_server(server, &url, err);
}

static void
write_request(struct evbuffer *out, const char *where, const struct ef_http_call_spec *spec)
{
    const char *host = strncmp(where, "unix:", 5) ? where : "localhost";
    evbuffer_add_printf(out, "%s %s HTTP/1.1\r\nHost: %s\r\n%s", spec->method ? spec->method : "GET", spec->target,
                        host, spec->pool ? "" : "Connection: close\r\n");
    if (spec->body) {
        evbuffer_add_printf(out, "Content-Type: %s\r\nContent-Length: %zu\r\n",
                            spec->content_type ? spec->content_type : "application/json", spec->body_len);
    }
    evbuffer_add_printf(out, "%s\r\n", spec->headers ? spec->headers : "");
    evbuffer_add(out, spec->body, spec->body ? spec->body_len : 0);
}

/* A target with a space or a line end would become another request. */
static bool
target_is_clean(const char *target)
{
    for (const unsigned char *p = (const unsigned char *) target; *p; p++) {
        if (*p <= ' ' || *p >= 0x7f) {
            return false;
        }
    }
    return *target == '/';
}

/* Whether it does no harm that a server gets it twice. */
static bool
may_be_repeated(const char *method)
{
    return !method || !strcmp(method, "GET") || !strcmp(method, "PUT") || !strcmp(method, "DELETE");
}

/* Has what goes wrong at once told from the event loop. */
static void
report_later(struct ef_http_call *call, int code)
{
    fail_with_errno(call, code);
    call->deadline_is_report = true;
    event_active(call->deadline, EV_TIMEOUT, 1);
}

static void
open_connection(struct ef_http_call *call, const struct url *url)
{
    int fd = ef_net_connect(&url->address);
    if (fd >= 0) {
        call->bev = url->is_https ? ef_tls_connect(call->spec.tls, call->base, fd, url->host)
                                  : bufferevent_socket_new(call->base, fd, BEV_OPT_CLOSE_ON_FREE);
    }
    if (!call->bev) {
        report_later(call, fd < 0 ? -fd : ENOMEM);
        if (fd >= 0) {
            close(fd);
        }
        return;
    }
    bufferevent_setwatermark(call->bev, EV_READ, 0, READ_BYTES);
    bufferevent_set_max_single_read(call->bev, READ_BYTES);
    bufferevent_setcb(call->bev, on_readable, NULL, on_event, call);
    if (!url->is_https) {
        bufferevent_socket_connect(call->bev, NULL, 0); /* TLS watches the connection begin by itself. */
    }
}

static void
begin_exchange(struct ef_http_call *call)
{
    set_timeouts(call, !call->paused);
    bufferevent_enable(call->bev, call->paused ? EV_WRITE : EV_READ | EV_WRITE);
}

/* A connection that was used before may have been closed just when we asked. Then,
 * if that does no harm, the request goes out again on one of its own; false if
 * this is not such a case. */
static bool
ask_again(struct ef_http_call *call)
{
    struct url url;
    if (!call->again || call->has_answer || evbuffer_get_length(bufferevent_get_input(call->bev)) ||
        parse_server(call->server, &url, NULL)) {
        return false;
    }
    bufferevent_free(call->bev);
    call->bev = NULL;
    open_connection(call, &url);
    if (call->bev) {
        call->pool = call->spec.pool;
        evbuffer_add_buffer(bufferevent_get_output(call->bev), call->again);
        begin_exchange(call);
    }
    evbuffer_free(call->again);
    call->again = NULL;
    return true;
}

/* Goes on with an idle connection, of which it is not known whether it still is one. */
static void
reuse_connection(struct ef_http_call *call, const struct ef_http_call_spec *spec)
{
    call->again = evbuffer_new();
    if (!call->again) {
        abort(); /* Control path. */
    }
    write_request(call->again, call->where, spec);
    evbuffer_add(bufferevent_get_output(call->bev), evbuffer_pullup(call->again, -1), evbuffer_get_length(call->again));
    bufferevent_setcb(call->bev, on_readable, NULL, on_event, call);
}

static void
connect_call(struct ef_http_call *call, const struct url *url, const struct ef_http_call_spec *spec)
{
    if (call->pool && may_be_repeated(spec->method)) {
        call->bev = ef_http_pool_take(call->pool, call->server, spec->tls);
    }
    if (call->bev) {
        reuse_connection(call, spec);
    } else {
        open_connection(call, url);
        if (!call->bev) {
            return;
        }
        write_request(bufferevent_get_output(call->bev), call->where, spec);
    }
    begin_exchange(call);
    if (spec->deadline_ms) {
        struct timeval tv = timeval_of_ms(spec->deadline_ms);
        event_add(call->deadline, &tv);
    }
}

int
ef_http_call_start(struct event_base *base, const struct ef_http_call_spec *spec, struct ef_http_call **out,
                   struct ef_error *err)
{
    struct url url;
    int rc = parse_server(spec->server, &url, err);
    if (rc) {
        return rc;
    }
    if (url.is_https && !spec->tls) {
        return ef_error_set(err, -EINVAL, "'%.80s': whose certificates are trusted? name a file with --tls-ca",
                            spec->server);
    }
    if (!target_is_clean(spec->target)) {
        return ef_error_set(err, -EINVAL, "'%.80s' is not an encoded path", spec->target);
    }
    struct ef_http_call *call = calloc(1, sizeof *call);
    if (!call) {
        return ef_error_set(err, -ENOMEM, "out of memory");
    }
    call->base = base;
    call->spec = *spec;
    call->spec.timeout_ms = spec->timeout_ms ? spec->timeout_ms : DEFAULT_TIMEOUT_MS;
    call->pool = spec->pool;
    call->is_plain = !url.is_https;
    snprintf(call->server, sizeof call->server, "%s", spec->server);
    snprintf(call->program, sizeof call->program, "%s", spec->program ? spec->program : "");
    ef_net_address_format(&url.address, call->where);
    call->kept = evbuffer_new();
    call->deadline = evtimer_new(base, on_deadline, call);
    call->error = EF_ERROR_INIT;
    if (!call->kept || !call->deadline) {
        abort(); /* Control path. */
    }
    ef_http_response_init(&call->response, on_body, call);
    connect_call(call, &url, spec);
    *out = call;
    return 0;
}

char *
ef_http_result_explain(const struct ef_http_result *result, char *buf, size_t size)
{
    if (result->error) {
        snprintf(buf, size, "%s", result->error);
        return buf;
    }
    json_t *json = json_loadb(result->body, result->body_len, 0, NULL);
    const char *message = json_string_value(json_object_get(json_object_get(json, "error"), "message"));
    if (message) {
        snprintf(buf, size, "%s", message);
    } else {
        snprintf(buf, size, "HTTP status %d", result->status);
    }
    json_decref(json);
    return buf;
}
