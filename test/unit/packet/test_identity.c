/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of flow hash and identity: what may change on the way changes neither,
 * what tells packets apart changes the identity. */
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
#include "packet/identity.h"
#include "unit/packet/samples.h"

static struct ef_identity
identity_of(const uint8_t *data, uint32_t len, uint32_t wire_len)
{
    uint8_t *exact = malloc(len ? len : 1);
    struct ef_packet p;
    struct ef_identity id;
    memcpy(exact, data, len);
    ef_packet_parse(&p, exact, len, wire_len);
    ef_identity_of(&p, &id);
    assert_int_equal(id.flow_hash, ef_flow_hash(&p));
    free(exact);
    return id;
}

static bool
is_same(struct ef_identity a, struct ef_identity b)
{
    bool same = a.hash == b.hash;
    assert_int_equal(same, a.check == b.check);
    return same;
}

static struct ef_identity
identity_of_built(struct ef_build *b)
{
    int len = ef_build_finish(b);
    assert_true(len > 0);
    return identity_of(b->buf, (uint32_t) len, (uint32_t) len);
}

/* One byte of a sample is changed: is it still the same packet, the same flow? */
static void
what_switches_rewrite_changes_nothing(void **state)
{
    static const struct {
        const char *what, *sample;
        uint16_t offset;
        bool same_packet, same_flow;
    } changes[] = {
        {"destination MAC", "tcp4", 0, true, true},
        {"source MAC", "tcp4", 11, true, true},
        {"DSCP and ECN", "tcp4", 15, true, true},
        {"IP id", "tcp4", 19, false, true},
        {"TTL", "tcp4", 22, true, true},
        {"IP checksum", "tcp4", 24, true, true},
        {"source address", "tcp4", 29, false, false},
        {"destination address", "tcp4", 33, false, false},
        {"source port", "tcp4", 35, false, false},
        {"destination port", "tcp4", 37, false, false},
        {"sequence number", "tcp4", 41, false, true},
        {"acknowledgement", "tcp4", 45, false, true},
        {"TCP flags", "tcp4", 47, false, true},
        {"TCP window", "tcp4", 49, true, true},
        {"TCP checksum", "tcp4", 51, true, true},
        {"UDP checksum", "udp4", 41, false, true},
        {"UDP payload", "udp4", 43, true, true},
        {"VLAN id", "vlan", 15, true, true},
        {"traffic class", "tcp6", 14 /* and version: xor 0x01 is the class' high bits */, true, true},
        {"flow label", "tcp6", 17, false, true},
        {"hop limit", "tcp6", 21, true, true},
        {"source address", "tcp6", 37, false, false},
        {"destination address", "tcp6", 53, false, false},
        {"source port", "tcp6", 55, false, false},
        {"sequence number", "tcp6", 61, false, true},
        {"fragment id", "ipv6_later_fragment", 61, false, true},
        {"echo id", "echo", 39, false, false},
        {"echo sequence", "echo", 41, false, true},
        {"ICMP checksum", "icmp_error_whole", 37, false, true},
        {"PSN", "roce", 53, false, true},
        {"destination QP", "roce", 49, false, true},
        {"BECN", "roce", 46, true, true},
        {"ESP sequence", "esp", 41, false, true},
        {"outer source", "gre", 29, true, true},
        {"GRE sequence", "gre", 49, true, true},
        {"VNI", "vxlan", 48, true, true},
        {"inner TTL", "vxlan", 72, true, true},
        {"inner port", "vxlan", 85, false, false},
        {"ARP target", "arp", 41, false, false},
        {"PFC class", "pfc", 17, false, false},
        {"padding behind PFC", "pfc", 50, true, true},
        {"payload", "other_ethertype", 20, false, false},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(changes); i++) {
        uint8_t data[SAMPLE_MAX];
        int len = sample_build(changes[i].sample, data, sizeof data);
        assert_true(len > changes[i].offset);
        struct ef_identity before = identity_of(data, (uint32_t) len, (uint32_t) len);
        data[changes[i].offset] ^= 0x01;
        struct ef_identity after = identity_of(data, (uint32_t) len, (uint32_t) len);
        print_message("# %s of %s\n", changes[i].what, changes[i].sample);
        assert_int_equal(is_same(before, after), changes[i].same_packet);
        assert_int_equal(before.flow_hash == after.flow_hash, changes[i].same_flow);
    }
}

/* Tunnels and tags around a packet, or padding behind it, make no other of it. */
static void
a_packet_is_the_same_inside_tunnels(void **state)
{
    static const char *const tunnels[] = {"gre",   "erspan1",     "erspan2",  "erspan3",
                                          "vxlan", "vxlan6_vlan", "ip_in_ip", "vlan"};
    uint8_t data[SAMPLE_MAX];
    int len = sample_build("tcp4", data, sizeof data);
    struct ef_identity bare = identity_of(data, (uint32_t) len, (uint32_t) len);
    for (size_t i = 0; i < EF_ARRAY_SIZE(tunnels); i++) {
        len = sample_build(tunnels[i], data, sizeof data);
        struct ef_identity id = identity_of(data, (uint32_t) len, (uint32_t) len);
        print_message("# %s\n", tunnels[i]);
        assert_true(is_same(bare, id));
        assert_int_equal(bare.flow_hash, id.flow_hash);
    }
    uint8_t padded[60] = {0};
    sample_build("tcp4", padded, sizeof padded);
    assert_true(is_same(bare, identity_of(padded, 60, 60)));
}

