/* SPDX-License-Identifier: Apache-2.0 */
/* A worker between two sources: each has its turn, however much the other brings,
 * and who hangs back holds the traces open that wait for its copies. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bench/copy_stream.h"
#include "lane.h"

enum { SPREAD = 4, N_FRAMES = 256 };
static const int64_t PIPE_IDLE_NS = 60 * EF_NS_PER_S;

/* Brings up to `n_left` copies of its own stream. */
struct feeder {
    struct ef_source source;
    struct ef_copy_stream stream;
    uint8_t frames[EF_BURST][EF_STREAM_FRAME];
    struct ef_time arrivals[EF_BURST];
    unsigned n_left;
};

static int
feeder_receive(struct ef_source *source, struct ef_frame *frames, int max, int timeout_ms)
{
    struct feeder *f = EF_CONTAINER_OF(source, struct feeder, source);
    int n = EF_MIN(max, (int) EF_MIN(f->n_left, (unsigned) EF_BURST));
    ef_copy_stream_make(&f->stream, f->frames[0], f->arrivals, (unsigned) n);
    for (int i = 0; i < n; i++) {
        frames[i] = (struct ef_frame){.data = f->frames[i],
                                      .len = f->stream.frame_len,
                                      .wire_len = f->stream.frame_len,
                                      .arrival = f->arrivals[i]};
    }
    f->n_left -= (unsigned) n;
    return n;
}

static void
feeder_close(struct ef_source *source)
{
}

static const struct ef_source_class feeder_class = {
    .scheme = "feeder", .close = feeder_close, .receive = feeder_receive, .overflows = lane_overflows};

/* It waits for its reader, as a pipe does. */
static const struct ef_source_class pipe_class = {.scheme = "pipe", .close = feeder_close, .receive = feeder_receive};

static struct feeder feeders[2];
static struct lane lane;

static int
set_up_of(const struct ef_source_class *class, int64_t idle_ns)
{
    memset(feeders, 0, sizeof feeders);
    memset(&lane, 0, sizeof lane);
    for (unsigned i = 0; i < 2; i++) {
        feeders[i].source.class = class;
        assert_true(ef_copy_stream_init(&feeders[i].stream, i, SPREAD));
        lane.sources[i] = &feeders[i].source;
    }
    lane.n_ingests = 2;
    lane.ring_slots = 1024;
    lane.n_counters = 4;
    lane.policy = "all";
    lane.open_bytes = 4 << 20;
    lane.query_bytes = 1 << 20;
    lane.idle_ns = idle_ns;
    lane_set_up(&lane, EF_STREAM_DESTINATION, EF_STREAM_LAST_SWITCH);
    return 0;
}

static int
set_up(void **state)
{
    return set_up_of(&feeder_class, EF_NS_PER_MS);
}

static int
set_up_pipes(void **state)
{
    return set_up_of(&pipe_class, PIPE_IDLE_NS);
}

static int
tear_down(void **state)
{
    lane_tear_down(&lane);
    return 0;
}

static void
bring(unsigned feeder, unsigned n)
{
    feeders[feeder].n_left = n;
    while (feeders[feeder].n_left) {
        assert_true(ef_ingest_turn(&lane.ingests[feeder], 0) > 0);
    }
}

static uint32_t
n_waiting(unsigned feeder)
{
    struct ef_ring *ring = &lane.ingests[feeder].feeds[0].ring;
    return ring->tail_private - ring->head_private;
}

static void
each_source_has_its_turn(void **state)
{
    for (int i = 0; i < 50; i++) {
        bring(0, EF_BURST);
        bring(1, EF_BURST);
        for (int turns = 0; n_waiting(0) + n_waiting(1); turns++) {
            uint32_t before[2] = {n_waiting(0), n_waiting(1)};
            assert_true(turns < 100);
            ef_worker_turn(&lane.worker);
            /* It takes from both, or from none, when it closes traces. */
            assert_int_equal(n_waiting(0) < before[0], n_waiting(1) < before[1]);
        }
    }
    assert_int_equal(ef_counter_get(&lane.ingests[0].feeds[0].busy), 0);
    assert_int_equal(ef_counter_get(&lane.ingests[1].feeds[0].busy), 0);
}

/* Of one source there are always some left: the other does not starve. */
static void
a_busy_source_starves_none(void **state)
{
    bring(1, N_FRAMES);
    for (int i = 0; n_waiting(1); i++) {
        assert_true(i < 20);
        bring(0, EF_BURST);
        ef_worker_turn(&lane.worker);
    }
}

static uint64_t
n_closed(void)
{
    return ef_counter_get(&ef_assembler_counters(lane.worker.assembler)->closed);
}

/* Copies of 100 ms come from one source, none from the other, of which nobody knows
 * how far it is: nothing is closed, until it says that it is there as well. */
static void
traces_wait_for_the_slowest_source(void **state)
{
    for (int i = 0; i < 500; i++) {
        bring(0, EF_BURST);
        lane_work_off(&lane);
    }
    assert_int_equal(n_closed(), 0);
    for (int i = 0; i < 500; i++) {
        bring(1, EF_BURST);
        lane_work_off(&lane);
    }
    assert_true(n_closed() > 0);
}

static void
be_silent(void)
{
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(ef_ingest_turn(&lane.ingests[i], 0), 0);
    }
    lane_work_off(&lane);
}

/* What a pipe brings was captured long ago: that nothing more is in it at the moment does not
 * make its traces old. Nor is a pipe waited for that has brought nothing yet. */
static void
a_pipe_has_a_time_of_its_own(void **state)
{
    be_silent();
    bring(0, EF_BURST);
    be_silent();
    bring(0, EF_BURST);
    be_silent();
    assert_int_equal(n_closed(), 0);
    feeders[0].stream.step += (uint64_t) (2 * PIPE_IDLE_NS / EF_STREAM_GAP_NS);
    bring(0, EF_BURST);
    be_silent();
    assert_true(n_closed() > 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_source_has_its_turn, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_busy_source_starves_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(traces_wait_for_the_slowest_source, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_pipe_has_a_time_of_its_own, set_up_pipes, tear_down),
    };
    return cmocka_run_group_tests_name("analyzer/worker", tests, NULL, NULL);
}
