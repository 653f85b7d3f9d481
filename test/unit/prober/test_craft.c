/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the bytes of probes: every field is where it belongs, no checksum is
 * right by mistake, no two probes of an order are taken for one packet, and what
 * is taken off on the way leaves what was meant. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/util.h"
#include "guided-prober/craft.h"
#include "packet/build.h"
#include "packet/identity.h"
#include "packet/probe_signature.h"
#include "unit/prober/probe.h"

enum { PROBE_ID = 0x1234567890 };
static const struct ef_time noon = {1795262400LL * EF_NS_PER_S};
static struct prober_craft craft;

static void
make(const char *fields)
{
    struct prober_format f;
    struct ef_error err = EF_ERROR_INIT;
    int rc = format_of(&f, fields, &err);
    rc = rc ? rc : prober_craft_init(&craft, &f, PROBE_ID, &err);
    if (rc) {
        print_message("# %s: %s\n", fields, err.text);
    }
    assert_int_equal(rc, 0);
}

/* Probe `sequence` in memory of its exact size, parsed. */
static uint8_t *
write_probe(uint64_t sequence, struct ef_packet *p)
{
    uint8_t *frame = malloc(craft.len);
    assert_non_null(frame);
    prober_craft_write(&craft, sequence, ef_time_add_ns(noon, (int64_t) sequence), frame);
    ef_packet_parse(p, frame, craft.len, craft.len);
    return frame;
}

static bool
transport_is_right(const struct ef_packet *p)
{
    const uint8_t *ip = ef_packet_layer_data(p, p->inner_ip), *l4 = ef_packet_layer_data(p, p->inner_l4);
    uint32_t len = p->len - p->layers[p->inner_l4].offset, sum = 0;
    if (ef_ip_version(ip) == 6) {
        sum = ef_checksum_add(ip[6] + len, ip + 8, 32);
    } else if (ip[9] != EF_IPPROTO_ICMP) {
        sum = ef_checksum_add(ip[9] + len, ip + 12, 8);
    }
    return !ef_checksum_fold(ef_checksum_add(sum, l4, len));
}

/* Fields, and the bytes in which they end: "OFFSET:HEX" from the IP header. */
static void
fields_are_where_they_belong(void **state)
{
    static const struct {
        const char *fields, *bytes;
    } cases[] = {
        {"dst=h2", "0:4508 8:4011 12:0a01000b0a02000b 20:829a829a0028"},
        {"dst=10.2.0.11 src=h2 ttl=7 dscp=32 ecn=2 ip_id=4711", "0:458a 4:1267 8:07 12:0a02000b"},
        {"dst=h2 debug-dscp=5", "1:80"},
        {"dst=h2 no-debug", "1:00"},
        {"dst=h2 fragment=none", "6:0000"},
        {"dst=h2 fragment=df,mf,64", "6:6008"},
        {"dst=h2 src-port=1 dst-port=65535 length=100", "2:0064 20:0001ffff0050"},
        {"dst=h2 proto=tcp src-port=5 tcp-seq=7 tcp-ack=8 tcp-flags=SA tcp-window=9 tcp-urgent=10",
         "9:06 20:0005829a000000070000000850120009 38:000a"},
        {"dst=h2 proto=tcp tcp-flags=0xff tcp-options=02040100", "32:60ff 40:02040100 44:4546"},
        {"dst=h2 proto=icmp icmp-id=3 icmp-seq=4", "9:01 20:0800 24:00030004"},
        {"dst=h2 proto=icmp icmp-type=13 icmp-code=1 icmp-id=3 icmp-seq=4", "20:0d01 24:00030004"},
        {"dst=h2 proto=253", "9:fd 20:4546"},
        {"dst=h2 proto=253 no-signature payload=c0ffee", "2:0017 20:c0ffee"},
        {"dst=h2 payload=c0ffee length=70", "60:c0ffee00 69:00"},
        {"dst=h2 ip-options=01010101", "0:46 20:01010101 24:829a"},
        {"dst=h2 checksum=0xabcd", "26:abcd"},
        {"dst=h2 src=fd00::a01:b ttl=3 dscp=1 flow-label=0x12345", "0:60c12345 4:0028 6:1103 40:829a"},
        {"dst=fd00::aff:2 proto=icmp", "6:3a 39:02 40:8000 44:00010001"},
        {"dst=h2 overwrite=0:65 overwrite=26:ff", "0:65 26:ff"},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        struct ef_packet p;
        make(cases[i].fields);
        uint8_t *frame = write_probe(0, &p);
        for (const char *c = cases[i].bytes; c; c = strchr(c, ' ') ? strchr(c, ' ') + 1 : NULL) {
            char *hex;
            unsigned offset = (unsigned) strtoul(c, &hex, 10), byte;
            for (hex++; sscanf(hex, "%2x", &byte) == 1 && *hex && *hex != ' '; hex += 2, offset++) {
                if (frame[craft.ip + offset] != byte) {
                    print_message("# %s: byte %u is %02x\n", cases[i].fields, offset, frame[craft.ip + offset]);
                }
                assert_int_equal(frame[craft.ip + offset], byte);
            }
        }
        free(frame);
    }
}

