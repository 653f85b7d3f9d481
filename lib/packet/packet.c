/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over a packet's headers. The common shape has a fast path at the
 * end of the file; every other goes through walk(), in which each protocol has
 * one step: it judges its header, notes the layer, and names the next. Called by the
 * reshuffler and the analyzer for every copy, by filters' tests and tools. */
#include <config.h>

#include "packet/packet.h"

#include "packet/cursor.h"
#include "packet/headers.h"
#include "packet/ipv6_chain.h"
#include "packet/packet_internal.h"

/* What a step returns when no header that we know follows. */
enum { STOP = -1 };

struct walk {
    struct ef_packet *p;
    struct ef_cursor c;
    uint8_t flags;   /* EF_LAYER_QUOTED once inside a quoted packet. */
    bool incomplete; /* In a quoted packet or a first fragment: lengths speak of bytes that are elsewhere. */
};

static void
fault(struct walk *w, enum ef_parse_status status)
{
    if (w->p->status == EF_PARSE_OK) {
        w->p->status = status;
    }
}

/* The bytes end within a header of `n` bytes from here: notes why. */
static void
ends_early(struct walk *w, uint32_t n)
{
    if (ef_cursor_on_wire(&w->c, n)) {
        fault(w, EF_PARSE_CUT);
    } else if (!w->incomplete) {
        fault(w, EF_PARSE_MALFORMED);
    } else if (!(w->flags & EF_LAYER_QUOTED) || w->c.end < w->c.wire_end) {
        fault(w, EF_PARSE_CUT);
    }
}

/* The next `n` bytes, or NULL, and then the status says why. */
static const uint8_t *
need(struct walk *w, uint32_t n)
{
    const uint8_t *h = ef_cursor_peek(&w->c, n);
    if (!h) {
        ends_early(w, n);
    }
    return h;
}

/* The packet that starts here says that it has `n` bytes. */
static void
limit(struct walk *w, uint32_t n)
{
    if (!ef_cursor_limit(&w->c, n) && !w->incomplete) {
        fault(w, EF_PARSE_MALFORMED);
    }
}

/* Notes the layer that starts here, of `header_len` bytes of which those up to
 * the captured end are kept, and goes behind it. Returns false if the walk
 * ends with it. */
static bool
take(struct walk *w, enum ef_proto proto, uint32_t header_len)
{
    struct ef_packet *p = w->p;
    if (p->n_layers == EF_MAX_LAYERS) {
        fault(w, EF_PARSE_TOO_DEEP);
        return false;
    }
    bool whole = header_len <= ef_cursor_left(&w->c);
    if (!whole) {
        ends_early(w, header_len);
    }
    struct ef_layer *layer = &p->layers[p->n_layers++];
    layer->proto = (uint8_t) proto;
    layer->flags = w->flags | (whole ? 0 : EF_LAYER_CUT);
    layer->offset = (uint16_t) w->c.offset;
    layer->header_len = (uint16_t) ef_cursor_skip(&w->c, header_len);
    p->protos |= 1u << proto;
    return whole;
}

/* A header contradicts itself. What somebody else quotes is not this packet's
 * fault. */
static int
malformed(struct walk *w)
{
    if (!(w->flags & EF_LAYER_QUOTED)) {
        fault(w, EF_PARSE_MALFORMED);
    }
    return STOP;
}

static int
step_of_ethertype(uint16_t ethertype)
{
    switch (ethertype) {
    case EF_ETHERTYPE_IPV4:
        return EF_PROTO_IPV4;
    case EF_ETHERTYPE_IPV6:
        return EF_PROTO_IPV6;
    case EF_ETHERTYPE_ARP:
        return EF_PROTO_ARP;
    case EF_ETHERTYPE_VLAN:
    case EF_ETHERTYPE_QINQ:
    case EF_ETHERTYPE_QINQ_OLD:
        return EF_PROTO_VLAN;
    case EF_ETHERTYPE_MAC_CONTROL:
        return EF_PROTO_MAC_CONTROL;
    default:
        return STOP;
    }
}

/* What a tunnel header's payload type names. */
static int
step_of_tunnel_type(uint16_t type)
{
    return type == EF_ETHERTYPE_TEB ? EF_PROTO_ETH : step_of_ethertype(type);
}

