/* SPDX-License-Identifier: Apache-2.0 */
/* The analyzer's whole way of a copy: received, parsed, identified, handed to
 * the worker, assembled with those of its packet at 5 hops, the verdict, all
 * counters, into the store. Next to the same source counted and thrown away.
 *
 * Frames come from memory, by a source of our own. A lane is a thread that is an
 * ingest and a worker in turns, so that the figure is that of one core for both.
 * With two lanes each ingest feeds both workers, as two sources do. What is made
 * for the next frames is outside the measured time, which is the processor's. */
#include <config.h>

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "analyzer/ingest.h"
#include "analyzer/worker.h"
#include "bench/bench.h"
#include "bench/copy_stream.h"
#include "io/source_class.h"

enum {
    MAX_LANES = 2,
    CHUNK = 2048, /* Copies made at once, outside the measured time. */
    CHUNKS = 512, /* Per run. */
    TURN_LIMIT = 1 << 20,
    STORE_BYTES = 64 << 20,
};

struct lane {
    struct bench *bench;
    unsigned number;
    pthread_t thread;
    struct ef_source source;
    struct ef_copy_stream stream;
    uint8_t *frames;
    struct ef_time *arrivals;
    unsigned next; /* Frame of the chunk. */
    double seconds;
};

struct bench {
    unsigned n_lanes, open_traces;
    uint64_t n_chunks; /* That each lane has to do. */
    pthread_barrier_t barrier;
    struct lane lanes[MAX_LANES];
    struct ef_bell bells[MAX_LANES];
    struct ef_ingest ingests[MAX_LANES];
    struct ef_worker workers[MAX_LANES];
    const struct ef_loss_table *losses[MAX_LANES];
    struct ef_last_hops *last_hops;
    struct ef_trace_store *store;
    struct ef_keep keep;
    struct ef_filter_counters *counters;
};

static void
check(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "bench_analyze: %s\n", what);
        exit(1);
    }
}

/* --- The source ------------------------------------------------------------------- */

static int
memory_receive(struct ef_source *source, struct ef_frame *frames, int max, int timeout_ms)
{
    struct lane *lane = EF_CONTAINER_OF(source, struct lane, source);
    int n = 0;
    for (; n < max && lane->next < CHUNK; n++, lane->next++) {
        frames[n] = (struct ef_frame){.data = lane->frames + (size_t) lane->next * EF_STREAM_FRAME,
                                      .len = lane->stream.frame_len,
                                      .wire_len = lane->stream.frame_len,
                                      .arrival = lane->arrivals[lane->next]};
    }
    return n;
}

static void
memory_close(struct ef_source *source)
{
}

static uint64_t
memory_overflows(struct ef_source *source)
{
    return 0;
}

static const struct ef_source_class memory_class = {
    .scheme = "memory",
    .close = memory_close,
    .receive = memory_receive,
    .overflows = memory_overflows,
};

/* --- Lanes ------------------------------------------------------------------------- */

static void
make_chunk(struct lane *lane)
{
    ef_copy_stream_make(&lane->stream, lane->frames, lane->arrivals, CHUNK);
    lane->next = 0;
}

static void
count_chunk(struct lane *lane)
{
    struct ef_frame frames[EF_BURST];
    uint64_t bytes = 0;
    for (int n; lane->next < CHUNK;) {
        n = ef_source_receive(&lane->source, frames, EF_BURST, 0);
        for (int i = 0; i < n; i++) {
            bytes += frames[i].data[0];
        }
    }
    ef_bench_keep(bytes);
}

static void
analyze_chunk(struct lane *lane)
{
    struct bench *b = lane->bench;
    while (lane->next < CHUNK) {
        ef_ingest_turn(&b->ingests[lane->number], 0);
        ef_worker_turn(&b->workers[lane->number]);
    }
}

/* What other lanes have handed to our worker. */
static void
take_rest(struct lane *lane)
{
    unsigned turns = 0;
    while (ef_worker_turn(&lane->bench->workers[lane->number])) {
        check(++turns < TURN_LIMIT, "a worker has no end of work");
    }
}

static void *
run_lane(void *arg)
{
    struct lane *lane = arg;
    struct bench *b = lane->bench;
    lane->seconds = 0;
    for (uint64_t i = 0; i < b->n_chunks; i++) {
        make_chunk(lane);
        pthread_barrier_wait(&b->barrier);
        double start = ef_bench_cpu_seconds();
        analyze_chunk(lane);
        lane->seconds += ef_bench_cpu_seconds() - start;
        pthread_barrier_wait(&b->barrier);
        start = ef_bench_cpu_seconds();
        take_rest(lane);
        lane->seconds += ef_bench_cpu_seconds() - start;
    }
    return NULL;
}

