/* SPDX-License-Identifier: Apache-2.0 */
/* IP packets out of a DPDK port, all to one next hop, whose MAC address the spec
 * says: "dpdk:DEVICE[,ARGUMENTS]#MAC". */
#include <config.h>

#include <errno.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/byteorder.h"
#include "base/time.h"
#include "io/dpdk_port.h"
#include "io/sink_class.h"

enum { BUFFERS = 8191, PATIENCE_MS = 100, LINK_PATIENCE_MS = 2000 };

struct dpdk_sink {
    struct ef_sink sink;
    struct ef_dpdk_port *port;
    uint16_t queue;
    struct rte_mempool *pool;
    struct rte_ether_hdr header;
};

static struct dpdk_sink *
dpdk_sink_of(struct ef_sink *sink)
{
    return EF_CONTAINER_OF(sink, struct dpdk_sink, sink);
}

/* A port that stays open for another keeps what it has still to send. */
static void
dpdk_sink_close(struct ef_sink *sink)
{
    struct dpdk_sink *s = dpdk_sink_of(sink);
    bool is_last = s->port && s->port->n_users == 1;
    ef_dpdk_port_close(s->port);
    if (is_last) {
        rte_mempool_free(s->pool);
    }
    free(s);
}

static int
parse_where(struct dpdk_sink *s, const char *where, char *devargs, size_t size, struct ef_error *err)
{
    const char *hash = strrchr(where, '#');
    if (!hash || rte_ether_unformat_addr(hash + 1, &s->header.dst_addr)) {
        return ef_error_set(err, -EINVAL, "the next hop's MAC address must follow: #02:00:00:00:00:01");
    }
    if ((size_t) (hash - where) >= size) {
        return ef_error_set(err, -EINVAL, "longer than %zu bytes", size - 1);
    }
    memcpy(devargs, where, (size_t) (hash - where));
    devargs[hash - where] = '\0';
    return 0;
}

/* The other side may still be on its way. */
static void
wait_for_link(const struct dpdk_sink *s)
{
    struct rte_eth_link link = {0};
    for (int i = 0; i < LINK_PATIENCE_MS && !link.link_status; i++) {
        if (rte_eth_link_get_nowait(s->port->id, &link)) {
            return;
        }
        usleep(link.link_status ? 0 : 1000);
    }
}

static int
take_port(struct dpdk_sink *s, const char *devargs, struct ef_error *err)
{
    int rc = ef_dpdk_port_open(devargs, 1, 0, &s->port, err);
    int queue = rc ? rc : ef_dpdk_port_take_tx(s->port, err);
    if (queue < 0) {
        return queue;
    }
    s->queue = (uint16_t) queue;
    wait_for_link(s);
    memcpy(s->header.src_addr.addr_bytes, s->port->mac, sizeof s->port->mac);
    s->pool = ef_dpdk_pool_create(BUFFERS, s->port->mtu + (uint32_t) sizeof s->header);
    return s->pool ? 0 : ef_error_set(err, -ENOMEM, "DPDK has no memory for %d buffers", BUFFERS);
}

static int
dpdk_sink_open(const char *where, struct ef_sink **out, struct ef_error *err)
{
    char devargs[1024];
    struct dpdk_sink *s = calloc(1, sizeof *s);
    int rc = s ? parse_where(s, where, devargs, sizeof devargs, err) : ef_error_set(err, -ENOMEM, "out of memory");
    rc = rc ? rc : take_port(s, devargs, err);
    if (rc) {
        if (s) {
            dpdk_sink_close(&s->sink);
        }
        return rc;
    }
    *out = &s->sink;
    return 0;
}

static void
fill(struct dpdk_sink *s, struct rte_mbuf *m, const struct ef_sink_packet *packet)
{
    uint8_t *data = rte_pktmbuf_mtod(m, uint8_t *);
    s->header.ether_type = rte_cpu_to_be_16(packet->data[0] >> 4 == 6 ? RTE_ETHER_TYPE_IPV6 : RTE_ETHER_TYPE_IPV4);
    memcpy(data, &s->header, sizeof s->header);
    memcpy(data + sizeof s->header, packet->data, packet->len);
    m->data_len = (uint16_t) (sizeof s->header + packet->len);
    m->pkt_len = m->data_len;
}

/* Returns how many of `n` the device took within our patience. */
static uint16_t
transmit(struct dpdk_sink *s, struct rte_mbuf *mbufs[], uint16_t n)
{
    uint16_t sent = rte_eth_tx_burst(s->port->id, s->queue, mbufs, n);
    if (EF_UNLIKELY(sent < n)) {
        struct ef_time deadline = ef_time_add_ms(ef_time_mono(), PATIENCE_MS);
        while (sent < n && ef_time_before(ef_time_mono(), deadline)) {
            sched_yield(); /* Who takes the packets may need this very core. */
            sent = (uint16_t) (sent + rte_eth_tx_burst(s->port->id, s->queue, mbufs + sent, (uint16_t) (n - sent)));
        }
    }
    return sent;
}

static void
dpdk_send(struct ef_sink *sink, const struct ef_sink_packet packets[], int n)
{
    struct dpdk_sink *s = dpdk_sink_of(sink);
    struct rte_mbuf *mbufs[EF_SINK_BATCH];
    uint32_t lens[EF_SINK_BATCH];
    uint16_t n_filled = 0;
    ef_dpdk_enter_thread();
    bool has_buffers = !rte_pktmbuf_alloc_bulk(s->pool, mbufs, (unsigned) n);
    for (int i = 0; i < n; i++) {
        if (packets[i].len > s->port->mtu) {
            ef_sink_count(sink, packets[i].len, EMSGSIZE);
        } else if (!has_buffers) {
            ef_sink_count(sink, packets[i].len, ENOBUFS);
        } else {
            lens[n_filled] = packets[i].len;
            fill(s, mbufs[n_filled++], &packets[i]);
        }
    }
    if (!has_buffers) {
        return;
    }
    uint16_t sent = n_filled ? transmit(s, mbufs, n_filled) : 0;
    for (uint16_t i = 0; i < n_filled; i++) {
        ef_sink_count(sink, lens[i], i < sent ? 0 : EAGAIN);
    }
    if (sent < n) {
        rte_pktmbuf_free_bulk(mbufs + sent, (unsigned) (n - sent));
    }
}

const struct ef_sink_class ef_sink_dpdk_class = {
    .scheme = "dpdk",
    .usage = "dpdk:DEVICE[,ARGUMENTS]#MAC",
    .open = dpdk_sink_open,
    .close = dpdk_sink_close,
    .send = dpdk_send,
};