static int
step_of_ip_proto(uint8_t proto)
{
    switch (proto) {
    case EF_IPPROTO_TCP:
        return EF_PROTO_TCP;
    case EF_IPPROTO_UDP:
        return EF_PROTO_UDP;
    case EF_IPPROTO_ICMP:
        return EF_PROTO_ICMP;
    case EF_IPPROTO_ICMPV6:
        return EF_PROTO_ICMPV6;
    case EF_IPPROTO_GRE:
        return EF_PROTO_GRE;
    case EF_IPPROTO_IPV4:
        return EF_PROTO_IPV4;
    case EF_IPPROTO_IPV6:
        return EF_PROTO_IPV6;
    default:
        return STOP;
    }
}

static int
step_eth(struct walk *w)
{
    const uint8_t *eth = need(w, EF_ETH_LEN);
    if (!eth || !take(w, EF_PROTO_ETH, EF_ETH_LEN)) {
        return STOP;
    }
    return step_of_ethertype(ef_eth_type(eth));
}

static int
step_vlan(struct walk *w)
{
    const uint8_t *vlan = need(w, EF_VLAN_LEN);
    if (!vlan || !take(w, EF_PROTO_VLAN, EF_VLAN_LEN)) {
        return STOP;
    }
    return step_of_ethertype(ef_vlan_type(vlan));
}

static int
step_arp(struct walk *w)
{
    const uint8_t *arp = need(w, EF_ARP_LEN);
    if (arp) {
        take(w, EF_PROTO_ARP, EF_ARP_LEN + 2u * arp[4] + 2u * arp[5]);
    }
    return STOP;
}

static int
step_mac_control(struct walk *w)
{
    const uint8_t *macc = need(w, EF_MAC_CONTROL_LEN);
    if (macc) {
        uint16_t opcode = ef_mac_control_opcode(macc);
        /* PFC: class-enable vector and eight times; pause: one time. */
        take(w, EF_PROTO_MAC_CONTROL, opcode == EF_MAC_CONTROL_PFC ? 20 : opcode == EF_MAC_CONTROL_PAUSE ? 4 : 2);
    }
    return STOP;
}

/* The layer that was just taken is an IP header, of a later fragment or not. */
static void
note_ip(struct walk *w, bool later_fragment)
{
    struct ef_packet *p = w->p;
    uint8_t index = (uint8_t) (p->n_layers - 1);
    if (later_fragment) {
        p->layers[index].flags |= EF_LAYER_LATER_FRAGMENT;
    }
    if (w->flags & EF_LAYER_QUOTED) {
        return;
    }
    p->outer_ip = p->outer_ip == EF_NO_LAYER ? index : p->outer_ip;
    p->inner_ip = index;
    p->inner_l4 = EF_NO_LAYER;
}

static int
step_ipv4(struct walk *w)
{
    const uint8_t *ip = need(w, EF_IPV4_LEN);
    if (!ip) {
        return STOP;
    }
    uint32_t header_len = ef_ipv4_header_len(ip);
    if (ef_ip_version(ip) != 4 || header_len < EF_IPV4_LEN || ef_ipv4_total_len(ip) < header_len) {
        return malformed(w);
    }
    limit(w, ef_ipv4_total_len(ip));
    uint8_t n_layers = w->p->n_layers;
    bool whole = take(w, EF_PROTO_IPV4, header_len);
    uint16_t fragment = ef_ipv4_fragment(ip);
    if (w->p->n_layers > n_layers) {
        note_ip(w, fragment & EF_IPV4_OFFSET);
    }
    w->incomplete |= fragment & EF_IPV4_MF;
    return whole && !(fragment & EF_IPV4_OFFSET) ? step_of_ip_proto(ef_ipv4_proto(ip)) : STOP;
}

static int
step_ipv6(struct walk *w)
{
    const uint8_t *ip = need(w, EF_IPV6_LEN);
    if (!ip) {
        return STOP;
    }
    if (ef_ip_version(ip) != 6) {
        return malformed(w);
    }
    /* A jumbogram (RFC 2675) has length 0 and says its own in a hop-by-hop
     * option: it then ends where its frame does. */
    if (ef_ipv6_payload_len(ip) || ef_ipv6_next_header(ip) != EF_IPPROTO_HOPOPTS) {
        limit(w, ef_ip_total_len(ip));
    }
    struct ef_ipv6_chain chain;
    ef_ipv6_chain_walk(&chain, ip, ef_cursor_left(&w->c));
    bool later_fragment = chain.fragment & EF_IPV6_OFFSET;
    uint8_t n_layers = w->p->n_layers;
    bool whole = take(w, EF_PROTO_IPV6, chain.header_len);
    if (w->p->n_layers > n_layers) {
        note_ip(w, later_fragment);
    }
    if (chain.too_long) {
        fault(w, EF_PARSE_TOO_DEEP);
        return STOP;
    }
    w->incomplete |= chain.is_fragment;
    return whole && !later_fragment ? step_of_ip_proto(chain.proto) : STOP;
}

