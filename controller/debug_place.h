/* SPDX-License-Identifier: Apache-2.0 */
/* Where a debug session marks: at the ports of edge switches where its servers are
 * attached, by the topology. Pure functions on values. */
#ifndef CONTROLLER_DEBUG_PLACE_H
#define CONTROLLER_DEBUG_PLACE_H

#include <jansson.h>
#include <stddef.h>

#include "base/error.h"
#include "controller/topology.h"

/* The places of the servers of `names` (hosts' names or addresses, an array that came
 * from outside): [{"server", "switch", "port"}], each once, a new reference. NULL with `err` if one is not known:
 * "servers[1]: ...". */
json_t *debug_places(const struct topology *topology, const json_t *names, struct ef_error *err);

/* The number of a place's switch, or n_switches if it is not in the topology (any more). */
size_t debug_place_number(const struct topology *topology, const json_t *place);

/* The most switches on a shortest way from one of the places to a switch with hosts;
 * at least 1. */
unsigned debug_places_hops(const struct topology *topology, const json_t *places);

#endif
