/* SPDX-License-Identifier: Apache-2.0 */
/* The spool: what is flushed is read back, also out of torn files; disks that
 * are full or fail cost what is counted, and nothing else. */
#include <config.h>

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "base/time.h"
#include "store/archive/row_codec.h"
#include "store/archive/spool.h"
#include "unit/store/failing_ops.h"
#include "unit/store/random_rows.h"

static char dir[64];
static struct random_rows random_rows;
enum { FINGERPRINT = 4711 };

static int
make_dir(void **state)
{
    strcpy(dir, "/tmp/ef-spool-XXXXXX");
    fail_open = fail_write = fail_truncate = fail_sync = fail_rename = 0;
    write_at_most = write_room = INT64_MAX;
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

static struct ef_spool *
create(uint64_t next_number)
{
    struct ef_spool_config config = {
        .dir = dir, .ops = &failing_ops, .fingerprint = FINGERPRINT, .next_number = next_number};
    struct ef_spool *spool;
    struct ef_error err = EF_ERROR_INIT;
    assert_int_equal(ef_spool_create(&config, &spool, &err), 0);
    return spool;
}

/* What was read: records are numbers, padded so that their lengths differ. */
struct found {
    uint64_t n, numbers[20000];
};
static struct found found;

static void
append(struct ef_spool *spool, uint64_t number)
{
    uint8_t record[300];
    memset(record, (int) number, sizeof record);
    memcpy(record, &number, sizeof number);
    ef_spool_append(spool, record, 8 + number % 200);
}

static bool
note(void *ctx, const uint8_t *record, size_t len)
{
    struct found *f = ctx;
    assert_true(len >= 8 && f->n < 20000);
    memcpy(&f->numbers[f->n], record, 8);
    assert_int_equal(len, 8 + f->numbers[f->n] % 200);
    f->n++;
    return true;
}

static int
read_back(uint64_t number, uint64_t *torn)
{
    char path[EF_SPOOL_PATH_MAX];
    ef_spool_path(dir, number, path);
    return ef_spool_read(path, FINGERPRINT, note, &found, torn);
}

static void
test_append_and_read(void **state)
{
    struct ef_spool *spool = create(7);
    uint64_t torn;
    found.n = 0;
    assert_int_equal(ef_spool_rotate(spool), 0);
    for (uint64_t i = 0; i < 10000; i++) {
        append(spool, i);
        if (i % 100 == 0) {
            assert_int_equal(ef_spool_flush(spool), 0);
        }
        if (i == 5000) {
            assert_int_equal(ef_spool_rotate(spool), 7);
        }
    }
    struct ef_spool_stats stats;
    assert_int_equal(ef_spool_rotate(spool), 8);
    ef_spool_stats(spool, &stats);
    assert_int_equal(stats.n_written, 10000);
    assert_int_equal(stats.n_synced, 10000);
    assert_int_equal(stats.n_dropped, 0);
    ef_spool_destroy(spool);
    assert_int_equal(read_back(7, &torn), 0);
    assert_int_equal(read_back(8, &torn), 0);
    assert_int_equal(found.n, 10000);
    for (uint64_t i = 0; i < 10000; i++) {
        assert_int_equal(found.numbers[i], i);
    }
    assert_int_equal(read_back(9, &torn), -ENOENT);
}

/* Cut at every length, and with every byte changed: whole records in front of
 * the damage are there, and nothing else. */
static void
test_torn(void **state)
{
    struct ef_spool *spool = create(1);
    char path[EF_SPOOL_PATH_MAX];
    for (uint64_t i = 0; i < 20; i++) {
        append(spool, i);
    }
    ef_spool_destroy(spool);
    ef_spool_path(dir, 1, path);
    uint8_t bytes[4096];
    int fd = open(path, O_RDWR);
    ssize_t len = read(fd, bytes, sizeof bytes);
    assert_true(len > 20 && len < (ssize_t) sizeof bytes);
    for (ssize_t cut = 0; cut < 2 * len; cut++) {
        uint64_t torn = 0;
        found.n = 0;
        ssize_t flip = cut - len;
        assert_int_equal(ftruncate(fd, flip < 0 ? cut : len), 0);
        assert_int_equal(pwrite(fd, bytes, (size_t) (flip < 0 ? cut : len), 0), flip < 0 ? cut : len);
        if (flip >= 0) {
            uint8_t changed = bytes[flip] ^ 0x10;
            assert_int_equal(pwrite(fd, &changed, 1, flip), 1);
        }
        ssize_t good = flip < 0 ? cut : flip;
        assert_int_equal(read_back(1, &torn), good < 20 ? -EBADMSG : 0);
        ssize_t at = 20;
        uint64_t n = 0;
        while (good >= 20 && at + 8 + 8 + (ssize_t) (n % 200) <= good) {
            at += 8 + 8 + (ssize_t) (n++ % 200);
        }
        assert_int_equal(found.n, n);
        assert_true(good < 20 || torn == (uint64_t) ((flip < 0 ? cut : len) - at));
    }
    close(fd);
}

static void
test_wrong_fingerprint(void **state)
{
    struct ef_spool *spool = create(1);
    char path[EF_SPOOL_PATH_MAX];
    uint64_t torn;
    append(spool, 1);
    ef_spool_destroy(spool);
    ef_spool_path(dir, 1, path);
    assert_int_equal(ef_spool_read(path, FINGERPRINT + 1, note, &found, &torn), -EBADMSG);
}

/* Writes fail after every number of bytes, in every way; then there is room again. */
static void
test_disk_fails(void **state)
{
    static const int errors[] = {ENOSPC, EIO};
    uint64_t next = 1;
    for (int64_t room = 0; room < 500; room += 17) {
        struct ef_spool *spool = create(next);
        struct ef_spool_stats stats;
        uint64_t first = next, torn;
        write_at_most = 50 + room % 7;
        write_room = room;
        fail_write = errors[room % 2];
        fail_truncate = room % 3 ? 0 : EIO;
        found.n = 0;
        for (uint64_t i = 0; i < 40; i++) {
            append(spool, i);
            int rc = ef_spool_flush(spool);
            ef_spool_stats(spool, &stats);
            assert_int_equal(stats.alarm, rc);
            if (i == 20) {
                assert_int_equal(rc, -fail_write);
                fail_write = fail_truncate = 0;
            }
            assert_true(i <= 20 || !rc);
        }
        ef_spool_rotate(spool);
        next = ef_spool_number(spool);
        ef_spool_destroy(spool);
        for (uint64_t number = first; number < next; number++) {
            int rc = read_back(number, &torn);
            assert_true(!rc || rc == -EBADMSG || rc == -ENOENT);
        }
        assert_int_equal(found.n, stats.n_written);
        assert_int_equal(stats.n_written + stats.n_dropped, 40);
        assert_int_equal(found.numbers[found.n - 1], 39);
    }
}

static void
test_open_and_sync_fail(void **state)
{
    struct ef_spool *spool = create(1);
    struct ef_spool_stats stats;
    uint64_t torn;
    fail_open = EMFILE;
    append(spool, 1);
    assert_int_equal(ef_spool_flush(spool), -EMFILE);
    fail_open = 0;
    append(spool, 2);
    assert_int_equal(ef_spool_flush(spool), 0);
    fail_sync = EIO;
    assert_int_equal(ef_spool_rotate(spool), 1);
    ef_spool_stats(spool, &stats);
    assert_int_equal(stats.alarm, -EIO);
    assert_true(stats.n_failed_syncs >= 1); /* The background's own sync may have failed, too. */
    fail_sync = 0;
    append(spool, 3);
    assert_int_equal(ef_spool_flush(spool), 0);
    ef_spool_stats(spool, &stats);
    assert_int_equal(stats.alarm, 0);
    assert_int_equal(stats.n_dropped, 1);
    ef_spool_destroy(spool);
    found.n = 0;
    read_back(1, &torn);
    read_back(2, &torn);
    assert_int_equal(found.n, 2);
}

/* The appending thread never syncs; within about a second somebody does. */
static void
test_syncs_by_itself(void **state)
{
    struct ef_spool *spool = create(1);
    struct ef_spool_stats stats;
    struct ef_time deadline = ef_time_add_ms(ef_time_mono(), 20000);
    append(spool, 1);
    assert_int_equal(ef_spool_flush(spool), 0);
    do {
        usleep(1000);
        ef_spool_stats(spool, &stats);
    } while (!stats.n_syncs && ef_time_before(ef_time_mono(), deadline));
    assert_int_equal(stats.n_syncs, 1);
    ef_spool_destroy(spool);
}

/* A process that is killed at any instant leaves all that it flushed. */
static void
test_kill(void **state)
{
    for (int round = 0; round < 40; round++) {
        int said[2];
        uint64_t last = 0, number, torn;
        assert_int_equal(pipe(said), 0);
        pid_t pid = fork();
        if (!pid) {
            struct ef_spool *spool = create(1 + (uint64_t) round * 1000);
            for (uint64_t i = 0; i < 20000; i++) {
                append(spool, i);
                if (i % 7 == 0) {
                    ef_spool_flush(spool);
                    if (write(said[1], &i, sizeof i) != sizeof i) {
                        _exit(1);
                    }
                }
            }
            _exit(0);
        }
        close(said[1]);
        for (int i = 0; i < 20 + round * 7 && read(said[0], &number, sizeof number) == sizeof number; i++) {
            last = number;
        }
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        while (read(said[0], &number, sizeof number) == sizeof number) {
            last = number;
        }
        close(said[0]);
        found.n = 0;
        assert_int_equal(read_back(1 + (uint64_t) round * 1000, &torn), 0);
        assert_true(found.n >= last + 1);
        for (uint64_t i = 0; i < found.n; i++) {
            assert_int_equal(found.numbers[i], i);
        }
    }
}

static void
test_names(void **state)
{
    assert_int_equal(ef_spool_number_of_name("spool-000000000012.records"), 12);
    assert_int_equal(ef_spool_number_of_name("spool-000000000012.record"), 0);
    assert_int_equal(ef_spool_number_of_name("spool--12.records"), 0);
    assert_int_equal(ef_spool_number_of_name("spool-99999999999999999999.records"), 0);
    assert_int_equal(ef_spool_number_of_name("x"), 0);
}

/* Rows as records: each comes back, and no piece of one is taken for a row. */
static void
test_row_codec(void **state)
{
    for (uint64_t seed = 1; seed < 40; seed++) {
        random_rows_init(&random_rows, seed);
        struct ef_row_set rows = {.schema = &random_rows.schema};
        struct ef_buffer bytes = {0}, again = {0};
        for (unsigned i = 0; i < 20; i++) {
            bytes.len = again.len = 0;
            ef_row_encode(&random_rows.schema, random_row(&random_rows), &bytes);
            assert_true(ef_row_decode(bytes.data, bytes.len, &rows));
            ef_row_encode(&random_rows.schema, rows.rows[rows.n_rows - 1], &again);
            assert_int_equal(bytes.len, again.len);
            assert_memory_equal(bytes.data, again.data, bytes.len);
            for (size_t cut = 0; cut < bytes.len; cut++) {
                assert_false(ef_row_decode(bytes.data, cut, &rows));
            }
        }
        assert_int_equal(rows.n_rows, 20);
        ef_row_set_deinit(&rows);
        ef_buffer_deinit(&bytes);
        ef_buffer_deinit(&again);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_append_and_read, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_torn, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_wrong_fingerprint, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_disk_fails, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_open_and_sync_fail, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_syncs_by_itself, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_kill, make_dir, remove_dir),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_row_codec),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
