/* SPDX-License-Identifier: Apache-2.0 */
/* Traces as rows: every packet of test/vectors, whole, cut and mutated, comes
 * back byte for byte with its hops, directly and through a Parquet file. */
#include <config.h>

#include <errno.h>
#include <glob.h>
#include <pcap/pcap.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "analyzer/trace_row.h"
#include "base/hash.h"
#include "store/archive/byte_buffer.h"
#include "store/archive/parquet_reader.h"
#include "store/archive/parquet_writer.h"

static uint64_t random_state;

static uint64_t
random_number(void)
{
    random_state++;
    return ef_hash64(&random_state, sizeof random_state);
}

/* A trace of the packet, all of whose other parts are random, as far as they
 * can be in a trace. */
static void
make_trace(struct ef_trace *t, const uint8_t *bytes, uint32_t len, uint32_t wire_len)
{
    struct ef_packet p;
    memset(t, 0, sizeof *t);
    t->id = random_number();
    t->start.ns = 1790000000 * EF_NS_PER_S + (int64_t) (random_number() % 1000000000);
    t->wire_len = wire_len;
    t->n_bytes = (uint16_t) EF_MIN(len, (uint32_t) EF_TRACE_MAX_BYTES);
    memcpy(t->bytes, bytes, t->n_bytes);
    ef_packet_parse(&p, t->bytes, t->n_bytes, wire_len);
    t->n_hops = (uint8_t) (random_number() % 8 ? random_number() % 6 : random_number() % (EF_TRACE_MAX_HOPS + 1));
    int64_t latest = t->n_hops ? INT64_MIN : t->start.ns;
    for (unsigned i = 0; i < t->n_hops; i++) {
        uint64_t any = random_number();
        struct ef_copy copy = {.has_port = any & 1,
                               .has_sequence = any & 2,
                               .has_switch_time = any & 4,
                               .truncated = any & 8,
                               .egress = any & 16,
                               .switch_drop = any >> 36 & 7,
                               .port = (uint32_t) (any >> 40),
                               .sequence = (uint32_t) (any >> 8),
                               .switch_time = {any & 32 ? (int64_t) random_number() : t->start.ns + (int64_t) i}};
        memcpy(copy.switch_address, &any, 3);
        struct ef_time arrival = {t->start.ns + (int64_t) (any >> 45)};
        ef_hop_of_copy(&t->hops[i], &copy, &p, arrival);
        t->hops[i].integrity = (struct ef_integrity){0}; /* Nobody keeps it. */
        t->hops[i].flags |= any & 128 && any & 256 ? EF_HOP_CORRUPT : 0;
        t->corrupt |= t->hops[i].flags & EF_HOP_CORRUPT;
        if (any & 64) {
            t->hops[i].ttl--;
            t->hops[i].src_mac[5]++;
        }
        latest = EF_MAX(latest, arrival.ns);
    }
    uint64_t any = random_number();
    t->end.ns = latest + (int64_t) (any % 3);
    t->n_copies = (uint32_t) any;
    t->n_duplicates = (uint32_t) (any >> 20);
    memcpy(t->target, &any, 8);
    t->loop = any >> 20 & 1;
    t->debug = any >> 21 & 1;
    t->switch_clock = any >> 22 & 1;
    t->hops_full = any >> 23 & 1;
    t->copies_lost = any >> 24 & 1;
    t->n_missing = (uint8_t) (any >> 32);
    t->mux_hop = t->n_hops ? (uint8_t) ((any >> 40) % t->n_hops) : 0;
    t->fate = (uint8_t) ((any >> 48) % EF_N_FATES);
    t->has_expected = any >> 56 & 1;
    if (t->has_expected) {
        memcpy(t->expected, &any, 8);
    }
}

static void
check_equal(const struct ef_trace *a, const struct ef_trace *b)
{
    assert_memory_equal(a, b, offsetof(struct ef_trace, bytes));
    assert_memory_equal(a->bytes, b->bytes, a->n_bytes);
    assert_memory_equal(a->hops, b->hops, a->n_hops * sizeof a->hops[0]);
}

static struct ef_trace_row row;
static struct ef_trace trace, back;

static void
check_packet(const uint8_t *bytes, uint32_t len, uint32_t wire_len)
{
    make_trace(&trace, bytes, len, wire_len);
    ef_trace_to_row(&trace, &row);
    assert_true(ef_trace_of_row(&row, &back));
    check_equal(&trace, &back);
}

/* --- All packets of test/vectors ------------------------------------------------------ */

