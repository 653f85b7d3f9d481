/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of reading and writing a copy's outer headers. */
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
#include "packet/build.h"
#include "packet/copy.h"
#include "packet/packet_internal.h"
#include "unit/packet/samples.h"

/* One copy of every encapsulation; addresses are added by the tests. */
static const struct ef_copy copies[] = {
    {.encapsulation = EF_ENCAP_GRE},
    {.encapsulation = EF_ENCAP_GRE, .has_sequence = true, .sequence = 17},
    {.encapsulation = EF_ENCAP_GRE, .has_port = true, .port = 65534},
    {.encapsulation = EF_ENCAP_GRE, .has_sequence = true, .sequence = UINT32_MAX, .has_port = true, .port = 3},
    {.encapsulation = EF_ENCAP_ERSPAN1},
    {.encapsulation = EF_ENCAP_ERSPAN2, .has_sequence = true, .sequence = 5},
    {.encapsulation = EF_ENCAP_ERSPAN2, .has_sequence = true, .has_port = true, .port = 0xfffff, .session = 1023},
    {.encapsulation = EF_ENCAP_ERSPAN3},
    {.encapsulation = EF_ENCAP_ERSPAN3, .has_sequence = true, .sequence = 9, .session = 7, .egress = true},
    {.encapsulation = EF_ENCAP_ERSPAN3, .has_sequence = true, .has_port = true, .port = 65535},
    {.encapsulation = EF_ENCAP_ERSPAN3,
     .has_sequence = true,
     .sequence = 10,
     .has_port = true,
     .port = 3,
     .has_switch_time = true,
     .switch_time = {1795228200123456789}},
    {.encapsulation = EF_ENCAP_VENDOR_8949},
    {.encapsulation = EF_ENCAP_GRE, .has_sequence = true, .has_port = true, .port = 3, .switch_drop = 1},
    {.encapsulation = EF_ENCAP_GRE, .switch_drop = 63},
    {.encapsulation = EF_ENCAP_ERSPAN2, .has_sequence = true, .has_port = true, .port = 0xfffff, .switch_drop = 17},
    {.encapsulation = EF_ENCAP_ERSPAN3, .has_sequence = true, .has_port = true, .port = 3, .switch_drop = 16},
    {.encapsulation = EF_ENCAP_ERSPAN3, .switch_drop = 63},
    {.encapsulation = EF_ENCAP_GRE, .has_sequence = true, .has_port = true, .port = 65534, .egress = true},
    {.encapsulation = EF_ENCAP_GRE, .egress = true},
    {.encapsulation = EF_ENCAP_ERSPAN2, .has_sequence = true, .has_port = true, .port = 0xfffff, .egress = true},
    {.encapsulation = EF_ENCAP_ERSPAN2, .has_sequence = true, .egress = true},
    {.encapsulation = EF_ENCAP_ERSPAN3, .has_sequence = true, .has_port = true, .port = 3, .egress = true},
};

/* Builds copy number `i` of sample `sample` into a block of exactly its size. */
static uint8_t *
make_copy(struct ef_copy copy, bool ipv6, const char *sample, uint32_t *len)
{
    uint8_t buf[2 * SAMPLE_MAX], original[SAMPLE_MAX];
    int original_len = sample_build(sample, original, sizeof original);
    ef_address_parse(ipv6 ? "2001:db8::1" : "10.255.0.1", copy.switch_address);
    ef_address_parse(ipv6 ? "2001:db8::ff" : "10.255.255.1", copy.target_address);
    copy.original_len = (uint32_t) original_len;
    int n = ef_copy_build_headers(&copy, buf, sizeof buf);
    assert_true(n > 0);
    *len = (uint32_t) (n + original_len);
    uint8_t *exact = malloc(*len);
    memcpy(exact, buf, (size_t) n);
    memcpy(exact + n, original, (size_t) original_len);
    return exact;
}

