/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what the controller does to rows and traces: rows compared and
 * shown, lines of analyzers checked, frames patched, captures written. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <event2/buffer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/byteorder.h"
#include "controller/everflow_row.h"
#include "controller/hop_frame.h"
#include "controller/trace_export.h"
#include "controller/trace_line.h"
#include "controller/trace_query.h"
#include "controller/trace_record.h"
#include "packet/packet.h"
#include "net/ovsdb_value.h"

static json_t *
json(const char *text)
{
    json_error_t err;
    json_t *value = json_loads(text, 0, &err);
    if (!value) {
        fail_msg("%s: %s", text, err.text);
    }
    return value;
}

/* --- Rows ----------------------------------------------------------------- */

static void
rows_are_compared_and_shown(void **state)
{
    struct everflow_settings s = {.targets = json("[\"10.0.0.1\"]"),
                                  .classes = json("[\"tcp_syn\",\"debug\"]"),
                                  .encap = "gre",
                                  .debug_dscp = 1,
                                  .sample_value = 1,
                                  .rate_kpps = 50,
                                  .decap = true,
                                  .routing = "native",
                                  .ttl_exceeded_rate = 100};
    json_t *desired = everflow_row_desired(&s, "10.255.0.1", "fd00::1");
    json_t *row =
        json("{\"source_ip\":\"10.255.0.1\",\"targets\":[\"set\",[\"10.0.0.1\"]],\"encap\":\"gre\","
             "\"classes\":[\"set\",[\"debug\",\"tcp_syn\"]],\"debug_dscp\":1,\"sample_bits\":0,"
             "\"sample_value\":1,\"truncate\":0,\"rate_kpps\":50,\"burst\":0,\"decap\":true,\"probe_"
             "sources\":[\"set\",[]],\"routing\":\"native\",\"ttl_exceeded\":false,"
             "\"ttl_exceeded_rate\":100,\"egress\":false,\"drop_copies\":[\"set\",[]],\"external_ids\":[\"map\",[["
             "\"owner\",\"everflow-controller\"],"
             "[\"note\",\"kept\"]]],\"statistics\":[\"map\",[[\"copies\",7]]]}");
    assert_true(everflow_row_matches(row, desired));
    assert_true(everflow_row_is_ours(row));
    s.ttl_exceeded = true; /* For this, the second address is needed, and the order in a set is nobody's. */
    json_t *both = everflow_row_desired(&s, "10.255.0.1", "fd00::1"),
           *wanted = json("[\"set\",[\"fd00::1\",\"10.255.0.1\"]]");
    assert_true(ef_ovsdb_value_equal(json_object_get(both, "source_ip"), wanted));
    json_decref(both);
    both = everflow_row_desired(&s, "10.255.0.1", NULL);
    assert_string_equal(json_string_value(json_object_get(both, "source_ip")), "10.255.0.1");
    json_decref(both);
    json_decref(wanted);
    s.egress = true;
    s.drop_copies = "chosen";
    both = everflow_row_desired(&s, "10.255.0.1", NULL);
    assert_true(json_is_true(json_object_get(both, "egress")));
    assert_string_equal(json_string_value(json_object_get(both, "drop_copies")), "chosen");
    json_decref(both);
    json_t *shown = everflow_row_show(row), *statistics = everflow_row_show_map(row, "statistics");
    json_t *expected = json("{\"source_ip\":\"10.255.0.1\",\"targets\":[\"10.0.0.1\"],\"encap\":\"gre\","
                            "\"classes\":[\"debug\",\"tcp_syn\"],\"debug_dscp\":1,\"sample_bits\":0,\"sample_value\":1,"
                            "\"truncate\":0,\"rate_kpps\":50,\"burst\":0,\"decap\":true,\"probe_sources\":[],"
                            "\"routing\":\"native\",\"ttl_exceeded\":false,\"ttl_exceeded_rate\":100,\"egress\":false,"
                            "\"drop_copies\":null,\"edge_ports\":[]}");
    assert_true(json_equal(shown, expected));
    assert_int_equal(json_integer_value(json_object_get(statistics, "copies")), 7);
    json_object_set_new(row, "truncate", json_integer(64));
    assert_false(everflow_row_matches(row, desired));
    json_object_set_new(row, "truncate", json_array()); /* What no server would send. */
    assert_false(everflow_row_matches(row, desired));
    json_object_set_new(row, "external_ids", json("[\"map\",[[\"owner\",\"me\"]]]"));
    assert_false(everflow_row_is_ours(row));
    json_t *insert = everflow_row_insert(desired), *update = everflow_row_update("u-u-i-d", desired);
    assert_int_equal(json_array_size(insert), 3);
    assert_int_equal(json_array_size(update), 1);
    json_t *const all[] = {s.targets, s.classes, desired, row, shown, statistics, expected, insert, update};
    for (size_t i = 0; i < EF_ARRAY_SIZE(all); i++) {
        json_decref(all[i]);
    }
}

