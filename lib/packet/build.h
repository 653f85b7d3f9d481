/* SPDX-License-Identifier: Apache-2.0 */
/* Packets written header by header, for tests, tools and probes.
 *
 *     uint8_t buf[256];
 *     struct ef_build b;
 *     ef_build_start(&b, buf, sizeof buf);
 *     ef_build_eth(&b);
 *     ef_build_ipv4(&b, "10.1.0.2", "10.4.0.3")[8] = 63;
 *     ef_build_tcp(&b, 43122, 80, EF_TCP_SYN);
 *     int len = ef_build_finish(&b);
 *
 * Each call appends one header with sensible values and returns where it lies,
 * so that any field can be overwritten before ef_build_finish(), which fills in
 * what depends on the rest: EtherTypes and protocol numbers (from the header
 * that follows), lengths, header checksums, TCP, UDP and ICMP checksums. To
 * lie, overwrite after it.
 *
 * Nothing is allocated. If the buffer is too small, calls return a place of
 * EF_BUILD_SCRATCH bytes that may be written and is thrown away, and finish
 * reports -ENOSPC; a text that is no address makes it report -EINVAL. (So give
 * ef_build_payload() the bytes of a long payload; do not write them through
 * what it returns.) One thread per builder. */
#ifndef EF_PACKET_BUILD_H
#define EF_PACKET_BUILD_H

#include <stdbool.h>
#include <stdint.h>

#include "packet/headers.h"
#include "packet/packet.h"

enum { EF_BUILD_MAX_LAYERS = 40, EF_BUILD_SCRATCH = 2048 };

struct ef_build {
    uint8_t *buf;
    uint32_t size, len;
    int error;    /* 0, -ENOSPC, -EINVAL; the first one stays. */
    int n_layers; /* Headers so far, also those that only continue one (options). */
    struct {
        uint8_t kind; /* enum ef_proto */
        uint16_t offset, len;
    } layers[EF_BUILD_MAX_LAYERS];
    uint8_t scratch[EF_BUILD_SCRATCH];
};

void ef_build_start(struct ef_build *b, uint8_t *buf, uint32_t size);

/* Ethernet from 02:00:00:00:00:01 to 02:00:00:00:00:02. */
uint8_t *ef_build_eth(struct ef_build *b);

/* A tag as the EtherType before it says: `tpid` 0x8100, 0x88a8, 0x9100; `tci`
 * holds priority and VLAN id. */
uint8_t *ef_build_vlan(struct ef_build *b, uint16_t tpid, uint16_t tci);

/* Ethernet/IPv4 ARP; `op` 1 request, 2 reply. */
uint8_t *ef_build_arp(struct ef_build *b, uint16_t op, const char *sender, const char *target);

/* TTL 64, id 1, DF. */
uint8_t *ef_build_ipv4(struct ef_build *b, const char *src, const char *dst);

/* Hop limit 64, flow label 1. */
uint8_t *ef_build_ipv6(struct ef_build *b, const char *src, const char *dst);

/* The one of the two that `src` is; addresses as ef_address_parse() makes them. */
uint8_t *ef_build_ip(struct ef_build *b, const uint8_t src[16], const uint8_t dst[16]);

/* Appends an IPv6 extension header of type `proto` (EF_IPPROTO_HOPOPTS, ROUTING,
 * DSTOPTS, FRAGMENT, ...) with `len` bytes (a multiple of 8), padded. Directly
 * after IPv6 or another extension header. */
uint8_t *ef_build_ipv6_extension(struct ef_build *b, uint8_t proto, uint32_t len);

/* A fragment header: `offset` in bytes, a multiple of 8. */
uint8_t *ef_build_ipv6_fragment(struct ef_build *b, uint32_t id, uint16_t offset, bool more);

/* Appends `len` bytes of options (a multiple of 4) to the IPv4, TCP or Geneve
 * header before. */
uint8_t *ef_build_options(struct ef_build *b, const void *options, uint32_t len);

/* seq 1, ack 0 (or 1 with EF_TCP_ACK), window 65535. */
uint8_t *ef_build_tcp(struct ef_build *b, uint16_t src_port, uint16_t dst_port, uint8_t flags);
uint8_t *ef_build_udp(struct ef_build *b, uint16_t src_port, uint16_t dst_port);

/* `rest` is the header's second word: id and sequence of an echo, ... */
uint8_t *ef_build_icmp(struct ef_build *b, uint8_t type, uint8_t code, uint32_t rest);
uint8_t *ef_build_icmpv6(struct ef_build *b, uint8_t type, uint8_t code, uint32_t rest);

/* `flags` EF_GRE_C, K, S choose the fields. */
uint8_t *ef_build_gre(struct ef_build *b, uint16_t flags, uint32_t key, uint32_t sequence);

/* After GRE; type II needs EF_GRE_S there, type I is GRE with payload type
 * EF_ETHERTYPE_ERSPAN set by hand. */
uint8_t *ef_build_erspan2(struct ef_build *b, uint16_t session, uint32_t index);

/* Type III with the platform 5 sub-header: nanosecond clock, ingress port. */
uint8_t *ef_build_erspan3(struct ef_build *b, uint16_t session, uint16_t port, uint32_t seconds, uint32_t ns);

uint8_t *ef_build_vxlan(struct ef_build *b, uint32_t vni);
uint8_t *ef_build_geneve(struct ef_build *b, uint32_t vni);
uint8_t *ef_build_bth(struct ef_build *b, uint8_t opcode, uint32_t dest_qp, uint32_t psn);

/* EF_MAC_CONTROL_PFC with the class-enable vector `classes`, or _PAUSE. */
uint8_t *ef_build_mac_control(struct ef_build *b, uint16_t opcode, uint8_t classes);

/* Appends bytes that are no header; NULL: zeros. */
uint8_t *ef_build_payload(struct ef_build *b, const void *bytes, uint32_t len);

/* Fills in what is still open. Returns the length, or -ENOSPC or -EINVAL. */
int ef_build_finish(struct ef_build *b);

/* The Internet checksum (RFC 1071) of `len` bytes, ready to be stored
 * big-endian; `sum` is 0 or an ef_checksum_add() of what precedes. */
uint32_t ef_checksum_add(uint32_t sum, const void *data, uint32_t len);
uint16_t ef_checksum_fold(uint32_t sum);

#endif
