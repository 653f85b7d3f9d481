/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the capture-file source and sink: what one writes the other reads;
 * damaged and foreign files end with an error that says why. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/sink.h"
#include "io/source.h"

struct fixture {
    char path[64], spec[80];
};

static int
set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    snprintf(f->path, sizeof f->path, "/tmp/ef-test-pcap-XXXXXX");
    int fd = mkstemp(f->path);
    if (fd < 0) {
        return -1;
    }
    close(fd);
    snprintf(f->spec, sizeof f->spec, "pcap:%s", f->path);
    *state = f;
    return 0;
}

static int
tear_down(void **state)
{
    struct fixture *f = *state;
    unlink(f->path);
    free(f);
    return 0;
}

/* Packet number i: IPv4 or IPv6 by turns, of a length that differs, filled with
 * its number. */
static uint32_t
make_packet(uint8_t *packet, unsigned i)
{
    uint32_t len = 40 + i * 7 % 1400;
    memset(packet, (int) (i & 0xff), len);
    packet[0] = i % 2 ? 0x60 : 0x45;
    return len;
}

static void
write_with_sink(const struct fixture *f, unsigned n)
{
    struct ef_sink *sink;
    struct ef_error err = EF_ERROR_INIT;
    uint8_t packet[2048];
    assert_int_equal(ef_sink_open(f->spec, &sink, &err), 0);
    for (unsigned i = 0; i < n; i++) {
        uint32_t len = make_packet(packet, i);
        ef_sink_queue(sink, packet, len);
    }
    ef_sink_close(sink);
}

static void
check_frame(const struct ef_frame *frame, unsigned i)
{
    uint8_t packet[2048];
    uint32_t len = make_packet(packet, i);
    static const uint8_t no_addresses[12];
    assert_int_equal(frame->len, len + 14);
    assert_int_equal(frame->wire_len, len + 14);
    assert_memory_equal(frame->data, no_addresses, 12);
    assert_memory_equal(frame->data + 12, i % 2 ? "\x86\xdd" : "\x08\x00", 2);
    assert_memory_equal(frame->data + 14, packet, len);
}

static void
sink_and_source_round_trip(void **state)
{
    enum { N = 1000 };
    const struct fixture *f = *state;
    write_with_sink(f, N);
    struct ef_source *source;
    struct ef_frame frames[EF_BURST];
    assert_int_equal(ef_source_open(f->spec, 0, &source, NULL), 0);
    unsigned i = 0;
    uint64_t bytes = 0;
    int n;
    while ((n = ef_source_receive(source, frames, EF_BURST, 0)) > 0) {
        for (int k = 0; k < n; k++) {
            bytes += frames[k].len;
            check_frame(&frames[k], i++);
        }
    }
    assert_int_equal(n, -ENODATA);
    assert_int_equal(ef_source_receive(source, frames, EF_BURST, 0), -ENODATA);
    assert_string_equal(ef_source_error(source), "end of file");
    assert_int_equal(i, N);
    struct ef_source_stats stats;
    ef_source_stats(source, &stats);
    assert_int_equal(stats.frames, N);
    assert_int_equal(stats.bytes, bytes);
    assert_int_equal(stats.overflows, 0);
    ef_source_close(source);
}

static void
sink_counts_each_packet_once(void **state)
{
    const struct fixture *f = *state;
    static uint8_t packet[EF_SINK_MAX_PACKET + 1];
    packet[0] = 0x45;
    struct ef_sink *sink;
    struct ef_sink_stats stats;
    assert_int_equal(ef_sink_open(f->spec, &sink, NULL), 0);
    for (int i = 0; i < 9; i++) { /* More bytes than the buffer holds. */
        ef_sink_queue(sink, packet, EF_SINK_MAX_PACKET);
    }
    ef_sink_queue(sink, packet, EF_SINK_MAX_PACKET + 1);
    uint8_t *room = ef_sink_reserve(sink, 20);
    memcpy(room, packet, 20);
    assert_ptr_equal(ef_sink_reserve(sink, 20), room);
    ef_sink_commit(sink, 20);
    ef_sink_flush(sink);
    ef_sink_stats(sink, &stats);
    assert_int_equal(stats.packets, 10);
    assert_int_equal(stats.bytes, 9 * EF_SINK_MAX_PACKET + 20);
    assert_int_equal(stats.too_big, 1);
    assert_int_equal(stats.failed, 0);
    ef_sink_close(sink);
}

