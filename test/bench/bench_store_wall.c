/* SPDX-License-Identifier: Apache-2.0 */
/* What a clock on the wall says of the store, and what of that is the machine's:
 * on one that is shared, a thread may wait for milliseconds for its core.
 * - store.append_latency: of single records, through all of the memory and more.
 *   In the same loop the bound is timed as often: a copy of the record into touched
 *   memory and a release store, which waits for nothing either. "processor" is
 *   the time that the thread itself ran (host time taken from the guest included).
 * - store.two_writers: how much faster two writers are than one, each pinned to a
 *   core; next to it two threads that only copy, each into memory of its own. */
#include <config.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "bench/bench.h"
#include "bench/store_records.h"
#include "store/multilog.h"

enum { BATCH = 32 };

static const uint64_t memory_bytes = UINT64_C(400) << 20;

static void
check(int rc)
{
    if (rc) {
        abort();
    }
}

static struct ef_multilog *
create(unsigned n_writers)
{
    struct ef_schema schema;
    struct ef_multilog *log;
    struct ef_multilog_config config = {
        .schema = &schema, .memory_bytes = memory_bytes, .max_writers = n_writers, .prefault = true};
    check(ef_schema_init(&schema, ef_bench_columns, EF_ARRAY_SIZE(ef_bench_columns), sizeof(struct ef_bench_record),
                         NULL));
    check(ef_multilog_create(&config, &log, NULL));
    return log;
}

/* --- The bound ---------------------------------------------------------------------- */

struct bound {
    uint8_t *memory;
    uint64_t bytes, at;
    EF_CACHE_ALIGNED _Atomic uint64_t tail;
};

static void
bound_init(struct bound *bound, uint64_t bytes)
{
    bound->bytes = bytes;
    bound->at = 0;
    bound->memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(bound->memory == MAP_FAILED);
    madvise(bound->memory, bytes, MADV_HUGEPAGE);
    memset(bound->memory, 1, bytes);
}

static EF_ALWAYS_INLINE void
bound_append(struct bound *bound, const struct ef_bench_record *records, uint32_t n)
{
    if (bound->at + n * sizeof *records > bound->bytes) {
        bound->at = 0;
    }
    memcpy(bound->memory + bound->at, records, n * sizeof *records);
    bound->at += n * sizeof *records;
    atomic_store_explicit(&bound->tail, atomic_load_explicit(&bound->tail, memory_order_relaxed) + n,
                          memory_order_release);
}

/* --- Latency ------------------------------------------------------------------------ */

enum { N_TIMED = 8000000, N_SHARES = 4 };

static const double shares[N_SHARES] = {0.5, 0.999, 0.99999, 1};
static uint32_t appending_ns[N_TIMED], copying_ns[N_TIMED];

static int
compare_u32(const void *a_, const void *b_)
{
    uint32_t a = *(const uint32_t *) a_, b = *(const uint32_t *) b_;
    return (a > b) - (a < b);
}

static uint32_t
ns_between(struct ef_time start, struct ef_time end)
{
    return (uint32_t) EF_MIN(ef_time_diff_ns(end, start), (int64_t) UINT32_MAX);
}

static void
time_appends(struct ef_multilog_writer *writer, struct bound *bound, unsigned n, clockid_t clock)
{
    for (unsigned i = 0; i < n; i++) {
        struct ef_bench_record record;
        ef_bench_make_record(i, &record);
        struct ef_time start = ef_time_of_clock(clock);
        check(ef_multilog_append(writer, &record, 1));
        struct ef_time middle = ef_time_of_clock(clock);
        bound_append(bound, &record, 1);
        appending_ns[i] = ns_between(start, middle);
        copying_ns[i] = ns_between(middle, ef_time_of_clock(clock));
    }
}

static void
add_shares(struct ef_bench *rows, uint32_t *took_ns, unsigned n)
{
    qsort(took_ns, n, sizeof *took_ns, compare_u32);
    for (unsigned i = 0; i < N_SHARES; i++) {
        ef_bench_add(&rows[i], took_ns[(unsigned) (shares[i] * (n - 1))]);
    }
}

static void
bench_latency(clockid_t clock, const char *clock_name, unsigned n)
{
    struct ef_bench rows[2][N_SHARES];
    struct bound bound = {.memory = NULL};
    bound_init(&bound, memory_bytes);
    for (unsigned i = 0; i < 2 * N_SHARES; i++) {
        struct ef_bench *row = &rows[i / N_SHARES][i % N_SHARES];
        *row = (struct ef_bench){.name = i < N_SHARES ? "store.append_latency" : "store.append_latency_bound",
                                 .unit = "ns",
                                 .lower_is_better = true};
        row->goal = i == 2 ? 50e3 : i == 3 ? 1e6 : 0;
        ef_bench_param(row, "share", shares[i % N_SHARES]);
        ef_bench_param_text(row, "clock", clock_name);
    }
    for (int run = 0; run < 7; run++) {
        struct ef_multilog *log = create(1);
        struct ef_multilog_writer *writer;
        check(ef_multilog_writer_open(log, &writer));
        time_appends(writer, &bound, n, clock);
        ef_multilog_writer_close(writer);
        ef_multilog_destroy(log);
        add_shares(rows[0], appending_ns, n);
        add_shares(rows[1], copying_ns, n);
    }
    for (unsigned i = 0; i < N_SHARES; i++) {
        rows[0][i].bound = ef_bench_median(&rows[1][i]);
        rows[0][i].bound_is = "a copy and a store in the same loop";
        ef_bench_print(&rows[0][i]);
        ef_bench_print(&rows[1][i]);
    }
    munmap(bound.memory, bound.bytes);
}

