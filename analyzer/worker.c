/* SPDX-License-Identifier: Apache-2.0 */
/* The worker thread; see worker.h. */
#include <config.h>

#include "analyzer/worker.h"

#include <errno.h>
#include <string.h>

#include "packet/probe_signature.h"

enum {
    BATCHES_PER_TURN = 8, /* Per feed, before the other feeds and closing have theirs. */
    CLOSE_PER_TURN = 256,
    JUMPS_PER_IDLE = 32, /* A jump is longer than idle time / this. */
    SLEEP_MS = 20,
};

/* Reshufflers report ten times a second. */
#define REPORT_WAIT_NS (200 * EF_NS_PER_MS)

static void
on_closed(void *ctx, struct ef_trace *trace)
{
    struct ef_worker *w = ctx;
    struct ef_packet packet;
    struct ef_probe_signature signature;
    ef_judge_trace(&w->judge, trace);
    ef_packet_parse(&packet, trace->bytes, trace->n_bytes, trace->wire_len);
    ef_load_table_count(&w->load, trace, !ef_probe_signature_find(&packet, &signature));
    ef_filter_counters_count(w->config.counters, w->config.number, trace);
    if (ef_keep_wants(w->config.keep, trace, &packet)) {
        ef_trace_store_append(w->config.store, w->config.number, trace);
    } else {
        ef_counter_add(&w->unkept_traces, 1);
        ef_counter_add(&w->unkept_copies, trace->n_copies);
    }
}

int
ef_worker_init(struct ef_worker *w, const struct ef_worker_config *config, struct ef_error *err)
{
    memset(w, 0, sizeof *w);
    w->config = *config;
    w->config.assembler.closed = on_closed;
    w->config.assembler.ctx = w;
    w->now = (struct ef_time){INT64_MIN};
    w->judge = config->judge;
    w->judge.report_ns = EF_MIN(config->assembler.idle_ns / 2, (int64_t) REPORT_WAIT_NS);
    if (ef_judge_init(&w->judge) || ef_load_table_init(&w->load, config->load_ports)) {
        return ef_error_set(err, -ENOMEM, "out of memory");
    }
    return ef_assembler_create(&w->config.assembler, &w->assembler, err);
}

void
ef_worker_deinit(struct ef_worker *w)
{
    ef_judge_deinit(&w->judge);
    ef_load_table_deinit(&w->load);
    ef_assembler_destroy(w->assembler);
    w->assembler = NULL;
}

/* A worker's feeds in its own order: not all workers should wait for the same ingest. */
static struct ef_ring *
ring_of(struct ef_worker *w, unsigned feed)
{
    unsigned ingest = (feed + w->config.number) % w->config.n_ingests;
    return &w->config.ingests[ingest].feeds[w->config.number].ring;
}

/* The records that come behind those taken: of this feed, or else of the next one.
 * As far as the rings are known; returns how many. */
static unsigned
find_soon(struct ef_worker *w, unsigned feed, const struct ef_copy_record *soon[EF_ASSEMBLER_BATCH])
{
    unsigned n = 0;
    for (; !n && feed < w->config.n_ingests; feed++) {
        struct ef_ring *ring = ring_of(w, feed);
        for (; n < EF_ASSEMBLER_BATCH && n < ef_ring_known(ring); n++) {
            soon[n] = ef_ring_ahead(ring, n);
        }
    }
    return n;
}

/* Assembles up to a batch, which ends early where the stamps jump: what is due by
 * then has to be closed first. Returns its size; `*last` is the last stamp. */
static unsigned
take_batch(struct ef_worker *w, unsigned feed, struct ef_time *last)
{
    struct ef_ring *ring = ring_of(w, feed);
    const struct ef_copy_record *records[EF_ASSEMBLER_BATCH], *soon[EF_ASSEMBLER_BATCH];
    int64_t jump_ns = w->config.assembler.idle_ns / JUMPS_PER_IDLE;
    unsigned n = 0;
    while (n < EF_ASSEMBLER_BATCH && (records[n] = ef_ring_peek(ring))) {
        if (last->ns != INT64_MIN && ef_time_diff_ns(records[n]->stamp, *last) > jump_ns) {
            break;
        }
        *last = records[n++]->stamp;
        ef_ring_release(ring);
    }
    if (n) {
        ef_assembler_add(w->assembler, records, n, soon, find_soon(w, feed, soon));
        ef_ring_release_flush(ring);
    }
    return n;
}

