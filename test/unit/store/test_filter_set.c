/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of installed filters and aggregates. What they say of a snapshot is
 * compared with a scan of the same snapshot, while writers append, buckets are
 * sealed and leave, and filters come and go. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/aggregate.h"
#include "store/filter_set.h"
#include "store/multilog.h"
#include "store/multilog_private.h"

struct record {
    struct ef_time time;
    uint32_t src;
    uint16_t port;
    uint64_t bytes;
    struct ef_bytes payload;
};

static const struct ef_column columns[] = {
    {"time", EF_COLUMN_TIME, offsetof(struct record, time)},
    {"src", EF_COLUMN_IPV4, offsetof(struct record, src)},
    {"port", EF_COLUMN_U16, offsetof(struct record, port)},
    {"bytes", EF_COLUMN_U64, offsetof(struct record, bytes)},
    {"payload", EF_COLUMN_VARIABLE, offsetof(struct record, payload)},
};

enum { ROWS = 256 };

/* Follows from the number; times are not quite in order. */
static struct record
make_record(uint64_t i)
{
    uint64_t r = i * UINT64_C(0x9E3779B97F4A7C15);
    return (struct record){
        .time = {(int64_t) (i ^ 5)},
        .src = 0x0a000000 + (uint32_t) (r >> 60),
        .port = (uint16_t) (r >> 40 & 7),
        .bytes = r >> 1,
    };
}

static struct ef_multilog *
create(unsigned n_writers, unsigned n_buckets)
{
    struct ef_schema schema;
    struct ef_multilog *log;
    struct ef_multilog_config config = {.schema = &schema,
                                        .memory_bytes = (uint64_t) n_buckets * 12288,
                                        .max_writers = n_writers,
                                        .bucket_rows = ROWS,
                                        .bucket_variable_bytes = 64};
    struct ef_error err = EF_ERROR_INIT;
    assert_int_equal(ef_schema_init(&schema, columns, EF_ARRAY_SIZE(columns), sizeof(struct record), &err), 0);
    if (ef_multilog_create(&config, &log, &err)) {
        fail_msg("%s", err.text);
    }
    return log;
}

static void
append(struct ef_multilog_writer *writer, uint64_t first, uint32_t n)
{
    struct record batch[ROWS];
    for (uint32_t i = 0; i < n; i++) {
        batch[i] = make_record(first + i);
    }
    if (ef_multilog_append(writer, batch, n)) {
        abort();
    }
}

/* What a scan by the cursor says. */
static struct ef_aggregate_value
scan(struct ef_multilog *log, const struct ef_multilog_snapshot *snapshot, int64_t from, int64_t to,
     bool (*matches)(const struct record *))
{
    struct ef_aggregate_value value = EF_AGGREGATE_VALUE_INIT;
    struct ef_multilog_query query = {.snapshot = *snapshot, .from = {from}, .to = {to}};
    struct ef_multilog_cursor *cursor;
    assert_int_equal(ef_multilog_query(log, &query, &cursor), 0);
    while (ef_multilog_next(cursor)) {
        struct record r;
        ef_multilog_record(cursor, &r);
        if (matches(&r)) {
            value.count++;
            value.sum += r.bytes;
            value.min = EF_MIN(value.min, r.bytes);
            value.max = EF_MAX(value.max, r.bytes);
        }
    }
    ef_multilog_cursor_close(cursor);
    return value;
}

static void
check_equal(const struct ef_aggregate_value *a, const struct ef_aggregate_value *b)
{
    assert_int_equal(a->count, b->count);
    assert_true(a->sum == b->sum);
    assert_int_equal(a->min, b->min);
    assert_int_equal(a->max, b->max);
}

static bool
is_rare(const struct record *r)
{
    return r->src == 0x0a000003 && r->port == 3;
}

static bool
is_common(const struct record *r)
{
    return r->port != 3;
}

static const char rare[] = "src == 10.0.0.3 && port == 3", common[] = "port != 3";

/* --- One thread ----------------------------------------------------------------------- */

