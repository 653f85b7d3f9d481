/* SPDX-License-Identifier: Apache-2.0 */
/* The archive: each row is there once, over sealing, restarts, kills and disks
 * that fail; the oldest segments go; what is not ours stays. */
#include <config.h>

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "store/archive/archive.h"
#include "store/archive/byte_buffer.h"
#include "store/archive/catalogue.h"
#include "unit/store/failing_ops.h"

struct row {
    struct ef_time time;
    uint64_t number;
    uint32_t group;
};

static const struct ef_row_column columns[] = {
    {"time", EF_ROW_TIME, offsetof(struct row, time)},
    {"number", EF_ROW_U64, offsetof(struct row, number)},
    {"group", EF_ROW_U32, offsetof(struct row, group)},
};
static const struct ef_row_schema schema = {
    .columns = columns, .n_columns = 3, .row_bytes = sizeof(struct row), .sort = {2, 0}, .n_sort = 2};

enum { MAX_NUMBER = 1 << 22, SEGMENT_ROWS = 100, RECORD_BYTES = 28 };
static uint8_t seen[MAX_NUMBER];
static char dir[64];

static int
make_dir(void **state)
{
    strcpy(dir, "/tmp/ef-archive-XXXXXX");
    fail_open = fail_write = fail_truncate = fail_sync = fail_rename = 0;
    write_at_most = write_room = INT64_MAX;
    return mkdtemp(dir) ? 0 : -1;
}

/* Counts the names that contain `part`, and removes them if asked. */
static unsigned
names(const char *part, bool remove)
{
    char path[512];
    unsigned n = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; (e = readdir(d));) {
        if (e->d_name[0] != '.' && strstr(e->d_name, part)) {
            n++;
            snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
            if (remove) {
                unlink(path);
            }
        }
    }
    closedir(d);
    return n;
}

static int
remove_dir(void **state)
{
    names("", true);
    return rmdir(dir);
}

static struct ef_archive *
open_archive(const struct ef_archive_config *more)
{
    struct ef_archive_config config = more ? *more : (struct ef_archive_config){0};
    struct ef_archive *archive;
    struct ef_error err = EF_ERROR_INIT;
    config.dir = dir;
    config.schema = &schema;
    config.ops = &failing_ops;
    config.segment_bytes = config.segment_bytes ? config.segment_bytes : 20 + SEGMENT_ROWS * RECORD_BYTES;
    int rc = ef_archive_open(&config, &archive, &err);
    if (rc) {
        fail_msg("%s", err.text);
    }
    return archive;
}

static void
append(struct ef_archive *archive, uint64_t number)
{
    struct row row = {{(int64_t) number * EF_NS_PER_S}, number, (uint32_t) (number % 7)};
    ef_archive_append(archive, &row);
}

/* Marks what the query finds in `seen`; returns how many. */
static uint64_t
ask(struct ef_archive *archive, const struct ef_archive_query *query)
{
    struct ef_archive_cursor *cursor = ef_archive_query(archive, query);
    struct ef_row_set *rows;
    uint64_t n = 0;
    struct ef_time newest = {INT64_MAX}, before;
    memset(seen, 0, sizeof seen);
    while ((before = newest, ef_archive_next(cursor, &rows, &newest))) {
        for (uint32_t i = 0; i < rows->n_rows; i++) {
            struct row row = *(const struct row *) rows->rows[i];
            assert_true(row.number < MAX_NUMBER);
            assert_int_equal(row.time.ns, (int64_t) row.number * EF_NS_PER_S);
            assert_true(row.time.ns <= before.ns);
            seen[row.number]++;
            n++;
        }
    }
    assert_int_equal(ef_archive_n_failed(cursor), 0);
    ef_archive_cursor_close(cursor);
    return n;
}

static const struct ef_archive_query everything = {.from = {INT64_MIN}, .to = {INT64_MAX}};

/* Asserts that exactly the numbers from `first` up to `end` are there, once each. */
static void
check_all(struct ef_archive *archive, uint64_t first, uint64_t end)
{
    assert_int_equal(ask(archive, &everything), end - first);
    for (uint64_t i = first; i < end; i++) {
        assert_int_equal(seen[i], 1);
    }
}

static void
wait_sealed(struct ef_archive *archive, uint64_t n)
{
    struct ef_archive_stats stats;
    struct ef_time deadline = ef_time_add_ms(ef_time_mono(), 60000);
    do {
        usleep(500);
        ef_archive_stats(archive, &stats);
        assert_true(ef_time_before(ef_time_mono(), deadline));
    } while (stats.n_sealed < n);
}

