/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of DPDK's sources and sinks together, over a ring that gives back what is
 * sent to it: packets that are forwarded within their buffers, and that each
 * buffer is freed once. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <rte_mempool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/dpdk_port.h"
#include "io/sink.h"
#include "io/source.h"

#define RING "net_ring0"
#define NEXT_HOP "02:00:00:00:00:01"
enum { LEN = 100, MTU = 1500, PATIENCE_MS = 1000, ETH = 14 };

struct fixture {
    struct ef_source *source;
    struct ef_sink *sink;
    struct ef_dpdk_port *port; /* A user of its own, to look inside. */
};

static int
set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct ef_error err = EF_ERROR_INIT;
    if (ef_source_open("dpdk:" RING, 0, &f->source, &err) || ef_sink_open("dpdk:" RING "#" NEXT_HOP, &f->sink, &err) ||
        ef_dpdk_port_open(RING, 1, 0, &f->port, &err)) {
        print_error("%s\n", err.text);
        return -1;
    }
    *state = f;
    return 0;
}

static int
tear_down(void **state)
{
    struct fixture *f = *state;
    ef_sink_close(f->sink);
    ef_source_close(f->source);
    ef_dpdk_port_close(f->port);
    free(f);
    return 0;
}

/* An IPv4 packet's first byte, then bytes that all tell `seed`. */
static void
make_packet(uint8_t *packet, uint32_t len, unsigned seed)
{
    memset(packet, (int) (seed & 0xff), len);
    packet[0] = 0x45;
    packet[len - 1] = (uint8_t) (seed >> 8);
}

static int
receive(struct fixture *f, struct ef_frame *frames)
{
    return ef_source_receive(f->source, frames, EF_BURST, PATIENCE_MS);
}

static void
packets_are_forwarded_where_they_lie(void **state)
{
    struct fixture *f = *state;
    struct ef_frame frame, again;
    uint8_t packet[LEN], header[ETH] = {0x02, [5] = 1, [12] = 0x08};
    make_packet(packet, LEN, 7);
    ef_sink_queue(f->sink, packet, LEN);
    ef_sink_flush(f->sink);
    assert_int_equal(receive(f, &frame), 1);
    assert_int_equal(frame.len, ETH + LEN);
    assert_memory_equal(frame.data + ETH, packet, LEN);
    assert_non_null(frame.buffer);

    /* As if there had been 20 bytes of tags, and padding: from byte 34, less 10. */
    uint8_t *moved = ef_sink_forward(f->sink, &frame, ETH + 20, LEN - 30);
    assert_ptr_equal(moved, frame.data + ETH + 20);
    assert_null(*frame.buffer);
    moved[0] = 0x45;
    ef_sink_flush(f->sink);
    assert_int_equal(receive(f, &again), 1);
    assert_ptr_equal(again.data + ETH, moved);
    assert_int_equal(again.len, ETH + LEN - 30);
    assert_memory_equal(again.data, header, 6);
    assert_memory_equal(again.data + 12, header + 12, 2);
    assert_memory_equal(again.data + ETH + 1, packet + 1, LEN - 31);
    assert_int_equal(again.data[ETH], 0x45);
}

static void
without_room_for_ethernet_a_packet_is_copied(void **state)
{
    struct fixture *f = *state;
    struct ef_frame frame, again;
    uint8_t packet[LEN];
    make_packet(packet, LEN, 9);
    ef_sink_queue(f->sink, packet, LEN);
    ef_sink_flush(f->sink);
    assert_int_equal(receive(f, &frame), 1);
    uint8_t *copied = ef_sink_forward(f->sink, &frame, ETH - 1, LEN);
    assert_ptr_not_equal(copied, frame.data + ETH - 1);
    assert_memory_equal(copied, frame.data + ETH - 1, LEN);
    assert_non_null(*frame.buffer);
    copied[0] = 0x60;
    ef_sink_flush(f->sink);
    assert_int_equal(receive(f, &again), 1);
    assert_int_equal(again.len, ETH + LEN);
    assert_int_equal(again.data[12] << 8 | again.data[13], 0x86dd);
}