/* --- Two writers -------------------------------------------------------------------- */

struct job {
    struct ef_multilog_writer *writer; /* NULL: the bound. */
    struct bound bound;
    uint64_t from, to;
    uint32_t size;
    int cpu;
    double cpu_seconds;
    pthread_barrier_t *start;
    pthread_t thread;
};

static void *
run_job(void *job_)
{
    struct job *job = job_;
    struct ef_bench_record batch[BATCH];
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET((size_t) job->cpu, &cpus);
    sched_setaffinity(0, sizeof cpus, &cpus); /* With one core only, both run on it. */
    pthread_barrier_wait(job->start);
    double start = ef_bench_cpu_seconds();
    for (uint64_t i = job->from; i < job->to; i += job->size) {
        for (uint32_t k = 0; k < job->size; k++) {
            ef_bench_make_record(i + k, &batch[k]);
        }
        if (job->writer) {
            check(ef_multilog_append(job->writer, batch, job->size));
        } else {
            bound_append(&job->bound, batch, job->size);
        }
    }
    job->cpu_seconds = ef_bench_cpu_seconds() - start;
    return NULL;
}

/* `n` records, each writer its part; records per second of the wall's clock and,
 * as if each writer had a core to itself, of their processor time. */
static void
run_writers(unsigned n_writers, uint64_t n, uint32_t size, bool is_bound, struct bound *bounds, double *rates)
{
    struct ef_multilog *log = is_bound ? NULL : create(n_writers);
    struct job jobs[2];
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, n_writers + 1);
    for (unsigned w = 0; w < n_writers; w++) {
        jobs[w] = (struct job){.from = n / n_writers * w, .to = n / n_writers * (w + 1), .size = size, .cpu = (int) w};
        jobs[w].start = &start;
        jobs[w].bound = bounds[w];
        check(log ? ef_multilog_writer_open(log, &jobs[w].writer) : 0);
        check(pthread_create(&jobs[w].thread, NULL, run_job, &jobs[w]));
    }
    pthread_barrier_wait(&start);
    double begin = ef_bench_seconds();
    rates[1] = 0;
    for (unsigned w = 0; w < n_writers; w++) {
        pthread_join(jobs[w].thread, NULL);
        ef_multilog_writer_close(jobs[w].writer);
        rates[1] += (double) n / n_writers / jobs[w].cpu_seconds;
    }
    rates[0] = (double) n / (ef_bench_seconds() - begin);
    pthread_barrier_destroy(&start);
    ef_multilog_destroy(log);
}

static void
bench_two_writers(uint64_t n, uint32_t size)
{
    static const char *const clocks[] = {"wall", "processor"};
    struct ef_bench rows[2][2]; /* Store and bound, by both clocks. */
    struct bound bounds[2];
    bound_init(&bounds[0], memory_bytes / 2);
    bound_init(&bounds[1], memory_bytes / 2);
    for (unsigned i = 0; i < 4; i++) {
        rows[i / 2][i % 2] = (struct ef_bench){.name = i < 2 ? "store.two_writers" : "store.two_writers_bound",
                                               .unit = "times one",
                                               .goal = i < 2 ? 1.7 : 0};
        ef_bench_param(&rows[i / 2][i % 2], "batch", size);
        ef_bench_param_text(&rows[i / 2][i % 2], "clock", clocks[i % 2]);
    }
    for (int run = 0; run < 15; run++) {
        for (unsigned is_bound = 0; is_bound < 2; is_bound++) {
            double one[2], two[2];
            run_writers(1, n, size, is_bound, bounds, one);
            run_writers(2, n, size, is_bound, bounds, two);
            ef_bench_add(&rows[is_bound][0], two[0] / one[0]);
            ef_bench_add(&rows[is_bound][1], two[1] / one[1]);
        }
    }
    for (unsigned i = 0; i < 2; i++) {
        rows[0][i].bound = ef_bench_median(&rows[1][i]);
        rows[0][i].bound_is = "two threads that only copy";
        ef_bench_print(&rows[0][i]);
        ef_bench_print(&rows[1][i]);
    }
    munmap(bounds[0].memory, bounds[0].bytes);
    munmap(bounds[1].memory, bounds[1].bytes);
}

int
main(void)
{
    bench_latency(CLOCK_MONOTONIC, "wall", N_TIMED);
    bench_latency(CLOCK_THREAD_CPUTIME_ID, "processor", N_TIMED / 2);
    bench_two_writers(UINT64_C(640) * 15625, BATCH);
    bench_two_writers(4000000, 1);
    return 0;
}
