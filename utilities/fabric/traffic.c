/* SPDX-License-Identifier: Apache-2.0 */
/* Background traffic between hosts; see traffic.h. A client connects, sends one
 * byte that says how many kilobytes it wants, and reads them to their end; a
 * datagram is only sent and counted where it arrives. */
#include <config.h>

#include "utilities/fabric/traffic.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/time.h"
#include "utilities/fabric/memory.h"
#include "utilities/fabric/netns.h"
#include "utilities/fabric/process.h"
#include "utilities/fabric/state.h"
#include "utilities/fabric/worker.h"

#define TIMEOUT_S 10 /* A connection that has not ended by then has failed. */
#define MAX_OPEN 256
#define FIRST_SOURCE_PORT 10000
#define N_SOURCE_PORTS 20000

struct counts {
    uint64_t connections, completed, failed, bytes, datagrams_sent, datagrams_received;
};

struct traffic {
    const struct ef_topology *topology;
    struct ef_traffic_options options;
    struct event_base *base;
    const struct ef_topology_host **hosts; /* The plain ones. */
    int *udp;                              /* A socket of each. */
    size_t n_hosts;
    uint64_t n_drawn;
    unsigned n_open;
    struct counts counts;
};

/* The next number that follows from the seed (splitmix64). */
static uint64_t
draw(struct traffic *t)
{
    uint64_t x = t->options.seed + ++t->n_drawn * 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

static void
draw_pair(struct traffic *t, size_t *from, size_t *to)
{
    *from = draw(t) % t->n_hosts;
    *to = (*from + 1 + draw(t) % (t->n_hosts - 1)) % t->n_hosts;
}

static struct sockaddr_in
address_of(uint32_t address, uint16_t port)
{
    return (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(address)};
}

/* A socket in the host's namespace, bound to `port`; or -1. */
static int
open_socket(const struct traffic *t, const struct ef_topology_host *host, int type, uint16_t port)
{
    char netns[EF_NETNS_NAME_SIZE];
    const int on = 1;
    struct sockaddr_in own = address_of(host->address, port);
    int fd = -1, here = ef_netns_here();
    if (!ef_netns_enter(ef_topology_netns(t->topology, host->name, netns), NULL)) {
        fd = socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    }
    ef_netns_return(here);
    if (fd >= 0) {
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (bind(fd, (struct sockaddr *) &own, sizeof own)) {
            close(fd);
            fd = -1;
        }
    }
    return fd;
}

/* --- Servers ---------------------------------------------------------------- */

static void
end_served(struct bufferevent *bev, short what, void *ctx)
{
    bufferevent_free(bev);
}

static void
end_when_written(struct bufferevent *bev, void *ctx)
{
    bufferevent_free(bev);
}

static void
serve(struct bufferevent *bev, void *ctx)
{
    static const char kilobyte[1024];
    uint8_t wanted;
    if (bufferevent_read(bev, &wanted, 1) == 1) {
        bufferevent_disable(bev, EV_READ);
        bufferevent_setcb(bev, NULL, end_when_written, end_served, NULL);
        for (unsigned i = 0; i < wanted; i++) {
            bufferevent_write(bev, kilobyte, sizeof kilobyte);
        }
    }
}

static void
accept_one(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *from, int from_len, void *ctx)
{
    struct traffic *t = ctx;
    const struct timeval timeout = {TIMEOUT_S, 0};
    struct bufferevent *bev = bufferevent_socket_new(t->base, fd, BEV_OPT_CLOSE_ON_FREE);
    if (!bev) {
        close(fd);
        return;
    }
    bufferevent_setcb(bev, serve, NULL, end_served, NULL);
    bufferevent_set_timeouts(bev, &timeout, &timeout);
    bufferevent_enable(bev, EV_READ | EV_WRITE);
}

static void
receive_datagrams(evutil_socket_t fd, short what, void *ctx)
{
    struct traffic *t = ctx;
    char data[2048];
    while (recv(fd, data, sizeof data, 0) >= 0) {
        t->counts.datagrams_received++;
    }
}

static int
listen_at(struct traffic *t, size_t i, struct ef_error *err)
{
    const struct ef_topology_host *host = t->hosts[i];
    int fd = open_socket(t, host, SOCK_STREAM, EF_TRAFFIC_PORT);
    t->udp[i] = open_socket(t, host, SOCK_DGRAM, EF_TRAFFIC_PORT);
    if (fd < 0 || t->udp[i] < 0) {
        return ef_error_set(err, -EADDRINUSE, "cannot listen at port %d of %s: %s", EF_TRAFFIC_PORT, host->name,
                            strerror(errno));
    }
    struct evconnlistener *listener = evconnlistener_new(t->base, accept_one, t, LEV_OPT_CLOSE_ON_FREE, 64, fd);
    struct event *event = event_new(t->base, t->udp[i], EV_READ | EV_PERSIST, receive_datagrams, t);
    return !listener || !event || event_add(event, NULL) ? ef_error_set(err, -ENOMEM, "cannot listen at %s", host->name)
                                                         : 0;
}

/* --- Clients ---------------------------------------------------------------- */

static void
receive_answer(struct bufferevent *bev, void *ctx)
{
    struct traffic *t = ctx;
    struct evbuffer *input = bufferevent_get_input(bev);
    t->counts.bytes += evbuffer_get_length(input);
    evbuffer_drain(input, evbuffer_get_length(input));
}

static void
end_client(struct bufferevent *bev, short what, void *ctx)
{
    struct traffic *t = ctx;
    if (what & BEV_EVENT_CONNECTED) {
        return;
    }
    if (what & BEV_EVENT_EOF) {
        t->counts.completed++;
    } else {
        t->counts.failed++;
    }
    t->n_open--;
    bufferevent_free(bev);
}

static void
connect_once(evutil_socket_t none, short what, void *ctx)
{
    struct traffic *t = ctx;
    const struct timeval timeout = {TIMEOUT_S, 0};
    size_t from, to;
    draw_pair(t, &from, &to);
    struct sockaddr_in server = address_of(t->hosts[to]->address, EF_TRAFFIC_PORT);
    uint16_t port = (uint16_t) (FIRST_SOURCE_PORT + draw(t) % N_SOURCE_PORTS);
    uint8_t wanted = (uint8_t) (1 + draw(t) % 8);
    int fd = t->n_open < MAX_OPEN ? open_socket(t, t->hosts[from], SOCK_STREAM, port) : -1;
    struct bufferevent *bev = fd < 0 ? NULL : bufferevent_socket_new(t->base, fd, BEV_OPT_CLOSE_ON_FREE);
    if (!bev) {
        return; /* The port is in use, or too much is open: one connection less. */
    }
    t->n_open++;
    t->counts.connections++;
    bufferevent_setcb(bev, receive_answer, NULL, end_client, t);
    bufferevent_set_timeouts(bev, &timeout, &timeout);
    bufferevent_enable(bev, EV_READ | EV_WRITE);
    bufferevent_write(bev, &wanted, 1);
    if (bufferevent_socket_connect(bev, (struct sockaddr *) &server, sizeof server)) {
        end_client(bev, BEV_EVENT_ERROR, t);
    }
}

static void
send_datagram(evutil_socket_t none, short what, void *ctx)
{
    static const char data[1400];
    struct traffic *t = ctx;
    size_t from, to;
    draw_pair(t, &from, &to);
    struct sockaddr_in receiver = address_of(t->hosts[to]->address, EF_TRAFFIC_PORT);
    size_t len = 20 + draw(t) % (sizeof data - 20);
    if (sendto(t->udp[from], data, len, 0, (struct sockaddr *) &receiver, sizeof receiver) >= 0) {
        t->counts.datagrams_sent++;
    }
}

/* --- The process ------------------------------------------------------------ */

static char *
path_of(const char *fabric, const char *file, char path[EF_STATE_PATH_SIZE])
{
    return ef_state_path(fabric, NULL, file, path);
}

static void
write_counts(evutil_socket_t none, short what, void *ctx)
{
    const struct traffic *t = ctx;
    const struct counts *c = &t->counts;
    char path[EF_STATE_PATH_SIZE], temporary[EF_STATE_PATH_SIZE];
    json_t *json =
        json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "connections", (json_int_t) c->connections, "completed",
                  (json_int_t) c->completed, "failed", (json_int_t) c->failed, "bytes", (json_int_t) c->bytes,
                  "datagrams_sent", (json_int_t) c->datagrams_sent, "datagrams_received",
                  (json_int_t) c->datagrams_received, "seed", (json_int_t) t->options.seed);
    path_of(t->topology->name, "traffic.new", temporary);
    path_of(t->topology->name, "traffic.json", path);
    if (json_dump_file(json, temporary, JSON_INDENT(1)) || rename(temporary, path)) {
        event_base_loopbreak(t->base); /* The fabric's folder is gone, and so is the fabric. */
    }
    json_decref(json);
}

