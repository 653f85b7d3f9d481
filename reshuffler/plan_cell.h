/* SPDX-License-Identifier: Apache-2.0 */
/* The plan in force, which the main thread replaces while other threads forward
 * by it: without a lock, and without a frame lost or decided by half a plan.
 *
 *     const struct ef_plan *plan = ef_plan_cell_read(cell, reader); // each burst
 *     ...                                            // until the next read
 *     ef_plan_cell_leave(reader);                    // when the thread ends
 *
 *     ef_plan_cell_swap(cell, next);                 // the main thread
 *     ef_plan_cell_reclaim(cell);                    // now and then
 *
 * Protocol (quiescent states, as in RCU): each plan has a generation. A reader
 * takes the pointer and then says which generation it has, whereby it promises
 * that it will use no earlier one again. A plan that was replaced is freed when
 * every reader has said a later generation than the plan's, or has left. Readers
 * write only their own cache line, and only when the plan has changed. */
#ifndef RESHUFFLER_PLAN_CELL_H
#define RESHUFFLER_PLAN_CELL_H

#include <stdatomic.h>

#include "reshuffler/plan.h"

enum { EF_PLAN_CELL_MAX_READERS = 16 };

struct ef_plan_reader {
    _Alignas(64) _Atomic uint64_t generation;
};

struct ef_plan_cell {
    _Atomic(struct ef_plan *) current;
    struct ef_plan *retired; /* The main thread's, as is all below; newest first. */
    unsigned n_readers;
    struct ef_plan_reader readers[EF_PLAN_CELL_MAX_READERS];
};

/* `first` is taken over, here and below. */
void ef_plan_cell_init(struct ef_plan_cell *cell, struct ef_plan *first);

/* Frees all plans; no reader is left. */
void ef_plan_cell_deinit(struct ef_plan_cell *cell);

/* A reader for a thread that is about to start; plans live until it has read.
 * Returns NULL if there are too many. */
struct ef_plan_reader *ef_plan_cell_add_reader(struct ef_plan_cell *cell);

static inline const struct ef_plan *
ef_plan_cell_read(struct ef_plan_cell *cell, struct ef_plan_reader *reader)
{
    const struct ef_plan *plan = atomic_load_explicit(&cell->current, memory_order_acquire);
    if (atomic_load_explicit(&reader->generation, memory_order_relaxed) != plan->generation) {
        atomic_store_explicit(&reader->generation, plan->generation, memory_order_release);
    }
    return plan;
}

/* The reader reads no more. */
void ef_plan_cell_leave(struct ef_plan_reader *reader);

/* The main thread's own view, good until its next swap. */
const struct ef_plan *ef_plan_cell_current(const struct ef_plan_cell *cell);

/* Puts a finished plan in force. */
void ef_plan_cell_swap(struct ef_plan_cell *cell, struct ef_plan *next);

/* Frees the plans that nobody reads any more. Returns how many are left. */
unsigned ef_plan_cell_reclaim(struct ef_plan_cell *cell);

#endif