static void
check_all(struct ef_multilog *log, int64_t from, int64_t to)
{
    static const struct {
        const char *filter, *aggregate, *text;
        bool (*matches)(const struct record *);
    } cases[] = {
        {"rare", "rare_bytes", rare, is_rare},
        {"common", "common_bytes", common, is_common},
    };
    struct ef_multilog_snapshot snapshot;
    ef_multilog_snapshot(log, &snapshot);
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        struct ef_aggregate_value expected = scan(log, &snapshot, from, to, cases[i].matches), value;
        assert_int_equal(ef_multilog_get_aggregate(log, cases[i].aggregate, &snapshot, (struct ef_time){from},
                                                   (struct ef_time){to}, &value),
                         0);
        check_equal(&value, &expected);
        assert_int_equal(ef_multilog_aggregate(log, cases[i].text, "SUM(bytes)", &snapshot, (struct ef_time){from},
                                               (struct ef_time){to}, &value, NULL),
                         0);
        check_equal(&value, &expected);
    }
}

/* The records of a window, found by an installed filter, are those that a scan
 * finds, in its order. */
static void
check_query(struct ef_multilog *log, const char *name, bool (*matches)(const struct record *))
{
    struct ef_installed_filter *filter = ef_multilog_get_filter(log, name);
    struct ef_multilog_query query = {.from = {1000}, .to = {6000}};
    struct ef_multilog_cursor *by_filter, *all;
    uint64_t n = 0;
    assert_non_null(filter);
    ef_multilog_snapshot(log, &query.snapshot);
    assert_int_equal(ef_multilog_query(log, &query, &all), 0);
    query.filter = filter;
    assert_int_equal(ef_multilog_query(log, &query, &by_filter), 0);
    while (ef_multilog_next(all)) {
        struct record expected, r;
        ef_multilog_record(all, &expected);
        if (matches(&expected)) {
            assert_true(ef_multilog_next(by_filter));
            ef_multilog_record(by_filter, &r);
            assert_int_equal(r.time.ns, expected.time.ns);
            assert_int_equal(r.bytes, expected.bytes);
            n++;
        }
    }
    assert_false(ef_multilog_next(by_filter));
    assert_true(n > 10);
    ef_multilog_cursor_close(by_filter);
    ef_multilog_cursor_close(all);
    ef_installed_filter_release(filter);
}

static void
test_kept(void **state)
{
    struct ef_multilog *log = create(1, 40);
    struct ef_multilog_writer *writer;
    struct ef_error err = EF_ERROR_INIT;
    struct ef_filter_stats stats;
    assert_int_equal(ef_multilog_writer_open(log, &writer), 0);
    append(writer, 0, ROWS);
    append(writer, ROWS, 100); /* Before anything is installed. */
    assert_int_equal(ef_multilog_add_filter(log, "rare", rare, &err), 0);
    assert_int_equal(ef_multilog_add_aggregate(log, "rare_bytes", "rare", "SUM(bytes)", &err), 0);
    assert_int_equal(ef_multilog_add_filter(log, "common", common, &err), 0);
    assert_int_equal(ef_multilog_add_aggregate(log, "common_bytes", "common", "max(bytes)", &err), 0);
    for (uint64_t i = ROWS + 100; i < 30 * ROWS; i += 52) {
        append(writer, i, 52);
        if (i % 7 == 0) {
            check_all(log, INT64_MIN, INT64_MAX);
            check_all(log, 300, 5 * ROWS);
            check_all(log, (int64_t) i, INT64_MAX);
        }
    }
    ef_multilog_flush_derived(log);
    ef_multilog_filter_stats(log, &stats);
    assert_int_equal(stats.n_filters, 2);
    assert_int_equal(stats.n_aggregates, 2);
    assert_true(stats.n_buckets_kept >= 28);
    check_all(log, INT64_MIN, INT64_MAX);
    check_all(log, 777, 4444);
    check_query(log, "rare", is_rare);
    check_query(log, "common", is_common);
    assert_int_equal(ef_multilog_remove_filter(log, "rare"), 0);
    assert_int_equal(ef_multilog_add_filter(log, "rare", common, &err), 0); /* Another one of that name. */
    assert_int_equal(ef_multilog_add_aggregate(log, "rare_bytes", "rare", "SUM(bytes)", &err), 0);
    struct ef_multilog_snapshot snapshot;
    ef_multilog_snapshot(log, &snapshot);
    struct ef_aggregate_value value, expected = scan(log, &snapshot, INT64_MIN, INT64_MAX, is_common);
    assert_int_equal(ef_multilog_get_aggregate(log, "rare_bytes", &snapshot, (struct ef_time){INT64_MIN},
                                               (struct ef_time){INT64_MAX}, &value),
                     0);
    check_equal(&value, &expected);
    ef_multilog_writer_close(writer);
    ef_multilog_destroy(log);
}

