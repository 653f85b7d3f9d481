/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of triggers: which buckets of time raise an alert and which do not, each
 * once; a random history against the same conditions over the whole of it. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/aggregate.h"
#include "store/filter_set.h"
#include "store/multilog.h"
#include "store/trigger.h"

struct record {
    struct ef_time time;
    uint16_t port;
    uint32_t bytes;
};

static const struct ef_column columns[] = {
    {"time", EF_COLUMN_TIME, offsetof(struct record, time)},
    {"port", EF_COLUMN_U16, offsetof(struct record, port)},
    {"bytes", EF_COLUMN_U32, offsetof(struct record, bytes)},
};

#define MS 1000000

static struct ef_multilog *
create(unsigned n_writers, unsigned n_buckets)
{
    struct ef_schema schema;
    struct ef_multilog *log;
    struct ef_multilog_config config = {
        .schema = &schema, .memory_bytes = (uint64_t) n_buckets * 4096, .max_writers = n_writers, .bucket_rows = 128};
    struct ef_error err = EF_ERROR_INIT;
    assert_int_equal(ef_schema_init(&schema, columns, EF_ARRAY_SIZE(columns), sizeof(struct record), &err), 0);
    assert_int_equal(ef_multilog_create(&config, &log, &err), 0);
    return log;
}

static void
install(struct ef_multilog *log, const char *name, const char *filter, const char *aggregate, const char *condition)
{
    struct ef_error err = EF_ERROR_INIT;
    char aggregate_name[64];
    snprintf(aggregate_name, sizeof aggregate_name, "%s of %s", aggregate, filter);
    int rc = ef_multilog_add_filter(log, filter, filter, &err);
    assert_true(!rc || rc == -EEXIST);
    rc = ef_multilog_add_aggregate(log, aggregate_name, filter, aggregate, &err);
    assert_true(!rc || rc == -EEXIST);
    if (ef_multilog_install_trigger(log, name, aggregate_name, condition, 10, &err)) {
        fail_msg("%s", err.text);
    }
}

static void
append(struct ef_multilog_writer *writer, int64_t ms, uint16_t port, uint32_t bytes)
{
    struct record record = {{ms * MS}, port, bytes};
    assert_int_equal(ef_multilog_append(writer, &record, 1), 0);
}

/* Waits for alert `n`. */
static struct ef_alert
get_alert(struct ef_multilog *log, uint64_t n)
{
    struct ef_alert alert;
    assert_true(ef_multilog_wait_alerts(log, n - 1, 10000) >= n);
    assert_int_equal(ef_multilog_get_alerts(log, n - 1, &alert, 1), 1);
    return alert;
}

/* Waits until the monitor has looked at all `n` records that were appended. */
static void
wait_for_monitor(struct ef_multilog *log, uint64_t n)
{
    struct ef_trigger_stats stats;
    do {
        ef_multilog_wait_alerts(log, UINT64_MAX - 1, 1);
        ef_multilog_trigger_stats(log, &stats);
    } while (stats.n_records + stats.n_missed < n);
}

static void
test_at_once(void **state)
{
    struct ef_multilog *log = create(1, 16);
    struct ef_multilog_writer *writer;
    assert_int_equal(ef_multilog_writer_open(log, &writer), 0);
    append(writer, 0, 80, 1000); /* Before there is a trigger. */
    install(log, "many", "port == 80", "COUNT", "> 2");
    install(log, "large", "port == 80", "MAX(bytes)", ">= 500");
    install(log, "sum", "port == 80", "SUM(bytes)", "> 900");
    install(log, "small", "port == 80", "MIN(bytes)", "< 10");
    append(writer, 1, 80, 100);
    append(writer, 2, 81, 5000); /* Not of the filter. */
    append(writer, 3, 80, 500);
    struct ef_alert alert = get_alert(log, 1);
    assert_string_equal(alert.trigger, "large");
    assert_int_equal(alert.bucket.ns, 0);
    assert_true(alert.value == 500);
    append(writer, 9, 80, 400);
    get_alert(log, 3); /* Count and sum, in one wake-up or two. */
    struct ef_alert alerts[4];
    assert_int_equal(ef_multilog_get_alerts(log, 1, alerts, 4), 2);
    bool is_sum = !strcmp(alerts[1].trigger, "sum");
    assert_string_equal(alerts[is_sum].trigger, "sum");
    assert_true(alerts[is_sum].value == 1000);
    assert_string_equal(alerts[!is_sum].trigger, "many");
    assert_true(alerts[!is_sum].value == 3);
    assert_int_equal(alerts[!is_sum].count, 3);
    append(writer, 9, 80, 9);
    alert = get_alert(log, 4);
    assert_string_equal(alert.trigger, "small");
    for (int i = 0; i < 20; i++) {
        append(writer, 5, 80, 600); /* Nothing is raised twice for one bucket. */
    }
    append(writer, -1, 80, 600); /* The bucket from -10 ms on. */
    alert = get_alert(log, 5);
    assert_string_equal(alert.trigger, "large");
    assert_int_equal(alert.bucket.ns, -10 * MS);
    assert_int_equal(ef_multilog_uninstall_trigger(log, "large"), 0);
    append(writer, 11, 80, 700);
    append(writer, 12, 80, 700);
    alert = get_alert(log, 6);
    assert_string_equal(alert.trigger, "sum");
    assert_int_equal(alert.bucket.ns, 10 * MS);
    ef_multilog_writer_close(writer);
    ef_multilog_destroy(log);
}

