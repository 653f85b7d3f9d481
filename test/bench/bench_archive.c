/* SPDX-License-Identifier: Apache-2.0 */
/* Traces into an archive and back: rows per CPU second, bytes per trace, of the
 * made-up fabric of fabric_traces.h. */
#include <config.h>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "analyzer/trace_row.h"
#include "bench/bench.h"
#include "bench/fabric_traces.h"
#include "store/archive/archive.h"
#include "store/archive/byte_buffer.h"
#include "store/archive/catalogue.h"

enum { N_TRACES = 1 << 17, RUNS = 5 };

static struct ef_trace *traces;
static char dir[] = "/tmp/bench_archive.XXXXXX";

static void
make_traces(bool with_clock)
{
    struct ef_time now = {0};
    for (unsigned i = 0; i < N_TRACES; i++) {
        fabric_next_trace(&traces[i], &now, with_clock);
    }
}

/* Processor time of all threads: the archive seals in one of its own. */
static double
process_seconds(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return (double) ts.tv_sec + (double) ts.tv_nsec * 1e-9;
}

static void
open_archive(struct ef_archive **archive)
{
    struct ef_archive_config config = {.dir = dir, .schema = &ef_trace_schema};
    struct ef_error err = EF_ERROR_INIT;
    if (ef_archive_open(&config, archive, &err)) {
        fprintf(stderr, "bench_archive: %s\n", err.text);
        exit(1);
    }
}

/* Deletes all of the archive but its lock. */
static void
empty_dir(void)
{
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        unlinkat(dirfd(d), e->d_name, 0);
    }
    closedir(d);
}

/* Through the spool into sealed segments. */
static void
write_all(void)
{
    static struct ef_trace_row row;
    struct ef_archive *archive;
    empty_dir();
    open_archive(&archive);
    for (unsigned i = 0; i < N_TRACES; i++) {
        ef_trace_to_row(&traces[i], &row);
        ef_archive_append(archive, &row);
        if (i % 256 == 255) {
            ef_archive_flush(archive);
        }
    }
    ef_archive_close(archive);
}

static void
read_all(struct ef_archive *archive)
{
    static struct ef_trace trace;
    struct ef_archive_query query = {.from = {INT64_MIN}, .to = {INT64_MAX}};
    struct ef_archive_cursor *cursor = ef_archive_query(archive, &query);
    struct ef_row_set *rows;
    uint64_t n = 0;
    while (ef_archive_next(cursor, &rows, NULL)) {
        for (uint32_t i = 0; i < rows->n_rows; i++) {
            n += ef_trace_of_row(rows->rows[i], &trace);
        }
    }
    ef_archive_cursor_close(cursor);
    if (n != N_TRACES) {
        fprintf(stderr, "bench_archive: %llu of %d traces came back\n", (unsigned long long) n, N_TRACES);
        exit(1);
    }
}

/* What each column takes, with EF_BENCH_COLUMNS=1. */
static void
print_columns(void)
{
    static double bytes[EF_ROW_MAX_COLUMNS];
    DIR *d = opendir(dir);
    memset(bytes, 0, sizeof bytes);
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[512];
        struct ef_parquet_reader *reader;
        struct ef_segment segment;
        struct ef_error err = EF_ERROR_INIT;
        int fd;
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        if (!ef_segment_number_of_name(e->d_name) ||
            ef_segment_open(path, &ef_trace_schema, &fd, &reader, &segment, &err)) {
            continue;
        }
        const struct ef_parquet_meta *meta = ef_parquet_reader_meta(reader);
        for (unsigned c = 0; c < ef_trace_schema.n_columns; c++) {
            for (unsigned g = 0; g < meta->n_groups; g++) {
                bytes[c] += (double) meta->groups[g].chunks[c].compressed_bytes;
            }
        }
        ef_parquet_reader_destroy(reader);
        close(fd);
    }
    closedir(d);
    for (unsigned c = 0; c < ef_trace_schema.n_columns; c++) {
        fprintf(stderr, "%-20s %6.3f bytes per trace\n", ef_trace_schema.columns[c].name, bytes[c] / N_TRACES);
    }
}

static void
measure(const char *copies, bool with_clock)
{
    struct ef_bench size = {.name = "archive.size", .unit = "bytes/trace", .goal = 60, .lower_is_better = true};
    struct ef_bench writing = {.name = "archive.write", .unit = "traces/CPU s"};
    struct ef_bench reading = {.name = "archive.read", .unit = "traces/CPU s"};
    make_traces(with_clock);
    ef_bench_param_text(&size, "copies", copies);
    ef_bench_param_text(&writing, "copies", copies);
    ef_bench_param_text(&reading, "copies", copies);
    for (int run = 0; run < RUNS; run++) {
        struct ef_archive *archive;
        struct ef_archive_stats stats;
        double start = process_seconds();
        write_all();
        ef_bench_add(&writing, N_TRACES / (process_seconds() - start));
        open_archive(&archive);
        start = process_seconds();
        read_all(archive);
        ef_bench_add(&reading, N_TRACES / (process_seconds() - start));
        ef_archive_stats(archive, &stats);
        ef_bench_add(&size, (double) stats.n_bytes / N_TRACES);
        ef_archive_close(archive);
    }
    ef_bench_print(&size);
    ef_bench_print(&writing);
    ef_bench_print(&reading);
    if (getenv("EF_BENCH_COLUMNS")) {
        print_columns();
    }
}

int
main(void)
{
    if (!mkdtemp(dir)) {
        perror("bench_archive: a directory in /tmp");
        return 1;
    }
    traces = ef_must_realloc(NULL, N_TRACES * sizeof *traces);
    make_flows();
    measure("gre", false);
    measure("erspan3", true);
    free(traces);
    empty_dir();
    rmdir(dir);
    return 0;
}
