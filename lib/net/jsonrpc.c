/* SPDX-License-Identifier: Apache-2.0 */
/* One JSON-RPC connection; see jsonrpc.h. */
#include <config.h>

#include "net/jsonrpc.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/address.h"
#include "net/json_framer.h"
#include "net/tls.h"

struct pending {
    struct pending *next;
    json_int_t id;
    ef_jsonrpc_reply *reply;
    void *ctx;
};

struct ef_jsonrpc {
    struct bufferevent *bev; /* NULL if connecting failed at once. */
    struct event *report;    /* Tells of a failure from outside any callback. */
    struct ef_jsonrpc_handlers handlers;
    void *ctx;
    struct ef_json_framer framer;
    struct evbuffer *message; /* What has come of the current one. */
    struct pending *pending;
    json_int_t next_id;
    struct timeval probe_interval;
    bool connected, probed;
    bool dead; /* `closed` was or will be called. */
    bool in_callback, destroyed;
    struct ef_error error;
};

/* --- Life ----------------------------------------------------------------- */

static void
rpc_free(struct ef_jsonrpc *rpc)
{
    while (rpc->pending) {
        struct pending *p = rpc->pending;
        rpc->pending = p->next;
        free(p);
    }
    if (rpc->bev) {
        bufferevent_free(rpc->bev);
    }
    event_free(rpc->report);
    evbuffer_free(rpc->message);
    free(rpc);
}

void
ef_jsonrpc_destroy(struct ef_jsonrpc *rpc)
{
    if (rpc && rpc->in_callback) {
        rpc->destroyed = true;
    } else if (rpc) {
        rpc_free(rpc);
    }
}

/* Ends the connection; its end is told from the event loop. */
static void
fail(struct ef_jsonrpc *rpc)
{
    if (!rpc->dead) {
        rpc->dead = true;
        if (rpc->bev) {
            bufferevent_disable(rpc->bev, EV_READ | EV_WRITE);
        }
        event_active(rpc->report, EV_TIMEOUT, 1);
    }
}

static void
report_end(evutil_socket_t fd, short what, void *arg)
{
    struct ef_jsonrpc *rpc = arg;
    rpc->in_callback = true;
    while (rpc->pending && !rpc->destroyed) {
        struct pending *p = rpc->pending;
        rpc->pending = p->next;
        p->reply(p->ctx, NULL, rpc->error.text);
        free(p);
    }
    if (!rpc->destroyed) {
        rpc->handlers.closed(rpc->ctx, rpc->error.text);
    }
    rpc->in_callback = false;
    if (rpc->destroyed) {
        rpc_free(rpc);
    }
}

/* --- Sending -------------------------------------------------------------- */

static int
append(const char *data, size_t len, void *out)
{
    return evbuffer_add(out, data, len);
}

static void
send_message(struct ef_jsonrpc *rpc, json_t *message)
{
    if (rpc->dead) {
        json_decref(message);
        return;
    }
    struct evbuffer *out = bufferevent_get_output(rpc->bev);
    if (!message || json_dump_callback(message, append, out, JSON_COMPACT)) {
        ef_error_set(&rpc->error, -ENOMEM, "a message could not be written");
        fail(rpc);
    } else if (evbuffer_get_length(out) > EF_JSONRPC_MAX_BYTES) {
        ef_error_set(&rpc->error, -ENOBUFS, "the peer does not read what we send");
        fail(rpc);
    }
    json_decref(message);
}

void
ef_jsonrpc_call(struct ef_jsonrpc *rpc, const char *method, json_t *params, ef_jsonrpc_reply *reply, void *ctx)
{
    struct pending *p = malloc(sizeof *p);
    if (!p) {
        abort(); /* Control path. */
    }
    *p = (struct pending){rpc->pending, rpc->next_id++, reply, ctx};
    rpc->pending = p;
    send_message(rpc, json_pack("{s:s, s:o, s:I}", "method", method, "params", params, "id", p->id));
}