/* The layer taken next is the innermost packet's TCP, UDP or ICMP, unless
 * quoted or without a place left. */
static void
note_l4(struct walk *w)
{
    if (!(w->flags & EF_LAYER_QUOTED) && w->p->n_layers < EF_MAX_LAYERS) {
        w->p->inner_l4 = w->p->n_layers;
    }
}

static int
step_tcp(struct walk *w)
{
    bool quoted = w->flags & EF_LAYER_QUOTED;
    /* An ICMP error needs to quote only the ports and the sequence number. */
    const uint8_t *tcp = need(w, quoted ? 8 : EF_TCP_LEN);
    if (!tcp) {
        return STOP;
    }
    uint32_t header_len = ef_cursor_left(&w->c) < EF_TCP_LEN ? EF_TCP_LEN : ef_tcp_header_len(tcp);
    note_l4(w);
    if (header_len < EF_TCP_LEN) {
        take(w, EF_PROTO_TCP, EF_TCP_LEN);
        return malformed(w);
    }
    take(w, EF_PROTO_TCP, header_len);
    return STOP;
}

/* The tunnel behind a UDP header, if the port names one and it has room: a
 * port is a convention, so that what does not fit is payload, not an error. */
static int
step_of_udp_port(const struct walk *w, uint16_t dst_port)
{
    if (dst_port == EF_PORT_VXLAN && ef_cursor_on_wire(&w->c, EF_VXLAN_LEN)) {
        return EF_PROTO_VXLAN;
    }
    if (dst_port == EF_PORT_GENEVE && ef_cursor_on_wire(&w->c, EF_GENEVE_LEN)) {
        return EF_PROTO_GENEVE;
    }
    if (dst_port == EF_PORT_ROCE && ef_cursor_on_wire(&w->c, EF_BTH_LEN)) {
        return EF_PROTO_BTH;
    }
    return STOP;
}

static int
step_udp(struct walk *w)
{
    const uint8_t *udp = need(w, EF_UDP_LEN);
    if (!udp) {
        return STOP;
    }
    note_l4(w);
    if (ef_udp_len(udp) < EF_UDP_LEN) {
        take(w, EF_PROTO_UDP, EF_UDP_LEN);
        return malformed(w);
    }
    limit(w, ef_udp_len(udp));
    return take(w, EF_PROTO_UDP, EF_UDP_LEN) ? step_of_udp_port(w, ef_l4_dst_port(udp)) : STOP;
}

/* What an ICMP error quotes starts here. */
static int
step_quoted(struct walk *w, enum ef_proto ip)
{
    w->flags |= EF_LAYER_QUOTED;
    w->incomplete = true;
    return ip;
}

static int
step_icmp(struct walk *w)
{
    const uint8_t *icmp = need(w, EF_ICMP_LEN);
    if (!icmp) {
        return STOP;
    }
    note_l4(w);
    bool whole = take(w, EF_PROTO_ICMP, EF_ICMP_LEN);
    return whole && ef_icmp_is_error(ef_icmp_type(icmp)) ? step_quoted(w, EF_PROTO_IPV4) : STOP;
}

static int
step_icmpv6(struct walk *w)
{
    const uint8_t *icmp = need(w, EF_ICMPV6_LEN);
    if (!icmp) {
        return STOP;
    }
    note_l4(w);
    bool whole = take(w, EF_PROTO_ICMPV6, EF_ICMPV6_LEN);
    return whole && ef_icmpv6_is_error(ef_icmp_type(icmp)) ? step_quoted(w, EF_PROTO_IPV6) : STOP;
}

static int
step_gre(struct walk *w)
{
    const uint8_t *gre = need(w, EF_GRE_LEN);
    if (!gre) {
        return STOP;
    }
    uint16_t flags = ef_gre_flags(gre);
    if (flags & (EF_GRE_VERSION | EF_GRE_R)) {
        return STOP; /* Another protocol (PPTP), or one that nobody sends any more (RFC 1701 routing). */
    }
    if (!take(w, EF_PROTO_GRE, ef_gre_header_len(flags))) {
        return STOP;
    }
    switch (ef_gre_type(gre)) {
    case EF_ETHERTYPE_ERSPAN:
        return flags & EF_GRE_S ? EF_PROTO_ERSPAN : EF_PROTO_ETH;
    case EF_ETHERTYPE_ERSPAN3:
        return EF_PROTO_ERSPAN;
    default:
        return step_of_tunnel_type(ef_gre_type(gre));
    }
}

