/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the BPF program for copies. The kernel itself runs it: on a pair of
 * Unix datagram sockets, which take filters and need no privilege. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/util.h"
#include "io/copy_filter.h"

enum { MAX_FRAME = 96 };

/* A frame of zeros with the EtherTypes given, one after the other 4 bytes apart
 * from offset 12 on, and the byte `value` at `at`. */
struct frame_case {
    const char *what;
    uint16_t types[4];
    int at, value, at2, value2;
    int passes;
};

static const struct frame_case cases[] = {
    {"IPv4 GRE", {0x0800}, 23, 47, 0, 0, 1},
    {"IPv4 TCP", {0x0800}, 23, 6, 0, 0, 0},
    {"IPv4 fragment of GRE", {0x0800}, 23, 47, 20, 0x20, 1},
    {"ARP", {0x0806}, 23, 47, 0, 0, 0},
    {"IPv6 GRE", {0x86dd}, 20, 47, 0, 0, 1},
    {"IPv6 UDP", {0x86dd}, 20, 17, 0, 0, 0},
    {"IPv6 with 47 where IPv4 has its protocol", {0x86dd}, 23, 47, 0, 0, 0},
    {"IPv6 fragment of GRE", {0x86dd}, 20, 44, 54, 47, 1},
    {"IPv6 fragment of TCP", {0x86dd}, 20, 44, 54, 6, 0},
    {"VLAN, IPv4 GRE", {0x8100, 0x0800}, 27, 47, 0, 0, 1},
    {"VLAN, IPv4 TCP", {0x8100, 0x0800}, 27, 6, 23, 47, 0},
    {"VLAN, IPv6 GRE", {0x8100, 0x86dd}, 24, 47, 0, 0, 1},
    {"VLAN, IPv6 fragment of GRE", {0x8100, 0x86dd}, 24, 44, 58, 47, 1},
    {"service VLAN, IPv4 GRE", {0x88a8, 0x0800}, 27, 47, 0, 0, 1},
    {"two VLANs, IPv4 GRE", {0x88a8, 0x8100, 0x0800}, 31, 47, 0, 0, 1},
    {"two VLANs, IPv6 GRE", {0x8100, 0x88a8, 0x86dd}, 28, 47, 0, 0, 1},
    {"two VLANs, ARP", {0x8100, 0x8100, 0x0806}, 31, 47, 0, 0, 0},
    {"three VLANs, IPv4 GRE", {0x8100, 0x8100, 0x8100, 0x0800}, 35, 47, 0, 0, 0},
};

static size_t
build(const struct frame_case *c, uint8_t frame[MAX_FRAME])
{
    memset(frame, 0, MAX_FRAME);
    for (size_t i = 0; i < EF_ARRAY_SIZE(c->types) && c->types[i]; i++) {
        frame[12 + 4 * i] = (uint8_t) (c->types[i] >> 8);
        frame[13 + 4 * i] = (uint8_t) c->types[i];
    }
    if (c->at2) {
        frame[c->at2] = (uint8_t) c->value2;
    }
    frame[c->at] = (uint8_t) c->value;
    return MAX_FRAME;
}

static int
passes(const struct sock_fprog *program, const uint8_t *frame, size_t len)
{
    int fds[2];
    uint8_t received[MAX_FRAME];
    assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM, 0, fds), 0);
    assert_int_equal(setsockopt(fds[1], SOL_SOCKET, SO_ATTACH_FILTER, program, sizeof *program), 0);
    /* A filter that discards makes send() fail on Unix sockets. */
    ssize_t sent = send(fds[0], frame, len, 0);
    ssize_t n = recv(fds[1], received, sizeof received, MSG_DONTWAIT);
    close(fds[0]);
    close(fds[1]);
    assert_true(n < 0 || (sent == (ssize_t) len && n == sent && !memcmp(frame, received, len)));
    return n > 0;
}

static void
copies_pass_and_nothing_else(void **state)
{
    uint8_t frame[MAX_FRAME];
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        size_t len = build(&cases[i], frame);
        if (passes(&ef_copy_filter, frame, len) != cases[i].passes) {
            fail_msg("%s: should%s pass", cases[i].what, cases[i].passes ? "" : " not");
        }
    }
}

static void
short_frames_do_not_pass(void **state)
{
    uint8_t frame[MAX_FRAME];
    build(&cases[0], frame);
    for (size_t len = 1; len < 24; len++) {
        assert_int_equal(passes(&ef_copy_filter, frame, len), 0);
    }
    assert_int_equal(passes(&ef_copy_filter, frame, 24), 1);
}

static void
drop_all_drops_all(void **state)
{
    uint8_t frame[MAX_FRAME];
    assert_int_equal(passes(&ef_drop_all_filter, frame, build(&cases[0], frame)), 0);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_pass_and_nothing_else),
        cmocka_unit_test(short_frames_do_not_pass),
        cmocka_unit_test(drop_all_drops_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