/* Calls `each` `rate` times a second. */
static int
repeat(struct traffic *t, double rate, event_callback_fn each, struct ef_error *err)
{
    double interval = 1 / rate, seconds = floor(interval);
    struct timeval tv = {(time_t) seconds, (suseconds_t) ((interval - seconds) * 1e6)};
    struct event *event = event_new(t->base, -1, EV_PERSIST, each, t);
    return !event || event_add(event, &tv) ? ef_error_set(err, -ENOMEM, "no memory for the traffic's timers") : 0;
}

static int
prepare(void *traffic, struct ef_error *err)
{
    struct traffic *t = traffic;
    int rc = 0;
    t->base = event_base_new();
    for (size_t i = 0; !rc && i < t->n_hosts; i++) {
        rc = listen_at(t, i, err);
    }
    if (!rc && t->options.connections > 0) {
        rc = repeat(t, t->options.connections, connect_once, err);
    }
    if (!rc && t->options.datagrams > 0) {
        rc = repeat(t, t->options.datagrams, send_datagram, err);
    }
    return rc ? rc : repeat(t, 1, write_counts, err);
}

static void
run(void *traffic)
{
    event_base_dispatch(((struct traffic *) traffic)->base);
}

int
ef_traffic_start(const struct ef_topology *topology, const struct ef_traffic_options *options, struct ef_error *err)
{
    struct traffic t = {.topology = topology, .options = *options};
    const struct ef_work work = {prepare, run, &t};
    char pidfile[EF_STATE_PATH_SIZE];
    path_of(topology->name, "traffic.pid", pidfile);
    if (ef_pidfile_owner(pidfile)) {
        return ef_error_set(err, -EEXIST, "fabric '%s' has traffic already; end it with `ef-fabric traffic stop`",
                            topology->name);
    }
    t.hosts = ef_xzalloc((topology->n_hosts + 1) * sizeof *t.hosts);
    t.udp = ef_xzalloc((topology->n_hosts + 1) * sizeof *t.udp);
    for (size_t i = 0; i < topology->n_hosts; i++) {
        if (topology->hosts[i].role == EF_HOST_PLAIN) {
            t.hosts[t.n_hosts++] = &topology->hosts[i];
        }
    }
    int rc =
        t.n_hosts < 2 ? ef_error_set(err, -EINVAL, "traffic needs two hosts") : ef_worker_start(pidfile, &work, err);
    free(t.hosts);
    free(t.udp);
    return rc;
}

void
ef_traffic_stop(const struct ef_topology *topology)
{
    char pidfile[EF_STATE_PATH_SIZE];
    ef_worker_stop(path_of(topology->name, "traffic.pid", pidfile));
}

json_t *
ef_traffic_status(const struct ef_topology *topology)
{
    char path[EF_STATE_PATH_SIZE];
    json_t *json = json_load_file(path_of(topology->name, "traffic.json", path), 0, NULL);
    bool running = ef_pidfile_owner(path_of(topology->name, "traffic.pid", path)) > 0;
    if (!json_is_object(json)) {
        json_decref(json);
        json = json_object();
    }
    json_object_set_new(json, "running", json_boolean(running));
    return json;
}
