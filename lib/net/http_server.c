/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP server: listening, routing, one-piece replies; see http_server.h.
 * Streams are in http_stream.c. */
#include <config.h>

#include "net/http_server.h"

#include <assert.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <event2/listener.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/queue.h>

#include "base/json.h"
#include "base/options.h"
#include "net/http_server_private.h"
#include "net/tls.h"

enum { BACKLOG = 128, MAX_KNOWN_PATHS = 64, TICK_MS = 500, MAX_WRITE_BYTES = 1 << 18 };

static const struct {
    const char *name;
    enum evhttp_cmd_type type;
} methods[] = {
    {"GET", EVHTTP_REQ_GET},       {"POST", EVHTTP_REQ_POST},       {"PUT", EVHTTP_REQ_PUT},
    {"DELETE", EVHTTP_REQ_DELETE}, {"HEAD", EVHTTP_REQ_HEAD},       {"OPTIONS", EVHTTP_REQ_OPTIONS},
    {"TRACE", EVHTTP_REQ_TRACE},   {"CONNECT", EVHTTP_REQ_CONNECT}, {"PATCH", EVHTTP_REQ_PATCH},
};

static const char *
method_of(struct evhttp_request *evreq)
{
    for (size_t i = 0; i < EF_ARRAY_SIZE(methods); i++) {
        if (methods[i].type == evhttp_request_get_command(evreq)) {
            return methods[i].name;
        }
    }
    return "?";
}

/* --- Life of a request ---------------------------------------------------- */

static void
on_connection_closed(struct ef_http_request *req)
{
    /* After an end of file evhttp has let go of its request, which is then ours
     * to free; when the connection or the server is destroyed evhttp frees it. */
    if (evhttp_request_get_connection(req->evreq)) {
        req->evreq = NULL;
    }
    req->connection = NULL;
    if (req->stream) {
        req->server->stats.streams_cancelled++;
        ef_http_stream_cancel(req);
    }
}

static struct ef_http_request *
request_create(struct ef_http_server *server, struct evhttp_request *evreq)
{
    struct ef_http_connection *connection =
        ef_http_connections_find(server->connections, evhttp_request_get_connection(evreq));
    struct ef_http_request *req = connection ? calloc(1, sizeof *req) : NULL;
    if (!req) {
        return NULL;
    }
    req->server = server;
    req->evreq = evreq;
    req->connection = connection;
    req->began = ef_time_mono();
    req->next = server->requests;
    req->prev = &server->requests;
    if (req->next) {
        req->next->prev = &req->next;
    }
    server->requests = req;
    ef_http_connection_begin(connection, req);
    return req;
}

void
ef_http_request_destroy(struct ef_http_request *req)
{
    *req->prev = req->next;
    if (req->next) {
        req->next->prev = req->prev;
    }
    if (req->connection) {
        ef_http_connection_end(req->connection);
    } else if (req->evreq) {
        evhttp_request_free(req->evreq);
    }
    ef_http_query_deinit(&req->query);
    free(req);
}

/* --- Replies -------------------------------------------------------------- */

static void
count_status(struct ef_http_server *server, int status)
{
    if (server) {
        server->stats.client_errors += status >= 400 && status < 500;
        server->stats.server_errors += status >= 500;
    }
}

void
ef_http_request_observe(const struct ef_http_request *req, int status)
{
    if (req->server) {
        req->server->stats.answers++;
        req->server->stats.waiting_ns += (uint64_t) (ef_time_mono().ns - req->began.ns);
    }
    if (req->server && req->server->observer) {
        req->server->observer(req, status, req->server->observer_ctx);
    }
}

