/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the decision on a frame and of forwarding: where copies go, what they
 * look like there, and that every frame is counted once. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <event2/buffer.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "reshuffler/explain.h"
#include "reshuffler/forward.h"
#include "tools/copies.h"

#define VIP "10.255.255.1"
enum { N_ANALYZERS = 3, N_FLOWS = 512, N_SWITCHES = 5 };

struct fixture {
    struct ef_plan plan;
    char path[64], spec[80];
};

static int
set_up(void **state)
{
    static const char *const analyzers[N_ANALYZERS] = {"a1=10.1.0.21", "a2=10.2.0.21", "a3=10.3.0.21"};
    struct fixture *f = calloc(1, sizeof *f);
    snprintf(f->path, sizeof f->path, "/tmp/ef-test-forward-XXXXXX");
    int fd = mkstemp(f->path);
    if (fd < 0) {
        return -1;
    }
    close(fd);
    snprintf(f->spec, sizeof f->spec, "pcap:%s", f->path);
    int rc = ef_plan_add_vip(&f->plan, VIP, NULL) | ef_plan_add_vip(&f->plan, "10.255.255.2", NULL);
    for (int i = 0; i < N_ANALYZERS; i++) {
        rc |= ef_plan_add_analyzer(&f->plan, analyzers[i], NULL);
    }
    *state = f;
    return rc | ef_plan_finish(&f->plan, NULL);
}

static int
tear_down(void **state)
{
    struct fixture *f = *state;
    ef_plan_deinit(&f->plan);
    unlink(f->path);
    free(f);
    return 0;
}

static enum ef_drop_reason
decide(const struct fixture *f, const uint8_t *frame, int len, struct ef_decision *d)
{
    assert_true(len > 0);
    return ef_plan_decide(&f->plan, frame, (uint32_t) len, (uint32_t) len, d);
}

static void
flow_stays_together(void **state)
{
    uint8_t frame[TEST_COPY_MAX_BYTES];
    unsigned shares[N_ANALYZERS] = {0};
    for (unsigned flow = 0; flow < N_FLOWS; flow++) {
        int analyzer = -1;
        for (unsigned i = 0; i < N_SWITCHES * TEST_N_ENCAPSULATIONS; i++) {
            struct test_copy c = {
                .encapsulation = i % TEST_N_ENCAPSULATIONS,
                .switch_number = i / TEST_N_ENCAPSULATIONS,
                .flow = flow,
                .packet = flow % 16 == 15 ? 0 : i, /* Without IP, each packet is a flow. */
                .vip = VIP,
            };
            struct ef_decision d;
            assert_int_equal(decide(*state, frame, test_copy_build(&c, frame), &d), EF_DROP_NONE);
            assert_true(analyzer < 0 || analyzer == (int) d.analyzer);
            analyzer = (int) d.analyzer;
        }
        shares[analyzer]++;
    }
    for (int i = 0; i < N_ANALYZERS; i++) {
        assert_in_range(shares[i], N_FLOWS / N_ANALYZERS * 8 / 10, N_FLOWS / N_ANALYZERS * 12 / 10);
    }
}

static int
build_one(uint8_t *frame, const char *vip)
{
    return test_copy_build(&(struct test_copy){.encapsulation = EF_ENCAP_ERSPAN3, .vip = vip}, frame);
}

