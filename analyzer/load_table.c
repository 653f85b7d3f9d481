/* SPDX-License-Identifier: Apache-2.0 */
/* Load by port and link; see load_table.h. */
#include <config.h>

#include "analyzer/load_table.h"

#include <errno.h>
#include <string.h>

#include "analyzer/region.h"
#include "base/hash.h"

static uint32_t
max_links(uint32_t max_ports)
{
    return max_ports / EF_LOAD_PORTS_PER_LINK;
}

/* Of the index of `n` entries; a power of two. */
static uint32_t
n_slots(uint32_t n)
{
    return 2 * n;
}

uint64_t
ef_load_table_memory(uint32_t max_ports)
{
    uint64_t n = max_ports, n_links = max_links(max_ports);
    return n * sizeof(struct ef_load_port) + n_links * sizeof(struct ef_load_link) +
           (n_slots(max_ports) + n_slots((uint32_t) n_links)) * sizeof(uint16_t);
}

uint32_t
ef_load_table_ports_in(uint64_t bytes)
{
    uint32_t n = EF_LOAD_MIN_PORTS;
    while (n < EF_LOAD_MAX_PORTS && ef_load_table_memory(2 * n) <= bytes) {
        n *= 2;
    }
    return n;
}

int
ef_load_table_init(struct ef_load_table *t, uint32_t max_ports)
{
    memset(t, 0, sizeof *t);
    uint8_t *region = ef_region_alloc(ef_load_table_memory(max_ports));
    if (!region) {
        return -ENOMEM;
    }
    t->max_ports = max_ports;
    t->region = region;
    t->ports = (void *) region;
    t->links = (void *) (t->ports + max_ports);
    t->port_index = (void *) (t->links + max_links(max_ports));
    t->link_index = t->port_index + n_slots(max_ports);
    return 0;
}

void
ef_load_table_deinit(struct ef_load_table *t)
{
    ef_region_free(t->region, ef_load_table_memory(t->max_ports));
    t->region = NULL;
}

/* --- Entries ------------------------------------------------------------------- */

static bool
is_port(const struct ef_load_port *p, const struct ef_hop *hop, bool has_port, bool is_egress)
{
    return !memcmp(p->switch_address, hop->switch_address, 16) && p->has_port == has_port &&
           p->is_egress == is_egress && (!has_port || p->port == hop->port);
}

/* The hop's entry, made if there is room, or NULL. */
static struct ef_load_port *
find_port(struct ef_load_table *t, const struct ef_hop *hop)
{
    bool has_port = hop->flags & EF_HOP_HAS_PORT, is_egress = hop->flags & EF_HOP_EGRESS;
    uint32_t n = atomic_load_explicit(&t->n_ports, memory_order_relaxed);
    uint64_t i = ef_hash64(hop->switch_address, 16) + (has_port ? hop->port : 0) * 2 + is_egress;
    uint64_t mask = n_slots(t->max_ports) - 1;
    uint16_t *slot = &t->port_index[i & mask];
    while (*slot && !is_port(&t->ports[*slot - 1], hop, has_port, is_egress)) {
        slot = &t->port_index[++i & mask];
    }
    if (*slot) {
        return &t->ports[*slot - 1];
    }
    if (n == t->max_ports) {
        return NULL;
    }
    struct ef_load_port *p = &t->ports[n];
    memcpy(p->switch_address, hop->switch_address, 16);
    p->port = has_port ? hop->port : 0;
    p->has_port = has_port;
    p->is_egress = is_egress;
    *slot = (uint16_t) (n + 1);
    atomic_store_explicit(&t->n_ports, n + 1, memory_order_release);
    return p;
}

static struct ef_load_link *
find_link(struct ef_load_table *t, const uint8_t from[16], const uint8_t to[16])
{
    uint32_t n = atomic_load_explicit(&t->n_links, memory_order_relaxed);
    uint64_t i = ef_hash64(from, 16) * 3 + ef_hash64(to, 16);
    uint64_t mask = n_slots(max_links(t->max_ports)) - 1;
    uint16_t *slot = &t->link_index[i & mask];
    for (; *slot; slot = &t->link_index[++i & mask]) {
        struct ef_load_link *link = &t->links[*slot - 1];
        if (!memcmp(link->from, from, 16) && !memcmp(link->to, to, 16)) {
            return link;
        }
    }
    if (n == max_links(t->max_ports)) {
        return NULL;
    }
    memcpy(t->links[n].from, from, 16);
    memcpy(t->links[n].to, to, 16);
    *slot = (uint16_t) (n + 1);
    atomic_store_explicit(&t->n_links, n + 1, memory_order_release);
    return &t->links[n];
}

