/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the analyzer's threads together: capture files in, traces out. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <event2/buffer.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/analyzer.h"
#include "analyzer/explain.h"
#include "analyzer/status.h"
#include "packet/build.h"

enum { HOPS = 5, START_S = 1795228200 };

/* --- Captures ------------------------------------------------------------------- */

/* A copy of TCP packet `n` at its `hop`th switch, as a frame; its length. */
static uint32_t
make_frame(uint8_t *frame, uint32_t size, unsigned n, unsigned hop)
{
    uint8_t original[256], headers[128];
    char src[32];
    struct ef_build b;
    snprintf(src, sizeof src, "10.%u.%u.%u", n >> 16 & 255, n >> 8 & 255, n & 255);
    ef_build_start(&b, original, sizeof original);
    ef_build_eth(&b);
    ef_build_ipv4(&b, src, "10.200.0.1")[8] = (uint8_t) (64 - hop);
    ef_build_tcp(&b, 1000, 80, EF_TCP_SYN);
    int original_len = ef_build_finish(&b);
    assert_true(original_len > 0);
    struct ef_copy copy = {
        .switch_address = {[10] = 0xff, 0xff, 10, 255, 0, (uint8_t) (hop + 1)},
        .target_address = {[10] = 0xff, 0xff, 10, 255, 255, 1},
        .encapsulation = EF_ENCAP_ERSPAN3,
        .has_sequence = true,
        .has_port = true,
        .has_switch_time = true,
        .sequence = n,
        .port = 100 + hop,
        .switch_time = {START_S * EF_NS_PER_S + n * 1000 + hop},
        .original = original,
        .original_len = (uint32_t) original_len,
        .original_wire_len = (uint32_t) original_len,
    };
    int headers_len = ef_copy_build_headers(&copy, headers, sizeof headers);
    assert_true(headers_len > 0 && (uint32_t) (headers_len + original_len) <= size);
    memcpy(frame, headers, (size_t) headers_len);
    memcpy(frame + headers_len, original, (size_t) original_len);
    return (uint32_t) (headers_len + original_len);
}

static FILE *
open_capture(char *path)
{
    static const uint32_t header[] = {0xa1b23c4d, 4 << 16 | 2, 0, 0, 65535, 1};
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *f = fdopen(fd, "w");
    fwrite(header, sizeof header, 1, f);
    return f;
}

static void
write_frame(FILE *f, int64_t ns, const uint8_t *frame, uint32_t len, uint32_t wire_len)
{
    uint32_t header[] = {(uint32_t) (ns / EF_NS_PER_S), (uint32_t) (ns % EF_NS_PER_S), len, wire_len};
    fwrite(header, sizeof header, 1, f);
    fwrite(frame, len, 1, f);
}

/* Writes hops [from, to) of `n` packets, a packet every `gap_ns`, each hop 200
 * packets after the one before. */
static void
write_capture(char *path, unsigned n, unsigned from, unsigned to, int64_t gap_ns)
{
    FILE *f = open_capture(path);
    uint8_t frame[512];
    for (unsigned step = 0; step < n + 200 * HOPS; step++) {
        for (unsigned hop = from; hop < to; hop++) {
            if (step >= 200 * hop && step - 200 * hop < n) {
                uint32_t len = make_frame(frame, sizeof frame, step - 200 * hop, hop);
                write_frame(f, START_S * EF_NS_PER_S + step * gap_ns + hop, frame, len, len);
            }
        }
    }
    fclose(f);
}

/* --- The analyzer ----------------------------------------------------------------- */

static struct ef_analyzer *
start(unsigned n_workers, unsigned n_sources, char (*paths)[64], uint64_t memory_bytes)
{
    static char specs[4][80];
    struct ef_analyzer_config config = {.name = "test",
                                        .n_sources = n_sources,
                                        .n_workers = n_workers,
                                        .memory_bytes = memory_bytes,
                                        .idle_ns = EF_NS_PER_S};
    for (unsigned i = 0; i < n_sources; i++) {
        snprintf(specs[i], sizeof specs[i], "pcap:%s", paths[i]);
        config.sources[i] = specs[i];
    }
    struct ef_analyzer *analyzer;
    struct ef_error err = EF_ERROR_INIT;
    if (ef_analyzer_create(&config, &analyzer, &err) || ef_analyzer_start(analyzer, &err)) {
        fail_msg("%s", err.text);
    }
    return analyzer;
}

/* Waits until all that came has become part of a closed, stored trace or been
 * dropped. */
