/* SPDX-License-Identifier: Apache-2.0 */
/* What one core assembles: copies from memory into traces that are closed, put
 * in order and stored. The hops of a packet come thousands of other copies
 * apart, and as many traces are open as an idle time of 1 s means at the goal,
 * so nearly every line that a copy touches has to come from memory.
 *
 * The bound is touching as many lines of a block as large as the open table, at
 * independent random places: per copy its slot of the index, its trace's head
 * and its hop; per trace, when it is closed, the slot, the head, the hops and
 * the original again. */
#include <config.h>

#include <stdint.h>
#include <stdlib.h>

#include "analyzer/assemble.h"
#include "analyzer/region.h"
#include "analyzer/trace_store.h"
#include "base/hash.h"
#include "bench/bench.h"
#include "bench/copy_stream.h"

enum {
    HOPS = EF_STREAM_HOPS,
    SPREAD = 2000, /* Packets between two hops of one. */
    OPEN = 600000, /* Traces open at any time. */
    CHUNK = 8192,  /* Copies made at once, outside the measured time. */
    CHUNKS = 128,  /* Per run. */
    GAP_NS = EF_STREAM_GAP_NS,
    FRAME = EF_STREAM_FRAME,
    LINES_PER_TRACE = HOPS * 3 + 1 + 1 + HOPS + 3,
};

struct bench {
    struct ef_assembler *assembler;
    struct ef_trace_store *store;
    struct ef_copy_stream stream;
    struct ef_copy_record *records; /* CHUNK of each. */
    uint8_t *frames;
    struct ef_time *arrivals;
};

static void
check(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "bench_assemble: %s\n", what);
        exit(1);
    }
}

/* Seconds of the processor: what one core does, whoever else wants it. */
static double
core_seconds(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (double) ts.tv_sec + (double) ts.tv_nsec * 1e-9;
}

/* --- Copies ---------------------------------------------------------------------- */

static void
make_frames(struct bench *b)
{
    ef_copy_stream_make(&b->stream, b->frames, b->arrivals, CHUNK);
}

static void
parse(struct bench *b, struct ef_copy_record *record, unsigned i)
{
    uint64_t flow_hash;
    enum ef_drop_reason why = ef_copy_record_of_frame(record, &flow_hash, b->frames + (size_t) i * FRAME,
                                                      b->stream.frame_len, b->stream.frame_len, b->arrivals[i]);
    check(!why, "a copy was refused");
    record->stamp = b->arrivals[i];
    ef_bench_keep(flow_hash);
}

static void
make_records(struct bench *b)
{
    make_frames(b);
    for (unsigned i = 0; i < CHUNK; i++) {
        parse(b, &b->records[i], i);
    }
}

/* --- What is measured ------------------------------------------------------------- */

static void
close_idle(struct bench *b, struct ef_time now)
{
    while (ef_assembler_close_idle(b->assembler, now, 256) == 256) {
    }
    ef_trace_store_flush(b->store, 0);
}

static void
assemble_records(struct bench *b)
{
    const struct ef_copy_record *batch[EF_ASSEMBLER_BATCH];
    for (unsigned i = 0; i < CHUNK; i += EF_ASSEMBLER_BATCH) {
        for (unsigned k = 0; k < EF_ASSEMBLER_BATCH; k++) {
            batch[k] = &b->records[i + k];
        }
        ef_assembler_add(b->assembler, batch, EF_ASSEMBLER_BATCH, NULL, 0);
        close_idle(b, batch[EF_ASSEMBLER_BATCH - 1]->stamp);
    }
}

static void
assemble_frames(struct bench *b)
{
    const struct ef_copy_record *batch[EF_ASSEMBLER_BATCH];
    for (unsigned i = 0; i < CHUNK; i += EF_ASSEMBLER_BATCH) {
        for (unsigned k = 0; k < EF_ASSEMBLER_BATCH; k++) {
            parse(b, &b->records[k], i + k);
            batch[k] = &b->records[k];
        }
        ef_assembler_add(b->assembler, batch, EF_ASSEMBLER_BATCH, NULL, 0);
        close_idle(b, batch[EF_ASSEMBLER_BATCH - 1]->stamp);
    }
}

