/* SPDX-License-Identifier: Apache-2.0 */
/* What stays the same of a packet on its way (doc/architecture.md, section 4).
 *
 * The flow hash is over the innermost 5-tuple and steers: to an analyzer in the
 * reshuffler, to a worker in the analyzer. The identity is over all invariant
 * fields of the innermost packet and joins the copies of one packet into one
 * trace. Both ignore what switches rewrite: TTL, DSCP/ECN, IP checksum, MACs,
 * VLAN. A packet without IP is identified by its EtherType and payload. */
#ifndef EF_PACKET_IDENTITY_H
#define EF_PACKET_IDENTITY_H

#include "packet/packet.h"

struct ef_identity {
    uint64_t flow_hash; /* Of the innermost 5-tuple, the same in one direction only. */
    uint64_t hash;      /* Of all invariant fields; 64 bits of XXH3-128. */
    uint64_t check;     /* The other 64 bits: equal identities have equal both. */
};

/* Computes both from a parsed packet. */
void ef_identity_of(const struct ef_packet *p, struct ef_identity *id);

/* Only the flow hash, which needs fewer bytes. */
uint64_t ef_flow_hash(const struct ef_packet *p);

#endif
