/* SPDX-License-Identifier: Apache-2.0 */
/* How --memory is divided, decided once at the start. All that grows with the
 * traffic is in it; what is not (program, libraries, stacks, HTTP connections)
 * stays below EF_ANALYZER_OVERHEAD_BYTES, so that the process never has more
 * resident than the sum of both. */
#ifndef EF_ANALYZER_MEMORY_PLAN_H
#define EF_ANALYZER_MEMORY_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define EF_MEMORY_PLAN_MIN_BYTES (16ull << 20)
#define EF_MEMORY_PLAN_MAX_BYTES (1ull << 46)
#define EF_MEMORY_PLAN_DEFAULT_BYTES (256ull << 20)
#define EF_ANALYZER_OVERHEAD_BYTES (24ull << 20)

struct ef_memory_plan {
    uint64_t limit;
    uint64_t source_ring_bytes; /* Of each source's receive ring. */
    uint32_t feed_slots;        /* Of each ring from a source to a worker; a power of two. */
    uint64_t feed_bytes;
    uint64_t open_bytes;    /* Open traces of each worker. */
    uint64_t store_bytes;   /* Closed traces, all workers together. */
    uint64_t query_bytes;   /* Answers under way. */
    uint64_t fate_bytes;    /* What the verdicts need to know, all together. */
    uint32_t load_ports;    /* See load_table.h. */
    unsigned n_counters;    /* See filter_counters.h. */
    uint64_t group_bytes;   /* Of the groups of counters. */
    uint64_t history_bytes; /* See load_history.h. */
    uint64_t load_bytes;    /* Counters of load and by filter, and the history, all together. */
    uint64_t total;         /* Of everything; at most `limit`. */
};

/* Returns 0, or -EINVAL with `err` if `limit` is too small for so many sources
 * and workers. */
int ef_memory_plan_make(struct ef_memory_plan *plan, uint64_t limit, unsigned n_sources, unsigned n_workers,
                        bool with_fates, struct ef_error *err);

#endif
