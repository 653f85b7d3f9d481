/* SPDX-License-Identifier: Apache-2.0 */
/* Streams whose truth is known (utilities/replay), through all that a copy
 * passes: the reshuffler's account of what was lost, its reports, the analyzer's
 * records, traces and verdicts. Every trace is compared with its packet's story.
 *
 * EF_TRUTH_PACKETS sets how many packets each stream has; each has 5 hops, so
 * 2000000 make 10 million copies. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/assemble.h"
#include "analyzer/judge.h"
#include "io/sink_class.h"
#include "packet/loss_report.h"
#include "reshuffler/loss_reporter.h"
#include "utilities/replay/stream.h"

enum { START_S = 1795228200, IDLE_MS = 1000 };

struct result {
    uint64_t n_traces, n_hidden; /* Packets of which no copy arrived have none. */
    uint64_t wrong_hops, wrong_duplicates, wrong_missing, wrong_loops, hidden_loops, loops, wrong_mux, muxed;
    uint64_t drops, drops_found, drops_unsure, false_drops;
};

struct collector {
    struct replay_workload w;
    struct ef_ledger ledger;
    struct ef_plan plan;
    struct ef_sink sink;
    struct ef_loss_table losses;
    struct ef_time now; /* Of the reports. */
    const struct ef_loss_table *all_losses[1];
    struct ef_judge judge;
    struct ef_assembler *assembler;
    struct result r;
};

static uint64_t
n_packets(void)
{
    const char *text = getenv("EF_TRUTH_PACKETS");
    return text ? strtoull(text, NULL, 10) : 100000;
}

/* --- Comparing --------------------------------------------------------------------- */

/* The hops that a perfect collector shows: the copies that arrived, in order. */
static unsigned
arrived_copies(const struct replay_story *story, const struct replay_copy *arrived[REPLAY_MAX_COPIES],
               unsigned *n_duplicates)
{
    unsigned n = 0;
    *n_duplicates = 0;
    for (unsigned i = 0; i < story->n_copies; i++) {
        if (!story->copies[i].is_lost) {
            arrived[n++] = &story->copies[i];
            *n_duplicates += story->copies[i].is_duplicated;
        }
    }
    return n;
}

static bool
same_hops(const struct collector *c, const struct ef_trace *trace, const struct replay_copy *const arrived[],
          unsigned n)
{
    bool same = trace->n_hops == n;
    for (unsigned i = 0; same && i < n; i++) {
        same =
            ef_load_be32(trace->hops[i].switch_address + 12) == replay_switch_ipv4(&c->w, arrived[i]->switch_number) &&
            trace->hops[i].ttl == arrived[i]->ttl;
    }
    return same;
}

/* Lost copies between two that arrived, both plain or both encapsulated. */
static unsigned
missing_between(const struct replay_story *story)
{
    unsigned n = 0;
    const struct replay_copy *before = NULL;
    for (unsigned i = 0; i < story->n_copies; i++) {
        const struct replay_copy *copy = &story->copies[i];
        if (!copy->is_lost) {
            if (before && before->encapsulated == copy->encapsulated) {
                n += (unsigned) (copy - before) - 1;
            }
            before = copy;
        }
    }
    return n;
}

static bool
shows_loop(const struct replay_copy *const arrived[], unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        for (unsigned k = i + 1; k < n; k++) {
            if (arrived[i]->switch_number == arrived[k]->switch_number &&
                arrived[i]->encapsulated == arrived[k]->encapsulated) {
                return true;
            }
        }
    }
    return false;
}

static void
compare_mux(struct result *r, const struct ef_trace *trace, const struct replay_story *story)
{
    bool both = !story->copies[story->place].is_lost && !story->copies[story->place + 1].is_lost;
    r->muxed += both;
    r->wrong_mux += both && ef_trace_mux_latency_ns(trace) != story->mux_latency_ns;
}

static void
compare_fate(struct result *r, const struct ef_trace *trace, const struct replay_story *story)
{
    bool dropped = story->kind == REPLAY_DROP;
    r->drops += dropped;
    r->drops_found += dropped && trace->fate == EF_FATE_DROPPED;
    r->drops_unsure += dropped && trace->fate == EF_FATE_UNSURE;
    /* What a lost copy turned from a loop into a part of it ends nowhere, too. */
    r->false_drops += !dropped && story->kind != REPLAY_LOOP && trace->fate == EF_FATE_DROPPED;
}

