/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of analyzer/trace_store: order, limits, windows, filters, eviction,
 * and writers and readers at the same time. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/trace_store.h"
#include "filter/filter.h"
#include "packet/build.h"

enum { STORE_BYTES = 2 << 20, QUERY_BYTES = 4 << 20 };

/* A trace whose parts all follow from `start`, so that a mixed-up one is
 * noticed. */
static void
make_trace(struct ef_trace *t, int64_t start)
{
    struct ef_build b;
    memset(t, 0, offsetof(struct ef_trace, hops));
    t->id = (uint64_t) start * 3;
    t->start.ns = start;
    t->n_hops = (uint8_t) (1 + start % 7);
    ef_build_start(&b, t->bytes, sizeof t->bytes);
    ef_build_eth(&b);
    ef_build_ipv4(&b, "10.1.0.2", "10.4.0.3");
    ef_build_tcp(&b, (uint16_t) (start % 100), 80, EF_TCP_SYN);
    t->n_bytes = (uint16_t) (ef_build_finish(&b) + (int) (start % 3)); /* Padding. */
    t->wire_len = 54;
    for (int i = 0; i < t->n_hops; i++) {
        t->hops[i] = (struct ef_hop){.switch_address = {[15] = (uint8_t) (start % 5)}, .arrival = {start + i}};
    }
}

static void
check_trace(const struct ef_trace *t)
{
    struct ef_trace expected;
    make_trace(&expected, t->start.ns);
    assert_int_equal(t->id, expected.id);
    assert_int_equal(t->n_hops, expected.n_hops);
    assert_int_equal(t->n_bytes, expected.n_bytes);
    assert_memory_equal(t->bytes, expected.bytes, t->n_bytes);
    assert_memory_equal(t->hops, expected.hops, t->n_hops * sizeof t->hops[0]);
}

static struct ef_trace_store *
create(unsigned n_writers)
{
    struct ef_trace_store *store;
    struct ef_error err = EF_ERROR_INIT;
    assert_int_equal(ef_trace_store_create(n_writers, STORE_BYTES, QUERY_BYTES, &store, &err), 0);
    return store;
}

static void
append(struct ef_trace_store *store, unsigned writer, int64_t start)
{
    struct ef_trace t;
    make_trace(&t, start);
    ef_trace_store_append(store, writer, &t);
}

static struct ef_trace_query
everything(uint64_t limit)
{
    return (struct ef_trace_query){.start = {INT64_MIN}, .end = {INT64_MAX}, .limit = limit};
}

struct result {
    uint64_t n;
    int64_t first, last;
    bool more;
};

/* Asks, checks each trace and the order. */
static struct result
ask(struct ef_trace_store *store, struct ef_trace_query query)
{
    struct ef_trace_cursor *cursor;
    struct ef_error err = EF_ERROR_INIT;
    struct result r = {.first = INT64_MIN, .last = INT64_MIN};
    assert_int_equal(ef_trace_store_query(store, &query, &cursor, &err), 0);
    struct ef_trace t;
    for (int rc; (rc = ef_trace_cursor_next(cursor, &t));) {
        if (rc > 0) {
            check_trace(&t);
            assert_true(t.start.ns >= r.last);
            r.first = r.n++ ? r.first : t.start.ns;
            r.last = t.start.ns;
        } else {
            assert_int_equal(rc, -EAGAIN);
        }
    }
    r.more = ef_trace_cursor_more(cursor);
    ef_trace_cursor_close(cursor);
    return r;
}

static void
answers_are_in_order_and_limited(void **state)
{
    struct ef_trace_store *store = create(2);
    /* Written in another order than they started, to two writers. */
    for (int64_t i = 0; i < 1000; i++) {
        append(store, (unsigned) (i % 2), (i * 7919) % 1000 + 1);
    }
    assert_int_equal(ask(store, everything(0)).n < 1000, 1); /* Not all is flushed. */
    ef_trace_store_flush(store, 0);
    ef_trace_store_flush(store, 1);
    struct result r = ask(store, everything(0));
    assert_int_equal(r.n, 1000);
    assert_int_equal(r.first, 1);
    assert_int_equal(r.last, 1000);
    assert_false(r.more);
    r = ask(store, everything(100));
    assert_int_equal(r.n, 100);
    assert_int_equal(r.first, 901);
    assert_true(r.more);
    r = ask(store, everything(1000));
    assert_int_equal(r.n, 1000);
    assert_false(r.more);
    r = ask(store, (struct ef_trace_query){.start = {10}, .end = {20}, .limit = 5});
    assert_int_equal(r.n, 5);
    assert_int_equal(r.first, 16);
    assert_int_equal(r.last, 20);
    assert_true(r.more);
    assert_int_equal(ask(store, (struct ef_trace_query){.start = {2000}, .end = {3000}}).n, 0);
    assert_int_equal(ask(store, (struct ef_trace_query){.start = {20}, .end = {10}}).n, 0);
    ef_trace_store_destroy(store);
}

