/* SPDX-License-Identifier: Apache-2.0 */
/* What ef-replay makes: packets that cross a fabric, and what befalls them and
 * their copies. Everything follows from the seed and the packet's number, so
 * that the truth about any packet can be told again at any time, without
 * keeping it:
 *
 *     struct replay_story story;
 *     replay_story_tell(&workload, 17, &story);
 *     story.kind == REPLAY_LOOP ...
 *
 * The fabric is a row of `hops` places with `width` equal switches each; a
 * flow takes one switch at each place (as ECMP does). Switch w of place k has
 * the address 10.255.(k+1).(w+1), and the hosts behind switch w of the last
 * place have the addresses 172.16.w.0/24: so the last switch of a packet
 * follows from its destination. Plain values; any number of threads. */
#ifndef REPLAY_WORKLOAD_H
#define REPLAY_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "packet/copy.h"

enum {
    REPLAY_MAX_HOPS = 16,
    REPLAY_MAX_WIDTH = 200,
    REPLAY_MAX_COPIES = 32,
    REPLAY_FIRST_TTL = 64,
};

struct replay_workload {
    uint64_t seed;
    uint64_t n_packets; /* At most 2^32: the TCP sequence number is the packet's. */
    uint32_t n_flows;
    unsigned hops, width;
    uint32_t packet_bytes;             /* Length of the original frame. */
    uint32_t truncate;                 /* Bytes of it that a copy holds; 0: all. */
    double lost, duplicated;           /* Probability of each copy. */
    double loops, drops, muxed, debug; /* Probability of each packet; the first three exclude each other. */
    int64_t gap_ns;                    /* Between two packets. */
    int64_t hop_ns;                    /* Between two switches. */
    int64_t reorder_ns;                /* A copy arrives up to so much late. */
    uint8_t encapsulation;             /* enum ef_encapsulation */
    uint8_t target[16];
};

/* A loop: the packet comes back to a switch, two to four times, and then its
 * TTL has run out. A drop: it vanishes behind a place that is not the last.
 * Muxed: a load balancer beside a switch sends it back inside another IP
 * packet, in which it goes on. */
enum replay_kind { REPLAY_PLAIN, REPLAY_LOOP, REPLAY_DROP, REPLAY_MUXED };
#define REPLAY_N_KINDS 4
extern const char *const replay_kind_names[REPLAY_N_KINDS];

struct replay_copy {
    uint16_t switch_number; /* place * width + switch. */
    uint8_t ttl, outer_ttl; /* Of the innermost and the outermost IP header. */
    bool encapsulated, is_lost, is_duplicated;
    int64_t mirrored_ns;  /* After the workload's start: the switch's time... */
    int64_t arrival_ns;   /* ...when it arrives, unless lost... */
    int64_t duplicate_ns; /* ...and once more, if duplicated. */
};

struct replay_story {
    uint64_t packet;
    uint32_t flow;
    enum replay_kind kind;
    bool debug;
    unsigned n_copies;
    unsigned place;                               /* Where a drop's last, a loop's first, a mux's switch is. */
    int64_t mux_latency_ns;                       /* Between the original's and the encapsulated packet's copy there. */
    struct replay_copy copies[REPLAY_MAX_COPIES]; /* In the packet's order. */
};

/* Of packet number `packet`, less than n_packets. */
void replay_story_tell(const struct replay_workload *w, uint64_t packet, struct replay_story *story);

/* The IPv4 addresses of a switch, and of both ends of a flow. */
uint32_t replay_switch_ipv4(const struct replay_workload *w, unsigned switch_number);
uint32_t replay_flow_src(uint32_t flow);
uint32_t replay_flow_dst(const struct replay_workload *w, uint32_t flow);

#endif
