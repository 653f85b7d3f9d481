/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of queries over a multilog, case by case: answers of many records, OR,
 * indexes that come late, of times, of many values, over what a record's bytes
 * hold; frozen snapshots; aggregates; memory; explanations. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "bench/store_records.h"
#include "store/aggregate.h"
#include "store/derived.h"
#include "store/explain.h"
#include "store/indexes.h"
#include "store/predicate.h"

/* --- Headers of packets --------------------------------------------------------------- */

static struct ef_multilog *
create(uint64_t memory_bytes, uint32_t bucket_rows)
{
    struct ef_schema schema;
    struct ef_multilog *log;
    struct ef_error err = EF_ERROR_INIT;
    struct ef_multilog_config config = {
        .schema = &schema, .memory_bytes = memory_bytes, .max_writers = 1, .bucket_rows = bucket_rows};
    assert_int_equal(ef_schema_init(&schema, ef_bench_columns, EF_ARRAY_SIZE(ef_bench_columns),
                                    sizeof(struct ef_bench_record), &err),
                     0);
    if (ef_multilog_create(&config, &log, &err)) {
        fail_msg("%s", err.text);
    }
    return log;
}

static void
add_index(struct ef_multilog *log, const char *column)
{
    struct ef_multilog_index index = {.column = column};
    struct ef_error err = EF_ERROR_INIT;
    if (ef_multilog_add_index(log, &index, &err)) {
        fail_msg("%s", err.text);
    }
}

/* Appends records `first` to `first + n - 1`, 32 at a time. */
static void
append(struct ef_multilog_writer *writer, uint64_t first, uint64_t n)
{
    struct ef_bench_record batch[32];
    for (uint64_t i = 0; i < n; i += 32) {
        uint32_t size = (uint32_t) EF_MIN(n - i, 32u);
        for (uint32_t k = 0; k < size; k++) {
            ef_bench_make_record(first + i + k, &batch[k]);
        }
        assert_int_equal(ef_multilog_append(writer, batch, size), 0);
    }
}

static struct ef_multilog_writer *
open_writer(struct ef_multilog *log)
{
    struct ef_multilog_writer *writer;
    assert_int_equal(ef_multilog_writer_open(log, &writer), 0);
    return writer;
}

static struct ef_predicate *
compile(struct ef_multilog *log, const char *filter)
{
    struct ef_predicate *predicate;
    struct ef_error err = EF_ERROR_INIT;
    if (ef_predicate_compile(filter, ef_multilog_schema(log), &predicate, &err)) {
        fail_msg("%s: %s", filter, err.text);
    }
    return predicate;
}

/* The number of records; each comes later than the one before, so none twice. */
static uint64_t
count(struct ef_multilog *log, const struct ef_multilog_query *query)
{
    struct ef_multilog_cursor *cursor;
    uint64_t n = 0;
    int64_t before_ns = INT64_MIN, ns;
    assert_int_equal(ef_multilog_query(log, query, &cursor), 0);
    for (; ef_multilog_next(cursor); n++) {
        memcpy(&ns, ef_multilog_column(cursor, 0, NULL), sizeof ns);
        assert_true(ns > before_ns);
        before_ns = ns;
    }
    ef_multilog_cursor_close(cursor);
    return n;
}

/* Asks by index, by scan and as it is cheapest. */
static void
expect_within(struct ef_multilog *log, const char *filter, int64_t from, int64_t to, uint64_t n)
{
    struct ef_predicate *predicate = compile(log, filter);
    struct ef_multilog_query query = {.from = {from}, .to = {to}, .predicate = predicate};
    ef_multilog_snapshot(log, &query.snapshot);
    for (query.plan = EF_MULTILOG_CHEAPEST; query.plan <= EF_MULTILOG_BY_SCAN; query.plan++) {
        assert_int_equal(count(log, &query), n);
    }
    ef_predicate_destroy(predicate);
}

static void
expect(struct ef_multilog *log, const char *filter, uint64_t n)
{
    expect_within(log, filter, INT64_MIN, INT64_MAX, n);
}

