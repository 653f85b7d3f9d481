/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of lib/trace/packet_trace: hops from copies, their order, verdicts. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "packet/build.h"
#include "packet/switch_drop.h"
#include "trace/packet_trace.h"

/* A hop at switch 10.255.0.`sw`. */
static struct ef_hop
hop_at(uint8_t sw, uint8_t ttl, int64_t arrival, int64_t switch_time)
{
    return (struct ef_hop){
        .switch_address = {[10] = 0xff, 0xff, 10, 255, 0, sw},
        .arrival = {arrival},
        .switch_time = {switch_time},
        .ttl = ttl,
        .outer_ttl = ttl,
        .port = 1,
        .flags = EF_HOP_HAS_IP | EF_HOP_HAS_PORT | (switch_time ? EF_HOP_HAS_SWITCH_TIME : 0),
    };
}

/* The switches' last bytes in the trace's order, as text: "1 2 3". */
static const char *
path_of(const struct ef_trace *trace)
{
    static char text[4 * EF_TRACE_MAX_HOPS];
    size_t n = 0;
    text[0] = '\0';
    for (int i = 0; i < trace->n_hops; i++) {
        n += (size_t) snprintf(text + n, sizeof text - n, "%s%u", i ? " " : "", trace->hops[i].switch_address[15]);
    }
    return text;
}

#define TRACE_OF(...)                                   \
    ({                                                  \
        struct ef_hop hops_[] = {__VA_ARGS__};          \
        struct ef_trace trace_;                         \
        memset(&trace_, 0, sizeof trace_);              \
        trace_.n_hops = (uint8_t) EF_ARRAY_SIZE(hops_); \
        memcpy(trace_.hops, hops_, sizeof hops_);       \
        ef_trace_finish(&trace_, 1);                    \
        trace_;                                         \
    })

static void
hops_are_ordered_by_ttl(void **state)
{
    struct ef_trace t = TRACE_OF(hop_at(3, 62, 1, 0), hop_at(1, 64, 2, 0), hop_at(2, 63, 3, 0));
    assert_string_equal(path_of(&t), "1 2 3");
    assert_false(t.switch_clock);
    assert_int_equal(ef_trace_since_first_ns(&t, 1), 1);
    assert_int_equal(ef_trace_latency_ns(&t), -1);
}

static void
equal_ttl_is_ordered_by_time(void **state)
{
    struct ef_trace t = TRACE_OF(hop_at(2, 64, 20, 5), hop_at(1, 64, 10, 7), hop_at(3, 63, 30, 9));
    assert_string_equal(path_of(&t), "2 1 3");
    assert_true(t.switch_clock);
    assert_int_equal(ef_trace_latency_ns(&t), 4);
    /* One hop without the switch's time: arrivals decide. */
    t = TRACE_OF(hop_at(2, 64, 20, 5), hop_at(1, 64, 10, 7), hop_at(3, 63, 30, 0));
    assert_string_equal(path_of(&t), "1 2 3");
    assert_false(t.switch_clock);
    assert_int_equal(ef_trace_latency_ns(&t), 20);
}

static void
an_overlay_is_ordered_by_its_outer_ttl(void **state)
{
    struct ef_hop a = hop_at(1, 64, 3, 0), b = hop_at(2, 64, 2, 0), c = hop_at(3, 64, 1, 0);
    a.outer_ttl = 64;
    b.outer_ttl = 63;
    c.outer_ttl = 62;
    a.flags |= EF_HOP_ENCAPSULATED;
    b.flags |= EF_HOP_ENCAPSULATED;
    c.flags |= EF_HOP_ENCAPSULATED;
    struct ef_trace t = TRACE_OF(b, c, a);
    assert_string_equal(path_of(&t), "1 2 3");
    assert_false(t.loop);
    /* Before and after a tunnel end, only time tells at equal inner TTL. */
    b.flags &= (uint8_t) ~EF_HOP_ENCAPSULATED;
    t = TRACE_OF(a, b, c);
    assert_string_equal(path_of(&t), "3 2 1");
}

/* A packet that is taken out of another at each switch of its way: each time its
 * outermost header is another, with a TTL of its own. */
