/* SPDX-License-Identifier: Apache-2.0 */
/* Filters on parsed packets, one core: 1, 4 and 16 terms, and the same tests
 * written by hand in C over the same packets as the bound. The packets (TCP,
 * UDP, some VLAN and VXLAN) fit the first level caches as those of a burst do;
 * the terms are such that most are evaluated. */
#include <config.h>

#include <stdlib.h>

#include "base/util.h"
#include "bench/bench.h"
#include "filter/filter.h"
#include "packet/build.h"
#include "packet/headers.h"

enum { N_PACKETS = 64, FRAME_SIZE = 192, ROUNDS = 20000 };

struct burst {
    uint8_t frames[N_PACKETS][FRAME_SIZE];
    struct ef_packet packets[N_PACKETS];
};

static void
build_packet(struct burst *burst, unsigned i)
{
    struct ef_build b;
    ef_build_start(&b, burst->frames[i], FRAME_SIZE);
    ef_build_eth(&b);
    if (i % 8 == 3) {
        ef_build_vlan(&b, EF_ETHERTYPE_VLAN, 100);
    }
    if (i % 8 == 5) {
        ef_build_ipv4(&b, "10.9.0.1", "10.9.0.2");
        ef_build_udp(&b, 50000, EF_PORT_VXLAN);
        ef_build_vxlan(&b, 7);
        ef_build_eth(&b);
    }
    uint8_t *ip = ef_build_ipv4(&b, i % 2 ? "10.1.0.2" : "10.1.0.3", i % 4 ? "192.16.4.3" : "10.4.0.3");
    ip[8] = (uint8_t) (60 + i % 4);
    if (i % 8 == 7) {
        ef_build_udp(&b, 40000, 53);
    } else {
        ef_build_tcp(&b, (uint16_t) (40000 + i), i % 3 ? 80 : 443, i % 5 ? EF_TCP_ACK : EF_TCP_SYN);
    }
    int len = ef_build_finish(&b);
    if (len < 0 || ef_packet_parse(&burst->packets[i], burst->frames[i], (uint32_t) len, (uint32_t) len)) {
        abort();
    }
}

/* --- The same by hand: every occurrence, as the language has it ------------- */

typedef bool by_hand(const struct ef_packet *p);

#define ANY(P, PROTO, H, TEST)                                              \
    ({                                                                      \
        bool found = false;                                                 \
        for (unsigned i = 0; i < (P)->n_layers && !found; i++) {            \
            const uint8_t *H = (P)->data + (P)->layers[i].offset;           \
            found = (P)->layers[i].proto == (PROTO) && (TEST);              \
        }                                                                   \
        found;                                                              \
    })

static EF_ALWAYS_INLINE bool
is_to_net(const struct ef_packet *p)
{
    return ANY(p, EF_PROTO_IPV4, ip, ef_load_be32(ip + 16) >> 16 == 0xc010);
}

static bool
hand_1(const struct ef_packet *p)
{
    return is_to_net(p);
}

static bool
hand_4(const struct ef_packet *p)
{
    return is_to_net(p) && ANY(p, EF_PROTO_TCP, tcp, tcp[13] & EF_TCP_ACK) &&
           ANY(p, EF_PROTO_IPV4, ip, ef_ipv4_ttl(ip) > 10) && ANY(p, EF_PROTO_TCP, tcp, ef_load_be16(tcp + 2) == 80);
}

