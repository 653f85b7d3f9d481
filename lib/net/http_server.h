/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP server of every daemon: a table of routes on one event base (evhttp
 * does the protocol), JSON replies, errors in one form, and streams that wait
 * for slow readers.
 *
 *     static const char *const trace_params[] = {"filter", "limit", NULL};
 *     static const struct ef_http_route routes[] = {
 *         {"GET", "/v1/status", NULL, get_status},
 *         {"GET", "/v1/traces", trace_params, get_traces},
 *         {0},
 *     };
 *     if (ef_http_server_create(base, "127.0.0.1:8781", NULL, &server, &err)) fail;
 *     ef_http_server_add_routes(server, routes, analyzer);
 *
 *     static void get_status(struct ef_http_request *req, void *ctx)
 *     {
 *         ef_http_reply_json(req, 200, json_pack("{s:s}", "role", "analyzer"));
 *     }
 *
 * Without TLS only loopback addresses and Unix sockets are served, since plain
 * HTTP knows neither secrecy nor who asks.
 *
 * A long answer is a stream: `produce` is called when the client has taken what
 * was written, so that no answer is ever held in memory as a whole.
 *
 *     static void produce(struct ef_http_request *req, void *ctx)
 *     {
 *         struct evbuffer *out = evbuffer_new();
 *         if (fill_64k(ctx, out)) ef_http_stream_write(req, out); else { free(ctx); ef_http_stream_end(req); }
 *         evbuffer_free(out);
 *     }
 *     ef_http_stream_start(req, "application/x-ndjson", produce, free, ctx);
 *
 * Ownership: a request is borrowed by its handler until exactly one reply was
 * given or its stream ended, now or later from the event loop; it stays valid
 * until then even if the client goes away. The one exception is a stream whose
 * `gone` was called: it is over, do not touch the request again.
 *
 * Thread-safety: none; everything happens on the event base's thread. The program
 * ignores SIGPIPE: a client may go away while it is written to. */
#ifndef EF_NET_HTTP_SERVER_H
#define EF_NET_HTTP_SERVER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct event_base;
struct evbuffer;
struct ef_http_server;
struct ef_http_request;
struct ef_tls;

typedef void ef_http_handler(struct ef_http_request *req, void *ctx);

struct ef_http_route {
    const char *method;        /* "GET", "POST", "PUT" or "DELETE". */
    const char *path;          /* Whole path, "/v1/traces"; a segment "*" stands for any one. */
    const char *const *params; /* Query parameters it knows, NULL-terminated; NULL: none. */
    ef_http_handler *handler;
};

enum {
    EF_HTTP_MAX_HEADER_BYTES = 65536, /* Request line (with the query) and headers. */
    EF_HTTP_MAX_BODY_BYTES = 1 << 20,
    EF_HTTP_IDLE_TIMEOUT_S = 60,             /* A client that neither sends nor takes anything is dropped. */
    EF_HTTP_WAIT_S = 30,                     /* For a whole request, from the connection or the last answer on. */
    EF_HTTP_MAX_CONNECTIONS = 1024,          /* Unless ef_http_server_limit() says otherwise. */
    EF_HTTP_MAX_UNANSWERED_BYTES = 16 << 20, /* Read and not answered, of all clients together. */
};

/* Listens on `address` ("127.0.0.1:8781", "[::1]:0", "unix:/path"): HTTPS with
 * `tls`, which is borrowed; plain HTTP if that is NULL, and on a Unix socket, which
 * the file system guards. Returns 0, -EINVAL (not an address; no certificate),
 * -EACCES (plain and not loopback), -EADDRINUSE or another negative errno with
 * `err`. The caller frees `*server`. */
int ef_http_server_create(struct event_base *base, const char *address, const struct ef_tls *tls,
                          struct ef_http_server **server, struct ef_error *err);

/* Closes all connections (streams get `gone`). Requests that were not yet
 * answered stay valid until they are, to no effect. NULL is fine. */
void ef_http_server_destroy(struct ef_http_server *server);

/* Serves at most `max_connections` clients at once (0: EF_HTTP_MAX_CONNECTIONS, or a
 * quarter of the files that we may open), half of them from one address; what happens to
 * those who are too many is said in http_connections.h. */
void ef_http_server_limit(struct ef_http_server *server, uint64_t max_connections);

/* Adds a table that ends with an entry without a method; it is borrowed, and
 * must outlive the server. `ctx` is handed to its handlers. */
void ef_http_server_add_routes(struct ef_http_server *server, const struct ef_http_route *routes, void *ctx);

/* Has `guard` look at each request for a known path before its handler: true means
 * that it replied (it refused), and the handler is not called. Guards are asked in
 * the order in which they were added, at most 4. */
typedef bool ef_http_guard(struct ef_http_request *req, void *ctx);
void ef_http_server_add_guard(struct ef_http_server *server, ef_http_guard *guard, void *ctx);

/* Has `observer` told of each request that is answered, just before the answer goes
 * out: `status` is that of the answer, a stream's is 200. At most one. */
