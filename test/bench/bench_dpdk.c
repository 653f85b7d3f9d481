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
 * all of the measured loops pay. A ring is filled first and then read, by another
 * core where there is one, so that the time is that of one core alone, to which
 * copies come from elsewhere.
 *
 * Where it is installed, DPDK's own testpmd does the same between two further
 * pairs, in its own process and by its own count of cycles:
 *
 *     its feed (client) ==> testpmd (macswap) ==> its end (server) */
#include <config.h>

#include <pthread.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>
#include <sched.h>
#include <stdint.h>
#include <unistd.h>

#include "bench.h"
#include "erspan_copy.h"
#include "io/dpdk_port.h"
#include "io/source.h"
#include "reshuffler/forward.h"
#include "testpmd.h"

enum {
    ORIGINAL_BYTES = 64,
    MAX_COPY_BYTES = 256,
    N_COPIES = 4096,
    RING_LOG2 = 12,
    RING_COPIES = 4032, /* Fit into the ring; a multiple of EF_BURST. */
    ROUNDS = 250,       /* Ring fillings in a run: 1 M copies. */
    BUFFERS = 8191,
    THEIR_TURN_MS = 3,
    LINK_PATIENCE_MS = 20000,
    FORWARD_PATIENCE_MS = 5000,
};

enum { FEED, IN, OUT, END, THEIR_FEED, THEIR_END, N_PORTS };

