/* SPDX-License-Identifier: Apache-2.0 */
/* Somebody sets the wall clock, forth and back, by milliseconds and by years,
 * while copies come: every packet has its one trace all the same, none is called
 * dropped or in a loop, and traces are closed as if nothing had been. The clock is
 * our clock_gettime(), which the analyzer's code calls instead of the library's. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "bench/copy_stream.h"
#include "lane.h"

enum { SPREAD = 20, BURSTS_BETWEEN_STEPS = 200 };

#define START_NS (1795228200 * EF_NS_PER_S)

/* What the clocks show, to the store's thread, too: monotonic time, and real time that was set by so much. */
static _Atomic int64_t mono_ns, set_ns;

int
clock_gettime(clockid_t clock, struct timespec *ts)
{
    int64_t ns = clock == CLOCK_REALTIME ? START_NS + mono_ns + set_ns : mono_ns;
    *ts = (struct timespec){ns / EF_NS_PER_S, ns % EF_NS_PER_S};
    return 0;
}

struct clocked {
    struct ef_source source;
    struct ef_copy_stream stream;
    uint8_t frames[EF_BURST][EF_STREAM_FRAME];
    struct lane lane;
};

/* As the kernel does it: frames come at their time, stamped with the clock as it is set now. */
static int
clocked_receive(struct ef_source *source, struct ef_frame *frames, int max, int timeout_ms)
{
    struct clocked *c = EF_CONTAINER_OF(source, struct clocked, source);
    struct ef_time arrivals[EF_BURST];
    int n = EF_MIN(max, EF_BURST);
    ef_copy_stream_make(&c->stream, c->frames[0], arrivals, (unsigned) n);
    for (int i = 0; i < n; i++) {
        int64_t before = mono_ns;
        mono_ns = EF_MAX(before, arrivals[i].ns);
        frames[i] = (struct ef_frame){.data = c->frames[i],
                                      .len = c->stream.frame_len,
                                      .wire_len = c->stream.frame_len,
                                      .arrival = {START_NS + arrivals[i].ns + set_ns}};
    }
    return n;
}

static void
clocked_close(struct ef_source *source)
{
}

static const struct ef_source_class clocked_class = {
    .scheme = "clocked", .close = clocked_close, .receive = clocked_receive, .overflows = lane_overflows};

static void
play(struct clocked *c, int n_bursts)
{
    for (int i = 0; i < n_bursts; i++) {
        assert_int_equal(ef_ingest_turn(&c->lane.ingests[0], 0), EF_BURST);
        lane_work_off(&c->lane);
    }
}

static void
check_trace(const struct ef_trace *trace)
{
    assert_int_equal(trace->n_hops, EF_STREAM_HOPS);
    for (unsigned i = 0; i < trace->n_hops; i++) {
        assert_int_equal(trace->hops[i].ttl, 64 - i);
    }
}

static void
the_clock_is_set(void **state)
{
    static struct clocked c;
    /* Less than 50 ms is an adjustment, which no idle time of use takes for a pause. */
    static const int64_t steps_ms[] = {100,      -100,           1000,           -1000,
                                       3600000,  -3600000,       86400000,       -2 * 86400000LL,
                                       86400000, 315360000000LL, -315360000000LL};
    c.source.class = &clocked_class;
    mono_ns = EF_NS_PER_S;
    assert_true(ef_copy_stream_init(&c.stream, 0, SPREAD));
    c.lane = (struct lane){.n_ingests = 1,
                           .sources = {&c.source},
                           .ring_slots = 1024,
                           .n_counters = 4,
                           .policy = "all",
                           .open_bytes = 8 << 20,
                           .query_bytes = 1 << 20,
                           .idle_ns = EF_NS_PER_MS};
    lane_set_up(&c.lane, EF_STREAM_DESTINATION, EF_STREAM_LAST_SWITCH);
    const struct ef_assembler_counters *n = ef_assembler_counters(c.lane.worker.assembler);
    const ef_counter *fates = c.lane.worker.judge.fates;
    play(&c, BURSTS_BETWEEN_STEPS);
    for (size_t i = 0; i < EF_ARRAY_SIZE(steps_ms); i++) {
        uint64_t closed = ef_counter_get(&n->closed);
        set_ns += steps_ms[i] * EF_NS_PER_MS;
        play(&c, BURSTS_BETWEEN_STEPS);
        assert_true(ef_counter_get(&n->closed) > closed);
        assert_true(ef_counter_get(&n->opened) - ef_counter_get(&n->closed) < 5000);
    }
    assert_int_equal(ef_counter_get(&fates[EF_FATE_DELIVERED]), ef_counter_get(&n->closed));
    assert_int_equal(ef_counter_get(&n->copies), ef_counter_get(&c.lane.ingests[0].frames));
    assert_true(lane_look_at_traces(&c.lane, 0, check_trace) > 0);
    lane_tear_down(&c.lane);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_clock_is_set)};
    return cmocka_run_group_tests_name("analyzer/clock", tests, NULL, NULL);
}
