/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of lib/trace's JSON: that it is JSON, that it says what the trace
 * holds, and that the longest trace fits. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <string.h>

#include "packet/build.h"
#include "trace/json_text.h"
#include "trace/trace_json.h"
#include "trace/trace_match.h"

static char line[EF_TRACE_JSON_MAX];

static json_t *
parse(const struct ef_trace *trace, const char *analyzer)
{
    size_t n = ef_trace_json(trace, analyzer, line, sizeof line);
    assert_true(n > 0);
    json_error_t error;
    json_t *json = json_loadb(line, n, JSON_REJECT_DUPLICATES, &error);
    if (!json) {
        fail_msg("%s in %.*s", error.text, (int) n, line);
    }
    return json;
}

/* The value at a path of keys and, for arrays, numbers. */
static json_t *
at(json_t *json, const char *key, int index, const char *key2)
{
    json = json_object_get(json, key);
    json = index >= 0 ? json_array_get(json, (size_t) index) : json;
    return key2 ? json_object_get(json, key2) : json;
}

#define assert_text(json, key, index, key2, expected) \
    assert_string_equal(json_string_value(at(json, key, index, key2)), expected)
#define assert_number(json, key, index, key2, expected)                             \
    do {                                                                            \
        assert_true(json_is_integer(at(json, key, index, key2)));                   \
        assert_int_equal(json_integer_value(at(json, key, index, key2)), expected); \
    } while (0)

static struct ef_trace
tcp_trace(void)
{
    struct ef_trace t;
    struct ef_build b;
    memset(&t, 0, sizeof t);
    ef_build_start(&b, t.bytes, sizeof t.bytes);
    ef_build_eth(&b);
    ef_build_ipv4(&b, "10.1.0.2", "10.4.0.3")[5] = 9;
    ef_build_tcp(&b, 43122, 80, EF_TCP_SYN | EF_TCP_ACK);
    t.n_bytes = (uint16_t) ef_build_finish(&b);
    t.wire_len = t.n_bytes;
    t.id = 0x00ab;
    t.start.ns = 1;
    t.end.ns = 1795228200123456789;
    t.n_hops = 2;
    t.n_copies = 3;
    t.n_duplicates = 1;
    t.hops[0] = (struct ef_hop){.switch_address = {[10] = 0xff, 0xff, 10, 255, 0, 1},
                                .arrival = {1000},
                                .switch_time = {5},
                                .port = 3,
                                .sequence = 4000000000u,
                                .ttl = 64,
                                .outer_ttl = 64,
                                .flags = EF_HOP_HAS_IP | EF_HOP_HAS_PORT | EF_HOP_HAS_SEQUENCE |
                                         EF_HOP_HAS_SWITCH_TIME | EF_HOP_EGRESS | EF_HOP_TRUNCATED};
    t.hops[1] = (struct ef_hop){.switch_address = {0xfd, [15] = 2},
                                .arrival = {13345},
                                .src_mac = {2, 0, 0xaa, 0, 0, 0xff},
                                .ttl = 63,
                                .outer_ttl = 60,
                                .flags = EF_HOP_HAS_IP | EF_HOP_ENCAPSULATED,
                                .drop = 16};
    ef_trace_finish(&t, 1);
    return t;
}