static void
start_lanes(struct bench *b, uint64_t n_chunks)
{
    b->n_chunks = n_chunks;
    for (unsigned i = 0; i < b->n_lanes; i++) {
        check(!pthread_create(&b->lanes[i].thread, NULL, run_lane, &b->lanes[i]), "cannot start a thread");
    }
}

/* Waits for them; copies per second of processor time of all lanes together. */
static double
finish_lanes(struct bench *b)
{
    double sum = 0;
    for (unsigned i = 0; i < b->n_lanes; i++) {
        pthread_join(b->lanes[i].thread, NULL);
        sum += (double) b->n_chunks * CHUNK / b->lanes[i].seconds;
    }
    return sum;
}

static double
analyze_rate(struct bench *b, uint64_t n_chunks)
{
    start_lanes(b, n_chunks);
    return finish_lanes(b);
}

static double
count_rate(struct lane *lane)
{
    double seconds = 0;
    for (int i = 0; i < CHUNKS; i++) {
        lane->next = 0;
        double start = ef_bench_cpu_seconds();
        count_chunk(lane);
        seconds += ef_bench_cpu_seconds() - start;
    }
    return (double) CHUNK * CHUNKS / seconds;
}

/* --- Setting up ----------------------------------------------------------------------- */

static void
make_topology(struct bench *b)
{
    struct ef_error err = EF_ERROR_INIT;
    json_t *document = json_pack("{s:[{s:s, s:s}], s:[{s:s, s:s}]}", "switches", "name", "last", "loopback",
                                 EF_STREAM_LAST_SWITCH, "hosts", "address", EF_STREAM_DESTINATION, "switch", "last");
    check(!ef_last_hops_create(document, &b->last_hops, &err), err.text);
    json_decref(document);
}

static void
init_lane(struct bench *b, unsigned i, unsigned spread)
{
    struct ef_error err = EF_ERROR_INIT;
    struct lane *lane = &b->lanes[i];
    *lane = (struct lane){.bench = b, .number = i, .source.class = &memory_class};
    check(ef_copy_stream_init(&lane->stream, i, spread), "cannot build a copy");
    lane->frames = malloc((size_t) CHUNK * EF_STREAM_FRAME);
    lane->arrivals = malloc(CHUNK * sizeof *lane->arrivals);
    check(lane->frames && lane->arrivals, "out of memory");
    struct ef_ingest_config config = {
        .spec = "memory",
        .source = &lane->source,
        .feed_slots = CHUNK,
        .n_workers = b->n_lanes,
        .bells = b->bells,
        .takes_loss_reports = true,
    };
    check(!ef_ingest_init(&b->ingests[i], &config, &err), err.text);
    b->losses[i] = &b->ingests[i].losses;
}

static void
init_worker(struct bench *b, unsigned i, int64_t idle_ns)
{
    struct ef_error err = EF_ERROR_INIT;
    struct ef_worker_config config = {
        .number = i,
        .assembler.memory_bytes = (uint64_t) b->open_traces / b->n_lanes * 5 / 4 * 850 + (1 << 20),
        .assembler.idle_ns = idle_ns,
        .ingests = b->ingests,
        .n_ingests = b->n_lanes,
        .bell = &b->bells[i],
        .store = b->store,
        .load_ports = EF_LOAD_MAX_PORTS,
        .keep = &b->keep,
        .counters = b->counters,
        .judge = {.last_hops = b->last_hops, .losses = b->losses, .n_losses = b->n_lanes},
    };
    check(!ef_worker_init(&b->workers[i], &config, &err), err.text);
}

/* Until as many traces close as open, and `open_traces` are open. */
static void
warm_up(struct bench *b)
{
    uint64_t packets = (uint64_t) b->open_traces * 3 / 2 / b->n_lanes;
    analyze_rate(b, packets * EF_STREAM_HOPS / CHUNK + 2);
}

static void
init(struct bench *b, unsigned n_lanes, unsigned open_traces)
{
    struct ef_error err = EF_ERROR_INIT;
    unsigned spread = open_traces / 100;
    int64_t open_ns = (int64_t) (open_traces / n_lanes) * EF_STREAM_GAP_NS;
    *b = (struct bench){.n_lanes = n_lanes, .open_traces = open_traces};
    make_topology(b);
    check(!ef_trace_store_create(n_lanes, STORE_BYTES, 1 << 20, &b->store, &err), err.text);
    check(!ef_keep_init(&b->keep, "all", &err), err.text);
    check(!ef_filter_counters_create(n_lanes, EF_COUNTERS_MAX, &b->counters), "out of memory");
    check(!pthread_barrier_init(&b->barrier, NULL, n_lanes), "no barrier");
    for (unsigned i = 0; i < n_lanes; i++) {
        check(!ef_bell_init(&b->bells[i]), "no bell");
        init_lane(b, i, spread);
    }
    for (unsigned i = 0; i < n_lanes; i++) {
        init_worker(b, i, open_ns - (int64_t) spread * (EF_STREAM_HOPS - 1) * EF_STREAM_GAP_NS);
    }
    warm_up(b);
}

