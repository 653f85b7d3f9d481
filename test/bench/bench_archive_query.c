/* SPDX-License-Identifier: Apache-2.0 */
/* Questions about a million traces, in memory and in the archive: by identity,
 * by address, by switch, by what few traces are, by what only the traces tell,
 * and for the newest. Milliseconds of processor time from the question to the last
 * trace of the answer. */
#include <config.h>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "analyzer/trace_history.h"
#include "analyzer/trace_row.h"
#include "bench/bench.h"
#include "bench/fabric_traces.h"
#include "filter/filter.h"
#include "store/archive/byte_buffer.h"

enum { N_TRACES = 1 << 20, RUNS = 5, FLUSH_EVERY = 256 };

static char dir[] = "/tmp/bench_archive_query.XXXXXX";
static struct ef_trace_store *store;
static struct ef_archive *archive;
static struct ef_trace sample; /* One of those that are asked for. */

static _Noreturn void
give_up(const struct ef_error *err)
{
    fprintf(stderr, "bench_archive_query: %s\n", err->text);
    exit(1);
}

static void
open_archive(void)
{
    struct ef_archive_config config = {.dir = dir, .schema = &ef_trace_schema};
    struct ef_error err = EF_ERROR_INIT;
    if (ef_archive_open(&config, &archive, &err)) {
        give_up(&err);
    }
}

static void
fill(void)
{
    static struct ef_trace_row row;
    static struct ef_trace trace;
    struct ef_error err = EF_ERROR_INIT;
    struct ef_time now = {0};
    if (ef_trace_store_create(1, (size_t) 1 << 30, 64 << 20, &store, &err)) {
        give_up(&err);
    }
    open_archive();
    make_flows();
    for (unsigned i = 0; i < N_TRACES; i++) {
        fabric_next_trace(&trace, &now, true);
        sample = i == N_TRACES / 3 ? trace : sample;
        ef_trace_store_append(store, 0, &trace);
        ef_trace_to_row(&trace, &row);
        ef_archive_append(archive, &row);
        if (i % FLUSH_EVERY == FLUSH_EVERY - 1) {
            ef_trace_store_flush(store, 0);
            ef_archive_flush(archive);
        }
    }
    ef_trace_store_flush(store, 0);
    ef_trace_store_settle(store);
    ef_archive_close(archive);
    open_archive();
}

static uint64_t
ask_memory(const struct ef_trace_query *q)
{
    static struct ef_trace trace;
    struct ef_trace_cursor *cursor;
    struct ef_error err = EF_ERROR_INIT;
    uint64_t n = 0;
    if (ef_trace_store_query(store, q, &cursor, &err)) {
        give_up(&err);
    }
    for (int rc; (rc = ef_trace_cursor_next(cursor, &trace));) {
        n += rc > 0;
    }
    ef_trace_cursor_close(cursor);
    return n;
}

static uint64_t
ask_archive(const struct ef_trace_query *q)
{
    static struct ef_trace trace;
    struct ef_trace_history_query query = {.filter = q->filter,
                                           .condition = q->condition,
                                           .has_id = q->has_id,
                                           .id_low = q->id_low,
                                           .id_high = q->id_high,
                                           .from = {q->start, 0},
                                           .end = q->end,
                                           .limit = q->limit,
                                           .fresh_to = {INT64_MAX}};
    struct ef_trace_history *h = ef_trace_history_create(archive, &query);
    uint64_t n = 0;
    for (int rc; (rc = ef_trace_history_next(h, &trace));) {
        n += rc > 0;
    }
    ef_trace_history_destroy(h);
    return n;
}

static struct ef_filter *
compile(const char *text, enum ef_filter_kind kind)
{
    struct ef_filter *filter = NULL;
    struct ef_error err = EF_ERROR_INIT;
    if (text && ef_filter_compile(text, kind, &filter, &err)) {
        give_up(&err);
    }
    return filter;
}

static void
measure_in(const char *where, const char *question, uint64_t (*ask)(const struct ef_trace_query *q),
           const struct ef_trace_query *q)
{
    struct ef_bench b = {.name = "archive_query.time", .unit = "ms", .lower_is_better = true};
    uint64_t n = ask(q);
    ef_bench_param_text(&b, "in", where);
    ef_bench_param_text(&b, "question", question);
    ef_bench_param(&b, "traces", (double) N_TRACES);
    ef_bench_param(&b, "limit", (double) q->limit);
    ef_bench_param(&b, "found", (double) n);
    for (int run = 0; run < RUNS; run++) {
        double start = ef_bench_cpu_seconds();
        ef_bench_keep(ask(q));
        ef_bench_add(&b, 1e3 * (ef_bench_cpu_seconds() - start));
    }
    ef_bench_print(&b);
}

static void
measure(const char *question, const char *filter, const char *condition, bool by_id, uint64_t limit)
{
    struct ef_trace_query q = {.start = {INT64_MIN},
                               .end = {INT64_MAX},
                               .limit = limit,
                               .has_id = by_id,
                               .id_low = sample.id,
                               .id_high = sample.id,
                               .filter = compile(filter, EF_FILTER_PACKET),
                               .condition = compile(condition, EF_FILTER_CONDITION)};
    measure_in("memory", question, ask_memory, &q);
    measure_in("archive", question, ask_archive, &q);
    ef_filter_destroy((struct ef_filter *) q.filter);
    ef_filter_destroy((struct ef_filter *) q.condition);
}

int
main(void)
{
    char dst[64], src[64], through[64];
    if (!mkdtemp(dir)) {
        perror("bench_archive_query: a directory in /tmp");
        return 1;
    }
    fill();
    const uint8_t *ip = sample.bytes + 14, *hop = sample.hops[0].switch_address + 12;
    snprintf(src, sizeof src, "ip.src == %u.%u.%u.%u", ip[12], ip[13], ip[14], ip[15]);
    snprintf(dst, sizeof dst, "ip.dst == %u.%u.%u.%u", ip[16], ip[17], ip[18], ip[19]);
    snprintf(through, sizeof through, "trace.through == %u.%u.%u.%u", hop[0], hop[1], hop[2], hop[3]);
    measure("id", NULL, NULL, true, 0);
    measure("destination", dst, NULL, false, 0);
    measure("source", src, NULL, false, 0);
    measure("switch", NULL, through, false, 0);
    measure("loops", NULL, "trace.loop", false, 0);
    measure("slower than 1 ms", NULL, "trace.latency_us > 1000", false, 0);
    measure("a port, the newest", "tcp.dstport == 9001", NULL, false, 100);
    measure("an IP id: each trace is looked at", "ip.id == 4711", NULL, false, 0);
    measure("the newest", NULL, NULL, false, 100);
    ef_archive_close(archive);
    ef_trace_store_destroy(store);
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        unlinkat(dirfd(d), e->d_name, 0);
    }
    closedir(d);
    rmdir(dir);
    return 0;
}
