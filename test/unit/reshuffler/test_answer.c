/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the answers to ARP, neighbor solicitations and pings, with whole
 * packets: what is answered and how, and what is not. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "packet/build.h"
#include "reshuffler/answer.h"
#include "reshuffler/responder.h"

#define VIP "10.255.255.1"
#define VIP6 "fd00::ff"

static const uint8_t mac[6] = {2, 0, 0, 0, 0, 0x10};
static struct ef_plan plan4, plan6;
static uint8_t frame[2048], out[EF_ANSWER_MAX_BYTES];
static enum ef_answer_kind kind;

static int
make_plans(void **state)
{
    return ef_plan_add_vip(&plan4, VIP, NULL) | ef_plan_finish(&plan4, NULL) | ef_plan_add_vip(&plan6, VIP6, NULL) |
           ef_plan_finish(&plan6, NULL);
}

/* Begins a frame to us; ef_build_finish() ends it. */
static void
start(struct ef_build *b)
{
    ef_build_start(b, frame, sizeof frame);
    memcpy(ef_build_eth(b), mac, 6);
}

static uint32_t
answer(const struct ef_plan *plan, uint32_t len)
{
    return ef_answer_frame(plan, mac, frame, len, out, &kind);
}

static uint32_t
build_arp(const char *sender, const char *target)
{
    struct ef_build b;
    start(&b);
    memset(frame, 0xff, 6);
    ef_build_arp(&b, 1, sender, target);
    int len = ef_build_finish(&b);
    assert_int_equal(len, 42);
    return (uint32_t) len;
}

static void
arp_is_answered(void **state)
{
    uint32_t len = build_arp("10.0.0.7", VIP);
    uint8_t sender[6];
    memcpy(sender, frame + 14 + 8, 6);
    assert_int_equal(answer(&plan4, len), 42);
    assert_int_equal(kind, EF_ANSWER_ARP);
    assert_memory_equal(out, sender, 6);
    assert_memory_equal(out + 6, mac, 6);
    assert_memory_equal(out + 12, "\x08\x06\0\1\x08\0\6\4\0\2", 10);
    assert_memory_equal(out + 22, mac, 6);
    assert_memory_equal(out + 28, "\x0a\xff\xff\1", 4);
    assert_memory_equal(out + 32, sender, 6);
    assert_memory_equal(out + 38, "\x0a\0\0\7", 4);
    /* Padded, as short frames are; a probe; to us alone. */
    assert_int_equal(answer(&plan4, 60), 42);
    assert_int_equal(answer(&plan4, build_arp("0.0.0.0", VIP)), 42);
}

static void
other_arp_is_not(void **state)
{
    assert_int_equal(answer(&plan4, build_arp("10.0.0.7", "10.255.255.2")), 0);
    assert_int_equal(answer(&plan4, build_arp(VIP, VIP)), 0); /* Somebody else claims it. */
    assert_int_equal(answer(&plan4, build_arp("224.0.0.1", VIP)), 0);
    uint32_t len = build_arp("10.0.0.7", VIP);
    for (uint32_t cut = 0; cut < len; cut++) {
        assert_int_equal(answer(&plan4, cut), 0);
    }
    for (unsigned i = 14; i < 22; i++) { /* Hardware and protocol types, lengths, operation. */
        frame[i] ^= 3;
        assert_int_equal(answer(&plan4, len), 0);
        frame[i] ^= 3;
    }
    frame[14 + 8] |= 1; /* A group asks. */
    assert_int_equal(answer(&plan4, len), 0);
    len = build_arp("10.0.0.7", VIP);
    memcpy(frame, "\2\0\0\0\0\x99", 6); /* To another machine. */
    assert_int_equal(answer(&plan4, len), 0);
}

static uint32_t
build_ping(const char *from, const char *to)
{
    struct ef_build b;
    start(&b);
    ef_build_ipv4(&b, from, to)[8] = 3;
    ef_build_icmp(&b, 8, 0, 0x12340001);
    ef_build_payload(&b, "what you say", 12);
    return (uint32_t) ef_build_finish(&b);
}

