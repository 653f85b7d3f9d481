/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of queries over a multilog: whatever indexes there are, a query's answer
 * is that of looking at every record. Random schemas, records, filters, windows
 * and changes of indexes; alone, with memory that is full, and with writers at
 * work. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/aggregate.h"
#include "store/derived.h"
#include "store/indexes.h"
#include "store/predicate.h"

enum { MAX_COLUMNS = 6, MAX_RECORDS = 6000, KEYS_PER_RECORD = 5, RECORD_BYTES = 32 + 16 * MAX_COLUMNS + 16 };

/* A schema and its records. Column 0 is the time, 1 the record's number, then
 * come random ones and the variable part, whose bytes are the keys. */
struct world {
    unsigned seed;
    struct ef_column columns[MAX_COLUMNS + 3];
    unsigned n_columns, n_random;
    struct ef_schema schema;
    uint32_t n_records;
    uint8_t records[MAX_RECORDS][RECORD_BYTES];
    uint8_t keys[MAX_RECORDS][KEYS_PER_RECORD];
};

static uint32_t
draw(struct world *w, uint32_t n)
{
    return (uint32_t) rand_r(&w->seed) % n;
}

static void
extract_bytes(const void *data, uint32_t len, struct ef_multilog_keys *keys)
{
    for (uint32_t i = 0; i < len; i++) {
        ef_multilog_add_key(keys, (const uint8_t *) data + i);
    }
}

static void
make_schema(struct world *w)
{
    static const enum ef_column_type types[] = {EF_COLUMN_U8,   EF_COLUMN_U16,  EF_COLUMN_U32, EF_COLUMN_U64,
                                                EF_COLUMN_IPV4, EF_COLUMN_IPV6, EF_COLUMN_MAC, EF_COLUMN_TIME};
    static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
    w->n_random = 1 + draw(w, MAX_COLUMNS);
    w->columns[0] = (struct ef_column){"time", EF_COLUMN_TIME, 0, 0};
    w->columns[1] = (struct ef_column){"number", EF_COLUMN_U64, 8, 0};
    for (unsigned i = 0; i < w->n_random; i++) {
        w->columns[i + 2] = (struct ef_column){names[i], types[draw(w, EF_ARRAY_SIZE(types))], 16 + 16 * i, 0};
    }
    w->columns[w->n_random + 2] = (struct ef_column){"keys", EF_COLUMN_VARIABLE, 16 + 16 * w->n_random, 0};
    w->n_columns = w->n_random + 3;
    struct ef_error err = EF_ERROR_INIT;
    assert_int_equal(ef_schema_init(&w->schema, w->columns, w->n_columns, RECORD_BYTES, &err), 0);
}

/* Few or many different values, in the bytes that count most and least. */
static void
make_value(struct world *w, const struct ef_column *column, uint8_t *value)
{
    memset(value, 0, column->width);
    uint32_t n_keys = column->offset % 32 ? 12 : 3000, key = draw(w, n_keys);
    bool low_first = ef_column_is_number(column);
    for (uint32_t i = 0; i < EF_MIN(column->width, 2u); i++) {
        value[low_first ? i : column->width - 1 - i] = (uint8_t) (key >> 8 * i);
    }
    if (column->width > 4 && column->type != EF_COLUMN_TIME) {
        value[low_first ? column->width - 1 : 0] = key % 3 ? 0 : 0x80;
    }
}

static void
make_record(struct world *w, uint32_t number)
{
    uint8_t *record = w->records[number];
    int64_t ns = (int64_t) number * 1000 + draw(w, 5000) - 2000000;
    uint64_t n = number;
    memcpy(record, &ns, sizeof ns);
    memcpy(record + 8, &n, sizeof n);
    for (unsigned i = 2; i < w->n_random + 2; i++) {
        make_value(w, &w->schema.columns[i], record + w->schema.columns[i].offset);
    }
    struct ef_bytes part = {w->keys[number], draw(w, KEYS_PER_RECORD + 1)};
    for (uint32_t i = 0; i < part.len; i++) {
        w->keys[number][i] = (uint8_t) draw(w, 200);
    }
    memcpy(record + w->schema.columns[w->n_random + 2].offset, &part, sizeof part);
}

