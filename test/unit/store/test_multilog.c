/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of lib/store: schemas, appending and reading back, windows, freezing,
 * the memory limit, and histories of several writers and readers. */
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

#include "store/multilog.h"

struct record {
    struct ef_time time;
    uint32_t src;
    uint16_t port;
    uint8_t flags;
    uint8_t mac[6];
    uint8_t address[16];
    uint8_t payload[34];
    uint64_t ticket;
    struct ef_bytes hops;
};

static const struct ef_column columns[] = {
    {"time", EF_COLUMN_TIME, offsetof(struct record, time)},
    {"src", EF_COLUMN_IPV4, offsetof(struct record, src)},
    {"port", EF_COLUMN_U16, offsetof(struct record, port)},
    {"flags", EF_COLUMN_U8, offsetof(struct record, flags)},
    {"mac", EF_COLUMN_MAC, offsetof(struct record, mac)},
    {"address", EF_COLUMN_IPV6, offsetof(struct record, address)},
    {"payload", EF_COLUMN_BYTES, offsetof(struct record, payload), 34},
    {"ticket", EF_COLUMN_U64, offsetof(struct record, ticket)},
    {"hops", EF_COLUMN_VARIABLE, offsetof(struct record, hops)},
};

static const uint8_t hop_bytes[64] = "The hops of a record: its number modulo 41 says how many bytes.";

/* All parts follow from `number`, so that a mixed-up record is noticed. */
static struct record
make_record(uint64_t number)
{
    struct record r = {
        .time = {(int64_t) number},
        .src = 0x0a000000 + (uint32_t) number,
        .port = (uint16_t) (number * 7),
        .flags = (uint8_t) (number * 3),
        .ticket = number * 11,
        .hops = {hop_bytes, (uint32_t) (number % 41)},
    };
    memset(r.mac, (int) number + 1, sizeof r.mac);
    memset(r.address, (int) number + 2, sizeof r.address);
    memset(r.payload, (int) number + 3, sizeof r.payload);
    return r;
}

static void
check_record(const struct record *r, uint64_t number)
{
    struct record e = make_record(number);
    assert_int_equal(r->time.ns, e.time.ns);
    assert_int_equal(r->src, e.src);
    assert_int_equal(r->port, e.port);
    assert_int_equal(r->flags, e.flags);
    assert_int_equal(r->ticket, e.ticket);
    assert_memory_equal(r->mac, e.mac, sizeof e.mac);
    assert_memory_equal(r->address, e.address, sizeof e.address);
    assert_memory_equal(r->payload, e.payload, sizeof e.payload);
    assert_int_equal(r->hops.len, e.hops.len);
    assert_memory_equal(r->hops.data, e.hops.data, e.hops.len);
}

static struct ef_multilog *
create(unsigned n_writers, uint64_t memory_bytes)
{
    struct ef_schema schema;
    struct ef_multilog *log;
    struct ef_error err = EF_ERROR_INIT;
    assert_int_equal(ef_schema_init(&schema, columns, EF_ARRAY_SIZE(columns), sizeof(struct record), &err), 0);
    struct ef_multilog_config config = {
        .schema = &schema, .memory_bytes = memory_bytes, .max_writers = n_writers, .bucket_rows = 64};
    assert_int_equal(ef_multilog_create(&config, &log, &err), 0);
    return log;
}

static void
append(struct ef_multilog_writer *writer, uint64_t first, uint32_t n)
{
    struct record batch[64];
    for (uint32_t i = 0; i < n; i++) {
        batch[i] = make_record(first + i);
    }
    assert_int_equal(ef_multilog_append(writer, batch, n), 0);
}

/* Checks that the window [from, to] of `snapshot` has the records `first` to
 * `last` less `missed`, in order. */
static void
expect_range(struct ef_multilog *log, const struct ef_multilog_snapshot *snapshot, int64_t from, int64_t to,
             uint64_t first, uint64_t n)
{
    struct ef_multilog_query query = {.snapshot = *snapshot, .from = {from}, .to = {to}};
    struct ef_multilog_cursor *cursor;
    assert_int_equal(ef_multilog_query(log, &query, &cursor), 0);
    struct record r;
    for (uint64_t i = 0; i < n; i++) {
        assert_true(ef_multilog_next(cursor));
        ef_multilog_record(cursor, &r);
        check_record(&r, first + i);
    }
    assert_false(ef_multilog_next(cursor));
    assert_false(ef_multilog_next(cursor));
    assert_int_equal(ef_multilog_n_missed(cursor), 0);
    ef_multilog_cursor_close(cursor);
}

