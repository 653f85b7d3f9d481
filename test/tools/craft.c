/* SPDX-License-Identifier: Apache-2.0 */
/* Packets drawn at random; see craft.h. */
#include <config.h>

#include "tools/craft.h"

#include <errno.h>

#include "base/util.h"

enum { MAX_NESTING = 3 };

static void craft_ip(struct crafter *c);
static void craft_frame(struct crafter *c);

uint32_t
craft_draw(struct crafter *c, uint32_t n)
{
    uint64_t z = c->random += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (uint32_t) ((z ^ z >> 31) >> 32) % n;
}

static uint32_t
draw(struct crafter *c, uint32_t n)
{
    return craft_draw(c, n);
}

static bool
one_in(struct crafter *c, uint32_t n)
{
    return draw(c, n) == 0;
}

static uint16_t
draw_port(struct crafter *c)
{
    static const uint16_t ports[] = {81, 80, 443, 1234, 5201, 8080, 33434, 40000, 40001, 65535};
    return ports[draw(c, EF_ARRAY_SIZE(ports))];
}

static const char *
draw_ipv4(struct crafter *c)
{
    static const char *const addresses[] = {"10.1.0.2",   "10.1.0.3",     "10.4.0.3",  "192.16.3.4",
                                            "192.17.3.4", "172.16.255.1", "224.0.0.5", "10.255.255.1"};
    return addresses[draw(c, EF_ARRAY_SIZE(addresses))];
}

static const char *
draw_ipv6(struct crafter *c)
{
    static const char *const addresses[] = {"2001:db8::1", "2001:db8::2", "2001:db8:0:1::1",
                                            "fe80::1",     "fe80::2",     "fd00::42"};
    return addresses[draw(c, EF_ARRAY_SIZE(addresses))];
}

static void
craft_payload(struct crafter *c, uint32_t max)
{
    ef_build_payload(&c->b, NULL, draw(c, max + 1));
}

static void
craft_tcp(struct crafter *c)
{
    static const uint8_t flags[] = {
        EF_TCP_SYN, EF_TCP_SYN | EF_TCP_ACK, EF_TCP_ACK, EF_TCP_ACK | EF_TCP_PSH,
        EF_TCP_RST, EF_TCP_FIN | EF_TCP_ACK, EF_TCP_URG, EF_TCP_SYN | EF_TCP_ECE | EF_TCP_CWR,
        0,          EF_TCP_ACK | EF_TCP_ECE,
    };
    uint8_t *tcp = ef_build_tcp(&c->b, draw_port(c), draw_port(c), flags[draw(c, EF_ARRAY_SIZE(flags))]);
    ef_store_be32(tcp + 4, draw(c, 4) * 1000);
    ef_store_be32(tcp + 8, one_in(c, 4) ? UINT32_MAX : draw(c, 4) * 1000);
    ef_store_be16(tcp + 14, (uint16_t) (draw(c, 4) * 1024));
    ef_store_be16(tcp + 18, (uint16_t) draw(c, 2));
    if (one_in(c, 8)) {
        tcp[12] |= 1; /* Accurate ECN. */
    }
    if (one_in(c, 3)) {
        ef_build_options(&c->b, "\x02\x04\x05\xb4\x01\x01\x01\x01", one_in(c, 2) ? 4 : 8);
    }
    craft_payload(c, 40);
}

static void
craft_bth(struct crafter *c)
{
    ef_build_udp(&c->b, 49152, EF_PORT_ROCE);
    ef_build_bth(&c->b, (uint8_t[]){4, 10, 17, 129}[draw(c, 4)], draw(c, 4), draw(c, 4) << 16 | draw(c, 3));
    ef_build_payload(&c->b, NULL, 28);
}

static void
craft_tunnel_in_udp(struct crafter *c)
{
    static const uint32_t vnis[] = {1, 7, 0x123456, 0xffffff};
    uint32_t vni = vnis[draw(c, EF_ARRAY_SIZE(vnis))];
    if (one_in(c, 3)) {
        craft_bth(c);
    } else if (one_in(c, 2)) {
        ef_build_udp(&c->b, 50000, EF_PORT_VXLAN);
        ef_build_vxlan(&c->b, vni);
        craft_frame(c);
    } else {
        ef_build_udp(&c->b, 50001, EF_PORT_GENEVE);
        ef_build_geneve(&c->b, vni);
        if (one_in(c, 2)) {
            ef_build_options(&c->b, "\x01\x02\x03\x01\x00\x00\x00\x09", 8);
        }
        craft_frame(c);
    }
}