static void
a_guided_probe_is_no_loop(void **state)
{
    struct ef_hop hops[4];
    for (int i = 0; i < 4; i++) {
        hops[i] = hop_at((uint8_t) (1 + i % 2), 64, 10 * i, 0);
        hops[i].depth = (uint8_t) (3 - i);
        hops[i].outer_ttl = (uint8_t) (64 + 16 * (3 - i));
        hops[i].flags |= i < 3 ? EF_HOP_ENCAPSULATED : 0;
    }
    struct ef_trace t = TRACE_OF(hops[0], hops[1], hops[2], hops[3]);
    assert_string_equal(path_of(&t), "1 2 1 2");
    assert_false(t.loop);
    assert_int_equal(t.n_missing, 0);
    /* Led there once, seen twice with one header: it is. */
    hops[2].depth = 3;
    t = TRACE_OF(hops[0], hops[1], hops[2], hops[3]);
    assert_true(t.loop);
}

static void
a_switch_again_with_lower_ttl_is_a_loop(void **state)
{
    struct ef_trace t = TRACE_OF(hop_at(1, 64, 1, 0), hop_at(2, 63, 2, 0), hop_at(1, 62, 3, 0));
    assert_true(t.loop);
    t = TRACE_OF(hop_at(1, 64, 1, 0), hop_at(2, 63, 2, 0), hop_at(3, 62, 3, 0));
    assert_false(t.loop);
    /* Two ports at equal TTL: bridged through twice, not routed. */
    struct ef_hop again = hop_at(1, 64, 2, 0);
    again.port = 2;
    t = TRACE_OF(hop_at(1, 64, 1, 0), again);
    assert_false(t.loop);
}

static void
the_same_packet_sent_with_a_higher_ttl_is_no_loop(void **state)
{
    /* A traceroute whose probes differ in nothing else. */
    struct ef_trace t = TRACE_OF(hop_at(1, 1, 1, 0), hop_at(1, 2, 10, 0), hop_at(2, 1, 11, 0), hop_at(1, 3, 20, 0),
                                 hop_at(2, 2, 21, 0));
    assert_false(t.loop);
    /* The switch's clock says more than the order in which copies came. */
    t = TRACE_OF(hop_at(1, 1, 30, 100), hop_at(1, 2, 20, 200));
    assert_false(t.loop);
    t = TRACE_OF(hop_at(1, 2, 30, 100), hop_at(1, 1, 20, 200));
    assert_true(t.loop);
    /* A clock that stood still in between denies nothing. */
    t = TRACE_OF(hop_at(1, 2, 20, 100), hop_at(1, 1, 20, 100));
    assert_true(t.loop);
}

static void
egress_and_tunnel_ends_are_no_loops(void **state)
{
    struct ef_hop out = hop_at(1, 63, 2, 0), wrapped = hop_at(1, 63, 3, 0);
    out.flags |= EF_HOP_EGRESS;
    struct ef_trace t = TRACE_OF(hop_at(1, 64, 1, 0), out);
    assert_false(t.loop);
    wrapped.flags |= EF_HOP_ENCAPSULATED;
    wrapped.outer_ttl = 64;
    t = TRACE_OF(hop_at(1, 64, 1, 0), wrapped);
    assert_false(t.loop);
    /* A loop of the tunnelled packet: the inner TTL stands still. */
    struct ef_hop again = wrapped;
    again.outer_ttl = 62;
    t = TRACE_OF(wrapped, again);
    assert_true(t.loop);
}

static struct ef_hop
leaving(uint8_t switch_id, uint8_t ttl, int64_t arrival, int64_t switch_time)
{
    struct ef_hop hop = hop_at(switch_id, ttl, arrival, switch_time);
    hop.flags |= EF_HOP_EGRESS;
    hop.port = 2;
    return hop;
}

/* Routers whose copies overtook each other: what arrives with a TTL comes after
 * the switch that sent it with that TTL. */