/* Calls `each` for each packet, and for what is inside each copy. */
static unsigned
for_packets(void (*each)(const uint8_t *bytes, uint32_t len, uint32_t wire_len))
{
    static const char *const patterns[] = {EF_TEST_SRCDIR "/vectors/*.pcap*", EF_TEST_SRCDIR "/vectors/ovs/*.pcap"};
    unsigned n = 0;
    for (size_t i = 0; i < EF_ARRAY_SIZE(patterns); i++) {
        glob_t files;
        assert_int_equal(glob(patterns[i], 0, NULL, &files), 0);
        for (size_t k = 0; k < files.gl_pathc; k++) {
            char error[PCAP_ERRBUF_SIZE];
            pcap_t *pcap = pcap_open_offline(files.gl_pathv[k], error);
            struct pcap_pkthdr *header;
            const uint8_t *bytes;
            while (pcap && pcap_next_ex(pcap, &header, &bytes) == 1) {
                struct ef_copy copy;
                each(bytes, header->caplen, header->len);
                n++;
                if (!ef_copy_parse(&copy, bytes, header->caplen, header->len)) {
                    each(copy.original, copy.original_len, copy.original_wire_len);
                }
            }
            if (pcap) {
                pcap_close(pcap);
            }
        }
        globfree(&files);
    }
    return n;
}

static void
check_cut_and_mutated(const uint8_t *bytes, uint32_t len, uint32_t wire_len)
{
    uint8_t copy[EF_TRACE_MAX_BYTES];
    check_packet(bytes, len, wire_len);
    len = EF_MIN(len, (uint32_t) sizeof copy);
    check_packet(bytes, (uint32_t) (random_number() % (len + 1)), wire_len);
    for (unsigned i = 0; i < 20; i++) {
        memcpy(copy, bytes, len);
        for (unsigned k = 0; k < 1 + i % 4; k++) {
            copy[random_number() % len] = (uint8_t) random_number();
        }
        check_packet(copy, len, i % 5 ? wire_len : (uint32_t) random_number());
    }
}

static void
test_packets(void **state)
{
    random_state = 1;
    assert_true(for_packets(check_cut_and_mutated) > 200);
}

/* --- Through a file -------------------------------------------------------------------- */

static struct ef_buffer file;
static struct ef_parquet_writer *writer;
static struct ef_trace traces[1 << 14];
static uint64_t n_traces;

static int
add_to_file(void *ctx, const void *data, size_t len)
{
    ef_buffer_add(&file, data, len);
    return 0;
}

static int
read_file(void *ctx, uint64_t offset, void *buf, size_t len)
{
    memcpy(buf, file.data + offset, len);
    return 0;
}

static void
write_packet(const uint8_t *bytes, uint32_t len, uint32_t wire_len)
{
    if (n_traces < EF_ARRAY_SIZE(traces)) {
        make_trace(&traces[n_traces], bytes, len, wire_len);
        traces[n_traces].id = n_traces;
        ef_trace_to_row(&traces[n_traces++], &row);
        assert_int_equal(ef_parquet_writer_add(writer, &row), 0);
    }
}

static void
test_through_parquet(void **state)
{
    struct ef_parquet_writer_config config = {.schema = &ef_trace_schema, .group_rows = 1000, .sink = add_to_file};
    struct ef_parquet_source source = {.read = read_file};
    struct ef_parquet_reader *reader;
    struct ef_row_set rows = {.schema = &ef_trace_schema};
    struct ef_error err = EF_ERROR_INIT;
    random_state = 2;
    assert_int_equal(ef_parquet_writer_create(&config, &writer, &err), 0);
    for_packets(write_packet);
    assert_int_equal(ef_parquet_writer_finish(writer, NULL, 0), 0);
    ef_parquet_writer_destroy(writer);
    source.size = file.len;
    assert_int_equal(ef_parquet_reader_create(&ef_trace_schema, &source, &reader, &err), 0);
    uint64_t n = 0;
    for (unsigned g = 0; g < ef_parquet_reader_meta(reader)->n_groups; g++) {
        assert_int_equal(ef_parquet_reader_group(reader, g, NULL, &rows, &err), 0);
        for (uint32_t i = 0; i < rows.n_rows; i++, n++) {
            assert_true(ef_trace_of_row(rows.rows[i], &back));
            assert_true(back.id < n_traces);
            check_equal(&traces[back.id], &back);
            traces[back.id].id = UINT64_MAX; /* Each once. */
        }
    }
    assert_int_equal(n, n_traces);
    ef_parquet_reader_destroy(reader);
    ef_row_set_deinit(&rows);
    ef_buffer_deinit(&file);
}

/* A row that nobody wrote: refused, or a trace within its bounds. */
static void
test_any_row(void **state)
{
    static struct ef_trace_row any;
    static uint8_t bytes[600];
    random_state = 3;
    for (unsigned i = 0; i < 20000; i++) {
        uint8_t *at = (uint8_t *) &any;
        for (size_t k = 0; k < sizeof any; k++) {
            at[k] = (uint8_t) random_number() & 1;
        }
        any.hops = (struct ef_row_list){any.hop_rows, (uint32_t) (random_number() % 70)};
        any.encapsulation = any.ip_options = any.tcp_options = any.payload = any.frame =
            (struct ef_bytes){bytes, (uint32_t) (random_number() % 200)};
        if (ef_trace_of_row(&any, &back)) {
            assert_true(back.n_hops <= EF_TRACE_MAX_HOPS && back.n_bytes <= EF_TRACE_MAX_BYTES);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_packets),
        cmocka_unit_test(test_through_parquet),
        cmocka_unit_test(test_any_row),
    };
    struct ef_error err = EF_ERROR_INIT;
    if (ef_row_schema_check(&ef_trace_schema, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
