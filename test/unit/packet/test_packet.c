/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the packet parser: what it finds in well-made packets, and why it
 * stops in others. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "packet/headers.h"
#include "packet/packet.h"
#include "packet/packet_internal.h"
#include "unit/packet/samples.h"

#define QUOTED EF_LAYER_QUOTED
#define CUT EF_LAYER_CUT
#define LATER EF_LAYER_LATER_FRAGMENT

static const struct {
    const char *name;
    enum ef_parse_status status;
    int outer_ip, inner_ip, inner_l4; /* -1: none */
    struct ef_layer layers[EF_MAX_LAYERS + 1];
} cases[] = {
#define L(PROTO, OFFSET, LEN, FLAGS)                                                   \
    {                                                                                  \
        .proto = EF_PROTO_##PROTO, .flags = FLAGS, .offset = OFFSET, .header_len = LEN \
    }
    {"tcp4", EF_PARSE_OK, 1, 1, 2, {L(ETH, 0, 14, 0), L(IPV4, 14, 20, 0), L(TCP, 34, 20, 0)}},
    {"udp4", EF_PARSE_OK, 1, 1, 2, {L(ETH, 0, 14, 0), L(IPV4, 14, 20, 0), L(UDP, 34, 8, 0)}},
    {"vlan",
     EF_PARSE_OK,
     4,
     4,
     5,
     {L(ETH, 0, 14, 0), L(VLAN, 14, 4, 0), L(VLAN, 18, 4, 0), L(VLAN, 22, 4, 0), L(IPV4, 26, 20, 0),
      L(TCP, 46, 20, 0)}},
    {"arp", EF_PARSE_OK, -1, -1, -1, {L(ETH, 0, 14, 0), L(ARP, 14, 28, 0)}},
    {"options", EF_PARSE_OK, 1, 1, 2, {L(ETH, 0, 14, 0), L(IPV4, 14, 24, 0), L(TCP, 38, 28, 0)}},
    {"tcp6", EF_PARSE_OK, 1, 1, 2, {L(ETH, 0, 14, 0), L(IPV6, 14, 40, 0), L(TCP, 54, 20, 0)}},
    {"ipv6_extensions", EF_PARSE_OK, 1, 1, 2, {L(ETH, 0, 14, 0), L(IPV6, 14, 112, 0), L(UDP, 126, 8, 0)}},
    {"ipv6_later_fragment", EF_PARSE_OK, 1, 1, -1, {L(ETH, 0, 14, 0), L(IPV6, 14, 48, LATER)}},
    {"ipv6_too_many_extensions", EF_PARSE_TOO_DEEP, 1, 1, -1, {L(ETH, 0, 14, 0), L(IPV6, 14, 168, 0)}},
    {"first_fragment", EF_PARSE_OK, 1, 1, 2, {L(ETH, 0, 14, 0), L(IPV4, 14, 20, 0), L(UDP, 34, 8, 0)}},
    {"later_fragment", EF_PARSE_OK, 1, 1, -1, {L(ETH, 0, 14, 0), L(IPV4, 14, 20, LATER)}},
    {"icmp_error_28",
     EF_PARSE_OK,
     1,
     1,
     2,
     {L(ETH, 0, 14, 0), L(IPV4, 14, 20, 0), L(ICMP, 34, 8, 0), L(IPV4, 42, 20, QUOTED), L(TCP, 62, 8, QUOTED | CUT)}},
    {"icmp_error_whole",
     EF_PARSE_OK,
     1,
     1,
     2,
     {L(ETH, 0, 14, 0), L(IPV4, 14, 20, 0), L(ICMP, 34, 8, 0), L(IPV4, 42, 20, QUOTED), L(TCP, 62, 20, QUOTED)}},
    {"icmpv6_error",
     EF_PARSE_OK,
     1,
     1,
     2,
     {L(ETH, 0, 14, 0), L(IPV6, 14, 40, 0), L(ICMPV6, 54, 8, 0), L(IPV6, 62, 40, QUOTED), L(TCP, 102, 20, QUOTED)}},
    {"echo", EF_PARSE_OK, 1, 1, 2, {L(ETH, 0, 14, 0), L(IPV4, 14, 20, 0), L(ICMP, 34, 8, 0)}},
    {"gre",
     EF_PARSE_OK,
     1,
     4,
     5,
     {L(ETH, 0, 14, 0), L(IPV4, 14, 20, 0), L(GRE, 34, 16, 0), L(ETH, 50, 14, 0), L(IPV4, 64, 20, 0),
      L(TCP, 84, 20, 0)}},
    {"gre_ipv6",
     EF_PARSE_OK,
     1,
     3,
     4,
     {L(ETH, 0, 14, 0), L(IPV4, 14, 20, 0), L(GRE, 34, 4, 0), L(IPV6, 38, 40, 0), L(TCP, 78, 20, 0)}},
    {"erspan1",
     EF_PARSE_OK,
     1,
     4,
     5,
     {L(ETH, 0, 14, 0), L(IPV4, 14, 20, 0), L(GRE, 34, 4, 0), L(ETH, 38, 14, 0), L(IPV4, 52, 20, 0),
      L(TCP, 72, 20, 0)}},
    {"erspan2",
     EF_PARSE_OK,
     1,
     5,
     6,
     {L(ETH, 0, 14, 0), L(IPV4, 14, 20, 0), L(GRE, 34, 8, 0), L(ERSPAN, 42, 8, 0), L(ETH, 50, 14, 0),
      L(IPV4, 64, 20, 0), L(TCP, 84, 20, 0)}},
    {"erspan3",
     EF_PARSE_OK,
     1,
     5,
     6,
     {L(ETH, 0, 14, 0), L(IPV4, 14, 20, 0), L(GRE, 34, 8, 0), L(ERSPAN, 42, 20, 0), L(ETH, 62, 14, 0),
      L(IPV4, 76, 20, 0), L(TCP, 96, 20, 0)}},
    {"vxlan",
     EF_PARSE_OK,
     1,
     5,
     6,
     {L(ETH, 0, 14, 0), L(IPV4, 14, 20, 0), L(UDP, 34, 8, 0), L(VXLAN, 42, 8, 0), L(ETH, 50, 14, 0), L(IPV4, 64, 20, 0),
      L(TCP, 84, 20, 0)}},
    {"geneve",
     EF_PARSE_OK,
     1,
     5,
     6,
     {L(ETH, 0, 14, 0), L(IPV6, 14, 40, 0), L(UDP, 54, 8, 0), L(GENEVE, 62, 16, 0), L(ETH, 78, 14, 0),
      L(IPV4, 92, 20, 0), L(UDP, 112, 8, 0)}},
    {"ip_in_ip", EF_PARSE_OK, 1, 2, 3, {L(ETH, 0, 14, 0), L(IPV4, 14, 20, 0), L(IPV4, 34, 20, 0), L(TCP, 54, 20, 0)}},
    {"six_in_four_in_six",
     EF_PARSE_OK,
     1,
     3,
     4,
     {L(ETH, 0, 14, 0), L(IPV6, 14, 40, 0), L(IPV4, 54, 20, 0), L(IPV6, 74, 40, 0), L(TCP, 114, 20, 0)}},
    {"roce", EF_PARSE_OK, 1, 1, 2, {L(ETH, 0, 14, 0), L(IPV4, 14, 20, 0), L(UDP, 34, 8, 0), L(BTH, 42, 12, 0)}},
    {"pfc", EF_PARSE_OK, -1, -1, -1, {L(ETH, 0, 14, 0), L(MAC_CONTROL, 14, 20, 0)}},
    {"other_ethertype", EF_PARSE_OK, -1, -1, -1, {L(ETH, 0, 14, 0)}},
    {"esp", EF_PARSE_OK, 1, 1, -1, {L(ETH, 0, 14, 0), L(IPV4, 14, 20, 0)}},
    {"udp6", EF_PARSE_OK, 1, 1, 2, {L(ETH, 0, 14, 0), L(IPV6, 14, 40, 0), L(UDP, 54, 8, 0)}},
    {"bgp", EF_PARSE_OK, 1, 1, 2, {L(ETH, 0, 14, 0), L(IPV4, 14, 20, 0), L(TCP, 34, 20, 0)}},
    {"pause", EF_PARSE_OK, -1, -1, -1, {L(ETH, 0, 14, 0), L(MAC_CONTROL, 14, 4, 0)}},
    {"vxlan6_vlan",
     EF_PARSE_OK,
     2,
     9,
     10,
     {L(ETH, 0, 14, 0), L(VLAN, 14, 4, 0), L(IPV6, 18, 40, 0), L(UDP, 58, 8, 0), L(VXLAN, 66, 8, 0), L(ETH, 74, 14, 0),
      L(VLAN, 88, 4, 0), L(VLAN, 92, 4, 0), L(VLAN, 96, 4, 0), L(IPV4, 100, 20, 0), L(TCP, 120, 20, 0)}},
    {"too_deep",
     EF_PARSE_TOO_DEEP,
     1,
     15,
     -1,
     {L(ETH, 0, 14, 0), L(IPV4, 14, 20, 0), L(IPV4, 34, 20, 0), L(IPV4, 54, 20, 0), L(IPV4, 74, 20, 0),
      L(IPV4, 94, 20, 0), L(IPV4, 114, 20, 0), L(IPV4, 134, 20, 0), L(IPV4, 154, 20, 0), L(IPV4, 174, 20, 0),
      L(IPV4, 194, 20, 0), L(IPV4, 214, 20, 0), L(IPV4, 234, 20, 0), L(IPV4, 254, 20, 0), L(IPV4, 274, 20, 0),
      L(IPV4, 294, 20, 0)}},
#undef L
};

