/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of each header, read from the header's first byte:
 *
 *     const uint8_t *ip = ef_packet_layer_data(&p, p.inner_ip);
 *     if (ef_ip_version(ip) == 4 && ef_ipv4_ttl(ip) < 2) ...
 *
 * Nothing here checks a bound: a layer that ef_packet_parse() lists has at
 * least its fixed part (EF_..._LEN bytes), except a layer that is both
 * EF_LAYER_QUOTED and EF_LAYER_CUT, of which only header_len bytes are there
 * (an ICMP error quotes at least 8 bytes of the transport header). */
#ifndef EF_PACKET_HEADERS_H
#define EF_PACKET_HEADERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/byteorder.h"

/* Fixed parts, in bytes. */
enum {
    EF_ETH_LEN = 14,
    EF_VLAN_LEN = 4,
    EF_ARP_LEN = 8,
    EF_IPV4_LEN = 20,
    EF_IPV6_LEN = 40,
    EF_TCP_LEN = 20,
    EF_UDP_LEN = 8,
    EF_ICMP_LEN = 8,
    EF_ICMPV6_LEN = 8,
    EF_GRE_LEN = 4,
    EF_ERSPAN2_LEN = 8,
    EF_ERSPAN3_LEN = 12,
    EF_ERSPAN3_PLATFORM_LEN = 8,
    EF_VXLAN_LEN = 8,
    EF_GENEVE_LEN = 8,
    EF_BTH_LEN = 12,
    EF_MAC_CONTROL_LEN = 2,
};

/* EtherTypes, which are also GRE and Geneve payload types. */
enum {
    EF_ETHERTYPE_IPV4 = 0x0800,
    EF_ETHERTYPE_ARP = 0x0806,
    EF_ETHERTYPE_ERSPAN3 = 0x22eb, /* GRE only. */
    EF_ETHERTYPE_TEB = 0x6558,     /* Transparent Ethernet bridging: a frame follows. */
    EF_ETHERTYPE_VLAN = 0x8100,
    EF_ETHERTYPE_IPV6 = 0x86dd,
    EF_ETHERTYPE_MAC_CONTROL = 0x8808,
    EF_ETHERTYPE_QINQ = 0x88a8,
    EF_ETHERTYPE_ERSPAN = 0x88be,      /* GRE only: type I without S, type II with S. */
    EF_ETHERTYPE_VENDOR_8949 = 0x8949, /* GRE only. */
    EF_ETHERTYPE_QINQ_OLD = 0x9100,
    EF_ETHERTYPE_MIN = 0x0600, /* Below, the field is a length (IEEE 802.3). */
};

enum {
    EF_IPPROTO_HOPOPTS = 0,
    EF_IPPROTO_ICMP = 1,
    EF_IPPROTO_IPV4 = 4,
    EF_IPPROTO_TCP = 6,
    EF_IPPROTO_UDP = 17,
    EF_IPPROTO_IPV6 = 41,
    EF_IPPROTO_ROUTING = 43,
    EF_IPPROTO_FRAGMENT = 44,
    EF_IPPROTO_GRE = 47,
    EF_IPPROTO_ESP = 50,
    EF_IPPROTO_AH = 51,
    EF_IPPROTO_ICMPV6 = 58,
    EF_IPPROTO_NONE = 59,
    EF_IPPROTO_DSTOPTS = 60,
    EF_IPPROTO_SCTP = 132,
    EF_IPPROTO_MOBILITY = 135,
    EF_IPPROTO_HIP = 139,
    EF_IPPROTO_SHIM6 = 140,
};

enum { EF_PORT_VXLAN = 4789, EF_PORT_ROCE = 4791, EF_PORT_GENEVE = 6081 };

enum {
    EF_TCP_FIN = 0x01,
    EF_TCP_SYN = 0x02,
    EF_TCP_RST = 0x04,
    EF_TCP_PSH = 0x08,
    EF_TCP_ACK = 0x10,
    EF_TCP_URG = 0x20,
    EF_TCP_ECE = 0x40,
    EF_TCP_CWR = 0x80,
};

enum { EF_GRE_C = 0x8000, EF_GRE_R = 0x4000, EF_GRE_K = 0x2000, EF_GRE_S = 0x1000, EF_GRE_VERSION = 0x0007 };

enum {
    EF_IPV4_DF = 0x4000,
    EF_IPV4_MF = 0x2000,
    EF_IPV4_OFFSET = 0x1fff, /* In units of 8 bytes. */
    EF_IPV6_MF = 0x0001,
    EF_IPV6_OFFSET = 0xfff8, /* In bytes. */
};

