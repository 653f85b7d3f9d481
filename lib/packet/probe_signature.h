/* SPDX-License-Identifier: Apache-2.0 */
/* By what a guided probe is known: 32 bytes at the start of the innermost
 * packet's payload, behind its TCP, UDP, ICMP or ICMPv6 header, or behind its IP
 * header if it has none of them (doc/wire-format.md, section 6).
 *
 * Written by ef-prober, read by whoever has a copy of the packet:
 *
 *     struct ef_probe_signature s;
 *     if (!ef_probe_signature_find(&packet, &s)) printf("probe %" PRIu64 " of order %" PRIx64, s.sequence, s.probe_id);
 *
 * Anybody can write these bytes: a signature says what a packet claims to be.
 * Plain values, no allocation; any thread. */
#ifndef EF_PACKET_PROBE_SIGNATURE_H
#define EF_PACKET_PROBE_SIGNATURE_H

#include "base/time.h"
#include "packet/packet.h"

enum {
    EF_PROBE_SIGNATURE_LEN = 32,
    EF_PROBE_SIGNATURE_SEQUENCE = 16, /* Where the two numbers that change from probe to probe stand. */
    EF_PROBE_SIGNATURE_SENT = 24,
};

struct ef_probe_signature {
    uint64_t probe_id;   /* Of the order; all its probes have it. */
    uint64_t sequence;   /* Of the probe within the order, from 0. */
    struct ef_time sent; /* Real time of the prober's clock. */
};

void ef_probe_signature_write(const struct ef_probe_signature *signature, uint8_t bytes[EF_PROBE_SIGNATURE_LEN]);

/* Reads the `len` bytes at `bytes`. Returns 0, or -ENOENT: there is none. */
int ef_probe_signature_read(const uint8_t *bytes, uint32_t len, struct ef_probe_signature *signature);

/* Reads the one of `packet`. Returns 0, or -ENOENT: it is no probe, or was cut
 * before the end of the signature. */
int ef_probe_signature_find(const struct ef_packet *packet, struct ef_probe_signature *signature);

#endif
