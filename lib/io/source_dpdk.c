/* SPDX-License-Identifier: Apache-2.0 */
/* Frames from a queue of a DPDK port, polled. A burst borrows DPDK's buffers until
 * the next call, but for those that a sink has taken over; only a frame that lies
 * in several buffers is put together in one of ours. While nothing comes, polling becomes slower, to at most POLL_US,
 * so that a quiet port does not cost a core. */
#include <config.h>

#include <errno.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/parse_number.h"
#include "io/dpdk_clock.h"
#include "io/dpdk_port.h"
#include "io/source_class.h"

enum { EAGER_POLLS = 200, POLL_US = 50, WHOLE_BYTES = 65535, REPLY_BUFFERS = 2047 };

struct dpdk_source {
    struct ef_source source;
    struct ef_dpdk_port *port;
    uint16_t queue, reply_queue;
    struct rte_mempool *reply_pool; /* NULL: no replies. */
    struct ef_dpdk_clock clock;
    unsigned n_held;
    struct rte_mbuf *held[EF_BURST];
    uint8_t *whole; /* WHOLE_BYTES for one frame in pieces at a time. */
    ef_counter too_long;
};

static struct dpdk_source *
dpdk_of(struct ef_source *source)
{
    return EF_CONTAINER_OF(source, struct dpdk_source, source);
}

/* "DEVARGS" or "DEVARGS#QUEUE/QUEUES". */
static int
parse_where(const char *where, char *devargs, size_t size, uint64_t *queue, uint64_t *n_queues, struct ef_error *err)
{
    const char *hash = strrchr(where, '#'), *slash = hash ? strchr(hash, '/') : NULL;
    size_t n = hash ? (size_t) (hash - where) : strlen(where);
    char number[24];
    *queue = 0;
    *n_queues = 1;
    if (n >= size) {
        return ef_error_set(err, -EINVAL, "longer than %zu bytes", size - 1);
    }
    memcpy(devargs, where, n);
    devargs[n] = '\0';
    if (!hash) {
        return 0;
    }
    if (!slash || (size_t) (slash - hash) > sizeof number) {
        return ef_error_set(err, -EINVAL, "behind '#' there must be QUEUE/QUEUES, such as 0/4");
    }
    memcpy(number, hash + 1, (size_t) (slash - hash - 1));
    number[slash - hash - 1] = '\0';
    int rc = ef_parse_u64(slash + 1, "the number of queues", 1, EF_DPDK_MAX_QUEUES, n_queues, err);
    return rc ? rc : ef_parse_u64(number, "the queue", 0, *n_queues - 1, queue, err);
}

static void
dpdk_close(struct ef_source *source)
{
    struct dpdk_source *s = dpdk_of(source);
    if (s->n_held) {
        rte_pktmbuf_free_bulk(s->held, s->n_held);
    }
    ef_dpdk_port_close(s->port);
    ef_dpdk_pool_retire(s->reply_pool);
    free(s->whole);
    free(s);
}

static int
dpdk_open(const char *where, uint64_t ring_bytes, struct ef_source **out, struct ef_error *err)
{
    char devargs[1024];
    uint64_t queue, n_queues;
    int rc = parse_where(where, devargs, sizeof devargs, &queue, &n_queues, err);
    if (rc) {
        return rc;
    }
    struct dpdk_source *s = calloc(1, sizeof *s);
    if (!s || !(s->whole = malloc(WHOLE_BYTES))) {
        free(s);
        return ef_error_set(err, -ENOMEM, "out of memory");
    }
    s->queue = (uint16_t) queue;
    rc = ef_dpdk_port_open(devargs, (unsigned) n_queues, ring_bytes, &s->port, err);
    if (rc) {
        dpdk_close(&s->source);
        return rc;
    }
    ef_dpdk_clock_open(&s->clock, s->port->id);
    *out = &s->source;
    return 0;
}

static unsigned
poll_for(struct dpdk_source *s, int max, int timeout_ms)
{
    uint16_t n = 0, most = (uint16_t) EF_MIN(max, EF_BURST);
    struct ef_time deadline = {0};
    for (unsigned polls = 0;; polls++) {
        n = rte_eth_rx_burst(s->port->id, s->queue, s->held, most);
        if (EF_LIKELY(n) || !timeout_ms) {
            return n;
        }
        if (polls == EAGER_POLLS) {
            deadline = ef_time_add_ms(ef_time_mono(), timeout_ms);
        } else if (polls > EAGER_POLLS) {
            if (!ef_time_before(ef_time_mono(), deadline)) {
                return 0;
            }
            usleep(POLL_US);
        }
    }
}

