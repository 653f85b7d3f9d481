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
    struct ef_time end = ef_time_add_ms(ef_time_mono(), 60000);
    do {
        ef_multilog_wait_alerts(log, UINT64_MAX - 1, 1);
        ef_multilog_trigger_stats(log, &stats);
        if (ef_time_before(end, ef_time_mono())) {
            fail_msg("the monitor has looked at %llu of %llu records for a minute",
                     (unsigned long long) (stats.n_records + stats.n_missed), (unsigned long long) n);
        }
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

enum { N_WRITERS = 3, N_RECORDS = 20000, N_TRIGGERS = 240 };

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

/* What a trigger of the history is about, and whether its bucket must raise it. */
struct expectation {
    char filter[32], aggregate[16], condition[32];
    bool is_raised[2];
};

static const char *const functions[] = {"COUNT", "SUM(bytes)", "MAX(bytes)", "MIN(bytes)", "SUM(port)"};

/* Of both buckets of time, by function. */
static void
add_up(uint16_t least_port, uint16_t most_port, uint64_t totals[2][5])
{
    for (unsigned b = 0; b < 2; b++) {
        memcpy(totals[b], (uint64_t[5]){0, 0, 0, UINT64_MAX, 0}, sizeof totals[b]);
    }
    for (unsigned w = 0; w < N_WRITERS; w++) {
        for (unsigned i = 0; i < N_RECORDS; i++) {
            struct record r = make_record(w, i);
            uint64_t *of = totals[r.time.ns >= 10 * MS];
            if (r.port >= least_port && r.port <= most_port) {
                of[0]++;
                of[1] += r.bytes;
                of[2] = r.bytes > of[2] ? r.bytes : of[2];
                of[3] = r.bytes < of[3] ? r.bytes : of[3];
                of[4] += r.port;
            }
        }
    }
}

/* Thresholds from well below to a little above what there will be: some fire
 * early, some by the last record, some by one too few not at all. */
static void
make_expectation(unsigned i, struct expectation *e)
{
    uint16_t least = i / 5 % 8, most = (uint16_t) (i % 7 ? least : 7);
    unsigned function = i % 5;
    uint64_t totals[2][5];
    add_up(least, most, totals);
    uint64_t total = totals[i / 3 % 2][function];
    uint64_t threshold = i % 4 == 0 ? total : i % 4 == 1 ? total + 1 : total * (i % 11) / 10;
    bool is_min = function == 3;
    snprintf(e->filter, sizeof e->filter, "port >= %u && port <= %u", least, most);
    snprintf(e->aggregate, sizeof e->aggregate, "%s", functions[function]);
    snprintf(e->condition, sizeof e->condition, "%s %llu", is_min ? "<=" : ">=", (unsigned long long) threshold);
    for (unsigned b = 0; b < 2; b++) {
        uint64_t value = totals[b][function];
        e->is_raised[b] = totals[b][0] && (is_min ? value <= threshold : value >= threshold);
    }
}

static unsigned
install_expectations(struct ef_multilog *log, struct expectation *all)
{
    unsigned n = 0;
    for (unsigned i = 0; i < N_TRIGGERS; i++) {
        char name[16];
        make_expectation(i, &all[i]);
        snprintf(name, sizeof name, "%u", i);
        install(log, name, all[i].filter, all[i].aggregate, all[i].condition);
        n += (unsigned) all[i].is_raised[0] + all[i].is_raised[1];
    }
    return n;
}

/* Each alert is expected, and comes once. */
static void
check_alerts(struct ef_multilog *log, struct expectation *all, unsigned n_expected)
{
    static struct ef_alert alerts[EF_MAX_ALERTS];
    unsigned n = ef_multilog_get_alerts(log, 0, alerts, EF_MAX_ALERTS);
    for (unsigned i = 0; i < n; i++) {
        unsigned trigger = (unsigned) atoi(alerts[i].trigger), bucket = alerts[i].bucket.ns > 0;
        assert_int_equal(alerts[i].number, i + 1);
        if (!all[trigger].is_raised[bucket]) {
            fail_msg("%s of %s %s: raised wrongly or twice", all[trigger].aggregate, all[trigger].filter,
                     all[trigger].condition);
        }
        all[trigger].is_raised[bucket] = false;
    }
    for (unsigned i = 0; i < N_TRIGGERS; i++) {
        if (all[i].is_raised[0] || all[i].is_raised[1]) {
            fail_msg("%s of %s %s: not raised", all[i].aggregate, all[i].filter, all[i].condition);
        }
    }
    assert_int_equal(n, n_expected);
}

/* Records of two buckets of time come in any order from several writers; a
 * trigger must fire for exactly those whose total is enough, though the monitor
 * reads most filters' records only when they could be. */
static void
test_histories(void **state)
{
    struct ef_multilog *log = create(N_WRITERS, N_WRITERS * (N_RECORDS / 128 + 3));
    struct thread threads[N_WRITERS];
    static struct expectation all[N_TRIGGERS];
    unsigned n_expected = install_expectations(log, all);
    assert_true(n_expected > N_TRIGGERS / 2 && n_expected < 2 * N_TRIGGERS);
    for (unsigned w = 0; w < N_WRITERS; w++) {
        threads[w].number = w;
        assert_int_equal(ef_multilog_writer_open(log, &threads[w].writer), 0);
        assert_int_equal(pthread_create(&threads[w].thread, NULL, write_history, &threads[w]), 0);
    }
    for (unsigned i = 0; i < 300; i++) { /* Others come and go. */
        install(log, "other", i % 2 ? "port == 3" : "port == 4", i % 3 ? "COUNT" : "AVG(bytes)", "> 1000000");
        assert_int_equal(ef_multilog_uninstall_trigger(log, "other"), 0);
    }
    for (unsigned w = 0; w < N_WRITERS; w++) {
        pthread_join(threads[w].thread, NULL);
        ef_multilog_writer_close(threads[w].writer);
    }
    wait_for_monitor(log, N_WRITERS * N_RECORDS);
    check_alerts(log, all, n_expected);
    struct ef_trigger_stats stats;
    ef_multilog_trigger_stats(log, &stats);
    assert_int_equal(stats.n_late, 0);
    assert_int_equal(stats.n_missed, 0);
    ef_multilog_destroy(log);
}

/* One batch over many more buckets of time than are kept: each is looked at
 * before it makes room, by conditions of both kinds. */
static void
test_jumps(void **state)
{
    struct ef_multilog *log = create(1, 16);
    struct ef_multilog_writer *writer;
    struct record batch[100];
    bool is_full[100] = {false}, is_small[100] = {false};
    assert_int_equal(ef_multilog_writer_open(log, &writer), 0);
    install(log, "full", "port == 80", "SUM(bytes)", ">= 100");
    install(log, "small", "port == 80", "AVG(bytes)", "< 50");
    for (unsigned i = 0; i < 100; i++) { /* One bucket each, twelve periods apart. */
        batch[i] = (struct record){{(int64_t) i * 120 * MS}, (uint16_t) (i % 3 ? 80 : 81), i};
    }
    batch[99].bytes = 200;
    batch[99].port = 80;
    assert_int_equal(ef_multilog_append(writer, batch, 50), 0);
    assert_int_equal(ef_multilog_append(writer, batch + 50, 50), 0);
    get_alert(log, 33 + 1);
    wait_for_monitor(log, 100);
    static struct ef_alert alerts[200];
    unsigned n = ef_multilog_get_alerts(log, 0, alerts, 200);
    for (unsigned i = 0; i < n; i++) {
        bool *is = strcmp(alerts[i].trigger, "full") ? is_small : is_full;
        assert_false(is[alerts[i].bucket.ns / MS / 120]);
        is[alerts[i].bucket.ns / MS / 120] = true;
    }
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(is_full[i], batch[i].port == 80 && batch[i].bytes >= 100);
        assert_int_equal(is_small[i], batch[i].port == 80 && batch[i].bytes < 50);
    }
    ef_multilog_writer_close(writer);
    ef_multilog_destroy(log);
}

