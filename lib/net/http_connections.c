/* SPDX-License-Identifier: Apache-2.0 */
/* Which connections an HTTP server keeps; see http_connections.h. */
#include <config.h>

#include "net/http_connections.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/hash.h"
#include "base/time.h"
#include "base/util.h"
#include "net/http_server.h"

enum {
    STALLED_S = 5,
    TAKE_S = 120,
    SMALL_REQUEST_BYTES = 4096,
    BURST = 32, /* Newcomers before requests have their turn. */
    BUCKETS = 1024,
};

/* How many connections an address has. */
struct source {
    LIST_ENTRY(source) next;
    uint64_t prefix[2]; /* Of the address; 0 on a Unix socket. */
    unsigned n_connections;
};
LIST_HEAD(source_list, source);

enum place { NEW, WAITING, ANSWERED };

struct ef_http_connection {
    TAILQ_ENTRY(ef_http_connection) next;
    struct ef_http_connections *all;
    struct bufferevent *bev; /* Evhttp's; while NEW with a reference of ours. */
    struct evhttp_connection *evcon;
    struct source *source;
    struct ef_http_request *request; /* Under way, or NULL. */
    struct ef_time since;            /* It waits, or its stream has not drained (0: it has). */
    size_t unanswered_bytes;
    size_t pending_bytes; /* Of its last answer, when that was last looked at. */
    int fd;
    enum place place;
    bool is_too_large;
};
TAILQ_HEAD(connection_list, ef_http_connection);

struct ef_http_connections {
    struct evconnlistener *listener;
    void (*closed)(struct ef_http_request *request);
    struct event *later;             /* Takes in newcomers, and lets go of others. */
    struct connection_list lists[3]; /* By place; WAITING with the longest first. */
    struct ef_http_connection **by_fd;
    size_t n_by_fd;
    struct source_list sources[BUCKETS];
    unsigned max, n, n_new;
    size_t unanswered_bytes;
    bool is_any_too_large;
    struct ef_http_connections_stats stats;
};

/* --- Addresses ------------------------------------------------------------------ */

static void
prefix_of(int fd, uint64_t prefix[2])
{
    struct sockaddr_storage peer;
    socklen_t len = sizeof peer;
    prefix[0] = prefix[1] = 0;
    if (getpeername(fd, (struct sockaddr *) &peer, &len)) {
        return; /* It has gone already. */
    }
    if (peer.ss_family == AF_INET) {
        prefix[1] = 1 + (uint64_t) ((const struct sockaddr_in *) &peer)->sin_addr.s_addr;
    } else if (peer.ss_family == AF_INET6) {
        const struct in6_addr *address = &((const struct sockaddr_in6 *) &peer)->sin6_addr;
        bool is_v4 = IN6_IS_ADDR_V4MAPPED(address);
        memcpy(prefix, address, is_v4 ? 16 : 8);
    }
}

static struct source *
find_source(struct ef_http_connections *all, int fd)
{
    uint64_t prefix[2];
    prefix_of(fd, prefix);
    struct source_list *bucket = &all->sources[ef_hash64(prefix, sizeof prefix) % BUCKETS];
    struct source *s;
    LIST_FOREACH(s, bucket, next)
    {
        if (!memcmp(s->prefix, prefix, sizeof prefix)) {
            return s;
        }
    }
    s = calloc(1, sizeof *s);
    if (s) {
        memcpy(s->prefix, prefix, sizeof prefix);
        LIST_INSERT_HEAD(bucket, s, next);
    }
    return s;
}

static void
leave_source(struct source *s)
{
    if (!--s->n_connections) {
        LIST_REMOVE(s, next);
        free(s);
    }
}

static unsigned
max_of(const struct ef_http_connections *all, const struct source *s)
{
    return s->prefix[0] || s->prefix[1] ? (all->max + 1) / 2 : all->max;
}

/* --- One connection ------------------------------------------------------------- */

static void
move_to(struct ef_http_connection *c, enum place place)
{
    TAILQ_REMOVE(&c->all->lists[c->place], c, next);
    c->place = place;
    TAILQ_INSERT_TAIL(&c->all->lists[place], c, next);
}

static void
set_unanswered(struct ef_http_connection *c, size_t bytes)
{
    c->all->unanswered_bytes += bytes - c->unanswered_bytes;
    c->unanswered_bytes = bytes;
}

/* Counts what is read, and marks who may not send that much now. */
static void
on_input(struct evbuffer *in, const struct evbuffer_cb_info *info, void *arg)
{
    struct ef_http_connection *c = arg;
    struct ef_http_connections *all = c->all;
    set_unanswered(c, c->unanswered_bytes + info->n_added);
    if (info->n_added && all->unanswered_bytes > EF_HTTP_MAX_UNANSWERED_BYTES &&
        c->unanswered_bytes > SMALL_REQUEST_BYTES) {
        c->is_too_large = all->is_any_too_large = true;
        event_active(all->later, EV_TIMEOUT, 1);
    }
}

