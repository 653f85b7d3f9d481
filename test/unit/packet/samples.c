/* SPDX-License-Identifier: Apache-2.0 */
/* The packets that the tests, the fuzz corpus and make_copies share. */
#include <config.h>

#include "unit/packet/samples.h"

#include <string.h>

#include "base/util.h"
#include "packet/headers.h"

static void
tcp4(struct ef_build *b)
{
    ef_build_ipv4(b, "10.1.0.2", "10.4.0.3");
    ef_build_tcp(b, 43122, 80, EF_TCP_SYN);
}

static void
eth_tcp4(struct ef_build *b)
{
    ef_build_eth(b);
    tcp4(b);
}

static void
eth_udp4(struct ef_build *b)
{
    ef_build_eth(b);
    ef_build_ipv4(b, "10.1.0.2", "10.4.0.3");
    ef_build_udp(b, 5000, 5001);
    ef_build_payload(b, "hello", 5);
}

static void
vlan_qinq(struct ef_build *b)
{
    ef_build_eth(b);
    ef_build_vlan(b, 0x88a8, 7);
    ef_build_vlan(b, 0x9100, 8);
    ef_build_vlan(b, 0x8100, 9);
    tcp4(b);
}

static void
arp(struct ef_build *b)
{
    ef_build_eth(b);
    ef_build_arp(b, 1, "10.0.0.1", "10.0.0.2");
}

static void
ip_and_tcp_options(struct ef_build *b)
{
    ef_build_eth(b);
    ef_build_ipv4(b, "10.1.0.2", "10.4.0.3");
    ef_build_options(b, "\x94\x04\x00\x00", 4);
    ef_build_tcp(b, 43122, 80, EF_TCP_SYN);
    ef_build_options(b, "\x02\x04\x05\xb4\x01\x03\x03\x07", 8);
}

static void
tcp6(struct ef_build *b)
{
    ef_build_ipv6(b, "2001:db8::1", "2001:db8::2");
    ef_build_tcp(b, 1, 2, EF_TCP_ACK);
}

static void
eth_tcp6(struct ef_build *b)
{
    ef_build_eth(b);
    tcp6(b);
}

static void
ipv6_extensions(struct ef_build *b)
{
    ef_build_eth(b);
    ef_build_ipv6(b, "2001:db8::1", "2001:db8::2");
    ef_build_ipv6_extension(b, EF_IPPROTO_HOPOPTS, 8);
    ef_build_ipv6_extension(b, EF_IPPROTO_ROUTING, 24)[2] = 4; /* Segment routing, RFC 8754. */
    ef_build_ipv6_fragment(b, 77, 0, false);
    ef_build_ipv6_extension(b, EF_IPPROTO_AH, 16);
    ef_build_ipv6_extension(b, EF_IPPROTO_DSTOPTS, 16);
    ef_build_udp(b, 1, 2);
}

static void
ipv6_later_fragment(struct ef_build *b)
{
    ef_build_eth(b);
    ef_build_ipv6(b, "2001:db8::1", "2001:db8::2");
    ef_build_ipv6_fragment(b, 77, 1448, true)[0] = EF_IPPROTO_UDP;
    ef_build_payload(b, NULL, 64);
}

static void
ipv6_too_many_extensions(struct ef_build *b)
{
    ef_build_eth(b);
    ef_build_ipv6(b, "2001:db8::1", "2001:db8::2");
    for (int i = 0; i < 17; i++) {
        ef_build_ipv6_extension(b, EF_IPPROTO_DSTOPTS, 8);
    }
    ef_build_udp(b, 1, 2);
}

static void
ipv4_first_fragment(struct ef_build *b)
{
    ef_build_eth(b);
    ef_store_be16(ef_build_ipv4(b, "10.1.0.2", "10.4.0.3") + 6, EF_IPV4_MF);
    ef_build_udp(b, 1, 2);
    ef_build_payload(b, NULL, 16);
}

static void
ipv4_later_fragment(struct ef_build *b)
{
    ef_build_eth(b);
    ef_store_be16(ef_build_ipv4(b, "10.1.0.2", "10.4.0.3") + 6, EF_IPV4_MF | 185);
    ef_build_udp(b, 1, 2);
}