static void
assert_same(const struct ef_copy *a, const struct ef_copy *b)
{
    assert_memory_equal(a->switch_address, b->switch_address, 16);
    assert_memory_equal(a->target_address, b->target_address, 16);
    assert_int_equal(a->outer_ip_offset, b->outer_ip_offset);
    assert_int_equal(a->encapsulation, b->encapsulation);
    assert_int_equal(a->has_sequence, b->has_sequence);
    assert_int_equal(a->has_port, b->has_port);
    assert_int_equal(a->has_switch_time, b->has_switch_time);
    assert_int_equal(a->truncated, b->truncated);
    assert_int_equal(a->egress, b->egress);
    assert_int_equal(a->switch_drop, b->switch_drop);
    assert_int_equal(a->sequence, b->sequence);
    assert_int_equal(a->port, b->port);
    assert_int_equal(a->session, b->session);
    assert_int_equal(a->switch_time.ns, b->switch_time.ns);
    assert_ptr_equal(a->original, b->original);
    assert_int_equal(a->original_len, b->original_len);
    assert_int_equal(a->original_wire_len, b->original_wire_len);
}

/* Parses by both ways, which must agree. */
static enum ef_drop_reason
parse(struct ef_copy *copy, const uint8_t *frame, uint32_t len, uint32_t wire_len)
{
    struct ef_copy general;
    enum ef_drop_reason why = ef_copy_parse(copy, frame, len, wire_len);
    assert_int_equal(ef_copy_parse_general(&general, frame, len, wire_len), why);
    if (why == EF_DROP_NONE) {
        assert_same(copy, &general);
    }
    return why;
}

static void
what_is_built_is_parsed(void **state)
{
    for (size_t i = 0; i < 2 * EF_ARRAY_SIZE(copies); i++) {
        const struct ef_copy *want = &copies[i / 2];
        uint32_t len;
        uint8_t *frame = make_copy(*want, i & 1, "udp4", &len);
        struct ef_copy got;
        char address[46];
        assert_int_equal(parse(&got, frame, len, len), EF_DROP_NONE);
        assert_string_equal(ef_address_format(got.switch_address, address), i & 1 ? "2001:db8::1" : "10.255.0.1");
        assert_string_equal(ef_address_format(got.target_address, address), i & 1 ? "2001:db8::ff" : "10.255.255.1");
        assert_int_equal(got.encapsulation, want->encapsulation);
        assert_int_equal(got.has_sequence, want->has_sequence);
        assert_int_equal(got.sequence, want->sequence);
        assert_int_equal(got.has_port, want->has_port);
        assert_int_equal(got.port, want->port);
        assert_int_equal(got.session, want->session);
        assert_int_equal(got.egress, want->egress);
        assert_int_equal(got.switch_drop, want->switch_drop);
        assert_int_equal(got.has_switch_time, want->has_switch_time);
        assert_int_equal(got.switch_time.ns, want->switch_time.ns);
        assert_false(got.truncated);
        assert_int_equal(got.outer_ip_offset, 14);
        assert_int_equal(got.original_len, 47);
        assert_int_equal(got.original_wire_len, 47);
        assert_ptr_equal(got.original, frame + len - 47);
        free(frame);
    }
}

/* GRE's optional fields in all combinations, as switches of other makers send
 * them: before the frame itself, and before the vendor's 22 bytes. */
