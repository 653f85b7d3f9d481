/* SPDX-License-Identifier: Apache-2.0 */
/* What filters match. The bulk of the language is compared with tshark by
 * test/system/filter_oracle.bats; here is what tshark does not know (switches,
 * traces), where we differ from it on purpose, and input that is absent. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/filter.h"
#include "packet/build.h"

static bool
matches(const char *text, const struct ef_filter_input *in)
{
    struct ef_filter *filter = NULL;
    struct ef_error err = EF_ERROR_INIT;
    if (ef_filter_compile(text, EF_FILTER_ANY, &filter, &err)) {
        fail_msg("%s: %s (at %d)", text, err.text, err.offset);
    }
    bool result = ef_filter_match(filter, in);
    ef_filter_destroy(filter);
    return result;
}

struct expectation {
    const char *text;
    bool matches;
};

static void
check(const struct expectation *expected, size_t n, const struct ef_filter_input *in)
{
    for (size_t i = 0; i < n; i++) {
        if (matches(expected[i].text, in) != expected[i].matches) {
            fail_msg("%s: %s", expected[i].text, expected[i].matches ? "does not match" : "matches");
        }
    }
}

#define CHECK(EXPECTED, IN) check(EXPECTED, EF_ARRAY_SIZE(EXPECTED), IN)

struct frame {
    uint8_t bytes[512];
    struct ef_packet packet;
    struct ef_filter_input in;
};

/* Closes the packet that was built into frame->bytes and parses `cut` bytes of
 * it (0: all). */
static void
finish(struct frame *frame, struct ef_build *b, uint32_t cut)
{
    int len = ef_build_finish(b);
    assert_true(len > 0);
    ef_packet_parse(&frame->packet, frame->bytes, cut ? cut : (uint32_t) len, (uint32_t) len);
    frame->in = (struct ef_filter_input){.packet = &frame->packet};
}

static void
build_syn(struct frame *frame, uint32_t cut)
{
    struct ef_build b;
    ef_build_start(&b, frame->bytes, sizeof frame->bytes);
    ef_build_eth(&b);
    ef_build_ipv4(&b, "10.1.0.2", "192.16.4.3");
    ef_build_tcp(&b, 43122, 80, EF_TCP_SYN);
    finish(frame, &b, cut);
}

static void
one_packet_is_matched(void **state)
{
    static const struct expectation expected[] = {
        {"", true},
        {"ip.dst == 192.16.0.0/16 && tcp.flags.syn == 1", true},
        {"ip.dst == 192.17.0.0/16 && tcp.flags.syn == 1", false},
        {"ip.dst == 192.17.0.0/16 || tcp.flags.syn == 1", true},
        {"!(ip.dst == 192.17.0.0/16 || udp) && !vlan", true},
        {"ip.ttl < 0 || tcp", true},
        {"ip.ttl < 0 && tcp || udp", false},
        {"tcp.flags.syn == true && tcp.flags.ack == false", true},
        {"frame.len == 54 && frame.cap_len == 54", true},
        {"tcp.port in {1, 3, 5, 7, 9, 11, 13, 43122}", true},
        {"tcp.port in {1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 43122}", true},
        {"tcp.port in {70..79, 80, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19}", true},
        {"tcp.port in {70..79, 81, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19}", false},
        {"tcp.port in {1, 3, 5, 7, 9, 11, 13, 15..79, 81..99}", false},
        {"tcp.port not in {0..79, 81..43121, 43123..65535}", true},
        {"ip.src in {10.1.0.3, 10.1.0.2}", true},
    };
    struct frame frame;
    build_syn(&frame, 0);
    CHECK(expected, &frame.in);
}

static void
each_occurrence_counts(void **state)
{
    static const struct expectation expected[] = {
        {"ip.src == 10.1.0.2", true},         {"ip.src == 10.9.0.9", true},   {"ip.src != 10.9.0.9", false},
        {"ip.src ~= 10.9.0.9", true},         {"ip.src === 10.9.0.9", false}, {"all ip.src == 10.0.0.0/8", true},
        {"!(ip.src == 10.9.0.9)", false},     {"ip.ttl === 64", true},        {"ip.src != 10.7.0.0/16", true},
        {"all ip.src < 10.5.0.0", false},     {"ip.src < 10.5.0.0", true},    {"ip.src == ip.dst", false},
        {"ip.src ~= ip.dst", true},           {"ip.src != ip.dst", true},     {"ip.src === ip.src", false},
        {"udp.port == 4789 && tcp", true},    {"ipv6.src == ::1", false},     {"ipv6.src != ::1", false},
        {"ipv6.src === ::/0", false},         {"all ip.ttl >= 64", true},     {"eth.type === 0x800", true},
        {"eth.type in {0x806, 0x800}", true},
    };
    struct frame frame;
    struct ef_build b;
    ef_build_start(&b, frame.bytes, sizeof frame.bytes);
    ef_build_eth(&b);
    ef_build_ipv4(&b, "10.9.0.9", "10.9.0.8");
    ef_build_udp(&b, 50000, EF_PORT_VXLAN);
    ef_build_vxlan(&b, 7);
    ef_build_eth(&b);
    ef_build_ipv4(&b, "10.1.0.2", "10.4.0.3");
    ef_build_tcp(&b, 43122, 80, EF_TCP_SYN);
    finish(&frame, &b, 0);
    CHECK(expected, &frame.in);
}

