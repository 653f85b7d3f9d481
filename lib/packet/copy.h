/* SPDX-License-Identifier: Apache-2.0 */
/* A mirrored copy as it arrives: outer Ethernet, IPv4 or IPv6, GRE, perhaps
 * ERSPAN, and in it the original frame from its Ethernet header on.
 *
 *     struct ef_copy copy;
 *     enum ef_drop_reason why = ef_copy_parse(&copy, frame, captured_len, wire_len);
 *     if (why) count(why); else ef_packet_parse(&p, copy.original, copy.original_len, copy.original_wire_len);
 *
 * Accepted: ERSPAN type I (0x88BE without S), type II (0x88BE with S), type III
 * (0x22EB, with or without the platform sub-header), 0x6558 with any of C, K, S,
 * and 0x8949 with its 22-byte vendor header. doc/wire-format.md has the layouts.
 * The result borrows the frame's bytes. Any number of threads may parse. */
#ifndef EF_PACKET_COPY_H
#define EF_PACKET_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/drop_reason.h"
#include "base/time.h"

enum ef_encapsulation { EF_ENCAP_GRE, EF_ENCAP_ERSPAN1, EF_ENCAP_ERSPAN2, EF_ENCAP_ERSPAN3, EF_ENCAP_VENDOR_8949 };

/* The GRE key of our own 0x6558 copies: one of these in the high, the port in
 * the low 16 bits. */
#define EF_GRE_KEY_MAGIC 0xef10u
#define EF_GRE_KEY_EGRESS 0xef11u

/* ERSPAN II's reserved bits in the copy of a packet that leaves. */
#define EF_ERSPAN2_EGRESS 0xe40u

/* What copies of packets that the switch dropped have, plus the reason: in the
 * high 16 bits of the GRE key, in ERSPAN II's reserved bits, in ERSPAN III's
 * SGT. */
#define EF_GRE_KEY_DROP 0xef40u
#define EF_ERSPAN2_DROP 0xe00u
#define EF_ERSPAN3_DROP 0xef00u

struct ef_copy {
    uint8_t switch_address[16]; /* Outer source; IPv4 as ::ffff:a.b.c.d. */
    uint8_t target_address[16]; /* Outer destination, the same way. */
    uint16_t outer_ip_offset;   /* Of the outer IP header in the frame. */
    uint8_t encapsulation;      /* enum ef_encapsulation */
    bool has_sequence;
    bool has_port; /* A port of 0 on the wire means that there is none. */
    bool has_switch_time;
    bool truncated; /* By the switch: it says so, or the original's IP length does. */
    bool egress;
    uint8_t switch_drop;        /* Why the switch dropped the original (switch_drop.h), 0: it did not. */
    uint32_t sequence;          /* GRE sequence number. */
    uint32_t port;              /* Port the original came in by (OpenFlow number), or went out by if `egress`. */
    uint16_t session;           /* ERSPAN session id. */
    struct ef_time switch_time; /* Real time of the switch's clock. */
    const uint8_t *original;    /* Borrowed from the frame. */
    uint32_t original_len;      /* Captured bytes of it. */
    uint32_t original_wire_len; /* From the inner headers if truncated, else from the outer length. */
};

/* Parses a received Ethernet frame. Returns EF_DROP_NONE, or why it is not a
 * copy: NOT_A_COPY, OUTER_FRAGMENT, OUTER_TRUNCATED, BAD_GRE, BAD_ERSPAN. */
enum ef_drop_reason ef_copy_parse(struct ef_copy *copy, const uint8_t *frame, uint32_t len, uint32_t wire_len);

/* Writes the outer headers (Ethernet, IPv4 or IPv6, GRE, ERSPAN) that `copy`
 * describes, for an original of copy->original_len bytes, into `buf` of `size`
 * bytes; Ethernet addresses are zero. Returns the number of bytes, or -ENOSPC,
 * or -EINVAL for what the encapsulation cannot carry (type II without a
 * sequence number, a port of more bits, a time outside type III, ...). The frame is then those bytes followed by the
 * original. */
int ef_copy_build_headers(const struct ef_copy *copy, uint8_t *buf, uint32_t size);

#endif