static void
filters_choose(void **state)
{
    static const struct {
        const char *filter, *condition;
        uint64_t n;
    } cases[] = {
        {"tcp.srcport == 7", NULL, 10},
        {"switch == ::2", NULL, 200},
        {NULL, "trace.hops == 1", 142},
        {"tcp.srcport == 7", "trace.hops == 1", 2},
        {"udp", NULL, 0},
    };
    struct ef_trace_store *store = create(1);
    for (int64_t i = 1; i <= 1000; i++) {
        append(store, 0, i);
    }
    ef_trace_store_flush(store, 0);
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        struct ef_filter *filter = NULL, *condition = NULL;
        struct ef_error err = EF_ERROR_INIT;
        if (cases[i].filter) {
            assert_int_equal(ef_filter_compile(cases[i].filter, EF_FILTER_PACKET, &filter, &err), 0);
        }
        if (cases[i].condition) {
            assert_int_equal(ef_filter_compile(cases[i].condition, EF_FILTER_CONDITION, &condition, &err), 0);
        }
        struct ef_trace_query query = everything(0);
        query.filter = filter;
        query.condition = condition;
        assert_int_equal(ask(store, query).n, cases[i].n);
        ef_filter_destroy(filter);
        ef_filter_destroy(condition);
    }
    ef_trace_store_destroy(store);
}

static void
the_oldest_make_room(void **state)
{
    enum { N = 20000 };
    struct ef_trace_store *store = create(1);
    for (int64_t i = 1; i <= N; i++) {
        append(store, 0, i);
        if (i % 97 == 0) {
            ef_trace_store_flush(store, 0);
        }
    }
    ef_trace_store_flush(store, 0);
    ef_trace_store_settle(store); /* Indexes make room, too. */
    struct ef_trace_store_stats stats;
    ef_trace_store_stats(store, &stats);
    assert_int_equal(stats.n_stored + stats.n_evicted, N);
    assert_true(stats.n_evicted > N / 2);
    assert_true(stats.used_bytes <= STORE_BYTES);
    assert_true(stats.used_bytes > STORE_BYTES / 10 * 8);
    assert_true(stats.has_oldest);
    assert_int_equal(stats.oldest.ns, N - (int64_t) stats.n_stored + 1);
    assert_int_equal(stats.newest_evicted.ns, stats.oldest.ns - 1);
    struct result r = ask(store, everything(0));
    assert_int_equal(r.n, stats.n_stored);
    assert_int_equal(r.first, stats.oldest.ns);
    assert_int_equal(r.last, N);
    ef_trace_store_destroy(store);
}

static void
what_is_evicted_during_an_answer_is_left_out(void **state)
{
    struct ef_trace_store *store = create(1);
    for (int64_t i = 1; i <= 3000; i++) {
        append(store, 0, i);
    }
    ef_trace_store_flush(store, 0);
    struct ef_trace_query query = everything(0);
    struct ef_trace_cursor *cursor;
    assert_int_equal(ef_trace_store_query(store, &query, &cursor, NULL), 0);
    struct ef_trace t;
    int rc;
    while ((rc = ef_trace_cursor_next(cursor, &t)) == -EAGAIN) {
    }
    assert_int_equal(rc, 1);
    assert_int_equal(t.start.ns, 1);
    assert_int_equal(ef_trace_cursor_left(cursor), 2999);
    assert_int_equal(ef_trace_cursor_lost(cursor), 0);
    for (int64_t i = 3001; i <= 6000; i++) {
        append(store, 0, i);
    }
    ef_trace_store_flush(store, 0);
    uint64_t n = 0;
    int64_t last = 0;
    while ((rc = ef_trace_cursor_next(cursor, &t)) > 0) {
        check_trace(&t);
        last = t.start.ns;
        n++;
    }
    assert_int_equal(rc, 0);
    assert_int_equal(last, 3000); /* Nothing newer than the question. */
    assert_true(n < 2999 && n > 100);
    assert_int_equal(ef_trace_cursor_left(cursor), 0);
    assert_int_equal(ef_trace_cursor_lost(cursor), 2999 - n);
    ef_trace_cursor_close(cursor);
    ef_trace_store_destroy(store);
}

