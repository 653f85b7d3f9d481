/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of lib/packet/integrity: what is verified, what is only compared, and that
 * what switches may rewrite makes no difference. */
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
#include "packet/integrity.h"

enum { SIZE = 1700 };

struct frame {
    uint8_t bytes[SIZE];
    uint32_t len; /* Captured, */
    uint32_t wire_len;
    uint16_t ip, l4; /* Where the innermost packet's headers begin. */
};

/* Layers by letters: e Ethernet, v VLAN, 4 and 6 IP, o IPv4 options, x IPv6 extension, t TCP, u UDP, i ICMP, l ICMPv6,
 * b RoCEv2, V VXLAN, p payload of 101 bytes, P of 1,400. */
static void
build(struct frame *f, const char *layers)
{
    struct ef_build b;
    uint8_t payload[1400];
    for (size_t i = 0; i < sizeof payload; i++) {
        payload[i] = (uint8_t) (i * 7 + 1);
    }
    ef_build_start(&b, f->bytes, SIZE);
    for (const char *c = layers; *c; c++) {
        uint16_t at = (uint16_t) b.len;
        f->ip = *c == '4' || *c == '6' ? at : f->ip;
        f->l4 = strchr("tuil", *c) ? at : f->l4;
        switch (*c) {
        case 'e':
            ef_build_eth(&b);
            break;
        case 'v':
            ef_build_vlan(&b, 0x8100, 7);
            break;
        case '4':
            ef_build_ipv4(&b, "10.1.0.11", "10.4.0.12");
            break;
        case '6':
            ef_build_ipv6(&b, "fd00:1::11", "fd00:4::12");
            break;
        case 'o':
            ef_build_options(&b, "\x83\x07\x04\x0a\x09\x00\x01\x00", 8); /* A route. */
            break;
        case 'x':
            ef_build_ipv6_extension(&b, EF_IPPROTO_DSTOPTS, 8);
            break;
        case 't':
            ef_build_tcp(&b, 40000, 80, EF_TCP_SYN);
            break;
        case 'u':
            ef_build_udp(&b, 40000, c[1] == 'b' ? EF_PORT_ROCE : c[1] == 'V' ? EF_PORT_VXLAN : 5001);
            break;
        case 'i':
            ef_build_icmp(&b, 8, 0, 1);
            break;
        case 'l':
            ef_build_icmpv6(&b, 128, 0, 1);
            break;
        case 'b':
            ef_build_bth(&b, 4, 77, 99);
            break;
        case 'V':
            ef_build_vxlan(&b, 5);
            break;
        default:
            ef_build_payload(&b, payload, *c == 'P' ? 1400 : 101);
        }
    }
    int len = ef_build_finish(&b);
    assert_true(len > 0);
    f->len = f->wire_len = (uint32_t) len;
}

/* In memory of just that size, so that a sanitizer sees what is read beyond. */
static struct ef_integrity
integrity_of(const struct frame *f)
{
    struct ef_packet p;
    struct ef_integrity integrity;
    uint8_t *bytes = malloc(f->len);
    assert_non_null(bytes);
    memcpy(bytes, f->bytes, f->len);
    ef_packet_parse(&p, bytes, f->len, f->wire_len);
    ef_integrity_of(&p, &integrity);
    free(bytes);
    return integrity;
}

static bool
is_changed(const struct frame *before, const struct frame *after)
{
    struct ef_integrity a = integrity_of(before), b = integrity_of(after);
    return ef_integrity_changed(&a, &b);
}

static void
right_checksums_are_right(void **state)
{
    static const char *const packets[] = {"e4t", "e4tp", "e4tP", "ev4tp",  "e4u",  "e4up",     "e4uP",     "e4ip",
                                          "e6t", "e6tp", "e6up", "evv6up", "e6lp", "e4uVe4tp", "e4uVe6up", "e64tp"};
    for (size_t i = 0; i < EF_ARRAY_SIZE(packets); i++) {
        struct frame f;
        build(&f, packets[i]);
        struct ef_integrity integrity = integrity_of(&f);
        assert_int_equal(integrity.payload, EF_PAYLOAD_RIGHT);
        assert_false(integrity.ip_is_wrong);
    }
}

