/* SPDX-License-Identifier: Apache-2.0 */
/* Timestamps of DPDK's ports; see dpdk_clock.h. */
#include <config.h>

#define ALLOW_EXPERIMENTAL_API /* rte_eth_read_clock(), since 2019. */

#include "io/dpdk_clock.h"

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

enum { ASK_EVERY_MS = 100 };

void
ef_dpdk_clock_prepare(void)
{
    int offset;
    uint64_t flag;
    rte_mbuf_dyn_rx_timestamp_register(&offset, &flag);
}

static enum ef_dpdk_clock_kind
kind_of(uint16_t port)
{
    struct rte_eth_dev_info info;
    struct rte_eth_conf conf;
    uint64_t ticks;
    if (rte_eth_dev_info_get(port, &info) || rte_eth_dev_conf_get(port, &conf)) {
        return EF_DPDK_CLOCK_NONE;
    }
    if (!strcmp(info.driver_name, "net_pcap")) {
        return EF_DPDK_CLOCK_MICROSECONDS;
    }
    bool has_stamps = conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_TIMESTAMP;
    return has_stamps && !rte_eth_read_clock(port, &ticks) ? EF_DPDK_CLOCK_TICKS : EF_DPDK_CLOCK_NONE;
}

void
ef_dpdk_clock_open(struct ef_dpdk_clock *clock, uint16_t port)
{
    *clock = (struct ef_dpdk_clock){.port = port};
    if (!rte_mbuf_dyn_rx_timestamp_register(&clock->offset, &clock->flag)) {
        clock->kind = (uint8_t) kind_of(port);
    }
}

void
ef_dpdk_clock_turn(struct ef_dpdk_clock *clock, struct ef_time now)
{
    uint64_t ticks;
    if (EF_LIKELY(clock->kind != EF_DPDK_CLOCK_TICKS) ||
        llabs(ef_time_diff_ns(now, clock->asked)) < ASK_EVERY_MS * EF_NS_PER_MS) {
        return;
    }
    if (!rte_eth_read_clock(clock->port, &ticks)) {
        ef_tick_line_note(&clock->line, ticks, ef_time_mono(), ef_time_real());
    }
    clock->asked = now;
}

struct ef_time
ef_dpdk_clock_arrival(const struct ef_dpdk_clock *clock, const struct rte_mbuf *mbuf, struct ef_time now)
{
    if (EF_LIKELY(clock->kind == EF_DPDK_CLOCK_NONE) || !(mbuf->ol_flags & clock->flag)) {
        return now;
    }
    uint64_t stamp = *RTE_MBUF_DYNFIELD(mbuf, clock->offset, const rte_mbuf_timestamp_t *);
    if (clock->kind == EF_DPDK_CLOCK_MICROSECONDS) {
        return stamp < INT64_MAX / 1000 ? (struct ef_time){(int64_t) stamp * 1000} : now;
    }
    struct ef_time arrival;
    return ef_tick_line_real(&clock->line, stamp, now, &arrival) ? arrival : now;
}