static void
forget(struct ef_http_connection *c)
{
    struct ef_http_connections *all = c->all;
    set_unanswered(c, 0);
    evbuffer_remove_cb(bufferevent_get_input(c->bev), on_input, c);
    TAILQ_REMOVE(&all->lists[c->place], c, next);
    if (c->place != NEW) {
        all->n--;
        leave_source(c->source);
    }
    if (c->fd >= 0 && (size_t) c->fd < all->n_by_fd && all->by_fd[c->fd] == c) {
        all->by_fd[c->fd] = NULL;
    }
    free(c);
}

static void
on_closed(struct evhttp_connection *evcon, void *arg)
{
    struct ef_http_connection *c = arg;
    struct ef_http_connections *all = c->all;
    struct ef_http_request *request = c->request;
    forget(c);
    if (request) {
        all->closed(request);
    }
}

/* Closes it, which ends with on_closed(). */
static void
close_connection(struct ef_http_connection *c, uint64_t *counter)
{
    ++*counter;
    evhttp_connection_free(c->evcon);
}

/* --- Too many ------------------------------------------------------------------- */

static bool
is_of(const struct ef_http_connection *c, const struct source *source)
{
    return !source || c->source == source;
}

static bool
is_stalled(const struct ef_http_connection *c, struct ef_time now, int64_t seconds)
{
    return c->since.ns && ef_time_diff_ns(now, c->since) > seconds * EF_NS_PER_S;
}

/* Closes a connection (of `source`; NULL: of any) to make room for `newcomer`. */
static void
displace(struct ef_http_connections *all, const struct source *source, struct ef_http_connection *newcomer)
{
    struct ef_http_connection *c;
    TAILQ_FOREACH(c, &all->lists[WAITING], next)
    {
        if (is_of(c, source) && c != newcomer) {
            close_connection(c, &all->stats.displaced);
            return;
        }
    }
    struct ef_time now = ef_time_mono();
    TAILQ_FOREACH(c, &all->lists[ANSWERED], next)
    {
        if (is_of(c, source) && is_stalled(c, now, STALLED_S)) {
            close_connection(c, &all->stats.displaced);
            return;
        }
    }
    close_connection(newcomer, &all->stats.displaced);
}

static void
make_room(struct ef_http_connection *newcomer)
{
    struct ef_http_connections *all = newcomer->all;
    if (newcomer->source->n_connections > max_of(all, newcomer->source)) {
        displace(all, newcomer->source, newcomer);
    } else if (all->n > all->max) {
        displace(all, NULL, newcomer);
    }
}

/* --- Newcomers ------------------------------------------------------------------ */

static bool
note_fd(struct ef_http_connection *c)
{
    struct ef_http_connections *all = c->all;
    if ((size_t) c->fd >= all->n_by_fd) {
        size_t n = EF_MAX((size_t) c->fd + 1, 2 * all->n_by_fd);
        struct ef_http_connection **grown = realloc(all->by_fd, n * sizeof(struct ef_http_connection *));
        if (!grown) {
            return false;
        }
        memset(grown + all->n_by_fd, 0, (n - all->n_by_fd) * sizeof(struct ef_http_connection *));
        all->by_fd = grown;
        all->n_by_fd = n;
    }
    all->by_fd[c->fd] = c;
    return true;
}

static void
let_go_of_newcomer(struct ef_http_connection *c)
{
    struct bufferevent *bev = c->bev;
    forget(c);
    bufferevent_decref(bev);
}

/* By now evhttp has made its connection, which it hands to its own callbacks of the
 * bufferevent; or it has failed to, and freed the bufferevent but for our reference.
 * Returns false if it is over with the connection. */
static bool
take_in(struct ef_http_connection *c)
{
    void *evcon = NULL;
    bufferevent_getcb(c->bev, NULL, NULL, NULL, &evcon);
    c->evcon = evcon;
    c->fd = bufferevent_getfd(c->bev);
    if (!evcon || c->fd < 0) {
        let_go_of_newcomer(c);
        return false;
    }
    if (!note_fd(c) || !(c->source = find_source(c->all, c->fd))) {
        let_go_of_newcomer(c);
        evhttp_connection_free(evcon);
        return false;
    }
    bufferevent_decref(c->bev);
    /* The head of a stream goes out by itself: what follows shall not wait until the
     * client has said that it has it. A Unix socket does not know this, nor need it. */
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    c->source->n_connections++;
    c->all->n++;
    c->since = ef_time_mono();
    move_to(c, WAITING);
    evhttp_connection_set_closecb(evcon, on_closed, c);
    return true;
}

static void
close_too_large(struct ef_http_connections *all)
{
    struct ef_http_connection *c, *next;
    for (int place = WAITING; place <= ANSWERED; place++) {
        for (c = TAILQ_FIRST(&all->lists[place]); c; c = next) {
            next = TAILQ_NEXT(c, next);
            if (c->is_too_large) {
                close_connection(c, &all->stats.too_large);
            }
        }
    }
    all->is_any_too_large = false;
}

