/* SPDX-License-Identifier: Apache-2.0 */
/* The archive when everything fails: processes killed and machines that lose
 * power at any instant, disks that are full or broken at random, clocks that are
 * stepped back. What was promised is there, each row at most once, nothing is
 * refused, and what is missing was counted.
 *
 * EF_KILL_ROUNDS says how often; 500 times unless told. */
#include <config.h>

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "unit/store/archive_rows.h"

static uint64_t random_state = 1;

static uint64_t
any(uint64_t n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 33) % n;
}

static long
kill_rounds(void)
{
    const char *rounds = getenv("EF_KILL_ROUNDS");
    return rounds ? atol(rounds) : 500;
}

/* Asserts that what is there is one run of numbers up to an end, each once, and
 * returns the first and the end. */
static void
find_run(struct ef_archive *archive, uint64_t *first, uint64_t *end)
{
    uint64_t n = ask(archive, &everything);
    for (*first = 0; n > 0 && !seen[*first]; ++*first) {
        assert_true(*first < MAX_NUMBER - 1);
    }
    for (uint64_t i = 0; i < n; i++) {
        assert_int_equal(seen[*first + i], 1);
    }
    *end = *first + n;
}

/* --- Processes that are killed ------------------------------------------------------------ */

/* What the child promises, in memory that outlives it. */
static struct {
    _Atomic uint64_t flushed_end; /* All numbers before it were flushed. */
    /* A sync of spool file `number` returned when it had so many bytes; two places,
     * of which `at` says which counts. */
    struct {
        _Atomic uint64_t number, bytes;
    } synced[2];
    _Atomic unsigned at;
} * promise;

static int
noting_fdatasync(int fd)
{
    struct stat st;
    char link[64], path[512] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (fstat(fd, &st) || readlink(link, path, sizeof path - 1) < 0) {
        return -1;
    }
    int rc = fdatasync(fd);
    if (!rc) {
        unsigned other = !promise->at;
        promise->synced[other].number = ef_spool_number_of_name(strrchr(path, '/') + 1);
        promise->synced[other].bytes = (uint64_t) st.st_size;
        promise->at = other;
    }
    return rc;
}

/* Each so many rounds the archive starts anew, since all of it is read each time. */
enum { ROUNDS_OF_ONE = 25 };

static void
make_promise(void)
{
    if (!promise) {
        promise = mmap(NULL, sizeof *promise, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        assert_ptr_not_equal(promise, MAP_FAILED);
    }
    memset(promise, 0, sizeof *promise);
}

/* Appends behind what is there until it is killed. */
static _Noreturn void
write_until_killed(const struct ef_archive_config *config)
{
    struct ef_archive *archive = open_archive(config);
    uint64_t first, end;
    find_run(archive, &first, &end);
    for (uint64_t i = EF_MAX(end, promise->flushed_end); i < MAX_NUMBER; i++) {
        append(archive, i);
        if (i % 5 == 0) {
            ef_archive_flush(archive);
            promise->flushed_end = i + 1;
        }
    }
    _exit(1); /* Nobody kills us. */
}

/* Kills it after `max_us` at most, or so long after it has flushed the first rows. */
static void
run_and_kill(const struct ef_archive_config *config, uint64_t max_us, bool after_first)
{
    int status;
    uint64_t before = promise->flushed_end;
    struct ef_time deadline = ef_time_add_ms(ef_time_mono(), PATIENCE_MS);
    pid_t pid = fork();
    if (!pid) {
        write_until_killed(config);
    }
    while (after_first && promise->flushed_end == before && ef_time_before(ef_time_mono(), deadline)) {
        usleep(100);
    }
    usleep((useconds_t) any(max_us));
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
}

/* While it opens, writes, seals and, within `max_bytes`, deletes. */
static void
kill_often(uint64_t max_bytes)
{
    struct ef_archive_config config = {.max_bytes = max_bytes};
    uint64_t first, end = 0, n_flushed = 0;
    make_promise();
    for (long round = 0; round < kill_rounds(); round++) {
        if (round % ROUNDS_OF_ONE == 0) {
            names("", true);
            promise->flushed_end = 0;
        }
        run_and_kill(&config, 20000, round % 4 == 3); /* A busy machine may not have come so far before. */
        n_flushed += promise->flushed_end;
        if (any(2)) {
            continue; /* The next one finds all as it is. */
        }
        struct ef_archive *archive = open_archive(&config);
        find_run(archive, &first, &end);
        ef_archive_close(archive);
        assert_true(end >= promise->flushed_end);
        assert_true(max_bytes || first == 0);
    }
    assert_true(n_flushed > 0);
}

static void
test_kill(void **state)
{
    kill_often(0);
}

static void
test_kill_with_retention(void **state)
{
    kill_often(20000);
    struct ef_archive_config config = {.max_bytes = 20000};
    struct ef_archive *archive = open_archive(&config);
    struct ef_archive_stats stats;
    ef_archive_close(archive);
    archive = open_archive(&config);
    ef_archive_stats(archive, &stats);
    assert_true(stats.n_bytes <= config.max_bytes);
    ef_archive_close(archive);
}

/* --- Machines that lose power -------------------------------------------------------------- */

/* The number of the newest spool file, or 0. */
static uint64_t
find_newest_spool(void)
{
    uint64_t newest = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; (e = readdir(d));) {
        newest = EF_MAX(newest, ef_spool_number_of_name(e->d_name));
    }
    closedir(d);
    return newest;
}