static void
on_closed(void *ctx, struct ef_trace *trace)
{
    struct collector *c = ctx;
    struct result *r = &c->r;
    struct ef_packet p;
    struct replay_story story;
    const struct replay_copy *arrived[REPLAY_MAX_COPIES];
    unsigned n_duplicates;
    ef_judge_trace(&c->judge, trace);
    ef_packet_parse(&p, trace->bytes, trace->n_bytes, trace->wire_len);
    replay_story_tell(&c->w, ef_load_be32(ef_packet_layer_data(&p, p.inner_l4) + 4), &story);
    unsigned n = arrived_copies(&story, arrived, &n_duplicates);

    r->n_traces++;
    r->wrong_hops += !same_hops(c, trace, arrived, n);
    r->wrong_duplicates += trace->n_duplicates != n_duplicates;
    r->wrong_missing += trace->n_missing != missing_between(&story);
    r->wrong_loops += trace->loop != shows_loop(arrived, n);
    r->loops += story.kind == REPLAY_LOOP;
    r->hidden_loops += story.kind == REPLAY_LOOP && !shows_loop(arrived, n);
    if (story.kind == REPLAY_MUXED) {
        compare_mux(r, trace, &story);
    }
    compare_fate(r, trace, &story);
}

/* --- Collecting -------------------------------------------------------------------- */

/* The reports go to the analyzer's table, as its ingest would take them. */
static void
take_reports(struct ef_sink *sink, const struct ef_sink_packet packets[], int n)
{
    struct collector *c = EF_CONTAINER_OF(sink, struct collector, sink);
    for (int i = 0; i < n; i++) {
        uint8_t frame[14 + EF_LOSS_REPORT_MAX_BYTES] = {[12] = 8};
        struct ef_loss_reader reader;
        struct ef_loss_entry entry;
        memcpy(frame + 14, packets[i].data, packets[i].len);
        assert_int_equal(ef_loss_report_open(&reader, frame, 14 + packets[i].len), 0);
        while (ef_loss_report_next(&reader, &entry)) {
            ef_loss_table_enter(&c->losses, reader.sender, &entry, c->now);
        }
        ef_sink_count(sink, packets[i].len, 0);
    }
}

static const struct ef_sink_class report_class = {.scheme = "reports", .send = take_reports};
static uint8_t sink_buffer[EF_SINK_BUFFER_BYTES];

static void
write_topology(const struct replay_workload *w, const char *path)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "{\"switches\":[");
    for (unsigned i = 0; i < w->width; i++) {
        uint32_t ip = replay_switch_ipv4(w, (w->hops - 1) * w->width + i);
        fprintf(f, "%s{\"name\":\"s%u\",\"loopback\":\"%u.%u.%u.%u\"}", i ? "," : "", i, ip >> 24, ip >> 16 & 255,
                ip >> 8 & 255, ip & 255);
    }
    fprintf(f, "],\"hosts\":[");
    for (unsigned i = 0; i < w->width; i++) {
        fprintf(f, "%s{\"address\":\"172.16.%u.0/24\",\"switch\":\"s%u\"}", i ? "," : "", i, i);
    }
    fprintf(f, "]}");
    assert_int_equal(fclose(f), 0);
}

static struct collector *
open_collector(const struct replay_workload *w)
{
    struct collector *c = calloc(1, sizeof *c);
    char path[] = "/tmp/ef-truth-XXXXXX";
    int fd = mkstemp(path);
    struct ef_last_hops *last_hops;
    struct ef_error err;
    assert_true(fd >= 0 && !close(fd));
    c->w = *w;
    write_topology(w, path);
    assert_int_equal(ef_last_hops_load(path, &last_hops, &err), 0);
    unlink(path);
    assert_int_equal(ef_ledger_init(&c->ledger), 0);
    assert_int_equal(ef_loss_table_init(&c->losses), 0);
    assert_int_equal(ef_plan_add_vip(&c->plan, "10.255.255.1", &err), 0);
    assert_int_equal(ef_plan_add_analyzer(&c->plan, "analyzer1=10.99.1.2", &err), 0);
    assert_int_equal(ef_plan_finish(&c->plan, &err), 0);
    c->sink = (struct ef_sink){.class = &report_class, .buffer = sink_buffer};
    c->all_losses[0] = &c->losses;
    c->judge = (struct ef_judge){.last_hops = last_hops, .losses = c->all_losses, .n_losses = 1};
    assert_int_equal(ef_judge_init(&c->judge), 0);
    struct ef_assembler_config config = {
        .memory_bytes = 512 << 20, .idle_ns = IDLE_MS * EF_NS_PER_MS, .closed = on_closed, .ctx = c};
    assert_int_equal(ef_assembler_create(&config, &c->assembler, &err), 0);
    return c;
}

static void
close_collector(struct collector *c)
{
    ef_assembler_destroy(c->assembler);
    ef_last_hops_destroy((struct ef_last_hops *) c->judge.last_hops);
    ef_judge_deinit(&c->judge);
    ef_plan_deinit(&c->plan);
    ef_loss_table_deinit(&c->losses);
    ef_ledger_deinit(&c->ledger);
    free(c);
}

static void
take_copy(struct collector *c, const uint8_t *frame, uint32_t len, struct ef_time arrival)
{
    struct ef_copy_record record;
    const struct ef_copy_record *records[] = {&record};
    struct ef_copy copy;
    uint64_t flow_hash;
    assert_int_equal(ef_copy_parse(&copy, frame, len, len), EF_DROP_NONE);
    ef_ledger_enter(&c->ledger, &copy, arrival);
    assert_int_equal(ef_copy_record_of_frame(&record, &flow_hash, frame, len, len, arrival), EF_DROP_NONE);
    record.stamp = arrival;
    ef_assembler_add(c->assembler, records, 1, NULL, 0);
}

