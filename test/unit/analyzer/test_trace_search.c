/* SPDX-License-Identifier: Apache-2.0 */
/* Answers out of memory and archive against a simple model: each trace that was
 * ever closed once, in order, with the newest where there is a limit; wherever it
 * is by now, while it moves, and over restarts. */
#include <config.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "analyzer/trace_bounds.h"
#include "analyzer/trace_row.h"
#include "analyzer/trace_search.h"
#include "filter/filter.h"
#include "packet/build.h"

enum {
    N_WRITERS = 2,
    MAX_TRACES = 1 << 17,
    STORE_BYTES = 1 << 20, /* Some 3,500 traces. */
    QUERY_BYTES = 16 << 20,
    PATIENCE_MS = 60000,
};

/* The model: all that was closed, in order of start. Trace `number` has it as id. */
static struct ef_time starts[MAX_TRACES];
static uint64_t n_traces;
static bool starts_differ;

static char dir[64];
static struct ef_trace_store *store;
static struct ef_archiver *archiver;
static uint64_t random_state = 1;

static uint64_t
any(uint64_t n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 33) % n;
}

/* --- Setting up ------------------------------------------------------------------------ */

static void
begin_run(void)
{
    struct ef_archiver_config config = {.dir = dir};
    struct ef_error err = EF_ERROR_INIT;
    assert_int_equal(ef_trace_store_create(N_WRITERS, STORE_BYTES, QUERY_BYTES, &store, &err), 0);
    if (ef_archiver_create(&config, store, &archiver, &err) || ef_archiver_start(archiver, &err)) {
        fail_msg("%s", err.text);
    }
}

static void
end_run(void)
{
    ef_archiver_destroy(archiver);
    ef_trace_store_destroy(store);
    archiver = NULL;
    store = NULL;
}

static int
set_up(void **state)
{
    n_traces = 0;
    starts_differ = false;
    strcpy(dir, "/tmp/ef-search-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int
tear_down(void **state)
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

static void
make_trace(struct ef_trace *t, uint64_t number)
{
    struct ef_build b;
    memset(t, 0, sizeof *t);
    t->id = number;
    t->start = t->end = starts[number];
    ef_build_start(&b, t->bytes, sizeof t->bytes);
    ef_build_eth(&b);
    ef_build_ipv4(&b, "10.1.0.2", "10.4.0.3");
    ef_build_tcp(&b, (uint16_t) (number % 10), 80, EF_TCP_SYN);
    t->n_bytes = (uint16_t) ef_build_finish(&b);
    t->wire_len = t->n_bytes;
    t->n_hops = (uint8_t) (1 + number % 3);
    t->loop = number % 1000 == 0;
    for (unsigned i = 0; i < t->n_hops; i++) {
        t->hops[i].arrival = t->start;
    }
}

/* Waits until the archiver has taken all but `n`, so that it misses nothing. */
static void
wait_for_archiver(uint64_t n_appended, uint64_t n)
{
    struct ef_archiver_stats stats;
    struct ef_time deadline = ef_time_add_ms(ef_time_mono(), PATIENCE_MS);
    while (ef_archiver_stats(archiver, &stats), stats.n_taken + n < n_appended) {
        if (!ef_time_before(ef_time_mono(), deadline)) {
            fail_msg("the archiver did not come after");
        }
        ef_archiver_hurry(archiver);
        usleep(200);
    }
    assert_int_equal(stats.n_missed, 0);
}

/* Closes `n` traces that start around `now_ms`, not in order, ever later. */
static void
close_traces(uint64_t n, int64_t now_ms)
{
    static struct ef_trace trace;
    for (uint64_t i = 0; i < n; i++) {
        starts[n_traces].ns = (now_ms + (int64_t) i) * EF_NS_PER_MS + (int64_t) any(300) * EF_NS_PER_MS;
        starts[n_traces].ns += starts_differ ? (int64_t) n_traces : 0;
        make_trace(&trace, n_traces++);
        /* Not evenly: one writer's memory goes further back. */
        ef_trace_store_append(store, any(4) == 0, &trace);
        if (i % 50 == 49 || i + 1 == n) {
            ef_trace_store_flush(store, 0);
            ef_trace_store_flush(store, 1);
        }
        if (i % 500 == 499) {
            struct ef_archiver_stats stats;
            ef_archiver_stats(archiver, &stats);
            struct ef_trace_store_stats memory;
            ef_trace_store_stats(store, &memory);
            wait_for_archiver(memory.n_stored + memory.n_evicted, 0);
        }
    }
}

/* --- The model --------------------------------------------------------------------------- */

struct question {
    struct ef_time start, end;
    uint64_t limit;
    const char *filter, *condition;
    unsigned modulus, rest; /* What the filter says about the number. */
    bool has_before;
    struct ef_trace_key before;
};

static bool
is_asked_for(const struct question *q, uint32_t i)
{
    struct ef_trace_key key = {starts[i], i};
    return starts[i].ns >= q->start.ns && starts[i].ns <= q->end.ns && i % q->modulus == q->rest &&
           (!q->has_before || ef_trace_key_compare(key, q->before) < 0);
}

static int
compare_numbers(const void *a_, const void *b_)
{
    uint32_t a = *(const uint32_t *) a_, b = *(const uint32_t *) b_;
    int64_t x = starts[a].ns, y = starts[b].ns;
    return x != y ? (x > y) - (x < y) : (a > b) - (a < b);
}

/* The numbers that answer `q`, in order. Returns how many, and in `*more` whether
 * there are older ones. */
static uint64_t
expected_answer(const struct question *q, uint32_t *numbers, bool *more)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < n_traces; i++) {
        if (is_asked_for(q, i)) {
            numbers[n++] = i;
        }
    }
    qsort(numbers, n, sizeof *numbers, compare_numbers);
    *more = q->limit && n > q->limit;
    if (*more) {
        memmove(numbers, numbers + n - q->limit, q->limit * sizeof *numbers);
        n = q->limit;
    }
    return n;
}

