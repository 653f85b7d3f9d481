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

/* The triggers are others: so is when the first of them can fire. */
static void
reconsider(struct ef_tally *tally)
{
    memset(tally->first_due, 0xff, sizeof tally->first_due);
    memset(tally->close_due, 0xff, sizeof tally->close_due);
    tally->has_at_end = false;
    for (const struct ef_meter *meter = tally->meters; meter; meter = meter->next_of_tally) {
        tally->has_at_end |= meter->group_start[EF_TRIGGER_AT_END] < meter->n_triggers;
        lower(tally->first_due, meter->first_due);
        if (meter->is_close) {
            lower(tally->close_due, meter->first_due);
        }
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
        meter->tally->n_due++;
        t->due[t->n_due++] = meter;
    }
}

/* Which meters must be read for a cell that has reached one of its levels; and
 * what the least level of the others is. */
static void
find_due(struct ef_triggers *t, struct ef_tally *tally, unsigned i)
{
    struct ef_tally_cell *cell = &tally->cells[i];
    memcpy(cell->due_at, tally->close_due, sizeof cell->due_at);
    for (struct ef_meter *meter = tally->meters; meter && tally->n_due < tally->n_meters;
         meter = meter->next_of_tally) {
        if (meter->is_due) {
            continue;
        }
        for (unsigned group = 0; group < EF_TRIGGER_AT_END; group++) {
            ef_u128 due_at = ef_meter_due_at(meter, i, group);
            if (ef_tally_reading(cell, group) >= due_at) {
                make_due(t, meter);
            } else {
                cell->due_at[group] = EF_MIN(cell->due_at[group], due_at);
            }
        }
    }
}

static bool
has_reached(const struct ef_tally_cell *cell)
{
    bool any = false;
    for (unsigned group = 0; group < EF_TRIGGER_AT_END; group++) {
        any |= ef_tally_reading(cell, group) >= cell->due_at[group];
    }
    return any;
}

static void
find_all_due(struct ef_triggers *t, struct ef_tally *tally, int64_t now_ns, bool all)
{
    bool any_completes = false;
    tally->n_due = tally->to_look = 0;
    if (tally->has_changed) {
        reconsider(tally);
    }
    for (unsigned i = 0; i < EF_TALLY_CELLS; i++) {
        struct ef_tally_cell *cell = &tally->cells[i];
        if (cell->bucket == EF_NO_BUCKET) {
            continue;
        }
        bool to_look = cell->is_fresh || tally->has_changed;
        if (to_look && has_reached(cell)) {
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
        for (unsigned group = 0; group < EF_TRIGGER_AT_END; group++) {
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