enum { EF_MAC_CONTROL_PAUSE = 0x0001, EF_MAC_CONTROL_PFC = 0x0101 };

/* --- Ethernet, VLAN ------------------------------------------------------- */

static inline const uint8_t *
ef_eth_dst(const uint8_t *eth)
{
    return eth;
}

static inline const uint8_t *
ef_eth_src(const uint8_t *eth)
{
    return eth + 6;
}

static inline uint16_t
ef_eth_type(const uint8_t *eth)
{
    return ef_load_be16(eth + 12);
}

static inline uint16_t
ef_vlan_id(const uint8_t *vlan)
{
    return ef_load_be16(vlan) & 0xfff;
}

static inline uint8_t
ef_vlan_priority(const uint8_t *vlan)
{
    return vlan[0] >> 5;
}

/* EtherType of what follows the tag. */
static inline uint16_t
ef_vlan_type(const uint8_t *vlan)
{
    return ef_load_be16(vlan + 2);
}

static inline bool
ef_ethertype_is_vlan(uint16_t ethertype)
{
    return ethertype == EF_ETHERTYPE_VLAN || ethertype == EF_ETHERTYPE_QINQ || ethertype == EF_ETHERTYPE_QINQ_OLD;
}

/* --- IPv4 ----------------------------------------------------------------- */

static inline uint32_t
ef_ipv4_header_len(const uint8_t *ip)
{
    return (ip[0] & 0xfu) * 4;
}

static inline uint8_t
ef_ipv4_tos(const uint8_t *ip)
{
    return ip[1];
}

static inline uint16_t
ef_ipv4_total_len(const uint8_t *ip)
{
    return ef_load_be16(ip + 2);
}

static inline uint16_t
ef_ipv4_id(const uint8_t *ip)
{
    return ef_load_be16(ip + 4);
}

/* Flags and offset: EF_IPV4_DF, EF_IPV4_MF, EF_IPV4_OFFSET. */
static inline uint16_t
ef_ipv4_fragment(const uint8_t *ip)
{
    return ef_load_be16(ip + 6);
}

static inline bool
ef_ipv4_is_fragment(const uint8_t *ip)
{
    return ef_ipv4_fragment(ip) & (EF_IPV4_MF | EF_IPV4_OFFSET);
}

static inline uint8_t
ef_ipv4_ttl(const uint8_t *ip)
{
    return ip[8];
}

static inline uint8_t
ef_ipv4_proto(const uint8_t *ip)
{
    return ip[9];
}

static inline uint16_t
ef_ipv4_checksum(const uint8_t *ip)
{
    return ef_load_be16(ip + 10);
}

/* Addresses as they are in the packet, 4 bytes each. */
static inline const uint8_t *
ef_ipv4_src(const uint8_t *ip)
{
    return ip + 12;
}

static inline const uint8_t *
ef_ipv4_dst(const uint8_t *ip)
{
    return ip + 16;
}

/* --- IPv6 (extension headers: ipv6_chain.h) ------------------------------- */

static inline uint8_t
ef_ipv6_tos(const uint8_t *ip)
{
    return (uint8_t) (ef_load_be16(ip) >> 4);
}

static inline uint32_t
ef_ipv6_flow_label(const uint8_t *ip)
{
    return ef_load_be32(ip) & 0xfffff;
}

static inline uint16_t
ef_ipv6_payload_len(const uint8_t *ip)
{
    return ef_load_be16(ip + 4);
}

/* Of the fixed header: the first extension header, if there are any. */
static inline uint8_t
ef_ipv6_next_header(const uint8_t *ip)
{
    return ip[6];
}

static inline uint8_t
ef_ipv6_hop_limit(const uint8_t *ip)
{
    return ip[7];
}

static inline const uint8_t *
ef_ipv6_src(const uint8_t *ip)
{
    return ip + 8;
}

static inline const uint8_t *
ef_ipv6_dst(const uint8_t *ip)
{
    return ip + 24;
}

/* --- IP of either version -------------------------------------------------- */

static inline uint8_t
ef_ip_version(const uint8_t *ip)
{
    return ip[0] >> 4;
}

static inline uint8_t
ef_ip_ttl(const uint8_t *ip)
{
    return ef_ip_version(ip) == 4 ? ef_ipv4_ttl(ip) : ef_ipv6_hop_limit(ip);
}