/* Rows asked for at any place and of any number, kept as a list and as bits. */
static void
test_pieces(void **state)
{
    struct ef_multilog *log = create(1, 8);
    struct ef_multilog_writer *writer;
    assert_int_equal(ef_multilog_writer_open(log, &writer), 0);
    assert_int_equal(ef_multilog_add_filter(log, "rare", rare, NULL), 0);
    assert_int_equal(ef_multilog_add_filter(log, "common", common, NULL), 0);
    append(writer, 0, ROWS - 3);
    ef_multilog_seal(writer);
    ef_multilog_flush_derived(log);
    struct ef_filter_stats stats;
    ef_multilog_filter_stats(log, &stats);
    assert_int_equal(stats.n_buckets_kept, 1);
    for (int k = 0; k < 2; k++) {
        struct ef_installed_filter *filter = ef_multilog_get_filter(log, k ? "common" : "rare");
        struct ef_bucket *bucket = ef_lane_bucket(writer, 0);
        assert_true(ef_bucket_pin(&log->pool, bucket, ef_bucket_id(writer, 0)));
        for (uint32_t first = 0; first < ROWS - 3; first += 1 + first / 9) {
            for (uint32_t n = 1; first + n <= ROWS - 3; n++) {
                uint64_t bits[EF_PREDICATE_CHUNK_WORDS];
                memset(bits, 0xa5, sizeof bits);
                ef_installed_filter_eval(filter, log, bucket, first, n, bits);
                for (uint32_t i = 0; i < (n + 63) / 64 * 64; i++) {
                    struct record r = make_record(first + i);
                    bool expected = i < n && (k ? is_common(&r) : is_rare(&r));
                    assert_int_equal(bits[i / 64] >> i % 64 & 1, expected);
                }
            }
        }
        ef_bucket_drop(&log->pool, bucket);
        ef_installed_filter_release(filter);
    }
    ef_multilog_writer_close(writer);
    ef_multilog_destroy(log);
}

static void
test_errors(void **state)
{
    struct ef_multilog *log = create(1, 4);
    struct ef_error err = EF_ERROR_INIT;
    char long_name[EF_FILTER_NAME_SIZE + 1];
    memset(long_name, 'x', sizeof long_name);
    long_name[EF_FILTER_NAME_SIZE] = '\0';
    assert_int_equal(ef_multilog_add_filter(log, "a", "port == 70000", &err), -EINVAL);
    assert_int_equal(err.offset, 8);
    assert_int_equal(ef_multilog_add_filter(log, "", "", &err), -EINVAL);
    assert_int_equal(ef_multilog_add_filter(log, long_name, "", &err), -EINVAL);
    assert_int_equal(ef_multilog_add_filter(log, "a", "", &err), 0);
    assert_int_equal(ef_multilog_add_filter(log, "a", "port == 1", &err), -EEXIST);
    assert_int_equal(ef_multilog_remove_filter(log, "b"), -ENOENT);
    assert_null(ef_multilog_get_filter(log, "b"));
    static const struct {
        const char *text;
        int rc;
    } texts[] = {
        {"COUNT", 0},
        {"count()", 0},
        {"Count(payload)", 0},
        {"SUM(bytes)", 0},
        {"AVG(port)", 0},
        {"MIN(time)", 0},
        {"MAX(src)", 0},
        {"", -EINVAL},
        {"SUM", -EINVAL},
        {"SUM()", -EINVAL},
        {"SUM(", -EINVAL},
        {"SUM(bytes", -EINVAL},
        {"SUM(time)", -EINVAL},
        {"SUM(src)", -EINVAL},
        {"SUM(bytes) ", -EINVAL},
        {"MEDIAN(bytes)", -EINVAL},
        {"SUM(nothing)", -EINVAL},
        {"MIN(payload)", -EINVAL},
        {"COUNT)", -EINVAL},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(texts); i++) {
        if (ef_multilog_add_aggregate(log, "x", "a", texts[i].text, &err) != texts[i].rc) {
            fail_msg("%s: %s", texts[i].text, err.text);
        }
        assert_int_equal(ef_multilog_remove_aggregate(log, "x"), texts[i].rc ? -ENOENT : 0);
    }
    assert_int_equal(ef_multilog_add_aggregate(log, "x", "b", "COUNT", &err), -ENOENT);
    assert_int_equal(ef_multilog_add_aggregate(log, "x", "a", "COUNT", &err), 0);
    assert_int_equal(ef_multilog_add_aggregate(log, "x", "a", "COUNT", &err), -EEXIST);
    assert_int_equal(ef_multilog_remove_filter(log, "a"), 0);
    struct ef_multilog_snapshot snapshot;
    struct ef_aggregate_value value;
    ef_multilog_snapshot(log, &snapshot);
    assert_int_equal(ef_multilog_get_aggregate(log, "x", &snapshot, (struct ef_time){0}, (struct ef_time){0}, &value),
                     -ENOENT); /* It went with its filter. */
    ef_multilog_destroy(log);
}