static void
a_packet_leaves_a_switch_before_it_arrives_at_the_next(void **state)
{
    struct ef_trace t = TRACE_OF(hop_at(3, 62, 1, 0), leaving(3, 61, 2, 0), hop_at(2, 63, 3, 0), leaving(1, 63, 4, 0),
                                 leaving(2, 62, 5, 0), hop_at(1, 64, 6, 0));
    assert_string_equal(path_of(&t), "1 1 2 2 3 3");
    for (int i = 0; i < t.n_hops; i++) {
        assert_int_equal(t.hops[i].flags & EF_HOP_EGRESS, i & 1 ? EF_HOP_EGRESS : 0);
        assert_int_equal(t.hops[i].ttl, 64 - (i + 1) / 2);
    }
    assert_false(t.loop);
    assert_int_equal(t.n_missing, 0);
    /* The clocks of different switches disagree. */
    t = TRACE_OF(hop_at(2, 63, 1, 100), leaving(2, 62, 1, 120), hop_at(1, 64, 1, 500), leaving(1, 63, 1, 510));
    assert_string_equal(path_of(&t), "1 1 2 2");
    /* A copy of arrival is lost: the time has to tell. */
    t = TRACE_OF(leaving(1, 63, 1, 0), hop_at(2, 63, 2, 0), leaving(2, 62, 3, 0));
    assert_string_equal(path_of(&t), "1 2 2");
}

/* A bridge does not change the TTL. */
static void
a_bridged_packet_arrives_before_it_leaves(void **state)
{
    struct ef_trace t = TRACE_OF(leaving(1, 64, 1, 0), hop_at(1, 64, 2, 0), hop_at(2, 64, 3, 0), leaving(2, 64, 4, 0));
    assert_string_equal(path_of(&t), "1 1 2 2");
    assert_false(t.hops[0].flags & EF_HOP_EGRESS);
    assert_false(t.loop);
    /* Bridged through twice: the sequence numbers tell, also when they wrap. */
    struct ef_hop in = hop_at(1, 64, 9, 0), out = leaving(1, 64, 8, 0), again = hop_at(1, 64, 7, 0);
    in.sequence = 0xfffffffe;
    out.sequence = 0xffffffff;
    again.sequence = 0;
    in.flags |= EF_HOP_HAS_SEQUENCE;
    out.flags |= EF_HOP_HAS_SEQUENCE;
    again.flags |= EF_HOP_HAS_SEQUENCE;
    again.port = 5;
    t = TRACE_OF(in, out);
    assert_false(t.hops[0].flags & EF_HOP_EGRESS);
    t = TRACE_OF(again, out);
    assert_true(t.hops[0].flags & EF_HOP_EGRESS);
    assert_false(t.loop);
}

/* What loops does so in both directions; what is flooded leaves twice. */
static void
directions_are_not_confused_in_verdicts(void **state)
{
    struct ef_trace t = TRACE_OF(hop_at(1, 64, 1, 0), leaving(1, 63, 2, 0), hop_at(2, 63, 3, 0), leaving(2, 62, 4, 0),
                                 leaving(1, 61, 6, 0));
    assert_true(t.loop);
    struct ef_hop other = leaving(1, 63, 3, 0), drop = hop_at(1, 63, 4, 0), out = leaving(1, 63, 2, 0);
    other.port = 7;
    drop.drop = 16;
    assert_false(ef_hop_is_duplicate(&out, &other));
    assert_false(ef_hop_is_duplicate(&out, &drop));
    t = TRACE_OF(drop, other, out, hop_at(1, 64, 1, 0));
    assert_false(t.loop);
    assert_int_equal(t.hops[3].drop, 16);
    assert_int_equal(t.hops[1].port, 2);
}

/* What the switch saw before it dropped the packet comes first, whatever the
 * times, and a rewritten TTL makes no loop. */
static void
a_drop_ends_a_trace(void **state)
{
    struct ef_hop drop = hop_at(2, 63, 1, 0), seen = hop_at(2, 63, 5, 0);
    drop.drop = EF_SWITCH_DROP_TTL;
    struct ef_trace t = TRACE_OF(drop, seen, hop_at(1, 64, 9, 0));
    assert_string_equal(path_of(&t), "1 2 2");
    assert_int_equal(t.hops[1].drop, 0);
    assert_int_equal(t.hops[2].drop, EF_SWITCH_DROP_TTL);
    assert_false(t.loop);
    assert_false(ef_hop_is_duplicate(&seen, &drop));
    assert_true(ef_hop_is_duplicate(&drop, &drop));
    drop.ttl = drop.outer_ttl = 62;
    drop.arrival.ns = 7;
    t = TRACE_OF(hop_at(1, 64, 1, 0), seen, drop);
    assert_string_equal(path_of(&t), "1 2 2");
    assert_false(t.loop);
}

