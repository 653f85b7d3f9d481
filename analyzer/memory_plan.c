/* SPDX-License-Identifier: Apache-2.0 */
/* How --memory is divided; see memory_plan.h. */
#include <config.h>

#include "analyzer/memory_plan.h"

#include <errno.h>

#include "analyzer/copy_record.h"
#include "analyzer/filter_counters.h"
#include "analyzer/load_table.h"
#include "analyzer/loss_table.h"
#include "analyzer/switch_table.h"
#include "analyzer/transit_table.h"

enum {
    COUNTING_SHARE = 128, /* Of --memory, for each of the two kinds of counters, and for what they were. */
    GROUP_SHARE = 64,     /* For the groups of counters. */
    MIN_FEED_SLOTS = 256,
    MAX_FEED_SLOTS = 1 << 16,
    MIN_OPEN_BYTES = 256 << 10,
    MIN_STORE_BYTES = 256 << 10,
    MIN_SOURCE_RING_BYTES = 512 << 10,
    MAX_SOURCE_RING_BYTES = 64 << 20,
};

/* The greatest power of two that is not above `n`. */
static uint32_t
floor_power_of_two(uint64_t n)
{
    uint32_t power = 1;
    while ((uint64_t) power * 2 <= n && power < MAX_FEED_SLOTS) {
        power *= 2;
    }
    return power;
}

int
ef_memory_plan_make(struct ef_memory_plan *plan, uint64_t limit, unsigned n_sources, unsigned n_workers,
                    bool with_fates, struct ef_error *err)
{
    unsigned n_feeds = n_sources * n_workers;
    plan->limit = limit;
    plan->source_ring_bytes = EF_MIN(limit / 8 / n_sources, (uint64_t) MAX_SOURCE_RING_BYTES);
    plan->feed_slots = floor_power_of_two(limit / 8 / n_feeds / sizeof(struct ef_copy_record));
    plan->feed_bytes = plan->feed_slots * sizeof(struct ef_copy_record);
    plan->query_bytes = limit / 16;
    plan->open_bytes = limit / 8 * 3 / n_workers;
    plan->fate_bytes = with_fates ? n_sources * ef_loss_table_memory() + n_workers * ef_transit_table_memory() : 0;
    plan->load_ports = ef_load_table_ports_in(limit / COUNTING_SHARE / n_workers);
    plan->n_counters = ef_filter_counters_in(limit / COUNTING_SHARE, n_workers);
    plan->group_bytes = limit / GROUP_SHARE;
    plan->history_bytes = limit / COUNTING_SHARE;
    plan->load_bytes = n_workers * ef_load_table_memory(plan->load_ports) +
                       ef_filter_counters_memory(n_workers, plan->n_counters) + plan->group_bytes + plan->history_bytes;
    uint64_t without_store = n_sources * (plan->source_ring_bytes + ef_switch_table_memory()) +
                             n_feeds * plan->feed_bytes + n_workers * plan->open_bytes + plan->query_bytes +
                             plan->fate_bytes + plan->load_bytes;
    plan->store_bytes = limit > without_store ? limit - without_store : 0;
    plan->total = without_store + plan->store_bytes;
    if (plan->feed_slots < MIN_FEED_SLOTS || plan->open_bytes < MIN_OPEN_BYTES ||
        plan->source_ring_bytes < MIN_SOURCE_RING_BYTES || plan->store_bytes / n_workers < MIN_STORE_BYTES) {
        return ef_error_set(err, -EINVAL, "--memory %llu MiB is too little for %u sources and %u workers; give more",
                            (unsigned long long) (limit >> 20), n_sources, n_workers);
    }
    return 0;
}