void
ef_http_reply(struct ef_http_request *req, int status, const char *content_type, struct evbuffer *body)
{
    count_status(req->server, status);
    ef_http_request_observe(req, status);
    struct evhttp_request *evreq = req->connection ? req->evreq : NULL;
    ef_http_request_destroy(req);
    if (!evreq) {
        if (body) {
            evbuffer_drain(body, evbuffer_get_length(body));
        }
        return;
    }
    if (content_type) {
        evhttp_add_header(evhttp_request_get_output_headers(evreq), "Content-Type", content_type);
    }
    if (body && evhttp_request_get_command(evreq) == EVHTTP_REQ_HEAD) {
        evbuffer_drain(body, evbuffer_get_length(body));
    }
    evhttp_send_reply(evreq, status, NULL, body);
}

static int
append_to_evbuffer(const char *data, size_t len, void *out)
{
    return evbuffer_add(out, data, len);
}

void
ef_http_reply_json(struct ef_http_request *req, int status, json_t *json)
{
    struct evbuffer *body = evbuffer_new();
    if (!json || json_dump_callback(json, append_to_evbuffer, body, JSON_COMPACT | EF_JSON_REALS) ||
        evbuffer_add(body, "\n", 1)) {
        status = 500;
        evbuffer_drain(body, evbuffer_get_length(body));
        evbuffer_add_printf(body,
                            "{\"error\":{\"code\":\"internal\",\"message\":\"the answer could not be built\"}}\n");
    }
    json_decref(json);
    ef_http_reply(req, status, "application/json", body);
    evbuffer_free(body);
}