static struct ef_status
wait_until_done(struct ef_analyzer *analyzer, uint64_t n_frames)
{
    struct ef_status s;
    uint64_t accounted;
    do {
        sched_yield();
        ef_status_collect(analyzer, &s);
        accounted = s.copies_assembled;
        for (int i = 0; i < EF_N_DROP_REASONS; i++) {
            accounted += s.drops[i];
        }
    } while (accounted < n_frames || s.traces_closed < s.traces_opened ||
             s.store.n_stored + s.store.n_evicted < s.traces_closed);
    assert_int_equal(s.copies_received, n_frames);
    assert_int_equal(accounted, n_frames);
    return s;
}

static uint64_t
count_whole_traces(struct ef_analyzer *analyzer)
{
    struct ef_trace_query query = {.start = {INT64_MIN}, .end = {INT64_MAX}};
    struct ef_trace_cursor *cursor;
    assert_int_equal(ef_trace_store_query(analyzer->store, &query, &cursor, NULL), 0);
    static struct ef_trace t;
    uint64_t n = 0;
    for (int rc; (rc = ef_trace_cursor_next(cursor, &t));) {
        if (rc > 0) {
            assert_int_equal(t.n_hops, HOPS);
            for (int i = 0; i < HOPS; i++) {
                assert_int_equal(t.hops[i].switch_address[15], i + 1);
                assert_int_equal(t.hops[i].sequence, t.hops[0].sequence);
            }
            assert_false(t.copies_lost);
            assert_int_equal(ef_trace_latency_ns(&t), HOPS - 1);
            n++;
        }
    }
    ef_trace_cursor_close(cursor);
    return n;
}

static void
two_captures_meet_in_whole_traces(void **state)
{
    enum { PACKETS = 4000 };
    char paths[2][64] = {"/tmp/ef-test-analyzer-XXXXXX", "/tmp/ef-test-analyzer-XXXXXX"};
    write_capture(paths[0], PACKETS, 0, 2, 100000);
    write_capture(paths[1], PACKETS, 2, HOPS, 100000);
    for (unsigned n_workers = 1; n_workers <= 4; n_workers += 3) {
        struct ef_analyzer *analyzer = start(n_workers, 2, paths, 64 << 20);
        struct ef_status s = wait_until_done(analyzer, PACKETS * HOPS);
        assert_int_equal(s.copies_assembled, PACKETS * HOPS);
        assert_int_equal(s.traces_closed, PACKETS);
        assert_int_equal(count_whole_traces(analyzer), PACKETS);
        json_t *json = ef_status_json(analyzer);
        json_t *sw = json_object_get(json_object_get(json, "switches"), "10.255.0.5");
        assert_int_equal(json_integer_value(json_object_get(sw, "copies")), PACKETS);
        assert_int_equal(json_integer_value(json_object_get(sw, "first_sequence")), 0);
        assert_int_equal(json_integer_value(json_object_get(sw, "last_sequence")), PACKETS - 1);
        json_decref(json);
        ef_analyzer_destroy(analyzer);
    }
    unlink(paths[0]);
    unlink(paths[1]);
}

/* More packets within the idle time than the smallest memory holds open. */
static void
a_flood_costs_whole_traces(void **state)
{
    enum { PACKETS = 30000 };
    char paths[1][64] = {"/tmp/ef-test-analyzer-XXXXXX"};
    write_capture(paths[0], PACKETS, 0, HOPS, 1000);
    struct ef_analyzer *analyzer = start(2, 1, paths, 16 << 20);
    struct ef_status s = wait_until_done(analyzer, PACKETS * HOPS);
    assert_true(s.drops[EF_DROP_TABLE_FULL] > PACKETS);
    assert_int_equal(s.traces_closed, s.traces_capacity);
    assert_int_equal(s.copies_assembled, s.traces_closed * HOPS);
    assert_int_equal(analyzer->plan.total, 16 << 20);
    ef_analyzer_destroy(analyzer);
    unlink(paths[0]);
}

static void
what_is_no_copy_is_counted_by_reason(void **state)
{
    char paths[1][64] = {"/tmp/ef-test-analyzer-XXXXXX"};
    FILE *f = open_capture(paths[0]);
    uint8_t frame[512];
    uint32_t len = make_frame(frame, sizeof frame, 1, 0);
    for (uint32_t cut = 0; cut < len; cut++) {
        write_frame(f, START_S * EF_NS_PER_S, frame, cut, len);
    }
    frame[23] = 6;
    write_frame(f, START_S * EF_NS_PER_S, frame, len, len);
    fclose(f);
    struct ef_analyzer *analyzer = start(2, 1, paths, 16 << 20);
    struct ef_status s = wait_until_done(analyzer, len + 1);
    assert_true(s.drops[EF_DROP_NOT_A_COPY] > 0);
    assert_true(s.drops[EF_DROP_OUTER_TRUNCATED] > 0);
    assert_true(s.drops[EF_DROP_INNER_MALFORMED] > 0);
    ef_analyzer_destroy(analyzer);
    unlink(paths[0]);
}