/* How many of the records `from` to `to - 1` are of one source. */
static uint64_t
count_source(uint64_t from, uint64_t to, uint32_t src)
{
    uint64_t n = 0;
    for (uint64_t i = from; i < to; i++) {
        struct ef_bench_record r;
        ef_bench_make_record(i, &r);
        n += r.src == src;
    }
    return n;
}

/* Of the first million records; the counts are those published for them. */
static void
test_known_counts(void **state)
{
    (void) state;
    struct ef_multilog *log = create(128 << 20, 0);
    struct ef_multilog_writer *writer = open_writer(log);
    static const char *const columns[] = {"src", "dst", "sport", "dport"};
    for (size_t i = 0; i < EF_ARRAY_SIZE(columns); i++) {
        add_index(log, columns[i]);
    }
    append(writer, 0, 1000000);
    ef_multilog_flush_derived(log);
    expect(log, "src == 10.0.0.17 && dst == 10.0.0.200", 13);
    expect(log, "dst == 10.0.0.17", 3821);
    expect(log, "src == 10.0.0.17 && dport == 80", 400);
    expect(log,
           "(src == 10.0.0.17 && sport == 80 && dst == 10.0.0.200 && dport == 443) || "
           "(src == 10.0.0.200 && sport == 443 && dst == 10.0.0.17 && dport == 80)",
           0);
    expect(log, "src == 10.0.0.17 || dst == 10.0.0.17", 7750);
    expect(log, "src == 10.0.0.17 || src == 10.0.0.17", count_source(0, 1000000, 0x0a000011));
    expect(log, "", 1000000);
    expect(log, "src == 10.1.0.0", 0);
    ef_multilog_writer_close(writer);
    ef_multilog_destroy(log);
}

/* 10,000 records before the index and 10,000 after: none is lost. */
static void
test_late_index(void **state)
{
    (void) state;
    struct ef_multilog *log = create(16 << 20, 1024);
    struct ef_multilog_writer *writer = open_writer(log);
    append(writer, 0, 10000);
    add_index(log, "src");
    expect(log, "src == 10.0.0.17", count_source(0, 10000, 0x0a000011));
    append(writer, 10000, 10000);
    expect(log, "src == 10.0.0.17", count_source(0, 20000, 0x0a000011));
    ef_multilog_flush_derived(log);
    expect(log, "src == 10.0.0.17", count_source(0, 20000, 0x0a000011));
    struct ef_multilog_index_stats stats;
    assert_int_equal(ef_multilog_index_stats(log, &stats, 1), 1);
    assert_int_equal(stats.n_buckets, 19);
    assert_int_equal(stats.n_records, 19 * 1024 - 16); /* The tenth bucket had no room for a batch of 32. */
    assert_int_equal(stats.n_without, 0);
    ef_multilog_writer_close(writer);
    ef_multilog_destroy(log);
}

/* Times are nanoseconds for the index and for who asks. */
static void
test_time_index(void **state)
{
    (void) state;
    struct ef_multilog *log = create(16 << 20, 1024);
    struct ef_multilog_writer *writer = open_writer(log);
    add_index(log, "time");
    append(writer, 0, 10000);
    ef_multilog_flush_derived(log);
    expect(log, "time >= 2023-11-14T22:13:20.001Z && time < 2023-11-14T22:13:20.0029Z", 1900);
    expect_within(log, "", EF_BENCH_TIME_0 + 1000000, EF_BENCH_TIME_0 + 2899999, 1900);
    expect_within(log, "src == 10.0.0.17", INT64_MIN, EF_BENCH_TIME_0 + 4999000, count_source(0, 5000, 0x0a000011));
    struct ef_multilog_index_stats stats;
    assert_int_equal(ef_multilog_index_stats(log, &stats, 1), 1);
    assert_true(stats.memory_bytes < stats.n_buckets * 256); /* In order: nothing to keep. */
    ef_multilog_writer_close(writer);
    ef_multilog_destroy(log);
}

