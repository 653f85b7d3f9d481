/* SPDX-License-Identifier: Apache-2.0 */
/* IP packets out of a DPDK port, all to one next hop, whose MAC address the spec
 * says: "dpdk:DEVICE[,ARGUMENTS]#MAC". A buffer that was taken over from a DPDK
 * source is sent as it is, with another Ethernet header in front of the packet. */
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
    struct rte_ether_hdr ipv4, ipv6; /* In front of packets. */
};

static struct dpdk_sink *
dpdk_sink_of(struct ef_sink *sink)
{
    return EF_CONTAINER_OF(sink, struct dpdk_sink, sink);
}

static void
dpdk_sink_close(struct ef_sink *sink)
{
    struct dpdk_sink *s = dpdk_sink_of(sink);
    ef_dpdk_port_close(s->port);
    ef_dpdk_pool_retire(s->pool);
    free(s);
}

static int
parse_where(struct dpdk_sink *s, const char *where, char *devargs, size_t size, struct ef_error *err)
{
    const char *hash = strrchr(where, '#');
    if (!hash || rte_ether_unformat_addr(hash + 1, &s->ipv4.dst_addr)) {
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
    memcpy(s->ipv4.src_addr.addr_bytes, s->port->mac, sizeof s->port->mac);
    s->ipv4.ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4);
    s->ipv6 = s->ipv4;
    s->ipv6.ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV6);
    s->pool = ef_dpdk_pool_create(BUFFERS, s->port->mtu + RTE_ETHER_HDR_LEN);
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

/* --- Sending ------------------------------------------------------------------------ */

static void
write_ethernet(const struct dpdk_sink *s, uint8_t *packet)
{
    memcpy(packet - RTE_ETHER_HDR_LEN, packet[0] >> 4 == 6 ? &s->ipv6 : &s->ipv4, RTE_ETHER_HDR_LEN);
}

/* The frame that came in becomes the one that goes out: without what was in
 * front of its last 14 bytes before the packet (VLAN tags) or behind the packet
 * (padding), nor what the receiving port said of it. */
static struct rte_mbuf *
adopt(const struct dpdk_sink *s, const struct ef_sink_packet *packet)
{
    struct rte_mbuf *m = packet->buffer;
    write_ethernet(s, packet->data);
    m->data_off = (uint16_t) (packet->data - RTE_ETHER_HDR_LEN - (uint8_t *) m->buf_addr);
    m->data_len = (uint16_t) (RTE_ETHER_HDR_LEN + packet->len);
    m->pkt_len = m->data_len;
    m->ol_flags = 0;
    return m;
}

static struct rte_mbuf *
copy(const struct dpdk_sink *s, struct rte_mbuf *m, const struct ef_sink_packet *packet)
{
    uint8_t *data = rte_pktmbuf_mtod(m, uint8_t *) + RTE_ETHER_HDR_LEN;
    memcpy(data, packet->data, packet->len);
    write_ethernet(s, data);
    m->data_len = (uint16_t) (RTE_ETHER_HDR_LEN + packet->len);
    m->pkt_len = m->data_len;
    return m;
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

/* Counts packets that will not be sent, and frees their buffers. */
static void
discard(struct ef_sink *sink, struct rte_mbuf *mbufs[], unsigned n, int code)
{
    for (unsigned i = 0; i < n; i++) {
        ef_sink_count(sink, 0, code);
    }
    rte_pktmbuf_free_bulk(mbufs, n);
}

/* As many buffers as packets have none; returns false if there are not so many. */
static bool
take_buffers(struct dpdk_sink *s, const struct ef_sink_packet packets[], int n, struct rte_mbuf *mbufs[],
             unsigned *n_taken)
{
    *n_taken = 0;
    for (int i = 0; i < n; i++) {
        *n_taken += !packets[i].buffer;
    }
    return !*n_taken || !rte_pktmbuf_alloc_bulk(s->pool, mbufs, *n_taken);
}

static void
dpdk_send(struct ef_sink *sink, const struct ef_sink_packet packets[], int n)
{
    struct dpdk_sink *s = dpdk_sink_of(sink);
    struct rte_mbuf *mbufs[EF_SINK_BATCH], *fresh[EF_SINK_BATCH];
    unsigned n_fresh, n_used = 0;
    uint64_t bytes = 0;
    uint16_t n_ready = 0;
    ef_dpdk_enter_thread();
    bool has_buffers = take_buffers(s, packets, n, fresh, &n_fresh);
    for (int i = 0; i < n; i++) {
        struct rte_mbuf *m = packets[i].buffer;
        int code = packets[i].len > s->port->mtu ? EMSGSIZE : !m && !has_buffers ? ENOBUFS : 0;
        if (EF_UNLIKELY(code)) {
            discard(sink, &m, 1, code);
        } else {
            mbufs[n_ready++] = m ? adopt(s, &packets[i]) : copy(s, fresh[n_used++], &packets[i]);
            bytes += packets[i].len;
        }
    }
    uint16_t n_sent = n_ready ? transmit(s, mbufs, n_ready) : 0;
    for (uint16_t i = n_sent; i < n_ready; i++) {
        bytes -= mbufs[i]->pkt_len - RTE_ETHER_HDR_LEN;
    }
    ef_counter_add(&sink->packets, n_sent);
    ef_counter_add(&sink->bytes, bytes);
    discard(sink, mbufs + n_sent, n_ready - n_sent, EAGAIN);
    if (has_buffers && n_used < n_fresh) {
        rte_pktmbuf_free_bulk(fresh + n_used, n_fresh - n_used);
    }
}

const struct ef_sink_class ef_sink_dpdk_class = {
    .scheme = "dpdk",
    .usage = "dpdk:DEVICE[,ARGUMENTS]#MAC",
    .buffer_room = RTE_ETHER_HDR_LEN,
    .open = dpdk_sink_open,
    .close = dpdk_sink_close,
    .send = dpdk_send,
};
