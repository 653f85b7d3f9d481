/* SPDX-License-Identifier: Apache-2.0 */
/* Indexes and queries of the store, with the records of store_records.h:
 * - store.append_indexed: appending with 1, 2 and 4 indexes, and with 64 filters,
 *   where the processor time of the thread that makes them counts;
 * - store.query: five questions over 10 and 50 million records, from their text
 *   to the last record, with 4 indexes and by scan; their counts are checked;
 * - store.append_while_querying: what a writer loses by a reader that never
 *   pauses, in its own processor time;
 * - store.index_bytes: memory of an index per record, and per different value;
 * - store.filter_bytes: memory of a filter per match.
 *
 *     bench_store_query [MILLION RECORDS | memory]     only the queries over so many, or memory */
#include <config.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "bench/bench.h"
#include "bench/store_records.h"
#include "store/derived.h"
#include "store/filter_set.h"
#include "store/indexes.h"
#include "store/predicate.h"

enum { BATCH = 32, RUNS = 7 };

static const char *const indexed[] = {"src", "dst", "sport", "dport"};

static double
process_cpu_seconds(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return (double) ts.tv_sec + (double) ts.tv_nsec * 1e-9;
}

static struct ef_multilog *
create(uint64_t memory_bytes, unsigned n_indexes)
{
    struct ef_schema schema;
    struct ef_multilog *log;
    struct ef_multilog_config config = {
        .schema = &schema, .memory_bytes = memory_bytes, .max_writers = 1, .prefault = true};
    if (ef_schema_init(&schema, ef_bench_columns, EF_ARRAY_SIZE(ef_bench_columns), sizeof(struct ef_bench_record),
                       NULL) ||
        ef_multilog_create(&config, &log, NULL)) {
        abort();
    }
    for (unsigned i = 0; i < n_indexes; i++) {
        struct ef_multilog_index index = {.column = indexed[i]};
        if (ef_multilog_add_index(log, &index, NULL)) {
            abort();
        }
    }
    return log;
}

static void
append(struct ef_multilog *log, uint64_t n, uint32_t size)
{
    struct ef_multilog_writer *writer;
    struct ef_bench_record batch[BATCH];
    if (ef_multilog_writer_open(log, &writer)) {
        abort();
    }
    for (uint64_t i = 0; i < n; i += size) {
        for (uint32_t k = 0; k < size; k++) {
            ef_bench_make_record(i + k, &batch[k]);
        }
        if (ef_multilog_append(writer, batch, size)) {
            abort();
        }
    }
    ef_multilog_writer_close(writer);
}

/* --- Appending with indexes --------------------------------------------------------- */

static void
add_filters(struct ef_multilog *log, unsigned n)
{
    for (unsigned k = 0; k < n; k++) {
        char name[32], text[256];
        snprintf(name, sizeof name, "filter%u", k);
        if (ef_multilog_add_filter(log, name, ef_bench_filter(k, text, sizeof text), NULL)) {
            abort();
        }
    }
}

static void
bench_append(uint32_t size)
{
    static const struct {
        unsigned n_indexes, n_filters;
        double goal; /* In batches; half of it one by one. */
    } cells[] = {{0, 0, 0}, {1, 0, 0}, {2, 0, 0}, {4, 0, 20e6}, {4, 64, 10e6}};
    enum { N_CELLS = EF_ARRAY_SIZE(cells) };
    const uint64_t n = 4000000;
    struct ef_bench rows[N_CELLS];
    for (unsigned i = 0; i < N_CELLS; i++) {
        rows[i] = (struct ef_bench){.name = "store.append_indexed",
                                    .unit = "records/s",
                                    .goal = cells[i].goal / (size == 1 ? 2 : 1),
                                    .bound_is = "appending without indexes"};
        ef_bench_param(&rows[i], "batch", size);
        ef_bench_param(&rows[i], "indexes", cells[i].n_indexes);
        ef_bench_param(&rows[i], "filters", cells[i].n_filters);
    }
    for (int run = 0; run < RUNS; run++) {
        for (unsigned i = 0; i < N_CELLS; i++) {
            struct ef_multilog *log = create(UINT64_C(400) << 20, cells[i].n_indexes);
            add_filters(log, cells[i].n_filters);
            double start = process_cpu_seconds();
            append(log, n, size);
            ef_multilog_flush_derived(log);
            ef_bench_add(&rows[i], (double) n / (process_cpu_seconds() - start));
            ef_multilog_destroy(log);
        }
    }
    for (unsigned i = 0; i < N_CELLS; i++) {
        rows[i].bound = ef_bench_median(&rows[0]);
        ef_bench_print(&rows[i]);
    }
}

/* --- Queries ------------------------------------------------------------------------ */

