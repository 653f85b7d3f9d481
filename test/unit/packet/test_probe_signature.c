/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the signature of guided probes: found where the page on the wire
 * formats puts it, and nowhere else. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "packet/build.h"
#include "packet/probe_signature.h"

static const struct ef_probe_signature written = {0x0123456789abcdef, 77, {1795228200123456789}};
static const char *const kinds = "tuilm46"; /* TCP, UDP, ICMP, ICMPv6, TCP with options, plain IPv4, plain IPv6. */

/* A probe of one kind inside of two more IP packets, or in none. */
static uint32_t
make(uint8_t *frame, uint32_t size, char kind, bool nested)
{
    struct ef_build b;
    uint8_t bytes[EF_PROBE_SIGNATURE_LEN];
    ef_build_start(&b, frame, size);
    ef_build_eth(&b);
    if (nested) {
        ef_build_ipv4(&b, "10.1.0.11", "10.255.0.1");
        ef_build_gre(&b, 0, 0, 0);
        ef_build_ipv4(&b, "10.1.0.11", "10.255.0.2");
    }
    if (kind == 'l' || kind == '6') {
        ef_build_ipv6(&b, "fd00::1", "fd00::2");
    } else {
        ef_build_ipv4(&b, "10.1.0.11", "10.4.0.11");
    }
    switch (kind) {
    case 't':
    case 'm':
        ef_build_tcp(&b, 1, 2, EF_TCP_SYN);
        if (kind == 'm') {
            ef_build_options(&b, "\1\1\1\1", 4);
        }
        break;
    case 'u':
        ef_build_udp(&b, 1, 2);
        break;
    case 'i':
        ef_build_icmp(&b, 8, 0, 1);
        break;
    case 'l':
        ef_build_icmpv6(&b, 128, 0, 1);
        break;
    case '4':
        b.buf[b.layers[b.n_layers - 1].offset + 9] = 253; /* For experiments (RFC 3692). */
        break;
    default:
        break;
    }
    ef_probe_signature_write(&written, bytes);
    ef_build_payload(&b, bytes, sizeof bytes);
    int len = ef_build_finish(&b);
    assert_true(len > 0);
    return (uint32_t) len;
}

static void
it_is_behind_every_transport_header(void **state)
{
    for (const char *kind = kinds; *kind; kind++) {
        for (int nested = 0; nested < 2; nested++) {
            uint8_t frame[300];
            struct ef_packet p;
            struct ef_probe_signature found;
            uint32_t len = make(frame, sizeof frame, *kind, nested);
            ef_packet_parse(&p, frame, len, len);
            assert_int_equal(ef_probe_signature_find(&p, &found), 0);
            assert_true(found.probe_id == written.probe_id && found.sequence == written.sequence &&
                        found.sent.ns == written.sent.ns);
        }
    }
}

/* Each cut, in memory of its own so that reading beyond it is seen. */
static void
a_cut_one_is_none(void **state)
{
    for (const char *kind = kinds; *kind; kind++) {
        uint8_t frame[300];
        uint32_t whole = make(frame, sizeof frame, *kind, true);
        for (uint32_t len = 0; len < whole; len++) {
            uint8_t *cut = malloc(len + 1);
            struct ef_packet p;
            struct ef_probe_signature found;
            memcpy(cut, frame, len);
            ef_packet_parse(&p, cut, len, whole);
            assert_int_equal(ef_probe_signature_find(&p, &found), -ENOENT);
            free(cut);
        }
    }
}

/* The bytes on the wire, which other implementations write too. */
static void
its_bytes_are_fixed(void **state)
{
    static const uint8_t expected[EF_PROBE_SIGNATURE_LEN] = {
        'E', 'F', 'p', 'r', 'o', 'b', 'e', 1,  0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
        0,   0,   0,   0,   0,   0,   0,   77, 0x18, 0xe9, 0xee, 0x89, 0x57, 0x1f, 0x5d, 0x15,
    };
    uint8_t bytes[EF_PROBE_SIGNATURE_LEN];
    struct ef_probe_signature read;
    ef_probe_signature_write(&written, bytes);
    assert_memory_equal(bytes, expected, sizeof bytes);
    for (unsigned i = 0; i < 8; i++) {
        bytes[i] ^= 1;
        assert_int_equal(ef_probe_signature_read(bytes, sizeof bytes, &read), -ENOENT);
        bytes[i] ^= 1;
    }
    assert_int_equal(ef_probe_signature_read(bytes, sizeof bytes, &read), 0);
    assert_int_equal(ef_probe_signature_read(bytes, sizeof bytes - 1, &read), -ENOENT);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_behind_every_transport_header),
        cmocka_unit_test(a_cut_one_is_none),
        cmocka_unit_test(its_bytes_are_fixed),
    };
    return cmocka_run_group_tests_name("packet/probe_signature", tests, NULL, NULL);
}
