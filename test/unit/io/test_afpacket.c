/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the AF_PACKET source and the raw IP sink against the real kernel, in
 * a network namespace of our own: frames sent into one end of a veth pair must
 * come out of the source on the other. Without root they say so and pass. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/ip_icmp.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/byteorder.h"
#include "io/sink.h"
#include "io/source.h"

enum { WAIT_MS = 2000, FRAME_BYTES = 100, OUTER_BYTES = 14 + 20 + 4 };

static bool have_namespace;

#define NEED_NAMESPACE()                                       \
    do {                                                       \
        if (!have_namespace) {                                 \
            print_message("# not run: needs root and `ip`\n"); \
            return;                                            \
        }                                                      \
    } while (0)

/* "left" sends, "right" (10.9.0.1, ours) receives. */
static int
make_namespace(void **state)
{
    static const char set_up[] =
        "ip link add left address 02:00:00:00:00:01 type veth "
        "peer name right address 02:00:00:00:00:02 && "
        "ip address add 10.9.0.1/24 dev right && ip -6 address add fd09::1/64 dev right nodad && "
        "ip neighbour add 10.9.0.2 lladdr 02:00:00:00:00:01 dev right && "
        "ip -6 neighbour add fd09::2 lladdr 02:00:00:00:00:01 dev right && "
        "ip link set lo up && ip link set left up && ip link set right up && "
        "ip neighbour replace 10.9.0.2 lladdr 02:00:00:00:00:01 dev right && "
        "ip -6 neighbour replace fd09::2 lladdr 02:00:00:00:00:01 dev right";
    have_namespace = !unshare(CLONE_NEWNET) && !system(set_up);
    return 0;
}

static int
open_left(void)
{
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_ifindex = (int) if_nametoindex("left")};
    assert_int_equal(bind(fd, (struct sockaddr *) &address, sizeof address), 0);
    return fd;
}

static uint16_t
ipv4_checksum(const uint8_t header[20])
{
    uint32_t sum = 0;
    for (int i = 0; i < 20; i += 2) {
        sum += (uint32_t) (header[i] << 8 | header[i + 1]);
    }
    while (sum >> 16) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return (uint16_t) ~sum;
}

/* Ethernet to "right", IPv4 10.9.0.2 > 10.9.0.1 with `protocol`, GRE 0x6558,
 * filled up with `number`. */
static void
make_frame(uint8_t frame[FRAME_BYTES], uint8_t protocol, uint32_t number)
{
    static const uint8_t start[] = {
        2,    0,    0,    0,
        0,    2,    2,    0,
        0,    0,    0,    1,
        0x08, 0x00, /* Ethernet */
        0x45, 0,    0,    FRAME_BYTES - 14,
        0,    1,    0,    0,
        64,   0,    0,    0,
        10,   9,    0,    2,
        10,   9,    0,    1,    /* IPv4 */
        0,    0,    0x65, 0x58, /* GRE */
    };
    memset(frame, 0, FRAME_BYTES);
    memcpy(frame, start, sizeof start);
    frame[14 + 9] = protocol;
    ef_store_be16(frame + 14 + 10, ipv4_checksum(frame + 14));
    ef_store_be32(frame + OUTER_BYTES, number);
}

static void
send_copies(int fd, uint8_t protocol, uint32_t first, uint32_t n)
{
    uint8_t frame[FRAME_BYTES];
    for (uint32_t i = 0; i < n; i++) {
        make_frame(frame, protocol, first + i);
        assert_int_equal(send(fd, frame, sizeof frame, 0), sizeof frame);
    }
}

static struct ef_source *
open_right(uint64_t ring_bytes)
{
    struct ef_source *source;
    struct ef_error err = EF_ERROR_INIT;
    if (ef_source_open("afpacket:right", ring_bytes, &source, &err)) {
        fail_msg("%s", err.text);
    }
    return source;
}

/* Receives until there are `expected` frames or nothing comes for WAIT_MS; checks
 * that they are numbered from `first` on. */
static uint32_t
receive_numbered(struct ef_source *source, uint32_t first, uint32_t expected)
{
    struct ef_frame frames[EF_BURST];
    uint32_t total = 0;
    for (int n; total < expected && (n = ef_source_receive(source, frames, EF_BURST, WAIT_MS)) > 0;) {
        for (int i = 0; i < n; i++) {
            assert_int_equal(frames[i].len, FRAME_BYTES);
            assert_int_equal(frames[i].wire_len, FRAME_BYTES);
            assert_int_equal(ef_load_be32(frames[i].data + OUTER_BYTES), first + total++);
        }
    }
    return total;
}

