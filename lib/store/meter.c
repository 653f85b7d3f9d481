/* SPDX-License-Identifier: Apache-2.0 */
/* Meters: what a filter's records of the last buckets of time add up to, and
 * which triggers that sets off; see trigger.h and trigger_private.h. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "store/trigger_private.h"

#define NEVER (~(ef_u128) 0)

enum { CLOSE = 64 };

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
        if (meter->tally->column == column && meter->tally->width_ns == width_ns &&
            same_filter(meter->filter, filter)) {
            return meter;
        }
    }
    struct ef_meter *meter = calloc(1, sizeof *meter);
    if (!meter || ef_tally_join(t, meter, column, width_ns)) {
        free(meter);
        return NULL;
    }
    *link = meter;
    ef_installed_filter_retain(filter);
    meter->filter = filter;
    meter->n_read = t->backlog.end; /* What came earlier is none of its business. */
    for (unsigned i = 0; i < EF_TALLY_CELLS; i++) {
        meter->cells[i].bucket = EF_NO_BUCKET;
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
    ef_tally_leave(t, meter);
    ef_installed_filter_release(meter->filter);
    free(meter->triggers);
    free(meter);
}

/* Of a tally's reading that is of the greatest and least value of a row. */
static uint64_t
of_extreme(enum ef_trigger_group group, uint64_t threshold)
{
    return group == EF_TRIGGER_MIN_LE ? UINT64_MAX - threshold : threshold;
}