static struct world *
make_world(unsigned seed, uint32_t n_records)
{
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->seed = seed;
    make_schema(w);
    w->n_records = n_records;
    for (uint32_t i = 0; i < n_records; i++) {
        make_record(w, i);
    }
    return w;
}

static struct ef_multilog *
make_log(struct world *w, unsigned n_writers, uint64_t memory_bytes)
{
    struct ef_multilog *log;
    struct ef_error err = EF_ERROR_INIT;
    struct ef_multilog_config config = {
        .schema = &w->schema, .memory_bytes = memory_bytes, .max_writers = n_writers, .bucket_rows = 64 << draw(w, 4)};
    if (ef_multilog_create(&config, &log, &err)) {
        fail_msg("%s", err.text);
    }
    return log;
}

/* --- Random questions, answered as they are written ----------------------------------- */

struct question {
    char text[4096];
    size_t len;
    bool *is_match; /* Of each record. */
    struct ef_predicate *predicate;
    struct ef_multilog_key_test key;
    struct ef_multilog_query query;
};

static void EF_PRINTF(2, 3) put(struct question *q, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    q->len += (size_t) vsnprintf(q->text + q->len, sizeof q->text - q->len, fmt, args);
    va_end(args);
    assert_true(q->len < sizeof q->text);
}

static void
put_value(struct question *q, const struct ef_column *column, const uint8_t *p)
{
    char text[EF_TIME_TEXT_SIZE];
    uint64_t number = 0;
    struct ef_time time;
    switch (column->type) {
    case EF_COLUMN_IPV4:
        put(q, "%u.%u.%u.%u", p[3], p[2], p[1], p[0]);
        break;
    case EF_COLUMN_MAC:
    case EF_COLUMN_IPV6:
        for (uint32_t i = 0; i < column->width; i += column->width == 6 ? 1 : 2) {
            put(q, "%s", i ? ":" : "");
            if (column->width == 6) {
                put(q, "%02x", p[i]);
            } else {
                put(q, "%x", p[i] << 8 | p[i + 1]);
            }
        }
        break;
    case EF_COLUMN_TIME:
        memcpy(&time, p, sizeof time);
        put(q, "%s", ef_time_format(time, text));
        break;
    default:
        memcpy(&number, p, column->width);
        put(q, "%llu", (unsigned long long) number);
    }
}

/* -1, 0 or 1: by the plain rules of each type, on a little-endian machine. */
static int
compare_values(const struct ef_column *column, const uint8_t *a, const uint8_t *b)
{
    int64_t x = 0, y = 0;
    if (!ef_column_is_number(column)) {
        return memcmp(a, b, column->width);
    }
    memcpy(&x, a, column->width);
    memcpy(&y, b, column->width);
    if (column->type == EF_COLUMN_TIME) {
        return (x > y) - (x < y);
    }
    return ((uint64_t) x > (uint64_t) y) - ((uint64_t) x < (uint64_t) y);
}

static const uint8_t *
value_of(const struct world *w, uint32_t number, const struct ef_column *column)
{
    return w->records[number] + column->offset;
}

static void
ask_test(struct world *w, struct question *q, bool *is_match)
{
    static const char *const relations[] = {"==", "!=", "<", "<=", ">", ">="};
    const struct ef_column *column = &w->schema.columns[draw(w, w->n_random + 2)];
    const uint8_t *a = value_of(w, draw(w, w->n_records), column), *b = value_of(w, draw(w, w->n_records), column);
    unsigned relation = draw(w, 2) ? 0 : draw(w, 7);
    put(q, "%s %s ", column->name, relation < 6 ? relations[relation] : "in {");
    put_value(q, column, a);
    if (relation == 6) {
        put(q, "..");
        put_value(q, column, b);
        put(q, "}");
    }
    for (uint32_t i = 0; i < w->n_records; i++) {
        int order = compare_values(column, value_of(w, i, column), a);
        const bool results[] = {order == 0, order != 0, order<0, order <= 0, order> 0, order >= 0,
                                order >= 0 && compare_values(column, value_of(w, i, column), b) <= 0};
        is_match[i] = results[relation];
    }
}