/* --- Lines ---------------------------------------------------------------- */

#define NS_HEAD \
    "\"id\":\"0123456789abcdef\",\"start\":\"2026-01-01T00:00:00.500000007Z\",\"packet\":{\"summary\":\"a > b\"}"
#define HEAD "\"id\":\"0123456789abcdef\",\"start\":\"2026-01-01T00:00:00.5Z\",\"packet\":{}"

static void
lines_are_checked(void **state)
{
    static const struct {
        const char *line;
        int kind;
    } cases[] = {
        {"{" HEAD ",\"hops\":[{\"switch\":\"10.0.0.1\"}]}", TRACE_RECORD_TRACE},
        {"{" HEAD ",\"hops\":[]}", TRACE_RECORD_TRACE},
        {"{\"end\":true,\"count\":1}", TRACE_RECORD_END},
        {"{\"end\":false}", -EPROTO},
        {"", -EPROTO},
        {"null", -EPROTO},
        {"[]", -EPROTO},
        {"{}", -EPROTO},
        {"{" HEAD "}", -EPROTO},
        {"{" HEAD ",\"hops\":{}}", -EPROTO},
        {"{" HEAD ",\"hops\":[1]}", -EPROTO},
        {"{" HEAD ",\"hops\":[{\"switch\":1}]}", -EPROTO},
        {"{\"id\":\"0123456789abcdeg\",\"start\":\"0\",\"packet\":{},\"hops\":[]}", -EPROTO},
        {"{\"id\":\"0123456789abcdef\",\"start\":\"soon\",\"packet\":{},\"hops\":[]}", -EPROTO},
        {"{\"id\":\"0123456789abcdef\",\"start\":\"0\",\"packet\":[],\"hops\":[]}", -EPROTO},
        {"{" HEAD ",\"hops\":[]", -EPROTO},
        {"\xff\xfe", -EPROTO},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        json_t *record = NULL;
        struct ef_time start;
        assert_int_equal(trace_record_parse(cases[i].line, strlen(cases[i].line), &record, &start, NULL),
                         cases[i].kind);
        json_decref(record);
    }
}