/* An index made after the freeze knows more records than the snapshot has. */
static void
test_frozen(void **state)
{
    (void) state;
    struct ef_multilog *log = create(16 << 20, 1024);
    struct ef_multilog_writer *writer = open_writer(log);
    struct ef_multilog_snapshot frozen;
    add_index(log, "src");
    append(writer, 0, 1500);
    assert_int_equal(ef_multilog_freeze(log, &frozen), 0);
    append(writer, 1500, 5000);
    ef_multilog_flush_derived(log);
    expect(log, "src == 10.0.0.17", count_source(0, 1500, 0x0a000011));
    expect(log, "src == 10.0.0.0/8", 1500);
    ef_multilog_unfreeze(log);
    expect(log, "src == 10.0.0.17", count_source(0, 6500, 0x0a000011));
    ef_multilog_writer_close(writer);
    ef_multilog_destroy(log);
}

/* A cursor goes on with an index that was removed, one that begins does not. */
static void
test_remove_index(void **state)
{
    (void) state;
    struct ef_multilog *log = create(16 << 20, 1024);
    struct ef_multilog_writer *writer = open_writer(log);
    struct ef_multilog_index src = {.column = "src"}, dst = {.column = "dst"};
    struct ef_multilog_index_stats stats;
    add_index(log, "src");
    append(writer, 0, 10000);
    ef_multilog_flush_derived(log);
    struct ef_predicate *predicate = compile(log, "src == 10.0.0.17");
    struct ef_multilog_query query = {
        .from = {INT64_MIN}, .to = {INT64_MAX}, .predicate = predicate, .plan = EF_MULTILOG_BY_INDEX};
    struct ef_multilog_cursor *cursor;
    ef_multilog_snapshot(log, &query.snapshot);
    assert_int_equal(ef_multilog_query(log, &query, &cursor), 0);
    uint64_t n = 0;
    while (ef_multilog_next(cursor)) {
        if (n++ == 5) {
            assert_int_equal(ef_multilog_remove_index(log, &src), 0);
            assert_int_equal(ef_multilog_remove_index(log, &src), -ENOENT);
            ef_multilog_flush_derived(log);
            assert_int_equal(ef_multilog_index_stats(log, &stats, 1), 0);
            add_index(log, "src"); /* Another, beside the one in use. */
            ef_multilog_flush_derived(log);
        }
    }
    assert_int_equal(n, count_source(0, 10000, 0x0a000011));
    ef_multilog_cursor_close(cursor);
    ef_predicate_destroy(predicate);
    assert_int_equal(ef_multilog_remove_index(log, &dst), -ENOENT);
    expect(log, "src == 10.0.0.17", n);
    ef_multilog_writer_close(writer);
    ef_multilog_destroy(log);
}

static void
no_keys(const void *data, uint32_t len, struct ef_multilog_keys *keys)
{
    (void) data;
    (void) len;
    (void) keys;
}

static void
test_index_errors(void **state)
{
    (void) state;
    struct ef_multilog *log = create(16 << 20, 1024);
    const struct {
        struct ef_multilog_index index;
        int rc;
        const char *text;
    } cases[] = {
        {{.column = "nowhere"}, -EINVAL, "no column nowhere to index"},
        {{.column = "src", .extract = no_keys},
         -EINVAL,
         "column src: an index of the variable column, and only it, has an extractor"},
        {{.column = "src"}, 0, ""},
        {{.column = "src"}, -EEXIST, "column src has this index"},
        {{.column = "payload"}, 0, ""},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        struct ef_error err = EF_ERROR_INIT;
        assert_int_equal(ef_multilog_add_index(log, &cases[i].index, &err), cases[i].rc);
        assert_string_equal(err.text, cases[i].text);
    }
    ef_multilog_destroy(log);
}

/* --- Aggregates ----------------------------------------------------------------------- */

static const struct ef_time forever[] = {{INT64_MIN}, {INT64_MAX}};

