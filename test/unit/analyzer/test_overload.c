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

#include "bench/copy_stream.h"
#include "lane.h"

enum {
    CHUNK = 4096,
    RING_SLOTS = 256, /* What the worker takes in a turn. */
    TIMES = 3,
    BURSTS_PER_TURN = TIMES * RING_SLOTS / EF_BURST,
    SPREAD = 50, /* Packets between two hops of one. */
    DEFAULT_SECONDS = 1,
};

struct overload {
    struct ef_source source;
    struct ef_copy_stream stream;
    uint8_t frames[CHUNK][EF_STREAM_FRAME];
    struct ef_time arrivals[CHUNK];
    unsigned next; /* Of the chunk. */
    struct lane lane;
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

static const struct ef_source_class overload_class = {
    .scheme = "overload", .close = overload_close, .receive = overload_receive, .overflows = lane_overflows};

static void
set_up(struct overload *o)
{
    o->source.class = &overload_class;
    o->next = CHUNK;
    assert_true(ef_copy_stream_init(&o->stream, 0, SPREAD));
    o->lane = (struct lane){.n_ingests = 1,
                            .sources = {&o->source},
                            .ring_slots = RING_SLOTS,
                            .n_counters = 4,
                            .policy = "all",
                            .open_bytes = 8 << 20,
                            .query_bytes = 4 << 20,
                            .idle_ns = 2 * EF_NS_PER_MS};
    lane_set_up(&o->lane, EF_STREAM_DESTINATION, EF_STREAM_LAST_SWITCH);
    assert_int_equal(ef_filter_counters_add(o->lane.counters, "dropped", "trace.drop", (struct ef_group_by){0}, NULL),
                     0);
}

/* Each hop of each stored trace is one that the packet really crossed. */
static void
check_trace(const struct ef_trace *trace)
{
    for (unsigned i = 0; i < trace->n_hops; i++) {
        assert_int_equal(trace->hops[i].ttl, 64 - trace->hops[i].switch_address[15]);
        assert_true(!i || trace->hops[i].ttl < trace->hops[i - 1].ttl);
    }
}

static void
three_times_the_capacity(void **state)
{
    static struct overload o;
    const char *text = getenv("EF_OVERLOAD_SECONDS");
    int64_t seconds = text ? strtoll(text, NULL, 10) : DEFAULT_SECONDS;
    set_up(&o);
    const struct ef_assembler_counters *c = ef_assembler_counters(o.lane.worker.assembler);
    const ef_counter *fates = o.lane.worker.judge.fates;
    struct ef_time end = ef_time_add_ns(ef_time_mono(), seconds * EF_NS_PER_S);
    while (ef_time_before(ef_time_mono(), end)) {
        for (int i = 0; i < BURSTS_PER_TURN; i++) {
            assert_true(ef_ingest_turn(&o.lane.ingests[0], 0) > 0);
        }
        while (ef_ring_peek(&o.lane.ingests[0].feeds[0].ring)) { /* Closing comes first, in turns of its own. */
            ef_worker_turn(&o.lane.worker);
        }
    }
    uint64_t lost = ef_counter_get(&o.lane.ingests[0].feeds[0].busy),
             received = ef_counter_get(&o.lane.ingests[0].frames);
    assert_true(lost > received / 2);
    /* The load is gone: soon everything is whole again. */
    for (int i = 0; i < 2000; i++) {
        ef_ingest_turn(&o.lane.ingests[0], 0);
        lane_work_off(&o.lane);
    }
    assert_int_equal(ef_counter_get(&o.lane.ingests[0].feeds[0].busy), lost);
    uint64_t before = ef_counter_get(&fates[EF_FATE_DELIVERED]), closed_before = ef_counter_get(&c->closed);
    for (int i = 0; i < 2000; i++) {
        ef_ingest_turn(&o.lane.ingests[0], 0);
        lane_work_off(&o.lane);
    }
    assert_int_equal(ef_counter_get(&fates[EF_FATE_DELIVERED]) - before, ef_counter_get(&c->closed) - closed_before);
    assert_true(ef_counter_get(&c->closed) > closed_before);
    assert_true(lane_look_at_traces(&o.lane, 0, check_trace) > 0);
    assert_int_equal(ef_counter_get(&fates[EF_FATE_DROPPED]), 0);
    assert_int_equal(ef_counter_get(&fates[EF_FATE_LOOP]), 0);
    ef_assembler_close_all(o.lane.worker.assembler); /* Whose last copies the stream has yet to make: of no interest. */
    assert_int_equal(ef_counter_get(&o.lane.ingests[0].frames), ef_counter_get(&c->copies) +
                                                                    ef_counter_get(&c->table_full) +
                                                                    ef_counter_get(&c->hops_full) + lost);
    print_message("# %llu copies, %llu lost and counted, %llu traces: %llu delivered, %llu unsure\n",
                  (unsigned long long) received, (unsigned long long) lost,
                  (unsigned long long) ef_counter_get(&c->closed),
                  (unsigned long long) ef_counter_get(&fates[EF_FATE_DELIVERED]),
                  (unsigned long long) ef_counter_get(&fates[EF_FATE_UNSURE]));
    lane_tear_down(&o.lane);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(three_times_the_capacity)};
    return cmocka_run_group_tests_name("analyzer/overload", tests, NULL, NULL);
}