/* DSCP in the upper six bits, ECN in the lower two. */
static inline uint8_t
ef_ip_tos(const uint8_t *ip)
{
    return ef_ip_version(ip) == 4 ? ef_ipv4_tos(ip) : ef_ipv6_tos(ip);
}

/* Length of the IP packet with its header. */
static inline uint32_t
ef_ip_total_len(const uint8_t *ip)
{
    return ef_ip_version(ip) == 4 ? ef_ipv4_total_len(ip) : EF_IPV6_LEN + (uint32_t) ef_ipv6_payload_len(ip);
}

/* Makes 16 bytes of an IPv4 address: ::ffff:a.b.c.d. Two whole words are
 * stored, so that a reader of whole words need not wait for smaller stores. */
static inline void
ef_address_from_ipv4(uint8_t address[16], const uint8_t ipv4[4])
{
    uint32_t raw;
    memcpy(&raw, ipv4, sizeof raw);
    uint64_t high = 0, low = (uint64_t) raw << 32 | 0xffff0000u;
    memcpy(address, &high, sizeof high);
    memcpy(address + 8, &low, sizeof low);
}

static inline bool
ef_address_is_ipv4(const uint8_t address[16])
{
    static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};
    return !memcmp(address, prefix, 12);
}

/* Source and destination of an IP header of either version, 16 bytes each. */
static inline void
ef_ip_src(const uint8_t *ip, uint8_t address[16])
{
    if (ef_ip_version(ip) == 4) {
        ef_address_from_ipv4(address, ef_ipv4_src(ip));
    } else {
        memcpy(address, ef_ipv6_src(ip), 16);
    }
}

static inline void
ef_ip_dst(const uint8_t *ip, uint8_t address[16])
{
    if (ef_ip_version(ip) == 4) {
        ef_address_from_ipv4(address, ef_ipv4_dst(ip));
    } else {
        memcpy(address, ef_ipv6_dst(ip), 16);
    }
}

/* --- TCP, UDP, ICMP -------------------------------------------------------- */

/* Of TCP and UDP alike. */
static inline uint16_t
ef_l4_src_port(const uint8_t *l4)
{
    return ef_load_be16(l4);
}

static inline uint16_t
ef_l4_dst_port(const uint8_t *l4)
{
    return ef_load_be16(l4 + 2);
}

static inline uint32_t
ef_tcp_seq(const uint8_t *tcp)
{
    return ef_load_be32(tcp + 4);
}

static inline uint32_t
ef_tcp_ack(const uint8_t *tcp)
{
    return ef_load_be32(tcp + 8);
}

static inline uint32_t
ef_tcp_header_len(const uint8_t *tcp)
{
    return (tcp[12] >> 4) * 4u;
}

/* The eight flags EF_TCP_...; the ninth (NS) and the reserved bits with
 * ef_tcp_flags12(). */
static inline uint8_t
ef_tcp_flags(const uint8_t *tcp)
{
    return tcp[13];
}

static inline uint16_t
ef_tcp_flags12(const uint8_t *tcp)
{
    return ef_load_be16(tcp + 12) & 0xfff;
}

static inline uint16_t
ef_tcp_window(const uint8_t *tcp)
{
    return ef_load_be16(tcp + 14);
}

static inline uint16_t
ef_tcp_checksum(const uint8_t *tcp)
{
    return ef_load_be16(tcp + 16);
}

static inline uint16_t
ef_udp_len(const uint8_t *udp)
{
    return ef_load_be16(udp + 4);
}

static inline uint16_t
ef_udp_checksum(const uint8_t *udp)
{
    return ef_load_be16(udp + 6);
}

/* Of ICMP and ICMPv6 alike. */
static inline uint8_t
ef_icmp_type(const uint8_t *icmp)
{
    return icmp[0];
}

static inline uint8_t
ef_icmp_code(const uint8_t *icmp)
{
    return icmp[1];
}

static inline uint16_t
ef_icmp_checksum(const uint8_t *icmp)
{
    return ef_load_be16(icmp + 2);
}

/* Of echo request and reply. */
static inline uint16_t
ef_icmp_id(const uint8_t *icmp)
{
    return ef_load_be16(icmp + 4);
}

static inline uint16_t
ef_icmp_seq(const uint8_t *icmp)
{
    return ef_load_be16(icmp + 6);
}

static inline bool
ef_icmp_is_echo(uint8_t type)
{
    return type == 0 || type == 8;
}