/* Over all of time at once; sums beyond what a double holds; no negative number
 * where there is none. */
static void
test_aggregates(void **state)
{
    (void) state;
    struct record {
        int64_t ns;
        uint64_t bytes;
    } record;
    static const struct ef_column columns[] = {{"time", EF_COLUMN_TIME, offsetof(struct record, ns), 0},
                                               {"bytes", EF_COLUMN_U64, offsetof(struct record, bytes), 0}};
    struct ef_schema schema;
    struct ef_multilog *log;
    struct ef_error err = EF_ERROR_INIT;
    struct ef_multilog_config config = {
        .schema = &schema, .memory_bytes = 1 << 20, .max_writers = 1, .bucket_rows = 64};
    assert_int_equal(ef_schema_init(&schema, columns, EF_ARRAY_SIZE(columns), sizeof record, &err), 0);
    assert_int_equal(ef_multilog_create(&config, &log, &err), 0);
    add_index(log, "bytes");
    struct ef_multilog_writer *writer = open_writer(log);
    ef_u128 sum = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        record = (struct record){(int64_t) (i << 50), i % 2 ? i : UINT64_MAX - i};
        sum += record.bytes;
        assert_int_equal(ef_multilog_append(writer, &record, 1), 0);
    }
    ef_multilog_flush_derived(log);
    struct ef_multilog_snapshot now;
    struct ef_aggregate_value value;
    ef_multilog_snapshot(log, &now);
    assert_int_equal(ef_multilog_aggregate(log, "", "SUM(bytes)", &now, forever[0], forever[1], &value, &err), 0);
    assert_true(value.sum == sum);
    assert_int_equal(ef_multilog_aggregate(log, "bytes < 1000", "COUNT", &now, forever[0], forever[1], &value, &err),
                     0);
    assert_int_equal(value.count, 500);
    assert_int_equal(ef_multilog_aggregate(log, "bytes < 1000 || bytes < 500", "MAX(bytes)", &now, forever[0],
                                           forever[1], &value, &err),
                     0);
    assert_int_equal(value.max, 999);
    assert_int_equal(ef_multilog_aggregate(log, "bytes == -1", "COUNT", &now, forever[0], forever[1], &value, &err),
                     -EINVAL);
    ef_multilog_writer_close(writer);
    ef_multilog_destroy(log);
}

/* --- Memory --------------------------------------------------------------------------- */

/* Every source another, in a log that is full: memory stays what it was, records
 * leave with their indexes, writers and queries go on. */
static void
test_memory(void **state)
{
    (void) state;
    struct ef_multilog *log = create(4 << 20, 1024);
    struct ef_multilog_writer *writer = open_writer(log);
    add_index(log, "src");
    add_index(log, "dst");
    add_index(log, "payload");
    struct ef_bench_record record;
    for (uint32_t i = 0; i < 300000; i++) {
        ef_bench_make_record(i, &record);
        record.src = i * 2654435761u;
        memcpy(record.payload, &record.src, sizeof record.src);
        assert_int_equal(ef_multilog_append(writer, &record, 1), 0);
    }
    ef_multilog_flush_derived(log);
    struct ef_multilog_stats stats;
    struct ef_multilog_index_stats indexes[3];
    ef_multilog_stats(log, &stats);
    assert_int_equal(stats.n_refused, 0);
    assert_true(stats.n_evicted > 200000);
    assert_int_equal(ef_multilog_index_stats(log, indexes, 3), 3);
    uint64_t in_memory = stats.n_appended - stats.n_evicted, bytes = in_memory * sizeof record;
    for (unsigned i = 0; i < 3; i++) {
        assert_true(indexes[i].n_records > 0);
        assert_true(indexes[i].memory_bytes <= 4 * indexes[i].n_records + indexes[i].n_buckets * 2048);
        bytes += indexes[i].memory_bytes;
    }
    assert_true(bytes <= 4 << 20);
    expect(log, "", in_memory);
    expect(log, "src <= 127.255.255.255 && src >= 128.0.0.0", 0);
    char filter[64];
    snprintf(filter, sizeof filter, "src == %u.%u.%u.%u", record.src >> 24, record.src >> 16 & 255,
             record.src >> 8 & 255, record.src & 255);
    expect(log, filter, 1);
    ef_multilog_writer_close(writer);
    ef_multilog_destroy(log);
}

