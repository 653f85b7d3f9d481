/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of checking and redirecting the outer IP header. The checksum is
 * verified by summing the whole header anew, in another way than the code. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/byteorder.h"
#include "base/hash.h"
#include "reshuffler/outer_ip.h"

enum { PACKET_BYTES = 120 };

static const uint8_t v4_destination[16] = {[10] = 0xff, [11] = 0xff, 10, 1, 0, 21};
static const uint8_t v6_destination[16] = {0xfd, 1, [15] = 0x21};

static uint16_t
sum_of(const uint8_t *data, uint32_t len)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < len; i += 2) {
        sum += ef_load_be16(data + i);
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return (uint16_t) sum;
}

static uint8_t
random_byte(uint64_t *seed)
{
    *seed = ef_hash_mix(*seed + 0x9e3779b97f4a7c15ULL);
    return (uint8_t) *seed;
}

/* A random but sound IPv4 packet with `header` bytes of header. */
static void
make_ipv4(uint8_t packet[PACKET_BYTES], uint32_t header, uint64_t seed)
{
    for (int i = 0; i < PACKET_BYTES; i++) {
        packet[i] = random_byte(&seed);
    }
    packet[0] = (uint8_t) (0x40 | header / 4);
    ef_store_be16(packet + 2, PACKET_BYTES);
    ef_store_be16(packet + 10, 0);
    ef_store_be16(packet + 10, (uint16_t) ~sum_of(packet, header));
}

static void
ipv4_is_redirected(void **state)
{
    uint8_t packet[PACKET_BYTES], before[PACKET_BYTES];
    uint32_t len;
    for (uint64_t seed = 0; seed < 100000; seed++) {
        uint32_t header = 20 + 4 * (uint32_t) (seed % 11);
        make_ipv4(packet, header, seed);
        memcpy(before, packet, PACKET_BYTES);
        assert_int_equal(ef_outer_ip_check(packet, PACKET_BYTES, &len), EF_DROP_NONE);
        assert_int_equal(len, PACKET_BYTES);
        ef_outer_ip_redirect(packet, v4_destination);
        assert_int_equal(sum_of(packet, header), 0xffff);
        assert_int_equal(packet[8], 64);
        assert_memory_equal(packet + 16, v4_destination + 12, 4);
        /* All else is as it was. */
        memcpy(before + 16, packet + 16, 4);
        before[8] = packet[8];
        memcpy(before + 10, packet + 10, 2);
        assert_memory_equal(packet, before, PACKET_BYTES);
    }
}

static void
ipv6_is_redirected(void **state)
{
    uint8_t packet[PACKET_BYTES] = {0x6a, 0xbc, 0xde, 0xf0, 0, PACKET_BYTES - 40 - 10, 47, 1, 1, 2, 3};
    uint8_t before[PACKET_BYTES];
    uint32_t len;
    memcpy(before, packet, PACKET_BYTES);
    assert_int_equal(ef_outer_ip_check(packet, PACKET_BYTES, &len), EF_DROP_NONE);
    assert_int_equal(len, PACKET_BYTES - 10); /* Ethernet padding does not count. */
    ef_outer_ip_redirect(packet, v6_destination);
    before[7] = 64;
    memcpy(before + 24, v6_destination, 16);
    assert_memory_equal(packet, before, PACKET_BYTES);
}

static void
unsound_ipv4_is_refused(void **state)
{
    uint8_t packet[PACKET_BYTES];
    uint32_t len;
    make_ipv4(packet, 24, 1);
    assert_int_equal(ef_outer_ip_check(packet, 0, &len), EF_DROP_OUTER_TRUNCATED);
    assert_int_equal(ef_outer_ip_check(packet, 19, &len), EF_DROP_OUTER_TRUNCATED);
    assert_int_equal(ef_outer_ip_check(packet, PACKET_BYTES - 1, &len), EF_DROP_OUTER_TRUNCATED);
    for (int bit = 32; bit < 24 * 8; bit++) { /* Any bit behind the lengths. */
        packet[bit / 8] ^= (uint8_t) (1 << bit % 8);
        assert_int_equal(ef_outer_ip_check(packet, PACKET_BYTES, &len), EF_DROP_OUTER_CHECKSUM);
        packet[bit / 8] ^= (uint8_t) (1 << bit % 8);
    }
    ef_store_be16(packet + 2, 23); /* Total length within the header. */
    assert_int_equal(ef_outer_ip_check(packet, PACKET_BYTES, &len), EF_DROP_OUTER_TRUNCATED);
    packet[0] = 0x44;
    assert_int_equal(ef_outer_ip_check(packet, PACKET_BYTES, &len), EF_DROP_OUTER_TRUNCATED);
    packet[0] = 0x55;
    assert_int_equal(ef_outer_ip_check(packet, PACKET_BYTES, &len), EF_DROP_OUTER_TRUNCATED);
}

static void
unsound_ipv6_is_refused(void **state)
{
    uint8_t packet[PACKET_BYTES] = {0x60, 0, 0, 0, 0, PACKET_BYTES - 40, 47, 1};
    uint32_t len;
    assert_int_equal(ef_outer_ip_check(packet, 39, &len), EF_DROP_OUTER_TRUNCATED);
    assert_int_equal(ef_outer_ip_check(packet, PACKET_BYTES - 1, &len), EF_DROP_OUTER_TRUNCATED);
    assert_int_equal(ef_outer_ip_check(packet, PACKET_BYTES, &len), EF_DROP_NONE);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(ipv4_is_redirected),
        cmocka_unit_test(ipv6_is_redirected),
        cmocka_unit_test(unsound_ipv4_is_refused),
        cmocka_unit_test(unsound_ipv6_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