static void
ask(struct world *w, struct question *q, bool *is_match, unsigned depth)
{
    if (!depth || draw(w, 5) == 0) {
        ask_test(w, q, is_match);
        return;
    }
    bool is_negated = draw(w, 6) == 0, is_and = draw(w, 2);
    bool *child = malloc(w->n_records);
    assert_non_null(child);
    memset(is_match, is_and, w->n_records);
    put(q, "%s(", is_negated ? "!" : "");
    for (unsigned k = draw(w, 3) + 1; k > 0; k--) {
        ask(w, q, child, depth - 1);
        put(q, k > 1 ? is_and ? " && " : " || " : ")");
        for (uint32_t i = 0; i < w->n_records; i++) {
            is_match[i] = is_and ? is_match[i] && child[i] : is_match[i] || child[i];
        }
    }
    for (uint32_t i = 0; i < w->n_records; i++) {
        is_match[i] ^= is_negated;
    }
    free(child);
}

static void
ask_keys(struct world *w, struct question *q)
{
    q->key = (struct ef_multilog_key_test){.extract = extract_bytes, .key_type = EF_COLUMN_U8};
    q->key.low[0] = (uint8_t) draw(w, 200);
    q->key.high[0] = (uint8_t) (q->key.low[0] + (draw(w, 2) ? draw(w, 20) : 0));
    q->query.keys = &q->key;
    q->query.n_keys = 1;
    for (uint32_t i = 0; i < w->n_records; i++) {
        struct ef_bytes part;
        memcpy(&part, w->records[i] + w->schema.columns[w->n_random + 2].offset, sizeof part);
        bool is_found = false;
        for (uint32_t k = 0; k < part.len; k++) {
            uint8_t key = ((const uint8_t *) part.data)[k];
            is_found |= key >= q->key.low[0] && key <= q->key.high[0];
        }
        q->is_match[i] &= is_found;
    }
}

static void
ask_window(struct world *w, struct question *q)
{
    memcpy(&q->query.from, w->records[draw(w, w->n_records)], sizeof q->query.from);
    q->query.to.ns = q->query.from.ns + (draw(w, 2) ? draw(w, 3000000) : 50000);
    for (uint32_t i = 0; i < w->n_records; i++) {
        int64_t ns;
        memcpy(&ns, w->records[i], sizeof ns);
        q->is_match[i] &= ns >= q->query.from.ns && ns <= q->query.to.ns;
    }
}

static struct question *
make_question(struct world *w)
{
    struct question *q = calloc(1, sizeof *q);
    assert_non_null(q);
    q->is_match = malloc(w->n_records);
    assert_non_null(q->is_match);
    q->query.from.ns = INT64_MIN;
    q->query.to.ns = INT64_MAX;
    q->query.plan = (enum ef_multilog_plan) draw(w, 3);
    memset(q->is_match, true, w->n_records);
    if (draw(w, 10)) {
        struct ef_error err = EF_ERROR_INIT;
        ask(w, q, q->is_match, draw(w, 4));
        if (ef_predicate_compile(q->text, &w->schema, &q->predicate, &err)) {
            fail_msg("%s: %s", q->text, err.text);
        }
        q->query.predicate = q->predicate;
    }
    if (draw(w, 4) == 0) {
        ask_keys(w, q);
    }
    if (draw(w, 3) == 0) {
        ask_window(w, q);
    }
    return q;
}

static void
destroy_question(struct question *q)
{
    ef_predicate_destroy(q->predicate);
    free(q->is_match);
    free(q);
}

/* --- Answers -------------------------------------------------------------------------- */

static uint64_t
number_at(const struct ef_multilog_cursor *cursor)
{
    uint64_t number;
    memcpy(&number, ef_multilog_column(cursor, 1, NULL), sizeof number);
    return number;
}

/* How often the answer has each record. */
static uint64_t
answer(struct ef_multilog *log, const struct ef_multilog_query *query, uint8_t times[MAX_RECORDS])
{
    struct ef_multilog_cursor *cursor;
    assert_int_equal(ef_multilog_query(log, query, &cursor), 0);
    memset(times, 0, MAX_RECORDS);
    while (ef_multilog_next(cursor)) {
        times[number_at(cursor)]++;
    }
    assert_false(ef_multilog_next(cursor));
    uint64_t n_missed = ef_multilog_n_missed(cursor);
    ef_multilog_cursor_close(cursor);
    return n_missed;
}