static void
test_life(void **state)
{
    struct ef_archive *archive = open_archive(NULL);
    struct ef_archive_stats stats;
    for (uint64_t i = 0; i < 1050; i++) {
        append(archive, i);
        ef_archive_flush(archive);
        if (i % 97 == 0) {
            check_all(archive, 0, i + 1);
        }
    }
    wait_sealed(archive, 10);
    check_all(archive, 0, 1050);
    ef_archive_stats(archive, &stats);
    assert_int_equal(stats.n_segments, 10);
    assert_int_equal(stats.n_rows, 1000);
    assert_int_equal(stats.n_unsealed, 1);
    assert_int_equal(stats.oldest.ns, 0);
    ef_archive_close(archive);
    assert_int_equal(names("spool-", false), 0);
    assert_int_equal(names(".parquet", false), 11);
    archive = open_archive(NULL);
    check_all(archive, 0, 1050);
    append(archive, 1050);
    ef_archive_flush(archive);
    check_all(archive, 0, 1051);
    ef_archive_close(archive);
    assert_int_equal(names(".parquet", false), 12);
}

static void
test_query(void **state)
{
    struct ef_archive *archive = open_archive(NULL);
    for (uint64_t i = 0; i < 950; i++) {
        append(archive, i);
        ef_archive_flush(archive);
    }
    wait_sealed(archive, 9);
    struct ef_archive_bound bound = {2, 3, 4};
    struct ef_archive_query query = {{150 * EF_NS_PER_S}, {930 * EF_NS_PER_S}, &bound, 1};
    uint64_t n = 0;
    uint64_t found = ask(archive, &query);
    for (uint64_t i = 0; i < 950; i++) {
        bool expected = i >= 150 && i <= 930 && (i % 7 == 3 || i % 7 == 4);
        assert_int_equal(seen[i], expected);
        n += expected;
    }
    assert_int_equal(found, n);
    ef_archive_close(archive);
}

static void
test_retention(void **state)
{
    struct ef_archive_config config = {.max_bytes = 4000};
    struct ef_archive *archive = open_archive(&config);
    struct ef_archive_stats stats;
    for (uint64_t i = 0; i < 1200; i++) {
        append(archive, i);
        ef_archive_flush(archive);
    }
    ef_archive_close(archive);
    archive = open_archive(&config);
    ef_archive_stats(archive, &stats);
    assert_true(stats.n_bytes <= 4000 && stats.n_segments > 0);
    assert_true(stats.oldest.ns > 0 && stats.oldest.ns % (SEGMENT_ROWS * EF_NS_PER_S) == 0);
    check_all(archive, (uint64_t) (stats.oldest.ns / EF_NS_PER_S), 1200);
    ef_archive_close(archive);
    /* All of it is from 1970. */
    config = (struct ef_archive_config){.max_age_ns = 3600 * EF_NS_PER_S};
    archive = open_archive(&config);
    ef_archive_close(archive);
    assert_int_equal(names(".parquet", false), 0);
}

static void
write_file(const char *name, const void *data, size_t len)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(write(fd, data, len), len);
    close(fd);
}

static void
test_foreign_and_broken_files(void **state)
{
    struct ef_archive *archive = open_archive(NULL);
    struct ef_archive_stats stats;
    append(archive, 0);
    ef_archive_close(archive);
    write_file("notes.txt", "hello", 5);
    write_file("20260101T000000.000-000000000777.parquet", "PAR1PAR1", 8);
    write_file("spool-000000000500.records", "torn", 4);
    write_file("spool-000000000009.records.tmp", "half", 4);
    archive = open_archive(NULL);
    append(archive, 1);
    ef_archive_flush(archive);
    check_all(archive, 0, 2);
    ef_archive_close(archive);
    archive = open_archive(NULL);
    check_all(archive, 0, 2);
    ef_archive_stats(archive, &stats);
    assert_int_equal(stats.n_broken, 0);
    ef_archive_close(archive);
    assert_int_equal(names(".broken", false), 2);
    assert_int_equal(names("notes.txt", false), 1);
    assert_int_equal(names(".tmp", false), 0);
    assert_int_equal(names("-000000000778.parquet", false), 1);
}

static void
test_one_process(void **state)
{
    struct ef_archive *archive = open_archive(NULL), *second;
    struct ef_archive_config config = {.dir = dir, .schema = &schema};
    struct ef_error err = EF_ERROR_INIT;
    assert_int_equal(ef_archive_open(&config, &second, &err), -EBUSY);
    ef_archive_close(archive);
    config.dir = "/nonexistent/archive";
    assert_int_equal(ef_archive_open(&config, &second, &err), -ENOENT);
}