/* Nothing was dropped on the way, every closed trace is whole and was judged. */
static void
check_result(const struct bench *b)
{
    uint64_t delivered = 0, closed = 0, open = 0;
    for (unsigned i = 0; i < b->n_lanes; i++) {
        const struct ef_assembler_counters *c = ef_assembler_counters(b->workers[i].assembler);
        closed += ef_counter_get(&c->closed);
        open += ef_counter_get(&c->opened) - ef_counter_get(&c->closed);
        delivered += ef_counter_get(&b->workers[i].judge.fates[EF_FATE_DELIVERED]);
        check(!ef_counter_get(&c->table_full), "traces were refused");
        for (unsigned k = 0; k < b->n_lanes; k++) {
            check(!ef_counter_get(&b->ingests[k].feeds[i].busy), "a worker was too slow");
        }
    }
    check(closed && closed == delivered, "a trace is not whole");
    check(open > b->open_traces * 9 / 10 && open < b->open_traces * 5 / 4, "not as many traces open as wanted");
}

static void
deinit(struct bench *b)
{
    for (unsigned i = 0; i < b->n_lanes; i++) {
        ef_worker_deinit(&b->workers[i]);
        ef_ingest_deinit(&b->ingests[i]);
        ef_bell_deinit(&b->bells[i]);
        free(b->lanes[i].frames);
        free(b->lanes[i].arrivals);
    }
    ef_trace_store_destroy(b->store);
    ef_last_hops_destroy(b->last_hops);
    ef_filter_counters_destroy(b->counters);
    ef_keep_deinit(&b->keep);
    pthread_barrier_destroy(&b->barrier);
}

/* --- What is measured -------------------------------------------------------------------- */

static void
print(struct ef_bench *result, unsigned open_traces)
{
    ef_bench_param(result, "hops", EF_STREAM_HOPS);
    ef_bench_param(result, "open_traces", open_traces);
    ef_bench_print(result);
}

static void
bench_one(struct bench *b, unsigned open_traces, double goal)
{
    struct ef_bench count = {0};
    struct ef_bench result = {.name = "analyze.whole", .unit = "copies/s/core", .goal = goal};
    init(b, 1, open_traces);
    for (int run = 0; run < EF_BENCH_RUNS; run++) {
        ef_bench_add(&count, count_rate(&b->lanes[0]));
        ef_bench_add(&result, analyze_rate(b, CHUNKS));
    }
    check_result(b);
    result.bound = ef_bench_median(&count);
    result.bound_is = "the same source, counted and thrown away";
    print(&result, open_traces);
    deinit(b);
}

/* One analyzer of one lane, one of two, and two of one that know nothing of each
 * other: all in turns, so that they see the same machine. */
static void
bench_two(struct bench *one, struct bench *other, struct bench *two, unsigned open_traces)
{
    struct ef_bench apart = {0};
    struct ef_bench ratio = {.name = "analyze.two_workers", .unit = "times one", .goal = 1.8};
    init(one, 1, open_traces);
    init(other, 1, open_traces);
    init(two, 2, open_traces);
    for (int run = 0; run < EF_BENCH_RUNS; run++) {
        double alone = analyze_rate(one, CHUNKS);
        ef_bench_add(&ratio, analyze_rate(two, CHUNKS) / alone);
        start_lanes(one, CHUNKS);
        start_lanes(other, CHUNKS);
        double both = finish_lanes(one) + finish_lanes(other);
        ef_bench_add(&apart, both / alone);
    }
    check_result(one);
    check_result(other);
    check_result(two);
    ratio.bound = ef_bench_median(&apart);
    ratio.bound_is = "two analyzers of one worker at a time, which share nothing but the machine";
    print(&ratio, open_traces);
    deinit(one);
    deinit(other);
    deinit(two);
}

static void
bench_memory(struct bench *b, unsigned open_traces)
{
    struct ef_bench result = {.name = "analyze.open_trace", .unit = "bytes", .lower_is_better = true};
    init(b, 1, open_traces);
    const struct ef_assembler *a = b->workers[0].assembler;
    ef_bench_add(&result, (double) ef_assembler_memory(a) / ef_assembler_capacity(a));
    result.bound_is = "not known";
    print(&result, open_traces);
    deinit(b);
}

int
main(void)
{
    static struct bench one, other, two;
    bench_one(&one, 10000, 5e6);
    bench_one(&one, 1000000, 3e6);
    bench_two(&one, &other, &two, 100000);
    bench_memory(&one, 100000);
    return 0;
}