static void
any_of_gres_fields_may_be_there(void **state)
{
    static const uint8_t vendor_header[22];
    for (unsigned i = 0; i < 16; i++) {
        uint8_t frame[SAMPLE_MAX];
        uint16_t flags = (uint16_t) ((i & 1 ? EF_GRE_C : 0) | (i & 2 ? EF_GRE_K : 0) | (i & 4 ? EF_GRE_S : 0));
        bool is_vendor = i & 8;
        struct ef_build b;
        struct ef_copy got;
        ef_build_start(&b, frame, sizeof frame);
        ef_build_eth(&b);
        ef_build_ipv4(&b, "10.255.0.1", "10.255.255.1");
        ef_build_gre(&b, flags, EF_GRE_KEY_MAGIC << 16 | 7, 1234);
        if (is_vendor) {
            ef_build_payload(&b, vendor_header, sizeof vendor_header);
        }
        uint32_t start = b.len;
        ef_build_eth(&b);
        ef_build_ipv4(&b, "10.1.0.2", "10.4.0.3");
        ef_build_udp(&b, 1, 2);
        uint32_t len = (uint32_t) ef_build_finish(&b);
        frame[14 + 20 + 2] = is_vendor ? 0x89 : 0x65;
        frame[14 + 20 + 3] = is_vendor ? 0x49 : 0x58;
        assert_int_equal(parse(&got, frame, len, len), EF_DROP_NONE);
        assert_int_equal(got.encapsulation, is_vendor ? EF_ENCAP_VENDOR_8949 : EF_ENCAP_GRE);
        assert_ptr_equal(got.original, frame + start);
        assert_int_equal(got.original_len, 14 + 20 + 8);
        assert_int_equal(got.has_sequence, (flags & EF_GRE_S) != 0);
        assert_int_equal(got.sequence, flags & EF_GRE_S ? 1234 : 0);
        assert_int_equal(got.has_port, !is_vendor && flags & EF_GRE_K);
    }
}

/* The outer frame may be tagged, and padded. */
static void
an_outer_tag_is_tolerated(void **state)
{
    for (size_t i = 0; i < EF_ARRAY_SIZE(copies); i++) {
        uint32_t len;
        uint8_t *frame = make_copy(copies[i], false, "udp4", &len);
        uint8_t tagged[512] = {0};
        memcpy(tagged, frame, 12);
        memcpy(tagged + 12, "\x88\xa8\x00\x05\x81\x00\x00\x06", 8);
        memcpy(tagged + 20, frame + 12, len - 12);
        struct ef_copy bare, got;
        assert_int_equal(parse(&bare, frame, len, len), EF_DROP_NONE);
        assert_int_equal(parse(&got, tagged, len + 8 + 10, len + 8 + 10), EF_DROP_NONE);
        assert_int_equal(got.outer_ip_offset, 22);
        assert_int_equal(got.original_len, bare.original_len);
        assert_memory_equal(got.original, bare.original, got.original_len);
        free(frame);
    }
}

/* A copy that its switch cut: the original's length is what its headers say,
 * whether the encapsulation has a T bit or not. */
static void
a_truncated_copy_keeps_its_length(void **state)
{
    static const uint8_t encapsulations[] = {EF_ENCAP_GRE, EF_ENCAP_ERSPAN1, EF_ENCAP_ERSPAN2, EF_ENCAP_ERSPAN3};
    for (size_t i = 0; i < EF_ARRAY_SIZE(encapsulations); i++) {
        uint8_t original[SAMPLE_MAX], frame[SAMPLE_MAX];
        struct ef_build b;
        ef_build_start(&b, original, sizeof original);
        ef_build_eth(&b);
        ef_build_vlan(&b, 0x8100, 7);
        ef_build_ipv4(&b, "10.1.0.2", "10.4.0.3");
        ef_build_udp(&b, 1, 2);
        ef_build_payload(&b, NULL, 1000);
        assert_int_equal(ef_build_finish(&b), 1046);
        struct ef_copy copy = {.encapsulation = encapsulations[i],
                               .has_sequence = encapsulations[i] >= EF_ENCAP_ERSPAN2,
                               .truncated = true,
                               .original_len = 64};
        ef_address_parse("10.255.0.1", copy.switch_address);
        ef_address_parse("10.255.255.1", copy.target_address);
        int n = ef_copy_build_headers(&copy, frame, sizeof frame);
        memcpy(frame + n, original, 64);
        struct ef_copy got;
        assert_int_equal(parse(&got, frame, (uint32_t) n + 64, (uint32_t) n + 64), EF_DROP_NONE);
        assert_true(got.truncated);
        assert_int_equal(got.original_len, 64);
        assert_int_equal(got.original_wire_len, 1046);
    }
}