/* Counts and adds up the numbers of the records that match. */
static void
check_aggregates(struct world *w, struct ef_multilog *log, const struct question *q, const uint8_t *is_there)
{
    struct ef_aggregate_value count, sum, expected = EF_AGGREGATE_VALUE_INIT;
    for (uint32_t i = 0; i < w->n_records; i++) {
        if (is_there[i] && q->is_match[i]) {
            struct ef_aggregate_value one = {1, i, i, i};
            ef_aggregate_merge(&expected, &one);
        }
    }
    struct ef_aggregate_spec spec = {EF_AGGREGATE_COUNT, 0};
    assert_int_equal(ef_multilog_aggregate_query(log, &q->query, &spec, &count), 0);
    assert_int_equal(count.count, expected.count);
    spec = (struct ef_aggregate_spec){EF_AGGREGATE_SUM, 1};
    assert_int_equal(ef_multilog_aggregate_query(log, &q->query, &spec, &sum), 0);
    assert_int_equal(sum.count, expected.count);
    assert_true(sum.sum == expected.sum);
    assert_int_equal(sum.min, expected.min);
    assert_int_equal(sum.max, expected.max);
}

/* Nobody appends: the answer is every record that is there and matches, once.
 * Buckets may leave all the same, since the indexes that are being built need
 * memory: what is there before and after the question counts. */
static void
check_question(struct world *w, struct ef_multilog *log)
{
    struct question *q = make_question(w);
    uint8_t is_there[MAX_RECORDS], times[MAX_RECORDS], is_still_there[MAX_RECORDS];
    struct ef_multilog_query all = {.from = {INT64_MIN}, .to = {INT64_MAX}};
    ef_multilog_snapshot(log, &all.snapshot);
    q->query.snapshot = all.snapshot;
    answer(log, &all, is_there);
    answer(log, &q->query, times);
    answer(log, &all, is_still_there);
    for (uint32_t i = 0; i < w->n_records; i++) {
        if (times[i] < (is_still_there[i] && q->is_match[i]) || times[i] > (is_there[i] && q->is_match[i])) {
            fail_msg("record %u is there %u and matches %d times, but was found %u times: %s", i, is_there[i],
                     q->is_match[i], times[i], q->text);
        }
    }
    ef_multilog_flush_derived(log); /* Now nothing leaves any more. */
    answer(log, &all, is_there);
    check_aggregates(w, log, q, is_there);
    destroy_question(q);
}

static void
change_index(struct world *w, struct ef_multilog *log)
{
    unsigned column = draw(w, w->n_columns);
    struct ef_multilog_index index = {.column = w->columns[column].name};
    struct ef_error err = EF_ERROR_INIT;
    if (column == w->n_columns - 1) {
        index.extract = extract_bytes;
        index.key_type = EF_COLUMN_U8;
    }
    if (draw(w, 4) == 0) {
        int rc = ef_multilog_remove_index(log, &index);
        assert_true(rc == 0 || rc == -ENOENT);
    } else {
        int rc = ef_multilog_add_index(log, &index, &err);
        assert_true(rc == 0 || rc == -EEXIST || rc == -ENOSPC || rc == -EBUSY);
    }
}

/* Appends the world's records through writers, in batches, with questions and
 * new and old indexes in between. */
static void
check_world(unsigned seed, uint64_t memory_bytes)
{
    struct world *w = make_world(seed, 2000 + seed % 3 * 2000);
    unsigned n_writers = 1 + draw(w, 3);
    struct ef_multilog *log = make_log(w, n_writers, memory_bytes);
    struct ef_multilog_writer *writers[3];
    for (unsigned i = 0; i < n_writers; i++) {
        assert_int_equal(ef_multilog_writer_open(log, &writers[i]), 0);
    }
    for (uint32_t i = 0, n; i < w->n_records; i += n) {
        n = 1 + draw(w, 64);
        n = EF_MIN(n, w->n_records - i);
        assert_int_equal(ef_multilog_append(writers[draw(w, n_writers)], w->records[i], n), 0);
        if (draw(w, 20) == 0) {
            change_index(w, log);
        }
        if (draw(w, 30) == 0) {
            ef_multilog_flush_derived(log);
        }
        if (draw(w, 15) == 0) {
            check_question(w, log);
        }
    }
    for (unsigned i = 0; i < n_writers; i++) {
        ef_multilog_writer_close(writers[i]);
    }
    ef_multilog_flush_derived(log);
    for (int i = 0; i < 30; i++) {
        check_question(w, log);
    }
    ef_multilog_destroy(log);
    free(w);
}

