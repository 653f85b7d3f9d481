/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the HTTP server share; nobody else includes it. */
#ifndef EF_NET_HTTP_SERVER_PRIVATE_H
#define EF_NET_HTTP_SERVER_PRIVATE_H

#include "base/time.h"
#include "net/address.h"
#include "net/http_connections.h"
#include "net/http_query.h"
#include "net/http_server.h"

struct evhttp;
struct evhttp_request;
struct event;

struct ef_http_table {
    const struct ef_http_route *routes;
    void *ctx;
};

struct ef_http_server {
    struct event_base *base;
    struct evhttp *evhttp;
    struct evconnlistener *listener; /* The evhttp's. */
    struct event *tick;              /* Enables the listener and looks for slow clients, now and then. */
    struct ef_http_connections *connections;
    const struct ef_tls *tls; /* NULL: plain. */
    struct ef_net_address address;
    char address_text[EF_NET_ADDRESS_TEXT_SIZE];
    struct ef_http_table *tables;
    size_t n_tables;
    struct {
        ef_http_guard *guard;
        void *ctx;
    } guards[4];
    size_t n_guards;
    ef_http_observer *observer; /* NULL: none. */
    void *observer_ctx;
    struct ef_http_request *requests; /* Not yet answered. */
    struct ef_http_server_stats stats;
};

struct ef_http_stream;

struct ef_http_request {
    struct ef_http_server *server;         /* NULL once it was destroyed. */
    struct evhttp_request *evreq;          /* NULL if evhttp freed it. */
    struct ef_http_connection *connection; /* NULL: the client can no longer be answered. */
    struct ef_time began;                  /* Monotonic. */
    char actor[100];                       /* See ef_http_set_actor(). */
    struct ef_http_query query;
    struct ef_http_stream *stream; /* NULL until ef_http_stream_start(). */
    struct ef_http_request *next, **prev;
};

/* Forgets a request without an answer: its evhttp request is freed if it is
 * ours by now, otherwise left to evhttp. */
void ef_http_request_destroy(struct ef_http_request *req);

/* Tells the server's observer, if it has one. */
void ef_http_request_observe(const struct ef_http_request *req, int status);

/* The client of a stream is gone: tells the producer and destroys the request. */
void ef_http_stream_cancel(struct ef_http_request *req);

#endif