/* Memory that the writer needs wholly: there is no index, and no record or
 * answer is lost for it. */
static void
test_no_memory_for_indexes(void **state)
{
    (void) state;
    struct ef_multilog *log = create(140 << 10, 1024);
    struct ef_multilog_writer *writer = open_writer(log);
    struct ef_multilog_stats stats;
    struct ef_multilog_index_stats index;
    ef_multilog_stats(log, &stats);
    assert_int_equal(stats.n_buckets, 2);
    add_index(log, "src");
    append(writer, 0, 10000);
    ef_multilog_flush_derived(log);
    ef_multilog_stats(log, &stats);
    assert_int_equal(stats.n_refused, 0);
    assert_int_equal(ef_multilog_index_stats(log, &index, 1), 1);
    assert_true(index.n_without > 0);
    assert_int_equal(index.n_buckets, 0);
    assert_int_equal(index.memory_bytes, 0);
    expect(log, "src == 10.0.0.17", count_source(stats.n_evicted, 10000, 0x0a000011));
    ef_multilog_writer_close(writer);
    ef_multilog_destroy(log);
}

/* What removed indexes took is for records again, but for what is kept at hand. */
static void
test_memory_comes_back(void **state)
{
    (void) state;
    struct ef_multilog *log = create(4 << 20, 1024);
    struct ef_multilog_writer *writer = open_writer(log);
    struct ef_multilog_index index = {.column = "payload"};
    struct ef_multilog_stats with, without;
    struct ef_multilog_index src = {.column = "src"};
    add_index(log, "payload");
    add_index(log, "src");
    for (uint32_t i = 0; i < 200000; i++) {
        struct ef_bench_record record;
        ef_bench_make_record(i, &record);
        record.src = i * 2654435761u;
        memcpy(record.payload, &record.src, sizeof record.src);
        if (i == 100000) {
            ef_multilog_flush_derived(log);
            ef_multilog_stats(log, &with);
            assert_int_equal(ef_multilog_remove_index(log, &index), 0);
            assert_int_equal(ef_multilog_remove_index(log, &src), 0);
            ef_multilog_flush_derived(log);
        }
        assert_int_equal(ef_multilog_append(writer, &record, 1), 0);
    }
    ef_multilog_stats(log, &without);
    uint64_t n_with = with.n_appended - with.n_evicted, n_without = without.n_appended - without.n_evicted;
    assert_true(n_without > n_with);
    assert_true(n_without > (uint64_t) (without.n_buckets - 4) * 1024);
    expect(log, "", n_without);
    ef_multilog_writer_close(writer);
    ef_multilog_destroy(log);
}

/* --- Traces ---------------------------------------------------------------------------- */

struct trace {
    int64_t ns;
    uint32_t dst;
    struct ef_bytes hops; /* Addresses of 4 bytes in the machine's order. */
};

static void
hop_switches(const void *data, uint32_t len, struct ef_multilog_keys *keys)
{
    for (uint32_t at = 0; at + 4 <= len; at += 4) {
        ef_multilog_add_key(keys, (const uint8_t *) data + at);
    }
}

static struct ef_multilog *
create_traces(void)
{
    static const struct ef_column columns[] = {{"time", EF_COLUMN_TIME, offsetof(struct trace, ns), 0},
                                               {"dst", EF_COLUMN_IPV4, offsetof(struct trace, dst), 0},
                                               {"hops", EF_COLUMN_VARIABLE, offsetof(struct trace, hops), 0}};
    struct ef_schema schema;
    struct ef_multilog *log;
    struct ef_error err = EF_ERROR_INIT;
    struct ef_multilog_config config = {
        .schema = &schema, .memory_bytes = 16 << 20, .max_writers = 1, .bucket_rows = 4096};
    assert_int_equal(ef_schema_init(&schema, columns, EF_ARRAY_SIZE(columns), sizeof(struct trace), &err), 0);
    assert_int_equal(ef_multilog_create(&config, &log, &err), 0);
    return log;
}