static const char *const kinds[] = {
    "dst=h2",
    "dst=h2 proto=tcp",
    "dst=h2 proto=icmp",
    "dst=h2 src=fd00::a01:b",
    "dst=h2 src=fd00::a01:b proto=tcp",
    "dst=h2 src=fd00::a01:b proto=icmp",
    "dst=h2 payload=01 via=leaf1,spine1",
    "dst=h2 proto=tcp tcp-options=01010101 vlan=5 via=leaf1",
};

/* Headers and lengths are right for whatever sequence; of the transport checksum
 * each kind is as it was asked for. */
static void
only_the_transport_checksum_is_wrong(void **state)
{
    for (size_t i = 0; i < EF_ARRAY_SIZE(kinds); i++) {
        for (int right = 0; right < 2; right++) {
            char fields[200];
            snprintf(fields, sizeof fields, "%s checksum=%s", kinds[i], right ? "right" : "wrong");
            make(fields);
            for (uint64_t n = 0; n < 70000; n += n < 300 ? 1 : 61) {
                struct ef_packet p;
                struct ef_probe_signature s;
                uint8_t *frame = write_probe(n, &p);
                assert_int_equal(p.status, EF_PARSE_OK);
                assert_int_equal(transport_is_right(&p), right);
                for (unsigned j = 0; j < p.n_layers; j++) {
                    const uint8_t *h = ef_packet_layer_data(&p, j);
                    if (p.layers[j].proto == EF_PROTO_IPV4) {
                        assert_int_equal(ef_checksum_fold(ef_checksum_add(0, h, ef_ipv4_header_len(h))), 0);
                    } else if (p.layers[j].proto == EF_PROTO_UDP) {
                        assert_true(h[6] || h[7]);
                    }
                }
                assert_int_equal(ef_probe_signature_find(&p, &s), 0);
                assert_true(s.probe_id == PROBE_ID && s.sequence == n && s.sent.ns - noon.ns - (int64_t) n <= 1);
                free(frame);
            }
        }
    }
}

/* Also where the wrong checksum that would come next is by chance the right one. */
static void
no_time_makes_a_wrong_checksum_right(void **state)
{
    for (size_t i = 0; i < EF_ARRAY_SIZE(kinds); i++) {
        make(kinds[i]);
        for (int64_t ns = 0; ns < 70000; ns++) {
            uint8_t frame[300];
            struct ef_packet p;
            prober_craft_write(&craft, 5, ef_time_add_ns(noon, ns), frame);
            ef_packet_parse(&p, frame, craft.len, craft.len);
            assert_false(transport_is_right(&p));
            const uint8_t *l4 = ef_packet_layer_data(&p, p.inner_l4);
            assert_false(p.layers[p.inner_l4].proto == EF_PROTO_UDP && !l4[6] && !l4[7]);
        }
    }
}

static int
compare(const void *a, const void *b)
{
    return memcmp(a, b, 16);
}

static void
no_two_probes_are_taken_for_one(void **state)
{
    enum { N = 140000 };
    uint64_t(*ids)[2] = malloc(N * sizeof *ids);
    assert_non_null(ids);
    for (size_t i = 0; i < EF_ARRAY_SIZE(kinds); i++) {
        make(kinds[i]);
        bool icmp_or_ipv6_udp = strstr(kinds[i], "icmp") || (strstr(kinds[i], "src=") && !strstr(kinds[i], "proto"));
        size_t n = icmp_or_ipv6_udp ? 65000 : N; /* What there is room for in 16 bits. */
        for (size_t j = 0; j < n; j++) {
            struct ef_packet p;
            struct ef_identity id;
            uint8_t *frame = write_probe(j, &p);
            ef_identity_of(&p, &id);
            ids[j][0] = id.hash;
            ids[j][1] = id.check;
            free(frame);
        }
        qsort(ids, n, sizeof *ids, compare);
        for (size_t j = 1; j < n; j++) {
            assert_memory_not_equal(ids[j - 1], ids[j], 16);
        }
    }
    free(ids);
}