static void
test_at_end(void **state)
{
    struct ef_multilog *log = create(1, 16);
    struct ef_multilog_writer *writer;
    assert_int_equal(ef_multilog_writer_open(log, &writer), 0);
    install(log, "few", "port == 80", "COUNT", "< 3");
    install(log, "mean", "port == 80", "AVG(bytes)", "== 2.5");
    struct record batch[9];
    for (uint32_t i = 0; i < 8; i++) { /* Bytes of the first bucket: 1 to 4, a mean of 2.5. */
        batch[i] = (struct record){{(i < 4 ? 5 : 15) * MS}, 80, i < 4 ? 1 + i : 7};
    }
    batch[8] = (struct record){{25 * MS}, 80, 7}; /* Completes the first bucket. */
    assert_int_equal(ef_multilog_append(writer, batch, 9), 0);
    struct ef_alert alert = get_alert(log, 1);
    assert_string_equal(alert.trigger, "mean");
    assert_int_equal(alert.count, 4);
    append(writer, 5, 80, 100); /* Too late. */
    alert = get_alert(log, 2);  /* The third bucket, since nothing comes for long enough. */
    assert_string_equal(alert.trigger, "few");
    assert_int_equal(alert.bucket.ns, 20 * MS);
    struct ef_trigger_stats stats;
    ef_multilog_trigger_stats(log, &stats);
    assert_int_equal(stats.n_late, 2); /* Once for each column that is aggregated. */
    assert_int_equal(stats.n_missed, 0);
    assert_int_equal(stats.n_records, 10);
    ef_multilog_writer_close(writer);
    ef_multilog_destroy(log);
}

static void
test_errors(void **state)
{
    struct ef_multilog *log = create(1, 4);
    struct ef_error err = EF_ERROR_INIT;
    static const char *const wrong[] = {
        "", ">", "10", "> x", "> -1", "=> 10", "> 10 x", "> 1.5", "> 18446744073709551616"};
    assert_int_equal(ef_multilog_add_filter(log, "f", "", &err), 0);
    assert_int_equal(ef_multilog_add_aggregate(log, "a", "f", "COUNT", &err), 0);
    assert_int_equal(ef_multilog_add_aggregate(log, "t", "f", "MAX(time)", &err), 0);
    for (size_t i = 0; i < EF_ARRAY_SIZE(wrong); i++) {
        assert_int_equal(ef_multilog_install_trigger(log, "x", "a", wrong[i], 1, &err), -EINVAL);
        assert_non_null(strstr(err.text, "no condition"));
    }
    assert_int_equal(ef_multilog_install_trigger(log, "x", "b", "> 1", 1, &err), -ENOENT);
    assert_int_equal(ef_multilog_install_trigger(log, "x", "t", "> 1", 1, &err), -EINVAL);
    assert_int_equal(ef_multilog_install_trigger(log, "x", "a", "> 1", 0, &err), -EINVAL);
    assert_int_equal(ef_multilog_install_trigger(log, "", "a", "> 1", 1, &err), -EINVAL);
    assert_int_equal(ef_multilog_install_trigger(log, "x", "a", " >= 1 ", 3600000, &err), 0);
    assert_int_equal(ef_multilog_install_trigger(log, "x", "a", "> 1", 1, &err), -EEXIST);
    assert_int_equal(ef_multilog_install_trigger(log, "y", "a", "!= 1", 1, &err), 0);
    assert_int_equal(ef_multilog_uninstall_trigger(log, "y"), 0);
    assert_int_equal(ef_multilog_uninstall_trigger(log, "y"), -ENOENT);
    struct ef_trigger_stats stats;
    assert_int_equal(ef_multilog_remove_filter(log, "f"), 0); /* And all that stands on it. */
    ef_multilog_trigger_stats(log, &stats);
    assert_int_equal(stats.n_triggers, 0);
    assert_int_equal(ef_multilog_uninstall_trigger(log, "x"), -ENOENT);
    ef_multilog_destroy(log);
}

/* --- Histories ------------------------------------------------------------------------ */

enum { N_WRITERS = 3, N_RECORDS = 20000, N_TRIGGERS = 60 };

struct thread {
    pthread_t thread;
    struct ef_multilog_writer *writer;
    unsigned number;
};