/* Appends as payload an IP packet of which `len` bytes are quoted. */
static void
quote(struct ef_build *b, void (*make)(struct ef_build *), uint32_t len)
{
    uint8_t buf[256];
    struct ef_build quoted;
    ef_build_start(&quoted, buf, sizeof buf);
    make(&quoted);
    int made = ef_build_finish(&quoted);
    ef_build_payload(b, buf, made < (int) len ? 0 : len);
}

static void
icmp_error_28(struct ef_build *b)
{
    ef_build_eth(b);
    ef_build_ipv4(b, "10.9.0.1", "10.1.0.2");
    ef_build_icmp(b, 11, 0, 0);
    quote(b, tcp4, 28);
}

static void
icmp_error_whole(struct ef_build *b)
{
    ef_build_eth(b);
    ef_build_ipv4(b, "10.9.0.1", "10.1.0.2");
    ef_build_icmp(b, 3, 3, 0);
    quote(b, tcp4, 40);
}

static void
icmpv6_error(struct ef_build *b)
{
    ef_build_eth(b);
    ef_build_ipv6(b, "2001:db8::9", "2001:db8::1");
    ef_build_icmpv6(b, 3, 0, 0);
    quote(b, tcp6, 60);
}

static void
echo(struct ef_build *b)
{
    ef_build_eth(b);
    ef_build_ipv4(b, "10.1.0.2", "10.4.0.3");
    ef_build_icmp(b, 8, 0, 7u << 16 | 3);
}

static void
gre_teb(struct ef_build *b)
{
    ef_build_eth(b);
    ef_build_ipv4(b, "10.255.0.1", "10.255.0.2");
    ef_build_gre(b, EF_GRE_C | EF_GRE_K | EF_GRE_S, 5, 6);
    eth_tcp4(b);
}

static void
gre_ipv6(struct ef_build *b)
{
    ef_build_eth(b);
    ef_build_ipv4(b, "10.255.0.1", "10.255.0.2");
    ef_build_gre(b, 0, 0, 0);
    tcp6(b);
}

static void
erspan1(struct ef_build *b)
{
    ef_build_eth(b);
    ef_build_ipv4(b, "10.255.0.1", "10.255.0.2");
    ef_store_be16(ef_build_gre(b, 0, 0, 0) + 2, EF_ETHERTYPE_ERSPAN);
    eth_tcp4(b);
}

static void
erspan2(struct ef_build *b)
{
    ef_build_eth(b);
    ef_build_ipv4(b, "10.255.0.1", "10.255.0.2");
    ef_build_gre(b, EF_GRE_S, 0, 1);
    ef_build_erspan2(b, 3, 4);
    eth_tcp4(b);
}

static void
erspan3(struct ef_build *b)
{
    ef_build_eth(b);
    ef_build_ipv4(b, "10.255.0.1", "10.255.0.2");
    ef_build_gre(b, EF_GRE_S, 0, 1);
    ef_build_erspan3(b, 3, 4, 5, 6);
    eth_tcp4(b);
}

static void
vxlan(struct ef_build *b)
{
    ef_build_eth(b);
    ef_build_ipv4(b, "10.255.0.1", "10.255.0.2");
    ef_build_udp(b, 50000, EF_PORT_VXLAN);
    ef_build_vxlan(b, 7);
    eth_tcp4(b);
}

static void
geneve(struct ef_build *b)
{
    ef_build_eth(b);
    ef_build_ipv6(b, "2001:db8::1", "2001:db8::2");
    ef_build_udp(b, 50000, EF_PORT_GENEVE);
    ef_build_geneve(b, 7);
    ef_build_options(b, "\x01\x02\x03\x01\xaa\xbb\xcc\xdd", 8);
    eth_udp4(b);
}

static void
ip_in_ip(struct ef_build *b)
{
    ef_build_eth(b);
    ef_build_ipv4(b, "10.255.0.1", "10.255.0.2");
    tcp4(b);
}

static void
six_in_four_in_six(struct ef_build *b)
{
    ef_build_eth(b);
    ef_build_ipv6(b, "2001:db8::1", "2001:db8::2");
    ef_build_ipv4(b, "10.255.0.1", "10.255.0.2");
    tcp6(b);
}

static void
roce(struct ef_build *b)
{
    ef_build_eth(b);
    ef_build_ipv4(b, "10.1.0.2", "10.4.0.3");
    ef_build_udp(b, 50000, EF_PORT_ROCE);
    ef_build_bth(b, 17, 0x1234, 99);
    ef_build_payload(b, NULL, 8);
}

