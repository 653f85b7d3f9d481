/* SPDX-License-Identifier: Apache-2.0 */
/* The analyzer's totals, summed from the counters of its threads when asked:
 * what /v1/status, /metrics and the control socket show.
 *
 * copies_received is everything that reached a source, also what the kernel
 * lost for want of room; once the rings are empty it equals copies_assembled
 * and the sum of the drops. Copies of a trace that --keep does not name are
 * assembled until it is closed, and dropped by the policy from then on. */
#ifndef EF_ANALYZER_STATUS_H
#define EF_ANALYZER_STATUS_H

#include <jansson.h>

#include "analyzer/analyzer.h"

struct ef_status {
    uint64_t copies_received, copies_assembled;
    uint64_t drops[EF_N_DROP_REASONS];
    uint64_t traces_opened, traces_closed, traces_unkept, loops, corrupt, traces_capacity;
    uint64_t fates[EF_N_FATES]; /* Of the traces closed. */
    uint64_t loss_reports;
    struct ef_trace_store_stats store;
    bool has_archive;
    struct ef_archiver_stats archive; /* If there is one. */
    uint64_t resident_bytes;
    double uptime_s;
};

/* The reasons to drop that occur here; shown even while they are zero. */
extern const enum ef_drop_reason ef_status_reasons[];
extern const unsigned ef_status_n_reasons;

void ef_status_collect(const struct ef_analyzer *analyzer, struct ef_status *status);

/* The body of /v1/status, or NULL if out of memory. */
json_t *ef_status_json(const struct ef_analyzer *analyzer);

/* The body of /v1/health: whether copies are taken, how full the table of open
 * traces is, how many copies were discarded for want of room anywhere, and how
 * many reports came from the reshuffler that asks (its number as hexadecimal
 * digits, or NULL). */
json_t *ef_status_health_json(const struct ef_analyzer *analyzer, const char *reshuffler);

/* What each switch sent, summed over the sources: an object from its address to
 * {"copies", "first_sequence", "last_sequence"}, the latter two if it numbers
 * its copies. The caller takes over the reference. */
json_t *ef_status_switches(const struct ef_analyzer *analyzer);

#endif
