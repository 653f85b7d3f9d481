/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the copies of each packet together into its trace, and closes the trace
 * when no copy came for the idle time. One assembler belongs to one worker.
 *
 *     ef_assembler_create(&(struct ef_assembler_config){.memory_bytes = 64 << 20, .idle_ns = EF_NS_PER_S,
 *                      .closed = store_it, .ctx = worker}, &a, &err);
 *     ef_assembler_add(a, records, n, NULL, 0);         // a batch of copies
 *     while (ef_assembler_close_idle(a, now, 64)) ...;  // `closed` gets each trace
 *
 * Time is what the caller says: stamps of the copies, and `now`, both steady
 * time (ingest.h). A trace closes after its idle time, at most a sixteenth of
 * it late: an open trace stands in a wheel of time slots by when it was due when
 * it was put there; a further copy only moves its `last_stamp`, and when the
 * slot's turn comes the trace is closed or put where it belongs by then. So a
 * copy touches no other trace than its own. A packet that its sender repeats
 * again and again, equal in all that identifies it, would keep its trace open
 * for ever: ten idle times after its first copy a trace is closed all the same,
 * and the next copy opens another.
 *
 * Memory is taken at the start. A copy for which there is no room is dropped
 * and counted: EF_DROP_TABLE_FULL for each copy of a packet whose trace could
 * not be opened (see refused_set.h), EF_DROP_HOPS_FULL for hops beyond what a
 * trace can hold. One thread; the counters may be read by any. */
#ifndef EF_ANALYZER_ASSEMBLE_H
#define EF_ANALYZER_ASSEMBLE_H

#include "analyzer/copy_record.h"
#include "base/counter.h"
#include "base/error.h"

enum { EF_ASSEMBLER_BATCH = 32 };

struct ef_assembler;

struct ef_assembler_config {
    uint64_t memory_bytes;
    int64_t idle_ns;
    uint8_t debug_dscp; /* A mask of DSCP bits, see ef_trace_finish(). */
    /* Takes a closed trace; borrowed until it returns, and may be changed. */
    void (*closed)(void *ctx, struct ef_trace *trace);
    void *ctx;
};

struct ef_assembler_counters {
    ef_counter copies; /* That became a hop or a duplicate. */
    ef_counter table_full, hops_full;
    ef_counter opened, closed, loops;
};

/* Returns 0, or -ENOMEM with `err` if memory_bytes is too little or too much. */
int ef_assembler_create(const struct ef_assembler_config *config, struct ef_assembler **a, struct ef_error *err);
void ef_assembler_destroy(struct ef_assembler *a); /* Open traces are forgotten. NULL is fine. */

/* Adds up to EF_ASSEMBLER_BATCH copies. The records are not needed afterwards. `soon`
 * are those that will come next: another core wrote them, and their lines are
 * fetched meanwhile. */
void ef_assembler_add(struct ef_assembler *a, const struct ef_copy_record *const records[], unsigned n,
                      const struct ef_copy_record *const soon[], unsigned n_soon);

/* Copies that belonged here were lost elsewhere at `stamp`: traces open around
 * then are marked. */
void ef_assembler_note_loss(struct ef_assembler *a, struct ef_time stamp);

/* Closes up to about `most` traces that are due at `now` (steady time, never
 * before a former `now`). Returns how many; fewer than `most` means all. */
unsigned ef_assembler_close_idle(struct ef_assembler *a, struct ef_time now, unsigned most);

/* Closes all open traces. */
void ef_assembler_close_all(struct ef_assembler *a);

const struct ef_assembler_counters *ef_assembler_counters(const struct ef_assembler *a);

/* Bytes taken, and how many traces can be open at once. */
uint64_t ef_assembler_memory(const struct ef_assembler *a);
uint32_t ef_assembler_capacity(const struct ef_assembler *a);

#endif