/* Each bit of the payload makes a difference, and so does each of the IPv4 header. */
static void
every_bit_counts(void **state)
{
    static const char *const packets[] = {"e4tp", "e4up", "e4ip", "e6tp", "e6up", "e6lp", "ev4tp"};
    struct frame f, wrong;
    for (size_t i = 0; i < EF_ARRAY_SIZE(packets); i++) {
        build(&f, packets[i]);
        for (uint32_t at = f.ip + (f.bytes[f.ip] >> 4 == 4 ? 12u : 8u); at < f.len; at++) { /* From the addresses on. */
            wrong = f;
            wrong.bytes[at] ^= (uint8_t) (1 << at % 8);
            bool is_checksum_of_udp = packets[i][2] == 'u' && (at - f.l4 == 6 || at - f.l4 == 7);
            bool is_other_length = packets[i][2] == 'u' && (at - f.l4 == 4 || at - f.l4 == 5);
            bool is_other_type = packets[i][1] == '4' && at < f.l4;
            if (is_other_length || is_other_type) {
                continue; /* What the checksum is then of is another question. */
            }
            assert_true(is_changed(&f, &wrong) || is_checksum_of_udp);
            assert_false(is_changed(&wrong, &f));
        }
    }
    build(&f, "e4tp");
    for (uint32_t bit = 0; bit < 160; bit++) {
        wrong = f;
        wrong.bytes[f.ip + bit / 8] ^= (uint8_t) (1 << bit % 8);
        bool is_no_ip = bit < 8 || bit == 31; /* Another version; shorter than its header. */
        assert_true(is_no_ip || integrity_of(&wrong).ip_is_wrong);
    }
}

/* Of what cannot be verified, two copies are compared. */
static void
the_unverifiable_is_compared(void **state)
{
    static const struct {
        const char *layers;
        int field, value; /* A byte from the L4 header on that makes it unverifiable; -1: it is. */
        uint32_t cut;
    } cases[] = {
        {"e4tp", 16, 0x55, 0}, /* A wrong checksum, as probes and unfilled ones are: known as such. */
        {"e4tP", -1, 0, 300},  {"e6tP", -1, 0, 90}, {"e4otp", -1, 0, 0}, {"e6xtp", -1, 0, 0},
        {"e4ubp", -1, 0, 0},   {"e4uP", -1, 0, 64}, {"e4ip", -1, 0, 60},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        struct frame f, wrong;
        build(&f, cases[i].layers);
        if (cases[i].field >= 0) {
            f.bytes[f.l4 + cases[i].field] ^= (uint8_t) cases[i].value;
        }
        f.len = cases[i].cut ? cases[i].cut : f.len;
        assert_int_equal(integrity_of(&f).payload, cases[i].field < 0 ? EF_PAYLOAD_UNPROTECTED : EF_PAYLOAD_WRONG);
        assert_false(is_changed(&f, &f));
        wrong = f;
        wrong.bytes[f.len - 1] ^= 0x55;
        assert_true(is_changed(&f, &wrong));
        assert_true(is_changed(&wrong, &f));
        wrong = f;
        wrong.len--; /* Cut elsewhere: not to be compared. */
        wrong.bytes[f.len - 3] ^= 0x55;
        assert_false(is_changed(&f, &wrong));
    }
}

static void
udp_without_checksum_is_compared(void **state)
{
    struct frame f, wrong;
    build(&f, "e4up");
    f.bytes[f.l4 + 6] = f.bytes[f.l4 + 7] = 0;
    assert_int_equal(integrity_of(&f).payload, EF_PAYLOAD_UNPROTECTED);
    wrong = f;
    wrong.bytes[f.len - 1] ^= 0x55;
    assert_true(is_changed(&f, &wrong));
}

