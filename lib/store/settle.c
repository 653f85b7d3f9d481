/* SPDX-License-Identifier: Apache-2.0 */
/* Settling: which meters must be read for what the tallies have got, and what
 * that raises; called by the monitor. See trigger_private.h. */
#include <config.h>

#include <string.h>

#include "base/util.h"
#include "store/multilog_private.h"

static void
lower(ef_u128 *levels, const ef_u128 *to)
{
    for (unsigned group = 0; group < EF_TRIGGER_AT_END; group++) {
        levels[group] = EF_MIN(levels[group], to[group]);
    }
}

/* Close meters before the others. */
static void
sort_meters(struct ef_tally *tally)
{
    struct ef_meter *lists[2] = {NULL, NULL}, **ends[2] = {&lists[0], &lists[1]};
    for (struct ef_meter *meter = tally->meters; meter; meter = meter->next_of_tally) {
        struct ef_meter ***end = &ends[!meter->is_close];
        **end = meter;
        *end = &meter->next_of_tally;
    }
    *ends[1] = NULL;
    *ends[0] = lists[1];
    tally->meters = lists[0];
    tally->first_far = lists[1];
}

/* The triggers are others: so is when the first of them can fire. */
static void
reconsider(struct ef_tally *tally)
{
    sort_meters(tally);
    memset(tally->first_due, 0xff, sizeof tally->first_due);
    memset(tally->close_due, 0xff, sizeof tally->close_due);
    tally->has_at_end = false;
    for (const struct ef_meter *meter = tally->meters; meter; meter = meter->next_of_tally) {
        tally->has_at_end |= meter->group_start[EF_TRIGGER_AT_END] < meter->n_triggers;
        lower(meter->is_close ? tally->close_due : tally->first_due, meter->first_due);
    }
    for (unsigned i = 0; i < EF_TALLY_CELLS; i++) {
        memset(tally->cells[i].due_at, 0, sizeof tally->cells[i].due_at);
    }
}

static void
make_due(struct ef_triggers *t, struct ef_meter *meter)
{
    if (!meter->is_due) {
        meter->is_due = true;
        t->due[t->n_due++] = meter;
    }
}

static bool
has_reached(const struct ef_tally_cell *cell, const ef_u128 *levels)
{
    bool any = false;
    for (unsigned group = 0; group < EF_TRIGGER_AT_END; group++) {
        any |= ef_tally_reading(cell, group) >= levels[group];
    }
    return any;
}

/* Is the meter to be read for the cell; if not, its levels go to `levels`. */
static void
check_meter(struct ef_triggers *t, struct ef_meter *meter, unsigned i, ef_u128 *levels)
{
    const struct ef_tally_cell *cell = &meter->tally->cells[i];
    for (unsigned group = 0; group < EF_TRIGGER_AT_END; group++) {
        ef_u128 due_at = ef_meter_due_at(meter, i, group);
        if (ef_tally_reading(cell, group) >= due_at) {
            make_due(t, meter);
        } else {
            levels[group] = EF_MIN(levels[group], due_at);
        }
    }
}

/* Which meters must be read for a cell. Close ones, whose levels any record
 * reaches, would have all the others looked through each time: so they are looked
 * at by themselves, and the least level that is kept is that of the others. */
static void
find_due(struct ef_triggers *t, struct ef_tally *tally, unsigned i)
{
    struct ef_tally_cell *cell = &tally->cells[i];
    ef_u128 ignored[EF_TRIGGER_AT_END];
    memset(ignored, 0xff, sizeof ignored);
    if (has_reached(cell, tally->close_due)) {
        for (struct ef_meter *meter = tally->meters; meter != tally->first_far; meter = meter->next_of_tally) {
            if (!meter->is_due) {
                check_meter(t, meter, i, ignored);
            }
        }
    }
    if (has_reached(cell, cell->due_at)) {
        memset(cell->due_at, 0xff, sizeof cell->due_at);
        for (struct ef_meter *meter = tally->first_far; meter; meter = meter->next_of_tally) {
            if (!meter->is_due) {
                check_meter(t, meter, i, cell->due_at);
            }
        }
    }
}

static void
find_all_due(struct ef_triggers *t, struct ef_tally *tally, int64_t now_ns, bool all)
{
    bool any_completes = false;
    tally->to_look = 0;
    if (tally->has_changed) {
        reconsider(tally);
    }
    for (unsigned i = 0; i < EF_TALLY_CELLS; i++) {
        struct ef_tally_cell *cell = &tally->cells[i];
        if (cell->bucket == EF_NO_BUCKET) {
            continue;
        }
        bool to_look = cell->is_fresh || tally->has_changed;
        if (to_look) {
            find_due(t, tally, i);
        }
        if (tally->has_at_end && ef_tally_is_over(tally, cell, now_ns)) {
            to_look = any_completes = cell->completes = cell->is_complete = true;
        }
        tally->to_look |= (uint32_t) to_look << i;
    }
    for (struct ef_meter *meter = tally->meters; (any_completes || all) && meter; meter = meter->next_of_tally) {
        if (all || meter->group_start[EF_TRIGGER_AT_END] < meter->n_triggers) {
            make_due(t, meter);
        }
    }
}

/* What a meter that is close has seen of a bucket is not kept until something
 * matches: a few records make it due again anyway. */
static void
look_at_meter(struct ef_triggers *t, struct ef_meter *meter)
{
    struct ef_tally *tally = meter->tally;
    uint32_t left = meter->is_close ? tally->to_look & meter->begun : tally->to_look;
    for (; left; left &= left - 1) {
        unsigned i = (unsigned) __builtin_ctz(left);
        ef_meter_look(t, meter, i);
        for (unsigned group = 0; !meter->is_close && group < EF_TRIGGER_AT_END; group++) {
            tally->cells[i].due_at[group] = EF_MIN(tally->cells[i].due_at[group], ef_meter_due_at(meter, i, group));
        }
    }
    meter->is_due = false;
}

void
ef_monitor_settle(struct ef_multilog *log, int64_t now_ns, bool all)
{
    struct ef_triggers *t = &log->triggers;
    t->n_due = 0;
    for (struct ef_tally *tally = t->tallies; tally; tally = tally->next) {
        find_all_due(t, tally, now_ns, all);
    }
    ef_backlog_read(log);
    for (unsigned i = 0; i < t->n_due; i++) {
        look_at_meter(t, t->due[i]);
    }
    for (struct ef_tally *tally = t->tallies; tally; tally = tally->next) {
        ef_tally_looked(tally);
    }
    ef_backlog_trim(t, all);
}