static void
test_query_equals_scan(void **state)
{
    (void) state;
    for (unsigned seed = 1; seed <= 25; seed++) {
        check_world(seed, 64 << 20);
    }
}

/* Memory for a part of the records only: they leave, and so do their indexes. */
static void
test_query_while_evicting(void **state)
{
    (void) state;
    for (unsigned seed = 100; seed < 125; seed++) {
        check_world(seed, 1 << 20);
    }
}

/* --- Writers at work ------------------------------------------------------------------ */

enum { N_WRITERS = 2 };

struct workshop {
    struct world *world;
    struct ef_multilog *log;
    _Atomic uint32_t n_done;
    struct appender {
        struct workshop *shop;
        struct ef_multilog_writer *writer;
        unsigned number;
        pthread_t thread;
    } appenders[N_WRITERS];
};

/* Writer k appends the records whose number modulo N_WRITERS is k, in order. */
static void *
append_all(void *appender_)
{
    struct appender *appender = appender_;
    struct workshop *shop = appender->shop;
    for (uint32_t i = appender->number; i < shop->world->n_records; i += N_WRITERS) {
        assert_int_equal(ef_multilog_append(appender->writer, shop->world->records[i], 1), 0);
    }
    atomic_fetch_add(&shop->n_done, 1);
    return NULL;
}

/* What left meanwhile may be missing, nothing else; what is there matches and
 * the snapshot has it. */
static void
check_while_writing(struct workshop *shop)
{
    struct world *w = shop->world;
    struct question *q = make_question(w);
    uint8_t times[MAX_RECORDS];
    uint64_t n_absent = 0;
    ef_multilog_snapshot(shop->log, &q->query.snapshot);
    uint64_t n_missed = answer(shop->log, &q->query, times);
    for (uint32_t i = 0; i < w->n_records; i++) {
        bool is_visible = i / N_WRITERS < q->query.snapshot.tails[i % N_WRITERS];
        if (times[i] > (is_visible && q->is_match[i])) {
            fail_msg("record %u, visible %d, match %d, found %u times: %s", i, is_visible, q->is_match[i], times[i],
                     q->text);
        }
        n_absent += is_visible && q->is_match[i] && !times[i];
    }
    struct ef_multilog_stats stats;
    ef_multilog_stats(shop->log, &stats);
    assert_true(n_absent <= n_missed + stats.n_evicted);
    destroy_question(q);
}

static void
check_workshop(unsigned seed, uint64_t memory_bytes)
{
    struct workshop shop = {.world = make_world(seed, MAX_RECORDS)};
    shop.log = make_log(shop.world, N_WRITERS, memory_bytes);
    for (unsigned i = 0; i < N_WRITERS; i++) {
        struct appender *appender = &shop.appenders[i];
        appender->shop = &shop;
        appender->number = i;
        assert_int_equal(ef_multilog_writer_open(shop.log, &appender->writer), 0);
        assert_int_equal(pthread_create(&appender->thread, NULL, append_all, appender), 0);
    }
    do {
        change_index(shop.world, shop.log);
        check_while_writing(&shop);
    } while (atomic_load(&shop.n_done) < N_WRITERS);
    for (unsigned i = 0; i < N_WRITERS; i++) {
        pthread_join(shop.appenders[i].thread, NULL);
        ef_multilog_writer_close(shop.appenders[i].writer);
    }
    for (int i = 0; i < 5; i++) {
        change_index(shop.world, shop.log);
        check_while_writing(&shop);
    }
    ef_multilog_destroy(shop.log);
    free(shop.world);
}

static void
test_query_while_writing(void **state)
{
    (void) state;
    for (unsigned seed = 200; seed < 220; seed++) {
        check_workshop(seed, 64 << 20);
    }
}

static void
test_query_while_writing_and_evicting(void **state)
{
    (void) state;
    for (unsigned seed = 300; seed < 320; seed++) {
        check_workshop(seed, 1 << 20);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_query_equals_scan),
        cmocka_unit_test(test_query_while_evicting),
        cmocka_unit_test(test_query_while_writing),
        cmocka_unit_test(test_query_while_writing_and_evicting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