static void
duplicates_are_told_from_hops(void **state)
{
    struct ef_hop a = hop_at(1, 64, 1, 0), b = hop_at(1, 64, 9, 4);
    b.sequence = 7;
    assert_true(ef_hop_is_duplicate(&a, &b));
    struct ef_hop c[] = {a, a, a, a, a};
    c[0].ttl = 63;
    c[1].port = 2;
    c[2].flags |= EF_HOP_EGRESS;
    c[3].switch_address[15] = 2;
    c[4].outer_ttl = 63;
    for (size_t i = 0; i < EF_ARRAY_SIZE(c); i++) {
        assert_false(ef_hop_is_duplicate(&a, &c[i]));
    }
}

static void
the_debug_mark_is_one_of_the_bits(void **state)
{
    struct ef_hop marked = hop_at(2, 63, 2, 0);
    marked.dscp = 0x2e;
    struct ef_trace t = TRACE_OF(hop_at(1, 64, 1, 0), marked);
    assert_false(t.debug);
    marked.dscp |= 1;
    t = TRACE_OF(hop_at(1, 64, 1, 0), marked);
    assert_true(t.debug);
}

/* The longest path, backwards. */
static void
sixty_four_hops_are_ordered(void **state)
{
    struct ef_trace t;
    memset(&t, 0, sizeof t);
    t.n_hops = EF_TRACE_MAX_HOPS;
    for (uint8_t i = 0; i < t.n_hops; i++) {
        t.hops[i] = hop_at(i, (uint8_t) (i + 1), 100 - i, 0);
    }
    ef_trace_finish(&t, 0);
    for (int i = 0; i < t.n_hops; i++) {
        assert_int_equal(t.hops[i].ttl, 64 - i);
    }
    assert_false(t.loop);
}

static void
hops_take_the_fields_of_copy_and_packet(void **state)
{
    uint8_t buf[256];
    struct ef_build b;
    ef_build_start(&b, buf, sizeof buf);
    ef_build_eth(&b);
    uint8_t *outer = ef_build_ipv6(&b, "fd00::1", "fd00::2");
    outer[0] = 0x6b; /* Traffic class 0xbb: DSCP 46, ECN 3. */
    outer[1] = 0xb0;
    outer[7] = 33;
    ef_build_ipv4(&b, "10.0.0.1", "10.0.0.2")[8] = 61;
    ef_build_udp(&b, 1, 2);
    int len = ef_build_finish(&b);
    assert_true(len > 0);
    struct ef_packet packet;
    ef_packet_parse(&packet, buf, (uint32_t) len, (uint32_t) len);
    struct ef_copy copy = {.switch_address = {[15] = 9},
                           .has_port = true,
                           .port = 70000,
                           .has_sequence = true,
                           .sequence = 0xfffffffe,
                           .egress = true,
                           .switch_drop = 16,
                           .switch_time = {5}};
    struct ef_hop hop;
    ef_hop_of_copy(&hop, &copy, &packet, (struct ef_time){77});
    assert_int_equal(hop.flags,
                     EF_HOP_EGRESS | EF_HOP_HAS_PORT | EF_HOP_HAS_SEQUENCE | EF_HOP_HAS_IP | EF_HOP_ENCAPSULATED);
    assert_int_equal(hop.ttl, 61);
    assert_int_equal(hop.outer_ttl, 33);
    assert_int_equal(hop.dscp, 46);
    assert_int_equal(hop.ecn, 3);
    assert_int_equal(hop.port, 70000);
    assert_int_equal(hop.sequence, 0xfffffffe);
    assert_int_equal(hop.drop, 16);
    assert_int_equal(hop.arrival.ns, 77);
    assert_int_equal(hop.switch_time.ns, 0);
    assert_memory_equal(hop.src_mac, buf + 6, 6);
}

/* --- Corruption ------------------------------------------------------------------ */

/* A trace of `n` switches, whose copies of one packet are from what is at `bytes` but for a byte
 * that differs from switch `from` on. `way` may make all of them unverifiable. */