static void
switches_are_matched(void **state)
{
    static const struct expectation expected[] = {
        {"switch", true},
        {"switch == 10.255.0.1", true},
        {"switch == ::ffff:10.255.0.1", true},
        {"trace.through == 10.255.0.1", true},
        {"outer.src == 10.255.0.2", true},
        {"switch == 10.255.0.3", false},
        {"switch == 10.255.0.0/16", true},
        {"switch === 10.255.0.0/16", false},
        {"switch == 2001:db8::/32", true},
        {"switch in {10.0.0.1, 2001:db8::7}", true},
        {"switch in {10.0.0.1..10.254.255.255}", false},
        {"switch != 10.255.0.1", false},
        {"switch ~= 10.255.0.1", true},
        {"switch == 0.0.0.0/0", true},
        {"switch === ::/0", true},
        {"outer.dst == 10.255.255.1", true},
        {"outer.dst != 10.255.255.1", false},
    };
    uint8_t switches[3][16], destinations[3][16];
    static const char *const from[] = {"10.255.0.1", "10.255.0.2", "2001:db8::7"};
    static const char *const to[] = {"10.255.255.1", "10.255.255.2", "10.255.255.1"};
    for (int i = 0; i < 3; i++) {
        ef_address_parse(from[i], switches[i]);
        ef_address_parse(to[i], destinations[i]);
    }
    struct frame frame;
    build_syn(&frame, 0);
    frame.in.switches = (const uint8_t(*)[16]) switches;
    frame.in.n_switches = 3;
    assert_false(matches("outer.dst", &frame.in));
    frame.in.outer_destinations = (const uint8_t(*)[16]) destinations;
    CHECK(expected, &frame.in);
}

static void
any_number_of_switches_is_looked_at(void **state)
{
    uint8_t switches[100][16];
    char text[80];
    for (int i = 0; i < 100; i++) {
        snprintf(text, sizeof text, "10.255.1.%d", i);
        ef_address_parse(text, switches[i]);
    }
    for (uint32_t n = 0; n <= 100; n++) {
        struct ef_filter_input in = {.switches = (const uint8_t(*)[16]) switches, .n_switches = n};
        snprintf(text, sizeof text, "switch == 10.255.1.%u", n - 1);
        assert_int_equal(n > 0 && matches(text, &in), n > 0);
        snprintf(text, sizeof text, "switch == 10.255.1.%u", n);
        assert_false(matches(text, &in));
        snprintf(text, sizeof text, "switch != 10.255.1.%u", n);
        assert_int_equal(matches(text, &in), n > 0);
        assert_int_equal(matches("switch === 10.255.1.0/24", &in), n > 0);
    }
}

static void
traces_are_matched(void **state)
{
    static const struct expectation expected[] = {
        {"trace.hops == 6", true},
        {"trace.hops > 5 && trace.loop", true},
        {"trace.hops in {1..5}", false},
        {"trace.copies == 9", true},
        {"trace.loop == 1", true},
        {"trace.loop == false", false},
        {"!trace.loop", false},
        {"trace.debug", false},
        {"trace.drop && !trace.mux", true},
        {"trace.drop == 0 || trace.mux", false},
        {"trace.missing == 2", true},
        {"trace.missing > 2", false},
        {"!trace.debug && trace.debug == 0", true},
        {"trace.latency_us > 800", true},
        {"trace.latency_us > 800.5", false},
        {"trace.latency_us == 800.5", true},
        {"trace.latency_us <= 800", false},
        {"trace.latency_us < 801", true},
        {"trace.latency_us in {700..900}", true},
        {"trace.hops < trace.copies", true},
    };
    struct ef_filter_trace trace = {.n_hops = 6, .n_copies = 9, .loop = true, .drop = true, .n_missing = 2, .latency_ns = 800500};
    CHECK(expected, &(struct ef_filter_input){.trace = &trace});
}

static void
what_is_absent_matches_nothing(void **state)
{
    static const struct expectation expected[] = {
        {"", true},
        {"frame", false},
        {"tcp", false},
        {"tcp.port == 80", false},
        {"tcp.port != 80", false},
        {"tcp.port in {1..3, 5}", false},
        {"eth.type", false},
        {"vlan.id", false},
        {"ipv6.src == ::/0", false},
        {"ip.src == ip.src", false},
        {"switch", false},
        {"switch != 10.0.0.1", false},
        {"outer.dst", false},
        {"trace.hops >= 0", false},
        {"trace.loop", false},
        {"!trace.loop", true},
        {"!(switch == 10.0.0.1)", true},
    };
    CHECK(expected, &(struct ef_filter_input){0});
    struct frame frame;
    build_syn(&frame, 0);
    assert_false(matches("trace.hops", &frame.in));
    assert_false(matches("switch", &frame.in));
}