/* A is 10.0.0.17, B is 10.0.0.200. The times are what the original takes. */
static const struct {
    const char *name, *filter;
    uint64_t n_of_10, n_of_50; /* Records, of 10 and 50 million. */
    double ms_of_10, ms_of_50;
} questions[] = {
    {"q1", "src == 10.0.0.17 && dst == 10.0.0.200", 134, 755, 13.1, 66.3},
    {"q2", "dst == 10.0.0.17", 39194, 195283, 13.3, 64.4},
    {"q3", "src == 10.0.0.17 && dport == 80", 3881, 19451, 13.7, 64.0},
    {"q4",
     "(src == 10.0.0.17 && sport == 80 && dst == 10.0.0.200 && dport == 443) || "
     "(src == 10.0.0.200 && sport == 443 && dst == 10.0.0.17 && dport == 80)",
     0, 17, 32.9, 159},
    {"q5", "src == 10.0.0.17 || dst == 10.0.0.17", 78024, 389441, 44.8, 336},
};

/* From the text to the last record; adds up their times, so that each is read. */
static uint64_t
ask(struct ef_multilog *log, const char *filter, enum ef_multilog_plan plan)
{
    struct ef_predicate *predicate;
    struct ef_multilog_cursor *cursor;
    struct ef_multilog_query query = {.from = {INT64_MIN}, .to = {INT64_MAX}, .plan = plan};
    if (ef_predicate_compile(filter, ef_multilog_schema(log), &predicate, NULL)) {
        abort();
    }
    query.predicate = predicate;
    ef_multilog_snapshot(log, &query.snapshot);
    if (ef_multilog_query(log, &query, &cursor)) {
        abort();
    }
    uint64_t n = 0, sum = 0;
    for (; ef_multilog_next(cursor); n++) {
        int64_t ns;
        memcpy(&ns, ef_multilog_column(cursor, 0, NULL), sizeof ns);
        sum += (uint64_t) ns;
    }
    ef_bench_keep(sum);
    ef_multilog_cursor_close(cursor);
    ef_predicate_destroy(predicate);
    return n;
}

static void
bench_question(struct ef_multilog *log, unsigned i, unsigned millions, enum ef_multilog_plan plan)
{
    struct ef_bench b = {.name = "store.query", .unit = "ms", .lower_is_better = true};
    uint64_t expected = millions == 10 ? questions[i].n_of_10 : questions[i].n_of_50;
    double peer = millions == 10 ? questions[i].ms_of_10 : questions[i].ms_of_50;
    b.goal = (plan == EF_MULTILOG_BY_SCAN ? 180.0 * millions : peer) / 5;
    b.bound_is = "";
    ef_bench_param_text(&b, "question", questions[i].name);
    ef_bench_param(&b, "records", millions * 1e6);
    ef_bench_param_text(&b, "by", plan == EF_MULTILOG_BY_SCAN ? "scan" : "4 indexes");
    for (int run = 0; run < RUNS; run++) {
        double start = ef_bench_cpu_seconds();
        uint64_t n = ask(log, questions[i].filter, plan);
        ef_bench_add(&b, (ef_bench_cpu_seconds() - start) * 1e3);
        if (n != expected) {
            fprintf(stderr, "%s: %llu records instead of %llu\n", questions[i].name, (unsigned long long) n,
                    (unsigned long long) expected);
            abort();
        }
    }
    ef_bench_print(&b);
}

static void
bench_queries(unsigned millions)
{
    struct ef_multilog *log = create(UINT64_C(75) * millions * 1000000, 4);
    append(log, UINT64_C(1000000) * millions, BATCH);
    ef_multilog_flush_derived(log);
    for (unsigned i = 0; i < EF_ARRAY_SIZE(questions); i++) {
        bench_question(log, i, millions, EF_MULTILOG_CHEAPEST);
        bench_question(log, i, millions, EF_MULTILOG_BY_SCAN);
    }
    ef_multilog_destroy(log);
}

/* --- A reader beside a writer ------------------------------------------------------- */

struct reader {
    struct ef_multilog *log;
    atomic_bool stop;
    uint64_t n_questions;
};

static void *
keep_asking(void *reader_)
{
    struct reader *reader = reader_;
    while (!atomic_load(&reader->stop)) {
        ask(reader->log, questions[reader->n_questions++ % EF_ARRAY_SIZE(questions)].filter, EF_MULTILOG_CHEAPEST);
    }
    return NULL;
}

/* Records per second of the writer's processor time. */
static double
rate_beside(bool is_read)
{
    const uint64_t n = 8000000;
    struct reader reader = {.log = create(UINT64_C(400) << 20, 4)};
    pthread_t thread;
    append(reader.log, 2000000, BATCH);
    if (is_read && pthread_create(&thread, NULL, keep_asking, &reader)) {
        abort();
    }
    double start = ef_bench_cpu_seconds();
    append(reader.log, n, BATCH);
    double rate = (double) n / (ef_bench_cpu_seconds() - start);
    if (is_read) {
        atomic_store(&reader.stop, true);
        pthread_join(thread, NULL);
    }
    ef_multilog_destroy(reader.log);
    return rate;
}