/* An IP packet whose version only its first byte tells. */
static int
step_of_ip_version(struct walk *w)
{
    const uint8_t *ip = need(w, 1);
    if (!ip) {
        return STOP;
    }
    switch (ef_ip_version(ip)) {
    case 4:
        return EF_PROTO_IPV4;
    case 6:
        return EF_PROTO_IPV6;
    default:
        return malformed(w);
    }
}

static int
step_erspan3(struct walk *w)
{
    const uint8_t *erspan = need(w, EF_ERSPAN3_LEN);
    if (!erspan) {
        return STOP;
    }
    uint32_t platform_len = ef_erspan3_has_platform(erspan) ? EF_ERSPAN3_PLATFORM_LEN : 0;
    if (!take(w, EF_PROTO_ERSPAN, EF_ERSPAN3_LEN + platform_len)) {
        return STOP;
    }
    return ef_erspan3_frame_type(erspan) == 2 ? step_of_ip_version(w) : EF_PROTO_ETH;
}

static int
step_erspan(struct walk *w)
{
    const uint8_t *erspan = need(w, EF_ERSPAN2_LEN);
    if (!erspan) {
        return STOP;
    }
    /* The GRE header before it says which type follows; the version has to agree. */
    const uint8_t *gre = ef_packet_layer_data(w->p, w->p->n_layers - 1u);
    bool type3 = ef_gre_type(gre) == EF_ETHERTYPE_ERSPAN3;
    if (ef_erspan_version(erspan) != (type3 ? 2 : 1)) {
        return malformed(w);
    }
    if (type3) {
        return step_erspan3(w);
    }
    return take(w, EF_PROTO_ERSPAN, EF_ERSPAN2_LEN) ? EF_PROTO_ETH : STOP;
}

static int
step_vxlan(struct walk *w)
{
    const uint8_t *vxlan = need(w, EF_VXLAN_LEN);
    if (!vxlan || !(vxlan[0] & 0x08)) {
        return STOP; /* Without the I flag (RFC 7348, section 5) it is not VXLAN. */
    }
    return take(w, EF_PROTO_VXLAN, EF_VXLAN_LEN) ? EF_PROTO_ETH : STOP;
}

static int
step_geneve(struct walk *w)
{
    const uint8_t *geneve = need(w, EF_GENEVE_LEN);
    if (!geneve || geneve[0] >> 6) {
        return STOP; /* An unknown version must be dropped (RFC 8926, section 3.4). */
    }
    return take(w, EF_PROTO_GENEVE, ef_geneve_header_len(geneve)) ? step_of_tunnel_type(ef_geneve_type(geneve)) : STOP;
}

static int
step_bth(struct walk *w)
{
    if (need(w, EF_BTH_LEN)) {
        take(w, EF_PROTO_BTH, EF_BTH_LEN);
    }
    return STOP;
}

static int (*const steps[EF_N_PROTOS])(struct walk *) = {
    [EF_PROTO_ETH] = step_eth,       [EF_PROTO_VLAN] = step_vlan,     [EF_PROTO_ARP] = step_arp,
    [EF_PROTO_IPV4] = step_ipv4,     [EF_PROTO_IPV6] = step_ipv6,     [EF_PROTO_TCP] = step_tcp,
    [EF_PROTO_UDP] = step_udp,       [EF_PROTO_ICMP] = step_icmp,     [EF_PROTO_ICMPV6] = step_icmpv6,
    [EF_PROTO_GRE] = step_gre,       [EF_PROTO_ERSPAN] = step_erspan, [EF_PROTO_VXLAN] = step_vxlan,
    [EF_PROTO_GENEVE] = step_geneve, [EF_PROTO_BTH] = step_bth,       [EF_PROTO_MAC_CONTROL] = step_mac_control,
};

enum ef_parse_status
ef_packet_parse_general(struct ef_packet *p, const uint8_t *data, uint32_t len, uint32_t wire_len)
{
    p->data = data;
    p->len = len;
    p->wire_len = EF_MAX(len, wire_len);
    p->protos = 0;
    p->n_layers = 0;
    p->status = EF_PARSE_OK;
    p->outer_ip = p->inner_ip = p->inner_l4 = EF_NO_LAYER;
    struct walk w = {.p = p, .c = {.data = data, .end = EF_MIN(len, UINT16_MAX), .wire_end = p->wire_len}};
    /* Each step takes a layer or stops, so that EF_MAX_LAYERS bounds the loop. */
    for (int next = EF_PROTO_ETH; next != STOP;) {
        next = steps[next](&w);
    }
    return p->status;
}

/* --- The fast path ---------------------------------------------------------- */

