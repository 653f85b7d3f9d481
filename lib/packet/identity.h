/* SPDX-License-Identifier: Apache-2.0 */
/* What stays the same of a packet on its way (doc/architecture.md, section 4).
 *
 * The flow hash is over the innermost 5-tuple and steers: to an analyzer in the
 * reshuffler, to a worker in the analyzer. The identity is over all invariant
 * fields of the innermost packet and joins the copies of one packet into one
 * trace. Both ignore what switches rewrite: TTL, DSCP/ECN, IP checksum, MACs,
 * VLAN. A packet without IP is identified by its EtherType and payload.
 *
 *     ef_packet_parse(&p, copy.original, copy.original_len, copy.original_wire_len);
 *     ef_identity_of(&p, &id);
 *     worker = id.flow_hash % n_workers;
 *
 * No byte beyond the innermost transport header counts: a copy that was cut
 * behind it has the identity of the whole packet. Any packet has one, also a
 * malformed one (from the headers that were found). Which bytes are hashed how
 * is part of the wire format (doc/wire-format.md, section 3): all programs of
 * one installation must agree. Any number of threads may call these. */
#ifndef EF_PACKET_IDENTITY_H
#define EF_PACKET_IDENTITY_H

#include "packet/packet.h"

struct ef_identity {
    uint64_t flow_hash; /* Of the innermost 5-tuple in its direction; the 3-tuple for any fragment. */
    uint64_t hash;      /* Of all invariant fields; 64 bits of XXH3-128. */
    uint64_t check;     /* The other 64 bits: equal identities have equal both. */
};

/* Computes both from a parsed packet. */
void ef_identity_of(const struct ef_packet *p, struct ef_identity *id);

/* Only the flow hash, which needs fewer bytes. */
uint64_t ef_flow_hash(const struct ef_packet *p);

/* The same of a frame that was not parsed, for who needs nothing else of it:
 * what ef_flow_hash() says of ef_packet_parse(). */
uint64_t ef_flow_hash_of_frame(const uint8_t *data, uint32_t len, uint32_t wire_len);

#endif