/* What is captured of a frame may be less than its wire length. */
static void
a_frame_cut_by_the_capture_says_so(void **state)
{
    for (size_t i = 0; i < 2 * EF_ARRAY_SIZE(copies); i++) {
        uint32_t wire_len;
        uint8_t *frame = make_copy(copies[i / 2], i & 1, "udp4", &wire_len);
        uint32_t headers_len = wire_len - 47;
        for (uint32_t len = 0; len <= wire_len; len++) {
            uint8_t *cut = malloc(len ? len : 1);
            memcpy(cut, frame, len);
            struct ef_copy got;
            enum ef_drop_reason why = parse(&got, cut, len, wire_len);
            assert_int_equal(why, len < headers_len ? EF_DROP_OUTER_TRUNCATED : EF_DROP_NONE);
            if (why == EF_DROP_NONE) {
                assert_int_equal(got.original_len, len - headers_len);
                assert_int_equal(got.original_wire_len, 47);
            }
            free(cut);
        }
        free(frame);
    }
}

/* One or two bytes of an ERSPAN III copy (IPv4, platform 5) or another are
 * overwritten: why it is then refused. */
static void
lies_are_refused(void **state)
{
    enum { GRE = 3, ERSPAN1, ERSPAN2 = 6, ERSPAN3 = 10, VENDOR };
    static const struct {
        uint8_t copy;
        bool ipv6;
        uint16_t offset;
        uint8_t bytes[2];
        enum ef_drop_reason why;
    } lies[] = {
        {ERSPAN3, false, 12, {0x08, 0x06}, EF_DROP_NOT_A_COPY},      /* ARP */
        {ERSPAN3, false, 14, {0x55, 0}, EF_DROP_NOT_A_COPY},         /* version */
        {ERSPAN3, false, 14, {0x44, 0}, EF_DROP_NOT_A_COPY},         /* IHL */
        {ERSPAN3, false, 22, {64, 17}, EF_DROP_NOT_A_COPY},          /* UDP */
        {ERSPAN3, false, 16, {0, 19}, EF_DROP_NOT_A_COPY},           /* total length less than the header */
        {ERSPAN3, false, 16, {0xff, 0xff}, EF_DROP_OUTER_TRUNCATED}, /* more than the frame */
        {ERSPAN3, false, 16, {0, 20}, EF_DROP_BAD_GRE},              /* no room for GRE */
        {ERSPAN3, false, 16, {0, 27}, EF_DROP_BAD_GRE},              /* not for all of it */
        {ERSPAN3, false, 16, {0, 28}, EF_DROP_BAD_ERSPAN},           /* no room for ERSPAN */
        {ERSPAN3, false, 16, {0, 47}, EF_DROP_BAD_ERSPAN},           /* not for the sub-header */
        {ERSPAN3, false, 20, {0x20, 0}, EF_DROP_OUTER_FRAGMENT},
        {ERSPAN3, false, 20, {0, 5}, EF_DROP_OUTER_FRAGMENT},
        {ERSPAN3, false, 34, {0x10, 1}, EF_DROP_BAD_GRE},    /* GRE version 1 */
        {ERSPAN3, false, 34, {0x50, 0}, EF_DROP_BAD_GRE},    /* source routing */
        {ERSPAN3, false, 36, {0x08, 0}, EF_DROP_BAD_GRE},    /* IPv4 in GRE */
        {ERSPAN3, false, 42, {0x10, 0}, EF_DROP_BAD_ERSPAN}, /* version 1 in type III */
        {ERSPAN3, false, 52, {0x08, 5}, EF_DROP_BAD_ERSPAN}, /* frame type 2, bare IP */
        {ERSPAN2, false, 42, {0x20, 0}, EF_DROP_BAD_ERSPAN}, /* version 2 in type II */
        {ERSPAN3, true, 20, {17, 64}, EF_DROP_NOT_A_COPY},
        {ERSPAN3, true, 18, {0xff, 0xff}, EF_DROP_OUTER_TRUNCATED},
        {ERSPAN3, true, 14, {0x40, 0}, EF_DROP_NOT_A_COPY},
        {ERSPAN3, true, 18, {0, 3}, EF_DROP_BAD_GRE},
        {VENDOR, false, 16, {0, 45}, EF_DROP_BAD_GRE},
        {GRE, false, 38, {0xab, 0xcd}, EF_DROP_NONE}, /* a key that is not ours */
        {ERSPAN1, false, 16, {0, 24}, EF_DROP_NONE},  /* an empty original: the inner parser's matter */
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(lies); i++) {
        uint32_t len;
        uint8_t *frame = make_copy(copies[lies[i].copy], lies[i].ipv6, "udp4", &len);
        struct ef_copy got;
        memcpy(frame + lies[i].offset, lies[i].bytes, 2);
        print_message("# copy %u, %u: %02x %02x\n", lies[i].copy, lies[i].offset, lies[i].bytes[0], lies[i].bytes[1]);
        assert_int_equal(parse(&got, frame, len, len), lies[i].why);
        free(frame);
    }
}