/* --- One thread ------------------------------------------------------------------ */

static void
test_schema_errors(void **state)
{
    static const struct {
        struct ef_column columns[3];
        unsigned n;
        const char *says;
    } cases[] = {
        {{{"t", EF_COLUMN_TIME, 0}}, 0, "0 columns"},
        {{{"a", EF_COLUMN_U8, 0}}, 1, "must be the record's time"},
        {{{"t", EF_COLUMN_TIME, 0}, {"t", EF_COLUMN_U8, 8}}, 2, "another column's"},
        {{{"t", EF_COLUMN_TIME, 0}, {"", EF_COLUMN_U8, 8}}, 2, "has no name"},
        {{{"t", EF_COLUMN_TIME, 0}, {"a", EF_COLUMN_U64, 57}}, 2, "ends behind"},
        {{{"t", EF_COLUMN_TIME, 0}, {"a", EF_COLUMN_U8, UINT32_MAX}}, 2, "ends behind"},
        {{{"t", EF_COLUMN_TIME, 0}, {"a", EF_COLUMN_BYTES, 8}}, 2, "0 bytes"},
        {{{"t", EF_COLUMN_TIME, 0}, {"a", EF_COLUMN_U16, 8, 4}}, 2, "its type has 2"},
        {{{"t", EF_COLUMN_TIME, 0}, {"a", (enum ef_column_type) 77, 8}}, 2, "unknown type"},
        {{{"t", EF_COLUMN_TIME, 0}, {"a", EF_COLUMN_VARIABLE, 8}, {"b", EF_COLUMN_VARIABLE, 24}}, 3, "only one"},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        struct ef_schema schema;
        struct ef_error err = EF_ERROR_INIT;
        assert_int_equal(ef_schema_init(&schema, cases[i].columns, cases[i].n, 64, &err), -EINVAL);
        assert_non_null(strstr(err.text, cases[i].says));
    }
}

static void
test_config_errors(void **state)
{
    struct ef_schema schema;
    struct ef_multilog *log;
    struct ef_error err = EF_ERROR_INIT;
    assert_int_equal(ef_schema_init(&schema, columns, EF_ARRAY_SIZE(columns), sizeof(struct record), &err), 0);
    struct ef_multilog_config config = {.schema = &schema, .memory_bytes = 1 << 20, .max_writers = 1};
    assert_int_equal(ef_multilog_create(&config, &log, &err), -EINVAL);
    assert_non_null(strstr(err.text, "at least"));
    config.bucket_rows = 100;
    assert_int_equal(ef_multilog_create(&config, &log, &err), -EINVAL);
    config.max_writers = EF_MULTILOG_MAX_WRITERS + 1;
    assert_int_equal(ef_multilog_create(&config, &log, &err), -EINVAL);
    ef_multilog_destroy(NULL);
}

static void
test_round_trip(void **state)
{
    struct ef_multilog *log = create(1, 1 << 20);
    struct ef_multilog_writer *writer, *second;
    struct ef_multilog_snapshot empty, early, late;
    assert_int_equal(ef_multilog_writer_open(log, &writer), 0);
    assert_int_equal(ef_multilog_writer_open(log, &second), -EBUSY);
    ef_multilog_snapshot(log, &empty);
    uint64_t n = 0;
    for (uint32_t size = 0; size <= 32; size++) {
        append(writer, n, size);
        n += size;
    }
    ef_multilog_snapshot(log, &early);
    append(writer, n, 1);
    ef_multilog_snapshot(log, &late);
    expect_range(log, &empty, INT64_MIN, INT64_MAX, 0, 0);
    expect_range(log, &early, INT64_MIN, INT64_MAX, 0, n);
    expect_range(log, &late, INT64_MIN, INT64_MAX, 0, n + 1);
    expect_range(log, &late, 100, 299, 100, 200);
    expect_range(log, &late, (int64_t) n, INT64_MAX, n, 1);
    expect_range(log, &late, 200, 100, 0, 0);
    struct ef_multilog_stats stats;
    ef_multilog_stats(log, &stats);
    assert_int_equal(stats.n_appended, n + 1);
    assert_int_equal(stats.n_evicted, 0);
    assert_true(stats.has_oldest);
    assert_int_equal(stats.oldest.ns, 0);
    ef_multilog_writer_close(writer);
    assert_int_equal(ef_multilog_writer_open(log, &writer), 0); /* Goes on in the same lane. */
    append(writer, n + 1, 5);
    ef_multilog_snapshot(log, &late);
    expect_range(log, &late, INT64_MIN, INT64_MAX, 0, n + 6);
    ef_multilog_writer_close(writer);
    ef_multilog_destroy(log);
}