static void
full_disk_is_counted(void **state)
{
    uint8_t packet[100] = {0x45};
    struct ef_sink *sink;
    struct ef_sink_stats stats;
    if (access("/dev/full", W_OK) || ef_sink_open("pcap:/dev/full", &sink, NULL)) {
        print_message("# no /dev/full\n");
        return;
    }
    ef_sink_queue(sink, packet, sizeof packet);
    ef_sink_flush(sink);
    ef_sink_stats(sink, &stats);
    assert_int_equal(stats.packets, 0);
    assert_int_equal(stats.failed, 1);
    assert_int_equal(ef_sink_last_error(sink), ENOSPC);
    ef_sink_close(sink);
}

static void
nanoseconds_and_lengths_survive(void **state)
{
    const struct fixture *f = *state;
    pcap_t *pcap = pcap_open_dead_with_tstamp_precision(DLT_EN10MB, 65535, PCAP_TSTAMP_PRECISION_NANO);
    pcap_dumper_t *dumper = pcap_dump_open(pcap, f->path);
    struct pcap_pkthdr hdr = {.ts = {1795228200, 123456789}, .caplen = 60, .len = 1500};
    uint8_t data[60] = {0};
    pcap_dump((u_char *) dumper, &hdr, data);
    pcap_dump_close(dumper);
    pcap_close(pcap);
    struct ef_source *source;
    struct ef_frame frame;
    assert_int_equal(ef_source_open(f->spec, 0, &source, NULL), 0);
    assert_int_equal(ef_source_receive(source, &frame, 1, 0), 1);
    assert_int_equal(frame.arrival.ns, 1795228200123456789);
    assert_int_equal(frame.len, 60);
    assert_int_equal(frame.wire_len, 1500);
    ef_source_close(source);
}

static void
cut_file_gives_what_is_whole(void **state)
{
    enum { N = 100, WHOLE = 70 };
    const struct fixture *f = *state;
    write_with_sink(f, N);
    uint8_t packet[2048];
    long size = 24; /* Of the file's own header. */
    for (unsigned i = 0; i < WHOLE; i++) {
        size += 16 + 14 + make_packet(packet, i);
    }
    assert_int_equal(truncate(f->path, size + 20), 0);
    struct ef_source *source;
    struct ef_frame frames[EF_BURST];
    int n, total = 0;
    assert_int_equal(ef_source_open(f->spec, 0, &source, NULL), 0);
    while ((n = ef_source_receive(source, frames, EF_BURST, 0)) > 0) {
        total += n;
    }
    assert_int_equal(total, WHOLE);
    assert_int_equal(n, -EIO);
    assert_non_null(strstr(ef_source_error(source), "truncated"));
    ef_source_close(source);
}

static void
other_link_types_are_refused(void **state)
{
    const struct fixture *f = *state;
    pcap_t *pcap = pcap_open_dead(DLT_RAW, 65535);
    pcap_dump_close(pcap_dump_open(pcap, f->path));
    pcap_close(pcap);
    struct ef_source *source;
    struct ef_error err = EF_ERROR_INIT;
    assert_int_equal(ef_source_open(f->spec, 0, &source, &err), -EPROTOTYPE);
    assert_non_null(strstr(err.text, "link type RAW is not Ethernet"));
}

/* A section header, an interface with nanosecond resolution, one packet. */
static const uint8_t pcapng[] = {
    0x0a, 0x0d, 0x0d, 0x0a, 28,   0,    0,    0,    0x4d, 0x3c, 0x2b, 0x1a, 1,  0, 0, 0,
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 28,   0,    0,    0, /* SHB */
    1,    0,    0,    0,    28,   0,    0,    0,    1,    0,    0,    0,    0,  0, 0, 0,
    9,    0,    1,    0,    9,    0,    0,    0,    28,   0,    0,    0, /* IDB */
    6,    0,    0,    0,    48,   0,    0,    0,    0,    0,    0,    0,    0,  0, 0, 0,
    7,    0,    0,    0,    14,   0,    0,    0,    99,   0,    0,    0,    1,  2, 3, 4,
    5,    6,    7,    8,    9,    10,   11,   12,   8,    0,    0,    0,    48, 0, 0, 0, /* EPB */
};