/* What is read in one pass must be what the JSON library makes of it. */
static void
lines_are_named_in_one_pass(void **state)
{
    static const struct {
        const char *line;
        bool is_plain;
    } cases[] = {
        {"{" NS_HEAD ",\"hops\":[{\"switch\":\"10.0.0.1\",\"port\":3}]}", true},
        {"{" NS_HEAD ",\"hops\":[{\"switch\":\"10.0.0.1\"},{\"switch\":\"10.0.0.9\"},{\"switch\":\"10.0.0.2\"}]}",
         true},
        {"{" NS_HEAD ",\"hops\":[]}", true},
        {"{" NS_HEAD ",\"hops\":[],\"end\":\"2026-01-01T00:00:01Z\",\"expected\":\"10.0.0.2\"}", true},
        {"{" NS_HEAD ",\"hops\":[],\"expected\":null,\"x\":[1,-2.50,0,0.125,true,false,[{}],\"\"]}", true},
        {"{" HEAD ",\"hops\":[]}", false},                                            /* Another form of time. */
        {"{" NS_HEAD ",\"hops\":[{\"port\":3,\"switch\":\"10.0.0.1\"}]}", false},     /* Another order. */
        {"{" NS_HEAD ",\"hops\":[{\"switch\":\"10.0.0.1\",\"name\":\"x\"}]}", false}, /* A name already. */
        {"{" NS_HEAD ",\"hops\":[{\"switch\":\"10.0.0.1\",\"switch\":\"10.0.0.2\"}]}", false},
        {"{" NS_HEAD ",\"hops\":[{\"switch\":\"10.0.0.\\u0031\"}]}", false},
        {"{" NS_HEAD ",\"hops\":[],\"hops\":[]}", false},
        {"{" NS_HEAD ",\"hops\":[],\"id\":\"0123456789abcdef\"}", false},
        {"{" NS_HEAD ",\"hops\":[],\"expected_name\":\"x\"}", false},
        {"{" NS_HEAD ",\"hops\":[],\"x\":\"\xc3\xa4\"}", false},
        {"{" NS_HEAD ",\"hops\":[],\"x\":1e3}", false},
        {"{" NS_HEAD ", \"hops\":[]}", false},
        {"{\"end\":true,\"count\":1}", false},
    };
    static struct topology_switch switches[] = {{.name = "leaf1"}, {.name = "leaf2"}};
    static struct topology_switch *by_address[] = {&switches[0], &switches[1]};
    static const struct topology topology = {.switches = switches, .n_switches = 2, .by_address = by_address};
    struct trace_line_reader reader = {.topology = &topology};
    ef_address_parse("10.0.0.1", switches[0].address);
    ef_address_parse("10.0.0.2", switches[1].address);
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        struct trace_item *item = NULL;
        size_t len = strlen(cases[i].line);
        assert_int_equal(trace_line_read(&reader, cases[i].line, len, &item), cases[i].is_plain);
        if (cases[i].is_plain) {
            json_t *record, *named = json(item->json);
            struct ef_time start;
            assert_int_equal(strlen(item->json), item->len);
            assert_int_equal(trace_record_parse(cases[i].line, len, &record, &start, NULL), TRACE_RECORD_TRACE);
            trace_record_name_hops(record, &topology);
            assert_true(json_equal(record, named));
            assert_int_equal(item->key.start.ns, start.ns);
            json_decref(record);
            json_decref(named);
        }
        free(item);
    }
}

/* No beginning of a line is taken for one, nor one with a byte that does not belong. */
static void
broken_lines_are_left_to_others(void **state)
{
    static const char line[] = "{" NS_HEAD ",\"hops\":[{\"switch\":\"10.0.0.1\",\"port\":-3.5,\"x\":null}],\"y\":{}}";
    static const char wrong[] = {'\0', '\n', '\\', '\x80', '{', ']', '~'};
    static const struct topology topology = {0};
    struct trace_line_reader reader = {.topology = &topology};
    struct trace_item *item;
    char text[sizeof line];
    for (size_t len = 0; len < sizeof line; len++) {
        memcpy(text, line, len);
        text[len] = '\0';
        assert_int_equal(trace_line_read(&reader, text, len, &item), len == sizeof line - 1);
        if (len == sizeof line - 1) {
            free(item);
        }
    }
    for (size_t i = 0; i < (sizeof line - 1) * sizeof wrong; i++) {
        struct ef_time start;
        json_t *record;
        memcpy(text, line, sizeof line);
        text[i / sizeof wrong] = wrong[i % sizeof wrong];
        if (trace_line_read(&reader, text, sizeof line - 1, &item) == 1) { /* "~" within a string. */
            assert_int_equal(trace_record_parse(text, sizeof line - 1, &record, &start, NULL), TRACE_RECORD_TRACE);
            json_decref(record);
            free(item);
        }
    }
}