static void
test_too_big(void **state)
{
    struct ef_multilog *log = create(1, 1 << 20);
    struct ef_multilog_writer *writer;
    assert_int_equal(ef_multilog_writer_open(log, &writer), 0);
    static uint8_t big[64 * 64 + 1];
    static struct record batch[65];
    assert_int_equal(ef_multilog_append(writer, batch, 65), -EMSGSIZE);
    batch[0].hops = (struct ef_bytes){big, sizeof big};
    assert_int_equal(ef_multilog_append(writer, batch, 1), -EMSGSIZE);
    batch[0].hops.len--;
    for (int i = 0; i < 3; i++) { /* Each fills a bucket's room for variable parts. */
        assert_int_equal(ef_multilog_append(writer, batch, 1), 0);
    }
    ef_multilog_writer_close(writer);
    ef_multilog_destroy(log);
}

static void
test_freeze(void **state)
{
    struct ef_multilog *log = create(1, 1 << 20);
    struct ef_multilog_writer *writer;
    struct ef_multilog_snapshot frozen, seen;
    assert_int_equal(ef_multilog_writer_open(log, &writer), 0);
    append(writer, 0, 10);
    assert_int_equal(ef_multilog_freeze(log, &frozen), 0);
    assert_int_equal(ef_multilog_freeze(log, &seen), -EALREADY);
    append(writer, 10, 10);
    ef_multilog_snapshot(log, &seen);
    assert_memory_equal(&seen, &frozen, sizeof seen);
    expect_range(log, &seen, INT64_MIN, INT64_MAX, 0, 10);
    ef_multilog_unfreeze(log);
    ef_multilog_snapshot(log, &seen);
    expect_range(log, &seen, INT64_MIN, INT64_MAX, 0, 20);
    ef_multilog_writer_close(writer);
    ef_multilog_destroy(log);
}

static void
test_memory_limit(void **state)
{
    struct ef_multilog *log = create(1, 200000);
    struct ef_multilog_writer *writer;
    struct ef_multilog_snapshot snapshot;
    struct ef_multilog_stats stats;
    ef_multilog_stats(log, &stats);
    uint64_t capacity = (uint64_t) stats.n_buckets * 64, n = 0;
    assert_int_equal(ef_multilog_writer_open(log, &writer), 0);
    for (; n < capacity; n += 32) {
        append(writer, n, 32);
    }
    ef_multilog_snapshot(log, &snapshot);
    struct ef_multilog_query query = {.snapshot = snapshot, .from = {INT64_MIN}, .to = {INT64_MAX}};
    struct ef_multilog_cursor *cursor;
    assert_int_equal(ef_multilog_query(log, &query, &cursor), 0);
    assert_true(ef_multilog_next(cursor));  /* Holds the first bucket. */
    for (uint64_t i = 0; i < 64; i += 32) { /* One more begins: the two oldest leave, one of them in use. */
        append(writer, n + i, 32);
    }
    uint64_t n_read = 0;
    do {
        struct record r;
        ef_multilog_record(cursor, &r);
        check_record(&r, n_read < 64 ? n_read : n_read + 64);
        n_read++;
    } while (ef_multilog_next(cursor));
    assert_int_equal(n_read, capacity - 64);
    assert_int_equal(ef_multilog_n_missed(cursor), 64);
    ef_multilog_cursor_close(cursor);
    ef_multilog_stats(log, &stats);
    assert_int_equal(stats.n_evicted, 128);
    assert_int_equal(stats.n_refused, 0);
    assert_int_equal(stats.oldest.ns, 128);
    ef_multilog_writer_close(writer);
    ef_multilog_destroy(log);
}

/* --- Histories --------------------------------------------------------------------- */

