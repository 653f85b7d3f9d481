/* SPDX-License-Identifier: Apache-2.0 */
/* The archiver: every closed trace reaches the disk, or is counted. */
#include <config.h>

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "analyzer/archiver.h"
#include "analyzer/trace_row.h"
#include "packet/build.h"

enum { N_WRITERS = 2, MAX_TRACES = 200000, PATIENCE_MS = 60000 };
static char dir[64];
static uint8_t seen[MAX_TRACES];

static int
make_dir(void **state)
{
    strcpy(dir, "/tmp/ef-archiver-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int
remove_dir(void **state)
{
    char path[512];
    DIR *d = opendir(dir);
    for (struct dirent *e; (e = readdir(d));) {
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        unlink(path);
    }
    closedir(d);
    return rmdir(dir);
}

static void
make_trace(struct ef_trace *t, uint64_t number)
{
    struct ef_build b;
    memset(t, 0, sizeof *t);
    t->id = number;
    t->start.ns = t->end.ns = 1790000000 * EF_NS_PER_S + (int64_t) number;
    ef_build_start(&b, t->bytes, sizeof t->bytes);
    ef_build_eth(&b);
    ef_build_ipv4(&b, "10.1.0.2", "10.4.0.3");
    ef_build_tcp(&b, (uint16_t) number, 80, EF_TCP_SYN);
    t->n_bytes = (uint16_t) ef_build_finish(&b);
    t->wire_len = t->n_bytes;
    t->n_hops = (uint8_t) (number % 4);
    for (unsigned i = 0; i < t->n_hops; i++) {
        t->hops[i].arrival = t->start;
    }
}

/* Asserts that the archive has traces below `end`, each once and as it was, and
 * returns how many. */
static uint64_t
count_archived(uint64_t end)
{
    struct ef_archive_config config = {.dir = dir, .schema = &ef_trace_schema};
    struct ef_archive_query everything = {.from = {INT64_MIN}, .to = {INT64_MAX}};
    struct ef_archive *archive;
    struct ef_error err = EF_ERROR_INIT;
    struct ef_row_set *rows;
    static struct ef_trace trace, expected;
    uint64_t n = 0;
    memset(seen, 0, sizeof seen);
    assert_int_equal(ef_archive_open(&config, &archive, &err), 0);
    struct ef_archive_cursor *cursor = ef_archive_query(archive, &everything);
    while (ef_archive_next(cursor, &rows, NULL)) {
        for (uint32_t i = 0; i < rows->n_rows; i++, n++) {
            assert_true(ef_trace_of_row(rows->rows[i], &trace));
            assert_true(trace.id < end && !seen[trace.id]++);
            make_trace(&expected, trace.id);
            assert_memory_equal(&trace, &expected, offsetof(struct ef_trace, bytes));
            assert_memory_equal(trace.bytes, expected.bytes, trace.n_bytes);
        }
    }
    assert_int_equal(ef_archive_n_failed(cursor), 0);
    ef_archive_cursor_close(cursor);
    ef_archive_close(archive);
    return n;
}

static void
wait_taken(struct ef_archiver *archiver, uint64_t n, struct ef_archiver_stats *stats)
{
    struct ef_time deadline = ef_time_add_ms(ef_time_mono(), PATIENCE_MS);
    ef_archiver_hurry(archiver);
    while (ef_archiver_stats(archiver, stats), stats->n_taken < n) {
        if (stats->n_missed || !ef_time_before(ef_time_mono(), deadline)) {
            fail_msg("of %llu traces %llu were taken, %llu missed", (unsigned long long) n,
                     (unsigned long long) stats->n_taken, (unsigned long long) stats->n_missed);
        }
        usleep(200);
    }
}

static void
run(uint64_t n_traces, bool is_slow, struct ef_archiver_stats *stats)
{
    struct ef_archiver_config config = {.dir = dir};
    struct ef_trace_store *store;
    struct ef_archiver *archiver;
    struct ef_error err = EF_ERROR_INIT;
    static struct ef_trace trace;
    assert_int_equal(ef_trace_store_create(N_WRITERS, 1 << 20, 1 << 20, &store, &err), 0);
    assert_int_equal(ef_archiver_create(&config, store, &archiver, &err), 0);
    if (!is_slow) {
        assert_int_equal(ef_archiver_start(archiver, &err), 0);
    }
    for (uint64_t i = 0; i < n_traces; i++) {
        make_trace(&trace, i);
        ef_trace_store_append(store, i % N_WRITERS, &trace);
        if (i % 100 == 0 && !is_slow) {
            /* No faster than the archiver reads: nothing is missed then. */
            ef_trace_store_flush(store, 0);
            ef_trace_store_flush(store, 1);
            wait_taken(archiver, i + 1, stats);
        }
    }
    ef_trace_store_flush(store, 0);
    ef_trace_store_flush(store, 1);
    if (!is_slow) {
        wait_taken(archiver, n_traces, stats);
    }
    ef_archiver_destroy(archiver);
    ef_trace_store_destroy(store);
}

static void
test_every_trace(void **state)
{
    struct ef_archiver_stats stats = {0};
    run(5000, false, &stats);
    assert_int_equal(stats.n_taken, 5000);
    assert_int_equal(stats.n_missed, 0);
    assert_int_equal(count_archived(5000), 5000);
}

/* What left memory before the archiver came is not there; the rest is. */
static void
test_missed(void **state)
{
    struct ef_archiver_stats stats = {0};
    run(30000, true, &stats);
    uint64_t n = count_archived(30000);
    assert_true(n > 0 && n < 30000);
    for (uint64_t i = 30000 - n / 2; i < 30000; i++) {
        assert_int_equal(seen[i], 1);
    }
}

static void
test_bad_directory(void **state)
{
    struct ef_archiver_config config = {.dir = "/nonexistent"};
    struct ef_trace_store *store;
    struct ef_archiver *archiver;
    struct ef_error err = EF_ERROR_INIT;
    assert_int_equal(ef_trace_store_create(N_WRITERS, 1 << 20, 1 << 20, &store, &err), 0);
    assert_int_equal(ef_archiver_create(&config, store, &archiver, &err), -ENOENT);
    assert_non_null(strstr(err.text, "/nonexistent"));
    ef_trace_store_destroy(store);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_trace, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_missed, make_dir, remove_dir),
        cmocka_unit_test(test_bad_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