static void
pfc(struct ef_build *b)
{
    memcpy(ef_build_eth(b), "\x01\x80\xc2\x00\x00\x01", 6);
    ef_build_mac_control(b, EF_MAC_CONTROL_PFC, 0x08);
    ef_build_payload(b, NULL, 26);
}

static void
other_ethertype(struct ef_build *b)
{
    ef_store_be16(ef_build_eth(b) + 12, 0x88b5); /* For local experiments (IEEE 802). */
    ef_build_payload(b, NULL, 46);
}

static void
esp(struct ef_build *b)
{
    ef_build_eth(b);
    ef_build_ipv4(b, "10.1.0.2", "10.4.0.3")[9] = EF_IPPROTO_ESP;
    ef_build_payload(b, NULL, 40);
}

static void
too_deep(struct ef_build *b)
{
    ef_build_eth(b);
    for (int i = 0; i < 16; i++) {
        ef_build_ipv4(b, "10.1.0.2", "10.4.0.3");
    }
}

static void
udp6(struct ef_build *b)
{
    ef_build_eth(b);
    ef_build_ipv6(b, "2001:db8::1", "2001:db8::2");
    ef_build_udp(b, 5000, 5001);
    ef_build_payload(b, "hello", 5);
}

static void
bgp(struct ef_build *b)
{
    static const uint8_t keepalive[19] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                          0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0,    19,   4};
    ef_build_eth(b);
    ef_build_ipv4(b, "10.1.0.2", "10.4.0.3");
    ef_build_tcp(b, 43122, 179, EF_TCP_PSH | EF_TCP_ACK);
    ef_build_payload(b, keepalive, sizeof keepalive);
}

static void
pause(struct ef_build *b)
{
    memcpy(ef_build_eth(b), "\x01\x80\xc2\x00\x00\x01", 6);
    ef_build_mac_control(b, EF_MAC_CONTROL_PAUSE, 0);
    ef_build_payload(b, NULL, 42);
}

static void
vxlan6_vlan(struct ef_build *b)
{
    ef_build_eth(b);
    ef_build_vlan(b, 0x8100, 7);
    ef_build_ipv6(b, "2001:db8::1", "2001:db8::2");
    ef_build_udp(b, 50000, EF_PORT_VXLAN);
    ef_build_vxlan(b, 7);
    vlan_qinq(b);
}

const struct sample samples[] = {
    {"tcp4", eth_tcp4},
    {"udp4", eth_udp4},
    {"vlan", vlan_qinq},
    {"arp", arp},
    {"options", ip_and_tcp_options},
    {"tcp6", eth_tcp6},
    {"udp6", udp6},
    {"ipv6_extensions", ipv6_extensions},
    {"ipv6_later_fragment", ipv6_later_fragment},
    {"ipv6_too_many_extensions", ipv6_too_many_extensions},
    {"first_fragment", ipv4_first_fragment},
    {"later_fragment", ipv4_later_fragment},
    {"icmp_error_28", icmp_error_28},
    {"icmp_error_whole", icmp_error_whole},
    {"icmpv6_error", icmpv6_error},
    {"echo", echo},
    {"gre", gre_teb},
    {"gre_ipv6", gre_ipv6},
    {"erspan1", erspan1},
    {"erspan2", erspan2},
    {"erspan3", erspan3},
    {"vxlan", vxlan},
    {"vxlan6_vlan", vxlan6_vlan},
    {"geneve", geneve},
    {"ip_in_ip", ip_in_ip},
    {"six_in_four_in_six", six_in_four_in_six},
    {"roce", roce},
    {"bgp", bgp},
    {"pfc", pfc},
    {"pause", pause},
    {"other_ethertype", other_ethertype},
    {"esp", esp},
    {"too_deep", too_deep},
};

const size_t n_samples = EF_ARRAY_SIZE(samples);

int
sample_build(const char *name, uint8_t *buf, uint32_t size)
{
    for (size_t i = 0; i < n_samples; i++) {
        if (!strcmp(samples[i].name, name)) {
            struct ef_build b;
            ef_build_start(&b, buf, size);
            samples[i].make(&b);
            return ef_build_finish(&b);
        }
    }
    return -1;
}
