/* SPDX-License-Identifier: Apache-2.0 */
/* Three times as many copies as the worker can take, of packets that were all
 * delivered: what is lost is counted, no packet is called dropped because of it,
 * no hop is wrong, and the memory is what it was. EF_OVERLOAD_SECONDS says for
 * how long. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/worker.h"
#include "bench/copy_stream.h"
#include "io/source_class.h"

enum {
    CHUNK = 4096,
    RING_SLOTS = 256, /* What the worker takes in a turn. */
    TIMES = 3,
    BURSTS_PER_TURN = TIMES * RING_SLOTS / EF_BURST,
    SPREAD = 50, /* Packets between two hops of one. */
    DEFAULT_SECONDS = 1,
    MAX_TURNS = 1 << 20,
};

struct overload {
    struct ef_source source;
    struct ef_copy_stream stream;
    uint8_t frames[CHUNK][EF_STREAM_FRAME];
    struct ef_time arrivals[CHUNK];
    unsigned next; /* Of the chunk. */
    struct ef_bell bell;
    struct ef_ingest ingest;
    struct ef_worker worker;
    struct ef_trace_store *store;
    struct ef_filter_counters *counters;
    struct ef_keep keep;
    struct ef_last_hops *last_hops;
    const struct ef_loss_table *losses[1];
};

static int
overload_receive(struct ef_source *source, struct ef_frame *frames, int max, int timeout_ms)
{
    struct overload *o = EF_CONTAINER_OF(source, struct overload, source);
    if (o->next == CHUNK) {
        ef_copy_stream_make(&o->stream, o->frames[0], o->arrivals, CHUNK);
        o->next = 0;
    }
    int n = 0;
    for (; n < max && o->next < CHUNK; n++, o->next++) {
        frames[n] =
            (struct ef_frame){o->frames[o->next], o->stream.frame_len, o->stream.frame_len, o->arrivals[o->next]};
    }
    return n;
}

static void
overload_close(struct ef_source *source)
{
}

static uint64_t
overload_overflows(struct ef_source *source)
{
    return 0;
}

static const struct ef_source_class overload_class = {
    .scheme = "overload", .close = overload_close, .receive = overload_receive, .overflows = overload_overflows};

static void
set_up(struct overload *o)
{
    struct ef_error err = EF_ERROR_INIT;
    json_t *topology = json_pack("{s:[{s:s, s:s}], s:[{s:s, s:s}]}", "switches", "name", "last", "loopback",
                                 EF_STREAM_LAST_SWITCH, "hosts", "address", EF_STREAM_DESTINATION, "switch", "last");
    assert_int_equal(ef_last_hops_create(topology, &o->last_hops, &err), 0);
    json_decref(topology);
    o->source.class = &overload_class;
    o->next = CHUNK;
    assert_true(ef_copy_stream_init(&o->stream, 0, SPREAD));
    assert_int_equal(ef_bell_init(&o->bell), 0);
    assert_int_equal(ef_keep_init(&o->keep, "all", &err), 0);
    assert_int_equal(ef_filter_counters_create(1, 4, &o->counters), 0);
    assert_int_equal(ef_filter_counters_add(o->counters, "dropped", "trace.drop", &err), 0);
    assert_int_equal(ef_trace_store_create(1, 8 << 20, 1 << 20, &o->store, &err), 0);
    struct ef_ingest_config ingest = {.spec = "overload",
                                      .source = &o->source,
                                      .feed_slots = RING_SLOTS,
                                      .n_workers = 1,
                                      .bells = &o->bell,
                                      .takes_loss_reports = true};
    assert_int_equal(ef_ingest_init(&o->ingest, &ingest, &err), 0);
    o->losses[0] = &o->ingest.losses;
    struct ef_worker_config worker = {
        .assembler = {.memory_bytes = 8 << 20, .idle_ns = 2 * EF_NS_PER_MS},
        .ingests = &o->ingest,
        .n_ingests = 1,
        .bell = &o->bell,
        .store = o->store,
        .judge = {.last_hops = o->last_hops, .losses = o->losses, .n_losses = 1},
        .load_ports = EF_LOAD_MIN_PORTS,
        .keep = &o->keep,
        .counters = o->counters,
    };
    assert_int_equal(ef_worker_init(&o->worker, &worker, &err), 0);
}

