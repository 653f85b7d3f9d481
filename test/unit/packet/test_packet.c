/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the packet parser: what it finds in well-made packets, and why it
 * stops in others. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "packet/build.h"
#include "packet/headers.h"
#include "packet/packet.h"
#include "packet/packet_internal.h"

#define QUOTED EF_LAYER_QUOTED
#define CUT EF_LAYER_CUT
#define LATER EF_LAYER_LATER_FRAGMENT

/* --- Packets of the table ----------------------------------------------------- */

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
    ef_build_udp(b, 5000, 53);
    ef_build_payload(b, "hello", 5);
}

static void
padded(struct ef_build *b)
{
    eth_tcp4(b);
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
    ef_build_ipv6_extension(b, EF_IPPROTO_ROUTING, 24);
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
    assert_true(ef_build_finish(&quoted) >= (int) len);
    ef_build_payload(b, buf, len);
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
    ef_build_eth(b);
    ef_build_mac_control(b, EF_MAC_CONTROL_PFC, 0x08);
    ef_build_payload(b, NULL, 26);
}

static void
lldp(struct ef_build *b)
{
    ef_store_be16(ef_build_eth(b) + 12, 0x88cc);
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

static const struct {
    const char *name;
    void (*make)(struct ef_build *);
    enum ef_parse_status status;
    int outer_ip, inner_ip, inner_l4; /* -1: none */
    struct ef_layer layers[EF_MAX_LAYERS + 1];
} cases[] = {
#define L(PROTO, OFFSET, LEN, FLAGS)                                                   \
    {                                                                                  \
        .proto = EF_PROTO_##PROTO, .flags = FLAGS, .offset = OFFSET, .header_len = LEN \
    }
    {"tcp4", eth_tcp4, EF_PARSE_OK, 1, 1, 2, {L(ETH, 0, 14, 0), L(IPV4, 14, 20, 0), L(TCP, 34, 20, 0)}},
    {"udp4", eth_udp4, EF_PARSE_OK, 1, 1, 2, {L(ETH, 0, 14, 0), L(IPV4, 14, 20, 0), L(UDP, 34, 8, 0)}},
    {"padded", padded, EF_PARSE_OK, 1, 1, 2, {L(ETH, 0, 14, 0), L(IPV4, 14, 20, 0), L(TCP, 34, 20, 0)}},
    {"vlan",
     vlan_qinq,
     EF_PARSE_OK,
     4,
     4,
     5,
     {L(ETH, 0, 14, 0), L(VLAN, 14, 4, 0), L(VLAN, 18, 4, 0), L(VLAN, 22, 4, 0), L(IPV4, 26, 20, 0),
      L(TCP, 46, 20, 0)}},
    {"arp", arp, EF_PARSE_OK, -1, -1, -1, {L(ETH, 0, 14, 0), L(ARP, 14, 28, 0)}},
    {"options", ip_and_tcp_options, EF_PARSE_OK, 1, 1, 2, {L(ETH, 0, 14, 0), L(IPV4, 14, 24, 0), L(TCP, 38, 28, 0)}},
    {"tcp6", eth_tcp6, EF_PARSE_OK, 1, 1, 2, {L(ETH, 0, 14, 0), L(IPV6, 14, 40, 0), L(TCP, 54, 20, 0)}},
    {"ipv6 extensions",
     ipv6_extensions,
     EF_PARSE_OK,
     1,
     1,
     2,
     {L(ETH, 0, 14, 0), L(IPV6, 14, 112, 0), L(UDP, 126, 8, 0)}},
    {"ipv6 later fragment", ipv6_later_fragment, EF_PARSE_OK, 1, 1, -1, {L(ETH, 0, 14, 0), L(IPV6, 14, 48, LATER)}},
    {"ipv6 too many extensions",
     ipv6_too_many_extensions,
     EF_PARSE_TOO_DEEP,
     1,
     1,
     -1,
     {L(ETH, 0, 14, 0), L(IPV6, 14, 168, 0)}},
    {"first fragment",
     ipv4_first_fragment,
     EF_PARSE_OK,
     1,
     1,
     2,
     {L(ETH, 0, 14, 0), L(IPV4, 14, 20, 0), L(UDP, 34, 8, 0)}},
    {"later fragment", ipv4_later_fragment, EF_PARSE_OK, 1, 1, -1, {L(ETH, 0, 14, 0), L(IPV4, 14, 20, LATER)}},
    {"icmp error, 8 bytes of tcp",
     icmp_error_28,
     EF_PARSE_OK,
     1,
     1,
     2,
     {L(ETH, 0, 14, 0), L(IPV4, 14, 20, 0), L(ICMP, 34, 8, 0), L(IPV4, 42, 20, QUOTED), L(TCP, 62, 8, QUOTED | CUT)}},
    {"icmp error, all of tcp",
     icmp_error_whole,
     EF_PARSE_OK,
     1,
     1,
     2,
     {L(ETH, 0, 14, 0), L(IPV4, 14, 20, 0), L(ICMP, 34, 8, 0), L(IPV4, 42, 20, QUOTED), L(TCP, 62, 20, QUOTED)}},
    {"icmpv6 error",
     icmpv6_error,
     EF_PARSE_OK,
     1,
     1,
     2,
     {L(ETH, 0, 14, 0), L(IPV6, 14, 40, 0), L(ICMPV6, 54, 8, 0), L(IPV6, 62, 40, QUOTED), L(TCP, 102, 20, QUOTED)}},
    {"echo", echo, EF_PARSE_OK, 1, 1, 2, {L(ETH, 0, 14, 0), L(IPV4, 14, 20, 0), L(ICMP, 34, 8, 0)}},
    {"gre",
     gre_teb,
     EF_PARSE_OK,
     1,
     4,
     5,
     {L(ETH, 0, 14, 0), L(IPV4, 14, 20, 0), L(GRE, 34, 16, 0), L(ETH, 50, 14, 0), L(IPV4, 64, 20, 0),
      L(TCP, 84, 20, 0)}},
    {"gre ipv6",
     gre_ipv6,
     EF_PARSE_OK,
     1,
     3,
     4,
     {L(ETH, 0, 14, 0), L(IPV4, 14, 20, 0), L(GRE, 34, 4, 0), L(IPV6, 38, 40, 0), L(TCP, 78, 20, 0)}},
    {"erspan 1",
     erspan1,
     EF_PARSE_OK,
     1,
     4,
     5,
     {L(ETH, 0, 14, 0), L(IPV4, 14, 20, 0), L(GRE, 34, 4, 0), L(ETH, 38, 14, 0), L(IPV4, 52, 20, 0),
      L(TCP, 72, 20, 0)}},
    {"erspan 2",
     erspan2,
     EF_PARSE_OK,
     1,
     5,
     6,
     {L(ETH, 0, 14, 0), L(IPV4, 14, 20, 0), L(GRE, 34, 8, 0), L(ERSPAN, 42, 8, 0), L(ETH, 50, 14, 0),
      L(IPV4, 64, 20, 0), L(TCP, 84, 20, 0)}},
    {"erspan 3",
     erspan3,
     EF_PARSE_OK,
     1,
     5,
     6,
     {L(ETH, 0, 14, 0), L(IPV4, 14, 20, 0), L(GRE, 34, 8, 0), L(ERSPAN, 42, 20, 0), L(ETH, 62, 14, 0),
      L(IPV4, 76, 20, 0), L(TCP, 96, 20, 0)}},
    {"vxlan",
     vxlan,
     EF_PARSE_OK,
     1,
     5,
     6,
     {L(ETH, 0, 14, 0), L(IPV4, 14, 20, 0), L(UDP, 34, 8, 0), L(VXLAN, 42, 8, 0), L(ETH, 50, 14, 0), L(IPV4, 64, 20, 0),
      L(TCP, 84, 20, 0)}},
    {"geneve",
     geneve,
     EF_PARSE_OK,
     1,
     5,
     6,
     {L(ETH, 0, 14, 0), L(IPV6, 14, 40, 0), L(UDP, 54, 8, 0), L(GENEVE, 62, 16, 0), L(ETH, 78, 14, 0),
      L(IPV4, 92, 20, 0), L(UDP, 112, 8, 0)}},
    {"ip in ip",
     ip_in_ip,
     EF_PARSE_OK,
     1,
     2,
     3,
     {L(ETH, 0, 14, 0), L(IPV4, 14, 20, 0), L(IPV4, 34, 20, 0), L(TCP, 54, 20, 0)}},
    {"6in4in6",
     six_in_four_in_six,
     EF_PARSE_OK,
     1,
     3,
     4,
     {L(ETH, 0, 14, 0), L(IPV6, 14, 40, 0), L(IPV4, 54, 20, 0), L(IPV6, 74, 40, 0), L(TCP, 114, 20, 0)}},
    {"roce", roce, EF_PARSE_OK, 1, 1, 2, {L(ETH, 0, 14, 0), L(IPV4, 14, 20, 0), L(UDP, 34, 8, 0), L(BTH, 42, 12, 0)}},
    {"pfc", pfc, EF_PARSE_OK, -1, -1, -1, {L(ETH, 0, 14, 0), L(MAC_CONTROL, 14, 20, 0)}},
    {"lldp", lldp, EF_PARSE_OK, -1, -1, -1, {L(ETH, 0, 14, 0)}},
    {"esp", esp, EF_PARSE_OK, 1, 1, -1, {L(ETH, 0, 14, 0), L(IPV4, 14, 20, 0)}},
#undef L
};

/* Builds the packet into a block of exactly its size, which the caller frees. */
static uint8_t *
make_exact(void (*make)(struct ef_build *), uint32_t *len)
{
    uint8_t buf[2048];
    struct ef_build b;
    ef_build_start(&b, buf, sizeof buf);
    make(&b);
    int n = ef_build_finish(&b);
    assert_true(n > 0);
    uint8_t *exact = malloc((size_t) n);
    memcpy(exact, buf, (size_t) n);
    *len = (uint32_t) n;
    return exact;
}

static void
each_protocol_is_found(void **state)
{
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        uint32_t len;
        uint8_t *data = make_exact(cases[i].make, &len);
        struct ef_packet p;
        print_message("# %s\n", cases[i].name);
        assert_int_equal(ef_packet_parse(&p, data, len, len), cases[i].status);
        assert_int_equal(p.outer_ip, cases[i].outer_ip & 0xff);
        assert_int_equal(p.inner_ip, cases[i].inner_ip & 0xff);
        assert_int_equal(p.inner_l4, cases[i].inner_l4 & 0xff);
        uint32_t protos = 0;
        size_t n = 0;
        for (; cases[i].layers[n].header_len; n++) {
            const struct ef_layer *want = &cases[i].layers[n];
            assert_true(n < p.n_layers);
            assert_int_equal(p.layers[n].proto, want->proto);
            assert_int_equal(p.layers[n].flags, want->flags);
            assert_int_equal(p.layers[n].offset, want->offset);
            assert_int_equal(p.layers[n].header_len, want->header_len);
            protos |= 1u << want->proto;
        }
        assert_int_equal(p.n_layers, n);
        assert_int_equal(p.protos, protos);
        free(data);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_protocol_is_found),
    };
    (void) too_deep;
    return cmocka_run_group_tests_name("packet", tests, NULL, NULL);
}