static void
memory_of_answers_is_bounded(void **state)
{
    enum { MAX_CURSORS = 200 };
    struct ef_trace_store *store = create(1);
    struct ef_trace_cursor *cursors[MAX_CURSORS];
    struct ef_trace_query query = everything(0);
    struct ef_error err = EF_ERROR_INIT;
    int n = 0;
    append(store, 0, 1);
    ef_trace_store_flush(store, 0);
    while (n < MAX_CURSORS && !ef_trace_store_query(store, &query, &cursors[n], &err)) {
        n++;
    }
    assert_in_range(n, 10, QUERY_BYTES >> 16);
    assert_non_null(strstr(err.text, "too many"));
    struct ef_trace_store_stats stats;
    ef_trace_store_stats(store, &stats);
    assert_int_equal(stats.n_queries, n);
    while (n > 0) {
        ef_trace_cursor_close(cursors[--n]);
    }
    assert_int_equal(ask(store, query).n, 1);
    ef_trace_store_destroy(store);
}

static void
nothing_is_a_whole_answer(void **state)
{
    struct ef_trace_store *store = create(3);
    struct result r = ask(store, everything(0));
    assert_int_equal(r.n, 0);
    assert_false(r.more);
    struct ef_trace_store_stats stats;
    ef_trace_store_stats(store, &stats);
    assert_false(stats.has_oldest);
    assert_int_equal(stats.newest_evicted.ns, INT64_MIN);
    ef_trace_store_destroy(store);
    struct ef_error err = EF_ERROR_INIT;
    assert_int_equal(ef_trace_store_create(64, 1000, 1000, &store, &err), -EINVAL);
}

/* --- Threads -------------------------------------------------------------------- */

enum { WRITERS = 2, PER_WRITER = 30000 };

struct writer_job {
    struct ef_trace_store *store;
    unsigned number;
};

static void *
write_many(void *arg)
{
    struct writer_job *job = arg;
    for (int64_t i = 1; i <= PER_WRITER; i++) {
        append(job->store, job->number, i * WRITERS + job->number);
        if (i % 50 == 0) {
            ef_trace_store_flush(job->store, job->number);
        }
    }
    ef_trace_store_flush(job->store, job->number);
    return NULL;
}

static void
writers_and_readers_do_not_disturb_each_other(void **state)
{
    struct ef_trace_store *store = create(WRITERS);
    pthread_t threads[WRITERS];
    struct writer_job jobs[WRITERS];
    for (unsigned i = 0; i < WRITERS; i++) {
        jobs[i] = (struct writer_job){store, i};
        assert_int_equal(pthread_create(&threads[i], NULL, write_many, &jobs[i]), 0);
    }
    struct ef_trace_store_stats stats;
    do {
        struct result r = ask(store, everything(0));
        ask(store, everything(10));
        ef_trace_store_stats(store, &stats);
        assert_true(stats.n_stored + stats.n_evicted >= r.n);
    } while (stats.n_stored + stats.n_evicted < WRITERS * PER_WRITER);
    for (unsigned i = 0; i < WRITERS; i++) {
        pthread_join(threads[i], NULL);
    }
    ef_trace_store_settle(store);
    ef_trace_store_stats(store, &stats);
    assert_int_equal(ask(store, everything(0)).n, stats.n_stored);
    ef_trace_store_destroy(store);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_in_order_and_limited),
        cmocka_unit_test(filters_choose),
        cmocka_unit_test(the_oldest_make_room),
        cmocka_unit_test(what_is_evicted_during_an_answer_is_left_out),
        cmocka_unit_test(memory_of_answers_is_bounded),
        cmocka_unit_test(nothing_is_a_whole_answer),
        cmocka_unit_test(writers_and_readers_do_not_disturb_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