static void
craft_gre(struct crafter *c)
{
    static const uint16_t flags[] = {0, EF_GRE_K, EF_GRE_S, EF_GRE_K | EF_GRE_S, EF_GRE_C};
    switch (draw(c, 4)) {
    case 0:
        ef_build_gre(&c->b, EF_GRE_S, 0, draw(c, 9));
        ef_build_erspan2(&c->b, 7, 3);
        craft_frame(c);
        break;
    case 1:
        ef_build_gre(&c->b, EF_GRE_S, 0, draw(c, 9));
        ef_build_erspan3(&c->b, 7, 3, 1795228200, 5);
        craft_frame(c);
        break;
    case 2:
        ef_build_gre(&c->b, flags[draw(c, EF_ARRAY_SIZE(flags))], 42, draw(c, 9));
        craft_ip(c);
        break;
    default:
        ef_build_gre(&c->b, flags[draw(c, EF_ARRAY_SIZE(flags))], 42, draw(c, 9));
        craft_frame(c);
    }
}

/* The quoted packet: an IP header and, of what follows, 8 bytes or a little more. */
static void
craft_quoted(struct crafter *c, bool ipv6)
{
    uint8_t *ip =
        ipv6 ? ef_build_ipv6(&c->b, draw_ipv6(c), draw_ipv6(c)) : ef_build_ipv4(&c->b, draw_ipv4(c), draw_ipv4(c));
    ip[ipv6 ? 7 : 8] = 1;
    switch (draw(c, 4)) {
    case 0:
        ef_build_tcp(&c->b, draw_port(c), draw_port(c), EF_TCP_SYN);
        break;
    case 1:
        ef_build_udp(&c->b, draw_port(c), 33434);
        break;
    case 2:
        if (!ipv6) {
            ef_build_icmp(&c->b, 8, 0, draw(c, 3) << 16 | draw(c, 3));
        } else {
            ef_build_icmpv6(&c->b, 128, 0, draw(c, 3) << 16 | draw(c, 3));
        }
        break;
    default: /* The first 8 bytes of TCP: ports and sequence number. IPv6 quotes more. */
        if (ipv6) {
            ef_build_tcp(&c->b, draw_port(c), draw_port(c), EF_TCP_FIN | EF_TCP_ACK);
            break;
        }
        ip[9] = EF_IPPROTO_TCP;
        ef_build_payload(&c->b, (uint8_t[]){0x04, 0xd2, 0, 80, 0, 0, 0x03, 0xe8}, 8);
    }
}

static void
craft_icmp(struct crafter *c)
{
    static const uint8_t queries[] = {0, 8, 8, 13, 14, 17};
    if (one_in(c, 2)) {
        ef_build_icmp(&c->b, queries[draw(c, EF_ARRAY_SIZE(queries))], 0, draw(c, 3) << 16 | draw(c, 4));
        ef_build_payload(&c->b, NULL, 16);
    } else {
        ef_build_icmp(&c->b, one_in(c, 2) ? 11 : 3, (uint8_t) draw(c, 2), 0);
        craft_quoted(c, false);
    }
}

static void
craft_icmpv6(struct crafter *c)
{
    if (one_in(c, 2)) {
        ef_build_icmpv6(&c->b, one_in(c, 2) ? 128 : 129, 0, draw(c, 3) << 16 | draw(c, 4));
        ef_build_payload(&c->b, NULL, 16);
    } else {
        ef_build_icmpv6(&c->b, one_in(c, 2) ? 3 : 1, (uint8_t) draw(c, 2), 0);
        craft_quoted(c, true);
    }
}

/* What an IP packet carries, of `ipv6` or not. */
static void
craft_transport(struct crafter *c, bool ipv6)
{
    uint32_t kind = draw(c, c->nesting < MAX_NESTING && !c->fragment ? 12 : 8);
    if (kind < 4) {
        craft_tcp(c);
    } else if (kind < 6) {
        ef_build_udp(&c->b, draw_port(c), draw_port(c));
        craft_payload(c, 40);
    } else if (c->fragment) {
        ef_build_udp(&c->b, 40000, 5201);
        ef_build_payload(&c->b, NULL, 24);
    } else if (kind < 8) {
        (ipv6 ? craft_icmpv6 : craft_icmp)(c);
    } else {
        c->nesting++;
        (kind < 10 ? craft_tunnel_in_udp : kind < 11 ? craft_gre : craft_ip)(c);
    }
}

/* A later fragment holds bytes, not headers. */
static void
craft_later_fragment(struct crafter *c, uint8_t *ip)
{
    ip[9] = EF_IPPROTO_UDP;
    ef_build_payload(&c->b, NULL, 24);
}