struct bench {
    struct ef_dpdk_port *ports[N_PORTS];
    char specs[N_PORTS][256];
    struct rte_mempool *pool;
    struct ef_source *source; /* Of IN. */
    struct ef_sink *sink;     /* Of OUT. */
    struct ef_plan plan;
    struct ef_forwarder forwarder;
    struct testpmd testpmd;
    bool has_testpmd;
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

/* Each pair of ports finds each other by a socket that is in no folder. */
static void
memif_spec(char *spec, size_t size, unsigned number, const char *role, const char *pair)
{
    snprintf(spec, size, "net_memif%u,role=%s,rsize=%d,socket-abstract=yes,socket=bench_dpdk.%d.%s", number, role,
             RING_LOG2, (int) getpid(), pair);
}

static void
wait_for_link(const struct bench *b, unsigned number)
{
    struct rte_eth_link link = {0};
    for (int waited = 0; !link.link_status && waited < LINK_PATIENCE_MS; waited++) {
        check(!rte_eth_link_get_nowait(b->ports[number]->id, &link), "a port tells nothing of its link");
        usleep(link.link_status ? 0 : 1000);
    }
    check(link.link_status, "a memif port is not connected");
}

static void
open_port(struct bench *b, unsigned number, const char *role, const char *pair)
{
    struct ef_error err = EF_ERROR_INIT;
    memif_spec(b->specs[number], sizeof b->specs[number], number, role, pair);
    check(!ef_dpdk_port_open(b->specs[number], 1, 0, &b->ports[number], &err), err.text);
}

static void
open_ports(struct bench *b)
{
    char source[300], sink[300];
    struct ef_error err = EF_ERROR_INIT;
    open_port(b, IN, "server", "in");
    open_port(b, END, "server", "out");
    open_port(b, FEED, "client", "in");
    open_port(b, OUT, "client", "out");
    for (unsigned i = FEED; i <= END; i++) {
        wait_for_link(b, i);
    }
    snprintf(source, sizeof source, "dpdk:%s", b->specs[IN]);
    snprintf(sink, sizeof sink, "dpdk:%s#02:00:00:00:00:01", b->specs[OUT]);
    check(!ef_source_open(source, 0, &b->source, &err), err.text);
    check(!ef_sink_open(sink, &b->sink, &err), err.text);
    b->pool = ef_dpdk_pool_create(BUFFERS, MAX_COPY_BYTES);
    check(b->pool, "DPDK has no memory for buffers");
}

static void
start_testpmd(struct bench *b)
{
    char in[256], out[256];
    open_port(b, THEIR_END, "server", "their-out");
    memif_spec(in, sizeof in, 0, "server", "their-in");
    memif_spec(out, sizeof out, 1, "client", "their-out");
    b->has_testpmd = testpmd_start(&b->testpmd, in, out);
    if (b->has_testpmd) {
        open_port(b, THEIR_FEED, "client", "their-in");
        wait_for_link(b, THEIR_FEED);
        wait_for_link(b, THEIR_END);
    }
}

/* Puts RING_COPIES copies where the other side of the port will find them. */
static void
fill(struct bench *b, unsigned port)
{
    struct rte_mbuf *burst[EF_BURST];
    for (unsigned sent = 0; sent < RING_COPIES; sent += EF_BURST) {
        check(!rte_pktmbuf_alloc_bulk(b->pool, burst, EF_BURST), "buffers leak");
        for (unsigned i = 0; i < EF_BURST; i++) {
            memcpy(rte_pktmbuf_mtod(burst[i], uint8_t *), b->copies[sent + i], b->copy_len);
            burst[i]->data_len = (uint16_t) b->copy_len;
            burst[i]->pkt_len = b->copy_len;
        }
        check(rte_eth_tx_burst(b->ports[port]->id, 0, burst, EF_BURST) == EF_BURST, "the ring is full");
    }
}

/* Takes away what was forwarded; returns how much it was. */
static unsigned
drain(struct bench *b, unsigned port)
{
    struct rte_mbuf *burst[EF_BURST];
    unsigned sum = 0;
    for (unsigned n; (n = rte_eth_rx_burst(b->ports[port]->id, 0, burst, EF_BURST)); sum += n) {
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

/* Goes on on the core that forwards (1), or on the one that does the rest (0). */
static void
go_to_core(unsigned core)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set); /* Without that core: everything on one. */
}

static double
rate_of(struct bench *b, void (*loop)(struct bench *), bool forwards)
{
    double seconds = 0;
    for (int round = 0; round < ROUNDS; round++) {
        go_to_core(0);
        fill(b, FEED);
        go_to_core(1);
        double start = ef_bench_cpu_seconds();
        loop(b);
        seconds += ef_bench_cpu_seconds() - start;
        go_to_core(0);
        check(drain(b, END) == (forwards ? RING_COPIES : 0), "copies were lost");
    }
    return (double) RING_COPIES * ROUNDS / seconds;
}

/* By testpmd. Its cycles go on while another program has its core, so the median
 * of many short rounds is what it takes when it is left alone. */
static double
rate_of_testpmd(struct bench *b)
{
    struct testpmd *t = &b->testpmd;
    struct ef_bench rounds = {0};
    for (int round = 0; round < EF_BENCH_MAX_RUNS; round++) {
        unsigned n = 0;
        fill(b, THEIR_FEED);
        testpmd_say(t, "start");
        for (int waited = 0; n < RING_COPIES && waited < FORWARD_PATIENCE_MS; waited += THEIR_TURN_MS) {
            usleep(THEIR_TURN_MS * 1000); /* Until it has done them all, most likely. */
            n += drain(b, THEIR_END);
        }
        check(n == RING_COPIES, "testpmd has not forwarded all");
        double ns = testpmd_stop(t);
        check(ns > 0, "testpmd does not tell its cycles");
        ef_bench_add(&rounds, ns);
    }
    return 1e9 / ef_bench_median(&rounds);
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

static void
close_all(struct bench *b)
{
    ef_ledger_deinit(&b->forwarder.ledger);
    ef_plan_deinit(&b->plan);
    if (b->has_testpmd) {
        testpmd_end(&b->testpmd);
    }
    ef_sink_close(b->sink);
    ef_source_close(b->source);
    for (unsigned i = 0; i < N_PORTS; i++) {
        ef_dpdk_port_close(b->ports[i]);
    }
}

int
main(void)
{
    static struct bench b;
    struct ef_bench receive = {.name = "dpdk.receive", .unit = "copies/s/core", .bound_is = "not known"};
    struct ef_bench plain = {.name = "dpdk.macswap", .unit = "copies/s/core", .bound_is = "not known"};
    struct ef_bench theirs = {.name = "dpdk.testpmd", .unit = "copies/s/core"};
    struct ef_bench ours = {.name = "dpdk.reshuffle", .unit = "copies/s/core", .goal = 8e6};
    struct ef_bench share = {.name = "dpdk.reshuffle_share", .unit = "of plain forwarding", .bound = 1};
    struct ef_bench their_share = {
        .name = "dpdk.testpmd_share", .unit = "of testpmd's macswap", .goal = 0.6, .bound = 1};
    prepare(&b);
    open_ports(&b);
    b.forwarder.sink = b.sink;
    start_testpmd(&b);
    for (int run = 0; run < EF_BENCH_RUNS; run++) {
        double bound = rate_of(&b, forward_plainly, true), rate = rate_of(&b, reshuffle, true);
        ef_bench_add(&receive, rate_of(&b, count_only, false));
        ef_bench_add(&plain, bound);
        ef_bench_add(&ours, rate);
        ef_bench_add(&share, rate / bound);
        if (b.has_testpmd) {
            bound = rate_of_testpmd(&b);
            ef_bench_add(&theirs, bound);
            ef_bench_add(&their_share, rate / bound);
        }
    }
    theirs.bound = ours.bound = ef_bench_median(&plain);
    theirs.bound_is = ours.bound_is = "the same ports, buffers passed on with their MAC addresses swapped";
    share.bound_is = "as fast as plain forwarding";
    their_share.bound_is = "as fast as testpmd";
    print(&receive);
    print(&plain);
    print(&ours);
    print(&share);
    if (b.has_testpmd) {
        print(&theirs);
        print(&their_share);
    }
    close_all(&b);
    return 0;
}
