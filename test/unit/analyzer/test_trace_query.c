/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of answers out of the traces' store: whatever the columns and indexes
 * say, an answer is what asking every trace gives; for random traces, filters,
 * conditions, identities, windows and limits, while traces come and leave. */
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

#include "analyzer/trace_store.h"
#include "unit/analyzer/random_traces.h"

enum { STORE_BYTES = 3 << 20, SMALL_STORE_BYTES = 1 << 20, QUERY_BYTES = 8 << 20 };

/* --- Answers -------------------------------------------------------------------------- */

struct answer {
    struct ef_trace *traces;
    size_t n, n_lost;
    bool more;
};

static struct answer
ask(struct ef_trace_store *store, const struct ef_trace_query *q)
{
    struct ef_trace_cursor *cursor;
    struct ef_error err = EF_ERROR_INIT;
    struct answer a = {0};
    struct ef_trace t;
    int rc;
    memset(&t, 0, sizeof t);
    assert_int_equal(ef_trace_store_query(store, q, &cursor, &err), 0);
    while ((rc = ef_trace_cursor_next(cursor, &t))) {
        if (rc > 0) {
            if (!(a.n & (a.n - 1))) { /* Full at each power of two. */
                a.traces = realloc(a.traces, (a.n ? 2 * a.n : 1) * sizeof t);
                assert_non_null(a.traces);
            }
            a.traces[a.n++] = t;
        }
    }
    a.more = ef_trace_cursor_more(cursor);
    a.n_lost = ef_trace_cursor_lost(cursor);
    if (q->is_explained) {
        char *text = ef_trace_cursor_explain(cursor);
        assert_non_null(text);
        assert_non_null(strstr(text, "\"plan\":{"));
        free(text);
    }
    ef_trace_cursor_close(cursor);
    return a;
}

static int
compare_starts(const void *a, const void *b)
{
    const struct ef_time *x = a, *y = b;
    return (x->ns > y->ns) - (x->ns < y->ns);
}

static int
compare_traces(const void *a, const void *b)
{
    const struct ef_trace *x = a, *y = b;
    return compare_starts(&x->start, &y->start);
}

/* The starts of the traces first to last - 1 that are asked for, in order. */
static size_t
scan(const struct ef_trace_query *q, uint64_t first, uint64_t last, struct ef_time *starts)
{
    size_t n = 0;
    for (uint64_t i = first; i < last; i++) {
        struct ef_trace t;
        make_trace(&t, i);
        if (is_asked_for(q, &t)) {
            starts[n++] = t.start;
        }
    }
    qsort(starts, n, sizeof *starts, compare_starts);
    return n;
}

/* From its start back to its number, whose rest of 4096 is in it. */
static uint64_t
number_of(const struct ef_trace *t)
{
    uint64_t at = (uint64_t) t->start.ns / 4096, rest = (uint64_t) t->start.ns % 4096;
    uint64_t later = (at - rest) % 4096;
    assert_true(later < 50);
    return at - later;
}

static void
answers_equal_a_scan(struct ef_trace_store *store, uint64_t first, uint64_t last, unsigned rounds, uint64_t *random)
{
    struct ef_time *starts = calloc(last - first + 1, sizeof *starts);
    for (unsigned i = 0; i < rounds; i++) {
        struct ef_trace_query q = make_query(last, random);
        struct answer a = ask(store, &q);
        size_t n = scan(&q, first, last, starts);
        size_t skipped = q.limit && n > q.limit ? n - q.limit : 0;
        if (a.n != n - skipped) {
            fail_msg("%zu of %zu traces for '%s' and '%s', limit %llu", a.n, n,
                     q.filter ? ef_filter_text(q.filter) : "", q.condition ? ef_filter_text(q.condition) : "",
                     (unsigned long long) q.limit);
        }
        for (size_t k = 0; k < a.n; k++) {
            assert_int_equal(a.traces[k].start.ns, starts[skipped + k].ns);
            if (k % 16 == 0) {
                check_same(&a.traces[k], number_of(&a.traces[k]));
            }
        }
        assert_int_equal(a.more, skipped > 0);
        assert_int_equal(a.n_lost, 0);
        free(a.traces);
        drop_query(&q);
    }
    free(starts);
}

static struct ef_trace_store *
create(unsigned n_writers, uint64_t bytes)
{
    struct ef_trace_store *store;
    struct ef_error err = EF_ERROR_INIT;
    assert_int_equal(ef_trace_store_create(n_writers, bytes, QUERY_BYTES, &store, &err), 0);
    return store;
}