/* Of what was not synced, a disk keeps any part, and noise behind it. Returns how
 * many rows of the file were promised. */
static uint64_t
damage(uint64_t number)
{
    uint8_t noise[100];
    char path[EF_SPOOL_PATH_MAX];
    struct stat st;
    ef_spool_path(dir, number, path);
    assert_int_equal(stat(path, &st), 0);
    unsigned at = promise->at;
    uint64_t size = (uint64_t) st.st_size;
    uint64_t synced = promise->synced[at].number == number ? promise->synced[at].bytes : 0;
    assert_true(synced <= size);
    assert_int_equal(truncate(path, (off_t) (synced + any(size - synced + 1))), 0);
    for (unsigned i = 0; i < sizeof noise; i++) {
        noise[i] = (uint8_t) any(256);
    }
    int fd = open(path, O_WRONLY | O_APPEND);
    size_t n = any(2) ? any(sizeof noise) : 0;
    assert_int_equal(write(fd, noise, n), n);
    close(fd);
    return synced > HEADER_BYTES ? (synced - HEADER_BYTES) / RECORD_BYTES : 0;
}

static void
test_power_cut(void **state)
{
    static struct ef_file_ops ops;
    ops = ef_file_ops_real;
    ops.fdatasync = noting_fdatasync;
    struct ef_archive_config config = {.ops = &ops, .sync_ms = 2};
    uint64_t n_torn = 0, n_promised = 0;
    make_promise();
    for (long round = 0; round < kill_rounds(); round++) {
        uint64_t first, before, end, number, promised = 0;
        if (round % ROUNDS_OF_ONE == 0) {
            names("", true);
        }
        struct ef_archive *archive = open_archive(&config);
        find_run(archive, &first, &before);
        ef_archive_close(archive);
        promise->flushed_end = before;
        run_and_kill(&config, 10000, true);
        if ((number = find_newest_spool())) {
            promised = damage(number);
        }
        archive = open_archive(&config);
        find_run(archive, &first, &end);
        ef_archive_close(archive);
        assert_int_equal(first, 0);
        assert_true(end >= before + promised);
        n_torn += end < promise->flushed_end;
        n_promised += promised;
    }
    assert_true(n_torn > 0 && n_promised > 0);
}

/* --- Disks that are full or fail ------------------------------------------------------------ */

/* Lets one system call fail, or none. */
static void
break_something(void)
{
    static const int errors[] = {EIO, ENOSPC, EDQUOT, EROFS};
    int error = errors[any(EF_ARRAY_SIZE(errors))];
    fail_open = fail_write = fail_truncate = fail_sync = fail_rename = fail_unlink = 0;
    write_at_most = any(3) ? INT64_MAX : (int64_t) (1 + any(50));
    write_room = (int64_t) any(500);
    switch (any(9)) {
    case 0:
        fail_open = error;
        break;
    case 1:
        fail_truncate = error; /* And what makes it needed: */
        fail_write = error;
        break;
    case 2:
        fail_write = error;
        break;
    case 3:
        fail_sync = error;
        break;
    case 4:
        fail_rename = error;
        break;
    case 5:
        fail_unlink = error;
        break;
    }
}

static void
repair_all(void)
{
    fail_open = fail_write = fail_truncate = fail_sync = fail_rename = fail_unlink = 0;
    write_at_most = write_room = INT64_MAX;
}

/* Whatever fails: rows are there or counted, and once all works again, the alarm
 * ends. (Both, where a part of a write could not be taken back.) */
