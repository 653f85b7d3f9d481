/* SPDX-License-Identifier: Apache-2.0 */
/* Counters that the operator adds while the analyzer runs: how many traced
 * packets, and how many bytes of them, match a filter, in all and over time
 * (counter_series.h); broken down if that is asked for (counter_groups.h).
 *
 *     ef_filter_counters_add(counters, "web", "tcp.dstport == 80", by, &err);  // one thread: control
 *     ef_filter_counters_count(counters, worker, &trace);                   // each worker its own
 *     ef_filter_counters_turn(counters, worker);                            // between its traces, often
 *     ef_filter_counters_remove(counters, "web");
 *
 * Values are kept per worker, so that no line is written by two; they are summed
 * when asked for. A filter that was removed is freed, and its place used again,
 * once every worker has passed a turn since: then none can still look at it. The
 * groups of a counter come and go with its filter.
 *
 * Thread-safety: one control thread adds, removes and reads; worker `n` counts as
 * number n. The protocol is the epoch: the control thread raises it after it has
 * taken a filter away; a worker, when it looks at no filter, publishes the epoch
 * that it sees, behind which it sees no older filter. */
#ifndef EF_ANALYZER_FILTER_COUNTERS_H
#define EF_ANALYZER_FILTER_COUNTERS_H

#include "analyzer/counter_groups.h"
#include "analyzer/counter_series.h"
#include "base/error.h"
#include "base/time.h"
#include "trace/packet_trace.h"

enum {
    EF_COUNTERS_MIN = 4,
    EF_COUNTERS_MAX = 32,
    EF_COUNTER_NAME_MAX = 64,
    EF_COUNTER_GROUPS_MIN = 8, /* Of each worker, for one counter that has groups; with "other". */
    EF_COUNTER_GROUPS_MAX = 256,
    EF_GROUPED_COUNTERS = 4, /* So many may have groups before those of each become fewer. */
};

struct ef_filter_counters;

struct ef_counter_info {
    const char *name, *filter; /* Borrowed until the counter is removed. */
    struct ef_group_by by;
    struct ef_time added; /* Real time. */
    struct ef_counter_values total;
};

struct ef_counter_group_info {
    struct ef_group_key key;
    struct ef_counter_values total;
};

/* How many counters `bytes` are enough for, within EF_COUNTERS_MIN and EF_COUNTERS_MAX. */
unsigned ef_filter_counters_in(uint64_t bytes, unsigned n_workers);
uint64_t ef_filter_counters_memory(unsigned n_workers, unsigned max_counters);

/* Returns 0 or -ENOMEM. No counter can have groups before there is memory for them. */
int ef_filter_counters_create(unsigned n_workers, unsigned max_counters, struct ef_filter_counters **counters);
void ef_filter_counters_destroy(struct ef_filter_counters *counters); /* No worker runs. NULL is fine. */

/* Before the first counter: memory for the groups of all workers. */
void ef_filter_counters_give_groups(struct ef_filter_counters *c, uint64_t bytes);

/* Returns 0, or with `err`: -EINVAL (the name, or the filter at err->offset),
 * -EEXIST (with another filter or other groups; the same again is fine), -ENOSPC, -ENOMEM. */
int ef_filter_counters_add(struct ef_filter_counters *c, const char *name, const char *filter, struct ef_group_by by,
                           struct ef_error *err);

/* Returns 0 or -ENOENT. */
int ef_filter_counters_remove(struct ef_filter_counters *c, const char *name);

/* The counter with number `i` of those there are; false behind the last. */
bool ef_filter_counters_get(struct ef_filter_counters *c, unsigned i, struct ef_counter_info *info);

/* Its number, or -ENOENT. */
int ef_filter_counters_find(struct ef_filter_counters *c, const char *name);

/* The intervals of counter `i` in which anything was counted, ascending; at most
 * EF_COUNTER_INTERVALS, to `intervals`. Returns how many. */
unsigned ef_filter_counters_intervals(struct ef_filter_counters *c, unsigned i,
                                      struct ef_counter_interval intervals[EF_COUNTER_INTERVALS]);

/* The groups of counter `i` over all workers, the greatest first but "other" last, for
 * the caller to free(); returns how many. "other" is there if anything is in it. */
unsigned ef_filter_counters_groups(struct ef_filter_counters *c, unsigned i, struct ef_counter_group_info **groups);

/* As ef_filter_counters_intervals(), of one group. */
unsigned ef_filter_counters_group_intervals(struct ef_filter_counters *c, unsigned i, const struct ef_group_key *key,
                                            struct ef_counter_interval intervals[EF_COUNTER_INTERVALS]);

/* --- Workers ------------------------------------------------------------------- */

void ef_filter_counters_count(struct ef_filter_counters *c, unsigned worker, const struct ef_trace *trace);
void ef_filter_counters_turn(struct ef_filter_counters *c, unsigned worker);

#endif