static struct ef_source *
open_pcapng(const struct fixture *f, const uint8_t *bytes)
{
    FILE *file = fopen(f->path, "wb");
    assert_int_equal(fwrite(bytes, 1, sizeof pcapng, file), sizeof pcapng);
    fclose(file);
    struct ef_source *source;
    assert_int_equal(ef_source_open(f->spec, 0, &source, NULL), 0);
    return source;
}

static void
pcapng_is_read_too(void **state)
{
    struct ef_source *source = open_pcapng(*state, pcapng);
    struct ef_frame frame;
    assert_int_equal(ef_source_receive(source, &frame, 1, 0), 1);
    assert_int_equal(frame.arrival.ns, 7);
    assert_int_equal(frame.len, 14);
    assert_int_equal(frame.wire_len, 99);
    assert_int_equal(frame.data[11], 12);
    assert_int_equal(ef_source_receive(source, &frame, 1, 0), -ENODATA);
    ef_source_close(source);
}

/* The resolution is whole seconds, of which there are more than 2^60. */
static void
time_beyond_all_times_is_the_last_one(void **state)
{
    enum { RESOLUTION = 48, SECONDS_HIGH = 68 };
    uint8_t bytes[sizeof pcapng];
    memcpy(bytes, pcapng, sizeof bytes);
    bytes[RESOLUTION] = 0;
    memset(bytes + SECONDS_HIGH, 0x11, 4);
    struct ef_source *source = open_pcapng(*state, bytes);
    struct ef_frame frame;
    assert_int_equal(ef_source_receive(source, &frame, 1, 0), 1);
    assert_true(frame.arrival.ns == INT64_MAX);
    ef_source_close(source);
}

/* --- Pipes ---------------------------------------------------------------- */

/* The file's bytes, and where its first frame ends and begins. */
struct stream {
    uint8_t bytes[4096];
    size_t n, first, second;
};

static void
make_stream(const struct fixture *f, struct stream *s)
{
    uint8_t packet[2048];
    write_with_sink(f, 2);
    FILE *file = fopen(f->path, "rb");
    s->n = fread(s->bytes, 1, sizeof s->bytes, file);
    fclose(file);
    s->first = 24;
    s->second = s->first + 16 + 14 + make_packet(packet, 0);
    assert_in_range(s->n, s->second + 1, sizeof s->bytes);
}

/* A source that reads what is written to the returned descriptor, which has the
 * first `n` bytes. */
static int
open_pipe(struct fixture *f, const uint8_t *bytes, size_t n, struct ef_source **source)
{
    unlink(f->path);
    assert_int_equal(mkfifo(f->path, 0600), 0);
    int fd = open(f->path, O_RDWR | O_CLOEXEC); /* Neither side has to wait for the other. */
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, n), n);
    assert_int_equal(ef_source_open(f->spec, 0, source, NULL), 0);
    return fd;
}

static void
pipe_gives_frames_once_they_are_whole(void **state)
{
    struct fixture *f = *state;
    struct stream s;
    struct ef_source *source;
    struct ef_frame frames[EF_BURST];
    make_stream(f, &s);
    int fd = open_pipe(f, s.bytes, s.first, &source);
    for (size_t i = s.first; i < s.n; i++) {
        bool is_last = i + 1 == s.second || i + 1 == s.n;
        assert_int_equal(ef_source_receive(source, frames, EF_BURST, 0), 0);
        assert_int_equal(write(fd, s.bytes + i, 1), 1);
        if (is_last) {
            assert_int_equal(ef_source_receive(source, frames, EF_BURST, 10000), 1);
            check_frame(&frames[0], i + 1 == s.n);
        }
    }
    assert_int_equal(ef_source_receive(source, frames, EF_BURST, 20), 0); /* Silent: back in time. */
    close(fd);
    assert_int_equal(ef_source_receive(source, frames, EF_BURST, 10000), -ENODATA);
    ef_source_close(source);
}