static void
on_later(evutil_socket_t fd, short what, void *arg)
{
    struct ef_http_connections *all = arg;
    struct ef_http_connection *c;
    while ((c = TAILQ_FIRST(&all->lists[NEW]))) {
        if (take_in(c)) {
            make_room(c);
        }
    }
    if (all->is_any_too_large) {
        close_too_large(all);
    }
    if (all->n_new >= BURST && all->listener) {
        evconnlistener_enable(all->listener);
    }
    all->n_new = 0;
}

bool
ef_http_connections_add(struct ef_http_connections *all, struct bufferevent *bev)
{
    struct ef_http_connection *c = calloc(1, sizeof *c);
    if (!c || !evbuffer_add_cb(bufferevent_get_input(bev), on_input, c)) {
        free(c);
        return false;
    }
    c->all = all;
    c->bev = bev;
    c->place = NEW;
    c->fd = -1;
    bufferevent_incref(bev);
    TAILQ_INSERT_TAIL(&all->lists[NEW], c, next);
    event_active(all->later, EV_TIMEOUT, 1);
    if (++all->n_new >= BURST && all->listener) {
        evconnlistener_disable(all->listener);
    }
    return true;
}

struct ef_http_connection *
ef_http_connections_find(struct ef_http_connections *all, struct evhttp_connection *evcon)
{
    int fd = bufferevent_getfd(evhttp_connection_get_bufferevent(evcon));
    return fd >= 0 && (size_t) fd < all->n_by_fd ? all->by_fd[fd] : NULL;
}

/* --- Requests ------------------------------------------------------------------- */

void
ef_http_connection_begin(struct ef_http_connection *c, struct ef_http_request *request)
{
    c->request = request;
    c->since.ns = 0;
    move_to(c, ANSWERED);
}

void
ef_http_connection_end(struct ef_http_connection *c)
{
    c->request = NULL;
    c->since = ef_time_mono();
    set_unanswered(c, evbuffer_get_length(bufferevent_get_input(c->bev)));
    move_to(c, WAITING);
}

void
ef_http_connection_wrote(struct ef_http_connection *c)
{
    if (!c->since.ns) {
        c->since = ef_time_mono();
    }
}

void
ef_http_connection_drained(struct ef_http_connection *c)
{
    c->since.ns = 0;
}

/* True if more of its last answer was taken since the last look. */
static bool
takes_answer(struct ef_http_connection *c)
{
    size_t before = c->pending_bytes;
    c->pending_bytes = evbuffer_get_length(bufferevent_get_output(c->bev));
    return c->pending_bytes && c->pending_bytes != before;
}

void
ef_http_connections_sweep(struct ef_http_connections *all)
{
    struct ef_time now = ef_time_mono();
    struct ef_http_connection *c, *next;
    while ((c = TAILQ_FIRST(&all->lists[WAITING])) && is_stalled(c, now, EF_HTTP_WAIT_S)) {
        if (takes_answer(c)) {
            c->since = now;
            move_to(c, WAITING);
        } else {
            close_connection(c, &all->stats.too_slow);
        }
    }
    for (c = TAILQ_FIRST(&all->lists[ANSWERED]); c; c = next) {
        next = TAILQ_NEXT(c, next);
        if (is_stalled(c, now, TAKE_S)) {
            close_connection(c, &all->stats.too_slow);
        }
    }
}

/* --- Life ----------------------------------------------------------------------- */

struct ef_http_connections *
ef_http_connections_create(struct event_base *base, void (*closed)(struct ef_http_request *request))
{
    struct ef_http_connections *all = calloc(1, sizeof *all);
    if (!all || !(all->later = evtimer_new(base, on_later, all))) {
        free(all);
        return NULL;
    }
    all->closed = closed;
    ef_http_connections_limit(all, 0);
    for (size_t i = 0; i < EF_ARRAY_SIZE(all->lists); i++) {
        TAILQ_INIT(&all->lists[i]);
    }
    return all;
}

void
ef_http_connections_destroy(struct ef_http_connections *all)
{
    if (!all) {
        return;
    }
    struct ef_http_connection *c;
    while ((c = TAILQ_FIRST(&all->lists[NEW]))) {
        let_go_of_newcomer(c);
    }
    event_free(all->later);
    free(all->by_fd);
    free(all);
}

void
ef_http_connections_limit(struct ef_http_connections *all, uint64_t max)
{
    struct rlimit files;
    if (!max) {
        max = EF_HTTP_MAX_CONNECTIONS;
        max = getrlimit(RLIMIT_NOFILE, &files) ? max : EF_MIN(max, files.rlim_cur / 4);
    }
    all->max = (unsigned) EF_MAX(EF_MIN(max, UINT_MAX), 2);
}

void
ef_http_connections_set_listener(struct ef_http_connections *all, struct evconnlistener *listener)
{
    all->listener = listener;
}

void
ef_http_connections_stats(const struct ef_http_connections *all, struct ef_http_connections_stats *stats)
{
    *stats = all->stats;
    stats->open = all->n;
}
