/* SPDX-License-Identifier: Apache-2.0 */
/* DPDK's start and ports; see dpdk_port.h. */
#include <config.h>

#include "io/dpdk_port.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_mempool.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "io/dpdk_clock.h"

enum {
    MAX_PORTS = 32,
    MAX_ARGS = 64,
    DESCRIPTORS = 1024,
    POOL_CACHE = 256,
    LINGER_MS = 100,
    DEFAULT_RING_BYTES = 32 << 20,
    BUFFER_BYTES = RTE_MBUF_DEFAULT_BUF_SIZE + sizeof(struct rte_mbuf),
    LEAST_BUFFERS = 4 * DESCRIPTORS, /* In a receive queue, in a send queue, in caches and at work. */
};

static struct ef_dpdk_port ports[MAX_PORTS];

/* --- DPDK itself ------------------------------------------------------------------- */

static bool
has_free_huge_pages(void)
{
    char line[128];
    unsigned long n = 0;
    FILE *f = fopen("/proc/meminfo", "re");
    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "HugePages_Free: %lu", &n) == 1) {
            break;
        }
    }
    if (f) {
        fclose(f);
    }
    return n > 0;
}

/* DPDK pins the thread that starts it to a core of its choice; ours goes where
 * the operator put it. And on an argument that it does not like, it prints a
 * page of help on standard output, which is not ours to spoil. */
static int
init_eal(int argc, char *argv[])
{
    cpu_set_t before;
    bool known = !pthread_getaffinity_np(pthread_self(), sizeof before, &before);
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC), out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    fflush(stdout);
    if (nowhere >= 0 && out >= 0) {
        dup2(nowhere, STDOUT_FILENO);
    }
    int rc = rte_eal_init(argc, argv);
    fflush(stdout);
    if (out >= 0) {
        dup2(out, STDOUT_FILENO);
        close(out);
    }
    if (nowhere >= 0) {
        close(nowhere);
    }
    if (known) {
        pthread_setaffinity_np(pthread_self(), sizeof before, &before);
    }
    return rc;
}

static unsigned
first_core(void)
{
    cpu_set_t set;
    unsigned core = 0;
    if (!pthread_getaffinity_np(pthread_self(), sizeof set, &set)) {
        while (core < CPU_SETSIZE && !CPU_ISSET(core, &set)) {
            core++;
        }
    }
    return core;
}

static int
add_words(char *text, char *argv[], int argc)
{
    for (char *rest, *word = strtok_r(text, " ", &rest); word && argc < MAX_ARGS - 1;
         word = strtok_r(NULL, " ", &rest)) {
        argv[argc++] = word;
    }
    return argc;
}

/* Devices are probed when a spec names them: "-a" with an address that no device
 * has keeps DPDK from taking every network card that it could. */
static int
start_dpdk(struct ef_error *err)
{
    static bool is_started;
    static char fixed[200], chosen[1000]; /* DPDK keeps pointers into them. */
    char *argv[MAX_ARGS] = {(char *) "everflow"};
    if (is_started) {
        return 0;
    }
    const char *wanted = getenv("EF_DPDK_ARGS");
    wanted = wanted ? wanted : has_free_huge_pages() ? "--in-memory" : "--no-huge --no-shconf -m 512";
    snprintf(fixed, sizeof fixed, "--no-telemetry --log-level=error -a 0000:00:00.0 -l %u", first_core());
    snprintf(chosen, sizeof chosen, "%s", wanted);
    int argc = add_words(chosen, argv, add_words(fixed, argv, 1));
    if (init_eal(argc, argv) < 0) {
        return ef_error_set(err, -rte_errno, "DPDK does not start with the arguments '%s' (EF_DPDK_ARGS): %s", wanted,
                            rte_strerror(rte_errno));
    }
    is_started = true;
    ef_dpdk_clock_prepare();
    return 0;
}

static pthread_key_t thread_key;
static pthread_once_t thread_once = PTHREAD_ONCE_INIT;

static void
leave_thread(void *entered)
{
    rte_thread_unregister();
}

static void
make_thread_key(void)
{
    pthread_key_create(&thread_key, leave_thread);
}

void
ef_dpdk_enter_thread(void)
{
    pthread_once(&thread_once, make_thread_key);
    if (!pthread_getspecific(thread_key) && rte_lcore_id() == LCORE_ID_ANY && !rte_thread_register()) {
        pthread_setspecific(thread_key, &thread_key);
    }
}

/* --- Ports --------------------------------------------------------------------------- */