/* --- Histories ------------------------------------------------------------------------ */

enum { N_WRITERS = 4, N_READERS = 2, N_RECORDS = 60000 };

static _Atomic int n_writing;
static pthread_barrier_t all_started;

struct thread {
    struct ef_multilog *log;
    struct ef_multilog_writer *writer;
    pthread_t thread;
    unsigned seed;
    unsigned n_checked;
};

static void *
write_history(void *thread_)
{
    struct thread *t = thread_;
    pthread_barrier_wait(&all_started);
    for (uint64_t i = 0; i < N_RECORDS;) {
        uint32_t n = 1 + (uint32_t) rand_r(&t->seed) % 40;
        append(t->writer, i, n);
        i += n;
    }
    atomic_fetch_sub(&n_writing, 1);
    return NULL;
}

/* Every snapshot is a prefix of each lane, so that its aggregates follow from
 * its tails alone. */
static void *
read_history(void *thread_)
{
    struct thread *t = thread_;
    struct ef_aggregate_value sums[N_WRITERS], total = EF_AGGREGATE_VALUE_INIT;
    uint64_t seen[N_WRITERS] = {0};
    for (unsigned lane = 0; lane < N_WRITERS; lane++) {
        sums[lane] = EF_AGGREGATE_VALUE_INIT;
    }
    pthread_barrier_wait(&all_started);
    for (bool writing = true; writing; t->n_checked++) {
        writing = atomic_load(&n_writing);
        struct ef_multilog_snapshot snapshot;
        ef_multilog_snapshot(t->log, &snapshot);
        total = EF_AGGREGATE_VALUE_INIT;
        for (unsigned lane = 0; lane < N_WRITERS; lane++) {
            for (; seen[lane] < snapshot.tails[lane]; seen[lane]++) {
                struct record r = make_record(seen[lane]);
                if (is_common(&r)) {
                    struct ef_aggregate_value one = {1, r.bytes, r.bytes, r.bytes};
                    ef_aggregate_merge(&sums[lane], &one);
                }
            }
            ef_aggregate_merge(&total, &sums[lane]);
        }
        struct ef_aggregate_value value;
        int rc = ef_multilog_get_aggregate(t->log, "common_bytes", &snapshot, (struct ef_time){INT64_MIN},
                                           (struct ef_time){INT64_MAX}, &value);
        if (rc == -ENOENT) {
            continue; /* Being installed anew. */
        }
        if (rc || value.count != total.count || value.sum != total.sum || value.min != total.min ||
            value.max != total.max) {
            abort();
        }
    }
    return NULL;
}

