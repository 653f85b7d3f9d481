/* SPDX-License-Identifier: Apache-2.0 */
/* How much each port of each switch and each link carried of the packets that
 * were traced, and how long guided probes took there and back over a link. One
 * table per worker, which counts when a trace is closed.
 *
 *     ef_load_table_count(&table, &trace, is_probe);
 *
 *     for (uint32_t i = 0; i < ef_load_table_n_ports(&table); i++) sum(&table.ports[i]);   // any thread
 *
 * A port counts each packet that it was seen at once, however often its copy was
 * repeated. A link is from one switch to the next on the packet's way: two hops
 * that follow each other with nothing missing between them.
 *
 * The time over a link is measured by probes that go from a switch over the link
 * and come straight back (S1, S2, S1): between the two copies that S1 made, so
 * that no two clocks and no two ways to the analyzer are compared (Everflow,
 * SIGCOMM 2015, section 5). It includes what S2 takes to turn the probe around.
 *
 * Bounded: as many ports as asked for and a quarter as many links; what is beyond
 * is counted in `uncounted`. Thread-safety: one thread counts, any may read the entries, which
 * are never moved nor removed. */
#ifndef EF_ANALYZER_LOAD_TABLE_H
#define EF_ANALYZER_LOAD_TABLE_H

#include "base/counter.h"
#include "base/histogram.h"
#include "trace/packet_trace.h"

enum {
    EF_LOAD_MIN_PORTS = 64, /* A power of two, as each number of ports is. */
    EF_LOAD_MAX_PORTS = 4096,
    EF_LOAD_PORTS_PER_LINK = 4,
};

struct ef_load_port {
    EF_CACHE_ALIGNED uint8_t switch_address[16];
    uint32_t port;
    bool has_port, is_egress; /* Without a port: copies that do not tell it. */
    ef_counter packets, bytes;
};

struct ef_load_link {
    EF_CACHE_ALIGNED uint8_t from[16];
    uint8_t to[16];
    ef_counter packets, bytes;
    ef_counter corrupted; /* Of `packets`: at the one end they were right, at the other wrong. */
    ef_counter rtts, rtt_sum_ns, rtt_min_ns, rtt_max_ns; /* `rtt_min_ns` is 1 more than that; 0: none. */
    ef_counter rtt_buckets[EF_HISTOGRAM_BUCKETS];
};

struct ef_load_table {
    uint32_t max_ports;
    struct ef_load_port *ports;
    struct ef_load_link *links;
    uint16_t *port_index, *link_index; /* Hash to entry + 1; open addressing. */
    _Atomic uint32_t n_ports, n_links;
    ef_counter uncounted; /* Hops and pairs of hops beyond the bounds. */
    void *region;
};

/* The most ports that `bytes` are enough for, or EF_LOAD_MIN_PORTS if they are not. */
uint32_t ef_load_table_ports_in(uint64_t bytes);
uint64_t ef_load_table_memory(uint32_t max_ports);

int ef_load_table_init(struct ef_load_table *t, uint32_t max_ports); /* Returns 0 or -ENOMEM. */
void ef_load_table_deinit(struct ef_load_table *t);

/* `trace` is finished. */
void ef_load_table_count(struct ef_load_table *t, const struct ef_trace *trace, bool is_probe);

static inline uint32_t
ef_load_table_n_ports(const struct ef_load_table *t)
{
    return atomic_load_explicit(&((struct ef_load_table *) t)->n_ports, memory_order_acquire);
}

static inline uint32_t
ef_load_table_n_links(const struct ef_load_table *t)
{
    return atomic_load_explicit(&((struct ef_load_table *) t)->n_links, memory_order_acquire);
}

#endif
