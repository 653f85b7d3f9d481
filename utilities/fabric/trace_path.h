/* SPDX-License-Identifier: Apache-2.0 */
/* Which switches a packet crosses, asked from the switches themselves: at each
 * one, Open vSwitch's own ofproto/trace says what its flows do with the packet
 * now, and the topology says where that port leads. It knows nothing of
 * mirrored copies, which is what makes it a judge of them.
 *
 *     struct ef_tracer *tracer = ef_tracer_create(topology);
 *     struct ef_path path;
 *     if (!ef_tracer_trace(tracer, &packet, &path, &err)) { ... }
 *     ef_tracer_destroy(tracer);
 *
 * A tracer keeps a connection to each switch that it asked: thousands of
 * packets a second. One thread. */
#ifndef EF_FABRIC_TRACE_PATH_H
#define EF_FABRIC_TRACE_PATH_H

#include <stdint.h>

#include "utilities/fabric/topology.h"

#define EF_PATH_MAX_HOPS 64

struct ef_packet_key {
    const char *from; /* The host, or the switch's CPU, that sends it. */
    uint32_t src, dst;
    uint8_t proto; /* 6 and 17 have ports, others do not. */
    uint16_t sport, dport;
    uint8_t ttl;
};

enum ef_path_end {
    EF_PATH_DELIVERED, /* To `to`, a host. */
    EF_PATH_CPU,       /* The CPU of `to`, a switch, takes it. */
    EF_PATH_DROPPED,   /* By `to`, a switch. */
    EF_PATH_ENDLESS,   /* More than EF_PATH_MAX_HOPS. */
};

struct ef_path_hop {
    const struct ef_topology_switch *sw;
    int in_port;  /* 0: LOCAL. */
    int out_port; /* 0: none, or LOCAL. */
    int ttl;      /* On arrival. */
};

struct ef_path {
    struct ef_path_hop hops[EF_PATH_MAX_HOPS];
    size_t n_hops;
    enum ef_path_end end;
    const char *to; /* NULL for EF_PATH_ENDLESS. */
};

struct ef_tracer;

/* `topology` (of a running fabric) must live as long. */
struct ef_tracer *ef_tracer_create(const struct ef_topology *topology);
void ef_tracer_destroy(struct ef_tracer *tracer);

/* Follows the packet. Returns 0, or a negative errno with `err` if a switch
 * could not be asked. */
int ef_tracer_trace(struct ef_tracer *tracer, const struct ef_packet_key *packet, struct ef_path *path,
                    struct ef_error *err);

const char *ef_path_end_name(enum ef_path_end end);

/* Finds the port name that the "Datapath actions" of an answer of ofproto/trace
 * (with --names) send to; writes it to `name`, "" if they drop. Returns 0, or
 * -EPROTO if the answer has no such line. */
int ef_trace_answer_output(const char *answer, char name[IFNAMSIZ]);

#endif