enum way { VERIFIABLE, WRONG_FROM_THE_START, CUT, IP_HEADER };

static struct ef_trace
trace_with_change(enum way way, unsigned n, unsigned from, bool is_mixed)
{
    uint8_t bytes[200];
    struct ef_build b;
    struct ef_trace t;
    ef_build_start(&b, bytes, sizeof bytes);
    ef_build_eth(&b);
    ef_build_ipv4(&b, "10.1.0.11", "10.4.0.11");
    ef_build_tcp(&b, 1, 2, EF_TCP_SYN);
    ef_build_payload(&b, NULL, 100);
    uint32_t len = (uint32_t) ef_build_finish(&b);
    memset(&t, 0, sizeof t);
    bytes[50] ^= way == WRONG_FROM_THE_START ? 0x80 : 0;
    for (unsigned i = 0; i < n; i++) {
        struct ef_packet p;
        struct ef_copy copy = {.switch_address = {[10] = 0xff, 0xff, 10, 255, 0, (uint8_t) (i + 1)}};
        bytes[way == IP_HEADER ? 15 : 60] ^= i == from ? 0x20 : 0;
        ef_packet_parse(&p, bytes, way == CUT ? 80 : len, len);
        ef_hop_of_copy(&t.hops[t.n_hops++], &copy, &p, (struct ef_time){(int64_t) i});
        bytes[22]--; /* The TTL; its checksum is counted up (RFC 1141). */
        ef_store_be16(bytes + 24, (uint16_t) (ef_load_be16(bytes + 24) + 0x100));
    }
    t.is_mixed = is_mixed;
    ef_trace_finish(&t, 1);
    return t;
}

static void
a_change_between_two_hops_is_corruption(void **state)
{
    for (int way = VERIFIABLE; way <= IP_HEADER; way++) {
        for (unsigned n = 1; n < 6; n++) {
            for (unsigned from = 0; from <= n; from++) {
                struct ef_trace t = trace_with_change((enum way) way, n, from, false);
                bool is_there = from > 0 && from < n; /* Else no copy is from before it, or none from behind. */
                assert_int_equal(t.corrupt, is_there);
                for (unsigned i = 0; i < n; i++) {
                    assert_int_equal(t.hops[i].flags & EF_HOP_CORRUPT ? 1 : 0, is_there && i == from);
                }
            }
        }
    }
}

/* Packets that nothing tells apart, such as retransmissions, differ in what no checksum covers. */
static void
of_several_packets_only_a_checksum_proves_it(void **state)
{
    assert_true(trace_with_change(VERIFIABLE, 3, 2, true).corrupt);
    assert_true(trace_with_change(IP_HEADER, 3, 2, true).corrupt);
    assert_false(trace_with_change(WRONG_FROM_THE_START, 3, 2, true).corrupt);
    assert_false(trace_with_change(CUT, 3, 2, true).corrupt);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(hops_are_ordered_by_ttl),
        cmocka_unit_test(equal_ttl_is_ordered_by_time),
        cmocka_unit_test(an_overlay_is_ordered_by_its_outer_ttl),
        cmocka_unit_test(a_guided_probe_is_no_loop),
        cmocka_unit_test(a_switch_again_with_lower_ttl_is_a_loop),
        cmocka_unit_test(the_same_packet_sent_with_a_higher_ttl_is_no_loop),
        cmocka_unit_test(egress_and_tunnel_ends_are_no_loops),
        cmocka_unit_test(a_packet_leaves_a_switch_before_it_arrives_at_the_next),
        cmocka_unit_test(a_bridged_packet_arrives_before_it_leaves),
        cmocka_unit_test(directions_are_not_confused_in_verdicts),
        cmocka_unit_test(a_drop_ends_a_trace),
        cmocka_unit_test(duplicates_are_told_from_hops),
        cmocka_unit_test(the_debug_mark_is_one_of_the_bits),
        cmocka_unit_test(sixty_four_hops_are_ordered),
        cmocka_unit_test(hops_take_the_fields_of_copy_and_packet),
        cmocka_unit_test(a_change_between_two_hops_is_corruption),
        cmocka_unit_test(of_several_packets_only_a_checksum_proves_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