static void
copies_arrive_in_order(void **state)
{
    NEED_NAMESPACE();
    enum { N = 5000 };
    struct ef_source *source = open_right(0);
    int left = open_left();
    struct ef_time before = ef_time_real();
    for (uint32_t i = 0; i < N; i += 100) {
        send_copies(left, IPPROTO_UDP, i, 5); /* Filtered out by the kernel. */
        send_copies(left, IPPROTO_GRE, i, 100);
    }
    struct ef_frame frame;
    assert_int_equal(ef_source_receive(source, &frame, 1, WAIT_MS), 1);
    assert_true(frame.arrival.ns >= before.ns && frame.arrival.ns <= ef_time_real().ns);
    assert_int_equal(receive_numbered(source, 1, N - 1), N - 1);
    struct ef_source_stats stats;
    ef_source_stats(source, &stats);
    assert_int_equal(stats.frames, N);
    assert_int_equal(stats.bytes, N * FRAME_BYTES);
    assert_int_equal(stats.overflows, 0);
    close(left);
    ef_source_close(source);
}

static void
burst_is_lent_until_the_next_call(void **state)
{
    NEED_NAMESPACE();
    struct ef_source *source = open_right(1); /* The least there is: 4 blocks. */
    int left = open_left();
    struct ef_frame frames[EF_BURST];
    send_copies(left, IPPROTO_GRE, 7, 10);
    int n = ef_source_receive(source, frames, EF_BURST, WAIT_MS);
    assert_true(n > 0);
    send_copies(left, IPPROTO_GRE, 1000, 20000); /* More than the ring holds. */
    for (int i = 0; i < n; i++) {
        assert_int_equal(ef_load_be32(frames[i].data + OUTER_BYTES), 7 + i);
    }
    close(left);
    ef_source_close(source);
}

static void
overflows_are_counted_exactly(void **state)
{
    NEED_NAMESPACE();
    enum { N = 20000 };
    struct ef_source *source = open_right(1);
    int left = open_left();
    send_copies(left, IPPROTO_GRE, 0, N);
    struct ef_frame frames[EF_BURST];
    uint64_t received = 0;
    struct ef_source_stats stats;
    do {
        int n = ef_source_receive(source, frames, EF_BURST, WAIT_MS);
        assert_true(n > 0);
        received += (uint64_t) n;
        ef_source_stats(source, &stats);
    } while (received + stats.overflows < N);
    assert_int_equal(received + stats.overflows, N);
    assert_true(stats.overflows > 0);
    ef_source_stats(source, &stats);
    assert_int_equal(received + stats.overflows, N);
    close(left);
    ef_source_close(source);
}

static void
vlan_tag_is_there_again(void **state)
{
    NEED_NAMESPACE();
    struct ef_source *source = open_right(0);
    int left = open_left();
    uint8_t frame[FRAME_BYTES], tagged[FRAME_BYTES + 4];
    make_frame(frame, IPPROTO_GRE, 5);
    memcpy(tagged, frame, 12);
    memcpy(tagged + 12, "\x81\x00\xa0\x2a", 4); /* Priority 5, VLAN 42. */
    memcpy(tagged + 16, frame + 12, FRAME_BYTES - 12);
    assert_int_equal(send(left, tagged, sizeof tagged, 0), sizeof tagged);
    struct ef_frame received;
    assert_int_equal(ef_source_receive(source, &received, 1, WAIT_MS), 1);
    assert_int_equal(received.len, sizeof tagged);
    assert_int_equal(received.wire_len, sizeof tagged);
    assert_memory_equal(received.data, tagged, sizeof tagged);
    close(left);
    ef_source_close(source);
}

/* The packet that `fd` receives, or -1 after `timeout_ms`. */
static ssize_t
receive_packet(int fd, uint8_t *packet, size_t size, int timeout_ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, timeout_ms) == 1 ? recv(fd, packet, size, 0) : -1;
}

/* True if an ICMP or ICMPv6 error comes back to "left" before the answer to a
 * ping that is sent after the copy: the kernel handles them in order. */
static bool
kernel_answers_copy(int left)
{
    static const uint8_t echo[] = {
        2,    0, 0,    0,    0, 2, 2, 0, 0,  0, 0, 1, 0x08, 0x00,                    /* Ethernet */
        0x45, 0, 0,    28,   0, 1, 0, 0, 64, 1, 0, 0, 10,   9,    0, 2, 10, 9, 0, 1, /* IPv4 */
        8,    0, 0xf7, 0xfd, 0, 1, 0, 1,                                             /* ICMP echo */
    };
    uint8_t ping[sizeof echo], packet[2048];
    memcpy(ping, echo, sizeof echo);
    ef_store_be16(ping + 14 + 10, ipv4_checksum(ping + 14));
    send_copies(left, IPPROTO_GRE, 0, 1);
    assert_int_equal(send(left, ping, sizeof ping, 0), sizeof ping);
    for (;;) {
        ssize_t n = receive_packet(left, packet, sizeof packet, WAIT_MS);
        assert_true(n > 0);
        bool is_icmp = n > 34 && packet[12] == 8 && packet[13] == 0 && packet[14 + 9] == IPPROTO_ICMP;
        if (is_icmp && packet[34] == ICMP_UNREACH) {
            return true;
        }
        if (is_icmp && packet[34] == ICMP_ECHOREPLY) {
            return false;
        }
    }
}