/* It runs, and is stopped in the middle of things. */
static void
it_stops_at_any_time(void **state)
{
    char paths[1][64] = {"/tmp/ef-test-analyzer-XXXXXX"};
    write_capture(paths[0], 5000, 0, HOPS, 1000);
    for (int i = 0; i < 20; i++) {
        struct ef_analyzer *analyzer = start(2, 1, paths, 16 << 20);
        for (int k = 0; k < i; k++) {
            sched_yield();
        }
        ef_analyzer_destroy(analyzer);
    }
    unlink(paths[0]);
}

static void
what_cannot_start_says_why(void **state)
{
    struct ef_analyzer *analyzer;
    struct ef_error err = EF_ERROR_INIT;
    struct ef_analyzer_config config = {
        .name = "x", .n_sources = 1, .n_workers = 1, .memory_bytes = 16 << 20, .idle_ns = 1, .sources = {"pcap:/none"}};
    assert_true(ef_analyzer_create(&config, &analyzer, &err) < 0);
    assert_non_null(strstr(err.text, "/none"));
    config.n_workers = 64;
    assert_int_equal(ef_analyzer_create(&config, &analyzer, &err), -EINVAL);
    assert_non_null(strstr(err.text, "too little"));
}

static void
memory_is_divided_without_a_rest(void **state)
{
    for (uint64_t limit = 16 << 20; limit < 1ull << 34; limit += limit / 3) {
        for (unsigned n_sources = 1; n_sources <= 4; n_sources++) {
            for (unsigned n_workers = 1; n_workers <= 8; n_workers++) {
                struct ef_memory_plan plan;
                if (!ef_memory_plan_make(&plan, limit, n_sources, n_workers, false, NULL)) {
                    assert_int_equal(plan.total, limit);
                    assert_true(plan.store_bytes >= limit / 5);
                }
                if (!ef_memory_plan_make(&plan, limit, n_sources, n_workers, true, NULL)) {
                    assert_int_equal(plan.total, limit);
                    assert_true(plan.fate_bytes > 0 && plan.store_bytes > 0);
                }
            }
        }
    }
}

static void
frames_are_explained(void **state)
{
    uint8_t frame[512];
    char hex[1100], *words[] = {hex}, *bad[] = {"0g"}, *odd[] = {"012"}, *other[] = {"00:11", "22"};
    uint32_t len = make_frame(frame, sizeof frame, 77, 2);
    for (uint32_t i = 0; i < len; i++) {
        snprintf(hex + 2 * i, 3, "%02X", frame[i]);
    }
    struct ef_error err = EF_ERROR_INIT;
    struct evbuffer *reply = evbuffer_new();
    assert_int_equal(ef_explain_words(3, 1, words, reply, &err), 0);
    evbuffer_add(reply, "", 1);
    const char *text = (const char *) evbuffer_pullup(reply, -1);
    assert_non_null(strstr(text, "from switch 10.255.0.3 to 10.255.255.1, ingress, port 102, sequence 77"));
    assert_non_null(strstr(text, "TTL 62"));
    assert_non_null(strstr(text, "10.0.0.77:1000 > 10.200.0.1:80 TCP"));
    assert_non_null(strstr(text, " of 3"));
    evbuffer_drain(reply, evbuffer_get_length(reply));
    assert_int_equal(ef_explain_words(3, 1, bad, reply, &err), -EINVAL);
    assert_int_equal(ef_explain_words(3, 1, odd, reply, &err), -EINVAL);
    assert_int_equal(ef_explain_words(3, 0, NULL, reply, &err), -EINVAL);
    assert_int_equal(ef_explain_words(3, 2, other, reply, &err), 0);
    evbuffer_add(reply, "", 1);
    assert_non_null(strstr((const char *) evbuffer_pullup(reply, -1), "discarded: "));
    evbuffer_free(reply);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_captures_meet_in_whole_traces),
        cmocka_unit_test(a_flood_costs_whole_traces),
        cmocka_unit_test(what_is_no_copy_is_counted_by_reason),
        cmocka_unit_test(it_stops_at_any_time),
        cmocka_unit_test(what_cannot_start_says_why),
        cmocka_unit_test(memory_is_divided_without_a_rest),
        cmocka_unit_test(frames_are_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