struct rte_mempool *
ef_dpdk_pool_create(unsigned n, uint32_t frame_bytes)
{
    static unsigned n_pools;
    char name[RTE_MEMPOOL_NAMESIZE];
    snprintf(name, sizeof name, "ef%u", n_pools++);
    uint32_t room = EF_MAX(frame_bytes + RTE_PKTMBUF_HEADROOM, (uint32_t) RTE_MBUF_DEFAULT_BUF_SIZE);
    return rte_pktmbuf_pool_create(name, n, POOL_CACHE, 0, (uint16_t) room, (int) rte_socket_id());
}

/* Pools of what is closed that have buffers at other ports. */
static struct rte_mempool *retired[4 * MAX_PORTS];

static void
reclaim_pools(void)
{
    for (unsigned i = 0; i < EF_ARRAY_SIZE(retired); i++) {
        if (retired[i] && rte_mempool_full(retired[i])) {
            rte_mempool_free(retired[i]);
            retired[i] = NULL;
        }
    }
}

/* Without a place to remember it, a pool is never freed. */
void
ef_dpdk_pool_retire(struct rte_mempool *pool)
{
    for (unsigned i = 0; pool && i < EF_ARRAY_SIZE(retired); i++) {
        if (!retired[i]) {
            retired[i] = pool;
            break;
        }
    }
    reclaim_pools();
}

static int
fail(struct ef_error *err, int rc, const char *what)
{
    return ef_error_set(err, rc, "%s: %s", what, rte_strerror(-rc));
}

static int
set_up_queues(struct ef_dpdk_port *p, const struct rte_eth_dev_info *info, struct ef_error *err)
{
    uint16_t n_rx = DESCRIPTORS, n_tx = DESCRIPTORS;
    int socket = rte_eth_dev_socket_id(p->id);
    int rc = rte_eth_dev_adjust_nb_rx_tx_desc(p->id, &n_rx, &n_tx);
    for (unsigned i = 0; !rc && i < p->n_rx; i++) {
        rc = rte_eth_rx_queue_setup(p->id, (uint16_t) i, n_rx, (unsigned) socket, NULL, p->rx_pool);
    }
    for (unsigned i = 0; !rc && i < p->n_tx; i++) {
        rc = rte_eth_tx_queue_setup(p->id, (uint16_t) i, n_tx, (unsigned) socket, &info->default_txconf);
    }
    return rc ? fail(err, rc, "cannot set up its queues") : 0;
}

/* The hash over the innermost headers, where the device has it, spreads flows
 * over the queues; copies of one switch have one outer flow. */
static void
choose_rss(const struct rte_eth_dev_info *info, unsigned n_rx, struct rte_eth_conf *conf)
{
    uint64_t wanted = RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_LEVEL_INNERMOST;
    if (n_rx > 1 && info->flow_type_rss_offloads & RTE_ETH_RSS_IP) {
        conf->rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
        conf->rx_adv_conf.rss_conf.rss_hf = wanted & (info->flow_type_rss_offloads | RTE_ETH_RSS_LEVEL_INNERMOST);
    }
}

static int
configure(struct ef_dpdk_port *p, struct ef_error *err)
{
    struct rte_eth_dev_info info;
    struct rte_eth_conf conf = {0};
    struct rte_ether_addr mac;
    int rc = rte_eth_dev_info_get(p->id, &info);
    if (rc) {
        return fail(err, rc, "cannot be asked what it can do");
    }
    if (p->n_rx > info.max_rx_queues) {
        return ef_error_set(err, -EINVAL, "it has %u receive queues, not %u", info.max_rx_queues, p->n_rx);
    }
    p->n_tx = EF_MAX(p->n_tx_taken, 1u); /* No more: the other end of a memif has no more either. */
    choose_rss(&info, p->n_rx, &conf);
    conf.rxmode.offloads = info.rx_offload_capa & (RTE_ETH_RX_OFFLOAD_SCATTER | RTE_ETH_RX_OFFLOAD_TIMESTAMP);
    rc = rte_eth_dev_configure(p->id, (uint16_t) p->n_rx, (uint16_t) p->n_tx, &conf);
    if (rc) { /* Without the innermost, then, and as many queues either way, which a tap wants. */
        conf.rx_adv_conf.rss_conf.rss_hf &= info.flow_type_rss_offloads;
        p->n_tx = EF_MAX(p->n_tx, p->n_rx);
        rc = rte_eth_dev_configure(p->id, (uint16_t) p->n_rx, (uint16_t) p->n_tx, &conf);
    }
    if (rc) {
        return fail(err, rc, "cannot be configured");
    }
    rc = set_up_queues(p, &info, err);
    if (rc) {
        return rc;
    }
    rc = rte_eth_dev_start(p->id);
    if (rc) {
        return fail(err, rc, "does not start");
    }
    rte_eth_promiscuous_enable(p->id); /* Copies are for the VIP, which need not be ours. */
    rte_eth_dev_get_mtu(p->id, &p->mtu);
    if (!rte_eth_macaddr_get(p->id, &mac)) {
        memcpy(p->mac, mac.addr_bytes, sizeof p->mac);
    }
    return 0;
}

