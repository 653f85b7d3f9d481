/* SPDX-License-Identifier: Apache-2.0 */
/* Appending to the store, one and two writers, records one by one and in
 * batches of 32, made while they are appended. Next to it the bound, measured
 * in the same runs: the same records copied one after another into memory that
 * has been touched, with one release store per append.
 *
 * "processor" rows count the processor time of all threads, the background
 * thread's included, "wall" rows what a clock shows. */
#include <config.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "bench/bench.h"
#include "bench/store_records.h"
#include "store/derived.h"
#include "store/filter_set.h"
#include "store/multilog.h"

enum { BATCH = 32, RUNS = 7 };

static const uint64_t memory_bytes = UINT64_C(400) << 20;

static double
process_cpu_seconds(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return (double) ts.tv_sec + (double) ts.tv_nsec * 1e-9;
}

/* --- The bound ---------------------------------------------------------------------- */

static uint8_t *memory;

static __attribute__((noinline)) void
append_bound(uint64_t n, uint32_t size)
{
    static _Atomic uint64_t tail;
    struct ef_bench_record batch[BATCH];
    uint64_t at = 0, room = memory_bytes / sizeof batch * sizeof batch;
    for (uint64_t i = 0; i < n; i += size) {
        for (uint32_t k = 0; k < size; k++) {
            ef_bench_make_record(i + k, &batch[k]);
        }
        if (at + size * sizeof *batch > room) {
            at = 0;
        }
        memcpy(memory + at, batch, size * sizeof *batch);
        at += size * sizeof *batch;
        atomic_store_explicit(&tail, i + size, memory_order_release);
    }
}

static void
make_only(uint64_t n, uint32_t size)
{
    struct ef_bench_record batch[BATCH];
    for (uint64_t i = 0; i < n; i += size) {
        for (uint32_t k = 0; k < size; k++) {
            ef_bench_make_record(i + k, &batch[k]);
        }
        __asm__ volatile("" : : "r"(batch) : "memory");
    }
}

/* --- The store ---------------------------------------------------------------------- */

struct job {
    struct ef_multilog_writer *writer;
    uint64_t from, to;
    uint32_t size;
    int cpu;
    pthread_t thread;
};

static void *
append_store(void *job_)
{
    const struct job *job = job_;
    struct ef_bench_record batch[BATCH];
    for (uint64_t i = job->from; i < job->to; i += job->size) {
        for (uint32_t k = 0; k < job->size; k++) {
            ef_bench_make_record(i + k, &batch[k]);
        }
        if (ef_multilog_append(job->writer, batch, job->size)) {
            abort();
        }
    }
    return NULL;
}

static struct ef_multilog *
create(unsigned n_writers)
{
    struct ef_schema schema;
    struct ef_multilog *log;
    struct ef_multilog_config config = {
        .schema = &schema, .memory_bytes = memory_bytes, .max_writers = n_writers, .prefault = true};
    if (ef_schema_init(&schema, ef_bench_columns, EF_ARRAY_SIZE(ef_bench_columns), sizeof(struct ef_bench_record),
                       NULL) ||
        ef_multilog_create(&config, &log, NULL)) {
        abort();
    }
    return log;
}

struct work {
    unsigned n_writers, n_filters;
    uint64_t n_records;
    uint32_t size; /* Records per append. */
};

/* Appends the records, each writer a part of them, and waits until everything
 * that is derived from them is there; records per second. */
static void
run_store(const struct work *work, double *wall, double *processor)
{
    unsigned n_writers = work->n_writers;
    uint64_t n = work->n_records;
    uint32_t size = work->size;
    struct ef_multilog *log = create(n_writers);
    for (unsigned i = 0; i < work->n_filters; i++) {
        char name[16], text[256];
        snprintf(name, sizeof name, "%u", i);
        if (ef_multilog_add_filter(log, name, ef_bench_filter(i, text, sizeof text), NULL)) {
            abort();
        }
    }
    struct job jobs[2];
    double start = ef_bench_seconds(), cpu_start = process_cpu_seconds();
    for (unsigned w = 0; w < n_writers; w++) {
        jobs[w] = (struct job){.from = n / n_writers * w, .to = n / n_writers * (w + 1), .size = size};
        if (ef_multilog_writer_open(log, &jobs[w].writer) ||
            pthread_create(&jobs[w].thread, NULL, append_store, &jobs[w])) {
            abort();
        }
    }
    for (unsigned w = 0; w < n_writers; w++) {
        pthread_join(jobs[w].thread, NULL);
        ef_multilog_writer_close(jobs[w].writer);
    }
    ef_multilog_flush_derived(log);
    *wall = (double) n / (ef_bench_seconds() - start);
    *processor = (double) n / (process_cpu_seconds() - cpu_start);
    ef_multilog_destroy(log);
}

