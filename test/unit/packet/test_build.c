/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the packet builder: what it fills in, and its errors. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "packet/build.h"
#include "unit/packet/samples.h"

/* The checksum of an IP packet's L4 part, with its pseudo-header: 0 if right. */
static uint16_t
l4_checksum(const uint8_t *ip, const uint8_t *l4, uint8_t proto)
{
    uint32_t len = ef_ip_total_len(ip) - (uint32_t) (l4 - ip);
    uint32_t sum = ef_ip_version(ip) == 4 ? ef_checksum_add(0, ip + 12, 8) : ef_checksum_add(0, ip + 8, 32);
    return ef_checksum_fold(ef_checksum_add(proto == EF_IPPROTO_ICMP ? 0 : sum + proto + len, l4, len));
}

/* All checksums of what is built are right (what is quoted is cut). */
static void
checksums_are_right(void **state)
{
    static const uint8_t protos[EF_N_PROTOS] = {[EF_PROTO_TCP] = EF_IPPROTO_TCP,
                                                [EF_PROTO_UDP] = EF_IPPROTO_UDP,
                                                [EF_PROTO_ICMP] = EF_IPPROTO_ICMP,
                                                [EF_PROTO_ICMPV6] = EF_IPPROTO_ICMPV6};
    for (size_t i = 0; i < n_samples; i++) {
        uint8_t data[SAMPLE_MAX];
        int len = sample_build(samples[i].name, data, sizeof data);
        struct ef_packet p;
        ef_packet_parse(&p, data, (uint32_t) len, (uint32_t) len);
        const uint8_t *ip = NULL;
        for (unsigned n = 0; n < p.n_layers && !(p.layers[n].flags & EF_LAYER_QUOTED); n++) {
            const uint8_t *h = ef_packet_layer_data(&p, n);
            uint8_t proto = p.layers[n].proto;
            if (proto == EF_PROTO_IPV4) {
                assert_int_equal(ef_checksum_fold(ef_checksum_add(0, h, ef_ipv4_header_len(h))), 0);
            }
            ip = proto == EF_PROTO_IPV4 || proto == EF_PROTO_IPV6 ? h : ip;
            if (protos[proto]) {
                assert_int_equal(l4_checksum(ip, h, protos[proto]), 0);
            }
        }
    }
}

/* RFC 1071, section 3: the sum of 00 01 f2 03 f4 f5 f6 f7 is ddf2. */
static void
the_checksum_is_the_internets(void **state)
{
    static const uint8_t bytes[] = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};
    assert_int_equal(ef_checksum_fold(ef_checksum_add(0, bytes, sizeof bytes)), (uint16_t) ~0xddf2u);
    assert_int_equal(ef_checksum_fold(ef_checksum_add(0, bytes, 3)), (uint16_t) ~0xf201u);
}

/* A UDP checksum that comes out as 0 is sent as 0xffff. */
static void
a_udp_checksum_is_never_zero(void **state)
{
    uint8_t buf[64];
    struct ef_build b;
    for (int pass = 0; pass < 2; pass++) {
        static uint16_t sum;
        ef_build_start(&b, buf, sizeof buf);
        ef_build_eth(&b);
        ef_build_ipv4(&b, "10.1.0.2", "10.4.0.3");
        ef_build_udp(&b, 1, 2);
        uint8_t *payload = ef_build_payload(&b, NULL, 2);
        ef_store_be16(payload, sum); /* The second time, what makes the sum 0. */
        assert_int_equal(ef_build_finish(&b), 44);
        sum = ef_udp_checksum(buf + 34);
    }
    assert_int_equal(ef_udp_checksum(buf + 34), 0xffff);
}

static void
errors_wait_for_the_end(void **state)
{
    uint8_t buf[64], guard[16];
    struct ef_build b;
    memset(buf, 0xaa, sizeof buf);
    memset(guard, 0xaa, sizeof guard);
    ef_build_start(&b, buf, 48);
    ef_build_eth(&b);
    ef_build_ipv4(&b, "10.1.0.2", "10.4.0.3");
    memset(ef_build_tcp(&b, 1, 2, 0), 0x55, 20); /* Six bytes too long. */
    ef_build_payload(&b, "hello", 5);
    assert_int_equal(ef_build_finish(&b), -ENOSPC);
    assert_memory_equal(buf + 48, guard, sizeof guard);

    static const char *const bad[] = {"", "host", "2001:db8::1", "10.1.0.2.3"};
    for (size_t i = 0; i < EF_ARRAY_SIZE(bad); i++) {
        ef_build_start(&b, buf, sizeof buf);
        ef_build_ipv4(&b, bad[i], "10.4.0.3");
        assert_int_equal(ef_build_finish(&b), -EINVAL);
    }
    ef_build_start(&b, buf, sizeof buf);
    ef_build_ipv6_extension(&b, EF_IPPROTO_HOPOPTS, 8); /* After nothing. */
    assert_int_equal(ef_build_finish(&b), -EINVAL);
    ef_build_start(&b, buf, sizeof buf);
    ef_build_udp(&b, 1, 2);
    ef_build_options(&b, "abcd", 4); /* UDP has none. */
    assert_int_equal(ef_build_finish(&b), -EINVAL);
    ef_build_start(&b, buf, sizeof buf);
    ef_build_tcp(&b, 1, 2, 0);
    static const uint8_t too_many[44];
    ef_build_options(&b, too_many, 44); /* A TCP header ends at 60 bytes. */
    assert_int_equal(ef_build_finish(&b), -EINVAL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checksums_are_right),
        cmocka_unit_test(the_checksum_is_the_internets),
        cmocka_unit_test(a_udp_checksum_is_never_zero),
        cmocka_unit_test(errors_wait_for_the_end),
    };
    return cmocka_run_group_tests_name("build", tests, NULL, NULL);
}
