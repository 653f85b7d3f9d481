/* SPDX-License-Identifier: Apache-2.0 */
/* Questions asked of the archive: whatever is left out by the statistics of row
 * groups and by some columns of rows, an answer is what asking every trace gives;
 * and something is left out. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "analyzer/trace_history.h"
#include "analyzer/trace_row.h"
#include "unit/analyzer/random_traces.h"

enum { N_TRACES = 3000, PATIENCE_MS = 60000 };

static char dir[64];
static struct ef_archive *archive;
static struct ef_archive_effort effort; /* Of all answers. */

static void
open_archive(uint64_t segment_bytes)
{
    struct ef_archive_config config = {.dir = dir, .schema = &ef_trace_schema, .segment_bytes = segment_bytes};
    struct ef_error err = EF_ERROR_INIT;
    if (ef_archive_open(&config, &archive, &err)) {
        fail_msg("%s", err.text);
    }
}

static int
set_up(void **state)
{
    memset(&effort, 0, sizeof effort);
    strcpy(dir, "/tmp/ef-sieve-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int
tear_down(void **state)
{
    DIR *d = opendir(dir);
    for (struct dirent *e; (e = readdir(d));) {
        unlinkat(dirfd(d), e->d_name, 0);
    }
    closedir(d);
    return rmdir(dir);
}

/* Trace `i` as the archive gives it back. */
static void
archived_trace(uint64_t i, struct ef_trace *t)
{
    static struct ef_trace_row row;
    static struct ef_trace whole;
    make_trace(&whole, i);
    ef_trace_to_row(&whole, &row);
    assert_true(ef_trace_of_row(&row, t));
}

static void
append_traces(void)
{
    static struct ef_trace_row row;
    static struct ef_trace trace;
    for (uint64_t i = 0; i < N_TRACES; i++) {
        make_trace(&trace, i);
        ef_trace_to_row(&trace, &row);
        ef_archive_append(archive, &row);
        ef_archive_flush(archive);
    }
}

static struct ef_trace_history *
begin(const struct ef_trace_query *q)
{
    struct ef_trace_history_query query = {.filter = q->filter,
                                           .condition = q->condition,
                                           .has_id = q->has_id,
                                           .id_low = q->id_low,
                                           .id_high = q->id_high,
                                           .from = {q->start, 0},
                                           .end = q->end,
                                           .limit = q->limit,
                                           .fresh_to = {INT64_MAX}};
    return ef_trace_history_create(archive, &query);
}

/* The starts of what is found, in order. */
static size_t
ask(const struct ef_trace_query *q, struct ef_time *starts, bool *more)
{
    static struct ef_trace trace, expected;
    struct ef_trace_history *h = begin(q);
    struct ef_archive_effort e;
    struct ef_time deadline = ef_time_add_ms(ef_time_mono(), PATIENCE_MS);
    size_t n = 0;
    for (int rc; (rc = ef_trace_history_next(h, &trace));) {
        assert_true(ef_time_before(ef_time_mono(), deadline));
        if (rc > 0) {
            assert_true(n < N_TRACES);
            starts[n++] = trace.start;
            assert_true(is_asked_for(q, &trace));
        }
    }
    if (n) { /* The last one, in full. */
        uint64_t at = (uint64_t) trace.start.ns / 4096, rest = (uint64_t) trace.start.ns % 4096;
        archived_trace(at - (at - rest) % 4096, &expected);
        assert_memory_equal(&trace, &expected, offsetof(struct ef_trace, bytes));
        assert_memory_equal(trace.bytes, expected.bytes, trace.n_bytes);
        assert_memory_equal(trace.hops, expected.hops, trace.n_hops * sizeof trace.hops[0]);
    }
    *more = ef_trace_history_more(h);
    assert_int_equal(ef_trace_history_n_failed(h), 0);
    ef_trace_history_effort(h, &e);
    effort.n_groups += e.n_groups;
    effort.n_groups_skipped += e.n_groups_skipped;
    effort.n_groups_sifted += e.n_groups_sifted;
    effort.n_rows += e.n_rows;
    effort.n_rows_read += e.n_rows_read;
    ef_trace_history_destroy(h);
    return n;
}

static int
compare_starts(const void *a, const void *b)
{
    const struct ef_time *x = a, *y = b;
    return (x->ns > y->ns) - (x->ns < y->ns);
}

static size_t
scan(const struct ef_trace_query *q, const struct ef_trace *traces, struct ef_time *starts)
{
    size_t n = 0;
    for (uint64_t i = 0; i < N_TRACES; i++) {
        if (is_asked_for(q, &traces[i])) {
            starts[n++] = traces[i].start;
        }
    }
    qsort(starts, n, sizeof *starts, compare_starts);
    return n;
}

static void
answers_equal_a_scan(unsigned rounds, uint64_t *random)
{
    static struct ef_time expected[N_TRACES], found[N_TRACES];
    struct ef_trace *traces = calloc(N_TRACES, sizeof *traces);
    assert_non_null(traces);
    for (uint64_t i = 0; i < N_TRACES; i++) {
        archived_trace(i, &traces[i]);
    }
    for (unsigned i = 0; i < rounds; i++) {
        struct ef_trace_query q = make_query(N_TRACES, random);
        bool more;
        size_t n = scan(&q, traces, expected), n_found = ask(&q, found, &more);
        size_t skipped = q.limit && n > q.limit ? n - q.limit : 0;
        if (n_found != n - skipped) {
            fail_msg("%zu of %zu traces for '%s' and '%s', limit %llu", n_found, n,
                     q.filter ? ef_filter_text(q.filter) : "", q.condition ? ef_filter_text(q.condition) : "",
                     (unsigned long long) q.limit);
        }
        if (n_found) {
            assert_memory_equal(found, expected + skipped, n_found * sizeof *found);
        }
        assert_int_equal(more, skipped > 0);
        drop_query(&q);
    }
    free(traces);
}

/* Segments of some ten traces, of which statistics leave many out. */
static void
test_small_segments(void **state)
{
    uint64_t random = 1;
    open_archive(4000);
    append_traces();
    answers_equal_a_scan(30, &random); /* While they are sealed, too. */
    ef_archive_close(archive);
    open_archive(4000);
    answers_equal_a_scan(80, &random);
    ef_archive_close(archive);
    assert_true(effort.n_groups_skipped > effort.n_groups / 20);
    assert_true(effort.n_groups_sifted > effort.n_groups / 20);
}

/* One segment, whose rows are sifted. */
static void
test_one_segment(void **state)
{
    uint64_t random = 2;
    open_archive(0);
    append_traces();
    answers_equal_a_scan(100, &random); /* In the spool. */
    ef_archive_close(archive);
    open_archive(0);
    answers_equal_a_scan(400, &random);
    ef_archive_close(archive);
    assert_true(effort.n_rows_read < effort.n_rows / 2);
}

/* What is asked for by address, identity or switch is read, and little else. */
static void
test_effort(void **state)
{
    static const char *const filters[] = {"ip.dst == 10.0.1.3", "tcp.dstport == 81 && ip.src == 10.0.0.2",
                                          "switch == 10.255.0.2 && udp"};
    static struct ef_time found[N_TRACES];
    struct ef_error err = EF_ERROR_INIT;
    open_archive(0);
    append_traces();
    ef_archive_close(archive);
    open_archive(0);
    for (size_t i = 0; i < EF_ARRAY_SIZE(filters); i++) {
        struct ef_filter *filter;
        bool more;
        assert_int_equal(ef_filter_compile(filters[i], EF_FILTER_PACKET, &filter, &err), 0);
        struct ef_trace_query q = {.filter = filter, .start = {INT64_MIN}, .end = {INT64_MAX}};
        memset(&effort, 0, sizeof effort);
        size_t n = ask(&q, found, &more);
        assert_true(n > 0);
        /* And the nested ones, a sixth. */
        assert_in_range(effort.n_rows_read, n, n + N_TRACES / 3);
        ef_filter_destroy(filter);
    }
    ef_archive_close(archive);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_small_segments, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one_segment, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_effort, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