/* Takes off one layer as a switch does. */
static uint8_t *
take_off(uint8_t *ip)
{
    unsigned len = ef_ip_version(ip) == 4 ? EF_IPV4_LEN : EF_IPV6_LEN;
    uint8_t proto = ef_ip_version(ip) == 4 ? ip[9] : ip[6];
    return ip + len + (proto == EF_IPPROTO_GRE ? EF_GRE_LEN : 0);
}

static void
layers_come_off_in_order(void **state)
{
    static const char *const ways[] = {"via=leaf1,spine1,leaf1", "via=leaf1,spine1,leaf1 wrap=ipip",
                                       "via=leaf2,leaf1,leaf2,leaf1,leaf2,leaf1 via-src=fd00::a01:b",
                                       "via=leaf2,leaf1,leaf2,leaf1,leaf2,leaf1 via-src=fd00::a01:b wrap=ipip"};
    for (size_t i = 0; i < EF_ARRAY_SIZE(ways); i++) {
        for (int ipv6 = 0; ipv6 < 2; ipv6++) {
            char fields[300];
            struct ef_packet p;
            struct prober_format f;
            snprintf(fields, sizeof fields, "dst=h2 %s", ipv6 ? "src=fd00::a01:b" : "");
            make(fields);
            uint8_t *plain = write_probe(9, &p);
            uint32_t len = craft.len - EF_ETH_LEN;
            snprintf(fields, sizeof fields, "dst=h2 %s %s", ipv6 ? "src=fd00::a01:b" : "", ways[i]);
            make(fields);
            format_of(&f, fields, NULL);
            uint8_t *frame = write_probe(9, &p), *at = frame + EF_ETH_LEN;
            assert_int_equal(p.status, EF_PARSE_OK); /* Analyzers look as deep. */
            uint8_t ttl = 255;
            for (unsigned j = 0; j < f.n_via; j++) {
                uint8_t dst[16];
                ef_ip_dst(at, dst);
                assert_memory_equal(dst, f.via[j], 16);
                assert_true(ef_ip_ttl(at) < ttl);
                ttl = ef_ip_ttl(at);
                at = take_off(at);
            }
            assert_true(ttl > 64 && at == frame + craft.ip);
            assert_memory_equal(at, plain + EF_ETH_LEN, len);
            free(plain);
            free(frame);
        }
    }
}

static void
what_does_not_fit_is_refused(void **state)
{
    static const char *const cases[][2] = {
        {"dst=h2 length=40", "length: 40 bytes have no room for the headers and the signature, which need 60"},
        {"dst=h2 length=20 no-signature", "length: 20 bytes have no room for the headers, which need 28"},
        {"dst=h2 overwrite=59:0000", "overwrite: byte 59 is beyond the packet's 60"},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        struct prober_format f;
        struct ef_error err = EF_ERROR_INIT;
        assert_int_equal(format_of(&f, cases[i][0], &err), 0);
        assert_true(prober_craft_init(&craft, &f, 1, &err) < 0);
        assert_string_equal(err.text, cases[i][1]);
    }
}

/* The longest packet there is, with all that can be around it. */
static void
the_longest_fits(void **state)
{
    struct ef_packet p;
    make("dst=h2 src=fd00::a01:b length=65000 via=leaf1,leaf2,leaf1,leaf2,leaf1 via-src=fd00::a01:b "
         "vlan=1 vlan=2");
    uint8_t *frame = write_probe(3, &p);
    assert_int_equal(p.wire_len, craft.len);
    assert_int_equal(p.status, EF_PARSE_OK);
    assert_int_equal(p.n_layers, EF_MAX_LAYERS);
    free(frame);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_where_they_belong),
        cmocka_unit_test(only_the_transport_checksum_is_wrong),
        cmocka_unit_test(no_time_makes_a_wrong_checksum_right),
        cmocka_unit_test(no_two_probes_are_taken_for_one),
        cmocka_unit_test(layers_come_off_in_order),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(the_longest_fits),
    };
    return cmocka_run_group_tests_name("prober/craft", tests, NULL, NULL);
}
