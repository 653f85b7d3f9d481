/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the way from missing sequence numbers to what analyzers are told:
 * the holes are found, each once, and a report says what was put into it. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "packet/loss_report.h"
#include "packet/packet.h"

/* A stream of which number n was made at n microseconds. */
struct stream {
    struct ef_copy_sequence sequence;
    struct ef_hole_finder finder;
    int64_t now_ms;
};

static void
arrive(struct stream *s, uint32_t number)
{
    ef_copy_sequence_add(&s->sequence, number);
    ef_hole_finder_note(&s->finder, &s->sequence, number, (struct ef_time){number * EF_NS_PER_US});
}

static void
pass_time(struct stream *s, int64_t ms)
{
    for (int64_t i = 0; i < ms; i += 10) {
        s->now_ms += 10;
        ef_hole_finder_settle(&s->finder, &s->sequence, (struct ef_time){s->now_ms * EF_NS_PER_MS});
    }
}

static void
expect_hole(struct stream *s, uint32_t after, uint32_t before, uint64_t n)
{
    struct ef_hole hole;
    assert_true(ef_hole_finder_take(&s->finder, &hole));
    assert_int_equal(hole.after.ns, after * EF_NS_PER_US);
    assert_int_equal(hole.before.ns, before * EF_NS_PER_US);
    assert_int_equal(hole.n_copies, n);
}

static void
expect_none(struct stream *s)
{
    struct ef_hole hole;
    assert_false(ef_hole_finder_take(&s->finder, &hole));
}

static void
holes_are_found_when_patience_ends(void **state)
{
    struct stream *s = calloc(1, sizeof *s);
    static const uint32_t first[] = {10, 11, 14, 13, 20}, then[] = {12, 30};
    for (size_t i = 0; i < EF_ARRAY_SIZE(first); i++) {
        arrive(s, first[i]);
    }
    pass_time(s, 100);
    expect_none(s);
    arrive(s, then[0]); /* Late, but in time. */
    pass_time(s, 200);
    expect_hole(s, 14, 20, 5);
    expect_none(s);
    assert_int_equal(s->finder.settled.ns, 20 * EF_NS_PER_US);
    arrive(s, then[1]);
    pass_time(s, 300);
    expect_hole(s, 20, 30, 9);
    pass_time(s, 1000); /* Nothing twice. */
    expect_none(s);
    free(s);
}

static void
a_fast_stream_is_settled_by_its_numbers(void **state)
{
    struct stream *s = calloc(1, sizeof *s);
    uint32_t n = 0;
    for (; n < 4 * EF_COPY_SEQUENCE_WINDOW; n++) {
        if (n % 1000 != 500) {
            arrive(s, n);
        }
    }
    pass_time(s, 300);
    for (uint32_t lost = 500; lost < n; lost += 1000) {
        expect_hole(s, lost - 1, lost + 1, 1);
    }
    expect_none(s);
    free(s);
}

static void
great_losses_and_restarts(void **state)
{
    struct stream *s = calloc(1, sizeof *s);
    arrive(s, 100);
    pass_time(s, 300);
    arrive(s, 100 + 3 * EF_COPY_SEQUENCE_WINDOW);
    pass_time(s, 300);
    expect_hole(s, 100, 100 + 3 * EF_COPY_SEQUENCE_WINDOW, 3 * EF_COPY_SEQUENCE_WINDOW - 1);
    arrive(s, 7); /* It restarted, */
    arrive(s, 8);
    arrive(s, 10);
    pass_time(s, 300);
    expect_hole(s, 100 + 3 * EF_COPY_SEQUENCE_WINDOW, 10, 1); /* and its clock went back. */
    expect_none(s);
    free(s);
}

static void
holes_that_nobody_takes_are_joined(void **state)
{
    struct stream *s = calloc(1, sizeof *s);
    for (uint32_t n = 0; n <= 4 * EF_HOLE_FINDER_HOLES; n += 2) {
        arrive(s, n);
    }
    pass_time(s, 300);
    uint64_t n_copies = 0;
    struct ef_hole hole;
    while (ef_hole_finder_take(&s->finder, &hole)) {
        n_copies += hole.n_copies;
    }
    assert_int_equal(n_copies, 2 * EF_HOLE_FINDER_HOLES);
    assert_int_equal(hole.before.ns, 4 * EF_HOLE_FINDER_HOLES * EF_NS_PER_US);
    free(s);
}