static int
open_left_receiving(void)
{
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    int yes = 1;
    struct sockaddr_ll address = {
        .sll_family = AF_PACKET, .sll_protocol = htons(0x0800), .sll_ifindex = (int) if_nametoindex("left")};
    assert_int_equal(setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &yes, sizeof yes), 0);
    assert_int_equal(bind(fd, (struct sockaddr *) &address, sizeof address), 0);
    return fd;
}

static void
kernel_does_not_answer_copies(void **state)
{
    NEED_NAMESPACE();
    if (if_nametoindex("gre0")) {
        print_message("# not run: the ip_gre module is loaded and answers GRE itself\n");
        return;
    }
    int left = open_left_receiving();
    assert_true(kernel_answers_copy(left)); /* What this is about. */
    struct ef_source *source = open_right(0);
    assert_false(kernel_answers_copy(left));
    ef_source_close(source);
    close(left);
}

static void
own_packets_are_not_received(void **state)
{
    NEED_NAMESPACE();
    struct ef_source *source = open_right(0);
    struct ef_sink *sink;
    struct ef_frame frame;
    uint8_t packet[FRAME_BYTES];
    assert_int_equal(ef_sink_open("ip", &sink, NULL), 0);
    make_frame(packet, IPPROTO_GRE, 1);
    memcpy(packet + 14 + 16, "\x0a\x09\x00\x02", 4); /* Out of "right". */
    ef_sink_queue(sink, packet + 14, FRAME_BYTES - 14);
    ef_sink_flush(sink);
    struct ef_sink_stats stats;
    ef_sink_stats(sink, &stats);
    assert_int_equal(stats.packets, 1);
    int left = open_left();
    send_copies(left, IPPROTO_GRE, 77, 1);
    assert_int_equal(ef_source_receive(source, &frame, 1, WAIT_MS), 1);
    assert_int_equal(ef_load_be32(frame.data + OUTER_BYTES), 77);
    close(left);
    ef_sink_close(sink);
    ef_source_close(source);
}

static void
sink_keeps_the_source_address(void **state)
{
    NEED_NAMESPACE();
    int left = open_left_receiving();
    struct ef_sink *sink;
    uint8_t frame[FRAME_BYTES], got[2048];
    assert_int_equal(ef_sink_open("ip", &sink, NULL), 0);
    make_frame(frame, IPPROTO_GRE, 3);
    memcpy(frame + 14 + 12, "\x0a\xff\x00\x07\x0a\x09\x00\x02", 8); /* 10.255.0.7 > 10.9.0.2 */
    ef_store_be16(frame + 14 + 10, 0);
    ef_sink_queue(sink, frame + 14, FRAME_BYTES - 14);
    ef_sink_flush(sink);
    do {
        assert_int_equal(receive_packet(left, got, sizeof got, WAIT_MS), FRAME_BYTES);
    } while (got[14 + 9] != IPPROTO_GRE);
    assert_memory_equal(got + 14 + 12, frame + 14 + 12, FRAME_BYTES - 14 - 12);
    assert_int_equal(ipv4_checksum(got + 14), 0);
    ef_sink_close(sink);
    close(left);
}