enum { MAX_WRITERS = 8, N_READERS = 2, N_BATCHES = 600, MAX_BATCH = 8 };

/* Writers draw tickets from one clock before and after each append. A snapshot
 * is right if it is a prefix of each lane in whole batches, and no batch that
 * it lacks had ended before one that it has began, or before it was asked for. */
struct history {
    struct ef_multilog *log;
    _Atomic uint64_t clock;
    struct lane {
        uint64_t begin[N_BATCHES], end[N_BATCHES], n_records[N_BATCHES]; /* n_records: with all before. */
        pthread_t thread;
        struct history *history;
        unsigned seed;
        struct ef_multilog_writer *writer;
    } lanes[MAX_WRITERS];
    unsigned n_writers;
    atomic_int n_writing;
};

enum { N_CUTS = 400 };
struct reader {
    struct history *history;
    pthread_t thread;
    unsigned n_cuts;
    struct {
        uint64_t begin, end;
        struct ef_multilog_snapshot snapshot;
    } cuts[N_CUTS];
};

static void *
write_history(void *lane_)
{
    struct lane *lane = lane_;
    uint64_t n = 0;
    for (int i = 0; i < N_BATCHES; i++) {
        struct record batch[MAX_BATCH];
        uint32_t size = 1 + (uint32_t) rand_r(&lane->seed) % MAX_BATCH;
        lane->begin[i] = atomic_fetch_add(&lane->history->clock, 1);
        for (uint32_t k = 0; k < size; k++) {
            batch[k] = make_record(n + k);
        }
        if (ef_multilog_append(lane->writer, batch, size)) {
            abort();
        }
        lane->end[i] = atomic_fetch_add(&lane->history->clock, 1);
        lane->n_records[i] = n += size;
    }
    atomic_fetch_sub(&lane->history->n_writing, 1);
    return NULL;
}

/* Reads all of the snapshot: each lane's records 0, 1, 2 ... up to its tail. */
static void
read_all(struct ef_multilog *log, const struct ef_multilog_snapshot *snapshot)
{
    struct ef_multilog_query query = {.snapshot = *snapshot, .from = {INT64_MIN}, .to = {INT64_MAX}};
    struct ef_multilog_cursor *cursor;
    struct record r;
    if (ef_multilog_query(log, &query, &cursor)) {
        abort();
    }
    for (unsigned lane = 0; lane < MAX_WRITERS; lane++) {
        for (uint64_t i = 0; i < snapshot->tails[lane]; i++) {
            if (!ef_multilog_next(cursor)) {
                abort();
            }
            ef_multilog_record(cursor, &r);
            struct record e = make_record(i);
            if (r.time.ns != e.time.ns || r.ticket != e.ticket || memcmp(r.payload, e.payload, sizeof e.payload) ||
                r.hops.len != e.hops.len || memcmp(r.hops.data, e.hops.data, e.hops.len)) {
                abort();
            }
        }
    }
    if (ef_multilog_next(cursor) || ef_multilog_n_missed(cursor)) {
        abort();
    }
    ef_multilog_cursor_close(cursor);
}

static void *
read_history(void *reader_)
{
    struct reader *reader = reader_;
    struct history *h = reader->history;
    for (int writing = 1; writing && reader->n_cuts < N_CUTS; reader->n_cuts++) {
        writing = atomic_load(&h->n_writing);
        reader->cuts[reader->n_cuts].begin = atomic_fetch_add(&h->clock, 1);
        ef_multilog_snapshot(h->log, &reader->cuts[reader->n_cuts].snapshot);
        reader->cuts[reader->n_cuts].end = atomic_fetch_add(&h->clock, 1);
        if (reader->n_cuts % 16 == 0) {
            read_all(h->log, &reader->cuts[reader->n_cuts].snapshot);
        }
    }
    return NULL;
}

static void
check_cut(const struct history *h, const struct ef_multilog_snapshot *s, uint64_t begin, uint64_t end)
{
    uint64_t last_begin = begin, first_missing_end = UINT64_MAX;
    for (unsigned lane = 0; lane < h->n_writers; lane++) {
        const struct lane *l = &h->lanes[lane];
        int n = 0;
        while (n < N_BATCHES && l->n_records[n] <= s->tails[lane]) {
            n++;
        }
        assert_int_equal(s->tails[lane], n ? l->n_records[n - 1] : 0); /* Whole batches. */
        last_begin = n ? EF_MAX(last_begin, l->begin[n - 1]) : last_begin;
        first_missing_end = n < N_BATCHES ? EF_MIN(first_missing_end, l->end[n]) : first_missing_end;
        assert_true(!n || l->begin[n - 1] < end);
    }
    assert_true(last_begin < first_missing_end);
}

