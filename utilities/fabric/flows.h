/* SPDX-License-Identifier: Apache-2.0 */
/* The OpenFlow program of one switch: an L3 router with ECMP. Two tables:
 *
 *   0  what the switch's own CPU handles (packets to its addresses; expired
 *      TTLs) goes to LOCAL, the rest has its TTL decremented; packets from
 *      LOCAL (the CPU's own, and mirrored copies, which enter there) keep theirs
 *   1  longest prefix match: own hosts, next hops; several next hops are a
 *      select group that hashes the 5-tuple with a seed of this switch
 *
 * No rule requires a MAC address, and packets from LOCAL never go back there.
 * IPv6 is routed the same way (see addressing.h for its addresses). */
#ifndef EF_FABRIC_FLOWS_H
#define EF_FABRIC_FLOWS_H

#include "utilities/fabric/topology.h"

#define EF_FLOWS_VERSION "OpenFlow15" /* Select groups with a selection method. */

/* Lines for `ovs-ofctl -O OpenFlow15 bundle BRIDGE -`; the caller frees them. */
char *ef_flows_of_switch(const struct ef_topology *topology, const struct ef_topology_switch *sw);

#endif