/* --- Asking -------------------------------------------------------------------------------- */

static struct ef_filter *condition;

static struct ef_trace_search *
begin_search(const struct question *q, struct ef_filter **filter)
{
    struct ef_error err = EF_ERROR_INIT;
    struct ef_trace_search *search;
    *filter = NULL;
    condition = NULL;
    if (q->condition) {
        assert_int_equal(ef_filter_compile(q->condition, EF_FILTER_CONDITION, &condition, &err), 0);
    }
    if (q->filter) {
        assert_int_equal(ef_filter_compile(q->filter, EF_FILTER_PACKET, filter, &err), 0);
    }
    struct ef_trace_query query = {.filter = *filter,
                                   .condition = condition,
                                   .start = q->start,
                                   .end = q->end,
                                   .has_before = q->has_before,
                                   .before = q->before,
                                   .limit = q->limit};
    if (ef_trace_search_create(store, archiver, &query, &search, &err)) {
        fail_msg("%s", err.text);
    }
    return search;
}

static int
next_trace(struct ef_trace_search *search, struct ef_trace *trace)
{
    struct ef_time deadline = ef_time_add_ms(ef_time_mono(), PATIENCE_MS);
    int rc;
    while ((rc = ef_trace_search_next(search, trace)) == -EAGAIN) {
        if (!ef_time_before(ef_time_mono(), deadline)) {
            fail_msg("no trace and no end");
        }
    }
    return rc;
}

/* Asks, and compares each trace. */
static void
check(const struct question *q)
{
    static uint32_t numbers[MAX_TRACES];
    static struct ef_trace trace, expected;
    struct ef_filter *filter;
    bool more;
    uint64_t n = expected_answer(q, numbers, &more), i = 0;
    struct ef_trace_search *search = begin_search(q, &filter);
    for (; next_trace(search, &trace); i++) {
        assert_true(i < n);
        assert_int_equal(trace.id, numbers[i]);
        make_trace(&expected, trace.id);
        assert_memory_equal(&trace, &expected, offsetof(struct ef_trace, bytes));
        assert_memory_equal(trace.bytes, expected.bytes, trace.n_bytes);
    }
    assert_int_equal(i, n);
    assert_int_equal(ef_trace_search_more(search), more);
    assert_null(ef_trace_search_incomplete(search));
    ef_trace_search_destroy(search);
    ef_filter_destroy(filter);
    ef_filter_destroy(condition);
}