static void
test_histories(void **state)
{
    static struct history h;
    static struct reader readers[N_READERS];
    for (unsigned round = 0; round < 10; round++) {
        memset(&h, 0, sizeof h);
        memset(readers, 0, sizeof readers);
        h.n_writers = 1 + round % MAX_WRITERS;
        h.log = create(h.n_writers, 16 << 20);
        h.n_writing = (int) h.n_writers;
        for (unsigned i = 0; i < h.n_writers; i++) {
            h.lanes[i].history = &h;
            h.lanes[i].seed = round * MAX_WRITERS + i;
            assert_int_equal(ef_multilog_writer_open(h.log, &h.lanes[i].writer), 0);
        }
        for (unsigned i = 0; i < N_READERS; i++) {
            readers[i].history = &h;
            assert_int_equal(pthread_create(&readers[i].thread, NULL, read_history, &readers[i]), 0);
        }
        for (unsigned i = 0; i < h.n_writers; i++) {
            assert_int_equal(pthread_create(&h.lanes[i].thread, NULL, write_history, &h.lanes[i]), 0);
        }
        for (unsigned i = 0; i < h.n_writers; i++) {
            pthread_join(h.lanes[i].thread, NULL);
            ef_multilog_writer_close(h.lanes[i].writer);
        }
        for (unsigned i = 0; i < N_READERS; i++) {
            pthread_join(readers[i].thread, NULL);
            for (unsigned k = 0; k < readers[i].n_cuts; k++) {
                check_cut(&h, &readers[i].cuts[k].snapshot, readers[i].cuts[k].begin, readers[i].cuts[k].end);
            }
        }
        ef_multilog_destroy(h.log);
    }
}

/* The same with so little memory that buckets leave all the time. What is read is
 * whole and in order, and what is not there is counted; freezing holds the instant
 * while all of this goes on. */
static void *
read_leaving(void *reader_)
{
    struct reader *reader = reader_;
    struct history *h = reader->history;
    for (bool writing = true; writing; reader->n_cuts++) {
        writing = atomic_load(&h->n_writing);
        struct ef_multilog_query query = {.from = {INT64_MIN}, .to = {INT64_MAX}};
        struct ef_multilog_cursor *cursor;
        bool frozen = reader->n_cuts % 3 == 0 && !ef_multilog_freeze(h->log, &query.snapshot);
        ef_multilog_snapshot(h->log, &query.snapshot);
        if (ef_multilog_query(h->log, &query, &cursor)) {
            abort();
        }
        uint64_t n = 0, n_lanes = 1, next = 0, n_all = 0;
        for (; ef_multilog_next(cursor); n++) {
            struct record r;
            ef_multilog_record(cursor, &r);
            uint64_t number = (uint64_t) r.time.ns;
            struct record e = make_record(number);
            n_lanes += number < next; /* The next lane. */
            next = number + 1;
            if (r.ticket != e.ticket || memcmp(r.payload, e.payload, sizeof e.payload) || r.hops.len != e.hops.len ||
                memcmp(r.hops.data, e.hops.data, e.hops.len)) {
                abort();
            }
        }
        for (unsigned lane = 0; lane < h->n_writers; lane++) {
            n_all += query.snapshot.tails[lane];
        }
        if (n + ef_multilog_n_missed(cursor) > n_all || n_lanes > h->n_writers) {
            abort();
        }
        ef_multilog_cursor_close(cursor);
        if (frozen) {
            ef_multilog_unfreeze(h->log);
        }
    }
    return NULL;
}