typedef void ef_http_observer(const struct ef_http_request *req, int status, void *ctx);
void ef_http_server_set_observer(struct ef_http_server *server, ef_http_observer *observer, void *ctx);

/* Where it listens, with the port that the kernel chose for port 0. */
const char *ef_http_server_address(const struct ef_http_server *server);

struct ef_http_server_stats {
    uint64_t requests, client_errors, server_errors; /* All, 4xx, 5xx. */
    uint64_t streams_open, streams_cancelled;        /* Now; ended by the client. */
    uint64_t connections_open;
    uint64_t connections_displaced; /* Closed to make room for others. */
    uint64_t connections_too_slow;  /* Closed for not asking, or for not taking the answer. */
    uint64_t connections_too_large; /* Closed for sending too much at a time. */
    uint64_t answers, waiting_ns;   /* Answers begun, and the time until then, together. */
};
void ef_http_server_stats(const struct ef_http_server *server, struct ef_http_server_stats *stats);

/* --- The request --------------------------------------------------------- */

/* A decoded query parameter (one of the route's), or NULL. Borrowed. */
const char *ef_http_param(const struct ef_http_request *req, const char *name);

/* What stands for a "*" at the end of the route's path, as the client wrote it
 * (not decoded). Borrowed. */
const char *ef_http_last_segment(const struct ef_http_request *req);

/* Copies the segment `index` of the path, from 0, as the client wrote it (not
 * decoded): of "/v1/alerts/17/resolve" number 2 is "17". False if there is none or
 * it was cut to fit into `buf` of `size` bytes. */
bool ef_http_path_segment(const struct ef_http_request *req, unsigned index, char *buf, size_t size);

/* "GET", "POST", "PUT" or "DELETE". */
const char *ef_http_method(const struct ef_http_request *req);

/* The path, as the client wrote it. Borrowed. */
const char *ef_http_path(const struct ef_http_request *req);

/* The client's IP address as text, "unix" on a Unix socket, "" if it is gone. Borrowed. */
const char *ef_http_peer(const struct ef_http_request *req);

/* True if the client is on this machine: a Unix socket or loopback. */
bool ef_http_peer_is_local(const struct ef_http_request *req);

/* Copies the common name of the client's certificate, which our authority signed,
 * into `buf`. False if it showed none. */
bool ef_http_peer_certificate(const struct ef_http_request *req, char *buf, size_t size);

/* A note of the guard's for those who come after it: who asks. "" if none was made. */
void ef_http_set_actor(struct ef_http_request *req, const char *actor);
const char *ef_http_actor(const struct ef_http_request *req);

/* Adds a header to the answer that is to come. */
void ef_http_add_reply_header(struct ef_http_request *req, const char *name, const char *value);

/* A header's value, or NULL. Borrowed. */
const char *ef_http_header(const struct ef_http_request *req, const char *name);

/* The body: `*data` is borrowed. Returns its length. */
size_t ef_http_body(struct ef_http_request *req, const char **data);

/* --- One reply ------------------------------------------------------------ */

/* Replies with `body`, which is drained (NULL: no body). */
void ef_http_reply(struct ef_http_request *req, int status, const char *content_type, struct evbuffer *body);

/* Replies with `json`, whose reference is taken over. NULL (out of memory while
 * it was built) becomes a 500. */
void ef_http_reply_json(struct ef_http_request *req, int status, json_t *json);

/* Replies {"error":{"code":`code`,"message":...,"offset":`offset`}}; an offset
 * below 0 is left out. */
void ef_http_reply_error(struct ef_http_request *req, int status, const char *code, int offset, const char *fmt, ...)
    EF_PRINTF(5, 6);

/* --- A stream ------------------------------------------------------------- */

/* Called from the event loop when everything written so far has left our
 * buffers. Writes more, or ends the stream, or returns: then it is called again
 * after the next ef_http_stream_write() has drained or ef_http_stream_wake(). */
typedef void ef_http_produce(struct ef_http_request *req, void *ctx);

/* Called at most once, if the client goes away (or the server is destroyed)
 * before the stream ended: release `ctx`, forget the request. */
typedef void ef_http_gone(void *ctx);

/* Starts a chunked 200 reply. `produce` is first called from the event loop. */
void ef_http_stream_start(struct ef_http_request *req, const char *content_type, ef_http_produce *produce,
                          ef_http_gone *gone, void *ctx);

/* Sends `data`, which is drained. May be called from outside `produce` too. */
void ef_http_stream_write(struct ef_http_request *req, struct evbuffer *data);

/* Has `produce` called soon, if the output is drained: for a producer that had
 * nothing to write and now has. */
void ef_http_stream_wake(struct ef_http_request *req);

/* Bytes written and not yet taken by the client's side. */
size_t ef_http_stream_pending(const struct ef_http_request *req);

/* Ends the reply; the request is no longer valid. */
void ef_http_stream_end(struct ef_http_request *req);

#endif
