/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of analyzer/assemble: copies into traces, closing, limits, floods. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "analyzer/assemble.h"
#include "test/unit/analyzer/copies.h"

enum { MAX_CLOSED = 4096, IDLE = 1000000, HOPS = 5 };

/* What the assembler closed. */
struct closed {
    struct ef_trace *traces;
    unsigned n;
    unsigned n_whole; /* Those with HOPS hops. */
};

static void
on_closed(void *ctx, struct ef_trace *trace)
{
    struct closed *closed = ctx;
    if (closed->n < MAX_CLOSED) {
        closed->traces[closed->n] = *trace;
    }
    closed->n++;
    closed->n_whole += trace->n_hops == HOPS;
}

struct fixture {
    struct closed closed;
    struct ef_assembler *a;
};

static void
begin(struct fixture *f, uint64_t memory_bytes)
{
    struct ef_error err = EF_ERROR_INIT;
    *f = (struct fixture){.closed.traces = calloc(MAX_CLOSED, sizeof(struct ef_trace))};
    struct ef_assembler_config config = {
        .memory_bytes = memory_bytes, .idle_ns = IDLE, .debug_dscp = 1, .closed = on_closed, .ctx = &f->closed};
    assert_int_equal(ef_assembler_create(&config, &f->a, &err), 0);
    assert_true(ef_assembler_memory(f->a) <= memory_bytes);
}

static void
end(struct fixture *f)
{
    ef_assembler_destroy(f->a);
    free(f->closed.traces);
}

static void
add(struct fixture *f, struct ef_copy_record record)
{
    const struct ef_copy_record *records[] = {&record};
    ef_assembler_add(f->a, records, 1, NULL, 0);
}

static unsigned
close_idle(struct fixture *f, int64_t now)
{
    unsigned n, sum = 0;
    do {
        n = ef_assembler_close_idle(f->a, (struct ef_time){now}, 64);
        sum += n;
    } while (n >= 64);
    return sum;
}

static void
copies_of_a_packet_become_its_hops(void **state)
{
    struct fixture f;
    begin(&f, 1 << 20);
    add(&f, make_copy(1, 2, 63, 200));
    add(&f, make_copy(2, 1, 64, 210));
    add(&f, make_copy(1, 1, 64, 220)); /* Overtaken on its way to us. */
    add(&f, make_copy(1, 3, 62, 300));
    assert_int_equal(close_idle(&f, IDLE - 1), 0);
    assert_int_equal(close_idle(&f, 2 * IDLE), 2);
    const struct ef_trace *t = f.closed.traces[0].n_hops == 3 ? &f.closed.traces[0] : &f.closed.traces[1];
    assert_int_equal(t->n_hops, 3);
    assert_int_equal(t->n_copies, 3);
    assert_int_equal(t->hops[0].ttl, 64);
    assert_int_equal(t->hops[1].ttl, 63);
    assert_int_equal(t->hops[2].ttl, 62);
    assert_int_equal(t->bytes[0], 64);
    assert_int_equal(t->start.ns, 200);
    assert_int_equal(t->end.ns, 300);
    assert_false(t->loop || t->copies_lost || t->hops_full);
    end(&f);
}

static void
each_copy_keeps_its_trace_open(void **state)
{
    struct fixture f;
    begin(&f, 1 << 20);
    for (int i = 0; i < 10; i++) {
        add(&f, make_copy(1, (uint8_t) i, (uint8_t) (64 - i), i * (IDLE - 1)));
        assert_int_equal(close_idle(&f, i * (IDLE - 1)), 0);
    }
    int64_t last = 9 * (IDLE - 1);
    assert_int_equal(close_idle(&f, last + IDLE - 1), 0);
    assert_int_equal(close_idle(&f, last + IDLE + IDLE / 16), 1);
    assert_int_equal(f.closed.traces[0].n_hops, 10);
    end(&f);
}