/* Leaf, one of 50 spines, leaf. */
static void
append_traces(struct ef_multilog *log, uint32_t n)
{
    struct ef_multilog_writer *writer = open_writer(log);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t hops[3] = {0x0aff0001 + i % 4, 0x0aff0100 + i % 50, 0x0aff0001 + i / 4 % 4};
        struct trace trace = {i, 0x0a000000 + i % 16, {hops, sizeof hops}};
        assert_int_equal(ef_multilog_append(writer, &trace, 1), 0);
    }
    ef_multilog_writer_close(writer);
}

static struct ef_multilog_key_test
through(uint32_t address)
{
    struct ef_multilog_key_test test = {.extract = hop_switches, .key_type = EF_COLUMN_IPV4};
    memcpy(test.low, &address, sizeof address);
    memcpy(test.high, &address, sizeof address);
    return test;
}

/* "Through spine 2", and "through spine 2 and leaf 1", each with a filter. */
static void
test_multi_valued(void **state)
{
    (void) state;
    enum { N = 20000 };
    struct ef_multilog *log = create_traces();
    struct ef_multilog_index by_switch = {.column = "hops", .extract = hop_switches, .key_type = EF_COLUMN_IPV4};
    struct ef_multilog_key_test tests[] = {through(0x0aff0102), through(0x0aff0001)};
    struct ef_predicate *predicate = compile(log, "dst == 10.0.0.2");
    struct ef_multilog_query query = {.from = {INT64_MIN}, .to = {INT64_MAX}, .keys = tests};
    append_traces(log, N);
    ef_multilog_snapshot(log, &query.snapshot);
    uint64_t n_through = 0, n_through_both = 0, n_both_to = 0;
    for (uint32_t i = 0; i < N; i++) {
        bool is_through = i % 50 == 2, is_both = is_through && (i % 4 == 0 || i / 4 % 4 == 0);
        n_through += is_through;
        n_through_both += is_both;
        n_both_to += is_both && i % 16 == 2;
    }
    for (int has_index = 0; has_index < 2; has_index++) {
        query.predicate = NULL;
        query.n_keys = 1;
        assert_int_equal(count(log, &query), n_through);
        query.n_keys = 2;
        assert_int_equal(count(log, &query), n_through_both);
        query.predicate = predicate;
        assert_int_equal(count(log, &query), n_both_to);
        struct ef_error err = EF_ERROR_INIT;
        assert_int_equal(ef_multilog_add_index(log, &by_switch, &err), has_index ? -EEXIST : 0);
        ef_multilog_flush_derived(log);
    }
    ef_predicate_destroy(predicate);
    ef_multilog_destroy(log);
}

/* --- Explaining ------------------------------------------------------------------------ */

static long long
number_in(const json_t *document, const char *object, const char *name)
{
    const json_t *in = object ? json_object_get(document, object) : document;
    assert_true(json_is_integer(json_object_get(in, name)));
    return json_integer_value(json_object_get(in, name));
}

static void
check_json(struct ef_multilog *log, const struct ef_multilog_query *query, uint64_t n_records, uint64_t n_estimated)
{
    char *text;
    assert_int_equal(ef_multilog_explain(log, query, EF_EXPLAIN_JSON, &text), 0);
    json_t *document = json_loads(text, 0, NULL);
    assert_non_null(document);
    assert_int_equal(number_in(document, NULL, "records"), n_records);
    assert_int_equal(number_in(document, "buckets", "all"), 10);
    assert_int_equal(number_in(document, "buckets", "by_index"), 9);
    assert_int_equal(number_in(document, "buckets", "scanned"), 1);
    assert_int_equal(number_in(document, NULL, "rows_scanned"), 10000 - 9 * 1024);
    const json_t *conjunctions = json_object_get(document, "conjunctions");
    assert_int_equal(json_array_size(conjunctions), 1);
    assert_int_equal(number_in(json_array_get(conjunctions, 0), NULL, "estimated"), n_estimated);
    assert_int_equal(number_in(json_array_get(conjunctions, 0), NULL, "buckets"), 9);
    json_decref(document);
    free(text);
}