static void
check_some(unsigned n_questions, int64_t from_ms, int64_t to_ms)
{
    static const uint64_t limits[] = {0, 1, 10, 100, 3000, 20000};
    check(&(struct question){{INT64_MIN}, {INT64_MAX}, .modulus = 1});
    check(&(struct question){{INT64_MIN}, {INT64_MAX}, .limit = 100, .modulus = 1});
    for (unsigned i = 0; i < n_questions; i++) {
        struct question q = {{INT64_MIN}, {INT64_MAX}, .limit = limits[any(6)], .modulus = 1};
        if (any(2)) {
            q.start.ns = (from_ms + (int64_t) any((uint64_t) (to_ms - from_ms))) * EF_NS_PER_MS;
        }
        if (any(2)) {
            q.end.ns = (from_ms + (int64_t) any((uint64_t) (to_ms - from_ms))) * EF_NS_PER_MS;
        }
        if (any(2)) {
            q.filter = "tcp.srcport == 7";
            q.modulus = 10;
            q.rest = 7;
        } else if (any(3) == 0) {
            q.condition = "trace.loop && trace.hops >= 1";
            q.modulus = 1000;
        }
        check(&q);
    }
}

/* --- Tests ----------------------------------------------------------------------------------- */

/* From the newest to the oldest, while traces are closed that are newer, and some
 * that are not. */
static void
test_pages(void **state)
{
    static uint32_t numbers[MAX_TRACES];
    begin_run();
    close_traces(6000, 0);
    wait_for_archiver(n_traces, 0);
    struct question q = {{INT64_MIN}, {INT64_MAX}, .limit = 50, .modulus = 10, .rest = 7};
    q.filter = "tcp.srcport == 7";
    bool more = true;
    unsigned n_pages = 0;
    for (; more; n_pages++) {
        uint64_t n = expected_answer(&q, numbers, &more);
        check(&q);
        q.has_before = true;
        q.before = (struct ef_trace_key){starts[numbers[0]], numbers[0]};
        q.limit = 1 + any(200);
        assert_true(n > 0);
        close_traces(20, 5000);
        wait_for_archiver(n_traces, 0);
    }
    assert_true(n_pages > 2);
    end_run();
}

static void
test_memory_and_archive(void **state)
{
    begin_run();
    for (int64_t now_ms = 0; now_ms < 20000; now_ms += 2500) {
        close_traces(2500, now_ms);
        check_some(10, -100, now_ms + 3000);
    }
    end_run();
}

/* What earlier runs archived, with a clock that was later, or the same, or earlier. */
static void
test_restarts(void **state)
{
    static const int64_t begins_ms[] = {0, 100000, 98000, 3000};
    for (unsigned i = 0; i < EF_ARRAY_SIZE(begins_ms); i++) {
        begin_run();
        check_some(5, -100, 110000);
        close_traces(6000, begins_ms[i]);
        check_some(25, -100, 110000);
        end_run();
    }
}

/* What memory had found is gone before it was reached: the archive has it, and
 * what was closed meanwhile may come as well. */
static void
test_eviction_during_an_answer(void **state)
{
    static uint8_t seen[MAX_TRACES];
    static const uint64_t limits[] = {0, 1500};
    static struct ef_trace trace;
    starts_differ = true;
    begin_run();
    close_traces(3000, 0);
    for (unsigned i = 0; i < EF_ARRAY_SIZE(limits); i++) {
        struct question q = {{INT64_MIN}, {INT64_MAX}, .limit = limits[i], .modulus = 1};
        struct ef_filter *filter;
        uint64_t n = 0, n_before = n_traces;
        bool more;
        static uint32_t numbers[MAX_TRACES];
        uint64_t n_expected = expected_answer(&q, numbers, &more);
        memset(seen, 0, sizeof seen);
        struct ef_trace_search *search = begin_search(&q, &filter);
        for (struct ef_time last = {INT64_MIN}; next_trace(search, &trace); n++) {
            assert_false(ef_time_before(trace.start, last));
            last = trace.start;
            assert_int_equal(seen[trace.id]++, 0);
            if (n == 100 || n == 500) {
                close_traces(1700, (int64_t) n_traces);
            }
        }
        assert_in_range(n, n_expected, limits[i] ? limits[i] : n_traces);
        for (uint64_t j = 0; j < n_expected && !limits[i]; j++) {
            assert_int_equal(seen[numbers[j]], 1);
        }
        assert_null(ef_trace_search_incomplete(search));
        ef_trace_search_destroy(search);
        assert_true(n_traces > n_before);
    }
    end_run();
}