static void
ignore_echo(void *ctx, json_t *result, const char *error)
{
}

/* --- Receiving ------------------------------------------------------------ */

static int
malformed(struct ef_jsonrpc *rpc, const char *what)
{
    return ef_error_set(&rpc->error, -EPROTO, "malformed message: %s", what);
}

/* An error may be of any JSON type; OVSDB sends {"error":..., "details":...}
 * or a string. */
static void
explain_error(json_t *error, char *buf, size_t size)
{
    const char *name = json_string_value(json_is_object(error) ? json_object_get(error, "error") : error);
    const char *details = json_string_value(json_object_get(error, "details"));
    snprintf(buf, size, "%.200s%s%.200s", name ? name : "refused without a reason", details ? ": " : "",
             details ? details : "");
}

static int
take_reply(struct ef_jsonrpc *rpc, json_t *message)
{
    json_t *id = json_object_get(message, "id"), *error = json_object_get(message, "error");
    struct pending **link = &rpc->pending;
    while (*link && (!json_is_integer(id) || (*link)->id != json_integer_value(id))) {
        link = &(*link)->next;
    }
    struct pending *p = *link;
    if (!p) {
        return malformed(rpc, "an answer to nothing we asked");
    }
    *link = p->next;
    json_t *result = json_object_get(message, "result");
    if (error && !json_is_null(error)) {
        char text[512];
        explain_error(error, text, sizeof text);
        p->reply(p->ctx, NULL, text);
    } else if (result) {
        p->reply(p->ctx, result, NULL);
    } else {
        p->reply(p->ctx, NULL, "an answer without a result");
    }
    free(p);
    return 0;
}

static int
take_request(struct ef_jsonrpc *rpc, json_t *message, const char *method)
{
    json_t *id = json_object_get(message, "id"), *params = json_object_get(message, "params");
    if (!json_is_array(params)) {
        return malformed(rpc, "params is not an array");
    }
    if (!strcmp(method, "echo") && id && !json_is_null(id)) {
        send_message(rpc, json_pack("{s:n, s:O, s:O}", "error", "id", id, "result", params));
    } else if (id && !json_is_null(id)) {
        send_message(rpc, json_pack("{s:s, s:O, s:n}", "error", "unknown method", "id", id, "result"));
    } else {
        rpc->handlers.notified(rpc->ctx, method, params);
    }
    return 0;
}

/* Parses and handles the one message in rpc->message. */
static int
take_message(struct ef_jsonrpc *rpc)
{
    size_t len = evbuffer_get_length(rpc->message);
    json_error_t where;
    json_t *message = json_loadb((const char *) evbuffer_pullup(rpc->message, -1), len, 0, &where);
    evbuffer_drain(rpc->message, len);
    if (!json_is_object(message)) {
        int rc = malformed(rpc, message ? "not an object" : where.text);
        json_decref(message);
        return rc;
    }
    json_t *method = json_object_get(message, "method");
    int rc = json_is_string(method) ? take_request(rpc, message, json_string_value(method)) : take_reply(rpc, message);
    json_decref(message);
    return rc;
}

static int
take_bytes(struct ef_jsonrpc *rpc, struct evbuffer *in)
{
    while (!rpc->dead && !rpc->destroyed && evbuffer_get_length(in)) {
        size_t len = evbuffer_get_contiguous_space(in), used;
        const char *data = (const char *) evbuffer_pullup(in, (ssize_t) len);
        int rc = ef_json_framer_scan(&rpc->framer, data, len, &used, &rpc->error);
        if (rc < 0) {
            return rc;
        }
        evbuffer_remove_buffer(in, rpc->message, used);
        if (rc && (rc = take_message(rpc)) < 0) {
            return rc;
        }
    }
    return 0;
}

