/* SPDX-License-Identifier: Apache-2.0 */
/* Meters: the running aggregates of the last buckets of time, and which triggers
 * they set off; see trigger.h and trigger_private.h. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "store/trigger_private.h"

/* --- Meters and their triggers -------------------------------------------------------- */

static bool
same_filter(const struct ef_installed_filter *a, const struct ef_installed_filter *b)
{
    return a == b || !strcmp(ef_predicate_text(ef_installed_filter_predicate(a)),
                             ef_predicate_text(ef_installed_filter_predicate(b)));
}

struct ef_meter *
ef_meter_get(struct ef_triggers *t, struct ef_installed_filter *filter, unsigned column, int64_t width_ns)
{
    struct ef_meter **link = &t->meters;
    for (; *link; link = &(*link)->next) {
        struct ef_meter *meter = *link;
        if (meter->column == column && meter->width_ns == width_ns && same_filter(meter->filter, filter)) {
            return meter;
        }
    }
    struct ef_meter *meter = *link = calloc(1, sizeof *meter);
    if (!meter) {
        return NULL;
    }
    ef_installed_filter_retain(filter);
    meter->filter = filter;
    meter->column = column;
    meter->width_ns = width_ns;
    meter->newest = INT64_MIN;
    for (unsigned i = 0; i < EF_METER_CELLS; i++) {
        meter->cells[i].bucket = INT64_MIN;
    }
    t->n_meters++;
    t->is_stale = true;
    return meter;
}

/* Of one group, the trigger that fires on less comes first. */
static int
compare_triggers(const void *a_, const void *b_)
{
    const struct ef_condition *a = &(*(struct ef_trigger *const *) a_)->condition;
    const struct ef_condition *b = &(*(struct ef_trigger *const *) b_)->condition;
    if (a->group != b->group) {
        return a->group < b->group ? -1 : 1;
    }
    int order = (a->threshold > b->threshold) - (a->threshold < b->threshold);
    return a->group == EF_TRIGGER_MIN_LE ? -order : order;
}

static void
destroy(struct ef_triggers *t, struct ef_meter *meter)
{
    struct ef_meter **link = &t->meters;
    while (*link != meter) {
        link = &(*link)->next;
    }
    *link = meter->next;
    t->n_meters--;
    t->is_stale = true;
    ef_installed_filter_release(meter->filter);
    free(meter->triggers);
    free(meter);
}

void
ef_meter_regroup(struct ef_meter *meter)
{
    unsigned i = 0;
    for (unsigned group = 0; group <= EF_TRIGGER_N_GROUPS; group++) {
        while (i < meter->n_triggers && meter->triggers[i]->condition.group < group) {
            i++;
        }
        meter->group_start[group] = i;
    }
    for (unsigned cell = 0; cell < EF_METER_CELLS; cell++) {
        memset(meter->cells[cell].n_alerted, 0, sizeof meter->cells[cell].n_alerted);
        meter->cells[cell].has_changed = true; /* A new trigger looks at it, too. */
    }
}

int
ef_meter_update(struct ef_triggers *t, struct ef_meter *meter)
{
    unsigned n = 0;
    for (const struct ef_trigger *trigger = t->triggers; trigger; trigger = trigger->next) {
        n += trigger->meter == meter;
    }
    if (!n) {
        destroy(t, meter);
        return 0;
    }
    struct ef_trigger **list = calloc(n, sizeof(struct ef_trigger *));
    if (!list) {
        return -ENOMEM;
    }
    n = 0;
    for (struct ef_trigger *trigger = t->triggers; trigger; trigger = trigger->next) {
        if (trigger->meter == meter) {
            list[n++] = trigger;
        }
    }
    qsort(list, n, sizeof *list, compare_triggers);
    free(meter->triggers);
    meter->triggers = list;
    meter->n_triggers = n;
    ef_meter_regroup(meter);
    return 0;
}

/* --- Counting ----------------------------------------------------------------------- */

static void
raise_if_first(struct ef_triggers *t, struct ef_meter *meter, struct ef_trigger *trigger, const struct ef_cell *cell)
{
    int64_t *alerted = &trigger->alerted[cell - meter->cells];
    if (*alerted != cell->bucket) {
        *alerted = cell->bucket;
        ef_triggers_raise(t, trigger, cell);
    }
}

/* In each group, those that fire on less do so before the others: the first that
 * does not ends it. */
