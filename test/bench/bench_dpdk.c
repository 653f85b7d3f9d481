/* SPDX-License-Identifier: Apache-2.0 */
/* The reshuffler over DPDK ports, next to what plain DPDK does over the same
 * ports in the same run: a loop that receives a burst, swaps the MAC addresses
 * and sends the same buffers on, as testpmd's macswap does; and a loop that only
 * receives and counts.
 *
 * The ports are two pairs of net_memif in this process, without hardware:
 *
 *     feed (client) ==> in (server)   [what is measured]   out (client) ==> end (server)
 *
 * Shared memory copies each frame once when sent and once when received, which
 * all of the measured loops pay. A ring is filled first and then read, so that
 * the time is that of one thread, and of its core alone. */
#include <config.h>

#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>
#include <stdint.h>
#include <unistd.h>

#include "bench.h"
#include "erspan_copy.h"
#include "io/dpdk_port.h"
#include "io/source.h"
#include "reshuffler/forward.h"

enum {
    ORIGINAL_BYTES = 64,
    MAX_COPY_BYTES = 256,
    N_COPIES = 4096,
    RING_LOG2 = 12,
    RING_COPIES = 4032, /* Fit into the ring; a multiple of EF_BURST. */
    ROUNDS = 250,       /* Ring fillings in a run: 1 M copies. */
    BUFFERS = 8191,
    LINK_PATIENCE_MS = 5000,
};

enum { FEED, IN, OUT, END, N_PORTS };

struct bench {
    struct ef_dpdk_port *ports[N_PORTS];
    struct rte_mempool *pool;
    struct ef_source *source; /* Of IN. */
    struct ef_sink *sink;     /* Of OUT. */
    struct ef_plan plan;
    struct ef_forwarder forwarder;
    uint8_t copies[N_COPIES][MAX_COPY_BYTES];
    uint32_t copy_len;
};

static void
check(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "bench_dpdk: %s\n", what);
        exit(1);
    }
}

/* --- Ports ------------------------------------------------------------------------- */

/* The sockets by which the ports of a pair find each other are in no folder. */
static void
memif_spec(char *spec, size_t size, unsigned number)
{
    snprintf(spec, size, "net_memif%u,role=%s,rsize=%d,socket-abstract=yes,socket=bench_dpdk.%d.%s", number,
             number == IN || number == END ? "server" : "client", RING_LOG2, (int) getpid(),
             number < OUT ? "in" : "out");
}

static void
wait_for_links(const struct bench *b)
{
    for (unsigned i = 0; i < N_PORTS; i++) {
        struct rte_eth_link link = {0};
        for (int waited = 0; !link.link_status && waited < LINK_PATIENCE_MS; waited++) {
            check(!rte_eth_link_get_nowait(b->ports[i]->id, &link), "a port tells nothing of its link");
            usleep(link.link_status ? 0 : 1000);
        }
        check(link.link_status, "a memif port is not connected");
    }
}

static void
open_ports(struct bench *b)
{
    char spec[N_PORTS][256], source[300], sink[300];
    struct ef_error err = EF_ERROR_INIT;
    for (unsigned i = 0; i < N_PORTS; i++) {
        static const unsigned servers_first[] = {IN, END, FEED, OUT};
        unsigned number = servers_first[i];
        memif_spec(spec[number], sizeof spec[number], number);
        check(!ef_dpdk_port_open(spec[number], 1, 0, &b->ports[number], &err), err.text);
    }
    wait_for_links(b);
    snprintf(source, sizeof source, "dpdk:%s", spec[IN]);
    snprintf(sink, sizeof sink, "dpdk:%s#02:00:00:00:00:01", spec[OUT]);
    check(!ef_source_open(source, 0, &b->source, &err), err.text);
    check(!ef_sink_open(sink, &b->sink, &err), err.text);
    b->pool = ef_dpdk_pool_create(BUFFERS, MAX_COPY_BYTES);
    check(b->pool, "DPDK has no memory for buffers");
}

/* Puts RING_COPIES copies where IN will find them. */
static void
fill(struct bench *b)
{
    struct rte_mbuf *burst[EF_BURST];
    for (unsigned sent = 0; sent < RING_COPIES; sent += EF_BURST) {
        check(!rte_pktmbuf_alloc_bulk(b->pool, burst, EF_BURST), "buffers leak");
        for (unsigned i = 0; i < EF_BURST; i++) {
            memcpy(rte_pktmbuf_mtod(burst[i], uint8_t *), b->copies[sent + i], b->copy_len);
            burst[i]->data_len = (uint16_t) b->copy_len;
            burst[i]->pkt_len = b->copy_len;
        }
        check(rte_eth_tx_burst(b->ports[FEED]->id, 0, burst, EF_BURST) == EF_BURST, "the ring is full");
    }
}

/* Takes away what was forwarded; returns how much it was. */
static unsigned
drain(struct bench *b)
{
    struct rte_mbuf *burst[EF_BURST];
    unsigned sum = 0;
    for (unsigned n; (n = rte_eth_rx_burst(b->ports[END]->id, 0, burst, EF_BURST)); sum += n) {
        rte_pktmbuf_free_bulk(burst, n);
    }
    return sum;
}