static void
test_faults(void **state)
{
    enum { RUNS = 20, ROWS = 1500 };
    uint64_t n_appended = 0, n_dropped = 0;
    struct ef_archive_stats stats;
    for (unsigned run = 0; run < RUNS; run++) {
        struct ef_archive *archive = open_archive(NULL);
        for (unsigned i = 0; i < ROWS; i++) {
            if (any(40) == 0) {
                break_something();
            }
            append(archive, n_appended++);
            if (any(3) == 0) {
                ef_archive_flush(archive);
            }
            if (any(100) == 0) {
                usleep(200); /* The other threads have a turn. */
            }
        }
        repair_all();
        append(archive, n_appended++);
        ef_archive_flush(archive);
        ef_archive_stats(archive, &stats);
        assert_int_equal(stats.spool.alarm, 0);
        n_dropped += stats.spool.n_dropped;
        assert_true(ask(archive, &everything) + n_dropped >= n_appended);
        ef_archive_close(archive);
        archive = open_archive(NULL);
        assert_true(ask(archive, &everything) + n_dropped >= n_appended);
        for (uint64_t i = 0; i < n_appended; i++) {
            assert_true(seen[i] <= 1);
        }
        ef_archive_stats(archive, &stats);
        assert_int_equal(stats.alarm, 0);
        ef_archive_close(archive);
    }
    assert_true(n_dropped > 0 && n_dropped < n_appended / 2);
    assert_int_equal(names(".broken", false), 0);
}

/* --- Clocks that are stepped back -------------------------------------------------------------- */

/* Rows come in blocks in any order of time, over some restarts. */
static void
test_clock(void **state)
{
    enum { BLOCKS = 40, BLOCK_ROWS = 60, RESTART = 10 };
    unsigned blocks[BLOCKS];
    struct ef_archive *archive = open_archive(NULL);
    for (unsigned i = 0; i < BLOCKS; i++) {
        unsigned other = (unsigned) any(i + 1);
        blocks[i] = blocks[other];
        blocks[other] = i;
    }
    for (unsigned i = 0; i < BLOCKS; i++) {
        if (i % RESTART == RESTART - 1) {
            ef_archive_close(archive);
            archive = open_archive(NULL);
        }
        for (uint64_t row = 0; row < BLOCK_ROWS; row++) {
            append(archive, blocks[i] * BLOCK_ROWS + row);
        }
        ef_archive_flush(archive);
        struct ef_archive_query query = {{300 * EF_NS_PER_S}, {1700 * EF_NS_PER_S}, .oldest_first = true};
        uint64_t n = ask(archive, &query), n_expected = 0;
        for (unsigned j = 0; j <= i; j++) {
            for (uint64_t row = 0; row < BLOCK_ROWS; row++) {
                uint64_t number = blocks[j] * BLOCK_ROWS + row;
                assert_int_equal(seen[number], number >= 300 && number <= 1700);
                n_expected += number >= 300 && number <= 1700;
            }
        }
        assert_int_equal(n, n_expected);
        assert_int_equal(ask(archive, &everything), (i + 1) * BLOCK_ROWS);
    }
    ef_archive_close(archive);
    archive = open_archive(NULL);
    check_all(archive, 0, BLOCKS * BLOCK_ROWS);
    ef_archive_close(archive);
}

/* Rows since the opening only up to a time, older ones all. */
static void
test_fresh(void **state)
{
    struct ef_archive *archive = open_archive(NULL);
    for (uint64_t i = 500; i < 1000; i++) {
        append(archive, i);
        ef_archive_flush(archive);
    }
    ef_archive_close(archive);
    archive = open_archive(NULL);
    for (uint64_t i = 0; i < 500; i++) {
        append(archive, i);
        ef_archive_flush(archive);
    }
    struct ef_archive_query query = everything;
    query.limits_fresh = true;
    for (int64_t to = -1; to < 600; to += 47) {
        query.fresh_to.ns = to * EF_NS_PER_S;
        query.oldest_first = !query.oldest_first;
        uint64_t n_fresh = (uint64_t) EF_MIN(to + 1, 500);
        assert_int_equal(ask(archive, &query), 500 + n_fresh);
        for (uint64_t i = 0; i < 1000; i++) {
            assert_int_equal(seen[i], i >= 500 || i < n_fresh);
        }
    }
    ef_archive_close(archive);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_kill, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_kill_with_retention, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_power_cut, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_faults, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_clock, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_fresh, make_dir, remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
