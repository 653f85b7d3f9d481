/* SPDX-License-Identifier: Apache-2.0 */
/* A flow whose packets are asked about: what a trace says of its packet, and the
 * same as the fields of a probe (ef-prober's), so that a probe is treated by the
 * switches as that packet was.
 *
 *     struct probe_flow flow;
 *     if (probe_flow_of_trace(&flow, trace)) continue;       // not IP
 *     flow.dst_port = 8080;                                   // vary it
 *     json_t *packet = probe_flow_packet(&flow, (const char *[]){"spine1"}, 1);
 *
 * A plain value. */
#ifndef CONTROLLER_PROBE_FLOW_H
#define CONTROLLER_PROBE_FLOW_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"

enum {
    PROBE_FLOW_TCP = 6,
    PROBE_FLOW_UDP = 17,
    PROBE_FLOW_MAX = 1450,  /* On an Ethernet of 1500 bytes, with two layers around it. */
    PROBE_FLOW_LONG = 1400, /* What every link takes, with the layers around a probe. */
};

struct probe_flow {
    char src[48], dst[48]; /* Addresses; no source stands for the prober's own. */
    int proto;
    int src_port, dst_port; /* TCP and UDP. */
    int length;             /* From the IP header on; less than probe_flow_shortest() stands for that. */
    int ttl;                /* 0: the prober's default. */
    char flags[10];         /* TCP: letters of FSRPAUEC; "": S. */
};

/* Reads the packet of a trace. Returns 0, or -EINVAL: it is not IP. */
int probe_flow_of_trace(struct probe_flow *flow, const json_t *trace);

/* Reads {"src", "dst", "proto", "src_port", "dst_port", "length"} of an order's options; names
 * are left as they are. Returns 0 or -EINVAL with `err`. */
int probe_flow_read(struct probe_flow *flow, const json_t *options, struct ef_error *err);

bool probe_flow_has_ports(const struct probe_flow *flow);

/* The length of the shortest probe like it: the headers and the signature. */
int probe_flow_shortest(const struct probe_flow *flow);

/* The fields of a probe like it that is led over the switches `via`. A new
 * reference. */
json_t *probe_flow_packet(const struct probe_flow *flow, const char *const via[], size_t n_via);

/* "10.1.0.11:43122 > 10.4.0.12:80 TCP" into `buf`, which is returned. */
enum { PROBE_FLOW_TEXT = 160 };
char *probe_flow_text(const struct probe_flow *flow, char buf[PROBE_FLOW_TEXT]);
const char *probe_flow_proto_name(int proto, char buf[16]);

#endif