/* --- What is measured ------------------------------------------------------------------ */

/* Receives, and frees what was received. */
static void
count_only(struct bench *b)
{
    struct rte_mbuf *burst[EF_BURST];
    for (unsigned sum = 0, n; sum < RING_COPIES; sum += n) {
        n = rte_eth_rx_burst(b->ports[IN]->id, 0, burst, EF_BURST);
        check(n, "copies are missing");
        rte_pktmbuf_free_bulk(burst, n);
    }
}

static void
swap_macs(struct rte_mbuf *m)
{
    struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, struct rte_ether_hdr *);
    struct rte_ether_addr was = eth->dst_addr;
    eth->dst_addr = eth->src_addr;
    eth->src_addr = was;
}

static void
forward_plainly(struct bench *b)
{
    struct rte_mbuf *burst[EF_BURST];
    for (unsigned sum = 0, n; sum < RING_COPIES; sum += n) {
        n = rte_eth_rx_burst(b->ports[IN]->id, 0, burst, EF_BURST);
        check(n, "copies are missing");
        for (unsigned i = 0; i < n; i++) {
            swap_macs(burst[i]);
        }
        check(rte_eth_tx_burst(b->ports[OUT]->id, 0, burst, (uint16_t) n) == n, "the ring out is full");
    }
}

static void
reshuffle(struct bench *b)
{
    struct ef_frame frames[EF_BURST];
    for (int sum = 0, n; sum < RING_COPIES; sum += n) {
        n = ef_source_receive(b->source, frames, EF_BURST, 0);
        check(n > 0, "copies are missing");
        ef_forward_burst(&b->forwarder, frames, n);
    }
}

static double
rate_of(struct bench *b, void (*loop)(struct bench *), bool forwards)
{
    double seconds = 0;
    for (int round = 0; round < ROUNDS; round++) {
        fill(b);
        double start = ef_bench_cpu_seconds();
        loop(b);
        seconds += ef_bench_cpu_seconds() - start;
        check(drain(b) == (forwards ? RING_COPIES : 0), "copies were lost");
    }
    return (double) RING_COPIES * ROUNDS / seconds;
}

static void
prepare(struct bench *b)
{
    for (uint32_t i = 0; i < N_COPIES; i++) {
        b->copy_len = ef_bench_make_copy(b->copies[i], MAX_COPY_BYTES, ORIGINAL_BYTES, i);
        check(b->copy_len, "cannot build a copy");
    }
    check(!ef_plan_add_vip(&b->plan, EF_BENCH_VIP, NULL) && !ef_plan_add_analyzer(&b->plan, "a1=10.99.1.2", NULL) &&
              !ef_plan_add_analyzer(&b->plan, "a2=10.99.1.3", NULL) &&
              !ef_plan_add_analyzer(&b->plan, "a3=10.99.1.4", NULL) && !ef_plan_finish(&b->plan, NULL),
          "cannot make a plan");
    b->forwarder.plan = &b->plan;
    b->forwarder.sink = b->sink;
    check(!ef_ledger_init(&b->forwarder.ledger), "out of memory");
}

static void
print(struct ef_bench *b)
{
    ef_bench_param_text(b, "ports", "net_memif");
    ef_bench_param_text(b, "encapsulation", "erspan3");
    ef_bench_param(b, "original_bytes", ORIGINAL_BYTES);
    ef_bench_print(b);
}

int
main(void)
{
    static struct bench b;
    struct ef_bench receive = {.name = "dpdk.receive", .unit = "copies/s/core", .bound_is = "not known"};
    struct ef_bench plain = {.name = "dpdk.macswap", .unit = "copies/s/core", .bound_is = "not known"};
    struct ef_bench ours = {.name = "dpdk.reshuffle", .unit = "copies/s/core", .goal = 8e6};
    struct ef_bench share = {.name = "dpdk.reshuffle_share", .unit = "of plain forwarding", .goal = 0.6, .bound = 1};
    open_ports(&b);
    prepare(&b);
    for (int run = 0; run < EF_BENCH_RUNS; run++) {
        double bound = rate_of(&b, forward_plainly, true), rate = rate_of(&b, reshuffle, true);
        ef_bench_add(&receive, rate_of(&b, count_only, false));
        ef_bench_add(&plain, bound);
        ef_bench_add(&ours, rate);
        ef_bench_add(&share, rate / bound);
    }
    ours.bound = ef_bench_median(&plain);
    ours.bound_is = "the same ports, buffers passed on with their MAC addresses swapped";
    share.bound_is = "as fast as plain forwarding";
    print(&receive);
    print(&plain);
    print(&ours);
    print(&share);
    ef_ledger_deinit(&b.forwarder.ledger);
    ef_plan_deinit(&b.plan);
    ef_sink_close(b.sink);
    ef_source_close(b.source);
    for (unsigned i = 0; i < N_PORTS; i++) {
        ef_dpdk_port_close(b.ports[i]);
    }
    return 0;
}
