/* SPDX-License-Identifier: Apache-2.0 */
/* The clients' connections of an HTTP server, so that no number of them and
 * nothing that they leave undone keeps others from being answered. Used by
 * http_server.c only.
 *
 * A connection waits (for a request: nothing, half a TLS handshake or half a
 * header has come, or its last request was answered) or is being answered.
 * Newcomers are always let in. When there are too many, of all or of one
 * address, the one goes that
 *  1. has waited longest, or if none does,
 *  2. takes its answer slowest: nothing of the stream was drained for STALLED_S;
 *  3. otherwise it is the newcomer.
 * So who asks at once is answered, from whatever address, however many others
 * only hold their connections; one address never has more than half of all. Of
 * IPv6 addresses the first 64 bits count, since a host has as many as it likes of
 * the rest; on a Unix socket all count as one, which may have all connections.
 *
 * Who has waited for EF_HTTP_WAIT_S goes in any case (a byte now and then does not
 * help), and so does who takes less than what was once written in TAKE_S. Bytes that were
 * read and are not answered yet are at most EF_HTTP_MAX_UNANSWERED_BYTES; who sends more
 * than SMALL_REQUEST_BYTES beyond that goes.
 *
 *     struct ef_http_connections *all = ef_http_connections_create(base, closed, server);
 *     ef_http_connections_add(all, bev);                   in evhttp's callback for a new connection
 *     connection = ef_http_connections_find(all, evcon);   at a request
 *     ef_http_connection_begin(connection, req); ... ef_http_connection_end(connection);
 *
 * evhttp owns the connections and closes them; we learn of it by its callback,
 * and close them by evhttp_connection_free(), only from events of our own. One
 * event base's thread. */
#ifndef EF_NET_HTTP_CONNECTIONS_H
#define EF_NET_HTTP_CONNECTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct bufferevent;
struct event_base;
struct evconnlistener;
struct evhttp_connection;
struct ef_http_connection;
struct ef_http_connections;
struct ef_http_request;

struct ef_http_connections_stats {
    uint64_t open;
    uint64_t displaced; /* Made room for others, or did not find any. */
    uint64_t too_slow;  /* Waited too long, or took too little. */
    uint64_t too_large; /* Sent too much while others had as well. */
};

/* `closed` is told when a connection ends while `request` (see _begin) is under
 * way. NULL: out of memory. */
struct ef_http_connections *ef_http_connections_create(struct event_base *base,
                                                       void (*closed)(struct ef_http_request *request));

/* After evhttp, which has closed them all. NULL is fine. */
void ef_http_connections_destroy(struct ef_http_connections *all);

/* At most so many at once, from now on; 0: EF_HTTP_MAX_CONNECTIONS, or a quarter of
 * the files that we may open, as an answer may take some more of them. */
void ef_http_connections_limit(struct ef_http_connections *all, uint64_t max);

/* The listener is held back for a moment after a burst of newcomers, so that requests
 * have their turn. */
void ef_http_connections_set_listener(struct ef_http_connections *all, struct evconnlistener *listener);

/* Takes note of a connection that evhttp is just making of `bev`. False: out of
 * memory. */
bool ef_http_connections_add(struct ef_http_connections *all, struct bufferevent *bev);

/* The connection of a request, or NULL if it was never added. */
struct ef_http_connection *ef_http_connections_find(struct ef_http_connections *all, struct evhttp_connection *evcon);

/* A request has come whole; it was answered (or the answer is on its way). */
void ef_http_connection_begin(struct ef_http_connection *connection, struct ef_http_request *request);
void ef_http_connection_end(struct ef_http_connection *connection);

/* A stream's buffers have been written to, have drained: what makes a client slow. */
void ef_http_connection_wrote(struct ef_http_connection *connection);
void ef_http_connection_drained(struct ef_http_connection *connection);

/* Closes those whose time is over: to be called now and then. */
void ef_http_connections_sweep(struct ef_http_connections *all);

void ef_http_connections_stats(const struct ef_http_connections *all, struct ef_http_connections_stats *stats);

#endif
