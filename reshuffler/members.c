/* SPDX-License-Identifier: Apache-2.0 */
/* Analyzers that come and go; see members.h. */
#include <config.h>

#include "reshuffler/members.h"

#include <errno.h>
#include <string.h>

void
ef_members_init(struct ef_members *m, struct ef_plan *plan, ef_members_steered *steered, void *ctx)
{
    memset(m, 0, sizeof *m);
    ef_plan_cell_init(&m->cell, plan);
    m->steered = steered;
    m->ctx = ctx;
}

void
ef_members_deinit(struct ef_members *m)
{
    ef_plan_cell_deinit(&m->cell);
}

const struct ef_plan *
ef_members_plan(const struct ef_members *m)
{
    return ef_plan_cell_current(&m->cell);
}

static enum ef_analyzer_state
state_of(const struct ef_members *m, const struct ef_plan *plan, unsigned i)
{
    if (m->is_down[i]) {
        return EF_ANALYZER_DOWN;
    }
    return plan->analyzers[i].is_draining ? EF_ANALYZER_DRAINING : EF_ANALYZER_UP;
}

/* The finished plan takes the place of the one in force. */
static int
put_in_force(struct ef_members *m, struct ef_plan *next, struct ef_error *err)
{
    int rc = ef_plan_finish(next, err);
    if (rc) {
        ef_plan_free(next);
        return rc;
    }
    ef_plan_cell_swap(&m->cell, next);
    m->n_changes++;
    return 0;
}

/* The index for a new analyzer: its own if it was here before, one that nobody
 * had, or another's that is gone and that no thread steers by any more. */
static int
choose_index(struct ef_members *m, const struct ef_plan *plan, const char *name, struct ef_error *err)
{
    int free_index = -1;
    for (unsigned i = 0; i < plan->n_analyzers; i++) {
        if (plan->states[i] == EF_ANALYZER_NONE) {
            free_index = (int) i;
            if (!strcmp(plan->analyzers[i].name, name)) {
                return free_index;
            }
        }
    }
    if (plan->n_analyzers < EF_PLAN_MAX_ANALYZERS) {
        return (int) plan->n_analyzers;
    }
    if (free_index < 0) {
        return ef_error_set(err, -ENOSPC, "analyzer: at most %d analyzers", EF_PLAN_MAX_ANALYZERS);
    }
    if (ef_plan_cell_reclaim(&m->cell)) {
        return ef_error_set(err, -EBUSY, "analyzer: the place of a removed one is not free yet; try again");
    }
    m->steered_before[free_index] = m->steered(m->ctx, (unsigned) free_index);
    return free_index;
}

/* Adds or changes one in a plan that is being made. */
static int
put_into(struct ef_members *m, struct ef_plan *next, const struct ef_member *member, struct ef_error *err)
{
    int i = ef_plan_find(next, member->name);
    if (i < 0) {
        i = choose_index(m, next, member->name, err);
        if (i < 0) {
            return i;
        }
        m->is_down[i] = false;
    }
    int rc = ef_plan_put(next, (unsigned) i, member, EF_ANALYZER_UP, err);
    if (!rc) {
        next->states[i] = (uint8_t) state_of(m, next, (unsigned) i);
    }
    return rc;
}

static struct ef_plan *
begin(const struct ef_members *m, struct ef_error *err)
{
    struct ef_plan *next = ef_plan_copy(ef_members_plan(m));
    if (!next) {
        ef_error_set(err, -ENOMEM, "out of memory");
    }
    return next;
}

int
ef_members_put(struct ef_members *m, const struct ef_member *member, struct ef_error *err)
{
    struct ef_plan *next = begin(m, err);
    if (!next) {
        return -ENOMEM;
    }
    int rc = put_into(m, next, member, err);
    if (rc) {
        ef_plan_free(next);
        return rc;
    }
    return put_in_force(m, next, err);
}

int
ef_members_remove(struct ef_members *m, const char *name, struct ef_error *err)
{
    int i = ef_plan_find(ef_members_plan(m), name);
    if (i < 0) {
        return ef_error_set(err, -ENOENT, "analyzer: there is no '%.64s'", name);
    }
    struct ef_plan *next = begin(m, err);
    if (!next) {
        return -ENOMEM;
    }
    next->states[i] = EF_ANALYZER_NONE;
    return put_in_force(m, next, err);
}

/* Frees the index of everyone who is not among `members`. */
static void
keep_only(struct ef_plan *plan, const struct ef_member members[], size_t n)
{
    for (unsigned i = 0; i < plan->n_analyzers; i++) {
        bool is_kept = false;
        for (size_t k = 0; k < n && !is_kept; k++) {
            is_kept = !strcmp(members[k].name, plan->analyzers[i].name);
        }
        if (!is_kept) {
            plan->states[i] = EF_ANALYZER_NONE;
        }
    }
}

/* Two of one name are two, not one that is changed. */
static int
check_names(const struct ef_member members[], size_t n, struct ef_error *err)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++) {
            if (!strcmp(members[i].name, members[k].name)) {
                return ef_error_set(err, -EEXIST, "analyzer: the name '%s' is there twice", members[i].name);
            }
        }
    }
    return 0;
}

int
ef_members_replace(struct ef_members *m, const struct ef_member members[], size_t n, struct ef_error *err)
{
    int rc = check_names(members, n, err);
    struct ef_plan *next = rc ? NULL : begin(m, err);
    if (!next) {
        return rc ? rc : -ENOMEM;
    }
    keep_only(next, members, n);
    /* Two may have exchanged addresses: what is to change stands in nobody's way. */
    for (unsigned i = 0; i < next->n_analyzers; i++) {
        memset(next->analyzers[i].address, 0, sizeof next->analyzers[i].address);
        memset(next->analyzers[i].address6, 0, sizeof next->analyzers[i].address6);
        next->analyzers[i].address[15] = (uint8_t) i;
        next->analyzers[i].address[0] = 0xff;
    }
    for (size_t k = 0; !rc && k < n; k++) {
        rc = put_into(m, next, &members[k], err);
    }
    if (rc) {
        ef_plan_free(next);
        return rc;
    }
    return put_in_force(m, next, err);
}

int
ef_members_set_down(struct ef_members *m, unsigned i, bool is_down)
{
    struct ef_error err = EF_ERROR_INIT;
    struct ef_plan *next = begin(m, &err);
    if (!next) {
        return -ENOMEM;
    }
    m->is_down[i] = is_down;
    next->states[i] = (uint8_t) state_of(m, next, i);
    int rc = put_in_force(m, next, &err);
    if (rc) {
        m->is_down[i] = !is_down;
    }
    return rc;
}
