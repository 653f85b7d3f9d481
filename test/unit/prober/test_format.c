/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what may be asked of a prober: what is refused and in which words, and
 * that nothing is sent faster than it may be. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <unistd.h>

#include "base/util.h"
#include "guided-prober/conf.h"
#include "guided-prober/stream.h"
#include "packet/packet.h"
#include "unit/prober/probe.h"

static void
wrong_fields_are_refused(void **state)
{
    static const char *const cases[][2] = {
        {"dst=h2 ttl=256", "ttl: 256 is not between 0 and 255"},
        {"dst=h2 dscp=64", "dscp: 64 is not between 0 and 63"},
        {"dst=h2 debug-dscp=6", "debug-dscp: 6 is not between 0 and 5"},
        {"dst=h2 proto=sctp", "proto: 'sctp' is not tcp, udp, icmp or a number up to 255"},
        {"dst=h2 tcp-flags=SX", "tcp-flags: 'X' is none of FSRPAUEC"},
        {"dst=h2 checksum=bad", "checksum: 'bad' is not wrong, right or a number up to 0xffff"},
        {"dst=h2 fragment=df,7", "fragment: '7' is not df, mf, none or an offset that 8 divides"},
        {"dst=h2 vlan=4096", "vlan: '4096' is not like 5, 5.3 (priority 3) or 0x88a8:5"},
        {"dst=h2 vlan=1 vlan=2 vlan=3", "vlan: more than 2 tags"},
        {"dst=h2 eth-src=02:00:00:00:00", "eth-src: '02:00:00:00:00' is not like 02:00:00:00:00:01"},
        {"dst=h2 payload=abc", "payload: 'abc' is not up to 512 bytes, two hexadecimal digits each"},
        {"dst=h2 payload=gg", "payload: 'gg' is not hexadecimal"},
        {"dst=h2 tcp-options=010101", "tcp-options: 3 bytes are not a multiple of 4"},
        {"dst=h2 overwrite=8", "overwrite: '8' is not like 8:3f, an offset and up to 16 bytes"},
        {"dst=h2 wrap=vxlan", "wrap: 'vxlan' is none of gre, ipip"},
        {"dst=h2 same=yes", "same: 'yes' is not true or false"},
        {"dst=h2 dst_prot=1", "no field 'dst-prot'; did you mean dst-port?"},
        {"dst=h2 via=leaf1,,leaf2", "via: '' is no name or address"},
        {"dst=h2 via=leaf1,leaf1,leaf1,leaf1,leaf1,leaf1,leaf1",
         "via: more than 6 switches, which is what switches look through"},
        {"proto=udp", "dst is required: a switch or host of the topology"},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        struct prober_format f;
        struct ef_error err = EF_ERROR_INIT;
        assert_int_equal(format_of(&f, cases[i][0], &err) < 0, 1);
        assert_string_equal(err.text, cases[i][1]);
    }
}

/* Whoever may send probes may not send them anywhere. */
static void
what_is_not_allowed_is_refused(void **state)
{
    static const char *const cases[][2] = {
        {"dst=192.0.2.1", "dst: '192.0.2.1' is neither a switch nor a host of the topology; probes go nowhere else"},
        {"dst=leaf3", "dst: 'leaf3' is neither a switch nor a host of the topology; did you mean leaf1?"},
        {"dst=h2 src=192.0.2.1", "src: '192.0.2.1' is neither a switch nor a host of the topology; probes go nowhere "
                                 "else"},
        {"dst=h2 via=h1", "via: 'h1' is no switch of the topology; probes go nowhere else"},
        {"dst=h2 via=10.2.0.11", "via: '10.2.0.11' is no switch of the topology; probes go nowhere else"},
        {"dst=h2 via=spine1 via-src=fd00::a01:b", "via: 'spine1' has no IPv6 address in the topology"},
        {"dst=h2 proto=47", "proto: a packet in the packet is asked for by via"},
        {"dst=h2 proto=4", "proto: a packet in the packet is asked for by via"},
        {"dst=h2 overwrite=16:0a", "overwrite: the destination is asked for by dst"},
        {"dst=h2 overwrite=12:0102030405", "overwrite: the destination is asked for by dst"},
        {"dst=h2 overwrite=9:2f", "overwrite: the protocol is asked for by proto"},
        {"dst=fd00::a02:b overwrite=39:01", "overwrite: the destination is asked for by dst"},
        {"dst=fd00::a02:b overwrite=6:2f", "overwrite: the protocol is asked for by proto"},
        {"dst=h2 checksum=0", "checksum: 0 says in UDP that there is none, and applications would get it"},
        {"dst=h2 src=fd00::a01:b ip-options=01010101", "ip-options: IPv6 has none"},
        {"dst=10.2.0.11 src=fd00::a01:b", "src and dst are not of the same IP version"},
        {"dst=h2 vlan=1 via=leaf1 wrap=ipip", "wrap: an Ethernet frame needs gre around it"},
        {"dst=h2 vlan=1 via=leaf1,leaf1,leaf1,leaf1,leaf1,leaf1",
         "via: with a frame in it at most 5 switches, since it is a layer, too"},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        struct prober_format f;
        struct ef_error err = EF_ERROR_INIT;
        assert_int_equal(format_of(&f, cases[i][0], &err) < 0, 1);
        assert_string_equal(err.text, cases[i][1]);
    }
}