/* Builds a sample into a block of exactly its size, which the caller frees. */
static uint8_t *
make_exact(const char *name, uint32_t *len)
{
    uint8_t buf[SAMPLE_MAX];
    int n = sample_build(name, buf, sizeof buf);
    assert_true(n > 0);
    uint8_t *exact = malloc((size_t) n);
    memcpy(exact, buf, (size_t) n);
    *len = (uint32_t) n;
    return exact;
}

static void
assert_same(const struct ef_packet *a, const struct ef_packet *b)
{
    assert_ptr_equal(a->data, b->data);
    assert_int_equal(a->len, b->len);
    assert_int_equal(a->wire_len, b->wire_len);
    assert_int_equal(a->protos, b->protos);
    assert_int_equal(a->n_layers, b->n_layers);
    assert_int_equal(a->status, b->status);
    assert_int_equal(a->outer_ip, b->outer_ip);
    assert_int_equal(a->inner_ip, b->inner_ip);
    assert_int_equal(a->inner_l4, b->inner_l4);
    assert_memory_equal(a->layers, b->layers, a->n_layers * sizeof a->layers[0]);
}

static void
each_protocol_is_found(void **state)
{
    assert_int_equal(EF_ARRAY_SIZE(cases), n_samples);
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        uint32_t len;
        uint8_t *data = make_exact(cases[i].name, &len);
        struct ef_packet p;
        print_message("# %s\n", cases[i].name);
        assert_int_equal(ef_packet_parse(&p, data, len, len), cases[i].status);
        assert_int_equal(p.outer_ip, cases[i].outer_ip & 0xff);
        assert_int_equal(p.inner_ip, cases[i].inner_ip & 0xff);
        assert_int_equal(p.inner_l4, cases[i].inner_l4 & 0xff);
        uint32_t protos = 0;
        size_t n = 0;
        for (; n < EF_MAX_LAYERS && cases[i].layers[n].header_len; n++) {
            const struct ef_layer *want = &cases[i].layers[n];
            assert_true(n < p.n_layers);
            assert_int_equal(p.layers[n].proto, want->proto);
            assert_int_equal(p.layers[n].flags, want->flags);
            assert_int_equal(p.layers[n].offset, want->offset);
            assert_int_equal(p.layers[n].header_len, want->header_len);
            protos |= 1u << want->proto;
        }
        assert_int_equal(p.n_layers, n);
        assert_int_equal(p.protos, protos);
        free(data);
    }
}

