/* SPDX-License-Identifier: Apache-2.0 */
/* Idle connections of an HTTP client; see http_pool.h. */
#include <config.h>

#include "net/http_pool.h"

#include <event2/bufferevent.h>
#include <event2/event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

enum { IDLE_S = 10, PEER_CONNECTIONS = 32, ALL_CONNECTIONS = 256 };

/* A server, as long as a connection to it is idle. */
struct peer {
    LIST_ENTRY(peer) next;
    struct ef_http_pool *pool;
    const struct ef_tls *tls;
    LIST_HEAD(, idle) idle; /* The last used first. */
    unsigned n;
    char server[];
};

struct idle {
    LIST_ENTRY(idle) next;
    struct peer *peer;
    struct bufferevent *bev;
};

struct ef_http_pool {
    LIST_HEAD(, peer) peers;
    struct ef_http_pool_stats stats;
};

/* --- One idle connection -------------------------------------------------------- */

/* Takes it out of its list; frees the list if it was the last one. */
static struct bufferevent *
release(struct idle *idle)
{
    struct peer *peer = idle->peer;
    struct bufferevent *bev = idle->bev;
    peer->pool->stats.idle--;
    LIST_REMOVE(idle, next);
    free(idle);
    if (!--peer->n) {
        LIST_REMOVE(peer, next);
        free(peer);
    }
    return bev;
}

/* Nobody has asked: a server that speaks now does not speak HTTP. */
static void
on_idle_readable(struct bufferevent *bev, void *arg)
{
    bufferevent_free(release(arg));
}

/* Its end, an error, or IDLE_S are over. */
static void
on_idle_event(struct bufferevent *bev, short what, void *arg)
{
    bufferevent_free(release(arg));
}

/* --- Servers -------------------------------------------------------------------- */

static struct peer *
find_peer(const struct ef_http_pool *pool, const char *server, const struct ef_tls *tls)
{
    struct peer *peer;
    LIST_FOREACH(peer, &pool->peers, next)
    {
        if (peer->tls == tls && !strcmp(peer->server, server)) {
            return peer;
        }
    }
    return NULL;
}

static struct peer *
make_peer(struct ef_http_pool *pool, const char *server, const struct ef_tls *tls)
{
    size_t len = strlen(server);
    struct peer *peer = calloc(1, sizeof *peer + len + 1);
    if (peer) {
        peer->pool = pool;
        peer->tls = tls;
        memcpy(peer->server, server, len + 1);
        LIST_INIT(&peer->idle);
        LIST_INSERT_HEAD(&pool->peers, peer, next);
    }
    return peer;
}

struct bufferevent *
ef_http_pool_take(struct ef_http_pool *pool, const char *server, const struct ef_tls *tls)
{
    struct peer *peer = find_peer(pool, server, tls);
    if (!peer) {
        return NULL;
    }
    pool->stats.reused++;
    return release(LIST_FIRST(&peer->idle));
}

void
ef_http_pool_put(struct ef_http_pool *pool, const char *server, const struct ef_tls *tls, struct bufferevent *bev)
{
    static const struct timeval timeout = {.tv_sec = IDLE_S};
    struct peer *peer = find_peer(pool, server, tls);
    bool is_full = pool->stats.idle >= ALL_CONNECTIONS || (peer && peer->n >= PEER_CONNECTIONS);
    struct idle *idle = is_full ? NULL : calloc(1, sizeof *idle);
    if (idle && !peer && !(peer = make_peer(pool, server, tls))) {
        free(idle);
        idle = NULL;
    }
    if (!idle) {
        bufferevent_free(bev);
        return;
    }
    *idle = (struct idle){.peer = peer, .bev = bev};
    LIST_INSERT_HEAD(&peer->idle, idle, next);
    peer->n++;
    pool->stats.idle++;
    pool->stats.kept++;
    bufferevent_setcb(bev, on_idle_readable, NULL, on_idle_event, idle);
    bufferevent_set_timeouts(bev, &timeout, NULL);
    bufferevent_enable(bev, EV_READ);
}

/* --- Life ----------------------------------------------------------------------- */

struct ef_http_pool *
ef_http_pool_create(void)
{
    struct ef_http_pool *pool = calloc(1, sizeof *pool);
    if (pool) {
        LIST_INIT(&pool->peers);
    }
    return pool;
}

void
ef_http_pool_destroy(struct ef_http_pool *pool)
{
    if (!pool) {
        return;
    }
    struct peer *peer;
    while ((peer = LIST_FIRST(&pool->peers))) {
        bufferevent_free(release(LIST_FIRST(&peer->idle)));
    }
    free(pool);
}

void
ef_http_pool_stats(const struct ef_http_pool *pool, struct ef_http_pool_stats *stats)
{
    *stats = pool->stats;
}