/* A copy that was cut behind its transport header, or (without IP) at 60 bytes. */
static void
a_cut_copy_is_the_same_packet(void **state)
{
    for (size_t i = 0; i < n_samples; i++) {
        uint8_t data[SAMPLE_MAX];
        int len = sample_build(samples[i].name, data, sizeof data);
        memset(data + len, 0x5a, 200); /* More payload. */
        struct ef_packet p;
        ef_packet_parse(&p, data, (uint32_t) len, (uint32_t) len);
        uint32_t wire_len = (uint32_t) len, from = 60;
        if (p.inner_l4 != EF_NO_LAYER) {
            const struct ef_layer *last = &p.layers[p.inner_l4];
            uint32_t fixed = last->proto == EF_PROTO_TCP ? EF_TCP_LEN : EF_UDP_LEN;
            from = last->offset + fixed + (ef_packet_has(&p, EF_PROTO_BTH) ? EF_BTH_LEN : 0);
        } else if (p.inner_ip != EF_NO_LAYER) {
            from = p.layers[p.inner_ip].offset + p.layers[p.inner_ip].header_len + 12u;
        }
        struct ef_identity whole = identity_of(data, wire_len, wire_len);
        for (uint32_t cut = from; cut < wire_len; cut++) {
            assert_true(is_same(whole, identity_of(data, cut, wire_len)));
            assert_int_equal(whole.flow_hash, identity_of(data, cut, wire_len).flow_hash);
        }
    }
}

static struct ef_identity
ipv4_fragment(uint16_t fragment, uint16_t src_port)
{
    uint8_t buf[256];
    struct ef_build b;
    ef_build_start(&b, buf, sizeof buf);
    ef_build_eth(&b);
    ef_store_be16(ef_build_ipv4(&b, "10.1.0.2", "10.4.0.3") + 6, fragment);
    ef_build_udp(&b, src_port, 53);
    ef_build_payload(&b, NULL, 24);
    return identity_of_built(&b);
}

static struct ef_identity
ipv6_fragment(uint16_t offset, bool more, uint16_t src_port)
{
    uint8_t buf[256];
    struct ef_build b;
    ef_build_start(&b, buf, sizeof buf);
    ef_build_eth(&b);
    ef_build_ipv6(&b, "2001:db8::1", "2001:db8::2");
    ef_build_ipv6_fragment(&b, 77, offset, more)[0] = EF_IPPROTO_UDP;
    ef_build_udp(&b, src_port, 53);
    ef_build_payload(&b, NULL, 24);
    return identity_of_built(&b);
}

/* All fragments of a datagram are of one flow, and each is its own packet; a
 * whole datagram is of the flow that its ports say. */
static void
fragments_stay_together(void **state)
{
    struct ef_identity first = ipv4_fragment(EF_IPV4_MF, 1000), middle = ipv4_fragment(EF_IPV4_MF | 4, 0x5a5a),
                       last = ipv4_fragment(8, 0xa5a5), whole = ipv4_fragment(0, 1000);
    assert_int_equal(first.flow_hash, middle.flow_hash);
    assert_int_equal(first.flow_hash, last.flow_hash);
    assert_int_not_equal(first.flow_hash, whole.flow_hash);
    assert_false(is_same(first, middle));
    assert_false(is_same(middle, last));
    assert_int_not_equal(whole.flow_hash, ipv4_fragment(0, 1001).flow_hash);
    assert_true(is_same(whole, ipv4_fragment(EF_IPV4_DF, 1000)));

    first = ipv6_fragment(0, true, 1000);
    last = ipv6_fragment(32, false, 0x5a5a);
    whole = ipv6_fragment(0, false, 1000);
    assert_int_equal(first.flow_hash, last.flow_hash);
    assert_false(is_same(first, last));
    assert_int_not_equal(whole.flow_hash, first.flow_hash);
    assert_int_not_equal(whole.flow_hash, ipv6_fragment(0, false, 1001).flow_hash);
}

/* Two directions are two flows; TCP and UDP on the same ports, too. */
static void
flows_are_directed(void **state)
{
    uint8_t buf[128];
    struct ef_build b;
    uint64_t hashes[3];
    for (int i = 0; i < 3; i++) {
        ef_build_start(&b, buf, sizeof buf);
        ef_build_eth(&b);
        ef_build_ipv4(&b, i == 1 ? "10.4.0.3" : "10.1.0.2", i == 1 ? "10.1.0.2" : "10.4.0.3");
        if (i == 2) {
            ef_build_udp(&b, 1000, 2000);
        } else {
            ef_build_tcp(&b, i ? 2000 : 1000, i ? 1000 : 2000, EF_TCP_SYN);
        }
        hashes[i] = identity_of_built(&b).flow_hash;
    }
    assert_int_not_equal(hashes[0], hashes[1]);
    assert_int_not_equal(hashes[0], hashes[2]);
}