static void
append(struct ef_trace_store *store, unsigned writer, uint64_t i)
{
    struct ef_trace t;
    make_trace(&t, i);
    ef_trace_store_append(store, writer, &t);
}

static void
an_answer_is_what_a_scan_gives(void **state)
{
    uint64_t random = 1;
    for (unsigned round = 0; round < 3; round++) {
        unsigned n_writers = 1 + round % 3;
        uint64_t n = 0;
        struct ef_trace_store *store = create(n_writers, STORE_BYTES);
        for (unsigned step = 0; step < 4; step++) {
            for (unsigned k = below(&random, 1500); k > 0; k--) {
                append(store, (unsigned) (n % n_writers), n);
                n++;
            }
            for (unsigned w = 0; w < n_writers; w++) {
                ef_trace_store_flush(store, w);
            }
            if (below(&random, 2)) { /* Else as far as the indexes are. */
                ef_trace_store_settle(store);
            }
            answers_equal_a_scan(store, 0, n, 8, &random);
        }
        struct ef_trace_store_stats stats;
        ef_trace_store_stats(store, &stats);
        assert_int_equal(stats.n_evicted, 0);
        ef_trace_store_destroy(store);
    }
}

static void
what_has_left_is_not_there(void **state)
{
    uint64_t random = 2, n = 0;
    struct ef_trace_store *store = create(1, SMALL_STORE_BYTES);
    struct ef_trace_store_stats stats;
    do {
        for (unsigned k = 0; k < 1500; k++) {
            append(store, 0, n++);
        }
        ef_trace_store_flush(store, 0);
        ef_trace_store_settle(store);
        ef_trace_store_stats(store, &stats);
        answers_equal_a_scan(store, stats.n_evicted, n, 4, &random);
    } while (stats.n_evicted < 6000);
    assert_int_equal(stats.n_refused, 0);
    ef_trace_store_destroy(store);
}

/* --- Threads -------------------------------------------------------------------------- */

enum { WRITERS = 2, PER_WRITER = 4000 };

struct job {
    struct ef_trace_store *store;
    unsigned number;
    _Atomic uint64_t n_visible; /* Its traces are number, number + WRITERS ... */
};

static void *
write_many(void *arg)
{
    struct job *job = arg;
    for (uint64_t i = 0; i < PER_WRITER; i++) {
        append(job->store, job->number, i * WRITERS + job->number);
        if (i % 37 == 0) {
            ef_trace_store_flush(job->store, job->number);
            atomic_store(&job->n_visible, i + 1);
        }
    }
    ef_trace_store_flush(job->store, job->number);
    atomic_store(&job->n_visible, PER_WRITER);
    return NULL;
}

/* What was visible before the question and is not older than what had left after
 * it must be there; nothing must be there that is not asked for. */
static bool
check_while_writing(struct ef_trace_store *store, struct job *jobs, uint64_t *random)
{
    struct ef_trace_query q = make_query((uint64_t) WRITERS * PER_WRITER, random);
    struct ef_trace_store_stats stats;
    uint64_t visible[WRITERS];
    bool is_over = true;
    q.limit = 0;
    for (unsigned w = 0; w < WRITERS; w++) {
        visible[w] = atomic_load(&jobs[w].n_visible);
        is_over &= visible[w] == PER_WRITER;
    }
    struct answer a = ask(store, &q);
    ef_trace_store_stats(store, &stats);
    for (size_t k = 0; k < a.n; k++) {
        assert_true(!k || a.traces[k].start.ns > a.traces[k - 1].start.ns);
        assert_true(is_asked_for(&q, &a.traces[k]));
    }
    uint64_t from = (uint64_t) (stats.newest_evicted.ns < 0 ? 0 : stats.newest_evicted.ns / 4096 + 1);
    for (uint64_t i = from; i < (uint64_t) WRITERS * PER_WRITER; i++) {
        struct ef_trace t;
        make_trace(&t, i);
        if (i / WRITERS < visible[i % WRITERS] && is_asked_for(&q, &t)) {
            const struct ef_trace *found = bsearch(&t, a.traces, a.n, sizeof t, compare_traces);
            assert_non_null(found);
            check_same(found, i);
        }
    }
    free(a.traces);
    drop_query(&q);
    return is_over;
}