/* --- Frames --------------------------------------------------------------- */

static const char frame_hex[] = "020000000002020000000001"
                                "0800"
                                "4500002800010000400600000a0000010a000002"
                                "0050005100000001000000005002ffff00000000";

static void
frames_are_patched(void **state)
{
    uint8_t frame[100];
    int len = hop_frame_decode(frame_hex, frame, sizeof frame);
    assert_int_equal(len, 54);
    json_t *hop = json("{\"src_mac\":\"02:00:00:00:00:aa\",\"ttl\":61,\"dscp\":2,\"ecn\":1}");
    hop_frame_patch(frame, (size_t) len, hop);
    assert_int_equal(frame[11], 0xaa);
    assert_int_equal(frame[14 + 8], 61);
    assert_int_equal(frame[14 + 1], 2 << 2 | 1);
    uint32_t sum = 0;
    for (int i = 0; i < 20; i += 2) {
        sum += ef_load_be16(frame + 14 + i);
    }
    assert_int_equal((sum >> 16) + (sum & 0xffff), 0xffff); /* The header's checksum is right. */
    /* Hops that lie, and frames that are cut anywhere, do no harm. */
    json_t *lie = json("{\"src_mac\":\"zz\",\"ttl\":-1,\"dscp\":64,\"ecn\":\"x\"}");
    for (int n = 0; n <= len; n++) {
        uint8_t *piece = malloc((size_t) n + 1);
        hop_frame_decode(frame_hex, piece, (size_t) n);
        hop_frame_patch(piece, (size_t) n, lie);
        hop_frame_patch(piece, (size_t) n, hop);
        free(piece);
    }
    json_decref(hop);
    json_decref(lie);
    assert_int_equal(hop_frame_decode("0", frame, sizeof frame), -EINVAL);
    assert_int_equal(hop_frame_decode("0g", frame, sizeof frame), -EINVAL);
    assert_int_equal(hop_frame_decode("", frame, sizeof frame), 0);
}

/* --- Captures ------------------------------------------------------------- */

static int
add(struct trace_export *e, const char *packet, const char *hops, struct evbuffer *out)
{
    char text[2048];
    int n =
        snprintf(text, sizeof text,
                 "{\"id\":\"00000000000000ff\",\"start\":\"0\",\"time_source\":\"switch\",\"packet\":%s,\"hops\":%s}",
                 packet, hops);
    return trace_export_add(e, text, (size_t) n, out);
}

/* The times (in ns) of the enhanced packet blocks in a capture. */
static size_t
packet_times(const uint8_t *data, size_t len, uint64_t *times, size_t max)
{
    size_t n = 0;
    for (size_t at = 0; at + 12 <= len;) {
        uint32_t head[5] = {0};
        memcpy(head, data + at, EF_MIN(sizeof head, len - at));
        if (head[0] == 6 && n < max) {
            times[n++] = (uint64_t) head[3] << 32 | head[4];
        }
        assert_true(head[1] >= 12 && head[1] <= len - at);
        at += head[1];
    }
    return n;
}