static void
fragments_are_compared(void **state)
{
    struct frame f, wrong;
    struct ef_build b;
    for (int more = 0; more < 2; more++) {
        build(&f, "e4tp");
        f.bytes[f.ip + 6] = more ? 0x20 : 0;
        f.bytes[f.ip + 7] = more ? 0 : 100; /* The first, the last. */
        assert_int_equal(integrity_of(&f).payload, EF_PAYLOAD_UNPROTECTED);
        wrong = f;
        wrong.bytes[f.len - 1] ^= 0x55;
        assert_true(is_changed(&f, &wrong));
    }
    ef_build_start(&b, f.bytes, SIZE);
    ef_build_eth(&b);
    ef_build_ipv6(&b, "fd00::1", "fd00::2");
    ef_build_ipv6_fragment(&b, 9, 1280, false);
    ef_build_payload(&b, NULL, 200);
    f.len = f.wire_len = (uint32_t) ef_build_finish(&b);
    assert_int_equal(integrity_of(&f).payload, EF_PAYLOAD_UNPROTECTED);
}

/* TTL with its checksum, DSCP, ECN, VLAN, MACs, the padding of a short frame, a tunnel around it, RoCEv2's congestion.
 */
static void
what_switches_rewrite_is_no_change(void **state)
{
    struct frame f, other;
    build(&f, "e4t");
    other = f;
    other.bytes[0] ^= 1;
    other.bytes[f.ip + 1] = 0x2b;
    other.bytes[f.ip + 8]--;
    memset(other.bytes + f.ip + 10, 0, 2);
    ef_store_be16(other.bytes + f.ip + 10, ef_checksum_fold(ef_checksum_add(0, other.bytes + f.ip, 20)));
    memset(other.bytes + other.len, 0xee, 6);
    other.len = other.wire_len = f.len + 6;
    assert_false(is_changed(&f, &other));
    assert_false(is_changed(&other, &f));
    other.bytes[f.ip + 8]--; /* Its checksum is that of before. */
    assert_true(is_changed(&f, &other));
    build(&other, "ev4t");
    assert_false(is_changed(&f, &other));
    build(&other, "e4uVe4t");
    assert_false(is_changed(&f, &other));
    build(&f, "e4ubp");
    other = f;
    other.bytes[f.l4 + 8 + 4] ^= 0xc0;
    assert_false(is_changed(&f, &other));
    build(&f, "e6up");
    other = f;
    other.bytes[f.ip + 1] ^= 0x30;
    other.bytes[f.ip + 7]--;
    assert_false(is_changed(&f, &other));
}

static void
without_ip_nothing_is_known(void **state)
{
    struct frame f;
    struct ef_build b;
    ef_build_start(&b, f.bytes, SIZE);
    ef_build_eth(&b);
    ef_build_arp(&b, 1, "10.1.0.1", "10.1.0.2");
    f.len = f.wire_len = (uint32_t) ef_build_finish(&b);
    assert_int_equal(integrity_of(&f).payload, EF_PAYLOAD_UNKNOWN);
    assert_false(is_changed(&f, &f));
}

/* Whatever the lengths in the headers say, and however much was captured. */
static void
no_byte_beyond_is_read(void **state)
{
    static const char *const packets[] = {"e4tp", "e6up", "e4otp", "e6xtp", "e4ubp", "e4uVe4tp"};
    for (size_t i = 0; i < EF_ARRAY_SIZE(packets); i++) {
        struct frame f, lies;
        build(&f, packets[i]);
        for (uint32_t len = 1; len <= f.len; len++) {
            lies = f;
            lies.len = len;
            integrity_of(&lies);
            lies.bytes[f.ip + (f.bytes[f.ip] >> 4 == 4 ? 2 : 4)] = (uint8_t) (len * 37);
            lies.bytes[f.ip] = (uint8_t) (lies.bytes[f.ip] + len % 16);
            integrity_of(&lies);
        }
    }
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_checksums_are_right),    cmocka_unit_test(every_bit_counts),
        cmocka_unit_test(the_unverifiable_is_compared), cmocka_unit_test(udp_without_checksum_is_compared),
        cmocka_unit_test(fragments_are_compared),       cmocka_unit_test(what_switches_rewrite_is_no_change),
        cmocka_unit_test(without_ip_nothing_is_known),  cmocka_unit_test(no_byte_beyond_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
