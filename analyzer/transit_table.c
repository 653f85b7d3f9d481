/* SPDX-License-Identifier: Apache-2.0 */
/* Times between switches; see transit_table.h. */
#include <config.h>

#include "analyzer/transit_table.h"

#include <errno.h>
#include <string.h>

#include "analyzer/region.h"
#include "base/hash.h"
#include "base/util.h"

enum { INDEX_SLOTS = 2 * EF_TRANSIT_MAX };

#define FROM_BYTES (EF_TRANSIT_MAX * sizeof(struct ef_transit_from))
#define MINUTE_NS (60 * EF_NS_PER_S)

/* Clocks that disagree by more teach nothing. */
#define MOST_NS (3600 * EF_NS_PER_S)

uint64_t
ef_transit_table_memory(void)
{
    return FROM_BYTES + INDEX_SLOTS * sizeof(uint16_t);
}

int
ef_transit_table_init(struct ef_transit_table *t)
{
    memset(t, 0, sizeof *t);
    t->from = ef_region_alloc(ef_transit_table_memory());
    if (!t->from) {
        return -ENOMEM;
    }
    t->index = (uint16_t *) (void *) ((uint8_t *) t->from + FROM_BYTES);
    return 0;
}

void
ef_transit_table_deinit(struct ef_transit_table *t)
{
    ef_region_free(t->from, ef_transit_table_memory());
    t->from = NULL;
}

static uint16_t *
find_slot(const struct ef_transit_table *t, const uint8_t from[16])
{
    uint64_t i = ef_hash64(from, 16);
    uint16_t *slot = &t->index[i % INDEX_SLOTS];
    while (*slot && memcmp(t->from[*slot - 1].from, from, 16)) {
        slot = &t->index[++i % INDEX_SLOTS];
    }
    return slot;
}

const struct ef_transit_from *
ef_transit_table_from(const struct ef_transit_table *t, const uint8_t from[16])
{
    uint16_t slot = *find_slot(t, from);
    return slot ? &t->from[slot - 1] : NULL;
}

const struct ef_transit *
ef_transit_find(const struct ef_transit_from *from, const uint8_t to[16])
{
    for (uint32_t i = 0; from && i < from->n; i++) {
        if (!memcmp(from->next[i].to, to, 16)) {
            return &from->next[i];
        }
    }
    return NULL;
}

static struct ef_transit_from *
add_from(struct ef_transit_table *t, const uint8_t from[16])
{
    uint16_t *slot = find_slot(t, from);
    if (!*slot && t->n < EF_TRANSIT_MAX) {
        memcpy(t->from[t->n].from, from, 16);
        *slot = (uint16_t) ++t->n;
    }
    return *slot ? &t->from[*slot - 1] : NULL;
}

static struct ef_transit *
add_next(struct ef_transit_from *from, const uint8_t to[16])
{
    struct ef_transit *next = (struct ef_transit *) ef_transit_find(from, to);
    if (!next && from->n < EF_TRANSIT_NEXT) {
        next = &from->next[from->n++];
        memcpy(next->to, to, 16);
        next->min_ns = next->old_min_ns = INT64_MAX;
        next->max_ns = next->old_max_ns = INT64_MIN;
    }
    return next;
}

static void
learn_pair(struct ef_transit_table *t, const struct ef_trace *trace, unsigned i, unsigned k)
{
    const struct ef_hop *a = &trace->hops[i], *b = &trace->hops[k];
    if ((a->flags | b->flags) & EF_HOP_EGRESS || a->drop || b->drop) {
        return; /* From where it arrived to where it arrived. */
    }
    struct ef_transit_from *from = add_from(t, a->switch_address);
    struct ef_transit *next = from ? add_next(from, b->switch_address) : NULL;
    int64_t ns = ef_trace_since_first_ns(trace, k) - ef_trace_since_first_ns(trace, i);
    if (!next || a->ttl <= b->ttl || ns < -MOST_NS || ns > MOST_NS) {
        return;
    }
    if (ef_time_diff_ns(trace->start, next->minute) > MINUTE_NS) {
        next->minute = trace->start;
        next->old_min_ns = next->min_ns;
        next->old_max_ns = next->max_ns;
        next->min_ns = INT64_MAX;
        next->max_ns = INT64_MIN;
    }
    next->ttl_fall = (uint8_t) (a->ttl - b->ttl);
    next->min_ns = EF_MIN(next->min_ns, ns);
    next->max_ns = EF_MAX(next->max_ns, ns);
}

void
ef_transit_table_learn(struct ef_transit_table *t, const struct ef_trace *trace)
{
    uint8_t any = 0, all = 0xff;
    for (unsigned i = 0; i < trace->n_hops; i++) {
        any |= trace->hops[i].flags;
        all &= trace->hops[i].flags;
    }
    if (!(all & EF_HOP_HAS_IP) || any & EF_HOP_ENCAPSULATED) {
        return;
    }
    for (unsigned i = 0; i < trace->n_hops; i++) {
        for (unsigned k = i + 1; k < trace->n_hops; k++) {
            learn_pair(t, trace, i, k);
        }
    }
}