static void
test_leaving_histories(void **state)
{
    static struct history h;
    static struct reader readers[N_READERS];
    for (unsigned round = 0; round < MAX_WRITERS; round++) {
        memset(&h, 0, sizeof h);
        memset(readers, 0, sizeof readers);
        h.n_writers = 1 + round;
        h.log = create(h.n_writers, h.n_writers * 60000);
        h.n_writing = (int) h.n_writers;
        for (unsigned i = 0; i < h.n_writers; i++) {
            h.lanes[i].history = &h;
            h.lanes[i].seed = round * MAX_WRITERS + i;
            assert_int_equal(ef_multilog_writer_open(h.log, &h.lanes[i].writer), 0);
            assert_int_equal(pthread_create(&h.lanes[i].thread, NULL, write_history, &h.lanes[i]), 0);
        }
        for (unsigned i = 0; i < N_READERS; i++) {
            readers[i].history = &h;
            assert_int_equal(pthread_create(&readers[i].thread, NULL, read_leaving, &readers[i]), 0);
        }
        uint64_t n = 0;
        for (unsigned i = 0; i < h.n_writers; i++) {
            pthread_join(h.lanes[i].thread, NULL);
            ef_multilog_writer_close(h.lanes[i].writer);
            n += h.lanes[i].n_records[N_BATCHES - 1];
        }
        for (unsigned i = 0; i < N_READERS; i++) {
            pthread_join(readers[i].thread, NULL);
        }
        struct ef_multilog_stats stats;
        ef_multilog_stats(h.log, &stats);
        assert_int_equal(stats.n_appended, n);
        assert_true(stats.n_evicted > 0 && stats.n_evicted + stats.n_buckets * stats.bucket_rows >= n);
        struct ef_multilog_query query = {.from = {INT64_MIN}, .to = {INT64_MAX}};
        struct ef_multilog_cursor *cursor;
        ef_multilog_snapshot(h.log, &query.snapshot);
        assert_int_equal(ef_multilog_query(h.log, &query, &cursor), 0);
        while (ef_multilog_next(cursor)) {
            n--;
        }
        assert_int_equal(n, stats.n_evicted); /* All that did not leave is there. */
        ef_multilog_cursor_close(cursor);
        ef_multilog_destroy(h.log);
    }
}

/* --- The newest first ----------------------------------------------------------- */

/* Whoever wants only the newest record has it at once, whether times rise or fall
 * with the appends: of a bucket whose newest record is known, at most a word of
 * rows comes that are older. */
static void
expect_newest_at_once(bool is_rising)
{
    enum { N = 3000, BUCKET_ROWS = 1024 };
    struct ef_schema schema;
    struct ef_multilog *log;
    struct ef_multilog_writer *writer;
    struct ef_multilog_cursor *cursor;
    struct ef_error err = EF_ERROR_INIT;
    assert_int_equal(ef_schema_init(&schema, columns, EF_ARRAY_SIZE(columns), sizeof(struct record), &err), 0);
    struct ef_multilog_config config = {
        .schema = &schema, .memory_bytes = 4 << 20, .max_writers = 1, .bucket_rows = BUCKET_ROWS};
    assert_int_equal(ef_multilog_create(&config, &log, &err), 0);
    assert_int_equal(ef_multilog_writer_open(log, &writer), 0);
    for (uint64_t i = 0; i < N; i++) {
        append(writer, is_rising ? i : N - 1 - i, 1);
    }
    struct ef_multilog_query query = {.from = {INT64_MIN}, .to = {INT64_MAX}, .newest_first = true};
    ef_multilog_snapshot(log, &query.snapshot);
    assert_int_equal(ef_multilog_query(log, &query, &cursor), 0);
    unsigned n = 0;
    for (; ef_multilog_next(cursor); n++) {
        struct record r;
        ef_multilog_record(cursor, &r);
        check_record(&r, (uint64_t) r.time.ns);
        if (!n) {
            assert_int_equal(r.time.ns, N - 1);
        }
        ef_multilog_raise_from(cursor, r.time);
    }
    assert_in_range(n, 1, 64);
    ef_multilog_cursor_close(cursor);
    ef_multilog_writer_close(writer);
    ef_multilog_destroy(log);
}

static void
test_newest_first(void **state)
{
    expect_newest_at_once(true);
    expect_newest_at_once(false);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schema_errors), cmocka_unit_test(test_config_errors),
        cmocka_unit_test(test_round_trip),    cmocka_unit_test(test_too_big),
        cmocka_unit_test(test_freeze),        cmocka_unit_test(test_memory_limit),
        cmocka_unit_test(test_histories),     cmocka_unit_test(test_leaving_histories),
        cmocka_unit_test(test_newest_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