/* doc/filter-language.md, "Differences". */
static void
differences_from_tshark_are_kept(void **state)
{
    /* A header that is cut short is not there, with none of its fields. */
    static const struct expectation of_cut[] = {
        {"tcp", false},
        {"tcp.srcport", false},
        {"ip.proto == 6", true},
        {"frame.len == 54", true},
        {"frame.cap_len == 44", true},
    };
    struct frame frame;
    build_syn(&frame, 44);
    CHECK(of_cut, &frame.in);

    /* The sequence number of a quoted segment has both its names. */
    static const struct expectation of_quoted[] = {
        {"tcp.seq == 1", true}, {"tcp.seq_raw == 1", true}, {"tcp.srcport == 43122", true},
        {"tcp.ack", false},     {"tcp.flags", false},       {"tcp.flags.syn == 0", false},
        {"tcp.len", false},     {"ip.ttl == 64", true},     {"!(tcp.flags & 0x02)", true},
        {"tcp.hdr_len", false}, {"tcp.flags != 2", false},
    };
    struct ef_build b;
    ef_build_start(&b, frame.bytes, sizeof frame.bytes);
    ef_build_eth(&b);
    ef_build_ipv4(&b, "10.4.0.1", "10.1.0.2");
    ef_build_icmp(&b, 11, 0, 0);
    ef_build_ipv4(&b, "10.1.0.2", "10.4.0.3");
    ef_build_tcp(&b, 43122, 80, EF_TCP_SYN);
    finish(&frame, &b, 14 + 20 + 8 + 20 + 8);
    CHECK(of_quoted, &frame.in);

    /* Masks of IPv6 addresses are compared as they are for IPv4. */
    static const struct expectation of_mask[] = {
        {"ipv6.src & ffff:: == fe80::", true},
        {"ipv6.src & ffff:: == fd00::", false},
        {"ipv6.src & ::ff", true},
        {"ipv6.src & ::f0", false},
    };
    ef_build_start(&b, frame.bytes, sizeof frame.bytes);
    ef_build_eth(&b);
    ef_build_ipv6(&b, "fe80::1", "fe80::2");
    ef_build_udp(&b, 1, 2);
    finish(&frame, &b, 0);
    CHECK(of_mask, &frame.in);
}

/* Every field of the language finds something or nothing in any frame, whatever
 * is cut: the sanitizers watch. */
static void
fields_stay_inside_cut_packets(void **state)
{
    struct frame frame;
    struct ef_build b;
    ef_build_start(&b, frame.bytes, sizeof frame.bytes);
    ef_build_eth(&b);
    ef_build_vlan(&b, EF_ETHERTYPE_QINQ, 5);
    ef_build_vlan(&b, EF_ETHERTYPE_VLAN, 6);
    ef_build_ipv6(&b, "fe80::1", "fe80::2");
    ef_build_icmpv6(&b, 3, 0, 0);
    ef_build_ipv6(&b, "fe80::1", "fe80::2");
    ef_build_ipv6_extension(&b, EF_IPPROTO_DSTOPTS, 8);
    ef_build_tcp(&b, 1, 2, EF_TCP_SYN);
    int len = ef_build_finish(&b);
    const char *name, *help;
    for (size_t i = 0; (name = ef_filter_field_name(EF_FILTER_ANY, i, &help)); i++) {
        struct ef_filter *filter;
        assert_int_equal(ef_filter_compile(name, EF_FILTER_ANY, &filter, NULL), 0);
        for (int cut = 0; cut <= len; cut++) {
            uint8_t *exact = malloc((size_t) cut + 1);
            memcpy(exact + 1, frame.bytes, (size_t) cut);
            ef_packet_parse(&frame.packet, exact + 1, (uint32_t) cut, (uint32_t) len);
            ef_filter_match(filter, &(struct ef_filter_input){.packet = &frame.packet});
            free(exact);
        }
        ef_filter_destroy(filter);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_packet_is_matched),
        cmocka_unit_test(each_occurrence_counts),
        cmocka_unit_test(switches_are_matched),
        cmocka_unit_test(any_number_of_switches_is_looked_at),
        cmocka_unit_test(traces_are_matched),
        cmocka_unit_test(what_is_absent_matches_nothing),
        cmocka_unit_test(differences_from_tshark_are_kept),
        cmocka_unit_test(fields_stay_inside_cut_packets),
    };
    return cmocka_run_group_tests_name("filter_match", tests, NULL, NULL);
}