static void
writers_do_not_disturb_answers(void **state)
{
    uint64_t random = 3;
    struct ef_trace_store *store = create(WRITERS, SMALL_STORE_BYTES);
    pthread_t threads[WRITERS];
    struct job jobs[WRITERS];
    for (unsigned i = 0; i < WRITERS; i++) {
        jobs[i] = (struct job){.store = store, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, write_many, &jobs[i]), 0);
    }
    while (!check_while_writing(store, jobs, &random)) {
    }
    for (unsigned i = 0; i < WRITERS; i++) {
        pthread_join(threads[i], NULL);
    }
    struct ef_trace_store_stats stats;
    ef_trace_store_stats(store, &stats);
    assert_true(stats.n_evicted > 0);
    assert_int_equal(stats.n_refused, 0);
    ef_trace_store_destroy(store);
}

/* Every trace once, or counted. */
static void
followers_miss_nothing_uncounted(void **state)
{
    struct ef_trace_store *store = create(WRITERS, SMALL_STORE_BYTES);
    struct ef_trace_follower *follower;
    pthread_t threads[WRITERS];
    struct job jobs[WRITERS];
    uint8_t *seen = calloc(WRITERS, PER_WRITER);
    struct ef_trace t;
    uint64_t n = 0;
    bool is_over;
    assert_int_equal(ef_trace_follower_open(store, &follower, NULL), 0);
    for (unsigned i = 0; i < WRITERS; i++) {
        jobs[i] = (struct job){.store = store, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, write_many, &jobs[i]), 0);
    }
    do {
        is_over = atomic_load(&jobs[0].n_visible) + atomic_load(&jobs[1].n_visible) == WRITERS * PER_WRITER;
        while (ef_trace_follower_next(follower, &t) > 0) {
            uint64_t i = number_of(&t);
            assert_false(seen[i]);
            seen[i] = 1;
            n++;
        }
    } while (!is_over);
    for (unsigned i = 0; i < WRITERS; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(n + ef_trace_follower_n_missed(follower), WRITERS * PER_WRITER);
    assert_true(n > 0);
    ef_trace_follower_close(follower);
    ef_trace_store_destroy(store);
    free(seen);
}

/* --- By index -------------------------------------------------------------------------- */

static char *
explain(struct ef_trace_store *store, const char *text)
{
    struct ef_trace_query q = {.start = {INT64_MIN}, .end = {INT64_MAX}, .is_explained = true};
    struct ef_filter *filter = NULL;
    struct ef_trace_cursor *cursor;
    struct ef_trace t;
    assert_int_equal(ef_filter_compile(text, EF_FILTER_ANY, &filter, NULL), 0);
    q.filter = filter;
    assert_int_equal(ef_trace_store_query(store, &q, &cursor, NULL), 0);
    while (ef_trace_cursor_next(cursor, &t)) {
    }
    char *explanation = ef_trace_cursor_explain(cursor);
    assert_non_null(explanation);
    ef_trace_cursor_close(cursor);
    ef_filter_destroy(filter);
    return explanation;
}

/* What the columns are asked can be read, and where indexes answer. */
static void
an_explanation_says_how(void **state)
{
    static const struct {
        const char *question, *parts[3];
    } cases[] = {
        {"ip.src == 10.0.0.3 && ip.ttl > 60",
         {"\"filter\":\"flags in {16..31, 48..63} || src in {10.0.0.3}\"", "\"columns_decide\":false"}},
        {"!(ip.src == 10.0.0.3) || tcp", {"\"filter\":\"\""}},
        {"trace.loop && !(trace.hops > 5)", {"\"columns_decide\":true", "\"traces_looked_at\":0"}},
        {"switch == ::2", {"\"index\":\"trace\"", "\"scanned\":1}"}},
    };
    struct ef_trace_store *store = create(1, STORE_BYTES);
    for (uint64_t i = 0; i < 5000; i++) {
        append(store, 0, i);
    }
    ef_trace_store_flush(store, 0);
    ef_trace_store_settle(store);
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        char *text = explain(store, cases[i].question);
        for (size_t k = 0; cases[i].parts[k]; k++) {
            if (!strstr(text, cases[i].parts[k])) {
                fail_msg("%s is not in %s", cases[i].parts[k], text);
            }
        }
        free(text);
    }
    ef_trace_store_destroy(store);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_is_what_a_scan_gives), cmocka_unit_test(what_has_left_is_not_there),
        cmocka_unit_test(writers_do_not_disturb_answers), cmocka_unit_test(followers_miss_nothing_uncounted),
        cmocka_unit_test(an_explanation_says_how),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