static void
every_field_is_there(void **state)
{
    struct ef_trace t = tcp_trace();
    json_t *json = parse(&t, "analyzer1");
    assert_text(json, "id", -1, NULL, "00000000000000ab");
    assert_text(json, "start", -1, NULL, "1970-01-01T00:00:00.000000001Z");
    assert_text(json, "end", -1, NULL, "2026-11-21T02:30:00.123456789Z");
    assert_text(json, "analyzer", -1, NULL, "analyzer1");
    assert_text(json, "packet", -1, "src", "10.1.0.2");
    assert_text(json, "packet", -1, "dst", "10.4.0.3");
    assert_number(json, "packet", -1, "proto", 6);
    assert_number(json, "packet", -1, "srcport", 43122);
    assert_number(json, "packet", -1, "dstport", 80);
    assert_number(json, "packet", -1, "ip_id", 9);
    assert_number(json, "packet", -1, "length", 54);
    assert_text(json, "packet", -1, "tcp_flags", "SA");
    assert_int_equal(json_string_length(at(json, "packet", -1, "hex")), 108);
    assert_non_null(strstr(json_string_value(at(json, "packet", -1, "summary")), "10.1.0.2:43122 > 10.4.0.3:80 TCP"));
    assert_text(json, "hops", 0, "switch", "10.255.0.1");
    assert_number(json, "hops", 0, "port", 3);
    assert_text(json, "hops", 0, "direction", "egress");
    assert_number(json, "hops", 0, "ttl", 64);
    assert_number(json, "hops", 0, "sequence", 4000000000);
    assert_text(json, "hops", 0, "switch_time", "1970-01-01T00:00:00.000000005Z");
    assert_true(json_is_true(at(json, "hops", 0, "truncated")));
    assert_null(at(json, "hops", 0, "drop_reason"));
    assert_string_equal(json_string_value(at(json, "hops", 1, "drop_reason")), "meter");
    assert_null(at(json, "hops", 0, "outer_ttl"));
    assert_text(json, "hops", 1, "switch", "fd00::2");
    assert_text(json, "hops", 1, "direction", "ingress");
    assert_text(json, "hops", 1, "src_mac", "02:00:aa:00:00:ff");
    assert_true(json_is_null(at(json, "hops", 1, "port")));
    assert_true(json_is_null(at(json, "hops", 1, "sequence")));
    assert_true(json_is_null(at(json, "hops", 1, "switch_time")));
    assert_true(json_is_true(at(json, "hops", 1, "encapsulated")));
    assert_number(json, "hops", 1, "outer_ttl", 60);
    assert_true(json_real_value(at(json, "hops", 1, "since_first_us")) == 12.345);
    assert_true(json_real_value(at(json, "latency_us", -1, NULL)) == 12.345);
    assert_text(json, "time_source", -1, NULL, "analyzer");
    assert_number(json, "n_hops", -1, NULL, 2);
    assert_number(json, "n_copies", -1, NULL, 3);
    assert_number(json, "n_duplicates", -1, NULL, 1);
    assert_true(json_is_false(at(json, "loop", -1, NULL)));
    json_decref(json);
}

static void
packets_without_ip_have_no_ip_fields(void **state)
{
    struct ef_trace t = tcp_trace();
    struct ef_build b;
    ef_build_start(&b, t.bytes, sizeof t.bytes);
    ef_build_eth(&b);
    ef_build_arp(&b, 1, "10.0.0.1", "10.0.0.2");
    t.n_bytes = (uint16_t) ef_build_finish(&b);
    t.hops[0].flags = t.hops[1].flags = 0;
    json_t *json = parse(&t, "a \"quoted\\name\x01");
    assert_text(json, "analyzer", -1, NULL, "a \"quoted\\name\x01");
    assert_null(at(json, "packet", -1, "src"));
    assert_null(at(json, "packet", -1, "srcport"));
    assert_null(at(json, "hops", 0, "ttl"));
    json_decref(json);
}

static void
ipv6_has_the_protocol_behind_its_extensions(void **state)
{
    struct ef_trace t = tcp_trace();
    struct ef_build b;
    ef_build_start(&b, t.bytes, sizeof t.bytes);
    ef_build_eth(&b);
    ef_build_ipv6(&b, "2001:db8::1", "2001:db8::2");
    ef_build_ipv6_extension(&b, EF_IPPROTO_HOPOPTS, 8);
    ef_build_udp(&b, 53, 54);
    t.n_bytes = (uint16_t) ef_build_finish(&b);
    json_t *json = parse(&t, "a");
    assert_text(json, "packet", -1, "dst", "2001:db8::2");
    assert_number(json, "packet", -1, "proto", 17);
    assert_number(json, "packet", -1, "dstport", 54);
    assert_null(at(json, "packet", -1, "ip_id"));
    assert_null(at(json, "packet", -1, "tcp_flags"));
    json_decref(json);
}

/* Any bytes at all may stand in a trace. */
static void
odd_bytes_are_still_json(void **state)
{
    struct ef_trace t = tcp_trace();
    uint32_t seed = 1;
    for (int round = 0; round < 20000; round++) {
        struct ef_trace u = t;
        u.n_bytes = (uint16_t) (round % (EF_TRACE_MAX_BYTES + 1));
        u.wire_len = u.n_bytes + (unsigned) round % 3 * 100;
        for (int i = round % 2 ? 0 : 12; i < u.n_bytes; i++) {
            seed = seed * 1664525 + 1013904223;
            if (i >= t.n_bytes || seed % 8 == 0) {
                u.bytes[i] = (uint8_t) (seed >> 24);
            }
        }
        json_decref(parse(&u, "a"));
    }
}