/* A record from the far future does not silence what comes after it, and a
 * trace that is replayed raises its alerts, too. */
static void
test_time_goes_back(void **state)
{
    struct ef_multilog *log = create(1, 16);
    struct ef_multilog_writer *writer;
    assert_int_equal(ef_multilog_writer_open(log, &writer), 0);
    install(log, "any", "port == 80", "COUNT", "> 0");
    append(writer, INT64_C(4000000000000), 80, 1);
    assert_true(get_alert(log, 1).bucket.ns > 0);
    uint64_t newest = 1;
    for (unsigned i = 0; newest < 2 && i < 1000; i++) { /* 10 s at most. */
        append(writer, 1000, 80, 1);
        newest = ef_multilog_wait_alerts(log, 1, 10);
    }
    assert_int_equal(get_alert(log, 2).bucket.ns, 1000 * MS);
    ef_multilog_writer_close(writer);
    ef_multilog_destroy(log);
}

/* What is appended while the log is frozen is looked at after that, without
 * anything more being appended. */
static void
test_frozen(void **state)
{
    struct ef_multilog *log = create(1, 16);
    struct ef_multilog_writer *writer;
    struct ef_multilog_snapshot snapshot;
    assert_int_equal(ef_multilog_writer_open(log, &writer), 0);
    install(log, "any", "port == 80", "COUNT", "> 0");
    for (unsigned i = 0; i < 20; i++) {
        assert_int_equal(ef_multilog_freeze(log, &snapshot), 0);
        append(writer, 100 * i, 80, 1);
        assert_int_equal(ef_multilog_wait_alerts(log, i, 3), i);
        ef_multilog_unfreeze(log);
        assert_int_equal(get_alert(log, i + 1).bucket.ns, (int64_t) i * 100 * MS);
    }
    ef_multilog_writer_close(writer);
    ef_multilog_destroy(log);
}

/* The log is so small that much leaves before the monitor comes to it: all is
 * counted on one side or the other. */
static void
test_missed(void **state)
{
    struct ef_multilog *log = create(1, 6); /* The monitor holds up to two, the writer has one. */
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
        cmocka_unit_test(test_histories), cmocka_unit_test(test_jumps),  cmocka_unit_test(test_time_goes_back),
        cmocka_unit_test(test_frozen),    cmocka_unit_test(test_missed),
    };
    return cmocka_run_group_tests_name("trigger", tests, NULL, NULL);
}