static void
bench_append(uint64_t n, uint32_t size)
{
    struct ef_bench bound = {.name = "store.append_bound", .unit = "records/s"}, making = bound, rows[2][2];
    static const char *const clocks[] = {"wall", "processor"};
    for (unsigned w = 0; w < 2; w++) {
        for (unsigned clock = 0; clock < 2; clock++) {
            rows[w][clock] = (struct ef_bench){.name = "store.append",
                                               .unit = "records/s",
                                               .goal = (size == 1 ? 30e6 : 60e6) * (clock ? 1
                                                                                    : w   ? 1.7
                                                                                          : 1),
                                               .bound_is = "the same records copied into memory, one writer"};
            ef_bench_param(&rows[w][clock], "batch", size);
            ef_bench_param(&rows[w][clock], "writers", w + 1);
            ef_bench_param_text(&rows[w][clock], "clock", clocks[clock]);
        }
    }
    for (int run = 0; run < RUNS; run++) {
        double start = ef_bench_cpu_seconds();
        append_bound(n, size);
        ef_bench_add(&bound, (double) n / (ef_bench_cpu_seconds() - start));
        start = ef_bench_cpu_seconds();
        make_only(n, size);
        ef_bench_add(&making, (double) n / (ef_bench_cpu_seconds() - start));
        for (unsigned w = 0; w < 2; w++) {
            double wall, processor;
            run_store(&(struct work){.n_writers = w + 1, .n_records = n, .size = size}, &wall, &processor);
            ef_bench_add(&rows[w][0], wall);
            ef_bench_add(&rows[w][1], processor);
        }
    }
    bound.bound = ef_bench_median(&making);
    bound.bound_is = "making the records";
    ef_bench_param(&bound, "batch", size);
    ef_bench_print(&bound);
    for (unsigned i = 0; i < 4; i++) {
        rows[i / 2][i % 2].bound = ef_bench_median(&bound);
        ef_bench_print(&rows[i / 2][i % 2]);
    }
}

static void
bench_filters(unsigned n_filters, uint32_t size)
{
    struct ef_bench rows[2];
    static const char *const clocks[] = {"wall", "processor"};
    for (unsigned clock = 0; clock < 2; clock++) {
        rows[clock] = (struct ef_bench){.name = "store.append_filters", .unit = "records/s"};
        rows[clock].goal = n_filters < 64 ? 0 : size == 1 ? 6e6 : 12e6;
        ef_bench_param(&rows[clock], "filters", n_filters);
        ef_bench_param(&rows[clock], "batch", size);
        ef_bench_param_text(&rows[clock], "clock", clocks[clock]);
    }
    for (int run = 0; run < RUNS; run++) {
        double wall, processor;
        struct work work = {.n_writers = 1, .n_filters = n_filters, .n_records = 4000000, .size = size};
        run_store(&work, &wall, &processor);
        ef_bench_add(&rows[0], wall);
        ef_bench_add(&rows[1], processor);
    }
    ef_bench_print(&rows[0]);
    ef_bench_print(&rows[1]);
}

int
main(void)
{
    memory = mmap(NULL, memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        abort();
    }
    madvise(memory, memory_bytes, MADV_HUGEPAGE);
    memset(memory, 1, memory_bytes);
    bench_append(UINT64_C(320) * 31250, BATCH);
    bench_append(4000000, 1);
    for (unsigned n = 1; n <= 64; n *= 4) {
        bench_filters(n, BATCH);
        bench_filters(n, 1);
    }
    return 0;
}