static void
the_longest_trace_fits_and_less_room_is_noticed(void **state)
{
    struct ef_trace t = tcp_trace();
    t.n_bytes = EF_TRACE_MAX_BYTES;
    t.n_hops = EF_TRACE_MAX_HOPS;
    t.id = UINT64_MAX;
    t.wire_len = t.n_copies = t.n_duplicates = UINT32_MAX;
    memset(t.bytes + 54, 0xff, sizeof t.bytes - 54);
    for (int i = 0; i < EF_TRACE_MAX_HOPS; i++) {
        struct ef_hop *hop = &t.hops[i];
        memset(hop, 0xff, sizeof *hop);
        for (int k = 0; k < 16; k++) {
            hop->switch_address[k] = (uint8_t) (0x91 + k);
        }
        hop->arrival.ns = hop->switch_time.ns = i % 2 ? INT64_MIN / 2 : INT64_MAX / 2;
    }
    char name[EF_TRACE_NAME_MAX + 1];
    memset(name, '\xff', EF_TRACE_NAME_MAX);
    name[EF_TRACE_NAME_MAX] = '\0';
    json_decref(parse(&t, name));
    size_t n = ef_trace_json(&t, name, line, sizeof line);
    assert_true(n + 4096 < sizeof line);
    for (size_t size = 0; size < n; size += size < 2000 ? 1 : 997) {
        assert_int_equal(ef_trace_json(&t, name, line, size), 0);
    }
    assert_int_equal(ef_trace_json(&t, name, line, n), n);
}

static void
times_are_those_of_lib_base(void **state)
{
    static const int64_t some[] = {
        0, -1, 1, 951782399999999999, 951782400000000000, 4107542400000000000, INT64_MAX, INT64_MIN + 1};
    uint64_t seed = 1;
    for (int i = 0; i < 100000; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        int64_t ns = i < (int) EF_ARRAY_SIZE(some) ? some[i] : (int64_t) seed;
        char expected[EF_TIME_TEXT_SIZE], text[64];
        struct ef_json_text j = {text, text + sizeof text};
        ef_json_time(&j, (struct ef_time){ns});
        *j.p = '\0';
        text[strlen(text) - 1] = '\0';
        assert_string_equal(text + 1, ef_time_format((struct ef_time){ns}, expected));
    }
}

static void
filters_see_packet_switches_and_verdicts(void **state)
{
    static const struct {
        const char *filter, *condition;
        bool match;
    } cases[] = {
        {"tcp.dstport == 80", NULL, true},
        {"tcp.dstport == 81", NULL, false},
        {"switch == 10.255.0.1", NULL, true},
        {"switch == 10.255.0.9", NULL, false},
        {"ip.src == 10.1.0.0/16", "trace.hops == 2", true},
        {"ip.src == 10.1.0.0/16", "trace.hops == 3", false},
        {NULL, "trace.latency_us > 12 && trace.copies == 3", true},
        {NULL, "trace.loop", false},
        {NULL, "trace.debug", false},
        {NULL, NULL, true},
    };
    struct ef_trace t = tcp_trace();
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        struct ef_filter *filter = NULL, *condition = NULL;
        struct ef_error err = EF_ERROR_INIT;
        if (cases[i].filter && ef_filter_compile(cases[i].filter, EF_FILTER_PACKET, &filter, &err)) {
            fail_msg("%s: %s", cases[i].filter, err.text);
        }
        if (cases[i].condition && ef_filter_compile(cases[i].condition, EF_FILTER_CONDITION, &condition, &err)) {
            fail_msg("%s: %s", cases[i].condition, err.text);
        }
        assert_int_equal(ef_trace_match(&t, filter, condition), cases[i].match);
        ef_filter_destroy(filter);
        ef_filter_destroy(condition);
    }
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_is_there),
        cmocka_unit_test(packets_without_ip_have_no_ip_fields),
        cmocka_unit_test(ipv6_has_the_protocol_behind_its_extensions),
        cmocka_unit_test(odd_bytes_are_still_json),
        cmocka_unit_test(the_longest_trace_fits_and_less_room_is_noticed),
        cmocka_unit_test(times_are_those_of_lib_base),
        cmocka_unit_test(filters_see_packet_switches_and_verdicts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