static void
a_long_silence_closes_everything(void **state)
{
    struct fixture f;
    begin(&f, 1 << 20);
    for (unsigned i = 0; i < 500; i++) {
        add(&f, make_copy(i, 1, 64, i * 5000));
        close_idle(&f, i * 5000);
    }
    close_idle(&f, INT64_C(3600000000000));
    assert_int_equal(f.closed.n, 500);
    /* Time that starts anywhere. */
    add(&f, make_copy(7, 1, 64, INT64_C(1800000000000000000)));
    assert_int_equal(close_idle(&f, INT64_C(1800000000000000000) + IDLE / 2), 0);
    assert_int_equal(close_idle(&f, INT64_C(1800000000000000000) + 2 * IDLE), 1);
    end(&f);
}

static void
stamps_ahead_of_the_clock_are_kept(void **state)
{
    struct fixture f;
    begin(&f, 1 << 20);
    close_idle(&f, 10 * IDLE);
    add(&f, make_copy(1, 1, 64, 1000 * IDLE));
    for (int64_t now = 10; now <= 1000; now++) {
        assert_int_equal(close_idle(&f, now * IDLE), 0);
    }
    assert_int_equal(close_idle(&f, 1002 * IDLE), 1);
    end(&f);
}

static void
repeated_copies_are_counted_not_hops(void **state)
{
    struct fixture f;
    begin(&f, 1 << 20);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 20; i++) {
            add(&f, make_copy(1, (uint8_t) i, (uint8_t) (64 - i), round * 100 + i));
        }
    }
    struct ef_copy_record other_port = make_copy(1, 0, 64, 400);
    other_port.hop.port = 2;
    add(&f, other_port);
    ef_assembler_close_all(f.a);
    assert_int_equal(f.closed.n, 1);
    assert_int_equal(f.closed.traces[0].n_hops, 21);
    assert_int_equal(f.closed.traces[0].n_duplicates, 40);
    assert_int_equal(f.closed.traces[0].n_copies, 61);
    end(&f);
}

static void
a_packet_repeated_for_ever_is_seen_now_and_then(void **state)
{
    struct fixture f;
    begin(&f, 1 << 20);
    /* Half an idle time between two: the trace is never idle. */
    for (int64_t now = 0; now < 100 * IDLE; now += IDLE / 2) {
        close_idle(&f, now);
        add(&f, make_copy(1, 1, 64, now));
        add(&f, make_copy(1, 2, 63, now + 1));
    }
    assert_in_range(f.closed.n, 9, 10);
    for (unsigned i = 0; i < f.closed.n; i++) {
        assert_int_equal(f.closed.traces[i].n_hops, 2);
        assert_in_range(f.closed.traces[i].n_duplicates, 36, 42);
        assert_false(f.closed.traces[i].loop);
    }
    end(&f);
}

static void
the_original_is_kept_from_the_first_hop(void **state)
{
    struct fixture f;
    begin(&f, 1 << 20);
    struct ef_copy_record shorter = make_copy(1, 1, 64, 1), late = make_copy(1, 2, 63, 2),
                          longer = make_copy(1, 1, 64, 3);
    shorter.n_bytes = 20;
    late.n_bytes = 200;
    longer.n_bytes = 30;
    add(&f, late);
    add(&f, shorter);
    add(&f, longer);
    add(&f, late);
    ef_assembler_close_all(f.a);
    assert_int_equal(f.closed.traces[0].n_bytes, 30);
    assert_int_equal(f.closed.traces[0].bytes[29], 64);
    end(&f);
}