static void
bench_beside(void)
{
    struct ef_bench alone = {.name = "store.append_while_querying", .unit = "records/s"}, beside = alone;
    for (int run = 0; run < RUNS; run++) {
        ef_bench_add(&alone, rate_beside(false));
        ef_bench_add(&beside, rate_beside(true));
    }
    beside.bound = ef_bench_median(&alone);
    beside.bound_is = "the same without a reader";
    beside.goal = beside.bound * 0.9;
    ef_bench_print(&beside);
}

/* --- Memory ------------------------------------------------------------------------- */

/* An index of `n` values, of which `n_keys` are different. */
static void
bench_memory(uint64_t n_keys)
{
    struct wide {
        int64_t time_ns;
        uint64_t key;
    } record = {0, 0};
    static const struct ef_column columns[] = {{"time", EF_COLUMN_TIME, offsetof(struct wide, time_ns), 0},
                                               {"key", EF_COLUMN_U64, offsetof(struct wide, key), 0}};
    const uint64_t n = 4000000;
    struct ef_schema schema;
    struct ef_multilog *log;
    struct ef_multilog_writer *writer;
    struct ef_multilog_config config = {.schema = &schema, .memory_bytes = 128 << 20, .max_writers = 1};
    struct ef_multilog_index index = {.column = "key"};
    struct ef_multilog_index_stats stats;
    if (ef_schema_init(&schema, columns, EF_ARRAY_SIZE(columns), sizeof record, NULL) ||
        ef_multilog_create(&config, &log, NULL) || ef_multilog_writer_open(log, &writer) ||
        ef_multilog_add_index(log, &index, NULL)) {
        abort();
    }
    for (uint64_t i = 0; i < n; i++) {
        record.time_ns = (int64_t) i;
        record.key = i * UINT64_C(0x9E3779B97F4A7C15) >> 11;
        record.key = (record.key % n_keys) * UINT64_C(0xBF58476D1CE4E5B9);
        if (ef_multilog_append(writer, &record, 1)) {
            abort();
        }
    }
    ef_multilog_writer_close(writer);
    ef_multilog_flush_derived(log);
    if (ef_multilog_index_stats(log, &stats, 1) != 1 || !stats.n_records || stats.n_without) {
        abort();
    }
    struct ef_bench b = {.name = "store.index_bytes", .unit = "bytes/record", .goal = 4, .lower_is_better = true};
    struct ef_bench per_key = {.name = "store.index_key_bytes", .unit = "bytes/value", .goal = 200};
    per_key.lower_is_better = true;
    ef_bench_param(&b, "different", (double) n_keys);
    ef_bench_param(&per_key, "different", (double) n_keys);
    ef_bench_param(&per_key, "records", (double) stats.n_records);
    ef_bench_add(&b, (double) stats.memory_bytes / (double) stats.n_records);
    ef_bench_add(&per_key, (double) stats.memory_bytes / (double) EF_MIN(n_keys, stats.n_records));
    ef_bench_print(&b);
    if (n_keys >= 65536) { /* With few values, it is all the records that each has. */
        ef_bench_print(&per_key);
    }
    ef_multilog_destroy(log);
}

/* Of the first `n` of the 64 filters together; of none of them: of one that every
 * record matches. */
static void
bench_filter_memory(unsigned n)
{
    struct ef_multilog *log = create(UINT64_C(400) << 20, 0);
    struct ef_filter_stats stats;
    uint64_t n_matches = 0;
    add_filters(log, n);
    if (!n && ef_multilog_add_filter(log, "all", "", NULL)) {
        abort();
    }
    append(log, 4000000, BATCH);
    ef_multilog_flush_derived(log);
    ef_multilog_filter_stats(log, &stats);
    for (unsigned k = 0; k < EF_MAX(n, 1U); k++) {
        char text[256];
        n_matches += ask(log, n ? ef_bench_filter(k, text, sizeof text) : "", EF_MULTILOG_BY_SCAN);
    }
    struct ef_bench b = {.name = "store.filter_bytes", .unit = "bytes/match", .goal = 4, .lower_is_better = true};
    ef_bench_param(&b, "filters", EF_MAX(n, 1U));
    ef_bench_param(&b, "matches", (double) n_matches);
    ef_bench_param(&b, "buckets", (double) stats.n_buckets_kept);
    ef_bench_add(&b, (double) stats.kept_bytes / (double) n_matches);
    ef_bench_print(&b);
    ef_multilog_destroy(log);
}

static void
bench_all_memory(void)
{
    bench_memory(10);
    bench_memory(256);
    bench_memory(65536);
    bench_memory(1u << 30);
    bench_filter_memory(0);
    bench_filter_memory(1); /* One match in 60,000 records. */
    bench_filter_memory(5);
    bench_filter_memory(64);
}

int
main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "memory")) {
        bench_all_memory();
        return 0;
    }
    if (argc > 1) {
        bench_queries(atoi(argv[1]) == 50 ? 50 : 10);
        return 0;
    }
    bench_append(BATCH);
    bench_append(1);
    bench_queries(10);
    bench_queries(50);
    bench_beside();
    bench_all_memory();
    return 0;
}