/* Cut anywhere, a packet gives the layers that are left of the whole one. */
static void
a_cut_packet_keeps_its_whole_layers(void **state)
{
    for (size_t i = 0; i < n_samples; i++) {
        uint32_t wire_len;
        uint8_t *data = make_exact(samples[i].name, &wire_len);
        struct ef_packet whole;
        ef_packet_parse(&whole, data, wire_len, wire_len);
        for (uint32_t len = 0; len < wire_len; len++) {
            uint8_t *cut = malloc(len ? len : 1);
            memcpy(cut, data, len);
            struct ef_packet p, general;
            enum ef_parse_status status = ef_packet_parse(&p, cut, len, wire_len);
            ef_packet_parse_general(&general, cut, len, wire_len);
            assert_same(&p, &general);
            assert_true(status == EF_PARSE_OK || status == EF_PARSE_CUT || status == whole.status);
            assert_true(p.n_layers <= whole.n_layers);
            for (unsigned n = 0; n < p.n_layers; n++) {
                assert_int_equal(p.layers[n].proto, whole.layers[n].proto);
                assert_int_equal(p.layers[n].offset, whole.layers[n].offset);
                assert_true(p.layers[n].offset + p.layers[n].header_len <= len);
                if (p.layers[n].header_len != whole.layers[n].header_len) {
                    assert_true(p.layers[n].flags & CUT);
                    assert_int_equal(n, p.n_layers - 1);
                }
            }
            free(cut);
        }
        free(data);
    }
}