static void
sources_are_our_own_by_default(void **state)
{
    struct prober_format f;
    struct ef_error err = EF_ERROR_INIT;
    uint8_t h1[16], h2[16];
    ef_address_parse("10.1.0.11", h1);
    ef_address_parse("10.2.0.11", h2);
    assert_int_equal(format_of(&f, "dst=h2 via=leaf1", &err), 0);
    assert_memory_equal(f.src, h1, 16);
    assert_memory_equal(f.via_src, h1, 16);
    assert_int_equal(format_of(&f, "dst=h1 via=leaf1 src=h2", &err), 0);
    assert_memory_equal(f.src, h2, 16);
    assert_memory_equal(f.via_src, h1, 16);
    prober_format_init(&f);
    prober_format_set(&f, "dst", "h1", &err);
    assert_int_equal(prober_format_resolve(&f, small_topology(), "ef-small-h3", &err), -EINVAL);
    assert_string_equal(err.text, "src is required: no host of the topology is in this network namespace");
}

static void
limits_hold(void **state)
{
    struct prober_limits limits = {.rate = 1000, .total = 50};
    struct ef_error err = EF_ERROR_INIT;
    int64_t interval = 0;
    assert_int_equal(prober_limits_check(&limits, 50, &interval, &err), 0);
    assert_int_equal(interval, EF_NS_PER_MS);
    assert_int_equal(prober_limits_check(&limits, 51, &interval, &err), -EACCES);
    assert_string_equal(err.text, "51 probes are more than the 50 of --total-limit");
    interval = EF_NS_PER_MS - 1;
    assert_int_equal(prober_limits_check(&limits, 1, &interval, &err), -EACCES);
    assert_string_equal(err.text, "an interval of 999999 ns is shorter than --rate-limit 1000 a second allows");
}

/* Probes are due one interval apart; who comes late catches up 10 ms and no more. */
static void
probes_are_sent_in_time(void **state)
{
    struct prober_format f;
    struct ef_error err = EF_ERROR_INIT;
    struct prober_craft *craft = malloc(sizeof *craft);
    struct ef_sink_stats stats;
    struct ef_time now = {1000};
    struct prober_stream s = {.craft = craft, .count = 60, .interval_ns = EF_NS_PER_MS};
    assert_non_null(craft);
    assert_int_equal(format_of(&f, "dst=h2", &err), 0);
    assert_int_equal(prober_craft_init(craft, &f, 1, &err), 0);
    assert_int_equal(prober_output_open("pcap:/dev/null", &s.output, &err), 0);
    prober_stream_start(&s, now);
    prober_stream_send(&s, now);
    assert_int_equal(s.n_sent, 1);
    prober_stream_send(&s, ef_time_add_ns(now, EF_NS_PER_MS - 1));
    assert_int_equal(s.n_sent, 1);
    prober_stream_send(&s, ef_time_add_ms(now, 3));
    assert_int_equal(s.n_sent, 4);
    assert_int_equal(prober_stream_due(&s).ns, now.ns + 4 * EF_NS_PER_MS);
    now = ef_time_add_ms(now, 1000);
    prober_stream_send(&s, now);
    assert_int_equal(s.n_sent, 4 + 11);
    assert_int_equal(prober_stream_due(&s).ns, now.ns + EF_NS_PER_MS);
    for (int i = 1; !prober_stream_done(&s); i++) {
        assert_true(i < 100);
        prober_stream_send(&s, ef_time_add_ms(now, i));
    }
    prober_output_stats(s.output, &stats);
    assert_int_equal(stats.packets, 60);
    prober_output_close(s.output);
    free(craft);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_fields_are_refused),       cmocka_unit_test(what_is_not_allowed_is_refused),
        cmocka_unit_test(sources_are_our_own_by_default), cmocka_unit_test(limits_hold),
        cmocka_unit_test(probes_are_sent_in_time),
    };
    return cmocka_run_group_tests_name("prober/format", tests, NULL, NULL);
}
