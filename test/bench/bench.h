/* SPDX-License-Identifier: Apache-2.0 */
/* What every benchmark shares: several runs of one measurement, and the one
 * JSON line that reports them.
 *
 *     struct ef_bench b = {
 *         .name = "filter.match", .unit = "packets/s", .goal = 30e6,
 *         .bound = hash_rate, .bound_is = "hashing 64 bytes per packet",
 *     };
 *     ef_bench_param(&b, "terms", 4);
 *     for (int run = 0; run < EF_BENCH_RUNS; run++) {
 *         double start = ef_bench_seconds();
 *         for (size_t i = 0; i < n; i++)
 *             ef_bench_keep(ef_filter_match(f, &in[i]));
 *         ef_bench_add(&b, n / (ef_bench_seconds() - start));
 *     }
 *     ef_bench_print(&b);
 *
 * The value is the median, the spread the least and the greatest of the runs.
 * `make bench` runs bench_GROUP; the name's part before the dot is the group. */
#ifndef EF_TEST_BENCH_BENCH_H
#define EF_TEST_BENCH_BENCH_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* How often a benchmark measures, unless it has a reason for another number. */
enum { EF_BENCH_RUNS = 9, EF_BENCH_MAX_RUNS = 64 };

struct ef_bench {
    const char *name; /* "group.what" */
    const char *unit; /* "packets/s", "ns", "bytes" */
    double bound;     /* What the machine could do at best, in the same unit; 0: not known. */
    const char *bound_is;
    double goal;          /* The figure asked for, or 0. */
    bool lower_is_better; /* For times and sizes. */

    /* Filled by the functions below. */
    char params[256]; /* Inside of a JSON object. */
    int n_runs;
    double values[EF_BENCH_MAX_RUNS];
};

/* Seconds of a clock that only goes forward. */
static inline double
ef_bench_seconds(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double) ts.tv_sec + (double) ts.tv_nsec * 1e-9;
}

/* Seconds of processor time of this thread: for measurements that only compute,
 * which other programs on the machine then disturb less. */
static inline double
ef_bench_cpu_seconds(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (double) ts.tv_sec + (double) ts.tv_nsec * 1e-9;
}

/* Makes the compiler believe that `x` is used. */
#define ef_bench_keep(x)                                  \
    do {                                                  \
        __typeof__(x) keep_ = (x);                        \
        __asm__ volatile("" : : "r,m"(keep_) : "memory"); \
    } while (0)

/* Names a parameter of the measurement; numbers and words. */
static inline void
ef_bench_param_text(struct ef_bench *b, const char *name, const char *value)
{
    size_t used = strlen(b->params);
    snprintf(b->params + used, sizeof b->params - used, "%s\"%s\": \"%s\"", used ? ", " : "", name, value);
}

static inline void
ef_bench_param(struct ef_bench *b, const char *name, double value)
{
    size_t used = strlen(b->params);
    snprintf(b->params + used, sizeof b->params - used, "%s\"%s\": %.15g", used ? ", " : "", name, value);
}

/* Adds the result of one run. */
static inline void
ef_bench_add(struct ef_bench *b, double value)
{
    if (b->n_runs < EF_BENCH_MAX_RUNS) {
        b->values[b->n_runs++] = value;
    }
}

static inline int
ef_bench_compare(const void *a_, const void *b_)
{
    double a = *(const double *) a_, b = *(const double *) b_;
    return (a > b) - (a < b);
}

/* The median of the runs so far (sorts them), for use as another's bound. */
static inline double
ef_bench_median(struct ef_bench *b)
{
    qsort(b->values, (size_t) b->n_runs, sizeof b->values[0], ef_bench_compare);
    return b->n_runs ? b->values[b->n_runs / 2] : 0;
}

static inline void
ef_bench_print_number(const char *key, double value)
{
    if (value != 0) {
        printf(", \"%s\": %.6g", key, value);
    } else {
        printf(", \"%s\": null", key);
    }
}

/* Prints the JSON line. */
static inline void
ef_bench_print(struct ef_bench *b)
{
    double median = ef_bench_median(b);
    double least = b->n_runs ? b->values[0] : 0, most = b->n_runs ? b->values[b->n_runs - 1] : 0;
    printf("{\"bench\": \"%s\", \"params\": {%s}, \"value\": %.6g, \"unit\": \"%s\", \"runs\": %d, "
           "\"spread\": [%.6g, %.6g]",
           b->name, b->params, median, b->unit, b->n_runs, least, most);
    ef_bench_print_number("bound", b->bound);
    printf(", \"bound_is\": \"%s\"", b->bound_is ? b->bound_is : "");
    ef_bench_print_number("goal", b->goal);
    printf(", \"better\": \"%s\"}\n", b->lower_is_better ? "lower" : "higher");
    fflush(stdout);
}

#endif
