/* SPDX-License-Identifier: Apache-2.0 */
/* Shortest-path routes; see routes.h. */
#include <config.h>

#include "utilities/fabric/routes.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "utilities/fabric/memory.h"

#define FAR INT_MAX

struct search {
    const struct ef_topology *topology;
    int *distance; /* Of each switch from the nearest owner. */
    size_t *queue;
    size_t head, tail;
};

static void
reach(struct search *s, const struct ef_topology_switch *sw, int distance)
{
    size_t i = (size_t) (sw - s->topology->switches);
    if (s->distance[i] == FAR) {
        s->distance[i] = distance;
        s->queue[s->tail++] = i;
    }
}

static void
search_init(struct search *s, const struct ef_topology *t)
{
    *s = (struct search){.topology = t};
    s->distance = ef_xzalloc(t->n_switches * sizeof *s->distance);
    s->queue = ef_xzalloc(t->n_switches * sizeof *s->queue);
    for (size_t i = 0; i < t->n_switches; i++) {
        s->distance[i] = FAR;
    }
}

/* Breadth first from the owners that were reached with distance 0. */
static void
search_run(struct search *s)
{
    while (s->head < s->tail) {
        size_t i = s->queue[s->head++];
        const struct ef_topology_switch *sw = &s->topology->switches[i];
        for (size_t j = 0; j < sw->n_ports; j++) {
            const struct ef_topology_switch *peer = ef_topology_switch(s->topology, sw->ports[j].peer);
            if (peer) {
                reach(s, peer, s->distance[i] + 1);
            }
        }
    }
}

static void
search_deinit(struct search *s)
{
    free(s->distance);
    free(s->queue);
}

static struct ef_route *
add_route(struct ef_routes *r, struct ef_prefix prefix)
{
    r->routes = ef_xgrow(r->routes, r->n_routes, sizeof *r->routes);
    struct ef_route *route = &r->routes[r->n_routes++];
    route->prefix = prefix;
    return route;
}

static void
add_next_hop(struct ef_route *route, int port)
{
    route->ports = ef_xgrow(route->ports, route->n_ports, sizeof *route->ports);
    route->ports[route->n_ports++] = port;
}

/* After the search: `sw`'s ports to switches that are one step nearer. Ports are
 * in ascending order in the topology, so they are here. */
static void
add_route_through(struct ef_routes *r, const struct search *s, const struct ef_topology_switch *sw,
                  struct ef_prefix prefix)
{
    const struct ef_topology *t = s->topology;
    int distance = s->distance[sw - t->switches];
    if (!distance || distance == FAR) {
        return;
    }
    struct ef_route *route = add_route(r, prefix);
    for (size_t i = 0; i < sw->n_ports; i++) {
        const struct ef_topology_switch *peer = ef_topology_switch(t, sw->ports[i].peer);
        if (peer && s->distance[peer - t->switches] == distance - 1) {
            add_next_hop(route, sw->ports[i].number);
        }
    }
}

static struct ef_prefix
host_prefix(uint32_t address)
{
    return (struct ef_prefix){address, 32};
}

static void
add_host_route(struct ef_routes *r, const struct ef_topology_host *host, uint32_t address)
{
    struct ef_route *route = add_route(r, host_prefix(address));
    route->host = host;
    add_next_hop(route, host->port);
}

/* Everything that the one other switch `owner` owns. */
static void
add_owner(struct ef_routes *r, const struct ef_topology *t, const struct ef_topology_switch *sw,
          const struct ef_topology_switch *owner)
{
    struct search s;
    search_init(&s, t);
    reach(&s, owner, 0);
    search_run(&s);
    add_route_through(r, &s, sw, host_prefix(owner->loopback));
    if (owner->subnet.len) {
        add_route_through(r, &s, sw, owner->subnet);
    }
    for (size_t i = 0; i < t->n_hosts; i++) {
        const struct ef_topology_host *host = &t->hosts[i];
        if (!strcmp(host->switch_name, owner->name) && !ef_prefix_contains(owner->subnet, host->address)) {
            add_route_through(r, &s, sw, host_prefix(host->address));
        }
    }
    search_deinit(&s);
}

static void
add_vip(struct ef_routes *r, const struct ef_topology *t, const struct ef_topology_switch *sw)
{
    struct search s;
    search_init(&s, t);
    for (size_t i = 0; i < t->n_hosts; i++) {
        const struct ef_topology_host *host = &t->hosts[i];
        if (host->role == EF_HOST_RESHUFFLER) {
            reach(&s, ef_topology_switch(t, host->switch_name), 0);
        }
    }
    search_run(&s);
    add_route_through(r, &s, sw, host_prefix(t->vip));
    search_deinit(&s);
}

void
ef_routes_init(struct ef_routes *r, const struct ef_topology *t, const struct ef_topology_switch *sw)
{
    bool has_vip = false;
    *r = (struct ef_routes){0};
    for (size_t i = 0; i < t->n_hosts; i++) {
        const struct ef_topology_host *host = &t->hosts[i];
        if (strcmp(host->switch_name, sw->name)) {
            continue;
        }
        add_host_route(r, host, host->address);
        if (host->role == EF_HOST_RESHUFFLER && !has_vip) {
            add_host_route(r, host, t->vip);
            has_vip = true; /* The first of several on one leaf takes it all. */
        }
    }
    for (size_t i = 0; i < t->n_switches; i++) {
        if (&t->switches[i] != sw) {
            add_owner(r, t, sw, &t->switches[i]);
        }
    }
    add_vip(r, t, sw);
}

void
ef_routes_deinit(struct ef_routes *r)
{
    for (size_t i = 0; i < r->n_routes; i++) {
        free(r->routes[i].ports);
    }
    free(r->routes);
}