static void
test_histories(void **state)
{
    struct ef_multilog *log = create(N_WRITERS, N_WRITERS * (N_RECORDS / (ROWS - 40) + 3));
    struct thread writers[N_WRITERS] = {{0}}, readers[N_READERS] = {{0}};
    assert_int_equal(ef_multilog_add_filter(log, "common", common, NULL), 0);
    assert_int_equal(ef_multilog_add_aggregate(log, "common_bytes", "common", "AVG(bytes)", NULL), 0);
    atomic_store(&n_writing, N_WRITERS);
    assert_int_equal(pthread_barrier_init(&all_started, NULL, N_WRITERS + N_READERS), 0);
    for (unsigned i = 0; i < N_WRITERS; i++) {
        writers[i] = (struct thread){.log = log, .seed = i};
        assert_int_equal(ef_multilog_writer_open(log, &writers[i].writer), 0);
        assert_int_equal(pthread_create(&writers[i].thread, NULL, write_history, &writers[i]), 0);
    }
    for (unsigned i = 0; i < N_READERS; i++) {
        readers[i].log = log;
        assert_int_equal(pthread_create(&readers[i].thread, NULL, read_history, &readers[i]), 0);
    }
    for (unsigned round = 0; atomic_load(&n_writing); round++) { /* Filters come and go. */
        char name[32];
        snprintf(name, sizeof name, "filter %u", round % 20);
        if (ef_multilog_add_filter(log, name, round % 3 ? common : rare, NULL) == -EEXIST) {
            assert_int_equal(ef_multilog_remove_filter(log, name), 0);
        }
        if (round % 16 == 0) {
            assert_int_equal(ef_multilog_remove_filter(log, "common"), 0);
            assert_int_equal(ef_multilog_add_filter(log, "common", common, NULL), 0);
            assert_int_equal(ef_multilog_add_aggregate(log, "common_bytes", "common", "SUM(bytes)", NULL), 0);
        }
        ef_multilog_flush_derived(log);
    }
    for (unsigned i = 0; i < N_WRITERS; i++) {
        pthread_join(writers[i].thread, NULL);
        ef_multilog_writer_close(writers[i].writer);
    }
    for (unsigned i = 0; i < N_READERS; i++) {
        pthread_join(readers[i].thread, NULL);
        assert_true(readers[i].n_checked > 0);
    }
    pthread_barrier_destroy(&all_started);
    struct ef_multilog_stats stats;
    ef_multilog_stats(log, &stats);
    assert_int_equal(stats.n_evicted, 0); /* The readers count on it. */
    ef_multilog_destroy(log);
}

/* Buckets leave all the time: what is asked about them must not be of others. */
static void
test_leaving(void **state)
{
    struct ef_multilog *log = create(1, 6);
    struct ef_multilog_writer *writer;
    assert_int_equal(ef_multilog_writer_open(log, &writer), 0);
    assert_int_equal(ef_multilog_add_filter(log, "rare", rare, NULL), 0);
    assert_int_equal(ef_multilog_add_aggregate(log, "rare_bytes", "rare", "SUM(bytes)", NULL), 0);
    assert_int_equal(ef_multilog_add_filter(log, "common", common, NULL), 0);
    assert_int_equal(ef_multilog_add_aggregate(log, "common_bytes", "common", "COUNT(bytes)", NULL), 0);
    for (uint64_t i = 0; i < 200 * ROWS; i += 64) {
        append(writer, i, 64);
        if (i % (3 * ROWS) == 0) {
            check_all(log, INT64_MIN, INT64_MAX);
        }
    }
    ef_multilog_flush_derived(log);
    struct ef_filter_stats stats;
    ef_multilog_filter_stats(log, &stats);
    struct ef_multilog_stats of_log;
    ef_multilog_stats(log, &of_log);
    assert_true(stats.n_buckets_kept <= of_log.n_buckets);
    ef_multilog_writer_close(writer);
    ef_multilog_destroy(log);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kept),    cmocka_unit_test(test_pieces),    cmocka_unit_test(test_errors),
        cmocka_unit_test(test_leaving), cmocka_unit_test(test_histories),
    };
    return cmocka_run_group_tests_name("filter_set", tests, NULL, NULL);
}