static void
a_loop_fills_the_hops_and_is_counted(void **state)
{
    struct fixture f;
    begin(&f, 1 << 20);
    for (int i = 0; i < 100; i++) {
        add(&f, make_copy(1, (uint8_t) (i % 2), (uint8_t) (200 - i), i));
    }
    ef_assembler_close_all(f.a);
    const struct ef_assembler_counters *c = ef_assembler_counters(f.a);
    assert_int_equal(f.closed.traces[0].n_hops, EF_TRACE_MAX_HOPS);
    assert_true(f.closed.traces[0].loop);
    assert_true(f.closed.traces[0].hops_full);
    for (int i = 0; i < EF_TRACE_MAX_HOPS; i++) {
        assert_int_equal(f.closed.traces[0].hops[i].ttl, 200 - i);
    }
    assert_int_equal(ef_counter_get(&c->hops_full), 100 - EF_TRACE_MAX_HOPS);
    assert_int_equal(ef_counter_get(&c->copies), EF_TRACE_MAX_HOPS);
    assert_int_equal(ef_counter_get(&c->loops), 1);
    end(&f);
}

static void
losses_mark_the_traces_of_that_time(void **state)
{
    struct fixture f;
    begin(&f, 1 << 20);
    add(&f, make_copy(1, 1, 64, 0));
    close_idle(&f, 3 * IDLE);
    ef_assembler_note_loss(f.a, (struct ef_time){4 * IDLE});
    add(&f, make_copy(2, 1, 64, 4 * IDLE + IDLE / 2));
    add(&f, make_copy(3, 1, 64, 5 * IDLE + 1));
    ef_assembler_close_all(f.a);
    assert_int_equal(f.closed.n, 3);
    for (int i = 0; i < 3; i++) {
        const struct ef_trace *t = &f.closed.traces[i];
        assert_int_equal(t->copies_lost, t->start.ns == 4 * IDLE + IDLE / 2);
    }
    end(&f);
}

/* Far more packets at once than there is room for: what exists is whole, the
 * rest is counted, and afterwards all is as before. */
static void
a_flood_loses_whole_traces_and_counts_them(void **state)
{
    struct fixture f;
    begin(&f, 64 << 10);
    uint32_t capacity = ef_assembler_capacity(f.a);
    assert_in_range(capacity, 30, 100);
    int64_t now = 0;
    uint64_t sent = 0;
    for (unsigned round = 0; round < 400; round++) {
        /* Their copies are spread, and some traces close in between. */
        for (uint8_t hop = 0; hop < HOPS; hop++) {
            for (uint64_t packet = 0; packet < 200; packet++) {
                add(&f, make_copy(round * 1000 + packet, hop, 64 - hop, now));
                sent++;
                now += IDLE / 3000;
                close_idle(&f, now);
            }
        }
    }
    ef_assembler_close_all(f.a);
    const struct ef_assembler_counters *c = ef_assembler_counters(f.a);
    assert_int_equal(ef_counter_get(&c->copies) + ef_counter_get(&c->table_full), sent);
    assert_true(ef_counter_get(&c->table_full) > sent / 2);
    assert_true(f.closed.n > capacity);
    assert_int_equal(ef_counter_get(&c->closed), f.closed.n);
    assert_int_equal(f.closed.n_whole, f.closed.n);
    unsigned before = f.closed.n;
    now += 10 * IDLE;
    close_idle(&f, now);
    for (uint64_t packet = 0; packet < capacity; packet++) {
        add(&f, make_copy(1000000 + packet, 1, 64, now));
    }
    ef_assembler_close_all(f.a);
    assert_int_equal(f.closed.n - before, capacity);
    end(&f);
}

/* Packet B is refused because it looks like A, which was; when A is forgotten,
 * between two hops of B, B is not. */
static void
what_was_refused_by_mistake_is_refused_wholly(void **state)
{
    struct fixture f;
    begin(&f, 64 << 10);
    close_idle(&f, 0);
    for (uint64_t packet = 0; packet < ef_assembler_capacity(f.a); packet++) {
        add(&f, make_copy(packet, 1, 64, 1));
    }
    struct ef_copy_record a = make_copy(1000, 1, 64, IDLE / 10 * 9), b = make_copy(1001, 1, 64, IDLE * 2 - 10);
    b.hash = a.hash ^ 1;
    add(&f, a);
    close_idle(&f, IDLE);
    close_idle(&f, IDLE * 2 - 20);
    assert_int_equal(f.closed.n, ef_assembler_capacity(f.a));
    add(&f, b);
    close_idle(&f, IDLE * 2);
    b.hop.switch_address[15] = 2;
    b.hop.ttl--;
    add(&f, b);
    ef_assembler_close_all(f.a);
    assert_int_equal(f.closed.n, ef_assembler_capacity(f.a));
    assert_int_equal(ef_counter_get(&ef_assembler_counters(f.a)->table_full), 3);
    end(&f);
}