static int
probe(struct ef_dpdk_port *p, const char *devargs, struct ef_error *err)
{
    if (rte_eth_dev_get_port_by_name(p->device, &p->id)) {
        int rc = rte_dev_probe(devargs);
        if (rc || rte_eth_dev_get_port_by_name(p->device, &p->id)) {
            return ef_error_set(err, rc ? rc : -ENODEV, "DPDK finds no such device: %s",
                                rc ? rte_strerror(-rc) : "it made no port");
        }
    }
    return 0;
}

static struct ef_dpdk_port *
find_port(const char *device)
{
    struct ef_dpdk_port *free_one = NULL;
    for (unsigned i = 0; i < MAX_PORTS; i++) {
        if (ports[i].n_users && !strcmp(ports[i].device, device)) {
            return &ports[i];
        }
        free_one = free_one || ports[i].n_users ? free_one : &ports[i];
    }
    return free_one;
}

static int
open_first(struct ef_dpdk_port *p, const char *devargs, uint64_t ring_bytes, struct ef_error *err)
{
    uint64_t n = (ring_bytes ? ring_bytes : DEFAULT_RING_BYTES) / BUFFER_BYTES;
    int rc = probe(p, devargs, err);
    if (rc) {
        return rc;
    }
    p->rx_pool = ef_dpdk_pool_create((unsigned) EF_MAX(n, (uint64_t) LEAST_BUFFERS * p->n_rx), 0);
    return p->rx_pool ? configure(p, err)
                      : ef_error_set(err, -ENOMEM, "DPDK has no memory for %llu buffers", (unsigned long long) n);
}

int
ef_dpdk_port_open(const char *devargs, unsigned n_rx, uint64_t ring_bytes, struct ef_dpdk_port **out,
                  struct ef_error *err)
{
    char device[sizeof ports[0].device];
    size_t n = strcspn(devargs, ",");
    int rc = start_dpdk(err);
    if (rc) {
        return rc;
    }
    if (!n || n >= sizeof device) {
        return ef_error_set(err, -EINVAL,
                            "the name of a DPDK device must come first, such as net_memif0 or 0000:3b:00.0");
    }
    memcpy(device, devargs, n);
    device[n] = '\0';
    struct ef_dpdk_port *p = find_port(device);
    if (!p) {
        return ef_error_set(err, -ENOSPC, "at most %d DPDK devices", MAX_PORTS);
    }
    if (!p->n_users) {
        *p = (struct ef_dpdk_port){.n_rx = n_rx};
        memcpy(p->device, device, sizeof device);
        rc = open_first(p, devargs, ring_bytes, err);
    } else if (n_rx > p->n_rx) {
        p->n_rx = n_rx;
        rte_eth_dev_stop(p->id);
        rc = configure(p, err);
    }
    if (rc) {
        if (!p->n_users) {
            rte_mempool_free(p->rx_pool);
        }
        return rc;
    }
    p->n_users++;
    *out = p;
    return 0;
}

/* The rings of a memif go away with it; what was sent at last is still in them,
 * and nothing says when the other side has taken it. */
static void
linger(const struct ef_dpdk_port *p)
{
    struct rte_eth_dev_info info;
    if (p->n_tx_taken && !rte_eth_dev_info_get(p->id, &info) && !strcmp(info.driver_name, "net_memif")) {
        usleep(LINGER_MS * 1000);
    }
}

void
ef_dpdk_port_close(struct ef_dpdk_port *p)
{
    if (p && !--p->n_users) {
        linger(p);
        rte_eth_dev_stop(p->id);
        rte_eth_dev_close(p->id);
        ef_dpdk_pool_retire(p->rx_pool);
    }
}

int
ef_dpdk_port_take_tx(struct ef_dpdk_port *p, struct ef_error *err)
{
    if (++p->n_tx_taken > p->n_tx) {
        rte_eth_dev_stop(p->id);
        int rc = configure(p, err);
        if (rc) {
            return rc;
        }
    }
    return (int) p->n_tx_taken - 1;
}