static double
copies_per_second(struct bench *b, void (*make)(struct bench *), void (*assemble)(struct bench *))
{
    double seconds = 0;
    for (int i = 0; i < CHUNKS; i++) {
        make(b);
        double start = core_seconds();
        assemble(b);
        seconds += core_seconds() - start;
    }
    return (double) CHUNK * CHUNKS / seconds;
}

/* Lines per second that can be read and written at random places. */
static double
random_lines_per_second(uint8_t *block, uint64_t n_lines)
{
    enum { TOUCHES = 1 << 23 };
    double start = core_seconds();
    for (uint64_t i = 0; i < TOUCHES; i++) {
        block[(uint64_t) (((__uint128_t) ef_hash_mix(i * 0x9e3779b97f4a7c15u) * n_lines) >> 64) * EF_CACHE_LINE]++;
    }
    return TOUCHES / (core_seconds() - start);
}

static void
on_closed(void *ctx, struct ef_trace *trace)
{
    struct bench *b = ctx;
    check(trace->n_hops == HOPS, "a trace is not whole");
    ef_trace_store_append(b->store, 0, trace);
}

static void
init(struct bench *b)
{
    struct ef_error err = EF_ERROR_INIT;
    struct ef_assembler_config config = {
        .memory_bytes = (uint64_t) OPEN * 9 / 8 * 850,
        .idle_ns = (int64_t) OPEN * GAP_NS - (int64_t) SPREAD * (HOPS - 1) * GAP_NS,
        .closed = on_closed,
        .ctx = b,
    };
    check(!ef_assembler_create(&config, &b->assembler, &err), err.text);
    check(!ef_trace_store_create(1, 64 << 20, 1 << 20, &b->store, &err), err.text);
    b->records = aligned_alloc(EF_CACHE_LINE, CHUNK * sizeof *b->records);
    b->frames = malloc((size_t) CHUNK * FRAME);
    b->arrivals = malloc(CHUNK * sizeof *b->arrivals);
    check(b->records && b->frames && b->arrivals, "out of memory");
    check(ef_copy_stream_init(&b->stream, 0, SPREAD), "cannot build a copy");
}

static void
measure(struct bench *b, struct ef_bench *result, double bound, void (*make)(struct bench *),
        void (*assemble)(struct bench *))
{
    result->unit = "copies/s";
    result->goal = 3e6;
    result->bound = bound;
    result->bound_is = "touching the same number of cache lines at random places";
    ef_bench_param(result, "hops", HOPS);
    ef_bench_param(result, "open_traces", OPEN);
    ef_bench_param(result, "spread_copies", SPREAD * HOPS);
    for (int run = 0; run < EF_BENCH_RUNS; run++) {
        ef_bench_add(result, copies_per_second(b, make, assemble));
    }
    ef_bench_print(result);
}

int
main(void)
{
    static struct bench b;
    init(&b);
    while (b.stream.step < (uint64_t) OPEN * 3 / 2) { /* Until as many close as open. */
        make_records(&b);
        assemble_records(&b);
    }
    uint64_t block_bytes = ef_assembler_memory(b.assembler);
    uint8_t *block = ef_region_alloc(block_bytes);
    check(block, "out of memory");
    struct ef_bench bound = {0};
    random_lines_per_second(block, block_bytes / EF_CACHE_LINE);
    for (int run = 0; run < 3; run++) {
        ef_bench_add(&bound, random_lines_per_second(block, block_bytes / EF_CACHE_LINE) * HOPS / LINES_PER_TRACE);
    }
    double lines = ef_bench_median(&bound);
    struct ef_bench only = {.name = "assemble.records"}, whole = {.name = "assemble.frames"};
    measure(&b, &only, lines, make_records, assemble_records);
    measure(&b, &whole, lines, make_frames, assemble_frames);
    ef_region_free(block, block_bytes);
    ef_trace_store_destroy(b.store);
    ef_assembler_destroy(b.assembler);
    free(b.records);
    free(b.frames);
    free(b.arrivals);
    return 0;
}
