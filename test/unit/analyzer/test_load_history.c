/* SPDX-License-Identifier: Apache-2.0 */
/* The load of time spans next to a model that keeps all readings: also where the
 * history has forgotten the oldest, of owners whose counters become more. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "analyzer/load_history.h"

enum { N_WORKERS = 3, N_INGESTS = 2, N_PORTS = 128, N_ROUNDS = 1000, N_ENTRIES = 20 };

static struct ef_analyzer analyzer;
static struct ef_worker workers[N_WORKERS];
static struct ef_ingest ingests[N_INGESTS];

static int
make_tables(void **state)
{
    analyzer =
        (struct ef_analyzer){.workers = workers, .ingests = ingests, .n_workers = N_WORKERS, .n_ingests = N_INGESTS};
    for (unsigned i = 0; i < N_WORKERS; i++) {
        assert_int_equal(ef_load_table_init(&workers[i].load, N_PORTS), 0);
    }
    for (unsigned i = 0; i < N_INGESTS; i++) {
        assert_int_equal(ef_switch_table_init(&ingests[i].switches), 0);
    }
    return 0;
}

static int
free_tables(void **state)
{
    for (unsigned i = 0; i < N_WORKERS; i++) {
        ef_load_table_deinit(&workers[i].load);
    }
    for (unsigned i = 0; i < N_INGESTS; i++) {
        ef_switch_table_deinit(&ingests[i].switches);
    }
    return 0;
}

/* Two hops of worker `w`, by ports that are the more the later it is. */
static void
count_one(unsigned w, unsigned round)
{
    struct ef_trace trace = {.wire_len = 100 + w, .n_hops = 2};
    for (uint8_t i = 0; i < 2; i++) {
        trace.hops[i] = (struct ef_hop){.ttl = (uint8_t) (64 - i), .flags = EF_HOP_HAS_IP | EF_HOP_HAS_PORT};
        trace.hops[i].switch_address[15] = (uint8_t) (1 + i);
        trace.hops[i].port = round * (w + 1) / 97 % N_ENTRIES;
    }
    ef_load_table_count(&workers[w].load, &trace, false);
    ef_switch_table_count(&ingests[w % N_INGESTS].switches, &trace.hops[0]);
}

/* All that was counted until each round, by part: packets of all owners and entries. */
struct totals {
    uint64_t packets[EF_N_LOAD_PARTS], bytes[EF_N_LOAD_PARTS];
};

static struct totals
sum_span(const struct ef_load_span *span)
{
    struct totals t = {{0}, {0}};
    for (unsigned w = 0; w < N_WORKERS; w++) {
        const struct ef_load_table *load = &workers[w].load;
        for (uint32_t i = 0; i < ef_load_table_n_ports(load); i++) {
            struct ef_load_counts now = {ef_counter_get(&load->ports[i].packets),
                                         ef_counter_get(&load->ports[i].bytes)};
            struct ef_load_counts counts = ef_load_span_of(span, EF_LOAD_PORTS, w, i, now);
            t.packets[EF_LOAD_PORTS] += counts.packets;
            t.bytes[EF_LOAD_PORTS] += counts.bytes;
        }
        for (uint32_t i = 0; i < ef_load_table_n_links(load); i++) {
            struct ef_load_counts now = {ef_counter_get(&load->links[i].packets),
                                         ef_counter_get(&load->links[i].bytes)};
            struct ef_load_counts counts = ef_load_span_of(span, EF_LOAD_LINKS, w, i, now);
            t.packets[EF_LOAD_LINKS] += counts.packets;
            t.bytes[EF_LOAD_LINKS] += counts.bytes;
        }
    }
    for (unsigned s = 0; s < N_INGESTS; s++) {
        const struct ef_switch_table *switches = &ingests[s].switches;
        for (uint32_t i = 0; i < ef_switch_table_size(switches); i++) {
            struct ef_load_counts now = {ef_counter_get(&switches->counts[i].copies), 0};
            t.packets[EF_LOAD_SWITCHES] += ef_load_span_of(span, EF_LOAD_SWITCHES, s, i, now).packets;
        }
    }
    return t;
}