static void
ping_is_answered(void **state)
{
    uint32_t len = build_ping("10.0.0.7", VIP);
    assert_int_equal(answer(&plan4, len), len);
    assert_int_equal(kind, EF_ANSWER_PING);
    assert_memory_equal(out, frame + 6, 6);
    assert_memory_equal(out + 26, frame + 30, 4);
    assert_memory_equal(out + 30, frame + 26, 4);
    assert_int_equal(out[14 + 8], 64);
    assert_int_equal(out[34], 0);
    assert_memory_equal(out + 38, frame + 38, len - 38);
    assert_int_equal(ef_checksum_fold(ef_checksum_add(0, out + 14, 20)), 0);
    assert_int_equal(ef_checksum_fold(ef_checksum_add(0, out + 34, len - 34)), 0);
    /* A question of odd length too, and padding is not sent back. */
    assert_int_equal(answer(&plan4, len + 10), len);
}

static void
other_icmp_is_not(void **state)
{
    assert_int_equal(answer(&plan4, build_ping("10.0.0.7", "10.0.0.8")), 0);
    assert_int_equal(answer(&plan4, build_ping(VIP, VIP)), 0);
    assert_int_equal(answer(&plan4, build_ping("255.255.255.255", VIP)), 0);
    assert_int_equal(answer(&plan4, build_ping("127.0.0.1", VIP)), 0);
    uint32_t len = build_ping("10.0.0.7", VIP);
    for (uint32_t cut = 0; cut < len; cut++) {
        assert_int_equal(answer(&plan4, cut), 0);
    }
    for (unsigned i = 14; i < len; i++) { /* Any damage: checksums see it. */
        frame[i] ^= 1;
        assert_int_equal(answer(&plan4, len), 0);
        frame[i] ^= 1;
    }
    assert_int_equal(answer(&plan4, len), len);
    frame[20] = 0x20; /* A fragment, with a right checksum. */
    memset(frame + 24, 0, 2);
    uint16_t sum = ef_checksum_fold(ef_checksum_add(0, frame + 14, 20));
    frame[24] = (uint8_t) (sum >> 8);
    frame[25] = (uint8_t) sum;
    assert_int_equal(answer(&plan4, len), 0);
}

/* A solicitation for `target`; with `option`, the asker's own address. */
static uint32_t
build_solicitation(const char *from, const char *to, const char *target, bool option)
{
    uint8_t rest[24] = {0};
    struct ef_build b;
    assert_int_equal(ef_address_parse(target, rest), 0);
    memcpy(rest + 16, "\1\1\2\0\0\0\0\7", 8);
    start(&b);
    memcpy(frame, "\x33\x33\xff\0\0\xff", 6);
    ef_build_ipv6(&b, from, to)[7] = 255;
    ef_build_icmpv6(&b, 135, 0, 0);
    ef_build_payload(&b, rest, option ? 24 : 16);
    return (uint32_t) ef_build_finish(&b);
}

static void
check_advertisement(uint32_t len, const char *to, uint8_t flags)
{
    struct ef_packet p;
    uint8_t address[16];
    assert_int_equal(len, 86);
    assert_int_equal(kind, EF_ANSWER_ND);
    ef_packet_parse(&p, out, len, len);
    assert_int_equal(p.status, EF_PARSE_OK);
    assert_int_equal(out[14 + 7], 255);
    assert_int_equal(ef_address_parse(to, address), 0);
    assert_memory_equal(out + 14 + 24, address, 16);
    assert_int_equal(ef_address_parse(VIP6, address), 0);
    assert_memory_equal(out + 14 + 8, address, 16);
    assert_memory_equal(out + 54 + 8, address, 16);
    assert_int_equal(out[54], 136);
    assert_int_equal(out[58], flags);
    assert_memory_equal(out + 54 + 24, "\2\1", 2);
    assert_memory_equal(out + 54 + 26, mac, 6);
    /* The pseudo-header: addresses, length, protocol. */
    uint32_t sum = ef_checksum_add(0, out + 14 + 8, 32 + 32);
    assert_int_equal(ef_checksum_fold(ef_checksum_add(sum, "\0\0\0\x20\0\0\0\x3a", 8)), 0);
}