/* --- Counting ------------------------------------------------------------------- */

static void
count_port(struct ef_load_table *t, const struct ef_trace *trace, const struct ef_hop *hop)
{
    struct ef_load_port *p = find_port(t, hop);
    if (!p) {
        ef_counter_add(&t->uncounted, 1);
        return;
    }
    ef_counter_add(&p->packets, 1);
    ef_counter_add(&p->bytes, trace->wire_len);
}

static bool
is_same_switch(const struct ef_hop *a, const struct ef_hop *b)
{
    return !memcmp(a->switch_address, b->switch_address, 16);
}

/* True if the packet went from the switch of `a` straight to that of `b`. Inside a
 * tunnel it is the tunnel's TTL that falls. */
static bool
is_link(const struct ef_hop *a, const struct ef_hop *b)
{
    bool has_ip = a->flags & b->flags & EF_HOP_HAS_IP;
    bool same_tunnel = a->flags & b->flags & EF_HOP_ENCAPSULATED;
    return has_ip && !is_same_switch(a, b) &&
           (a->ttl == b->ttl + 1 || (same_tunnel && a->outer_ttl == b->outer_ttl + 1));
}

static void
count_link(struct ef_load_table *t, const struct ef_trace *trace, const struct ef_hop *a, const struct ef_hop *b)
{
    struct ef_load_link *link = find_link(t, a->switch_address, b->switch_address);
    if (!link) {
        ef_counter_add(&t->uncounted, 1);
        return;
    }
    ef_counter_add(&link->packets, 1);
    ef_counter_add(&link->bytes, trace->wire_len);
    if (b->flags & EF_HOP_CORRUPT) {
        ef_counter_add(&link->corrupted, 1);
    }
}

/* Both copies are of one switch: by its clock, if it gave both their time. */
static int64_t
between(const struct ef_hop *a, const struct ef_hop *b)
{
    return a->flags & b->flags & EF_HOP_HAS_SWITCH_TIME ? ef_time_diff_ns(b->switch_time, a->switch_time)
                                                        : ef_time_diff_ns(b->arrival, a->arrival);
}

static void
count_rtt(struct ef_load_table *t, const struct ef_hop *out, const struct ef_hop *there, const struct ef_hop *back)
{
    int64_t ns = between(out, back);
    struct ef_load_link *link = ns >= 0 ? find_link(t, out->switch_address, there->switch_address) : NULL;
    if (!link) {
        ef_counter_add(&t->uncounted, 1);
        return;
    }
    uint64_t least = ef_counter_get(&link->rtt_min_ns), rtt = (uint64_t) ns;
    if (!least || rtt + 1 < least) {
        ef_counter_set(&link->rtt_min_ns, rtt + 1);
    }
    ef_counter_set(&link->rtt_max_ns, EF_MAX(rtt, ef_counter_get(&link->rtt_max_ns)));
    ef_counter_add(&link->rtt_sum_ns, rtt);
    ef_counter_add(&link->rtt_buckets[ef_histogram_bucket(rtt)], 1);
    ef_counter_add(&link->rtts, 1);
}

/* Copies that a switch makes when a packet leaves it are no further hop of its way. */
static const struct ef_hop *
next_ingress(const struct ef_trace *trace, unsigned *i)
{
    while (*i < trace->n_hops && (trace->hops[*i].flags & EF_HOP_EGRESS || trace->hops[*i].drop)) {
        (*i)++;
    }
    return *i < trace->n_hops ? &trace->hops[(*i)++] : NULL;
}

void
ef_load_table_count(struct ef_load_table *t, const struct ef_trace *trace, bool is_probe)
{
    unsigned next = 0;
    const struct ef_hop *before = NULL, *last = NULL, *hop;
    for (unsigned i = 0; i < trace->n_hops; i++) {
        if (!trace->hops[i].drop) {
            count_port(t, trace, &trace->hops[i]);
        }
    }
    while ((hop = next_ingress(trace, &next))) {
        if (last && is_link(last, hop)) {
            count_link(t, trace, last, hop);
        }
        if (is_probe && before && is_same_switch(before, hop) && !is_same_switch(last, hop)) {
            count_rtt(t, before, last, hop);
        }
        before = last;
        last = hop;
    }
}