/* A damaged file is said to be missing; the rest is there. */
static void
test_damaged_archive(void **state)
{
    static struct ef_trace trace;
    begin_run();
    close_traces(3000, 0);
    end_run();
    begin_run();
    close_traces(3000, 10000);
    DIR *d = opendir(dir);
    for (struct dirent *e; (e = readdir(d));) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        if (strstr(e->d_name, ".parquet")) {
            assert_int_equal(truncate(path, 100), 0);
        }
    }
    closedir(d);
    struct question q = {{INT64_MIN}, {INT64_MAX}, .modulus = 1};
    struct ef_filter *filter;
    struct ef_trace_search *search = begin_search(&q, &filter);
    uint64_t n = 0;
    for (; next_trace(search, &trace); n++) {
        assert_true(trace.id >= 3000);
    }
    assert_int_equal(n, 3000);
    assert_non_null(ef_trace_search_incomplete(search));
    ef_trace_search_destroy(search);
    end_run();
}

static void
test_limits(void **state)
{
    struct ef_trace_query query = {.end = {INT64_MAX}, .limit = (1 << 20) + 1};
    struct ef_trace_search *searches[EF_ARCHIVER_MAX_QUESTIONS + 1];
    struct ef_error err = EF_ERROR_INIT;
    static struct ef_trace trace;
    begin_run();
    assert_int_equal(ef_trace_search_create(store, archiver, &query, &searches[0], &err), -EINVAL);
    close_traces(100, 0);
    /* More questions than the archive takes at once: the last ones say so, and have what memory has. */
    query.limit = 0;
    for (unsigned i = 0; i < EF_ARRAY_SIZE(searches); i++) {
        assert_int_equal(ef_trace_search_create(store, archiver, &query, &searches[i], &err), 0);
        assert_int_equal(next_trace(searches[i], &trace), 1);
        assert_int_equal(ef_trace_search_incomplete(searches[i]) != NULL, i >= EF_ARCHIVER_MAX_QUESTIONS);
    }
    for (unsigned i = 0; i < EF_ARRAY_SIZE(searches); i++) {
        ef_trace_search_destroy(searches[i]);
    }
    check_some(1, 0, 100);
    end_run();
}

static void
test_bounds(void **state)
{
    static const struct {
        const char *condition, *bounds;
    } cases[] = {
        {"trace.loop", "loop 1..1"},
        {"trace.loop == 0", "loop 0..0"},
        {"trace.drop && trace.debug", "fate 2..2, debug 1..1"},
        {"trace.drop == 0", ""},
        {"trace.copies >= 7", "n_copies 7..4294967295"},
        {"trace.missing > 0 && (trace.copies < 9 && switch == 10.0.0.1)", "n_missing 1..4294967295, n_copies 0..8"},
        {"trace.loop || trace.drop", ""},
        {"!trace.loop", ""},
        {"trace.copies != 3", ""},
        {"trace.hops > 3", ""},
    };
    assert_int_equal(ef_trace_bounds(NULL, NULL), 0);
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        struct ef_archive_bound bounds[EF_TRACE_MAX_BOUNDS];
        struct ef_error err = EF_ERROR_INIT;
        struct ef_filter *filter;
        char text[200] = "";
        assert_int_equal(ef_filter_compile(cases[i].condition, EF_FILTER_CONDITION, &filter, &err), 0);
        unsigned n = ef_trace_bounds(filter, bounds);
        for (unsigned j = 0; j < n; j++) {
            size_t len = strlen(text);
            snprintf(text + len, sizeof text - len, "%s%s %llu..%llu", j ? ", " : "",
                     ef_trace_schema.columns[bounds[j].column].name, (unsigned long long) bounds[j].min,
                     (unsigned long long) bounds[j].max);
        }
        assert_string_equal(text, cases[i].bounds);
        ef_filter_destroy(filter);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_memory_and_archive, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_pages, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_restarts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_eviction_during_an_answer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damaged_archive, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_limits, set_up, tear_down),
        cmocka_unit_test(test_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