static void
others_copies_are_not_ours(void **state)
{
    uint8_t frame[TEST_COPY_MAX_BYTES];
    struct ef_decision d;
    assert_int_equal(decide(*state, frame, build_one(frame, "10.255.255.2"), &d), EF_DROP_NONE);
    assert_int_equal(decide(*state, frame, build_one(frame, "10.255.255.3"), &d), EF_DROP_NOT_OUR_VIP);
    assert_int_equal(decide(*state, frame, build_one(frame, "fd00::1"), &d), EF_DROP_NOT_OUR_VIP);
    /* The VIP in IPv4-mapped form, but in an IPv6 header. */
    int len = build_one(frame, "fd00::1");
    memcpy(frame + 14 + 24, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\xff\xff\x01", 16);
    assert_int_equal(decide(*state, frame, len, &d), EF_DROP_NOT_OUR_VIP);
}

static void
fragments_and_damage_are_refused(void **state)
{
    uint8_t frame[TEST_COPY_MAX_BYTES];
    struct ef_decision d;
    int len = build_one(frame, VIP);
    frame[14 + 6] = 0x20; /* More fragments. */
    assert_int_equal(decide(*state, frame, len, &d), EF_DROP_OUTER_FRAGMENT);
    frame[14 + 6] = 0x40;
    frame[14 + 15] ^= 1; /* Another switch's address, wrong checksum. */
    assert_int_equal(decide(*state, frame, len, &d), EF_DROP_OUTER_CHECKSUM);
    frame[14 + 15] ^= 1;
    assert_int_equal(decide(*state, frame, len, &d), EF_DROP_NONE);
    assert_int_equal(decide(*state, frame, len - 1, &d), EF_DROP_OUTER_TRUNCATED);
    assert_int_equal(decide(*state, frame, 30, &d), EF_DROP_OUTER_TRUNCATED);
    frame[12] = 0x86; /* EtherType */
    assert_int_equal(decide(*state, frame, len, &d), EF_DROP_NOT_A_COPY);
}

static void
malformed_originals_are_sent(void **state)
{
    uint8_t frame[TEST_COPY_MAX_BYTES];
    struct ef_decision d;
    int len = build_one(frame, VIP);
    frame[14 + 20 + 8 + 20 + 14] = 0x4f; /* The original's header length goes beyond it. */
    frame[14 + 20 + 8 + 20 + 14 + 3] = 20;
    assert_int_equal(decide(*state, frame, len, &d), EF_DROP_NONE);
    struct ef_packet original;
    assert_int_not_equal(ef_packet_parse(&original, d.copy.original, d.copy.original_len, d.copy.original_wire_len),
                         EF_PARSE_OK);
    struct ef_decision again;
    assert_int_equal(decide(*state, frame, len, &again), EF_DROP_NONE);
    assert_int_equal(again.analyzer, d.analyzer);
}

static void
nobody_to_send_to_is_a_reason(void **state)
{
    static struct ef_plan plan;
    uint8_t frame[TEST_COPY_MAX_BYTES];
    struct ef_decision d;
    assert_int_equal(ef_plan_add_vip(&plan, VIP, NULL), 0);
    assert_int_equal(ef_plan_finish(&plan, NULL), 0);
    int len = build_one(frame, VIP);
    assert_int_equal(ef_plan_decide(&plan, frame, (uint32_t) len, (uint32_t) len, &d), EF_DROP_NO_ANALYZER);
}

/* Damages one byte in some of the frames, so that every reason occurs. */
static int
make_frame(uint8_t frame[TEST_COPY_MAX_BYTES], unsigned i, const char *vip)
{
    struct test_copy c = {.encapsulation = i % TEST_N_ENCAPSULATIONS,
                          .switch_number = i % 4,
                          .flow = i * 7 % 1000,
                          .packet = i,
                          .vip = i % 11 == 3 ? "10.7.7.7" : vip};
    int len = test_copy_build(&c, frame);
    uint64_t random = ef_hash_mix(i + 12345);
    if (i % 3 == 0) {
        frame[random % 70] ^= (uint8_t) (1 + random / 70 % 255);
    }
    return i % 13 == 5 ? len - (int) (random % (unsigned) len) : len;
}

/* What arrives at the sink: from `frame`, with padding gone, TTL and destination
 * new, everything else as it was. */
static void
check_sent(const struct fixture *f, const struct ef_frame *sent, const uint8_t *frame, const struct ef_decision *d)
{
    const uint8_t *ip = sent->data + 14, *was = frame + d->copy.outer_ip_offset;
    assert_int_equal(sent->len - 14, d->len);
    assert_memory_equal(ip, was, 8);
    assert_int_equal(ip[8], 64);
    assert_int_equal(ip[9], 47);
    assert_memory_equal(ip + 12, was + 12, 4);
    assert_memory_equal(ip + 16, f->plan.analyzers[d->analyzer].address + 12, 4);
    assert_memory_equal(ip + 20, was + 20, d->len - 20);
    assert_int_equal(ef_checksum_fold(ef_checksum_add(0, ip, (ip[0] & 15u) * 4)), 0);
}

static void
every_frame_is_sent_or_counted(void **state)
{
    enum { N = 20000 };
    struct fixture *f = *state;
    static uint8_t frames[N][TEST_COPY_MAX_BYTES];
    static struct ef_frame views[N];
    static struct ef_forwarder forwarder;
    forwarder.plan = &f->plan;
    assert_int_equal(ef_ledger_init(&forwarder.ledger), 0);
    assert_int_equal(ef_sink_open(f->spec, &forwarder.sink, NULL), 0);
    for (unsigned i = 0; i < N; i++) {
        uint32_t len = (uint32_t) make_frame(frames[i], i, VIP);
        views[i] = (struct ef_frame){.data = frames[i], .len = len, .wire_len = len};
    }
    for (unsigned i = 0; i < N; i += EF_BURST) {
        ef_forward_burst(&forwarder, views + i, (int) EF_MIN(N - i, (unsigned) EF_BURST));
    }
    ef_sink_close(forwarder.sink);
    ef_ledger_deinit(&forwarder.ledger);

    struct ef_totals totals = {0};
    uint64_t drops = 0, steered = 0;
    ef_tally_add_to(&forwarder.tally, &totals);
    for (int i = 0; i < EF_N_DROP_REASONS; i++) {
        drops += totals.drops[i];
    }
    for (int i = 0; i < N_ANALYZERS; i++) {
        steered += totals.steered[i];
    }
    assert_int_equal(totals.received, N);
    assert_int_equal(totals.received, totals.sent + drops);
    assert_int_equal(totals.sent, steered);
    static const enum ef_drop_reason must_occur[] = {EF_DROP_NOT_A_COPY,      EF_DROP_OUTER_FRAGMENT,
                                                     EF_DROP_OUTER_TRUNCATED, EF_DROP_OUTER_CHECKSUM,
                                                     EF_DROP_BAD_GRE,         EF_DROP_NOT_OUR_VIP};
    for (size_t i = 0; i < EF_ARRAY_SIZE(must_occur); i++) {
        assert_true(totals.drops[must_occur[i]] > 0);
    }

    struct ef_source *source;
    struct ef_frame sent;
    assert_int_equal(ef_source_open(f->spec, 0, &source, NULL), 0);
    uint64_t n_sent = 0;
    for (unsigned i = 0; i < N; i++) {
        struct ef_decision d;
        if (!ef_plan_decide(&f->plan, views[i].data, views[i].len, views[i].wire_len, &d)) {
            assert_int_equal(ef_source_receive(source, &sent, 1, 0), 1);
            check_sent(f, &sent, frames[i], &d);
            n_sent++;
        }
    }
    assert_int_equal(n_sent, totals.sent);
    assert_int_equal(ef_source_receive(source, &sent, 1, 0), -ENODATA);
    ef_source_close(source);
}

static void
explain_frame(const struct fixture *f, const uint8_t *frame, int len, const char *expected)
{
    char hex[2 * TEST_COPY_MAX_BYTES + 1], *words[] = {hex};
    for (int i = 0; i < len; i++) {
        snprintf(hex + 2 * i, 3, "%02x", frame[i]);
    }
    struct evbuffer *reply = evbuffer_new();
    assert_int_equal(ef_explain_words(&f->plan, 1, words, reply, NULL), 0);
    evbuffer_add(reply, "", 1);
    const char *text = (const char *) evbuffer_pullup(reply, -1);
    if (!strstr(text, expected)) {
        fail_msg("'%s' is not in:\n%s", expected, text);
    }
    evbuffer_free(reply);
}

static void
decisions_are_explained(void **state)
{
    uint8_t frame[TEST_COPY_MAX_BYTES];
    int len = build_one(frame, VIP);
    explain_frame(*state, frame, len, "copy:      from 10.255.0.1 to 10.255.255.1, ERSPAN III, port 1, sequence 0\n");
    explain_frame(*state, frame, len, "original:  10.1.0.1:30000 > 10.10.0.1:80 TCP");
    explain_frame(*state, frame, len, " of 65537\nsent to:   a");
    len = build_one(frame, "10.8.8.8");
    explain_frame(*state, frame, len, "discarded: not_our_vip (the copy is not addressed to us)\n");

    static const char *const wrong[] = {"", "abc", "0x12", "zz"};
    for (size_t i = 0; i < EF_ARRAY_SIZE(wrong); i++) {
        char *words[] = {(char *) wrong[i]};
        struct ef_error err = EF_ERROR_INIT;
        assert_int_equal(ef_explain_words(&((struct fixture *) *state)->plan, 1, words, NULL, &err), -EINVAL);
        assert_non_null(strstr(err.text, "hexadecimal digits"));
    }
}

int
main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
    static const struct CMUnitTest tests[] = {
        TEST(flow_stays_together),          TEST(others_copies_are_not_ours),    TEST(fragments_and_damage_are_refused),
        TEST(malformed_originals_are_sent), TEST(nobody_to_send_to_is_a_reason), TEST(every_frame_is_sent_or_counted),
        TEST(decisions_are_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