/* Assembles what the feed holds, or some of it; true if there was anything. */
static bool
drain(struct ef_worker *w, unsigned feed)
{
    struct ef_time last = {INT64_MIN};
    unsigned n = EF_ASSEMBLER_BATCH, sum = 0;
    for (unsigned i = 0; i < BATCHES_PER_TURN && n == EF_ASSEMBLER_BATCH; i++) {
        n = take_batch(w, feed, &last);
        sum += n;
    }
    return sum > 0;
}

/* Up to which steady time nothing more comes from this ingest. */
static int64_t
reached_by(const struct ef_worker *w, struct ef_ingest *in)
{
    /* The clock first: what it covers is in the ring by then. */
    int64_t clock = atomic_load_explicit(&in->clock, memory_order_acquire);
    const struct ef_copy_record *next = ef_ring_peek(&in->feeds[w->config.number].ring);
    return next ? next->stamp.ns : clock;
}

/* Copies that we would have got were lost: traces of now may lack a hop. */
static void
note_losses(struct ef_worker *w)
{
    uint64_t losses = 0;
    for (unsigned i = 0; i < w->config.n_ingests; i++) {
        const struct ef_ingest *in = &w->config.ingests[i];
        losses += ef_counter_get(&in->feeds[w->config.number].busy) + ef_counter_get(&in->overflows) +
                  ef_counter_get(&in->gaps);
    }
    if (losses != w->losses) {
        w->losses = losses;
        ef_assembler_note_loss(w->assembler, w->now);
    }
}

/* Closes what is due, when everything up to `reached` was taken. True if there
 * is more to close. */
static bool
close_due(struct ef_worker *w, int64_t reached)
{
    if (reached == INT64_MAX) {
        ef_assembler_close_all(w->assembler);
        return false;
    }
    return reached != INT64_MIN && ef_assembler_close_idle(w->assembler, w->now, CLOSE_PER_TURN) >= CLOSE_PER_TURN;
}

bool
ef_worker_turn(struct ef_worker *w)
{
    int64_t reached = INT64_MAX;
    for (unsigned i = 0; i < w->config.n_ingests; i++) {
        reached = EF_MIN(reached, reached_by(w, &w->config.ingests[i]));
    }
    if (reached != INT64_MAX) {
        w->now.ns = EF_MAX(w->now.ns, reached);
    }
    note_losses(w);
    ef_filter_counters_turn(w->config.counters, w->config.number);
    if (w->config.topology) {
        w->judge.last_hops = ef_current_topology_use(w->config.topology, w->config.number);
    }
    /* Closing makes room for what comes. */
    bool closes = close_due(w, reached), worked = closes;
    for (unsigned i = 0; !closes && i < w->config.n_ingests; i++) {
        worked |= drain(w, i);
    }
    ef_trace_store_flush(w->config.store, w->config.number);
    return worked;
}

static bool
is_work_there(void *ctx)
{
    struct ef_worker *w = ctx;
    bool there = atomic_load_explicit(&w->stop, memory_order_relaxed);
    for (unsigned i = 0; i < w->config.n_ingests; i++) {
        there |= ef_ring_peek(&w->config.ingests[i].feeds[w->config.number].ring) != NULL;
    }
    return there;
}

static void *
run(void *arg)
{
    struct ef_worker *w = arg;
    while (!atomic_load_explicit(&w->stop, memory_order_relaxed)) {
        if (!ef_worker_turn(w)) {
            ef_bell_sleep(w->config.bell, SLEEP_MS, is_work_there, w);
        }
    }
    return NULL;
}

int
ef_worker_start(struct ef_worker *w, struct ef_error *err)
{
    int rc = pthread_create(&w->thread, NULL, run, w);
    if (rc) {
        return ef_error_set(err, -rc, "cannot start a thread: %s", strerror(rc));
    }
    w->is_running = true;
    return 0;
}

void
ef_worker_stop(struct ef_worker *w)
{
    if (w->is_running) {
        atomic_store(&w->stop, true);
        ef_bell_ring(w->config.bell);
        pthread_join(w->thread, NULL);
        w->is_running = false;
    }
}
