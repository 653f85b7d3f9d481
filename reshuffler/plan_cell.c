/* SPDX-License-Identifier: Apache-2.0 */
/* The plan in force; see plan_cell.h. */
#include <config.h>

#include "reshuffler/plan_cell.h"

void
ef_plan_cell_init(struct ef_plan_cell *cell, struct ef_plan *first)
{
    first->generation = 1; /* A reader that has not read yet says 0. */
    atomic_init(&cell->current, first);
    cell->retired = NULL;
    cell->n_readers = 0;
}

static void
free_retired(struct ef_plan *plan)
{
    while (plan) {
        struct ef_plan *next = plan->next_retired;
        ef_plan_free(plan);
        plan = next;
    }
}

void
ef_plan_cell_deinit(struct ef_plan_cell *cell)
{
    free_retired(cell->retired);
    cell->retired = NULL;
    ef_plan_free(atomic_load(&cell->current));
    atomic_store(&cell->current, NULL);
}

struct ef_plan_reader *
ef_plan_cell_add_reader(struct ef_plan_cell *cell)
{
    if (cell->n_readers == EF_PLAN_CELL_MAX_READERS) {
        return NULL;
    }
    struct ef_plan_reader *reader = &cell->readers[cell->n_readers++];
    atomic_init(&reader->generation, 0);
    return reader;
}

void
ef_plan_cell_leave(struct ef_plan_reader *reader)
{
    atomic_store_explicit(&reader->generation, UINT64_MAX, memory_order_release);
}

const struct ef_plan *
ef_plan_cell_current(const struct ef_plan_cell *cell)
{
    return atomic_load_explicit(&((struct ef_plan_cell *) cell)->current, memory_order_relaxed);
}

void
ef_plan_cell_swap(struct ef_plan_cell *cell, struct ef_plan *next)
{
    struct ef_plan *old = atomic_load_explicit(&cell->current, memory_order_relaxed);
    next->generation = old->generation + 1;
    atomic_store_explicit(&cell->current, next, memory_order_release);
    old->next_retired = cell->retired;
    cell->retired = old;
    ef_plan_cell_reclaim(cell);
}

unsigned
ef_plan_cell_reclaim(struct ef_plan_cell *cell)
{
    uint64_t oldest_read = UINT64_MAX;
    unsigned n_left = 0;
    for (unsigned i = 0; i < cell->n_readers; i++) {
        uint64_t generation = atomic_load_explicit(&cell->readers[i].generation, memory_order_acquire);
        oldest_read = EF_MIN(oldest_read, generation);
    }
    struct ef_plan **at = &cell->retired;
    while (*at && (*at)->generation >= oldest_read) {
        at = &(*at)->next_retired;
        n_left++;
    }
    free_retired(*at); /* All that follow are older. */
    *at = NULL;
    return n_left;
}
