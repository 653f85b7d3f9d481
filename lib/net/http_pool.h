/* SPDX-License-Identifier: Apache-2.0 */
/* Connections that a client keeps after an exchange, to ask the same server again:
 * opening one, with TLS above all, costs more than a small question does.
 *
 *     struct ef_http_pool *pool = ef_http_pool_create();
 *     struct ef_http_call_spec spec = {.server = url, .pool = pool, ...};
 *     ...
 *     ef_http_pool_destroy(pool);     after all calls, before the event base
 *
 * A connection is kept for IDLE_S, which is less than our servers wait for the next
 * request (EF_HTTP_WAIT_S), at most PEER_CONNECTIONS of one server and
 * ALL_CONNECTIONS of all; what was used last is used again first, so that those that
 * are too many grow old. A server is a URL and the identity that it was asked with:
 * a connection is never used for another host name or certificate. One on which
 * anything comes while nobody has asked, be it its end, is closed.
 *
 * http_client.c says which connections may be kept, and what is done when one had
 * been closed by the server just then. One event base's thread. */
#ifndef EF_NET_HTTP_POOL_H
#define EF_NET_HTTP_POOL_H

#include <stdint.h>

struct bufferevent;
struct ef_http_pool;
struct ef_tls;

struct ef_http_pool_stats {
    uint64_t idle; /* Now. */
    uint64_t kept, reused;
};

/* NULL: out of memory. */
struct ef_http_pool *ef_http_pool_create(void);
void ef_http_pool_destroy(struct ef_http_pool *pool); /* NULL is fine. */

void ef_http_pool_stats(const struct ef_http_pool *pool, struct ef_http_pool_stats *stats);

/* For http_client.c: a connection to `server`, or NULL if none is idle; and takes one
 * over, which is closed if there are enough. Its callbacks and timeouts are
 * the owner's to set. */
struct bufferevent *ef_http_pool_take(struct ef_http_pool *pool, const char *server, const struct ef_tls *tls);
void ef_http_pool_put(struct ef_http_pool *pool, const char *server, const struct ef_tls *tls,
                      struct bufferevent *connection);

#endif
