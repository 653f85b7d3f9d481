/* SPDX-License-Identifier: Apache-2.0 */
/* The headers of one packet, found by one pass over its bytes.
 *
 *     struct ef_packet p;
 *     ef_packet_parse(&p, frame, captured_len, wire_len);
 *     if (p.inner_l4 != EF_NO_LAYER && p.layers[p.inner_l4].proto == EF_PROTO_TCP) ...
 *
 * The result borrows the bytes and holds no pointer but to them; nothing is
 * allocated. A packet that is cut short or lies about a length is not an error
 * of the call: the layers that are whole are there, `status` says why the walk
 * ended. No layer ever reaches beyond `len`. Any number of threads may parse. */
#ifndef EF_PACKET_PACKET_H
#define EF_PACKET_PACKET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/byteorder.h"

enum ef_proto {
    EF_PROTO_ETH,
    EF_PROTO_VLAN, /* 802.1Q or 802.1ad tag, one layer each. */
    EF_PROTO_ARP,
    EF_PROTO_IPV4,
    EF_PROTO_IPV6, /* header_len includes extension headers. */
    EF_PROTO_TCP,
    EF_PROTO_UDP,
    EF_PROTO_ICMP,
    EF_PROTO_ICMPV6,
    EF_PROTO_GRE,
    EF_PROTO_ERSPAN,
    EF_PROTO_VXLAN,
    EF_PROTO_GENEVE,
    EF_PROTO_BTH,         /* RoCEv2 base transport header, UDP port 4791. */
    EF_PROTO_MAC_CONTROL, /* EtherType 0x8808: PFC, pause. */
    EF_N_PROTOS
};

/* Layer flags. */
enum {
    EF_LAYER_QUOTED = 1,         /* Inside the packet that an ICMP error quotes. */
    EF_LAYER_LATER_FRAGMENT = 2, /* IP fragment other than the first: no L4 follows. */
    EF_LAYER_CUT = 4,            /* The header goes beyond the bytes: header_len is what there is. */
};

/* Of each layer at least the fixed part is there (headers.h), and EF_LAYER_CUT
 * means that options are missing. The one exception is a TCP header that an ICMP
 * error quotes: of it at least the first 8 bytes are there. */
struct ef_layer {
    uint8_t proto; /* enum ef_proto */
    uint8_t flags;
    uint16_t offset;     /* Of the header, from `data`. */
    uint16_t header_len; /* Whole header with options, as far as captured. */
};

enum ef_parse_status {
    EF_PARSE_OK,        /* To the innermost layer that we know. */
    EF_PARSE_CUT,       /* Captured bytes end within a header (snap length, T bit). */
    EF_PARSE_MALFORMED, /* A length or version contradicts the bytes. Layers behind an IP or UDP length that is too
                         * great are still found; otherwise the walk ends there. Not of what is quoted. */
    EF_PARSE_TOO_DEEP,  /* More than EF_MAX_LAYERS headers, or 16 IPv6 extension headers. */
};

enum { EF_MAX_LAYERS = 16, EF_NO_LAYER = 0xff };

struct ef_packet {
    const uint8_t *data; /* Borrowed; starts with Ethernet. */
    uint32_t len;        /* Bytes at `data`; at most 65535 are looked at. */
    uint32_t wire_len;   /* Bytes on the wire. */
    uint32_t protos;     /* Bit 1 << enum ef_proto for each layer present. */
    uint8_t n_layers;
    uint8_t status;   /* enum ef_parse_status */
    uint8_t outer_ip; /* Index of the first IP layer, or EF_NO_LAYER. */
    uint8_t inner_ip; /* Index of the innermost IP layer that is not quoted, or EF_NO_LAYER. */
    uint8_t inner_l4; /* Index of that packet's TCP/UDP/ICMP/ICMPv6 layer, or EF_NO_LAYER. */
    struct ef_layer layers[EF_MAX_LAYERS];
};

/* Parses `len` captured bytes of an Ethernet frame that had `wire_len` on the
 * wire (at least `len`, or it is taken as `len`). Returns p->status. Follows
 * VLAN (any number), IPv4, IPv6 with extension headers, IP-in-IP (4, 41), GRE
 * (IP, IPv6, TEB, ERSPAN I/II/III payloads), VXLAN (UDP 4789), Geneve (UDP
 * 6081), RoCEv2 (UDP 4791), and what ICMP errors quote. doc/wire-format.md has
 * the rules. Entries of p->layers from p->n_layers on are not written. */
enum ef_parse_status ef_packet_parse(struct ef_packet *p, const uint8_t *data, uint32_t len, uint32_t wire_len);

static inline bool
ef_packet_has(const struct ef_packet *p, enum ef_proto proto)
{
    return p->protos >> proto & 1;
}

static inline const uint8_t *
ef_packet_layer_data(const struct ef_packet *p, unsigned index)
{
    return p->data + p->layers[index].offset;
}

/* One line for people, "10.1.0.2:43122 > 10.4.0.3:80 TCP [S] seq 123 len 60";
 * encapsulations in front as "VXLAN(vni 7) ". Returns `buf`. */
char *ef_packet_summary(const struct ef_packet *p, char *buf, size_t size);

/* An address as text: IPv4-mapped IPv6 in dotted form. `buf` holds
 * INET6_ADDRSTRLEN bytes; returned. */
char *ef_address_format(const uint8_t address[16], char *buf);

/* Reads an IPv4 or IPv6 address into 16 bytes (IPv4 mapped, ::ffff:a.b.c.d).
 * Returns 0 or -EINVAL. */
int ef_address_parse(const char *text, uint8_t address[16]);

#endif
