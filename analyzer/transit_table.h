/* SPDX-License-Identifier: Apache-2.0 */
/* How long packets take from one switch to the switches behind it, learned from
 * the traces: so that it is known when a switch would have made the copy that a
 * trace lacks. What the switches' clocks disagree by is in it.
 *
 *     ef_transit_table_learn(&table, &trace);
 *     const struct ef_transit *t = ef_transit_table_find(&table, from, to);
 *
 * Learned are the least and the greatest time, of the last one to two minutes
 * (of the traces' time), and by how much the TTL falls. Bounded: EF_TRANSIT_MAX
 * switches, with EF_TRANSIT_NEXT behind each. One thread. */
#ifndef EF_ANALYZER_TRANSIT_TABLE_H
#define EF_ANALYZER_TRANSIT_TABLE_H

#include "trace/packet_trace.h"

enum { EF_TRANSIT_MAX = 1024, EF_TRANSIT_NEXT = 32 };

struct ef_transit {
    uint8_t to[16];
    uint8_t ttl_fall;
    int64_t min_ns, max_ns;         /* Of this minute, */
    int64_t old_min_ns, old_max_ns; /* and of the one before. */
    struct ef_time minute;          /* When this one began. */
};

struct ef_transit_from {
    uint8_t from[16];
    uint32_t n;
    struct ef_transit next[EF_TRANSIT_NEXT];
};

struct ef_transit_table {
    struct ef_transit_from *from;
    uint16_t *index; /* Hash to from + 1; open addressing. */
    uint32_t n;
};

uint64_t ef_transit_table_memory(void);
int ef_transit_table_init(struct ef_transit_table *t); /* Returns 0 or -ENOMEM. */
void ef_transit_table_deinit(struct ef_transit_table *t);

/* From a finished trace. Of packets in a tunnel on part of their way nothing is learned. */
void ef_transit_table_learn(struct ef_transit_table *t, const struct ef_trace *trace);

/* All that is known to be behind a switch, or NULL. */
const struct ef_transit_from *ef_transit_table_from(const struct ef_transit_table *t, const uint8_t from[16]);
const struct ef_transit *ef_transit_find(const struct ef_transit_from *from, const uint8_t to[16]);

static inline int64_t
ef_transit_min_ns(const struct ef_transit *t)
{
    return t->min_ns < t->old_min_ns ? t->min_ns : t->old_min_ns;
}

static inline int64_t
ef_transit_max_ns(const struct ef_transit *t)
{
    return t->max_ns > t->old_max_ns ? t->max_ns : t->old_max_ns;
}

#endif