static void
pipe_that_ends_in_a_frame_is_damaged(void **state)
{
    struct fixture *f = *state;
    struct stream s;
    struct ef_source *source;
    struct ef_frame frames[EF_BURST];
    make_stream(f, &s);
    int fd = open_pipe(f, s.bytes, s.n - 1, &source);
    close(fd);
    assert_int_equal(ef_source_receive(source, frames, EF_BURST, 10000), 1);
    check_frame(&frames[0], 0);
    assert_int_equal(ef_source_receive(source, frames, EF_BURST, 10000), -EIO);
    ef_source_close(source);
}

static void
swap_u32(uint8_t *bytes)
{
    uint8_t old[4];
    memcpy(old, bytes, 4);
    for (int i = 0; i < 4; i++) {
        bytes[i] = old[3 - i];
    }
}

/* Bytes of the other order; a record's header has four words of 32 bits. */
static void
pipe_may_come_from_a_machine_of_the_other_byte_order(void **state)
{
    struct fixture *f = *state;
    struct stream s;
    struct ef_source *source;
    struct ef_frame frame;
    make_stream(f, &s);
    for (size_t i = 0; i < s.first + 16; i += 4) {
        swap_u32(s.bytes + i);
    }
    memcpy(s.bytes + 4, "\0\2\0\4", 4); /* The version has two words of 16 bits. */
    int fd = open_pipe(f, s.bytes, s.second - 1, &source);
    assert_int_equal(ef_source_receive(source, &frame, 1, 0), 0);
    assert_int_equal(write(fd, s.bytes + s.second - 1, 1), 1);
    assert_int_equal(ef_source_receive(source, &frame, 1, 10000), 1);
    check_frame(&frame, 0);
    close(fd);
    ef_source_close(source);
}

/* The frame, then a block of no packet, a second section and its frame. */
static void
pipe_of_pcapng_gives_frames_once_they_are_whole(void **state)
{
    enum { HEADERS = 56, PACKET = 48, OTHER = 12 };
    static const uint8_t other[OTHER] = {0xbb, 0, 0, 0, OTHER, 0, 0, 0, OTHER, 0, 0, 0};
    struct fixture *f = *state;
    uint8_t bytes[2 * sizeof pcapng + OTHER];
    size_t n = 0, whole[] = {HEADERS + PACKET, sizeof bytes};
    memcpy(bytes, pcapng, sizeof pcapng);
    memcpy(bytes + sizeof pcapng, other, OTHER);
    memcpy(bytes + sizeof pcapng + OTHER, pcapng, sizeof pcapng);
    struct ef_source *source;
    struct ef_frame frame;
    int fd = open_pipe(f, bytes, HEADERS, &source);
    for (size_t i = HEADERS; i < sizeof bytes; i++) {
        assert_int_equal(ef_source_receive(source, &frame, 1, 0), 0);
        assert_int_equal(write(fd, bytes + i, 1), 1);
        if (i + 1 == whole[n]) {
            assert_int_equal(ef_source_receive(source, &frame, 1, 10000), 1);
            assert_int_equal(frame.wire_len, 99);
            n++;
        }
    }
    assert_int_equal(n, 2);
    close(fd);
    assert_int_equal(ef_source_receive(source, &frame, 1, 10000), -ENODATA);
    ef_source_close(source);
}

int
main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
    static const struct CMUnitTest tests[] = {
        TEST(sink_and_source_round_trip),
        TEST(sink_counts_each_packet_once),
        TEST(full_disk_is_counted),
        TEST(nanoseconds_and_lengths_survive),
        TEST(cut_file_gives_what_is_whole),
        TEST(other_link_types_are_refused),
        TEST(pcapng_is_read_too),
        TEST(time_beyond_all_times_is_the_last_one),
        TEST(pipe_gives_frames_once_they_are_whole),
        TEST(pipe_that_ends_in_a_frame_is_damaged),
        TEST(pipe_may_come_from_a_machine_of_the_other_byte_order),
        TEST(pipe_of_pcapng_gives_frames_once_they_are_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
