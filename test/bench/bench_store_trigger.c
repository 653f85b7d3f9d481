/* SPDX-License-Identifier: Apache-2.0 */
/* Triggers of the store, 1 to 1,000 with a period of 1 ms:
 * - store.triggers: processor time of the monitor, as a share of a core, while 32
 *   records of each of the last 13 ms are appended every ms, and nothing fires;
 * - store.alert_latency: from before the append of the record that makes a
 *   condition true to its alert, and to the return of the thread that waits for it;
 * - store.append_triggered: what a writer has left of its speed.
 *
 *     bench_store_trigger [latency]     only that */
#include <config.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "bench/bench.h"
#include "bench/store_records.h"
#include "store/aggregate.h"
#include "store/filter_set.h"
#include "store/multilog.h"
#include "store/trigger.h"

enum { BATCH = 32, MS_PER_STEP = 13 };

static void
check(int rc)
{
    if (rc) {
        abort();
    }
}

/* What the triggers stand on. Every record matches the filters of the first two
 * kinds, most those of the third, none those of the last, any of whose matches
 * would fire; so all its filters have to be asked about all records. */
enum kind { ONE, EQUAL, DIFFERENT, RARE, N_KINDS };

static const char *const kinds[] = {"one", "equal ones", "different ones", "different ones, any match fires"};

static struct ef_multilog *
create(void)
{
    struct ef_schema schema;
    struct ef_multilog *log;
    struct ef_multilog_config config = {
        .schema = &schema, .memory_bytes = UINT64_C(400) << 20, .max_writers = 2, .prefault = true};
    check(ef_schema_init(&schema, ef_bench_columns, EF_ARRAY_SIZE(ef_bench_columns), sizeof(struct ef_bench_record),
                         NULL));
    check(ef_multilog_create(&config, &log, NULL));
    return log;
}

static void
make_filter(enum kind kind, unsigned i, char *text, size_t size)
{
    if (kind == RARE) {
        snprintf(text, size, "src == 10.0.0.%u && dport == %u", i % 256, 4000 + i / 256);
    } else {
        snprintf(text, size, "sport >= %u", kind == DIFFERENT ? i : 0);
    }
}

static void
install_triggers(struct ef_multilog *log, unsigned n, enum kind kind)
{
    for (unsigned i = 0; i < n; i++) {
        char name[16], filter[16], text[64];
        snprintf(name, sizeof name, "%u", i);
        snprintf(filter, sizeof filter, "%u", kind == ONE ? 0 : i);
        make_filter(kind, i, text, sizeof text);
        if (kind != ONE || !i) {
            check(ef_multilog_add_filter(log, filter, text, NULL));
        }
        check(ef_multilog_add_aggregate(log, name, filter, kind == RARE ? "COUNT" : "SUM(dport)", NULL));
        check(ef_multilog_install_trigger(log, name, name, kind == RARE ? "> 0" : "> 1000000000000", 1, NULL));
    }
}