static void
tear_down(struct overload *o)
{
    ef_worker_deinit(&o->worker);
    ef_ingest_deinit(&o->ingest);
    ef_trace_store_destroy(o->store);
    ef_filter_counters_destroy(o->counters);
    ef_keep_deinit(&o->keep);
    ef_bell_deinit(&o->bell);
    ef_last_hops_destroy(o->last_hops);
}

static void
work_off(struct overload *o)
{
    for (int i = 0; ef_worker_turn(&o->worker); i++) {
        assert_true(i < MAX_TURNS);
    }
}

/* Each hop of each stored trace is one that the packet really crossed. */
static uint64_t
check_traces(struct overload *o)
{
    static struct ef_trace trace;
    struct ef_trace_query query = {.start = {INT64_MIN}, .end = {INT64_MAX}};
    struct ef_trace_cursor *cursor;
    uint64_t n = 0, turns = 0;
    assert_int_equal(ef_trace_store_query(o->store, &query, &cursor, NULL), 0);
    for (int rc; (rc = ef_trace_cursor_next(cursor, &trace)); turns++) {
        assert_true(turns < 100 * (uint64_t) MAX_TURNS);
        for (unsigned i = 0; rc > 0 && i < trace.n_hops; i++) {
            assert_int_equal(trace.hops[i].ttl, 64 - trace.hops[i].switch_address[15]);
            assert_true(!i || trace.hops[i].ttl < trace.hops[i - 1].ttl);
        }
        n += rc > 0;
    }
    ef_trace_cursor_close(cursor);
    return n;
}

static void
three_times_the_capacity(void **state)
{
    static struct overload o;
    const char *text = getenv("EF_OVERLOAD_SECONDS");
    int64_t seconds = text ? strtoll(text, NULL, 10) : DEFAULT_SECONDS;
    set_up(&o);
    const struct ef_assembler_counters *c = ef_assembler_counters(o.worker.assembler);
    const ef_counter *fates = o.worker.judge.fates;
    struct ef_time end = ef_time_add_ns(ef_time_mono(), seconds * EF_NS_PER_S);
    while (ef_time_before(ef_time_mono(), end)) {
        for (int i = 0; i < BURSTS_PER_TURN; i++) {
            assert_true(ef_ingest_turn(&o.ingest, 0) > 0);
        }
        while (ef_ring_peek(&o.ingest.feeds[0].ring)) { /* Closing comes first, in turns of its own. */
            ef_worker_turn(&o.worker);
        }
    }
    uint64_t lost = ef_counter_get(&o.ingest.feeds[0].busy), received = ef_counter_get(&o.ingest.frames);
    assert_true(lost > received / 2);
    /* The load is gone: soon everything is whole again. */
    for (int i = 0; i < 2000; i++) {
        ef_ingest_turn(&o.ingest, 0);
        work_off(&o);
    }
    assert_int_equal(ef_counter_get(&o.ingest.feeds[0].busy), lost);
    uint64_t before = ef_counter_get(&fates[EF_FATE_DELIVERED]), closed_before = ef_counter_get(&c->closed);
    for (int i = 0; i < 2000; i++) {
        ef_ingest_turn(&o.ingest, 0);
        work_off(&o);
    }
    assert_int_equal(ef_counter_get(&fates[EF_FATE_DELIVERED]) - before, ef_counter_get(&c->closed) - closed_before);
    assert_true(ef_counter_get(&c->closed) > closed_before);
    assert_true(check_traces(&o) > 0);
    assert_int_equal(ef_counter_get(&fates[EF_FATE_DROPPED]), 0);
    assert_int_equal(ef_counter_get(&fates[EF_FATE_LOOP]), 0);
    ef_assembler_close_all(o.worker.assembler); /* Whose last copies the stream has yet to make: of no interest. */
    assert_int_equal(ef_counter_get(&o.ingest.frames), ef_counter_get(&c->copies) + ef_counter_get(&c->table_full) +
                                                           ef_counter_get(&c->hops_full) + lost);
    print_message("# %llu copies, %llu lost and counted, %llu traces: %llu delivered, %llu unsure\n",
                  (unsigned long long) received, (unsigned long long) lost,
                  (unsigned long long) ef_counter_get(&c->closed),
                  (unsigned long long) ef_counter_get(&fates[EF_FATE_DELIVERED]),
                  (unsigned long long) ef_counter_get(&fates[EF_FATE_UNSURE]));
    tear_down(&o);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(three_times_the_capacity)};
    return cmocka_run_group_tests_name("analyzer/overload", tests, NULL, NULL);
}