static void
solicitation_is_answered(void **state)
{
    uint32_t len = build_solicitation("fe80::7", "ff02::1:ff00:ff", VIP6, true);
    check_advertisement(answer(&plan6, len), "fe80::7", 0x60);
    assert_memory_equal(out, frame + 6, 6);
    len = build_solicitation("fd00::7", VIP6, VIP6, false); /* Is it still there? */
    check_advertisement(answer(&plan6, len), "fd00::7", 0x60);
    len = build_solicitation("::", "ff02::1:ff00:ff", VIP6, false); /* May I have it? */
    check_advertisement(answer(&plan6, len), "ff02::1", 0x20);
    assert_memory_equal(out, "\x33\x33\0\0\0\1", 6);
}

static void
other_solicitations_are_not(void **state)
{
    assert_int_equal(answer(&plan6, build_solicitation("fe80::7", "ff02::1:ff00:fe", "fd00::fe", true)), 0);
    assert_int_equal(answer(&plan6, build_solicitation("ff02::7", "ff02::1:ff00:ff", VIP6, true)), 0);
    assert_int_equal(answer(&plan6, build_solicitation("fe80::7", "fd00::fe", VIP6, true)), 0);
    uint32_t len = build_solicitation("fe80::7", "ff02::1:ff00:ff", VIP6, true);
    for (uint32_t cut = 0; cut < len; cut++) {
        assert_int_equal(answer(&plan6, cut), 0);
    }
    frame[14 + 7] = 64; /* It came through a router. */
    assert_int_equal(answer(&plan6, len), 0);
    frame[14 + 7] = 255;
    frame[54 + 25] = 0; /* An option without length, with a right checksum. */
    frame[54 + 3]++;    /* One less there, one more here: the sum is as before. */
    assert_int_equal(answer(&plan6, len), 0);
}

static void
ping6_is_answered(void **state)
{
    struct ef_build b;
    start(&b);
    ef_build_ipv6(&b, "fd00::7", VIP6);
    ef_build_icmpv6(&b, 128, 0, 0x12340001);
    ef_build_payload(&b, "odd", 3);
    uint32_t len = (uint32_t) ef_build_finish(&b);
    assert_int_equal(answer(&plan6, len), len);
    assert_int_equal(kind, EF_ANSWER_PING);
    assert_int_equal(out[54], 129);
    assert_memory_equal(out + 14 + 8, frame + 14 + 24, 16);
    assert_memory_equal(out + 58, frame + 58, len - 58);
    uint32_t sum = ef_checksum_add(0, "\0\0\0\x0b\0\0\0\x3a", 8);
    assert_int_equal(ef_checksum_fold(ef_checksum_add(sum, out + 14 + 8, 32 + 11)), 0);
    for (unsigned i = 14 + 8; i < len; i++) {
        frame[i] ^= 1;
        assert_int_equal(answer(&plan6, len), 0);
        frame[i] ^= 1;
    }
    assert_int_equal(answer(&plan4, len), 0); /* Not our VIP. */
}

static void
answers_are_limited(void **state)
{
    struct ef_answer_budget budget = {0};
    struct ef_time now = {EF_NS_PER_S};
    for (int i = 0; i < EF_RESPONDER_PER_S; i++) {
        assert_true(ef_answer_budget_take(&budget, now));
    }
    assert_false(ef_answer_budget_take(&budget, now));
    now = ef_time_add_ms(now, 10);
    for (int i = 0; i < EF_RESPONDER_PER_S / 100; i++) {
        assert_true(ef_answer_budget_take(&budget, now));
    }
    assert_false(ef_answer_budget_take(&budget, now));
    unsigned n = 0; /* In a second of questions without end, a second's worth. */
    for (int ms = 1; ms <= 1000; ms++) {
        now = ef_time_add_ms(now, 1);
        for (int i = 0; i < 5; i++) {
            n += ef_answer_budget_take(&budget, now);
        }
    }
    assert_int_equal(n, EF_RESPONDER_PER_S);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(arp_is_answered),          cmocka_unit_test(other_arp_is_not),
        cmocka_unit_test(ping_is_answered),         cmocka_unit_test(other_icmp_is_not),
        cmocka_unit_test(solicitation_is_answered), cmocka_unit_test(other_solicitations_are_not),
        cmocka_unit_test(ping6_is_answered),        cmocka_unit_test(answers_are_limited),
    };
    return cmocka_run_group_tests(tests, make_plans, NULL);
}