static void
craft_ipv4(struct crafter *c)
{
    static const uint8_t ttls[] = {1, 2, 63, 64, 128, 255};
    uint8_t *ip = ef_build_ipv4(&c->b, draw_ipv4(c), draw_ipv4(c));
    ip[1] = (uint8_t) (draw(c, 4) * 0x48 + draw(c, 4));
    ef_store_be16(ip + 4, (uint16_t) (draw(c, 5) * 0x3333));
    ip[8] = ttls[draw(c, EF_ARRAY_SIZE(ttls))];
    uint32_t fragment = c->nesting ? 9 : draw(c, 20);
    ef_store_be16(ip + 6, fragment == 0   ? EF_IPV4_MF
                          : fragment == 1 ? (uint16_t) (EF_IPV4_MF | 1)
                          : fragment == 2 ? 185
                          : fragment < 6  ? 0
                                          : EF_IPV4_DF);
    if (one_in(c, 10)) {
        ef_build_options(&c->b, "\x94\x04\x00\x00", 4); /* Router alert. */
    }
    if (fragment == 1 || fragment == 2) {
        craft_later_fragment(c, ip);
        return;
    }
    c->fragment = fragment == 0;
    craft_transport(c, false);
}

static void
craft_ipv6(struct crafter *c)
{
    uint8_t *ip = ef_build_ipv6(&c->b, draw_ipv6(c), draw_ipv6(c));
    ef_store_be32(ip, 6u << 28 | (draw(c, 4) * 0x48 + draw(c, 4)) << 20 | (uint32_t[]){0, 1, 0xfffff}[draw(c, 3)]);
    ip[7] = (uint8_t[]){1, 63, 64, 255}[draw(c, 4)];
    if (one_in(c, 6)) {
        ef_build_ipv6_extension(&c->b, one_in(c, 2) ? EF_IPPROTO_HOPOPTS : EF_IPPROTO_DSTOPTS, 8);
    }
    c->fragment = false;
    if (!c->nesting && one_in(c, 12)) {
        bool later = one_in(c, 2);
        uint8_t *header = ef_build_ipv6_fragment(&c->b, 77, later ? 1232 : 0, !later);
        if (later) {
            header[0] = EF_IPPROTO_UDP;
            ef_build_payload(&c->b, NULL, 24);
            return;
        }
        c->fragment = true;
    }
    craft_transport(c, true);
}

static void
craft_ip(struct crafter *c)
{
    (one_in(c, 3) ? craft_ipv6 : craft_ipv4)(c);
}

/* An IEEE 802.3 frame: a length in place of the EtherType, then LLC. */
static void
craft_llc(struct crafter *c, uint8_t *eth)
{
    ef_store_be16(eth + 12, 46);
    ef_build_payload(&c->b, "\xaa\xaa\x03\x00\x00\x00\x99\x98", 8);
    ef_build_payload(&c->b, NULL, 38);
}

static void
craft_tag(struct crafter *c, uint16_t tpid)
{
    static const uint16_t ids[] = {0, 1, 100, 4095};
    uint16_t priority = (uint16_t) (draw(c, 8) << 13), dei = (uint16_t) (draw(c, 2) << 12);
    ef_build_vlan(&c->b, tpid, (uint16_t) (priority | dei | ids[draw(c, EF_ARRAY_SIZE(ids))]));
}

static void
craft_frame(struct crafter *c)
{
    uint8_t *eth = ef_build_eth(&c->b);
    eth[5] = (uint8_t) draw(c, 4);
    eth[11] = (uint8_t) draw(c, 4);
    uint32_t kind = draw(c, 30), shape = draw(c, 10);
    if (shape == 0) {
        craft_tag(c, EF_ETHERTYPE_QINQ);
    } else if (shape == 1) {
        craft_tag(c, EF_ETHERTYPE_VLAN);
    }
    if (shape < 3) {
        craft_tag(c, EF_ETHERTYPE_VLAN);
    }
    if (kind == 0) {
        ef_build_arp(&c->b, (uint16_t) (1 + draw(c, 2)), draw_ipv4(c), draw_ipv4(c));
    } else if (kind == 1 && !c->nesting) {
        ef_build_mac_control(&c->b, one_in(c, 2) ? EF_MAC_CONTROL_PFC : EF_MAC_CONTROL_PAUSE, 8);
        ef_build_payload(&c->b, NULL, 26);
    } else if (kind == 2 && !c->nesting && shape >= 3) {
        craft_llc(c, eth);
    } else {
        craft_ip(c);
    }
}

int
craft_packet(struct crafter *c)
{
    struct ef_packet packet;
    int len;
    do {
        c->nesting = 0;
        c->fragment = false;
        ef_build_start(&c->b, c->frame, sizeof c->frame);
        craft_frame(c);
        len = ef_build_finish(&c->b);
    } while (len == -ENOSPC || (len > 0 && ef_packet_parse(&packet, c->frame, (uint32_t) len, (uint32_t) len)));
    return len;
}
