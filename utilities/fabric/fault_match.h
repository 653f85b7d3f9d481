/* SPDX-License-Identifier: Apache-2.0 */
/* Which packets a fault hits: a filter of the suite's one language, as far as a
 * fault can follow it: tests joined by "and", each of one field with one value,
 * prefix or range.
 *
 *     ip ipv6 tcp udp icmp                     the packet has it
 *     ip.src ip.dst                            an address or a prefix
 *     ip.proto ip.dsfield.dscp frame.len
 *     tcp.srcport tcp.dstport udp.srcport udp.dstport
 *
 * Pure functions; any thread. */
#ifndef EF_FABRIC_FAULT_MATCH_H
#define EF_FABRIC_FAULT_MATCH_H

#include <stddef.h>

#include "base/error.h"
#include "utilities/fabric/fault_params.h"

/* Every packet, ARP as well. */
extern const struct ef_fault_match ef_fault_match_all;

/* Reads `text`; an empty one is every packet. Returns 0, -EINVAL with `err`
 * (which says what cannot be followed), or -ENOMEM. */
int ef_fault_match_parse(const char *text, struct ef_fault_match *match, struct ef_error *err);

/* The same as the match of an OpenFlow rule for IPv4, "ip,nw_dst=10.1.0.0/16".
 * OpenFlow has neither ranges nor lengths: -EINVAL with `err` then. */
int ef_fault_match_to_openflow(const struct ef_fault_match *match, char *text, size_t size, struct ef_error *err);

#endif