/* A short frame without IP is the same with Ethernet's padding and without. */
static void
padding_without_ip_changes_nothing(void **state)
{
    uint8_t data[60] = {0};
    int len = sample_build("arp", data, sizeof data);
    struct ef_identity bare = identity_of(data, (uint32_t) len, (uint32_t) len);
    assert_true(is_same(bare, identity_of(data, 60, 60)));
    memset(data + len, 0x11, sizeof data - (size_t) len);
    assert_true(is_same(bare, identity_of(data, 60, 60)));
    ef_store_be16(data + 12, 0x88b5);
    memset(data + 20, 0, 40);
    assert_true(is_same(identity_of(data, 20, 20), identity_of(data, 60, 60)));
    assert_false(is_same(identity_of(data, 0, 0), identity_of(data, 60, 60)));
}

/* The values are what reshufflers, analyzers and their restarts agree on. */
static void
values_are_stable(void **state)
{
    static const struct {
        const char *sample;
        uint64_t flow_hash, hash, check;
    } want[] = {
        {"tcp4", 0xd632ddaafdae1b1f, 0x3c0a232bc3b0b65f, 0x8f3093271af70b81},
        {"udp4", 0x5a566d90247bc7b2, 0x41ec99e8c6f56a2e, 0x43de3edc189c8b90},
        {"tcp6", 0xbf02a2d17b7abc22, 0x583743468bf650ee, 0xc0bb61eb92124aad},
        {"udp6", 0x3bebc213977e4ae6, 0xbd379457bee96198, 0x280d9f60b69069af},
        {"echo", 0x39ba45dec215af58, 0xfe8966e5cae6134e, 0x0d3435b22033f526},
        {"icmp_error_28", 0x31abd7aaf67fa34e, 0x00a75ffa1d1fd979, 0xf66b9cb1d1fe4401},
        {"icmpv6_error", 0xd467663d084c0797, 0x1772fdc70804d1f6, 0xac64b9dd24eb0627},
        {"first_fragment", 0x1d6a50a58f6750a2, 0xe11b2921e5400bf1, 0xb9315afbef8f82e8},
        {"later_fragment", 0x1d6a50a58f6750a2, 0xa9a88b6c6f24eb1e, 0x8393a2bd58cddb90},
        {"ipv6_later_fragment", 0x7844ba3d54177c31, 0xac060074e174272e, 0x898fd27dd0c95d91},
        {"ipv6_extensions", 0x7c0f6c3e04b760a2, 0x854a4d076bd79581, 0xd3fab4b7277f7a25},
        {"roce", 0x205c42eea082f807, 0xf719303e9f4f6410, 0x2631ef380defb61e},
        {"bgp", 0xfec75bcdaf82b822, 0xfa94cfdb538da07c, 0x010fd9ad2a57c781},
        {"arp", 0xb006fa15a451f505, 0xb006fa15a451f505, 0xe2e92f47e94b3a96},
        {"pfc", 0xf3c56a31c3f783ee, 0xf3c56a31c3f783ee, 0x3e751ccb8c3f2f36},
        {"pause", 0x8737acf792c28ecf, 0x8737acf792c28ecf, 0xf30a7e4a60656faa},
        {"other_ethertype", 0x201289160a90624e, 0x201289160a90624e, 0xd9661b9da578a4f0},
        {"esp", 0x4dfd78089242049b, 0xfc65bb83f3cc0a04, 0x84ea4e5f0a0ff96f},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(want); i++) {
        uint8_t data[SAMPLE_MAX];
        int len = sample_build(want[i].sample, data, sizeof data);
        struct ef_identity id = identity_of(data, (uint32_t) len, (uint32_t) len);
        print_message("# %s\n", want[i].sample);
        assert_int_equal(id.flow_hash, want[i].flow_hash);
        assert_int_equal(id.hash, want[i].hash);
        assert_int_equal(id.check, want[i].check);
        for (size_t j = 0; j < i; j++) {
            assert_int_not_equal(id.hash, want[j].hash);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_switches_rewrite_changes_nothing),
        cmocka_unit_test(a_packet_is_the_same_inside_tunnels),
        cmocka_unit_test(a_cut_copy_is_the_same_packet),
        cmocka_unit_test(fragments_stay_together),
        cmocka_unit_test(flows_are_directed),
        cmocka_unit_test(padding_without_ip_changes_nothing),
        cmocka_unit_test(values_are_stable),
    };
    return cmocka_run_group_tests_name("identity", tests, NULL, NULL);
}
