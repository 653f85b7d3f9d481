/* SPDX-License-Identifier: Apache-2.0 */
/* Background traffic: TCP connections and UDP datagrams between the plain hosts
 * of a running fabric, by real sockets in their namespaces. One process does all
 * of it (a socket stays in the namespace that it was made in), so that it costs
 * little. Who talks to whom, from which port and how much, follows from a seed.
 *
 * The process is a worker (worker.h) with the pidfile traffic.pid; once a second
 * it writes what it did to traffic.json in the fabric's folder. */
#ifndef EF_FABRIC_TRAFFIC_H
#define EF_FABRIC_TRAFFIC_H

#include <stdint.h>

#include "base/error.h"
#include "utilities/fabric/topology.h"

#define EF_TRAFFIC_PORT 5001 /* Of every host, TCP and UDP. */

struct ef_traffic_options {
    double connections, datagrams; /* A second; 0: none. */
    uint64_t seed;
};

/* Returns 0 when every host listens, -EEXIST if there is traffic already, or
 * another negative errno with `err`. The fabric's lock is held. */
int ef_traffic_start(const struct ef_topology *t, const struct ef_traffic_options *options, struct ef_error *err);

/* Ends it; nothing happens if there is none. */
void ef_traffic_stop(const struct ef_topology *t);

/* What it did so far (new reference); "running" says whether it still does. */
json_t *ef_traffic_status(const struct ef_topology *t);

#endif