static struct result
collect(const struct replay_workload *w)
{
    struct collector *c = open_collector(w);
    struct replay_stream *stream;
    struct replay_arrival a;
    struct ef_error err;
    uint8_t frame[REPLAY_MAX_FRAME];
    struct ef_time next_turn = {0};
    assert_int_equal(replay_stream_create(w, (struct ef_time){START_S * EF_NS_PER_S}, &stream, &err), 0);
    while (replay_stream_next(stream, &a)) {
        uint32_t len = replay_stream_frame(stream, &a, frame);
        take_copy(c, frame, len, a.time);
        if (!ef_time_before(a.time, next_turn)) {
            next_turn = ef_time_add_ms(a.time, EF_LOSS_REPORT_EVERY_MS);
            c->now = a.time;
            ef_report_losses(&c->ledger, &c->plan, &c->sink, c->now);
            ef_sink_flush(&c->sink);
        }
        ef_assembler_close_idle(c->assembler, a.time, 64);
    }
    /* The end: the switches rest, the reshuffler reports what it still can. */
    for (int i = 1; i <= 8; i++) {
        c->now = ef_time_add_ms(a.time, i * EF_LOSS_REPORT_EVERY_MS);
        ef_report_losses(&c->ledger, &c->plan, &c->sink, c->now);
        ef_sink_flush(&c->sink);
    }
    ef_assembler_close_all(c->assembler);
    assert_int_equal(ef_counter_get(&ef_assembler_counters(c->assembler)->table_full), 0);
    struct result r = c->r;
    r.n_hidden = w->n_packets - r.n_traces;
    replay_stream_destroy(stream);
    close_collector(c);
    return r;
}

/* Enough of each kind to say something. */
static double
share_of_events(void)
{
    return n_packets() < 1000000 ? 0.001 : 0.0001;
}

static struct result
run(double lost)
{
    double share = share_of_events();
    struct replay_workload w = {
        .seed = 1,
        .n_packets = n_packets(),
        .n_flows = 20000,
        .hops = 5,
        .width = 4,
        .packet_bytes = 64,
        .lost = lost,
        .duplicated = 0.001,
        .loops = share,
        .drops = share,
        .muxed = share,
        .gap_ns = 50 * EF_NS_PER_US, /* 100,000 copies a second. */
        .hop_ns = 10 * EF_NS_PER_US,
        .reorder_ns = 10 * EF_NS_PER_MS,
        .encapsulation = EF_ENCAP_ERSPAN3,
        .target = {[10] = 0xff, 0xff, 10, 255, 255, 1},
    };
    struct result r = collect(&w);
    print_message("# lost %g: %llu traces; loops %llu, hidden by lost copies %llu, wrong %llu; drops %llu, found %llu, "
                  "unsure %llu, false %llu; muxed %llu, wrong %llu; wrong hops %llu, missing %llu\n",
                  lost, (unsigned long long) r.n_traces, (unsigned long long) r.loops,
                  (unsigned long long) r.hidden_loops, (unsigned long long) r.wrong_loops, (unsigned long long) r.drops,
                  (unsigned long long) r.drops_found, (unsigned long long) r.drops_unsure,
                  (unsigned long long) r.false_drops, (unsigned long long) r.muxed, (unsigned long long) r.wrong_mux,
                  (unsigned long long) r.wrong_hops, (unsigned long long) r.wrong_missing);
    assert_true(r.drops > 0 && r.loops > 0 && r.muxed > 0);
    assert_int_equal(r.wrong_hops, 0);
    assert_int_equal(r.wrong_duplicates, 0);
    assert_int_equal(r.wrong_missing, 0);
    assert_int_equal(r.wrong_loops, 0);
    assert_int_equal(r.wrong_mux, 0);
    return r;
}

static void
nothing_lost(void **state)
{
    struct result r = run(0);
    assert_int_equal(r.n_traces, n_packets());
    assert_int_equal(r.hidden_loops, 0);
    assert_int_equal(r.false_drops, 0);
    assert_int_equal(r.drops_found, r.drops);
}

/* Precision and recall at least 0.999. */
static void
one_in_a_thousand_lost(void **state)
{
    struct result r = run(0.001);
    assert_int_equal(r.hidden_loops, 0);
    assert_true(r.false_drops * 1000 <= r.drops_found);
    assert_true((r.drops - r.drops_found) * 1000 <= r.drops);
}

/* Precision at least 0.99. */
static void
one_in_twenty_lost(void **state)
{
    struct result r = run(0.05);
    assert_true(r.false_drops * 100 <= r.drops_found);
    assert_true(r.drops_found * 2 > r.drops);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_lost),
        cmocka_unit_test(one_in_a_thousand_lost),
        cmocka_unit_test(one_in_twenty_lost),
    };
    return cmocka_run_group_tests_name("analyzer/truth", tests, NULL, NULL);
}