static void
set_first_due(struct ef_meter *meter)
{
    for (unsigned group = 0; group < EF_TRIGGER_AT_END; group++) {
        unsigned first = meter->group_start[group];
        meter->first_due[group] = NEVER;
        if (first < meter->group_start[group + 1]) {
            meter->first_due[group] = of_extreme(group, meter->triggers[first]->condition.threshold);
        }
    }
    ef_u128 count = meter->first_due[EF_TRIGGER_COUNT_GE], sum = meter->first_due[EF_TRIGGER_SUM_GE];
    meter->is_close = (count == NEVER || count <= CLOSE) && (sum == NEVER || sum <= CLOSE);
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
    set_first_due(meter);
    meter->only_counts = true;
    for (i = 0; i < meter->n_triggers; i++) {
        meter->only_counts &= meter->triggers[i]->condition.function == EF_AGGREGATE_COUNT;
    }
    for (unsigned cell = 0; cell < EF_TALLY_CELLS; cell++) {
        memset(meter->cells[cell].n_alerted, 0, sizeof meter->cells[cell].n_alerted);
    }
    meter->tally->has_changed = true; /* A new trigger looks at all cells, too. */
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

/* The tally's bucket of that position, begun if the meter's is an older one. */
static struct ef_meter_cell *
cell_at(struct ef_meter *meter, unsigned i)
{
    struct ef_meter_cell *cell = &meter->cells[i];
    int64_t bucket = meter->tally->cells[i].bucket;
    if (cell->bucket != bucket) {
        *cell = (struct ef_meter_cell){.bucket = bucket, .value = EF_AGGREGATE_VALUE_INIT};
    }
    meter->begun |= UINT32_C(1) << i;
    return cell;
}

/* The run's part of the chunk's bits, from the word on where it begins. */
static uint32_t
cut_out(const struct ef_run *run, const uint64_t *bits, uint64_t *cut)
{
    uint32_t first = run->first / 64, last = (run->end - 1U) / 64;
    memcpy(cut, bits + first, (last - first + 1) * sizeof *cut);
    cut[0] &= ~UINT64_C(0) << run->first % 64;
    cut[last - first] &= ~UINT64_C(0) >> (63 - (run->end - 1U) % 64);
    return last - first + 1;
}

void
ef_meter_add(struct ef_meter *meter, const struct ef_schema *schema, const uint8_t *const *columns, uint32_t first_row,
             const struct ef_run *runs, unsigned n_runs, const uint64_t *bits)
{
    uint64_t any = 0;
    for (uint32_t word = 0; n_runs && word <= (runs[n_runs - 1].end - 1U) / 64; word++) {
        any |= bits[word];
    }
    for (const struct ef_run *run = runs; any && run < runs + n_runs; run++) {
        uint64_t cut[EF_PREDICATE_CHUNK_WORDS], n_matches = 0;
        uint32_t n_words = cut_out(run, bits, cut), row = first_row + run->first / 64 * 64U;
        for (uint32_t word = 0; word < n_words; word++) {
            n_matches += (uint64_t) __builtin_popcountll(cut[word]);
        }
        if (!n_matches) {
            continue;
        }
        struct ef_aggregate_value *value = &cell_at(meter, run->cell)->value;
        if (meter->only_counts) {
            value->count += n_matches;
        } else {
            ef_aggregate_add_rows(value, schema, meter->tally->column, columns, row, n_words * 64, cut,
                                  (struct ef_time){INT64_MIN}, (struct ef_time){INT64_MAX});
        }
    }
}

/* --- Raising ------------------------------------------------------------------------ */

/* What of `threshold` the meter does not have, behind what it has seen. */
static ef_u128
left_at(ef_u128 threshold, ef_u128 value, ef_u128 seen)
{
    return threshold > value ? threshold - value + seen : 0;
}

ef_u128
ef_meter_due_at(const struct ef_meter *meter, unsigned i, enum ef_trigger_group group)
{
    const struct ef_meter_cell *cell = &meter->cells[i];
    if (!(meter->begun >> i & 1) || cell->bucket != meter->tally->cells[i].bucket) {
        return meter->first_due[group];
    }
    unsigned next = meter->group_start[group] + cell->n_alerted[group];
    if (next == meter->group_start[group + 1]) {
        return NEVER;
    }
    uint64_t threshold = meter->triggers[next]->condition.threshold;
    switch (group) {
    case EF_TRIGGER_COUNT_GE:
        return left_at(threshold, cell->value.count, cell->seen_count);
    case EF_TRIGGER_SUM_GE:
        return left_at(threshold, cell->value.sum, cell->seen_sum);
    default:
        return of_extreme(group, threshold);
    }
}

static void
raise_if_first(struct ef_triggers *t, struct ef_trigger *trigger, unsigned i, const struct ef_meter_cell *cell)
{
    if (trigger->alerted[i] != cell->bucket) {
        trigger->alerted[i] = cell->bucket;
        ef_triggers_raise(t, trigger, cell->bucket, &cell->value);
    }
}

/* In each group, those that fire on less do so before the others: the first that
 * does not ends it. */
static void
look_at_once(struct ef_triggers *t, struct ef_meter *meter, unsigned i, struct ef_meter_cell *cell)
{
    for (unsigned group = 0; group < EF_TRIGGER_AT_END; group++) {
        unsigned next = meter->group_start[group] + cell->n_alerted[group];
        for (; next < meter->group_start[group + 1] &&
               ef_condition_holds(&meter->triggers[next]->condition, &cell->value);
             next++) {
            raise_if_first(t, meter->triggers[next], i, cell);
            cell->n_alerted[group]++;
        }
    }
}

void
ef_meter_look(struct ef_triggers *t, struct ef_meter *meter, unsigned i)
{
    const struct ef_tally_cell *tally = &meter->tally->cells[i];
    if (meter->is_close && meter->cells[i].bucket != tally->bucket) {
        meter->begun &= ~(UINT32_C(1) << i); /* Nothing of this bucket matched. */
        return;
    }
    struct ef_meter_cell *cell = cell_at(meter, i);
    cell->seen_count = tally->total.count;
    cell->seen_sum = tally->total.sum;
    look_at_once(t, meter, i, cell);
    for (unsigned n = meter->group_start[EF_TRIGGER_AT_END]; tally->completes && n < meter->n_triggers; n++) {
        if (ef_condition_holds(&meter->triggers[n]->condition, &cell->value)) {
            raise_if_first(t, meter->triggers[n], i, cell);
        }
    }
}