static void
a_foreign_key_is_no_port(void **state)
{
    uint32_t len;
    uint8_t *frame = make_copy(copies[3], false, "udp4", &len);
    struct ef_copy got;
    ef_store_be16(frame + 38, 0x1234);
    assert_int_equal(parse(&got, frame, len, len), EF_DROP_NONE);
    assert_false(got.has_port);
    assert_true(got.has_sequence);
    free(frame);
}

/* What the switches of ovs-patches write (everflow-encap.h there); neighbouring
 * values say nothing. */
static void
directions_are_where_switches_put_them(void **state)
{
    static const struct {
        uint8_t copy;
        uint16_t offset;
        uint16_t field;
        bool egress;
    } fields[] = {
        {3, 38, 0xef10, false}, {3, 38, 0xef11, true}, {3, 38, 0xef12, false}, {3, 38, 0xef41, false},
        {6, 46, 0x000f, false}, {6, 46, 0xe40f, true}, {6, 46, 0xe41f, false}, {6, 46, 0xe01f, false},
        {9, 52, 0x8005, false}, {9, 52, 0x800d, true},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(fields); i++) {
        uint32_t len;
        uint8_t *frame = make_copy(copies[fields[i].copy], false, "udp4", &len);
        struct ef_copy got;
        ef_store_be16(frame + fields[i].offset, fields[i].field);
        assert_int_equal(parse(&got, frame, len, len), EF_DROP_NONE);
        assert_int_equal(got.egress, fields[i].egress);
        free(frame);
    }
}

/* The sub-headers and granularities of other senders. */
static void
platforms_are_read(void **state)
{
    static const struct {
        uint32_t first, second, ns;
        uint8_t granularity;
        bool has_port, has_time;
        uint32_t port;
    } platforms[] = {
        {1u << 26 | 99, 12, 5, 2, true, false, 12},
        {3u << 26 | 0x3fff, 1795228200, 5, 2, true, true, 0x3fff},
        {5u << 26 | 3u << 16 | 7, 1795228200, 5, 2, true, true, 7},
        {7u << 26 | 0xabcde, 1795228200, 5, 2, true, true, 0xabcde},
        {5u << 26 | 7, 1795228200, 5, 0, true, false, 7},
        {5u << 26 | 7, 1795228200, 5, 1, true, false, 7},
        {5u << 26 | 7, 1795228200, 1000000000, 2, true, false, 7}, /* no such nanosecond */
        {5u << 26, 0, 5, 2, false, false, 0},
        {9u << 26 | 7, 1795228200, 5, 2, false, false, 0},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(platforms); i++) {
        uint32_t len;
        uint8_t *frame = make_copy(copies[10], false, "udp4", &len);
        struct ef_copy got;
        ef_store_be32(frame + 46, platforms[i].ns);
        frame[53] = (uint8_t) (platforms[i].granularity << 1 | 1);
        ef_store_be32(frame + 54, platforms[i].first);
        ef_store_be32(frame + 58, platforms[i].second);
        assert_int_equal(parse(&got, frame, len, len), EF_DROP_NONE);
        assert_int_equal(got.has_port, platforms[i].has_port);
        assert_int_equal(got.port, platforms[i].port);
        assert_int_equal(got.has_switch_time, platforms[i].has_time);
        assert_int_equal(got.switch_time.ns, platforms[i].has_time ? 1795228200000000005 : 0);
        free(frame);
    }
}