static void
sink_counts_what_the_kernel_refuses(void **state)
{
    NEED_NAMESPACE();
    struct ef_sink *sink;
    struct ef_sink_stats stats;
    static uint8_t packet[3000];
    uint8_t frame[FRAME_BYTES];
    make_frame(frame, IPPROTO_GRE, 3);
    memcpy(packet, frame + 14, FRAME_BYTES - 14);
    assert_int_equal(ef_sink_open("ip", &sink, NULL), 0);
    memcpy(packet + 16, "\x0a\x09\x00\x02", 4);
    ef_sink_queue(sink, packet, 100);
    ef_sink_queue(sink, packet, sizeof packet); /* The MTU is 1500. */
    ef_sink_queue(sink, packet, 100);
    memcpy(packet + 16, "\xc0\x00\x02\x01", 4); /* No route. */
    ef_sink_queue(sink, packet, 100);
    packet[0] = 0x15; /* No IP version. */
    ef_sink_queue(sink, packet, 100);
    packet[0] = 0x60; /* IPv6 to fd09::2. */
    memset(packet + 4, 0, 36);
    ef_store_be16(packet + 4, 60);
    memcpy(packet + 6, "\x2f\x40", 2);
    inet_pton(AF_INET6, "fd07::1", packet + 8);
    inet_pton(AF_INET6, "fd09::2", packet + 24);
    ef_sink_queue(sink, packet, 100);
    ef_sink_queue(sink, packet, sizeof packet);
    ef_sink_flush(sink);
    ef_sink_stats(sink, &stats);
    assert_int_equal(stats.packets, 3);
    assert_int_equal(stats.bytes, 300);
    assert_int_equal(stats.too_big, 2);
    assert_int_equal(stats.failed, 2);
    ef_sink_close(sink);
}

static void
unknown_interface_is_explained(void **state)
{
    NEED_NAMESPACE();
    struct ef_source *source;
    struct ef_error err = EF_ERROR_INIT;
    assert_int_equal(ef_source_open("afpacket:middle", 0, &source, &err), -ENODEV);
    assert_string_equal(err.text, "source 'afpacket:middle': no interface 'middle'; `ip link` lists them");
}

static void
interface_may_be_down(void **state)
{
    NEED_NAMESPACE();
    struct ef_source *source = open_right(0);
    struct ef_frame frame;
    assert_int_equal(system("ip link set right down"), 0);
    assert_int_equal(ef_source_receive(source, &frame, 1, 10), 0);
    assert_int_equal(ef_source_receive(source, &frame, 1, 10), 0);
    assert_int_equal(system("ip link set right up"), 0);
    int left = open_left(), n = 0;
    /* The kernel sends again once it has noticed the carrier, some time later. */
    for (int i = 0; n == 0 && i < 200; i++) {
        send_copies(left, IPPROTO_GRE, 9, 1);
        n = ef_source_receive(source, &frame, 1, 50);
    }
    assert_int_equal(n, 1);
    close(left);
    ef_source_close(source);
}

static int
receive_until(struct ef_source *source, bool (*wanted)(int), struct ef_frame *frame)
{
    for (int i = 0;; i++) {
        int rc = ef_source_receive(source, frame, 1, 50);
        if (wanted(rc) || i == 200) {
            return rc;
        }
    }
}

static bool
is_away(int rc)
{
    return rc == -ENODEV;
}

static bool
is_there(int rc)
{
    return rc >= 0;
}

static bool
is_frame(int rc)
{
    return rc == 1;
}

/* Runs last: it replaces the interfaces. */
static void
interface_that_went_away_may_come_back(void **state)
{
    NEED_NAMESPACE();
    struct ef_source *source = open_right(0);
    struct ef_source_stats stats;
    struct ef_frame frame;
    for (uint64_t round = 1; round <= 3; round++) {
        assert_int_equal(system("ip link delete left"), 0);
        assert_int_equal(receive_until(source, is_away, &frame), -ENODEV);
        assert_string_equal(ef_source_error(source), "interface 'right' went away");
        assert_int_equal(ef_source_receive(source, &frame, 1, 10), -ENODEV);
        assert_int_equal(system("ip link add left type veth peer name right && ip link set left up && "
                                "ip link set right up"),
                         0);
        assert_int_equal(receive_until(source, is_there, &frame), 0);
        int left = open_left();
        send_copies(left, IPPROTO_GRE, 9, 1);
        close(left);
        assert_int_equal(receive_until(source, is_frame, &frame), 1);
        ef_source_stats(source, &stats);
        assert_int_equal(stats.frames, round);
        assert_int_equal(stats.overflows, 0);
    }
    assert_int_equal(system("ip link delete left"), 0);
    assert_int_equal(receive_until(source, is_away, &frame), -ENODEV);
    ef_source_close(source);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_arrive_in_order),
        cmocka_unit_test(burst_is_lent_until_the_next_call),
        cmocka_unit_test(overflows_are_counted_exactly),
        cmocka_unit_test(vlan_tag_is_there_again),
        cmocka_unit_test(kernel_does_not_answer_copies),
        cmocka_unit_test(own_packets_are_not_received),
        cmocka_unit_test(sink_keeps_the_source_address),
        cmocka_unit_test(sink_counts_what_the_kernel_refuses),
        cmocka_unit_test(unknown_interface_is_explained),
        cmocka_unit_test(interface_may_be_down),
        cmocka_unit_test(interface_that_went_away_may_come_back),
    };
    return cmocka_run_group_tests(tests, make_namespace, NULL);
}