static inline bool
ef_icmpv6_is_echo(uint8_t type)
{
    return type == 128 || type == 129;
}

/* Unreachable, source quench, redirect, time exceeded, parameter problem: the
 * packet that caused it is quoted after the header. */
static inline bool
ef_icmp_is_error(uint8_t type)
{
    return type == 3 || type == 4 || type == 5 || type == 11 || type == 12;
}

static inline bool
ef_icmpv6_is_error(uint8_t type)
{
    return type >= 1 && type <= 4;
}

/* --- Tunnels --------------------------------------------------------------- */

static inline uint16_t
ef_gre_flags(const uint8_t *gre)
{
    return ef_load_be16(gre);
}

static inline uint16_t
ef_gre_type(const uint8_t *gre)
{
    return ef_load_be16(gre + 2);
}

/* Whole header of a GRE version 0 packet with these flags. */
static inline uint32_t
ef_gre_header_len(uint16_t flags)
{
    return EF_GRE_LEN + 4u * (!!(flags & EF_GRE_C) + !!(flags & EF_GRE_K) + !!(flags & EF_GRE_S));
}

/* Only if EF_GRE_K is set. */
static inline uint32_t
ef_gre_key(const uint8_t *gre)
{
    return ef_load_be32(gre + EF_GRE_LEN + (ef_gre_flags(gre) & EF_GRE_C ? 4 : 0));
}

/* Only if EF_GRE_S is set: the sequence number is the header's last word. */
static inline uint32_t
ef_gre_sequence(const uint8_t *gre)
{
    return ef_load_be32(gre + ef_gre_header_len(ef_gre_flags(gre)) - 4);
}

/* ERSPAN type II is version 1, type III version 2. */
static inline uint8_t
ef_erspan_version(const uint8_t *erspan)
{
    return erspan[0] >> 4;
}

static inline uint16_t
ef_erspan_session(const uint8_t *erspan)
{
    return ef_load_be16(erspan + 2) & 0x3ff;
}

static inline bool
ef_erspan_truncated(const uint8_t *erspan)
{
    return erspan[2] >> 2 & 1;
}

/* Type II only. */
static inline uint32_t
ef_erspan2_index(const uint8_t *erspan)
{
    return ef_load_be32(erspan + 4) & 0xfffff;
}

static inline uint16_t
ef_erspan2_reserved(const uint8_t *erspan)
{
    return ef_load_be16(erspan + 4) >> 4;
}

/* Type III only. */
static inline uint16_t
ef_erspan3_sgt(const uint8_t *erspan)
{
    return ef_load_be16(erspan + 8);
}

static inline uint32_t
ef_erspan3_timestamp(const uint8_t *erspan)
{
    return ef_load_be32(erspan + 4);
}

static inline uint8_t
ef_erspan3_frame_type(const uint8_t *erspan)
{
    return erspan[10] >> 2 & 0x1f;
}

static inline bool
ef_erspan3_egress(const uint8_t *erspan)
{
    return erspan[11] >> 3 & 1;
}

static inline uint8_t
ef_erspan3_granularity(const uint8_t *erspan)
{
    return erspan[11] >> 1 & 3;
}

static inline bool
ef_erspan3_has_platform(const uint8_t *erspan)
{
    return erspan[11] & 1;
}

static inline uint32_t
ef_vxlan_vni(const uint8_t *vxlan)
{
    return ef_load_be32(vxlan + 4) >> 8;
}

static inline uint32_t
ef_geneve_vni(const uint8_t *geneve)
{
    return ef_load_be32(geneve + 4) >> 8;
}

static inline uint16_t
ef_geneve_type(const uint8_t *geneve)
{
    return ef_load_be16(geneve + 2);
}

static inline uint32_t
ef_geneve_header_len(const uint8_t *geneve)
{
    return EF_GENEVE_LEN + (geneve[0] & 0x3fu) * 4;
}

/* --- RoCEv2, MAC control ---------------------------------------------------- */

static inline uint8_t
ef_bth_opcode(const uint8_t *bth)
{
    return bth[0];
}

static inline uint32_t
ef_bth_dest_qp(const uint8_t *bth)
{
    return ef_load_be32(bth + 4) & 0xffffff;
}

static inline uint32_t
ef_bth_psn(const uint8_t *bth)
{
    return ef_load_be32(bth + 8) & 0xffffff;
}

static inline uint16_t
ef_mac_control_opcode(const uint8_t *macc)
{
    return ef_load_be16(macc);
}

#endif
