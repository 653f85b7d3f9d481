/* SPDX-License-Identifier: Apache-2.0 */
/* The archive: each row is there once, over sealing, restarts and disks that fail;
 * the oldest segments go; what is not ours stays. See also test_archive_crash.c. */
#include <config.h>

#include <fcntl.h>
#include <stdlib.h>

#include "unit/store/archive_rows.h"

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
    struct ef_time deadline = ef_time_add_ms(ef_time_mono(), PATIENCE_MS);
    do {
        usleep(500);
        ef_archive_stats(archive, &stats);
        assert_true(ef_time_before(ef_time_mono(), deadline));
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
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