/* Ethernet pads short frames: the padding belongs to no layer, and changes nothing. */
static void
padding_is_not_payload(void **state)
{
    uint8_t data[60] = {0};
    int len = sample_build("tcp4", data, sizeof data);
    struct ef_packet bare, padded;
    ef_packet_parse(&bare, data, (uint32_t) len, (uint32_t) len);
    assert_int_equal(ef_packet_parse(&padded, data, 60, 60), EF_PARSE_OK);
    assert_int_equal(bare.n_layers, padded.n_layers);
    assert_memory_equal(bare.layers, padded.layers, 3 * sizeof bare.layers[0]);
    /* A TCP header that would reach into the padding is a lie. */
    data[46] = 0x60;
    assert_int_equal(ef_packet_parse(&padded, data, 60, 60), EF_PARSE_MALFORMED);
}

/* One byte, or two, of a sample are overwritten: what is found then. */
static void
lies_are_noticed(void **state)
{
    static const struct {
        const char *sample;
        uint16_t offset;
        uint8_t bytes[2];
        enum ef_parse_status status;
        uint8_t n_layers;
    } lies[] = {
        {"tcp4", 14, {0x55, 0}, EF_PARSE_MALFORMED, 1},           /* version 5 */
        {"tcp4", 14, {0x65, 0}, EF_PARSE_MALFORMED, 1},           /* version 6 */
        {"tcp4", 14, {0x44, 0}, EF_PARSE_MALFORMED, 1},           /* IHL 4 */
        {"tcp4", 14, {0x40, 0}, EF_PARSE_MALFORMED, 1},           /* IHL 0 */
        {"tcp4", 14, {0x4f, 0}, EF_PARSE_MALFORMED, 1},           /* IHL 15: more than the total length */
        {"tcp4", 16, {0, 0}, EF_PARSE_MALFORMED, 1},              /* total length 0 */
        {"tcp4", 16, {0, 19}, EF_PARSE_MALFORMED, 1},             /* ... less than a header */
        {"tcp4", 16, {0, 20}, EF_PARSE_MALFORMED, 2},             /* ... no room for TCP */
        {"tcp4", 16, {0, 39}, EF_PARSE_MALFORMED, 2},             /* ... not quite */
        {"tcp4", 16, {0, 41}, EF_PARSE_MALFORMED, 3},             /* ... more than there is: headers are still read */
        {"tcp4", 16, {0xff, 0xff}, EF_PARSE_MALFORMED, 3},        /* ... much more */
        {"tcp4", 46, {0x40, 2}, EF_PARSE_MALFORMED, 3},           /* data offset 4: the ports are there */
        {"tcp4", 46, {0x60, 2}, EF_PARSE_MALFORMED, 3},           /* ... beyond the packet */
        {"options", 14, {0x4c, 0}, EF_PARSE_MALFORMED, 2},        /* IHL 12: TCP has no room left */
        {"udp4", 38, {0, 7}, EF_PARSE_MALFORMED, 3},              /* UDP length less than its header */
        {"udp4", 38, {0, 0}, EF_PARSE_MALFORMED, 3},              /* ... none */
        {"udp4", 38, {0, 14}, EF_PARSE_MALFORMED, 3},             /* ... more than there is */
        {"udp4", 38, {0, 8}, EF_PARSE_OK, 3},                     /* ... less than IP's: RFC 768 allows it */
        {"tcp6", 14, {0x40, 0}, EF_PARSE_MALFORMED, 1},           /* version 4 */
        {"tcp6", 18, {0, 19}, EF_PARSE_MALFORMED, 2},             /* no room for TCP */
        {"tcp6", 18, {0, 21}, EF_PARSE_MALFORMED, 3},             /* more than there is */
        {"tcp6", 18, {0, 0}, EF_PARSE_MALFORMED, 2},              /* empty, with a next header */
        {"ipv6_extensions", 55, {255, 0}, EF_PARSE_MALFORMED, 2}, /* an extension beyond the packet */
        {"arp", 18, {255, 4}, EF_PARSE_MALFORMED, 2},             /* hardware addresses of 255 bytes */
        {"gre", 34, {0xb0, 1}, EF_PARSE_OK, 2},                   /* another version: not our protocol */
        {"gre", 34, {0x40, 0}, EF_PARSE_OK, 2},                   /* source routing, RFC 1701 */
        {"erspan2", 42, {0x20, 0}, EF_PARSE_MALFORMED, 3},        /* type III in type II */
        {"erspan3", 42, {0x30, 0}, EF_PARSE_MALFORMED, 3},        /* version 3 */
        {"vxlan", 42, {0, 0}, EF_PARSE_OK, 3},                    /* no VNI: not VXLAN */
        {"geneve", 62, {0x42, 0}, EF_PARSE_OK, 3},                /* version 1 */
        {"geneve", 62, {0x3f, 0}, EF_PARSE_MALFORMED, 4},         /* options beyond the packet */
        {"icmp_error_whole", 42, {0x44, 0}, EF_PARSE_OK, 3},      /* what is quoted may be anything */
        {"icmp_error_whole", 44, {0, 1}, EF_PARSE_OK, 3},
        {"icmp_error_whole", 74, {0x10, 0}, EF_PARSE_OK, 5},
        {"ip_in_ip", 34, {0x44, 0}, EF_PARSE_MALFORMED, 2},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(lies); i++) {
        uint32_t len;
        uint8_t *data = make_exact(lies[i].sample, &len);
        struct ef_packet p, general;
        memcpy(data + lies[i].offset, lies[i].bytes, 2);
        print_message("# %s, %u: %02x %02x\n", lies[i].sample, lies[i].offset, lies[i].bytes[0], lies[i].bytes[1]);
        assert_int_equal(ef_packet_parse(&p, data, len, len), lies[i].status);
        assert_int_equal(p.n_layers, lies[i].n_layers);
        ef_packet_parse_general(&general, data, len, len);
        assert_same(&p, &general);
        free(data);
    }
}

