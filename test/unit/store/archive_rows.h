/* SPDX-License-Identifier: Apache-2.0 */
/* An archive of numbered rows in a directory of its own, for tests: row N starts
 * N seconds after 1970. */
#ifndef EF_TEST_UNIT_STORE_ARCHIVE_ROWS_H
#define EF_TEST_UNIT_STORE_ARCHIVE_ROWS_H

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
    {.name = "time", .type = EF_ROW_TIME, .offset = offsetof(struct row, time)},
    {.name = "number", .type = EF_ROW_U64, .offset = offsetof(struct row, number)},
    {.name = "group", .type = EF_ROW_U32, .offset = offsetof(struct row, group)},
};
static const struct ef_row_schema schema = {
    .columns = columns, .n_columns = 3, .row_bytes = sizeof(struct row), .sort = {2, 0}, .n_sort = 2};

enum { MAX_NUMBER = 1 << 22, SEGMENT_ROWS = 100, HEADER_BYTES = 20, RECORD_BYTES = 28, PATIENCE_MS = 60000 };
static uint8_t seen[MAX_NUMBER];
static char dir[64];

static inline int
make_dir(void **state)
{
    strcpy(dir, "/tmp/ef-archive-XXXXXX");
    fail_open = fail_write = fail_truncate = fail_sync = fail_rename = fail_unlink = 0;
    write_at_most = write_room = INT64_MAX;
    return mkdtemp(dir) ? 0 : -1;
}

/* Counts the names that contain `part`, and removes them if asked. */
static inline unsigned
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

static inline int
remove_dir(void **state)
{
    names("", true);
    return rmdir(dir);
}

static inline struct ef_archive *
open_archive(const struct ef_archive_config *more)
{
    struct ef_archive_config config = more ? *more : (struct ef_archive_config){0};
    struct ef_archive *archive;
    struct ef_error err = EF_ERROR_INIT;
    config.dir = dir;
    config.schema = &schema;
    config.ops = config.ops ? config.ops : &failing_ops;
    config.segment_bytes = config.segment_bytes ? config.segment_bytes : HEADER_BYTES + SEGMENT_ROWS * RECORD_BYTES;
    int rc = ef_archive_open(&config, &archive, &err);
    if (rc) {
        fail_msg("%s", err.text);
    }
    return archive;
}

static inline void
append(struct ef_archive *archive, uint64_t number)
{
    struct row row = {{(int64_t) number * EF_NS_PER_S}, number, (uint32_t) (number % 7)};
    ef_archive_append(archive, &row);
}

/* Marks what the query finds in `seen`; returns how many. */
static inline uint64_t
ask(struct ef_archive *archive, const struct ef_archive_query *query)
{
    struct ef_archive_cursor *cursor = ef_archive_query(archive, query);
    struct ef_row_set *rows;
    uint64_t n = 0;
    struct ef_time edge = {query->oldest_first ? INT64_MIN : INT64_MAX}, before;
    memset(seen, 0, sizeof seen);
    while ((before = edge, ef_archive_next(cursor, &rows, &edge))) {
        for (uint32_t i = 0; i < rows->n_rows; i++) {
            struct row row = *(const struct row *) rows->rows[i];
            assert_true(row.number < MAX_NUMBER);
            assert_int_equal(row.time.ns, (int64_t) row.number * EF_NS_PER_S);
            assert_true(query->oldest_first ? row.time.ns >= before.ns : row.time.ns <= before.ns);
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
static inline void
check_all(struct ef_archive *archive, uint64_t first, uint64_t end)
{
    assert_int_equal(ask(archive, &everything), end - first);
    for (uint64_t i = first; i < end; i++) {
        assert_int_equal(seen[i], 1);
    }
}

static inline void
wait_sealed(struct ef_archive *archive, uint64_t n)
{
    struct ef_archive_stats stats;
    struct ef_time deadline = ef_time_add_ms(ef_time_mono(), PATIENCE_MS);
    do {
        usleep(500);
        ef_archive_stats(archive, &stats);
        assert_true(ef_time_before(ef_time_mono(), deadline));
    } while (stats.n_sealed < n);
}

#endif
