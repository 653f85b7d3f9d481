/* SPDX-License-Identifier: Apache-2.0 */
/* Traces into an archive and back: rows per CPU second, bytes per trace. A fabric of
 * 64 pods of 16 racks of 40 hosts, 100,000 flows, 3.5 hops a trace (1, 3 or 5),
 * TCP and UDP headers with random sequence numbers, checksums and IP ids. */
#include <config.h>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "analyzer/trace_row.h"
#include "base/hash.h"
#include "bench/bench.h"
#include "packet/build.h"
#include "store/archive/archive.h"
#include "store/archive/byte_buffer.h"
#include "store/archive/catalogue.h"

enum { N_TRACES = 1 << 17, N_FLOWS = 100000, N_SWITCHES = 1 << 16, RUNS = 5 };

static uint64_t state;

static uint64_t
any(uint64_t n)
{
    state++;
    return ef_hash64(&state, sizeof state) % n;
}

struct flow {
    uint32_t src, dst;
    uint16_t srcport, dstport;
    bool udp;
};
static struct flow flows[N_FLOWS];
static struct ef_trace *traces;
static char dir[] = "/tmp/bench_archive.XXXXXX";

static uint32_t
host(uint64_t pod, uint64_t rack, uint64_t h)
{
    return (uint32_t) (10u << 24 | pod << 16 | rack << 8 | h);
}

static void
make_flows(void)
{
    for (unsigned i = 0; i < N_FLOWS; i++) {
        uint64_t pod = any(64), rack = any(16), where = any(4);
        flows[i].src = host(pod, rack, any(40));
        flows[i].dst = where == 0   ? host(pod, rack, any(40))
                       : where == 1 ? host(pod, any(16), any(40))
                                    : host(any(64), any(16), any(40));
        flows[i].srcport = (uint16_t) (32768 + any(28000));
        flows[i].dstport = (uint16_t) (any(3) ? 443 : any(2) ? 80 : 9000 + any(50));
        flows[i].udp = any(5) == 0;
    }
}

static void
make_packet(struct ef_trace *t, const struct flow *f)
{
    struct ef_build b;
    ef_build_start(&b, t->bytes, sizeof t->bytes);
    ef_build_eth(&b);
    uint8_t *ip = ef_build_ipv4(&b, "10.0.0.1", "10.0.0.2");
    ef_store_be16(ip + 4, (uint16_t) any(65536));
    ef_store_be32(ip + 12, f->src);
    ef_store_be32(ip + 16, f->dst);
    uint8_t *l4 = f->udp ? ef_build_udp(&b, f->srcport, f->dstport)
                         : ef_build_tcp(&b, f->srcport, f->dstport, any(10) ? EF_TCP_ACK : EF_TCP_SYN);
    t->n_bytes = (uint16_t) ef_build_finish(&b);
    t->wire_len = any(2) ? 1514 : t->n_bytes + (uint32_t) any(1400);
    ef_store_be16(ip + 2, (uint16_t) (t->wire_len - 14));
    ip[10] = ip[11] = 0;
    ef_store_be16(ip + 10, ef_checksum_fold(ef_checksum_add(0, ip, 20)));
    if (f->udp) {
        ef_store_be16(l4 + 4, (uint16_t) (t->wire_len - 34));
        ef_store_be16(l4 + 6, (uint16_t) any(65536));
        return;
    }
    ef_store_be32(l4 + 4, (uint32_t) any(1ull << 32));
    ef_store_be32(l4 + 8, (uint32_t) any(1ull << 32));
    ef_store_be16(l4 + 14, (uint16_t) any(65536));
    ef_store_be16(l4 + 16, (uint16_t) any(65536));
}

/* A switch numbers its copies, from wherever it is by now. */
static uint32_t
next_sequence(uint32_t switch_number)
{
    static uint32_t sequences[N_SWITCHES];
    uint32_t slot = (uint32_t) ef_hash64(&switch_number, sizeof switch_number) % N_SWITCHES;
    if (!sequences[slot]) {
        sequences[slot] = (uint32_t) any(1ull << 31);
    }
    return sequences[slot]++;
}

/* The switches on the way, leaf by leaf and spine by spine: 1, 3 or 5. */
static void
make_hops(struct ef_trace *t, const struct flow *f, bool with_clock)
{
    uint32_t a = f->src >> 8, b = f->dst >> 8, leaf = 1u << 24, spine = 2u << 24, core = 3u << 24;
    uint32_t up = (uint32_t) (ef_hash64(f, 12) % 8);
    uint32_t path[5] = {leaf | (a & 0xffff), spine | (a & 0xff00) | up, core | up, spine | (b & 0xff00) | up,
                        leaf | (b & 0xffff)};
    t->n_hops = a == b ? 1 : a >> 8 == b >> 8 ? 3 : 5;
    if (t->n_hops == 3) {
        path[2] = path[4];
    }
    int64_t after = 0;
    for (unsigned i = 0; i < t->n_hops; i++) {
        struct ef_hop *h = &t->hops[i];
        *h = (struct ef_hop){.switch_address = {[10] = 0xff, [11] = 0xff, [12] = 10}, .flags = EF_HOP_HAS_IP};
        ef_store_be32(h->switch_address + 12, 10u << 24 | (path[i] & 0xffffff) | path[i] >> 24 << 22);
        h->src_mac[0] = 2;
        ef_store_be32(h->src_mac + 2, i ? path[i - 1] : f->src);
        h->ttl = h->outer_ttl = (uint8_t) (64 - i);
        h->arrival.ns = t->start.ns + after;
        if (with_clock) {
            h->flags |= EF_HOP_HAS_SWITCH_TIME | EF_HOP_HAS_PORT | EF_HOP_HAS_SEQUENCE;
            h->switch_time.ns = h->arrival.ns - 5000 - (int64_t) any(20000);
            h->port = (uint32_t) (1 + path[i] % 40);
            h->sequence = next_sequence(path[i]);
        }
        after += 1000 + (int64_t) any(any(20) ? 20000 : 500000);
        t->end = h->arrival;
    }
    memcpy(t->bytes + 6, t->hops[0].src_mac, 6);
}

static void
make_traces(bool with_clock)
{
    static const uint8_t target[16] = {[10] = 0xff, [11] = 0xff, [12] = 10, [13] = 255, [14] = 255, [15] = 1};
    struct ef_time now = {1790000000 * EF_NS_PER_S};
    for (unsigned i = 0; i < N_TRACES; i++) {
        struct ef_trace *t = &traces[i];
        const struct flow *f = &flows[any(N_FLOWS)];
        memset(t, 0, offsetof(struct ef_trace, bytes));
        t->start = now = ef_time_add_ns(now, (int64_t) any(720000));
        t->id = any(UINT64_MAX);
        memcpy(t->target, target, 16);
        make_packet(t, f);
        make_hops(t, f, with_clock);
        t->n_copies = t->n_hops;
        t->switch_clock = with_clock;
        t->fate = any(200) ? EF_FATE_DELIVERED : EF_FATE_DROPPED;
        t->loop = any(1000) == 0;
        t->debug = any(50) == 0;
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
