/* SPDX-License-Identifier: Apache-2.0 */
/* A packet in one line, for people: tunnels in front, then the innermost
 * packet. Declared in packet.h. */
#include <config.h>

#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/util.h"
#include "packet/headers.h"
#include "packet/ipv6_chain.h"
#include "packet/packet.h"

struct text {
    char *buf;
    size_t size, len;
};

static void EF_PRINTF(2, 3) add(struct text *t, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(t->buf + t->len, t->size - t->len, fmt, args);
    va_end(args);
    t->len = n < 0 ? t->len : EF_MIN(t->len + (size_t) n, t->size - 1);
}

static void
add_tunnels(struct text *t, const struct ef_packet *p, unsigned end)
{
    for (unsigned i = 0; i < end; i++) {
        const uint8_t *h = ef_packet_layer_data(p, i);
        bool cut = p->layers[i].flags & EF_LAYER_CUT;
        switch (p->layers[i].proto) {
        case EF_PROTO_VLAN:
            add(t, "VLAN(%u) ", ef_vlan_id(h));
            break;
        case EF_PROTO_GRE:
            if (!cut && ef_gre_flags(h) & EF_GRE_K) {
                add(t, "GRE(key %u) ", ef_gre_key(h));
            } else {
                add(t, "GRE ");
            }
            break;
        case EF_PROTO_ERSPAN:
            add(t, "ERSPAN(session %u) ", ef_erspan_session(h));
            break;
        case EF_PROTO_VXLAN:
            add(t, "VXLAN(vni %u) ", ef_vxlan_vni(h));
            break;
        case EF_PROTO_GENEVE:
            add(t, "Geneve(vni %u) ", ef_geneve_vni(h));
            break;
        case EF_PROTO_IPV4:
        case EF_PROTO_IPV6:
            if (i + 1 < p->n_layers &&
                (p->layers[i + 1].proto == EF_PROTO_IPV4 || p->layers[i + 1].proto == EF_PROTO_IPV6)) {
                add(t, "IP-in-IP ");
            }
            break;
        default:
            break;
        }
    }
}

/* "10.1.0.2:43122", "[2001:db8::1]:80"; without a port if that is negative. */
static void
add_endpoint(struct text *t, const uint8_t address[16], int port)
{
    char buf[INET6_ADDRSTRLEN];
    ef_address_format(address, buf);
    if (port < 0) {
        add(t, "%s", buf);
    } else {
        add(t, ef_address_is_ipv4(address) ? "%s:%d" : "[%s]:%d", buf, port);
    }
}

static void
add_addresses(struct text *t, const uint8_t *ip, int src_port, int dst_port)
{
    uint8_t address[16];
    ef_ip_src(ip, address);
    add_endpoint(t, address, src_port);
    add(t, " > ");
    ef_ip_dst(ip, address);
    add_endpoint(t, address, dst_port);
}

static void
add_tcp(struct text *t, const uint8_t *tcp)
{
    static const char letters[] = "FSRPAUEC";
    char flags[sizeof letters];
    size_t n = 0;
    for (int i = 0; i < 8; i++) {
        if (ef_tcp_flags(tcp) >> i & 1) {
            flags[n++] = letters[i] == 'A' ? '.' : letters[i];
        }
    }
    flags[n] = '\0';
    add(t, " TCP [%s] seq %u", flags, ef_tcp_seq(tcp));
    if (ef_tcp_flags(tcp) & EF_TCP_ACK) {
        add(t, " ack %u", ef_tcp_ack(tcp));
    }
}

static const char *
icmp_name(uint8_t type)
{
    switch (type) {
    case 0:
        return "echo reply";
    case 3:
        return "unreachable";
    case 4:
        return "source quench";
    case 5:
        return "redirect";
    case 8:
        return "echo request";
    case 11:
        return "time exceeded";
    case 12:
        return "parameter problem";
    default:
        return NULL;
    }
}

static const char *
icmpv6_name(uint8_t type)
{
    static const char *const errors[] = {NULL, "unreachable", "too big", "time exceeded", "parameter problem"};
    static const char *const others[] = {"echo request",           "echo reply",
                                         "listener query",         "listener report",
                                         "listener done",          "router solicitation",
                                         "router advertisement",   "neighbor solicitation",
                                         "neighbor advertisement", "redirect"};
    if (type < EF_ARRAY_SIZE(errors)) {
        return errors[type];
    }
    return type >= 128 && type - 128u < EF_ARRAY_SIZE(others) ? others[type - 128] : NULL;
}

static void
add_icmp(struct text *t, const uint8_t *icmp, bool v6)
{
    uint8_t type = ef_icmp_type(icmp);
    const char *name = v6 ? icmpv6_name(type) : icmp_name(type);
    add(t, v6 ? " ICMPv6" : " ICMP");
    if (name) {
        add(t, " %s", name);
    } else {
        add(t, " type %u", type);
    }
    if (v6 ? ef_icmpv6_is_echo(type) : ef_icmp_is_echo(type)) {
        add(t, " id %u seq %u", ef_icmp_id(icmp), ef_icmp_seq(icmp));
    } else {
        add(t, " code %u", ef_icmp_code(icmp));
    }
}