static void
make_entry(struct ef_loss_entry *entry, unsigned i)
{
    char text[40];
    memset(entry, 0, sizeof *entry);
    snprintf(text, sizeof text, i % 2 ? "fd00::%u" : "10.255.0.%u", i + 1);
    ef_address_parse(text, entry->switch_address);
    ef_address_parse("10.255.255.1", entry->target_address);
    entry->settled.ns = (int64_t) i * 1000 - 1;
    entry->n_holes = i * 3 % (EF_LOSS_REPORT_MAX_HOLES + 1);
    for (unsigned k = 0; k < entry->n_holes; k++) {
        entry->holes[k] = (struct ef_hole){{k}, {k + i}, k + 1};
    }
}

/* A report of as many entries as fit, as a frame. */
static uint32_t
make_frame(uint8_t frame[14 + EF_LOSS_REPORT_MAX_BYTES], unsigned first, const char *to, unsigned *n)
{
    struct ef_loss_report report;
    struct ef_loss_entry entry;
    uint8_t address[16];
    ef_address_parse(to, address);
    ef_loss_report_start(&report, 77 + first, address, address);
    for (*n = 0; make_entry(&entry, first + *n), !ef_loss_report_add(&report, &entry); ++*n) {
    }
    uint32_t len = ef_loss_report_finish(&report);
    memset(frame, 0, 14);
    frame[12] = report.packet[0] >> 4 == 4 ? 0x08 : 0x86;
    frame[13] = report.packet[0] >> 4 == 4 ? 0x00 : 0xdd;
    memcpy(frame + 14, report.packet, len);
    return 14 + len;
}

/* Flows move, 50 ms after the last copy: as if one were lost then. */
static void
a_break_is_a_hole_of_no_copies(void **state)
{
    static struct stream s;
    struct ef_hole hole;
    s = (struct stream){0};
    arrive(&s, 1000000);
    pass_time(&s, 60);
    expect_none(&s);
    ef_hole_finder_break(&s.finder, &s.sequence, (struct ef_time){s.now_ms * EF_NS_PER_MS});
    assert_true(ef_hole_finder_take(&s.finder, &hole));
    assert_int_equal(hole.n_copies, 0);
    assert_true(hole.after.ns < EF_NS_PER_S && hole.before.ns > EF_NS_PER_S + 50 * EF_NS_PER_MS);
    assert_true(hole.after.ns > EF_NS_PER_S / 2 && hole.before.ns < 2 * EF_NS_PER_S);
    pass_time(&s, 300);
    expect_none(&s);
    assert_int_equal(s.finder.settled.ns, EF_NS_PER_S);
}

static void
reports_say_what_was_put_in(void **state)
{
    static const char *const targets[] = {"10.99.1.2", "fd99::2"};
    uint8_t frame[14 + EF_LOSS_REPORT_MAX_BYTES];
    for (unsigned first = 0; first < 40; first++) {
        struct ef_loss_reader reader;
        struct ef_loss_entry got, put;
        unsigned n;
        uint32_t len = make_frame(frame, first, targets[first % 2], &n);
        assert_true(n > 0);
        assert_int_equal(ef_loss_report_open(&reader, frame, len), 0);
        assert_int_equal(reader.sender, 77 + first);
        for (unsigned i = 0; i < n; i++) {
            memset(&got, 0, sizeof got);
            make_entry(&put, first + i);
            assert_true(ef_loss_report_next(&reader, &got));
            assert_memory_equal(&got, &put, sizeof put);
        }
        assert_false(ef_loss_report_next(&reader, &got));
    }
}

static void
cut_reports_end_early(void **state)
{
    uint8_t frame[14 + EF_LOSS_REPORT_MAX_BYTES];
    unsigned n;
    uint32_t whole = make_frame(frame, 3, "10.99.1.2", &n);
    for (uint32_t len = 0; len < whole; len++) {
        uint8_t *cut = malloc(len + 1); /* Of its own, so that reading beyond is seen. */
        struct ef_loss_reader reader;
        struct ef_loss_entry entry;
        unsigned got = 0;
        memcpy(cut, frame, len);
        if (!ef_loss_report_open(&reader, cut, len)) {
            while (ef_loss_report_next(&reader, &entry)) {
                got++;
            }
        }
        assert_true(got < n);
        free(cut);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holes_are_found_when_patience_ends),
        cmocka_unit_test(a_fast_stream_is_settled_by_its_numbers),
        cmocka_unit_test(great_losses_and_restarts),
        cmocka_unit_test(holes_that_nobody_takes_are_joined),
        cmocka_unit_test(a_break_is_a_hole_of_no_copies),
        cmocka_unit_test(reports_say_what_was_put_in),
        cmocka_unit_test(cut_reports_end_early),
    };
    return cmocka_run_group_tests_name("packet/loss_report", tests, NULL, NULL);
}