static void
captures_are_sorted_by_time(void **state)
{
    struct topology topology = {0};
    struct trace_export *e = trace_export_create(&topology);
    struct evbuffer *out = evbuffer_new();
    char packet[256];
    snprintf(packet, sizeof packet, "{\"length\":54,\"hex\":\"%s\"}", frame_hex);
    assert_int_equal(trace_export_start(e, "a comment", out), 0);
    assert_int_equal(add(e, packet,
                         "[{\"switch\":\"10.255.0.1\",\"switch_time\":\"500\",\"arrival\":\"9\",\"ttl\":64},"
                         "{\"switch\":\"10.255.0.2\",\"switch_time\":\"700\",\"arrival\":\"1\",\"ttl\":63}]",
                         out),
                     0);
    assert_int_equal(add(e, packet, "[{\"switch\":\"10.255.0.1\",\"switch_time\":\"600\",\"ttl\":64}]", out), 0);
    assert_int_equal(add(e, packet, "[{\"switch\":\"10.255.0.1\",\"arrival\":\"650\",\"ttl\":64}]", out), 0);
    assert_int_equal(add(e, packet, "[{\"switch\":\"10.255.0.1\"}]", out), -EINVAL);
    assert_int_equal(add(e, packet, "[{\"switch\":\"x\",\"arrival\":\"1\"}]", out), -EINVAL);
    assert_int_equal(add(e, "{}", "[]", out), -EINVAL);
    assert_int_equal(add(e, "{\"hex\":\"\"}", "[]", out), -EINVAL);
    assert_int_equal(trace_export_idle(e, out), 0);
    assert_true(trace_export_drain(e, SIZE_MAX, out));
    assert_int_equal(trace_export_end(e, "another comment", out), 0);
    uint64_t times[8];
    size_t len = evbuffer_get_length(out);
    assert_int_equal(packet_times(evbuffer_pullup(out, -1), len, times, 8), 4);
    for (size_t i = 0; i < 4; i++) {
        static const uint64_t expected[] = {500, 600, 650, 700};
        assert_int_equal(times[i], expected[i]);
    }
    trace_export_destroy(e);
    evbuffer_drain(out, len);
    e = trace_export_create(&topology); /* Nothing found is a capture, too. */
    assert_int_equal(trace_export_start(e, NULL, out), 0);
    assert_true(trace_export_drain(e, SIZE_MAX, out));
    assert_int_equal(trace_export_end(e, NULL, out), 0);
    assert_true(evbuffer_get_length(out) > 0);
    trace_export_destroy(e);
    evbuffer_free(out);
}

/* However long: what is held is bounded, and times that are mixed within that come in order. */
static void
captures_are_streams(void **state)
{
    enum { N = 100000, MIXED = 10000, HELD = 65536 };
    struct topology topology = {0};
    struct trace_export *e = trace_export_create(&topology);
    struct evbuffer *out = evbuffer_new();
    uint64_t *times = malloc(N * sizeof *times);
    char packet[256], hops[256];
    size_t n = 0, n_written = 0;
    assert_non_null(times);
    snprintf(packet, sizeof packet, "{\"length\":54,\"hex\":\"%s\"}", frame_hex);
    assert_int_equal(trace_export_start(e, "all", out), 0);
    for (unsigned i = 0; i < N; i++) {
        unsigned time = i / MIXED * MIXED + (MIXED - 1 - i % MIXED); /* Blocks from behind. */
        snprintf(hops, sizeof hops, "[{\"switch\":\"10.255.%u.1\",\"arrival\":\"%u\"}]", time % 200, time);
        assert_int_equal(add(e, packet, hops, out), 0);
        n_written = evbuffer_get_length(out);
        assert_true(i < HELD || n_written > (size_t) (i - HELD) * 54);
    }
    for (bool is_empty = false; !is_empty;) { /* As much at a time as is asked for. */
        size_t before = evbuffer_get_length(out);
        is_empty = trace_export_drain(e, before + 65536, out);
        assert_true(evbuffer_get_length(out) < before + 65536 + 1024);
        assert_true(is_empty || evbuffer_get_length(out) > before);
    }
    assert_int_equal(trace_export_end(e, "complete", out), 0);
    n = packet_times(evbuffer_pullup(out, -1), evbuffer_get_length(out), times, N);
    assert_int_equal(n, N);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(times[i], i);
    }
    free(times);
    trace_export_destroy(e);
    evbuffer_free(out);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_compared_and_shown), cmocka_unit_test(lines_are_checked),
        cmocka_unit_test(lines_are_named_in_one_pass), cmocka_unit_test(broken_lines_are_left_to_others),
        cmocka_unit_test(frames_are_patched),          cmocka_unit_test(captures_are_sorted_by_time),
        cmocka_unit_test(captures_are_streams),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
