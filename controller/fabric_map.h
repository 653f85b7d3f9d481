/* SPDX-License-Identifier: Apache-2.0 */
/* The topology as a graph, for the applications: which switches are neighbours,
 * which way leads to which host, and who else is near it.
 *
 *     struct fabric_map *map = fabric_map_create(topology.document);
 *     const char *leaf = fabric_map_switch_of(map, "10.4.0.12");
 *     n = fabric_map_next(map, "leaf1", leaf, next, 8);      // "spine1", "spine2": all shortest ways
 *
 * Routing is taken to use all shortest paths, as ECMP in a folded Clos does; what
 * a switch really does, probes tell. Names are borrowed from the document, which
 * must outlive the map. Immutable: any thread. */
#ifndef CONTROLLER_FABRIC_MAP_H
#define CONTROLLER_FABRIC_MAP_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct fabric_map;

enum { FABRIC_MAP_NEXT = 16 };

struct fabric_map *fabric_map_create(const json_t *document);
void fabric_map_destroy(struct fabric_map *map); /* NULL is fine. */

/* True if there is such a switch. */
bool fabric_map_has_switch(const struct fabric_map *map, const char *name);

/* The switch that the host with this address or name is attached to, or the switch
 * itself whose loopback or name it is; NULL: not known. */
const char *fabric_map_switch_of(const struct fabric_map *map, const char *address_or_name);

/* The address of a host or switch by its name; what is an address already, as it
 * is; NULL: not known. */
const char *fabric_map_address_of(const struct fabric_map *map, const char *address_or_name);

/* The neighbours of `from` on shortest paths to the switch `to`. Returns how
 * many, at most `size`. */
size_t fabric_map_next(const struct fabric_map *map, const char *from, const char *to, const char *next[], size_t size);

/* All switches beside this one. */
size_t fabric_map_neighbours(const struct fabric_map *map, const char *of, const char *neighbours[], size_t size);

/* Which port of `from` leads to its neighbour, or 0; which neighbour is behind a
 * port, or NULL. */
int fabric_map_port(const struct fabric_map *map, const char *from, const char *to);
const char *fabric_map_behind(const struct fabric_map *map, const char *from, int port);

/* The prefix of the hosts of a switch, IPv4 or IPv6, as the topology says; or NULL. */
const char *fabric_map_subnet(const struct fabric_map *map, const char *name, bool is_ipv6);

/* Addresses of ordinary hosts of the same IP version as `like`: of the switch of
 * `like` (but for `like` itself), or of other switches, one host of each. */
size_t fabric_map_hosts_beside(const struct fabric_map *map, const char *like, const char *addresses[], size_t size);
size_t fabric_map_hosts_elsewhere(const struct fabric_map *map, const char *like, const char *addresses[], size_t size);

#endif