static void
what_cannot_be_carried_is_refused(void **state)
{
    static const struct ef_copy bad[] = {
        {.encapsulation = EF_ENCAP_ERSPAN1, .has_sequence = true},
        {.encapsulation = EF_ENCAP_ERSPAN2},
        {.encapsulation = EF_ENCAP_GRE, .has_port = true, .port = 65536},
        {.encapsulation = EF_ENCAP_GRE, .has_port = true, .port = 0},
        {.encapsulation = EF_ENCAP_ERSPAN2, .has_sequence = true, .has_port = true, .port = 1 << 20},
        {.encapsulation = EF_ENCAP_ERSPAN3, .has_port = true, .port = 65536},
        {.encapsulation = EF_ENCAP_ERSPAN3, .session = 1024},
        {.encapsulation = EF_ENCAP_ERSPAN3, .has_switch_time = true},
        {.encapsulation = EF_ENCAP_GRE, .has_switch_time = true, .switch_time = {1795228200000000000}},
        {.encapsulation = EF_ENCAP_GRE, .original_len = 65530},
        {.encapsulation = EF_ENCAP_ERSPAN1, .egress = true},
        {.encapsulation = EF_ENCAP_VENDOR_8949, .egress = true},
        {.encapsulation = EF_ENCAP_GRE, .egress = true, .switch_drop = 1},
        {.encapsulation = EF_ENCAP_ERSPAN2, .has_sequence = true, .egress = true, .switch_drop = 1},
        {.encapsulation = 99},
    };
    uint8_t buf[128];
    for (size_t i = 0; i < EF_ARRAY_SIZE(bad); i++) {
        assert_int_equal(ef_copy_build_headers(&bad[i], buf, sizeof buf), -EINVAL);
    }
    struct ef_copy mixed = {.encapsulation = EF_ENCAP_GRE};
    ef_address_parse("10.255.0.1", mixed.switch_address);
    assert_int_equal(ef_copy_build_headers(&mixed, buf, sizeof buf), -EINVAL);
    ef_address_parse("10.255.0.2", mixed.target_address);
    assert_int_equal(ef_copy_build_headers(&mixed, buf, 37), -ENOSPC);
    assert_int_equal(ef_copy_build_headers(&mixed, buf, 38), 38);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_built_is_parsed),
        cmocka_unit_test(any_of_gres_fields_may_be_there),
        cmocka_unit_test(an_outer_tag_is_tolerated),
        cmocka_unit_test(a_truncated_copy_keeps_its_length),
        cmocka_unit_test(a_frame_cut_by_the_capture_says_so),
        cmocka_unit_test(lies_are_refused),
        cmocka_unit_test(a_foreign_key_is_no_port),
        cmocka_unit_test(directions_are_where_switches_put_them),
        cmocka_unit_test(platforms_are_read),
        cmocka_unit_test(what_cannot_be_carried_is_refused),
    };
    return cmocka_run_group_tests_name("copy", tests, NULL, NULL);
}
