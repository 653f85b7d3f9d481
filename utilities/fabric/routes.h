/* SPDX-License-Identifier: Apache-2.0 */
/* Which way a switch sends what: for every prefix of the fabric, the ports on
 * all shortest paths to it. Computed once for the whole topology; flows.c turns
 * a switch's routes into OpenFlow.
 *
 * Prefixes are the switches' loopbacks, the leaves' subnets, the addresses of
 * hosts outside their leaf's subnet, and the VIP, which belongs to every
 * reshuffler (the nearest one gets the packet). */
#ifndef EF_FABRIC_ROUTES_H
#define EF_FABRIC_ROUTES_H

#include <stdint.h>

#include "utilities/fabric/topology.h"

/* One prefix as one switch sees it. */
struct ef_route {
    struct ef_prefix prefix;
    const struct ef_topology_host *host; /* On this switch, at ports[0]; or NULL: next hops are switches. */
    int *ports;                          /* OpenFlow numbers, ascending. */
    size_t n_ports;
};

struct ef_routes {
    struct ef_route *routes;
    size_t n_routes;
};

/* The routes of `sw`: own hosts, and every prefix that lies elsewhere. The
 * switch's own loopback is not among them. The caller frees them with
 * ef_routes_deinit(); `topology` must live as long. */
void ef_routes_init(struct ef_routes *routes, const struct ef_topology *topology, const struct ef_topology_switch *sw);
void ef_routes_deinit(struct ef_routes *routes);

#endif