/* What an ICMP error is about: the first IP packet behind layer `from`. */
static void
add_quoted(struct text *t, const struct ef_packet *p, unsigned from)
{
    if (from + 1u >= p->n_layers || !(p->layers[from + 1].flags & EF_LAYER_QUOTED)) {
        return;
    }
    const struct ef_layer *l4 = from + 2u < p->n_layers ? &p->layers[from + 2] : NULL;
    bool has_ports = l4 && (l4->proto == EF_PROTO_TCP || l4->proto == EF_PROTO_UDP);
    const uint8_t *ports = has_ports ? p->data + l4->offset : NULL;
    add(t, " (");
    add_addresses(t, ef_packet_layer_data(p, from + 1), ports ? ef_l4_src_port(ports) : -1,
                  ports ? ef_l4_dst_port(ports) : -1);
    add(t, "%s)", !has_ports ? "" : l4->proto == EF_PROTO_TCP ? " TCP" : " UDP");
}

static void
add_l4(struct text *t, const struct ef_packet *p)
{
    const uint8_t *l4 = ef_packet_layer_data(p, p->inner_l4);
    unsigned next = p->inner_l4 + 1u;
    switch (p->layers[p->inner_l4].proto) {
    case EF_PROTO_TCP:
        add_tcp(t, l4);
        break;
    case EF_PROTO_UDP:
        add(t, " UDP");
        if (next < p->n_layers && p->layers[next].proto == EF_PROTO_BTH) {
            const uint8_t *bth = ef_packet_layer_data(p, next);
            add(t, " RoCE opcode %u qp 0x%x psn %u", ef_bth_opcode(bth), ef_bth_dest_qp(bth), ef_bth_psn(bth));
        }
        break;
    default:
        add_icmp(t, l4, p->layers[p->inner_l4].proto == EF_PROTO_ICMPV6);
        add_quoted(t, p, p->inner_l4);
        break;
    }
}

/* An IP packet in which no L4 header was found. */
static void
add_bare_ip(struct text *t, const struct ef_packet *p, const uint8_t *ip)
{
    const struct ef_layer *layer = &p->layers[p->inner_ip];
    unsigned proto, offset = 0;
    if (layer->proto == EF_PROTO_IPV4) {
        proto = ef_ipv4_proto(ip);
        offset = (ef_ipv4_fragment(ip) & EF_IPV4_OFFSET) * 8u;
    } else {
        struct ef_ipv6_chain chain;
        ef_ipv6_chain_walk(&chain, ip, layer->header_len);
        proto = chain.proto;
        offset = chain.fragment & EF_IPV6_OFFSET;
    }
    add(t, " protocol %u", proto);
    if (layer->flags & EF_LAYER_LATER_FRAGMENT) {
        add(t, " fragment at %u", offset);
    }
}

static void
add_ip(struct text *t, const struct ef_packet *p)
{
    const uint8_t *ip = ef_packet_layer_data(p, p->inner_ip);
    const uint8_t *ports = NULL;
    if (p->inner_l4 != EF_NO_LAYER &&
        (p->layers[p->inner_l4].proto == EF_PROTO_TCP || p->layers[p->inner_l4].proto == EF_PROTO_UDP)) {
        ports = ef_packet_layer_data(p, p->inner_l4);
    }
    add_addresses(t, ip, ports ? ef_l4_src_port(ports) : -1, ports ? ef_l4_dst_port(ports) : -1);
    if (p->inner_l4 != EF_NO_LAYER) {
        add_l4(t, p);
    } else {
        add_bare_ip(t, p, ip);
    }
    add(t, " len %u", ef_ip_total_len(ip));
}

static void
add_mac(struct text *t, const uint8_t mac[6])
{
    add(t, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
}

static void
add_arp(struct text *t, const struct ef_layer *layer, const uint8_t *arp)
{
    add(t, " ARP %s", ef_load_be16(arp + 6) == 2 ? "reply" : "request");
    if (layer->header_len >= 28 && arp[4] == 6 && arp[5] == 4) {
        add(t, " %u.%u.%u.%u > %u.%u.%u.%u", arp[14], arp[15], arp[16], arp[17], arp[24], arp[25], arp[26], arp[27]);
    }
}

/* A packet without IP: addresses of its Ethernet header and what it is. */
static void
add_non_ip(struct text *t, const struct ef_packet *p)
{
    if (!p->n_layers) {
        add(t, "%u bytes that are no Ethernet frame", p->len);
        return;
    }
    const uint8_t *eth = ef_packet_layer_data(p, 0);
    unsigned last = p->n_layers - 1u;
    const uint8_t *h = ef_packet_layer_data(p, last);
    add_mac(t, ef_eth_src(eth));
    add(t, " > ");
    add_mac(t, ef_eth_dst(eth));
    switch (p->layers[last].proto) {
    case EF_PROTO_ARP:
        add_arp(t, &p->layers[last], h);
        break;
    case EF_PROTO_MAC_CONTROL:
        if (ef_mac_control_opcode(h) == EF_MAC_CONTROL_PFC && p->layers[last].header_len >= 4) {
            add(t, " PFC classes 0x%02x", h[3]);
        } else if (ef_mac_control_opcode(h) == EF_MAC_CONTROL_PAUSE) {
            add(t, " pause");
        } else {
            add(t, " MAC control opcode 0x%04x", ef_mac_control_opcode(h));
        }
        break;
    default:
        add(t, " EtherType 0x%04x", ef_load_be16(h + p->layers[last].header_len - 2));
        break;
    }
    add(t, " len %u", p->wire_len);
}

char *
ef_packet_summary(const struct ef_packet *p, char *buf, size_t size)
{
    struct text t = {.buf = buf, .size = size};
    if (!size) {
        return buf;
    }
    buf[0] = '\0';
    if (p->inner_ip != EF_NO_LAYER) {
        add_tunnels(&t, p, p->inner_ip);
        add_ip(&t, p);
    } else {
        add_tunnels(&t, p, p->n_layers);
        add_non_ip(&t, p);
    }
    return buf;
}