static void
look_at_once(struct ef_triggers *t, struct ef_meter *meter, struct ef_cell *cell)
{
    for (unsigned group = 0; group < EF_TRIGGER_AT_END; group++) {
        unsigned i = meter->group_start[group] + cell->n_alerted[group];
        for (; i < meter->group_start[group + 1] && ef_condition_holds(&meter->triggers[i]->condition, &cell->value);
             i++) {
            raise_if_first(t, meter, meter->triggers[i], cell);
            cell->n_alerted[group]++;
        }
    }
    cell->has_changed = false;
}

static void
complete(struct ef_triggers *t, struct ef_meter *meter, struct ef_cell *cell)
{
    if (cell->bucket == INT64_MIN || cell->is_complete) {
        return;
    }
    look_at_once(t, meter, cell);
    cell->is_complete = true;
    for (unsigned i = meter->group_start[EF_TRIGGER_AT_END]; i < meter->n_triggers; i++) {
        if (ef_condition_holds(&meter->triggers[i]->condition, &cell->value)) {
            raise_if_first(t, meter, meter->triggers[i], cell);
        }
    }
}

/* The cell of a bucket of time, or NULL if it is too late for that one. */
static struct ef_cell *
cell_of(struct ef_triggers *t, struct ef_meter *meter, int64_t bucket)
{
    struct ef_cell *cell = &meter->cells[(uint64_t) bucket % EF_METER_CELLS];
    if (cell->bucket != bucket) {
        if (cell->bucket > bucket || (meter->newest != INT64_MIN && bucket <= meter->newest - EF_METER_CELLS)) {
            return NULL;
        }
        complete(t, meter, cell);
        *cell = (struct ef_cell){.bucket = bucket, .value = EF_AGGREGATE_VALUE_INIT};
        meter->newest = EF_MAX(meter->newest, bucket);
    }
    return cell->is_complete ? NULL : cell;
}

static int64_t
bucket_of(int64_t ns, int64_t width_ns)
{
    return ns / width_ns - (ns % width_ns < 0);
}

/* Records mostly come in the order of time: rows are added in runs that lie in
 * the same bucket of time. */
void
ef_meter_add(struct ef_triggers *t, struct ef_meter *meter, const struct ef_schema *schema,
             const uint8_t *const *columns, uint32_t first_row, uint32_t n_rows, const uint64_t *bits, int64_t now_ns)
{
    const uint8_t *times = columns[0] + (size_t) first_row * sizeof(int64_t);
    for (uint32_t word = 0; word < (n_rows + 63) / 64; word++) {
        uint64_t left = bits[word];
        while (left) {
            int64_t ns;
            memcpy(&ns, times + (word * 64 + (size_t) __builtin_ctzll(left)) * sizeof ns, sizeof ns);
            int64_t bucket = bucket_of(ns, meter->width_ns), start = bucket * meter->width_ns, of_row = ns;
            uint64_t run = 0;
            for (uint64_t rest = left; rest && (uint64_t) (of_row - start) < (uint64_t) meter->width_ns;) {
                run |= rest & -rest;
                rest &= rest - 1;
                if (rest) {
                    memcpy(&of_row, times + (word * 64 + (size_t) __builtin_ctzll(rest)) * sizeof of_row,
                           sizeof of_row);
                }
            }
            struct ef_cell *cell = cell_of(t, meter, bucket);
            if (cell) {
                ef_aggregate_add_rows(&cell->value, schema, meter->column, columns, first_row + word * 64,
                                      EF_MIN(n_rows - word * 64, 64U), &run, (struct ef_time){INT64_MIN},
                                      (struct ef_time){INT64_MAX});
                cell->has_changed = true;
                cell->changed_ns = now_ns;
            } else {
                t->stats.n_late += (uint64_t) __builtin_popcountll(run);
            }
            left &= ~run;
        }
    }
}

void
ef_meter_look(struct ef_triggers *t, struct ef_meter *meter, int64_t now_ns)
{
    for (unsigned i = 0; i < EF_METER_CELLS; i++) {
        struct ef_cell *cell = &meter->cells[i];
        if (cell->bucket == INT64_MIN || cell->is_complete) {
            continue;
        }
        if (cell->has_changed) {
            look_at_once(t, meter, cell);
        }
        if (meter->newest - cell->bucket >= 2 || now_ns - cell->changed_ns >= 2 * meter->width_ns) {
            complete(t, meter, cell);
        }
    }
}
