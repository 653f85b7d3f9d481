/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the capture filter: exactly what matches is kept, whole with its
 * variable part; a sample has about its share; and it is changed while writers
 * run. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "store/capture.h"
#include "store/multilog.h"

struct record {
    struct ef_time time;
    uint16_t port;
    uint8_t mac[6];
    struct ef_bytes payload;
};

static const struct ef_column columns[] = {
    {"time", EF_COLUMN_TIME, offsetof(struct record, time)},
    {"port", EF_COLUMN_U16, offsetof(struct record, port)},
    {"mac", EF_COLUMN_MAC, offsetof(struct record, mac)},
    {"payload", EF_COLUMN_VARIABLE, offsetof(struct record, payload)},
};

static const uint8_t bytes[256] =
    "Bytes of payloads: their length and their first byte follow from the number of the record.";

enum { MAX_BATCH = 2500, MAX_PAYLOAD = 30 };

static struct record
make_record(uint64_t i)
{
    struct record r = {.time = {(int64_t) i},
                       .port = (uint16_t) (i * 7 % 10),
                       .payload = {bytes + i % 40, (uint32_t) (i % MAX_PAYLOAD)}};
    memset(r.mac, (int) i, sizeof r.mac);
    return r;
}

static struct ef_multilog *
create(unsigned n_writers, uint64_t memory_bytes)
{
    struct ef_schema schema;
    struct ef_multilog *log;
    struct ef_multilog_config config = {
        .schema = &schema, .memory_bytes = memory_bytes, .max_writers = n_writers, .bucket_rows = 4096};
    struct ef_error err = EF_ERROR_INIT;
    assert_int_equal(ef_schema_init(&schema, columns, EF_ARRAY_SIZE(columns), sizeof(struct record), &err), 0);
    assert_int_equal(ef_multilog_create(&config, &log, &err), 0);
    return log;
}

static void
append(struct ef_multilog_writer *writer, uint64_t first, uint32_t n)
{
    static _Thread_local struct record batch[MAX_BATCH];
    for (uint32_t i = 0; i < n; i++) {
        batch[i] = make_record(first + i);
    }
    if (ef_multilog_append(writer, batch, n)) {
        abort();
    }
}

/* Goes over all records; the callback says which number must come next. Returns
 * how many there are. */
static uint64_t
check_all(struct ef_multilog *log, bool (*is_kept)(uint64_t))
{
    struct ef_multilog_query query = {.from = {INT64_MIN}, .to = {INT64_MAX}};
    struct ef_multilog_cursor *cursor;
    uint64_t next = 0, n = 0;
    ef_multilog_snapshot(log, &query.snapshot);
    assert_int_equal(ef_multilog_query(log, &query, &cursor), 0);
    for (; ef_multilog_next(cursor); n++) {
        struct record r;
        ef_multilog_record(cursor, &r);
        while (is_kept && !is_kept(next)) {
            next++;
        }
        uint64_t number = is_kept ? next++ : (uint64_t) r.time.ns;
        struct record e = make_record(number);
        assert_int_equal(r.time.ns, e.time.ns);
        assert_int_equal(r.port, e.port);
        assert_memory_equal(r.mac, e.mac, sizeof e.mac);
        assert_int_equal(r.payload.len, e.payload.len);
        assert_memory_equal(r.payload.data, e.payload.data, e.payload.len);
    }
    ef_multilog_cursor_close(cursor);
    return n;
}

static bool
is_of_port_3(uint64_t i)
{
    return i * 7 % 10 == 3;
}

static void
test_filter(void **state)
{
    struct ef_multilog *log = create(1, 4 << 20);
    struct ef_multilog_writer *writer;
    struct ef_multilog_stats stats;
    uint64_t n = 0;
    assert_int_equal(ef_multilog_writer_open(log, &writer), 0);
    assert_int_equal(ef_multilog_setup_packet_capture(log, "port == 3", 1, NULL), 0);
    for (uint32_t size = 1; size < MAX_BATCH; size = size * 3 / 2 + 1) {
        append(writer, n, size);
        n += size;
    }
    assert_int_equal(check_all(log, is_of_port_3), n / 10);
    ef_multilog_stats(log, &stats);
    assert_int_equal(stats.n_appended + stats.n_not_captured, n);
    assert_int_equal(ef_multilog_setup_packet_capture(log, "", 1, NULL), 0);
    append(writer, n, 20);
    struct ef_multilog_stats after;
    ef_multilog_stats(log, &after);
    assert_int_equal(after.n_appended, stats.n_appended + 20);
    ef_multilog_writer_close(writer);
    ef_multilog_destroy(log);
}

