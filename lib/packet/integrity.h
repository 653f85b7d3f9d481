/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a packet is as it was sent: its checksums, and a sum by which two copies
 * of one packet are compared.
 *
 *     struct ef_integrity before, after;
 *     ef_integrity_of(&packet, &before);                 // at one switch
 *     ...                                                // and at the next
 *     if (ef_integrity_changed(&before, &after)) it was corrupted between them
 *
 * The sum is the Internet checksum's (RFC 1071) of the innermost IP packet's payload, from the
 * TCP, UDP or ICMP header on, with the pseudo-header where one belongs to it. Nobody may
 * change any byte of that on the way, so it is the same at each switch, whatever it is: a
 * checksum that the sender's network card would have filled in, or that a guided probe has wrong
 * on purpose, is no less the same everywhere. What switches may rewrite (TTL, traffic class, VLAN, MACs,
 * RoCEv2's congestion bits) is not in it. It misses what RFC 1071 misses: words that change places.
 *
 * The IPv4 header has a checksum of its own, which each switch writes anew; only whether
 * it is right can be compared. Plain values; any thread. */
#ifndef EF_PACKET_INTEGRITY_H
#define EF_PACKET_INTEGRITY_H

#include "packet/packet.h"

enum ef_payload_check {
    EF_PAYLOAD_UNKNOWN,     /* No IP, or nothing behind its header. */
    EF_PAYLOAD_UNPROTECTED, /* No checksum that could be verified: UDP's is 0, a fragment, cut short, another protocol,
                             * IP options or extension headers (the pseudo-header's address may be elsewhere). */
    EF_PAYLOAD_RIGHT,
    EF_PAYLOAD_WRONG,
};

struct ef_integrity {
    uint8_t payload;       /* enum ef_payload_check */
    bool ip_is_wrong;      /* The IPv4 header's checksum. */
    uint16_t sum, n_bytes; /* Of the payload, and over how much of it. Bytes in any order, the same for all. */
};

void ef_integrity_of(const struct ef_packet *p, struct ef_integrity *integrity);

/* True if a packet that was like `before` cannot have become like `after` unless
 * its bytes were corrupted. A wrong checksum alone says nothing. */
bool ef_integrity_changed(const struct ef_integrity *before, const struct ef_integrity *after);

#endif