static bool
hand_16(const struct ef_packet *p)
{
    return ANY(p, EF_PROTO_IPV4, ip, ef_ipv4_ttl(ip) > 10) && ANY(p, EF_PROTO_IPV4, ip, ef_ipv4_ttl(ip) < 200) &&
           ANY(p, EF_PROTO_IPV4, ip, ef_ipv4_total_len(ip) >= 28) &&
           ANY(p, EF_PROTO_IPV4, ip, ef_ipv4_header_len(ip) == 20) &&
           ANY(p, EF_PROTO_IPV4, ip, ef_ipv4_fragment(ip) & EF_IPV4_DF) &&
           ANY(p, EF_PROTO_IPV4, ip, ef_load_be32(ip + 12) >> 16 == 0x0a01) && is_to_net(p) &&
           ANY(p, EF_PROTO_IPV4, ip, ef_ipv4_proto(ip) == 6) &&
           ANY(p, EF_PROTO_TCP, tcp, ef_load_be16(tcp) >= 40000) &&
           ANY(p, EF_PROTO_TCP, tcp, ef_load_be16(tcp + 2) < 1024) && ANY(p, EF_PROTO_TCP, tcp, tcp[12] >> 4 == 5) &&
           ANY(p, EF_PROTO_TCP, tcp, !(tcp[13] & EF_TCP_SYN)) && ANY(p, EF_PROTO_TCP, tcp, !(tcp[13] & EF_TCP_RST)) &&
           ANY(p, EF_PROTO_TCP, tcp, !(tcp[13] & EF_TCP_FIN)) && ANY(p, EF_PROTO_TCP, tcp, tcp[13] & EF_TCP_ACK) &&
           ANY(p, EF_PROTO_TCP, tcp, ef_load_be16(tcp + 2) == 80);
}

static const struct {
    int terms;
    double goal;
    const char *text;
    by_hand *hand;
} cases[] = {
    {1, 0, "ip.dst == 192.16.0.0/16", hand_1},
    {4, 30e6, "ip.dst == 192.16.0.0/16 && tcp.flags.ack == 1 && ip.ttl > 10 && tcp.dstport == 80", hand_4},
    {16, 0,
     "ip.ttl > 10 && ip.ttl < 200 && ip.len >= 28 && ip.hdr_len == 20 && ip.flags.df == 1 && ip.src == 10.1.0.0/16 && "
     "ip.dst == 192.16.0.0/16 && ip.proto == 6 && tcp.srcport >= 40000 && tcp.dstport < 1024 && tcp.hdr_len == 20 && "
     "tcp.flags.syn == 0 && tcp.flags.reset == 0 && tcp.flags.fin == 0 && tcp.flags.ack == 1 && tcp.dstport == 80",
     hand_16},
};

/* Packets per second of one run. */
static double
run_filter(const struct burst *burst, const struct ef_filter *filter, unsigned *matched)
{
    double start = ef_bench_seconds();
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < N_PACKETS; i++) {
            struct ef_filter_input in = {.packet = &burst->packets[i]};
            *matched += ef_filter_match(filter, &in);
        }
        ef_bench_keep(*matched);
    }
    return (double) ROUNDS * N_PACKETS / (ef_bench_seconds() - start);
}

static __attribute__((noinline)) double
run_by_hand(const struct burst *burst, by_hand *hand, unsigned *matched)
{
    double start = ef_bench_seconds();
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < N_PACKETS; i++) {
            *matched += hand(&burst->packets[i]);
        }
        ef_bench_keep(*matched);
    }
    return (double) ROUNDS * N_PACKETS / (ef_bench_seconds() - start);
}

int
main(void)
{
    static struct burst burst;
    for (unsigned i = 0; i < N_PACKETS; i++) {
        build_packet(&burst, i);
    }
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        struct ef_bench bench = {.name = "filter.match",
                                 .unit = "packets/s",
                                 .goal = cases[i].goal,
                                 .bound_is = "the same tests written in C, on the same packets"};
        struct ef_bench bound = bench;
        struct ef_filter *filter;
        ef_bench_param(&bench, "terms", cases[i].terms);
        if (ef_filter_compile(cases[i].text, EF_FILTER_PACKET, &filter, NULL)) {
            abort();
        }
        unsigned by_filter = 0, by_c = 0;
        for (int run = 0; run < EF_BENCH_RUNS; run++) {
            ef_bench_add(&bound, run_by_hand(&burst, cases[i].hand, &by_c));
            ef_bench_add(&bench, run_filter(&burst, filter, &by_filter));
        }
        if (by_filter != by_c) {
            fprintf(stderr, "bench_filter: the filter and its C form differ: %u, %u\n", by_filter, by_c);
            return 1;
        }
        bench.bound = ef_bench_median(&bound);
        ef_bench_param(&bench, "matched", (double) by_filter / EF_BENCH_RUNS / ROUNDS / N_PACKETS);
        ef_bench_print(&bench);
        ef_filter_destroy(filter);
    }
    return 0;
}