/* Only one frame of a burst may use `whole`: returns false for a further one,
 * or one that is too long. */
static bool
describe(struct dpdk_source *s, struct rte_mbuf **m, bool *whole_is_used, struct ef_frame *frame)
{
    frame->len = frame->wire_len = rte_pktmbuf_pkt_len(*m);
    frame->data = rte_pktmbuf_mtod(*m, const uint8_t *);
    if (EF_LIKELY((*m)->nb_segs == 1)) {
        /* Not what is shared with others, or memory that the device wants back. */
        frame->buffer = EF_LIKELY(RTE_MBUF_DIRECT(*m) && rte_mbuf_refcnt_read(*m) == 1) ? m : NULL;
        return true;
    }
    frame->buffer = NULL;
    if (*whole_is_used || frame->len > WHOLE_BYTES) {
        return false;
    }
    *whole_is_used = true;
    frame->data = rte_pktmbuf_read(*m, 0, frame->len, s->whole);
    return frame->data;
}

static int
dpdk_receive(struct ef_source *source, struct ef_frame *frames, int max, int timeout_ms)
{
    struct dpdk_source *s = dpdk_of(source);
    bool whole_is_used = false;
    int n = 0;
    ef_dpdk_enter_thread();
    if (s->n_held) {
        rte_pktmbuf_free_bulk(s->held, s->n_held);
    }
    s->n_held = poll_for(s, max, timeout_ms);
    struct ef_time now = s->n_held ? ef_time_real() : (struct ef_time){0};
    ef_dpdk_clock_turn(&s->clock, now);
    for (unsigned i = 0; i < s->n_held; i++) {
        frames[n].arrival = ef_dpdk_clock_arrival(&s->clock, s->held[i], now);
        if (EF_LIKELY(describe(s, &s->held[i], &whole_is_used, &frames[n]))) {
            n++;
        } else {
            ef_counter_add(&s->too_long, 1);
        }
    }
    return n;
}

static int
dpdk_enable_replies(struct ef_source *source, uint8_t mac[6], struct ef_error *err)
{
    struct dpdk_source *s = dpdk_of(source);
    int queue = ef_dpdk_port_take_tx(s->port, err);
    if (queue < 0) {
        return queue;
    }
    s->reply_queue = (uint16_t) queue;
    s->reply_pool = ef_dpdk_pool_create(REPLY_BUFFERS, s->port->mtu + RTE_ETHER_HDR_LEN);
    memcpy(mac, s->port->mac, sizeof s->port->mac);
    return s->reply_pool ? 0 : ef_error_set(err, -ENOMEM, "DPDK has no memory for %d buffers", REPLY_BUFFERS);
}

static int
dpdk_reply(struct ef_source *source, const uint8_t *frame, uint32_t len)
{
    struct dpdk_source *s = dpdk_of(source);
    struct rte_mbuf *m = len <= (uint32_t) s->port->mtu + RTE_ETHER_HDR_LEN ? rte_pktmbuf_alloc(s->reply_pool) : NULL;
    if (!m) {
        return -EAGAIN;
    }
    memcpy(rte_pktmbuf_append(m, (uint16_t) len), frame, len);
    if (!rte_eth_tx_burst(s->port->id, s->reply_queue, &m, 1)) {
        rte_pktmbuf_free(m);
        return -EAGAIN;
    }
    return 0;
}

/* Those of a port with several queues are told by its first source. */
static uint64_t
dpdk_overflows(struct ef_source *source)
{
    const struct dpdk_source *s = dpdk_of(source);
    struct rte_eth_stats stats = {0};
    if (!s->queue) {
        rte_eth_stats_get(s->port->id, &stats);
    }
    return stats.imissed + stats.rx_nombuf + ef_counter_get(&s->too_long);
}

const struct ef_source_class ef_source_dpdk_class = {
    .scheme = "dpdk",
    .usage = "dpdk:DEVICE[,ARGUMENTS][#QUEUE/QUEUES]",
    .open = dpdk_open,
    .close = dpdk_close,
    .receive = dpdk_receive,
    .enable_replies = dpdk_enable_replies,
    .reply = dpdk_reply,
    .overflows = dpdk_overflows,
};