static void
subtract(struct totals *a, const struct totals *b)
{
    for (unsigned part = 0; part < EF_N_LOAD_PARTS; part++) {
        a->packets[part] -= b->packets[part];
        a->bytes[part] -= b->bytes[part];
    }
}

/* What was so far when round `i` began; a reading is taken then, at time `i` * 10. */
static struct totals before[N_ROUNDS + 1];

/* The span from `start` to `end`, asked behind the last round, is a difference of the model. */
static void
check_span(const struct ef_load_history *h, int64_t start, int64_t end, int64_t now)
{
    struct ef_load_span span;
    ef_load_history_span(h, (struct ef_time){start}, (struct ef_time){end}, (struct ef_time){now}, &span);
    int64_t first = span.start.ns / 10, last = span.end.ns / 10;
    assert_true(first >= 0 && first <= last && last <= N_ROUNDS);
    struct totals told = sum_span(&span), truth = before[last];
    subtract(&truth, &before[first]);
    assert_memory_equal(&told, &truth, sizeof told);
    assert_true(span.start.ns <= start || !span.first || span.first == span.last || span.start.ns > 0);
    assert_true(span.end.ns >= end || span.end.ns == now);
}

static void
count_rounds(struct ef_load_history *h)
{
    for (unsigned round = 0; round <= N_ROUNDS; round++) {
        const struct ef_load_span all = {0};
        before[round] = sum_span(&all);
        if (round && round < N_ROUNDS) {
            ef_load_history_take(h, &analyzer, (struct ef_time){round * 10});
        }
        for (unsigned i = 0; round < N_ROUNDS && i < 1 + round % 7; i++) {
            count_one((round + i) % N_WORKERS, round);
        }
    }
}

static void
check_spans(uint64_t bytes, bool forgets)
{
    struct ef_load_history *h;
    enum { NOW = N_ROUNDS * 10 };
    assert_int_equal(ef_load_history_create(bytes, (struct ef_time){0}, &h), 0);
    count_rounds(h);
    for (int64_t start = -15; start < NOW; start += 7) {
        check_span(h, start, NOW, NOW);
        check_span(h, start, start + (NOW - start) / 3, NOW);
        check_span(h, start, start, NOW);
    }
    check_span(h, INT64_MIN, INT64_MAX, NOW);
    struct ef_load_span span;
    ef_load_history_span(h, (struct ef_time){0}, (struct ef_time){NOW}, (struct ef_time){NOW}, &span);
    assert_int_equal(span.first != NULL, forgets);
    /* The newest are there in any case, to the reading. */
    ef_load_history_span(h, (struct ef_time){NOW - 25}, (struct ef_time){NOW - 15}, (struct ef_time){NOW}, &span);
    assert_int_equal(span.start.ns, NOW - 30);
    assert_int_equal(span.end.ns, NOW - 10);
    ef_load_history_destroy(h);
}

static void
spans_of_a_history_that_forgets(void **state)
{
    check_spans(64 << 10, true);
}

static void
spans_of_as_many_readings_as_are_kept(void **state)
{
    check_spans(16 << 20, true); /* More rounds than readings. */
}

static void
a_reading_too_big_is_left_out(void **state)
{
    struct ef_load_history *h;
    struct ef_load_span span;
    assert_int_equal(ef_load_history_create(64, (struct ef_time){5}, &h), 0);
    count_one(0, 1);
    ef_load_history_take(h, &analyzer, (struct ef_time){10});
    ef_load_history_span(h, (struct ef_time){10}, (struct ef_time){20}, (struct ef_time){20}, &span);
    assert_int_equal(span.start.ns, 5);
    assert_int_equal(sum_span(&span).packets[EF_LOAD_PORTS], 2);
    ef_load_history_destroy(h);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(spans_of_a_history_that_forgets, make_tables, free_tables),
        cmocka_unit_test_setup_teardown(spans_of_as_many_readings_as_are_kept, make_tables, free_tables),
        cmocka_unit_test_setup_teardown(a_reading_too_big_is_left_out, make_tables, free_tables),
    };
    return cmocka_run_group_tests_name("analyzer load history", tests, NULL, NULL);
}