/* Long paths for every trace: the chunks run out before the traces do. */
static void
chunks_run_out_and_come_back(void **state)
{
    struct fixture f;
    begin(&f, 64 << 10);
    for (int round = 0; round < 3; round++) {
        uint32_t n = ef_assembler_capacity(f.a);
        unsigned before = f.closed.n, hops = 0;
        for (uint8_t hop = 0; hop < 30; hop++) {
            for (uint64_t packet = 0; packet < n; packet++) {
                add(&f, make_copy(packet, hop, 64 - hop, hop));
            }
        }
        ef_assembler_close_all(f.a);
        assert_int_equal(f.closed.n - before, n);
        for (unsigned i = before; i < f.closed.n; i++) {
            hops += f.closed.traces[i].n_hops;
            assert_int_equal(f.closed.traces[i].hops_full, f.closed.traces[i].n_hops < 30);
        }
        assert_in_range(hops, 6 * n + 1, 30 * n - 1);
    }
    end(&f);
}

/* Random work against a plain model: how many copies each packet has had. */
static void
random_copies_agree_with_a_plain_count(void **state)
{
    enum { PACKETS = 300, STEPS = 60000 };
    struct fixture f;
    begin(&f, 4 << 20);
    uint32_t expected = 0, seed = 1;
    int64_t first[PACKETS], last[PACKETS], now = 0;
    uint8_t hops[PACKETS] = {0};
    for (int i = 0; i < STEPS; i++) {
        seed = seed * 1664525 + 1013904223;
        unsigned packet = (seed >> 8) % PACKETS;
        now += (seed >> 20) % 2000;
        close_idle(&f, now);
        /* Late by how much is too late: an idle time after the last, ten after the first copy. */
        int64_t late = hops[packet] ? EF_MAX(now - last[packet] - IDLE, now - first[packet] - 10 * IDLE) : 0;
        if (late > IDLE / 16) {
            hops[packet] = 0;
        } else if (hops[packet] && late >= 0) {
            continue; /* Closed or not: both are right. */
        }
        expected += hops[packet] == 0;
        first[packet] = hops[packet] ? first[packet] : now;
        hops[packet]++;
        last[packet] = now;
        add(&f, make_copy(packet, hops[packet] % 30, (uint8_t) (200 - hops[packet] % 50), now));
    }
    ef_assembler_close_all(f.a);
    assert_int_equal(f.closed.n, expected);
    end(&f);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_of_a_packet_become_its_hops),
        cmocka_unit_test(each_copy_keeps_its_trace_open),
        cmocka_unit_test(a_long_silence_closes_everything),
        cmocka_unit_test(stamps_ahead_of_the_clock_are_kept),
        cmocka_unit_test(repeated_copies_are_counted_not_hops),
        cmocka_unit_test(a_packet_repeated_for_ever_is_seen_now_and_then),
        cmocka_unit_test(the_original_is_kept_from_the_first_hop),
        cmocka_unit_test(a_loop_fills_the_hops_and_is_counted),
        cmocka_unit_test(losses_mark_the_traces_of_that_time),
        cmocka_unit_test(a_flood_loses_whole_traces_and_counts_them),
        cmocka_unit_test(what_was_refused_by_mistake_is_refused_wholly),
        cmocka_unit_test(chunks_run_out_and_come_back),
        cmocka_unit_test(random_copies_agree_with_a_plain_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
