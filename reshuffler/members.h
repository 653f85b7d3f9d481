/* SPDX-License-Identifier: Apache-2.0 */
/* The analyzers as they change at run time: who is added, changed, drained,
 * removed, goes down and comes back. Each change makes one new plan and puts it
 * in force (plan_cell.h), wholly or, with an error, not at all.
 *
 *     ef_members_init(&members, plan, steered, ctx); // takes the plan over
 *     ef_members_put(&members, &member, &err);       // add, or change the one of that name
 *     ef_members_set_down(&members, i, true);        // by the health of index i
 *
 * The index of an analyzer that was removed is given to another only when it
 * must be; then what was counted for the old one is left out of its copies. All
 * for the main thread. */
#ifndef RESHUFFLER_MEMBERS_H
#define RESHUFFLER_MEMBERS_H

#include "reshuffler/health.h"
#include "reshuffler/plan_cell.h"

/* The copies that were ever steered to an index, by all threads. */
typedef uint64_t ef_members_steered(void *ctx, unsigned i);

struct ef_members {
    struct ef_plan_cell cell;
    bool is_down[EF_PLAN_MAX_ANALYZERS];
    uint64_t steered_before[EF_PLAN_MAX_ANALYZERS]; /* By those that had the index earlier. */
    uint64_t n_changes;
    ef_members_steered *steered;
    void *ctx;
};

/* `plan` was made by ef_plan_copy() and finished. */
void ef_members_init(struct ef_members *m, struct ef_plan *plan, ef_members_steered *steered, void *ctx);
void ef_members_deinit(struct ef_members *m);

/* Borrowed until the next change. */
const struct ef_plan *ef_members_plan(const struct ef_members *m);

/* Return 0, -EINVAL, -EEXIST (an address is another's), -ENOENT (no such name),
 * -ENOSPC (too many) or -EBUSY (an index is about to be free: try again) with
 * `err`. Replacing makes the `n` members given all that there are. */
int ef_members_put(struct ef_members *m, const struct ef_member *member, struct ef_error *err);
int ef_members_remove(struct ef_members *m, const char *name, struct ef_error *err);
int ef_members_replace(struct ef_members *m, const struct ef_member members[], size_t n, struct ef_error *err);

/* Puts what the health of index `i` says in force. Returns 0 or -ENOMEM, then
 * nothing has changed. */
int ef_members_set_down(struct ef_members *m, unsigned i, bool is_down);

#endif