static void
another_kind_of_sink_gets_a_copy(void **state)
{
    struct fixture *f = *state;
    struct ef_error err = EF_ERROR_INIT;
    struct ef_sink *file;
    struct ef_frame frame;
    char path[] = "/tmp/ef-test-dpdk-XXXXXX", spec[64];
    uint8_t packet[LEN];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    snprintf(spec, sizeof spec, "pcap:%s", path);
    assert_int_equal(ef_sink_open(spec, &file, &err), 0);
    make_packet(packet, LEN, 11);
    ef_sink_queue(f->sink, packet, LEN);
    ef_sink_flush(f->sink);
    assert_int_equal(receive(f, &frame), 1);
    ef_sink_forward(file, &frame, ETH, LEN)[8] = 64;
    assert_non_null(*frame.buffer);
    assert_int_equal(frame.data[ETH + 8], 11);
    ef_sink_close(file);
    unlink(path);
}

/* Kept, forwarded, copied and too large ones in any mixture: they come in the
 * order in which they were queued, the statistics know each, no buffer is lost. */
static void
mixed_packets_keep_their_order_and_no_buffer_is_lost(void **state)
{
    enum { ROUNDS = 3000 };
    struct fixture *f = *state;
    struct ef_frame frames[EF_BURST];
    static uint8_t packet[2 * MTU];
    struct ef_sink_stats before, after;
    unsigned n_sent = 0, n_too_big = 0;
    receive(f, frames); /* Gives back what an earlier test held. */
    unsigned n_free = rte_mempool_avail_count(f->port->rx_pool);
    ef_sink_stats(f->sink, &before);
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned n = 1 + round % EF_BURST;
        for (unsigned i = 0; i < n; i++) {
            make_packet(packet, LEN + i, round + i);
            ef_sink_queue(f->sink, packet, LEN + i);
        }
        ef_sink_flush(f->sink);
        assert_int_equal(receive(f, frames), n);
        for (unsigned i = 0; i < n; i++) {
            if ((round + i) % 7 == 0) {
                ef_sink_queue(f->sink, packet, MTU + 1);
                n_too_big++;
            } else if ((round + i) % 3 == 0) {
                ef_sink_queue(f->sink, frames[i].data + ETH, LEN + i);
            } else if ((round + i) % 3 == 1) {
                ef_sink_forward(f->sink, &frames[i], ETH, LEN + i);
            }
        }
        ef_sink_flush(f->sink);
        n_sent += n;
        for (unsigned i = 0, k = 0, got = 0; i < n; i++) {
            if ((round + i) % 7 && (round + i) % 3 != 2) {
                got = got ? got : (unsigned) receive(f, frames);
                assert_int_equal(frames[k].len, ETH + LEN + i);
                assert_int_equal(frames[k++].data[ETH + 1], (round + i) & 0xff);
                n_sent++;
            }
        }
    }
    ef_sink_stats(f->sink, &after);
    assert_int_equal(after.packets - before.packets, n_sent);
    assert_int_equal(after.too_big - before.too_big, n_too_big);
    assert_int_equal(after.failed, before.failed);
    ef_source_receive(f->source, frames, EF_BURST, 0);
    assert_int_equal(rte_mempool_avail_count(f->port->rx_pool), n_free);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packets_are_forwarded_where_they_lie),
        cmocka_unit_test(without_room_for_ethernet_a_packet_is_copied),
        cmocka_unit_test(another_kind_of_sink_gets_a_copy),
        cmocka_unit_test(mixed_packets_keep_their_order_and_no_buffer_is_lost),
    };
    setenv("EF_DPDK_ARGS", "--no-huge --no-shconf -m 128", 0);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