static struct record
make_record(unsigned writer, unsigned i)
{
    uint64_t r = (i + 1 + writer * 1000003U) * UINT64_C(0x9E3779B97F4A7C15);
    return (struct record){
        {(int64_t) (r >> 50) % 200 * MS / 10}, (uint16_t) (r >> 40 & 7), (uint32_t) (r >> 20 & 1023)};
}

static void *
write_history(void *thread_)
{
    struct thread *t = thread_;
    for (unsigned i = 0; i < N_RECORDS; i += 8) {
        struct record batch[8];
        for (unsigned k = 0; k < 8; k++) {
            batch[k] = make_record(t->number, i + k);
        }
        if (ef_multilog_append(t->writer, batch, 8)) {
            abort();
        }
    }
    return NULL;
}

/* Records of two buckets of time come in any order from several writers; a
 * trigger on COUNT or SUM must fire for exactly those whose total is enough. */
static void
test_histories(void **state)
{
    struct ef_multilog *log = create(N_WRITERS, N_WRITERS * (N_RECORDS / 128 + 3));
    struct thread threads[N_WRITERS];
    uint64_t counts[2] = {0}, sums[2] = {0};
    for (unsigned w = 0; w < N_WRITERS; w++) {
        for (unsigned i = 0; i < N_RECORDS; i++) {
            struct record r = make_record(w, i);
            unsigned bucket = r.time.ns >= 10 * MS;
            counts[bucket] += r.port == 3;
            sums[bucket] += r.port == 3 ? r.bytes : 0;
        }
    }
    bool is_expected[N_TRIGGERS][2];
    unsigned n_expected = 0;
    for (unsigned i = 0; i < N_TRIGGERS; i++) {
        char name[16], condition[32];
        const uint64_t *totals = i % 2 ? sums : counts;
        uint64_t threshold = totals[0] * (i + 1) / 50;
        snprintf(name, sizeof name, "%u", i);
        snprintf(condition, sizeof condition, "%s %llu", i % 3 ? ">=" : ">", (unsigned long long) threshold);
        install(log, name, "port == 3", i % 2 ? "SUM(bytes)" : "COUNT", condition);
        for (unsigned b = 0; b < 2; b++) {
            is_expected[i][b] = i % 3 ? totals[b] >= threshold : totals[b] > threshold;
            n_expected += is_expected[i][b];
        }
    }
    assert_true(n_expected > N_TRIGGERS / 2 && n_expected < 2 * N_TRIGGERS);
    for (unsigned w = 0; w < N_WRITERS; w++) {
        threads[w].number = w;
        assert_int_equal(ef_multilog_writer_open(log, &threads[w].writer), 0);
        assert_int_equal(pthread_create(&threads[w].thread, NULL, write_history, &threads[w]), 0);
    }
    for (unsigned i = 0; i < 300; i++) { /* Others come and go. */
        install(log, "other", i % 2 ? "port == 3" : "port == 4", "COUNT", "> 1000000");
        assert_int_equal(ef_multilog_uninstall_trigger(log, "other"), 0);
    }
    for (unsigned w = 0; w < N_WRITERS; w++) {
        pthread_join(threads[w].thread, NULL);
        ef_multilog_writer_close(threads[w].writer);
    }
    wait_for_monitor(log, N_WRITERS * N_RECORDS);
    static struct ef_alert alerts[EF_MAX_ALERTS];
    unsigned n = ef_multilog_get_alerts(log, 0, alerts, EF_MAX_ALERTS);
    assert_int_equal(n, n_expected);
    for (unsigned i = 0; i < n; i++) {
        unsigned trigger = (unsigned) atoi(alerts[i].trigger), bucket = alerts[i].bucket.ns > 0;
        assert_int_equal(alerts[i].number, i + 1);
        assert_true(is_expected[trigger][bucket]);
        is_expected[trigger][bucket] = false; /* Once. */
    }
    struct ef_trigger_stats stats;
    ef_multilog_trigger_stats(log, &stats);
    assert_int_equal(stats.n_late, 0);
    assert_int_equal(stats.n_missed, 0);
    ef_multilog_destroy(log);
}

/* The log is so small that much leaves before the monitor comes to it: all is
 * counted on one side or the other. */
static void
test_missed(void **state)
{
    struct ef_multilog *log = create(1, 2);
    struct thread thread = {.number = 0};
    install(log, "one", "port == 3", "COUNT", "> 0");
    assert_int_equal(ef_multilog_writer_open(log, &thread.writer), 0);
    write_history(&thread);
    ef_multilog_writer_close(thread.writer);
    wait_for_monitor(log, N_RECORDS);
    struct ef_trigger_stats stats;
    ef_multilog_trigger_stats(log, &stats);
    assert_int_equal(stats.n_records + stats.n_missed, N_RECORDS);
    ef_multilog_destroy(log);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_at_once),   cmocka_unit_test(test_at_end), cmocka_unit_test(test_errors),
        cmocka_unit_test(test_histories), cmocka_unit_test(test_missed),
    };
    return cmocka_run_group_tests_name("trigger", tests, NULL, NULL);
}
