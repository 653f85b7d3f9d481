/* SPDX-License-Identifier: Apache-2.0 */
/* When a DPDK port received a packet, by its own clock, where it has one: the
 * timestamps that drivers put into buffers, turned into real time. DPDK leaves
 * open what they count, so that is known by driver: net_pcap gives the capture's
 * microseconds; a port with the timestamp offload is asked for its clock ten
 * times a second (tick_line.h). Without either, a packet came when it was taken.
 *
 *     ef_dpdk_clock_open(&clock, port->id);              // the port is configured
 *     ef_dpdk_clock_turn(&clock, now);                   // each burst
 *     arrival = ef_dpdk_clock_arrival(&clock, mbuf, now);
 *
 * Only source_dpdk.c uses this. One thread a clock. */
#ifndef EF_IO_DPDK_CLOCK_H
#define EF_IO_DPDK_CLOCK_H

#include "io/tick_line.h"

struct rte_mbuf;

enum ef_dpdk_clock_kind { EF_DPDK_CLOCK_NONE, EF_DPDK_CLOCK_MICROSECONDS, EF_DPDK_CLOCK_TICKS };

struct ef_dpdk_clock {
    uint16_t port;
    uint8_t kind;  /* enum ef_dpdk_clock_kind */
    int offset;    /* Of the timestamp in a buffer... */
    uint64_t flag; /* ...that has this one. */
    struct ef_time asked;
    struct ef_tick_line line;
};

/* Has drivers write timestamps into the buffers, before any port starts. */
void ef_dpdk_clock_prepare(void);

void ef_dpdk_clock_open(struct ef_dpdk_clock *clock, uint16_t port);
void ef_dpdk_clock_turn(struct ef_dpdk_clock *clock, struct ef_time now);
struct ef_time ef_dpdk_clock_arrival(const struct ef_dpdk_clock *clock, const struct rte_mbuf *mbuf,
                                     struct ef_time now);

#endif