/* The common shape is Ethernet, IP without options, extension headers or
 * fragmentation, TCP or UDP that is no tunnel, all of them whole. */

static EF_ALWAYS_INLINE void
set_common(struct ef_packet *p, enum ef_proto ip, uint32_t ip_header_len, enum ef_proto l4, uint32_t l4_header_len)
{
    p->protos = 1u << EF_PROTO_ETH | 1u << ip | 1u << l4;
    p->n_layers = 3;
    p->status = EF_PARSE_OK;
    p->outer_ip = p->inner_ip = 1;
    p->inner_l4 = 2;
    p->layers[0] = (struct ef_layer){.proto = EF_PROTO_ETH, .offset = 0, .header_len = EF_ETH_LEN};
    p->layers[1] =
        (struct ef_layer){.proto = (uint8_t) ip, .offset = EF_ETH_LEN, .header_len = (uint16_t) ip_header_len};
    p->layers[2] = (struct ef_layer){.proto = (uint8_t) l4,
                                     .offset = (uint16_t) (EF_ETH_LEN + ip_header_len),
                                     .header_len = (uint16_t) l4_header_len};
}

/* `l4_len` bytes of TCP or UDP follow the IP header, of which at least
 * EF_UDP_LEN, and `left` at all, are captured. */
static EF_ALWAYS_INLINE bool
parse_common_l4(struct ef_packet *p, enum ef_proto ip, uint32_t ip_header_len, uint8_t proto, uint32_t l4_len,
                uint32_t left)
{
    const uint8_t *l4 = p->data + EF_ETH_LEN + ip_header_len;
    if (proto == EF_IPPROTO_TCP && left >= EF_TCP_LEN) {
        uint32_t header_len = ef_tcp_header_len(l4);
        if (header_len < EF_TCP_LEN || header_len > l4_len || header_len > left) {
            return false;
        }
        set_common(p, ip, ip_header_len, EF_PROTO_TCP, header_len);
        return true;
    }
    if (proto == EF_IPPROTO_UDP) {
        uint32_t udp_len = ef_udp_len(l4), port = ef_l4_dst_port(l4);
        if (udp_len < EF_UDP_LEN || udp_len > l4_len || port == EF_PORT_VXLAN || port == EF_PORT_GENEVE ||
            port == EF_PORT_ROCE) {
            return false;
        }
        set_common(p, ip, ip_header_len, EF_PROTO_UDP, EF_UDP_LEN);
        return true;
    }
    return false;
}

/* What ef_packet_parse_general() would find, at once; or false, and then the
 * general walk has to look. */
static EF_ALWAYS_INLINE bool
parse_common(struct ef_packet *p)
{
    const uint8_t *ip = p->data + EF_ETH_LEN;
    uint32_t len = p->len, wire_len = p->wire_len;
    if (len < EF_ETH_LEN + EF_IPV4_LEN + EF_UDP_LEN || len > UINT16_MAX) {
        return false;
    }
    uint16_t ethertype = ef_eth_type(p->data);
    if (ethertype == EF_ETHERTYPE_IPV4) {
        uint32_t total_len = ef_ipv4_total_len(ip);
        return ip[0] == 0x45 && !ef_ipv4_is_fragment(ip) && total_len <= wire_len - EF_ETH_LEN &&
               total_len >= EF_IPV4_LEN &&
               parse_common_l4(p, EF_PROTO_IPV4, EF_IPV4_LEN, ef_ipv4_proto(ip), total_len - EF_IPV4_LEN,
                               len - EF_ETH_LEN - EF_IPV4_LEN);
    }
    if (ethertype == EF_ETHERTYPE_IPV6 && len >= EF_ETH_LEN + EF_IPV6_LEN + EF_UDP_LEN) {
        uint32_t l4_len = ef_ipv6_payload_len(ip);
        return ef_ip_version(ip) == 6 && l4_len <= wire_len - EF_ETH_LEN - EF_IPV6_LEN &&
               parse_common_l4(p, EF_PROTO_IPV6, EF_IPV6_LEN, ef_ipv6_next_header(ip), l4_len,
                               len - EF_ETH_LEN - EF_IPV6_LEN);
    }
    return false;
}

enum ef_parse_status
ef_packet_parse(struct ef_packet *p, const uint8_t *data, uint32_t len, uint32_t wire_len)
{
    p->data = data;
    p->len = len;
    p->wire_len = EF_MAX(len, wire_len);
    if (EF_LIKELY(parse_common(p))) {
        return EF_PARSE_OK;
    }
    return ef_packet_parse_general(p, data, len, wire_len);
}