static void
sleep_until(struct ef_time when)
{
    struct timespec until = {when.ns / EF_NS_PER_S, when.ns % EF_NS_PER_S};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

/* Installing has woken the monitor, which has a look to catch up with, and has
 * cost it more than it may spend; it saves that up again. */
static void
settle(struct ef_multilog *log, struct ef_multilog_writer *writer)
{
    struct ef_bench_record record;
    struct ef_trigger_stats stats;
    ef_bench_make_record(0, &record);
    check(ef_multilog_append(writer, &record, 1));
    do {
        ef_multilog_wait_alerts(log, UINT64_MAX - 1, 1);
        ef_multilog_trigger_stats(log, &stats);
    } while (!stats.n_records);
    sleep_until(ef_time_add_ms(ef_time_mono(), 300));
}

/* --- Cost --------------------------------------------------------------------------- */

static void
append_step(struct ef_multilog_writer *writer, int64_t step)
{
    for (int64_t ms = 0; ms < MS_PER_STEP; ms++) {
        struct ef_bench_record batch[BATCH];
        for (unsigned k = 0; k < BATCH; k++) {
            ef_bench_make_record((uint64_t) (step * MS_PER_STEP + ms) * BATCH + k, &batch[k]);
            batch[k].time_ns = EF_BENCH_TIME_0 + (step + ms) * EF_NS_PER_MS;
        }
        check(ef_multilog_append(writer, batch, BATCH));
    }
}

static double
share_of_core(unsigned n, enum kind kind)
{
    enum { STEPS = 1000 };
    struct ef_multilog *log = create();
    struct ef_multilog_writer *writer;
    struct ef_trigger_stats before, after;
    check(ef_multilog_writer_open(log, &writer));
    install_triggers(log, n, kind);
    settle(log, writer);
    ef_multilog_trigger_stats(log, &before);
    struct ef_time start = ef_time_mono();
    for (int64_t step = 0; step < STEPS; step++) {
        append_step(writer, step);
        sleep_until(ef_time_add_ms(start, step + 1));
    }
    ef_multilog_trigger_stats(log, &after);
    double share = (double) (after.busy_ns - before.busy_ns) / (double) ef_time_diff_ns(ef_time_mono(), start);
    ef_multilog_writer_close(writer);
    ef_multilog_destroy(log);
    return share;
}

static void
bench_cost(unsigned n, enum kind kind)
{
    struct ef_bench b = {.name = "store.triggers", .unit = "share of a core", .lower_is_better = true};
    b.goal = n == 1000 ? 0.02 : 0;
    ef_bench_param(&b, "triggers", n);
    ef_bench_param_text(&b, "filters", kinds[kind]);
    for (int run = 0; run < 5; run++) {
        ef_bench_add(&b, share_of_core(n, kind));
    }
    ef_bench_print(&b);
}

/* --- Latency ------------------------------------------------------------------------ */

struct traffic {
    struct ef_multilog *log;
    atomic_bool stop;
};

/* What bench_cost() appends, from a second writer. */
static void *
append_steps(void *traffic_)
{
    struct traffic *traffic = traffic_;
    struct ef_multilog_writer *writer;
    check(ef_multilog_writer_open(traffic->log, &writer));
    struct ef_time start = ef_time_mono();
    for (int64_t step = 0; !atomic_load(&traffic->stop); step++) {
        append_step(writer, step);
        sleep_until(ef_time_add_ms(start, step + 1));
    }
    ef_multilog_writer_close(writer);
    return NULL;
}

/* One record of a port that no other has, in a bucket of time of its own; at any
 * instant of a millisecond. */
static void
fire(struct ef_multilog *log, struct ef_multilog_writer *writer, struct ef_time begin, unsigned i,
     struct ef_bench *raised, struct ef_bench *heard)
{
    struct ef_bench_record record;
    struct ef_alert alert;
    ef_bench_make_record(i, &record);
    record.sport = 7;
    sleep_until((struct ef_time){ef_time_mono().ns + 4 * EF_NS_PER_MS + i * 7919 % 1000 * EF_NS_PER_US});
    struct ef_time start = ef_time_mono();
    record.time_ns = EF_BENCH_TIME_0 + ef_time_diff_ns(start, begin);
    check(ef_multilog_append(writer, &record, 1));
    check(ef_multilog_wait_alerts(log, i, 10000) != i + 1);
    struct ef_time end = ef_time_mono();
    check(ef_multilog_get_alerts(log, i, &alert, 1) != 1);
    ef_bench_add(raised, (double) ef_time_diff_ns(alert.raised, start) / 1e3);
    ef_bench_add(heard, (double) ef_time_diff_ns(end, start) / 1e3);
}

static void
bench_latency(unsigned n, enum kind kind, bool is_busy)
{
    struct ef_bench raised = {.name = "store.alert_latency", .unit = "us", .lower_is_better = true, .goal = 70}, heard;
    struct traffic traffic = {.log = create()};
    struct ef_multilog_writer *writer;
    pthread_t thread;
    ef_bench_param(&raised, "triggers", n + 1);
    ef_bench_param_text(&raised, "filters", kinds[kind]);
    ef_bench_param(&raised, "other records per ms", is_busy ? BATCH * MS_PER_STEP : 0);
    heard = raised;
    heard.goal = 0;
    ef_bench_param_text(&raised, "until", "raised");
    ef_bench_param_text(&heard, "until", "heard");
    check(ef_multilog_writer_open(traffic.log, &writer));
    install_triggers(traffic.log, n, kind);
    check(ef_multilog_add_filter(traffic.log, "fire", "sport == 7", NULL));
    check(ef_multilog_add_aggregate(traffic.log, "fire", "fire", "SUM(dport)", NULL));
    check(ef_multilog_install_trigger(traffic.log, "fire", "fire", "> 0", 1, NULL));
    settle(traffic.log, writer);
    if (is_busy) {
        check(pthread_create(&thread, NULL, append_steps, &traffic));
    }
    struct ef_time begin = ef_time_mono();
    for (unsigned i = 0; i < EF_BENCH_MAX_RUNS - 1; i++) {
        fire(traffic.log, writer, begin, i, &raised, &heard);
    }
    if (is_busy) {
        atomic_store(&traffic.stop, true);
        pthread_join(thread, NULL);
    }
    ef_bench_print(&raised);
    ef_bench_print(&heard);
    ef_multilog_writer_close(writer);
    ef_multilog_destroy(traffic.log);
}

/* --- Appending ---------------------------------------------------------------------- */

/* Records per second of the writer's processor time. */
static double
append_rate(unsigned n_triggers, enum kind kind)
{
    enum { N = 10000000 };
    struct ef_multilog *log = create();
    struct ef_multilog_writer *writer;
    struct ef_bench_record batch[BATCH];
    check(ef_multilog_writer_open(log, &writer));
    install_triggers(log, n_triggers, kind);
    double start = ef_bench_cpu_seconds();
    for (unsigned i = 0; i < N; i += BATCH) {
        for (unsigned k = 0; k < BATCH; k++) {
            ef_bench_make_record(i + k, &batch[k]);
        }
        check(ef_multilog_append(writer, batch, BATCH));
    }
    double rate = N / (ef_bench_cpu_seconds() - start);
    ef_multilog_writer_close(writer);
    ef_multilog_destroy(log);
    return rate;
}

static void
bench_append(void)
{
    struct ef_bench without = {.name = "store.append_triggered", .unit = "records/s"}, with = without;
    for (int run = 0; run < 7; run++) {
        ef_bench_add(&without, append_rate(0, ONE));
        ef_bench_add(&with, append_rate(1000, DIFFERENT));
    }
    with.bound = ef_bench_median(&without);
    with.bound_is = "the same without triggers";
    ef_bench_param(&with, "triggers", 1000);
    ef_bench_param(&without, "triggers", 0);
    ef_bench_print(&without);
    ef_bench_print(&with);
}

int
main(int argc, char **argv)
{
    bool is_all = argc < 2 || strcmp(argv[1], "latency");
    for (unsigned n = 1; is_all && n <= 1000; n *= 10) {
        for (enum kind kind = ONE; kind < N_KINDS; kind++) {
            bench_cost(n, kind);
        }
    }
    for (unsigned is_busy = 0; is_busy < 2; is_busy++) {
        bench_latency(1, ONE, is_busy);
        bench_latency(1000, ONE, is_busy);
        bench_latency(1000, DIFFERENT, is_busy);
    }
    if (is_all) {
        bench_append();
    }
    return 0;
}
