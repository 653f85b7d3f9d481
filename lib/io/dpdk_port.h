/* SPDX-License-Identifier: Apache-2.0 */
/* The DPDK ports that sources and sinks share: starting DPDK when the first one
 * is opened, probing devices, setting up queues. Only source_dpdk.c and
 * sink_dpdk.c use this; nothing outside sees DPDK.
 *
 *     ef_dpdk_port_open("net_memif0,role=server", 2, ring_bytes, &port, &err);
 *     rte_eth_rx_burst(port->id, queue, ...);
 *     ef_dpdk_port_close(port);
 *
 * All ports are opened before the threads that use them are started: opening one
 * that is open already, with more queues, stops it for a moment. The environment
 * variable EF_DPDK_ARGS has DPDK's own arguments about memory and cores; without
 * it, huge pages are used if any are free, else none (--no-huge).
 *
 * Thread-safety: opening and closing is for one thread at a time. */
#ifndef EF_IO_DPDK_PORT_H
#define EF_IO_DPDK_PORT_H

#include <stdint.h>

#include "base/error.h"

struct rte_mempool;

enum { EF_DPDK_MAX_QUEUES = 64 };

struct ef_dpdk_port {
    char device[64]; /* "net_memif0", "0000:3b:00.0". */
    uint16_t id;
    unsigned n_users;
    unsigned n_rx, n_tx; /* Queues set up... */
    unsigned n_tx_taken; /* ...and of the latter, in use. */
    uint16_t mtu;
    uint8_t mac[6];
    struct rte_mempool *rx_pool;
};

/* `devargs` as DPDK wants them: the device, a comma, its arguments. Returns 0, or
 * a negative errno with `err`. */
int ef_dpdk_port_open(const char *devargs, unsigned n_rx, uint64_t ring_bytes, struct ef_dpdk_port **port,
                      struct ef_error *err);
void ef_dpdk_port_close(struct ef_dpdk_port *port); /* NULL is fine. */

/* A tx queue of its own for a thread. Returns its number, or a negative errno with `err`. */
int ef_dpdk_port_take_tx(struct ef_dpdk_port *port, struct ef_error *err);

/* A pool of `n` buffers, each with room for frames of `frame_bytes`; or NULL. */
struct rte_mempool *ef_dpdk_pool_create(unsigned n, uint32_t frame_bytes);

/* Frees the pool (NULL is fine) as soon as all its buffers are back: another port
 * may still have some to send. */
void ef_dpdk_pool_retire(struct rte_mempool *pool);

/* Gives the calling thread a place in DPDK's caches, once; it leaves by itself. */
void ef_dpdk_enter_thread(void);

#endif