/* Sealing fails for a while: nothing is lost, and it is made up for. */
static void
test_sealing_fails(void **state)
{
    struct ef_archive *archive = open_archive(NULL);
    struct ef_archive_stats stats;
    fail_rename = EIO;
    for (uint64_t i = 0; i < 250; i++) {
        append(archive, i);
        ef_archive_flush(archive);
    }
    do {
        usleep(500);
        ef_archive_stats(archive, &stats);
    } while (!stats.n_failed_seals);
    assert_int_equal(stats.n_sealed, 0);
    check_all(archive, 0, 250);
    fail_rename = 0;
    wait_sealed(archive, 2);
    check_all(archive, 0, 250);
    ef_archive_close(archive);
    archive = open_archive(NULL);
    check_all(archive, 0, 250);
    ef_archive_stats(archive, &stats);
    assert_int_equal(stats.alarm, 0);
    ef_archive_close(archive);
}

/* The disk is full for a while: what it refused is counted, and the rest there. */
static void
test_disk_full(void **state)
{
    struct ef_archive *archive = open_archive(NULL);
    struct ef_archive_stats stats;
    for (uint64_t i = 0; i < 500; i++) {
        if (i == 150) {
            write_room = 1000;
            fail_write = ENOSPC;
        } else if (i == 350) {
            ef_archive_stats(archive, &stats);
            assert_int_equal(stats.alarm, -ENOSPC);
            assert_true(stats.spool.n_dropped > 0);
            fail_write = 0;
        }
        append(archive, i);
        ef_archive_flush(archive);
    }
    ef_archive_close(archive);
    archive = open_archive(NULL);
    assert_int_equal(ask(archive, &everything) + stats.spool.n_dropped, 500);
    for (uint64_t i = 0; i < 500; i++) {
        assert_true(seen[i] == 1 || (!seen[i] && i >= 150 && i < 350));
    }
    ef_archive_close(archive);
}

/* --- Kill ------------------------------------------------------------------------------ */

/* Appends from `first` on until it is killed, and says what it flushed. */
static void
write_until_killed(uint64_t first, int said)
{
    struct ef_archive *archive = open_archive(NULL);
    for (uint64_t i = first;; i++) {
        append(archive, i);
        if (i % 5 == 0) {
            ef_archive_flush(archive);
            if (write(said, &i, sizeof i) != sizeof i) {
                _exit(1);
            }
        }
    }
}

/* EF_KILL_ROUNDS says how often; a process is killed at a random instant while it
 * writes, seals or starts; what it had flushed is there once, and nothing else. */
static void
test_kill(void **state)
{
    const char *rounds = getenv("EF_KILL_ROUNDS");
    uint64_t first = 0;
    srand(1);
    for (long round = 0; round < (rounds ? atol(rounds) : 30); round++) {
        int said[2];
        uint64_t last = first, number;
        assert_int_equal(pipe(said), 0);
        pid_t pid = fork();
        if (!pid) {
            write_until_killed(first, said[1]);
        }
        close(said[1]);
        usleep((useconds_t) (rand() % 30000));
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        bool has_said = false;
        while (read(said[0], &number, sizeof number) == sizeof number) {
            last = number;
            has_said = true;
        }
        close(said[0]);
        struct ef_archive *archive = open_archive(NULL);
        uint64_t n = ask(archive, &everything);
        assert_true(n >= (has_said ? last + 1 : first));
        check_all(archive, 0, n);
        /* Half of the times, what is left unsealed is sealed by a second start. */
        ef_archive_close(archive);
        first = n;
    }
    assert_true(first > 0);
}

static void
test_names(void **state)
{
    char name[EF_SEGMENT_NAME_MAX];
    ef_segment_name((struct ef_time){1790000000123456789}, 12, name);
    assert_string_equal(name, "20260921T141320.123-000000000012.parquet");
    assert_int_equal(ef_segment_number_of_name(name), 12);
    ef_segment_name((struct ef_time){-1}, 1234567890123456, name);
    assert_string_equal(name, "19691231T235959.999-1234567890123456.parquet");
    assert_int_equal(ef_segment_number_of_name(name), 1234567890123456);
    ef_segment_name((struct ef_time){INT64_MIN}, 1, name);
    assert_int_equal(ef_segment_number_of_name(name), 1);
    assert_int_equal(ef_segment_number_of_name("20260921T141320.123-000000000012.parquet.broken"), 0);
    assert_int_equal(ef_segment_number_of_name("2026"), 0);
    assert_int_equal(ef_segment_number_of_name(""), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_life, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_query, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_retention, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_foreign_and_broken_files, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_one_process, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_sealing_fails, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_disk_full, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_kill, make_dir, remove_dir),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