static void
on_readable(struct bufferevent *bev, void *arg)
{
    struct ef_jsonrpc *rpc = arg;
    rpc->probed = false;
    rpc->in_callback = true;
    if (take_bytes(rpc, bufferevent_get_input(bev))) {
        fail(rpc);
    }
    rpc->in_callback = false;
    if (rpc->destroyed) {
        rpc_free(rpc);
    }
}

/* --- Events --------------------------------------------------------------- */

static void
on_connected(struct ef_jsonrpc *rpc)
{
    rpc->connected = true;
    rpc->in_callback = true;
    rpc->handlers.connected(rpc->ctx);
    rpc->in_callback = false;
    if (rpc->destroyed) {
        rpc_free(rpc);
    }
}

static void
on_silence(struct ef_jsonrpc *rpc, short what)
{
    if (!rpc->connected) {
        ef_error_set(&rpc->error, -ETIMEDOUT, "no connection within %ld ms",
                     (long) (rpc->probe_interval.tv_sec * 1000 + rpc->probe_interval.tv_usec / 1000));
        fail(rpc);
    } else if (rpc->probed || what & BEV_EVENT_WRITING) {
        ef_error_set(&rpc->error, -ETIMEDOUT, "the peer is silent");
        fail(rpc);
    } else {
        rpc->probed = true;
        ef_jsonrpc_call(rpc, "echo", json_array(), ignore_echo, NULL);
        bufferevent_enable(rpc->bev, EV_READ); /* A timeout has switched it off. */
    }
}

static void
on_event(struct bufferevent *bev, short what, void *arg)
{
    struct ef_jsonrpc *rpc = arg;
    int code = EVUTIL_SOCKET_ERROR();
    if (what & BEV_EVENT_CONNECTED) {
        on_connected(rpc);
    } else if (what & BEV_EVENT_TIMEOUT) {
        on_silence(rpc, what);
    } else {
        if (!ef_tls_explain(bev, &rpc->error)) {
            ef_error_set(&rpc->error, -ECONNRESET, "%s",
                         what & BEV_EVENT_EOF ? "connection closed by the peer" : strerror(code));
        }
        fail(rpc);
    }
}

void
ef_jsonrpc_connect(struct event_base *base, const struct ef_net_address *address, const struct ef_tls *tls,
                   const struct ef_jsonrpc_handlers *handlers, int64_t probe_ms, void *ctx, struct ef_jsonrpc **out)
{
    struct ef_jsonrpc *rpc = calloc(1, sizeof *rpc);
    if (!rpc || !(rpc->message = evbuffer_new()) || !(rpc->report = evtimer_new(base, report_end, rpc))) {
        abort(); /* Control path. */
    }
    rpc->handlers = *handlers;
    rpc->ctx = ctx;
    rpc->framer.max_bytes = EF_JSONRPC_MAX_BYTES;
    rpc->probe_interval = (struct timeval){probe_ms / 1000, probe_ms % 1000 * 1000};
    rpc->error = EF_ERROR_INIT;
    *out = rpc;
    int fd = ef_net_connect(address);
    if (fd >= 0) {
        rpc->bev = tls ? ef_tls_connect(tls, base, fd, NULL) : bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);
    }
    if (!rpc->bev) {
        ef_error_set(&rpc->error, fd, "%s", fd < 0 ? strerror(-fd) : "out of memory");
        if (fd >= 0) {
            close(fd);
        }
        fail(rpc);
        return;
    }
    bufferevent_setcb(rpc->bev, on_readable, NULL, on_event, rpc);
    bufferevent_set_timeouts(rpc->bev, &rpc->probe_interval, &rpc->probe_interval);
    bufferevent_setwatermark(rpc->bev, EV_READ, 0, 1 << 20);
    if (!tls) {
        bufferevent_socket_connect(rpc->bev, NULL, 0); /* TLS watches the connection begin by itself. */
    }
    bufferevent_enable(rpc->bev, EV_READ | EV_WRITE);
}
