/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of packets in one line. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/util.h"
#include "unit/packet/samples.h"

static const struct {
    const char *sample, *text;
} cases[] = {
    {"tcp4", "10.1.0.2:43122 > 10.4.0.3:80 TCP [S] seq 1 len 40"},
    {"bgp", "10.1.0.2:43122 > 10.4.0.3:179 TCP [P.] seq 1 ack 1 len 59"},
    {"udp4", "10.1.0.2:5000 > 10.4.0.3:5001 UDP len 33"},
    {"tcp6", "[2001:db8::1]:1 > [2001:db8::2]:2 TCP [.] seq 1 ack 1 len 60"},
    {"vlan", "VLAN(7) VLAN(8) VLAN(9) 10.1.0.2:43122 > 10.4.0.3:80 TCP [S] seq 1 len 40"},
    {"vxlan", "VXLAN(vni 7) 10.1.0.2:43122 > 10.4.0.3:80 TCP [S] seq 1 len 40"},
    {"geneve", "Geneve(vni 7) 10.1.0.2:5000 > 10.4.0.3:5001 UDP len 33"},
    {"gre", "GRE(key 5) 10.1.0.2:43122 > 10.4.0.3:80 TCP [S] seq 1 len 40"},
    {"gre_ipv6", "GRE [2001:db8::1]:1 > [2001:db8::2]:2 TCP [.] seq 1 ack 1 len 60"},
    {"erspan2", "GRE ERSPAN(session 3) 10.1.0.2:43122 > 10.4.0.3:80 TCP [S] seq 1 len 40"},
    {"ip_in_ip", "IP-in-IP 10.1.0.2:43122 > 10.4.0.3:80 TCP [S] seq 1 len 40"},
    {"echo", "10.1.0.2 > 10.4.0.3 ICMP echo request id 7 seq 3 len 28"},
    {"icmp_error_28", "10.9.0.1 > 10.1.0.2 ICMP time exceeded code 0 (10.1.0.2:43122 > 10.4.0.3:80 TCP) len 56"},
    {"icmpv6_error",
     "2001:db8::9 > 2001:db8::1 ICMPv6 time exceeded code 0 ([2001:db8::1]:1 > [2001:db8::2]:2 TCP) len 108"},
    {"later_fragment", "10.1.0.2 > 10.4.0.3 protocol 17 fragment at 1480 len 28"},
    {"ipv6_later_fragment", "2001:db8::1 > 2001:db8::2 protocol 17 fragment at 1448 len 112"},
    {"roce", "10.1.0.2:50000 > 10.4.0.3:4791 UDP RoCE opcode 17 qp 0x1234 psn 99 len 48"},
    {"arp", "02:00:00:00:00:01 > 02:00:00:00:00:02 ARP request 10.0.0.1 > 10.0.0.2 len 42"},
    {"pfc", "02:00:00:00:00:01 > 01:80:c2:00:00:01 PFC classes 0x08 len 60"},
    {"pause", "02:00:00:00:00:01 > 01:80:c2:00:00:01 pause len 60"},
    {"other_ethertype", "02:00:00:00:00:01 > 02:00:00:00:00:02 EtherType 0x88b5 len 60"},
    {"esp", "10.1.0.2 > 10.4.0.3 protocol 50 len 60"},
};

static void
a_packet_fits_a_line(void **state)
{
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        uint8_t data[SAMPLE_MAX];
        char text[256], small[16];
        struct ef_packet p;
        int len = sample_build(cases[i].sample, data, sizeof data);
        ef_packet_parse(&p, data, (uint32_t) len, (uint32_t) len);
        assert_string_equal(ef_packet_summary(&p, text, sizeof text), cases[i].text);
        ef_packet_summary(&p, small, sizeof small);
        assert_int_equal(strlen(small), sizeof small - 1);
        assert_memory_equal(small, text, sizeof small - 1);
    }
}

static void
nothing_is_a_packet_too(void **state)
{
    struct ef_packet p;
    char text[64];
    ef_packet_parse(&p, (const uint8_t *) "", 0, 0);
    assert_string_equal(ef_packet_summary(&p, text, sizeof text), "0 bytes that are no Ethernet frame");
    text[0] = 'x';
    ef_packet_summary(&p, text, 0);
    assert_int_equal(text[0], 'x');
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_packet_fits_a_line),
        cmocka_unit_test(nothing_is_a_packet_too),
    };
    return cmocka_run_group_tests_name("summary", tests, NULL, NULL);
}
