/* SPDX-License-Identifier: Apache-2.0 */
/* A worker of an analyzer with all that it needs, and ingests of sources that the
 * test makes up; the test takes the turns.
 *
 *     static struct lane lane = {.n_ingests = 1, .sources = {&source}, .ring_slots = 256, ...};
 *     lane_set_up(&lane, "10.200.0.1", "10.255.0.4");
 *     ef_ingest_turn(&lane.ingests[0], 0); ef_worker_turn(&lane.worker);
 *     lane_tear_down(&lane);
 *
 * One thread. */
#ifndef EF_TEST_ANALYZER_LANE_H
#define EF_TEST_ANALYZER_LANE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyzer/worker.h"
#include "io/source_class.h"

enum { LANE_MAX_INGESTS = 2, LANE_MAX_TURNS = 1 << 20 };

struct lane {
    /* Set by the test. */
    unsigned n_ingests, ring_slots, n_counters;
    struct ef_source *sources[LANE_MAX_INGESTS];
    const char *policy; /* What is kept, see keep.h. */
    uint64_t open_bytes, query_bytes;
    int64_t idle_ns;
    uint8_t debug_dscp;

    struct ef_bell bell;
    struct ef_ingest ingests[LANE_MAX_INGESTS];
    struct ef_worker worker;
    struct ef_trace_store *store;
    struct ef_filter_counters *counters;
    struct ef_keep keep;
    struct ef_last_hops *last_hops;
    const struct ef_loss_table *losses[LANE_MAX_INGESTS];
};

/* Nothing is lost by a source of memory. */
static inline uint64_t
lane_overflows(struct ef_source *source)
{
    return 0;
}

static inline void
lane_init_ingest(struct lane *l, unsigned i)
{
    struct ef_error err = EF_ERROR_INIT;
    struct ef_ingest_config config = {.spec = "memory",
                                      .source = l->sources[i],
                                      .feed_slots = l->ring_slots,
                                      .n_workers = 1,
                                      .bells = &l->bell,
                                      .takes_loss_reports = true};
    assert_int_equal(ef_ingest_init(&l->ingests[i], &config, &err), 0);
    l->losses[i] = &l->ingests[i].losses;
}

/* The hosts `destinations` are behind `last_switch`. */
static inline void
lane_set_up(struct lane *l, const char *destinations, const char *last_switch)
{
    struct ef_error err = EF_ERROR_INIT;
    json_t *topology = json_pack("{s:[{s:s, s:s}], s:[{s:s, s:s}]}", "switches", "name", "last", "loopback",
                                 last_switch, "hosts", "address", destinations, "switch", "last");
    assert_int_equal(ef_last_hops_create(topology, &l->last_hops, &err), 0);
    json_decref(topology);
    assert_int_equal(ef_bell_init(&l->bell), 0);
    assert_int_equal(ef_keep_init(&l->keep, l->policy, &err), 0);
    assert_int_equal(ef_filter_counters_create(1, l->n_counters, &l->counters), 0);
    assert_int_equal(ef_trace_store_create(1, 8 << 20, l->query_bytes, &l->store, &err), 0);
    for (unsigned i = 0; i < l->n_ingests; i++) {
        lane_init_ingest(l, i);
    }
    struct ef_worker_config worker = {
        .assembler = {.memory_bytes = l->open_bytes, .idle_ns = l->idle_ns, .debug_dscp = l->debug_dscp},
        .ingests = l->ingests,
        .n_ingests = l->n_ingests,
        .bell = &l->bell,
        .store = l->store,
        .judge = {.last_hops = l->last_hops, .losses = l->losses, .n_losses = l->n_ingests},
        .load_ports = EF_LOAD_MIN_PORTS,
        .keep = &l->keep,
        .counters = l->counters,
    };
    assert_int_equal(ef_worker_init(&l->worker, &worker, &err), 0);
}

static inline void
lane_tear_down(struct lane *l)
{
    ef_worker_deinit(&l->worker);
    for (unsigned i = 0; i < l->n_ingests; i++) {
        ef_ingest_deinit(&l->ingests[i]);
    }
    ef_trace_store_destroy(l->store);
    ef_filter_counters_destroy(l->counters);
    ef_keep_deinit(&l->keep);
    ef_bell_deinit(&l->bell);
    ef_last_hops_destroy(l->last_hops);
}

/* Until the worker has nothing more to do. */
static inline void
lane_work_off(struct lane *l)
{
    for (int i = 0; ef_worker_turn(&l->worker); i++) {
        assert_true(i < LANE_MAX_TURNS);
    }
}

/* Calls `look` with each trace of the store, or the newest `limit` of them unless
 * that is 0. Returns how many there were. */
static inline uint64_t
lane_look_at_traces(struct lane *l, uint64_t limit, void (*look)(const struct ef_trace *trace))
{
    static struct ef_trace trace;
    struct ef_trace_query query = {.start = {INT64_MIN}, .end = {INT64_MAX}, .limit = limit};
    struct ef_trace_cursor *cursor;
    uint64_t n = 0, turns = 0;
    assert_int_equal(ef_trace_store_query(l->store, &query, &cursor, NULL), 0);
    for (int rc; (rc = ef_trace_cursor_next(cursor, &trace)); turns++) {
        assert_true(turns < 100 * (uint64_t) LANE_MAX_TURNS);
        if (rc > 0) {
            look(&trace);
            n++;
        }
    }
    ef_trace_cursor_close(cursor);
    return n;
}

#endif