void
ef_http_reply_error(struct ef_http_request *req, int status, const char *code, int offset, const char *fmt, ...)
{
    char message[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    json_t *text = json_string(message);
    if (!text) { /* What we quote need not be UTF-8. */
        for (char *p = message; *p; p++) {
            *p = *p & 0x80 ? '?' : *p;
        }
        text = json_string(message);
    }
    json_t *error = json_pack("{s:s, s:o}", "code", code, "message", text);
    if (error && offset >= 0) {
        json_object_set_new(error, "offset", json_integer(offset));
    }
    ef_http_reply_json(req, status, error ? json_pack("{s:o}", "error", error) : NULL);
}

/* --- Routing -------------------------------------------------------------- */

struct known_paths {
    const char *names[MAX_KNOWN_PATHS + 1]; /* Ends with NULL. */
    size_t n;
};

static void
add_path(struct known_paths *paths, const char *path)
{
    for (size_t i = 0; i < paths->n; i++) {
        if (!strcmp(paths->names[i], path)) {
            return;
        }
    }
    if (paths->n < MAX_KNOWN_PATHS) {
        paths->names[paths->n++] = path;
    }
}

static void
reply_unknown_path(struct ef_http_request *req, const char *path)
{
    struct known_paths paths = {.n = 0};
    for (size_t i = 0; i < req->server->n_tables; i++) {
        for (const struct ef_http_route *r = req->server->tables[i].routes; r->method; r++) {
            add_path(&paths, r->path);
        }
    }
    char list[512] = "";
    size_t n = 0;
    for (size_t i = 0; i < paths.n && n < sizeof list; i++) {
        n += (size_t) snprintf(list + n, sizeof list - n, "%s%s", i ? ", " : "", paths.names[i]);
    }
    const char *near = ef_nearest_word(path, paths.names);
    if (near) {
        ef_http_reply_error(req, 404, "not_found", -1, "no '%.80s' here; did you mean %s? (there are: %s)", path, near,
                            list);
    } else {
        ef_http_reply_error(req, 404, "not_found", -1, "no '%.80s' here; there are: %s", path, list);
    }
}

/* A segment "*" of the route stands for any one that is not empty. */
static bool
is_path_of(const struct ef_http_route *route, const char *path)
{
    const char *pattern = route->path;
    for (;;) {
        size_t n = strcspn(pattern, "/"), len = strcspn(path, "/");
        bool is_any = n == 1 && *pattern == '*';
        if (is_any ? !len : n != len || strncmp(pattern, path, n)) {
            return false;
        }
        if (!pattern[n] || !path[len]) {
            return pattern[n] == path[len];
        }
        pattern += n + 1;
        path += len + 1;
    }
}

static void
reply_wrong_method(struct ef_http_request *req, const char *path)
{
    char allow[64] = "";
    size_t n = 0;
    for (size_t i = 0; i < req->server->n_tables; i++) {
        for (const struct ef_http_route *r = req->server->tables[i].routes; r->method; r++) {
            if (is_path_of(r, path) && n < sizeof allow) {
                n += (size_t) snprintf(allow + n, sizeof allow - n, "%s%s", n ? ", " : "", r->method);
            }
        }
    }
    evhttp_add_header(evhttp_request_get_output_headers(req->evreq), "Allow", allow);
    ef_http_reply_error(req, 405, "method_not_allowed", -1, "%s is not possible on %.80s; allowed: %s",
                        method_of(req->evreq), path, allow);
}

/* Finds the route of `path`; `*path_known` says whether another method has it. */
static const struct ef_http_route *
find_route(const struct ef_http_server *server, const char *method, const char *path, void **ctx, bool *path_known)
{
    *path_known = false;
    for (size_t i = 0; i < server->n_tables; i++) {
        for (const struct ef_http_route *r = server->tables[i].routes; r->method; r++) {
            if (is_path_of(r, path)) {
                *path_known = true;
                if (!strcmp(r->method, method)) {
                    *ctx = server->tables[i].ctx;
                    return r;
                }
            }
        }
    }
    return NULL;
}

static void
dispatch(struct ef_http_request *req, const struct evhttp_uri *uri)
{
    static const char *const no_params[] = {NULL};
    const char *path = evhttp_uri_get_path(uri);
    path = path ? path : "";
    void *ctx;
    bool path_known;
    const struct ef_http_route *route = find_route(req->server, method_of(req->evreq), path, &ctx, &path_known);
    if (!route) {
        if (path_known) {
            reply_wrong_method(req, path);
        } else {
            reply_unknown_path(req, path);
        }
        return;
    }
    if (evbuffer_get_length(evhttp_request_get_input_buffer(req->evreq)) > EF_HTTP_MAX_BODY_BYTES) {
        ef_http_reply_error(req, 413, "too_large", -1, "the body has more than %d bytes", EF_HTTP_MAX_BODY_BYTES);
        return;
    }
    struct ef_error err = EF_ERROR_INIT;
    if (ef_http_query_parse(&req->query, evhttp_uri_get_query(uri), route->params ? route->params : no_params, &err)) {
        ef_http_reply_error(req, 400, "bad_query", err.offset, "%s", err.text);
        return;
    }
    for (size_t i = 0; i < req->server->n_guards; i++) {
        if (req->server->guards[i].guard(req, req->server->guards[i].ctx)) {
            return;
        }
    }
    route->handler(req, ctx);
}

/* Says what is wrong with how the request says where it ends, or NULL. Whoever
 * stands between a client and us must see the same end: of two lengths, or of
 * names and numbers that not everybody reads alike, none is believed (RFC 9112,
 * section 6.3). */
static const char *
find_framing_error(struct evhttp_request *evreq)
{
    static const char token[] = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const struct evkeyval *header;
    unsigned n_lengths = 0, n_codings = 0;
    TAILQ_FOREACH(header, evhttp_request_get_input_headers(evreq), next)
    {
        if (!*header->key || header->key[strspn(header->key, token)]) {
            return "a header's name has a character that names do not have";
        }
        if (!strcasecmp(header->key, "Content-Length")) {
            n_lengths++;
            if (!*header->value || header->value[strspn(header->value, "0123456789")]) {
                return "Content-Length is not a number";
            }
        } else if (!strcasecmp(header->key, "Transfer-Encoding")) {
            n_codings++;
            if (strcasecmp(header->value, "chunked")) {
                return "a Transfer-Encoding other than chunked";
            }
        }
    }
    return n_lengths + n_codings > 1 ? "more than one Content-Length or Transfer-Encoding" : NULL;
}

static void
on_request(struct evhttp_request *evreq, void *arg)
{
    struct ef_http_server *server = arg;
    server->stats.requests++;
    struct ef_http_request *req = request_create(server, evreq);
    if (!req) {
        evhttp_send_error(evreq, 503, NULL);
        return;
    }
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(evreq);
    const char *why = find_framing_error(evreq);
    if (why) { /* What follows may be anything. */
        ef_http_add_reply_header(req, "Connection", "close");
        ef_http_reply_error(req, 400, "bad_request", -1, "%s", why);
    } else if (uri) {
        dispatch(req, uri);
    } else {
        ef_http_reply_error(req, 400, "bad_request", -1, "the request line has no valid path");
    }
}

/* Bounds what a client may send while an answer streams to it. It must exceed
 * the largest request that evhttp waits for. Without memory evhttp makes do with
 * a plain connection of its own, whose requests we then do not know. */
static struct bufferevent *
create_bufferevent(struct event_base *base, void *arg)
{
    const struct ef_http_server *server = arg;
    struct bufferevent *bev = server->tls ? ef_tls_accept(server->tls, base) : bufferevent_socket_new(base, -1, 0);
    if (bev && !ef_http_connections_add(server->connections, bev)) {
        bufferevent_free(bev);
        bev = NULL;
    }
    if (bev) {
        bufferevent_set_max_single_write(bev, MAX_WRITE_BYTES);
        bufferevent_setwatermark(bev, EV_READ, 0, 2 * EF_HTTP_MAX_BODY_BYTES + EF_HTTP_MAX_HEADER_BYTES + 4096);
    }
    return bev;
}

/* --- Life of the server --------------------------------------------------- */

/* Without free file descriptors the next client stays in the backlog, and the
 * socket readable: looking again at once would take a whole core. libevent
 * gives evhttp's own context here, so on_tick() looks by the clock. */
static void
on_accept_error(struct evconnlistener *listener, void *evhttp)
{
    evconnlistener_disable(listener);
}

static void
on_tick(evutil_socket_t fd, short what, void *arg)
{
    struct ef_http_server *server = arg;
    evconnlistener_enable(server->listener);
    ef_http_connections_sweep(server->connections);
}

static int
start_listening(struct ef_http_server *server, struct event_base *base, int fd)
{
    static const struct timeval interval = {.tv_usec = TICK_MS * 1000};
    server->tick = event_new(base, -1, EV_PERSIST, on_tick, server);
    if (!server->tick || event_add(server->tick, &interval)) {
        return -ENOMEM;
    }
    struct evhttp_bound_socket *bound = evhttp_accept_socket_with_handle(server->evhttp, fd);
    if (!bound) {
        return -ENOMEM;
    }
    server->listener = evhttp_bound_socket_get_listener(bound);
    evconnlistener_set_error_cb(server->listener, on_accept_error);
    ef_http_connections_set_listener(server->connections, server->listener);
    return 0;
}

static int
start_evhttp(struct ef_http_server *server, struct event_base *base, int fd, struct ef_error *err)
{
    server->connections = ef_http_connections_create(base, on_connection_closed);
    server->evhttp = evhttp_new(base);
    if (!server->evhttp || !server->connections) {
        return ef_error_set(err, -ENOMEM, "out of memory");
    }
    /* All methods reach us, so that we say which are allowed. Bodies a little
     * too large do too, to be refused in JSON; much larger ones evhttp cuts. */
    evhttp_set_allowed_methods(server->evhttp, 0xffff);
    evhttp_set_max_headers_size(server->evhttp, EF_HTTP_MAX_HEADER_BYTES);
    evhttp_set_max_body_size(server->evhttp, 2 * EF_HTTP_MAX_BODY_BYTES);
    evhttp_set_timeout(server->evhttp, EF_HTTP_IDLE_TIMEOUT_S);
    evhttp_set_default_content_type(server->evhttp, NULL);
    evhttp_set_bevcb(server->evhttp, create_bufferevent, server);
    evhttp_set_gencb(server->evhttp, on_request, server);
    return start_listening(server, base, fd) ? ef_error_set(err, -ENOMEM, "out of memory") : 0;
}

static int
parse_address(const char *address, const struct ef_tls *tls, struct ef_net_address *parsed, struct ef_error *err)
{
    int rc = ef_net_address_parse(address, parsed, err);
    if (!rc && !tls && !ef_net_address_is_local(parsed)) {
        rc = ef_error_set(err, -EACCES,
                          "plain HTTP is only served on loopback; listen on 127.0.0.1:PORT, [::1]:PORT or "
                          "unix:/path instead of %s, or give a TLS certificate",
                          address);
    }
    if (!rc && tls && !ef_tls_can_serve(tls)) {
        rc = ef_error_set(err, -EINVAL, "to listen with TLS takes a certificate, not only an authority");
    }
    return rc;
}

int
ef_http_server_create(struct event_base *base, const char *address, const struct ef_tls *tls,
                      struct ef_http_server **out, struct ef_error *err)
{
    struct ef_net_address parsed;
    int rc = parse_address(address, tls, &parsed, err);
    if (rc) {
        return rc;
    }
    struct ef_http_server *server = calloc(1, sizeof *server);
    if (!server) {
        return ef_error_set(err, -ENOMEM, "out of memory");
    }
    int fd = ef_net_listen(&parsed, BACKLOG, err);
    if (fd < 0) {
        free(server);
        return fd;
    }
    server->base = base;
    server->tls = parsed.storage.ss_family == AF_UNIX ? NULL : tls;
    server->address = parsed;
    ef_net_address_format(&parsed, server->address_text);
    rc = start_evhttp(server, base, fd, err);
    if (rc) {
        evutil_closesocket(fd);
        ef_http_server_destroy(server);
        return rc;
    }
    *out = server;
    return 0;
}

void
ef_http_server_destroy(struct ef_http_server *server)
{
    if (!server) {
        return;
    }
    if (server->tick) {
        event_free(server->tick);
    }
    if (server->evhttp) {
        evhttp_free(server->evhttp); /* Calls on_connection_closed() for each that waits. */
    }
    ef_http_connections_destroy(server->connections);
    while (server->requests) {
        struct ef_http_request *req = server->requests;
        server->requests = req->next;
        req->server = NULL;
        req->next = NULL;
        req->prev = &req->next;
    }
    ef_net_unlink(&server->address);
    free(server->tables);
    free(server);
}

void
ef_http_server_add_routes(struct ef_http_server *server, const struct ef_http_route *routes, void *ctx)
{
    struct ef_http_table *tables = realloc(server->tables, (server->n_tables + 1) * sizeof *tables);
    if (!tables) {
        abort(); /* Control path at start-up. */
    }
    server->tables = tables;
    server->tables[server->n_tables++] = (struct ef_http_table){routes, ctx};
}

void
ef_http_server_add_guard(struct ef_http_server *server, ef_http_guard *guard, void *ctx)
{
    assert(server->n_guards < EF_ARRAY_SIZE(server->guards));
    server->guards[server->n_guards].guard = guard;
    server->guards[server->n_guards++].ctx = ctx;
}

void
ef_http_server_set_observer(struct ef_http_server *server, ef_http_observer *observer, void *ctx)
{
    server->observer = observer;
    server->observer_ctx = ctx;
}

const char *
ef_http_server_address(const struct ef_http_server *server)
{
    return server->address_text;
}

void
ef_http_server_stats(const struct ef_http_server *server, struct ef_http_server_stats *stats)
{
    struct ef_http_connections_stats connections;
    ef_http_connections_stats(server->connections, &connections);
    *stats = server->stats;
    stats->connections_open = connections.open;
    stats->connections_displaced = connections.displaced;
    stats->connections_too_slow = connections.too_slow;
    stats->connections_too_large = connections.too_large;
}

void
ef_http_server_limit(struct ef_http_server *server, uint64_t max_connections)
{
    ef_http_connections_limit(server->connections, max_connections);
}

const char *
ef_http_param(const struct ef_http_request *req, const char *name)
{
    return ef_http_query_get(&req->query, name);
}

const char *
ef_http_path(const struct ef_http_request *req)
{
    const struct evhttp_uri *uri = req->evreq ? evhttp_request_get_evhttp_uri(req->evreq) : NULL;
    const char *path = uri ? evhttp_uri_get_path(uri) : NULL;
    return path ? path : "";
}

const char *
ef_http_last_segment(const struct ef_http_request *req)
{
    const char *slash = strrchr(ef_http_path(req), '/');
    return slash ? slash + 1 : "";
}

bool
ef_http_path_segment(const struct ef_http_request *req, unsigned index, char *buf, size_t size)
{
    const char *path = ef_http_path(req);
    for (path += *path == '/'; index && *path; index--) {
        path += strcspn(path, "/");
        path += *path == '/';
    }
    size_t len = strcspn(path, "/");
    snprintf(buf, size, "%.*s", (int) EF_MIN(len, size - 1), path);
    return len && len < size;
}

const char *
ef_http_method(const struct ef_http_request *req)
{
    return req->evreq ? method_of(req->evreq) : "?";
}

const char *
ef_http_header(const struct ef_http_request *req, const char *name)
{
    return req->evreq ? evhttp_find_header(evhttp_request_get_input_headers(req->evreq), name) : NULL;
}

size_t
ef_http_body(struct ef_http_request *req, const char **data)
{
    *data = "";
    if (!req->evreq) {
        return 0;
    }
    struct evbuffer *in = evhttp_request_get_input_buffer(req->evreq);
    size_t len = evbuffer_get_length(in);
    if (len) {
        *data = (const char *) evbuffer_pullup(in, -1);
    }
    return len;
}

static struct evhttp_connection *
connection_of(const struct ef_http_request *req)
{
    return req->connection && req->evreq ? evhttp_request_get_connection(req->evreq) : NULL;
}

const char *
ef_http_peer(const struct ef_http_request *req)
{
    struct evhttp_connection *connection = connection_of(req);
    if (!connection) {
        return "";
    }
    if (req->server->address.storage.ss_family == AF_UNIX) {
        return "unix";
    }
    char *address = NULL;
    ev_uint16_t port;
    evhttp_connection_get_peer(connection, &address, &port);
    return address ? address : "";
}

bool
ef_http_peer_is_local(const struct ef_http_request *req)
{
    const char *peer = ef_http_peer(req);
    return !strcmp(peer, "unix") || !strncmp(peer, "127.", 4) || !strcmp(peer, "::1") ||
           !strncmp(peer, "::ffff:127.", 11);
}

bool
ef_http_peer_certificate(const struct ef_http_request *req, char *buf, size_t size)
{
    struct evhttp_connection *connection = connection_of(req);
    return connection && req->server->tls &&
           ef_tls_peer_name(req->server->tls, evhttp_connection_get_bufferevent(connection), buf, size);
}

void
ef_http_set_actor(struct ef_http_request *req, const char *actor)
{
    snprintf(req->actor, sizeof req->actor, "%s", actor);
}

const char *
ef_http_actor(const struct ef_http_request *req)
{
    return req->actor;
}

void
ef_http_add_reply_header(struct ef_http_request *req, const char *name, const char *value)
{
    if (req->connection && req->evreq) {
        evhttp_add_header(evhttp_request_get_output_headers(req->evreq), name, value);
    }
}