static void
test_explain(void **state)
{
    (void) state;
    struct ef_multilog *log = create(16 << 20, 1024);
    struct ef_multilog_writer *writer = open_writer(log);
    add_index(log, "src");
    append(writer, 0, 10000);
    ef_multilog_flush_derived(log);
    struct ef_predicate *predicate = compile(log, "src == 10.0.0.17");
    struct ef_multilog_query query = {
        .from = {INT64_MIN}, .to = {INT64_MAX}, .predicate = predicate, .plan = EF_MULTILOG_BY_INDEX};
    ef_multilog_snapshot(log, &query.snapshot);
    uint64_t n = count_source(0, 10000, 0x0a000011), n_indexed = count_source(0, 9 * 1024, 0x0a000011);
    check_json(log, &query, n, n_indexed);
    char *text, expected[512];
    snprintf(
        expected, sizeof expected,
        "filter: src == 10.0.0.17\n"
        "buckets: 10, of them 0 outside the window, 0 outside the zones, 9 by index, 0 by the filter's own matches, "
        "1 scanned (784 rows)\n"
        "conjunction 1: src; %llu rows estimated, %llu candidates, %llu matches, nothing in 0 buckets\n"
        "    index src: the shortest in 9 buckets, intersected with in 0\n"
        "result: %llu records\n",
        (unsigned long long) n_indexed, (unsigned long long) n_indexed, (unsigned long long) n_indexed,
        (unsigned long long) n);
    assert_int_equal(ef_multilog_explain(log, &query, EF_EXPLAIN_TEXT, &text), 0);
    assert_string_equal(text, expected);
    free(text);
    ef_predicate_destroy(predicate);
    ef_multilog_writer_close(writer);
    ef_multilog_destroy(log);
}

/* Buckets that no conjunction can match are passed over, and those outside of
 * the window. */
static void
test_explain_skipped(void **state)
{
    (void) state;
    struct ef_multilog *log = create(16 << 20, 1024);
    struct ef_multilog_writer *writer = open_writer(log);
    add_index(log, "dst");
    append(writer, 0, 10000);
    ef_multilog_flush_derived(log);
    struct ef_predicate *predicate = compile(log, "src == 10.9.0.1");
    struct ef_multilog_query query = {.from = {EF_BENCH_TIME_0 + 2048000}, .to = {INT64_MAX}, .predicate = predicate};
    char *text;
    ef_multilog_snapshot(log, &query.snapshot);
    assert_int_equal(ef_multilog_explain(log, &query, EF_EXPLAIN_JSON, &text), 0);
    json_t *document = json_loads(text, 0, NULL);
    assert_int_equal(number_in(document, "buckets", "outside_window"), 2);
    assert_int_equal(number_in(document, "buckets", "outside_zones"), 7);
    assert_int_equal(number_in(document, "buckets", "scanned"), 1);
    json_decref(document);
    free(text);
    ef_predicate_destroy(predicate);
    ef_multilog_writer_close(writer);
    ef_multilog_destroy(log);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_counts),
        cmocka_unit_test(test_late_index),
        cmocka_unit_test(test_time_index),
        cmocka_unit_test(test_frozen),
        cmocka_unit_test(test_remove_index),
        cmocka_unit_test(test_index_errors),
        cmocka_unit_test(test_aggregates),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_no_memory_for_indexes),
        cmocka_unit_test(test_memory_comes_back),
        cmocka_unit_test(test_multi_valued),
        cmocka_unit_test(test_explain),
        cmocka_unit_test(test_explain_skipped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