static void
test_sample(void **state)
{
    struct ef_multilog *log = create(1, 8 << 20);
    struct ef_multilog_writer *writer;
    enum { N = 80000 };
    assert_int_equal(ef_multilog_writer_open(log, &writer), 0);
    assert_int_equal(ef_multilog_setup_packet_capture(log, "port != 3", 0.25, NULL), 0);
    for (uint64_t i = 0; i < N; i += 50) {
        append(writer, i, 50);
    }
    uint64_t n = check_all(log, NULL);
    assert_in_range(n, N * 9 / 40 - 600, N * 9 / 40 + 600); /* Five standard deviations. */
    ef_multilog_writer_close(writer);
    ef_multilog_destroy(log);
}

static void
test_errors(void **state)
{
    struct ef_multilog *log = create(1, 1 << 20);
    struct ef_error err = EF_ERROR_INIT;
    static const double wrong[] = {0, -1, 1.001, 0.0 / 0.0};
    for (size_t i = 0; i < EF_ARRAY_SIZE(wrong); i++) {
        assert_int_equal(ef_multilog_setup_packet_capture(log, "", wrong[i], &err), -EINVAL);
    }
    assert_int_equal(ef_multilog_setup_packet_capture(log, "prot == 3", 1, &err), -EINVAL);
    assert_non_null(strstr(err.text, "did you mean port"));
    assert_int_equal(ef_multilog_setup_packet_capture(log, "port == 3", 1, &err), 0);
    ef_multilog_destroy(log); /* With the filter in force. */
}

/* --- Changed while writers run ---------------------------------------------------------- */

enum { N_WRITERS = 3, N_RECORDS = 60000 };

static atomic_int n_writing;

static void *
write_history(void *writer)
{
    for (uint64_t i = 0; i < N_RECORDS; i += 20) {
        append(writer, i, 20);
    }
    atomic_fetch_sub(&n_writing, 1);
    return NULL;
}

static void
test_changes(void **state)
{
    struct ef_multilog *log = create(N_WRITERS, 32 << 20);
    struct ef_multilog_writer *writers[N_WRITERS];
    pthread_t threads[N_WRITERS];
    atomic_store(&n_writing, N_WRITERS);
    for (unsigned i = 0; i < N_WRITERS; i++) {
        assert_int_equal(ef_multilog_writer_open(log, &writers[i]), 0);
        assert_int_equal(pthread_create(&threads[i], NULL, write_history, writers[i]), 0);
    }
    static const char *const filters[] = {"port == 3", "", "port in {1, 2} && time > 1000", "mac == 00:00:00:00:00:00"};
    for (unsigned round = 0; atomic_load(&n_writing); round++) {
        assert_int_equal(ef_multilog_setup_packet_capture(log, filters[round % 4], round % 3 ? 1 : 0.5, NULL), 0);
        if (round % 50 == 0) {
            check_all(log, NULL);
        }
    }
    for (unsigned i = 0; i < N_WRITERS; i++) {
        pthread_join(threads[i], NULL);
        ef_multilog_writer_close(writers[i]);
    }
    struct ef_multilog_stats stats;
    ef_multilog_stats(log, &stats);
    assert_int_equal(stats.n_appended + stats.n_not_captured, N_WRITERS * N_RECORDS);
    assert_int_equal(check_all(log, NULL), stats.n_appended);
    ef_multilog_destroy(log);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filter),
        cmocka_unit_test(test_sample),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_changes),
    };
    return cmocka_run_group_tests_name("capture", tests, NULL, NULL);
}