/* A first fragment's lengths speak of bytes that come in later fragments. */
static void
a_first_fragment_is_not_malformed(void **state)
{
    uint32_t len;
    uint8_t *data = make_exact("first_fragment", &len);
    struct ef_packet p;
    ef_store_be16(data + 38, 4000);
    assert_int_equal(ef_packet_parse(&p, data, len, len), EF_PARSE_OK);
    assert_int_equal(p.inner_l4, 2);
    free(data);
}

static void
addresses_print_and_parse_back(void **state)
{
    static const char *const texts[] = {"10.1.0.2", "255.255.255.255", "2001:db8::1", "::1", "fe80::1"};
    char buf[46];
    uint8_t address[16];
    for (size_t i = 0; i < EF_ARRAY_SIZE(texts); i++) {
        assert_int_equal(ef_address_parse(texts[i], address), 0);
        assert_string_equal(ef_address_format(address, buf), texts[i]);
        assert_int_equal(ef_address_is_ipv4(address), strchr(texts[i], '.') != NULL);
    }
    static const char *const bad[] = {"", "10.1.0", "10.1.0.256", "10.1.0.2/24", "2001:db8::1::", "host", " 10.1.0.2"};
    for (size_t i = 0; i < EF_ARRAY_SIZE(bad); i++) {
        assert_int_equal(ef_address_parse(bad[i], address), -EINVAL);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_protocol_is_found),
        cmocka_unit_test(a_cut_packet_keeps_its_whole_layers),
        cmocka_unit_test(padding_is_not_payload),
        cmocka_unit_test(lies_are_noticed),
        cmocka_unit_test(a_first_fragment_is_not_malformed),
        cmocka_unit_test(addresses_print_and_parse_back),
    };
    return cmocka_run_group_tests_name("packet", tests, NULL, NULL);
}
