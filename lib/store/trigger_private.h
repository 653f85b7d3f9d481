/* SPDX-License-Identifier: Apache-2.0 */
/* What trigger.c (names, conditions, alerts), meter.c (what is counted) and
 * monitor.c (the thread) share. All of it is guarded by the one lock. */
#ifndef EF_STORE_TRIGGER_PRIVATE_H
#define EF_STORE_TRIGGER_PRIVATE_H

#include <pthread.h>

#include "store/aggregate.h"
#include "store/trigger.h"

/* Buckets of time that a meter keeps: late records find theirs in the last so
 * many periods. */
enum { EF_METER_CELLS = 32 };

/* Conditions that more records cannot undo, and the rest. */
enum ef_trigger_group {
    EF_TRIGGER_COUNT_GE,
    EF_TRIGGER_SUM_GE,
    EF_TRIGGER_MAX_GE,
    EF_TRIGGER_MIN_LE,
    EF_TRIGGER_AT_END,
    EF_TRIGGER_N_GROUPS,
};

struct ef_condition {
    enum ef_aggregate_function function;
    enum ef_relation relation;
    uint64_t threshold; /* Of AVG: `mean`. */
    double mean;
    enum ef_trigger_group group; /* There > and < have become >= and <=. */
};

struct ef_meter;

struct ef_trigger {
    char name[EF_FILTER_NAME_SIZE];
    uint64_t aggregate_id;
    unsigned period_ms;
    struct ef_condition condition;
    struct ef_meter *meter;
    int64_t alerted[EF_METER_CELLS]; /* The bucket of each cell for which it has raised its alert. */
    struct ef_trigger *next;
};

struct ef_cell {
    int64_t bucket; /* Number: time / period; INT64_MIN: unused. */
    bool has_changed, is_complete;
    int64_t changed_ns; /* Monotonic. */
    struct ef_aggregate_value value;
    uint32_t n_alerted[EF_TRIGGER_N_GROUPS]; /* So many at the group's beginning have. */
};

struct ef_meter {
    struct ef_installed_filter *filter; /* With a reference. */
    unsigned column;
    int64_t width_ns;
    int64_t newest; /* Greatest bucket that had a match. */
    unsigned n_triggers;
    struct ef_trigger **triggers; /* By group, and in a group the first to fire first. */
    unsigned group_start[EF_TRIGGER_N_GROUPS + 1];
    struct ef_cell cells[EF_METER_CELLS];
    struct ef_meter *next;
};

struct ef_monitor_position {
    uint64_t sequence, record; /* The next bucket and record of the lane to look at. */
};

struct ef_triggers {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* Triggers, or the end. */
    pthread_cond_t raised;  /* Both use the monotonic clock. */
    struct ef_trigger *triggers;
    struct ef_meter *meters;
    unsigned n_meters;
    bool is_running, stop, is_stale; /* `is_stale`: the set below is not that of the meters. */
    pthread_t thread;
    struct ef_predicate_set *set; /* Of the meters' filters, in their order. */
    struct ef_predicate_scratch *scratch;
    uint64_t *bits;
    struct ef_monitor_position *positions;
    struct ef_trigger_stats stats;
    struct ef_alert *alerts; /* Number n is at n % EF_MAX_ALERTS. */
};

int ef_triggers_init(struct ef_triggers *triggers);
void ef_triggers_deinit(struct ef_triggers *triggers); /* Ends the thread, too. */

/* Uninstalls the triggers of an aggregate that is being removed. */
void ef_triggers_forget(struct ef_triggers *triggers, uint64_t aggregate_id);

/* With the lock held: */
void ef_triggers_raise(struct ef_triggers *triggers, struct ef_trigger *trigger, const struct ef_cell *cell);
int ef_monitor_start(struct ef_multilog *log);
bool ef_condition_holds(const struct ef_condition *condition, const struct ef_aggregate_value *value);

/* --- meter.c ------------------------------------------------------------------------ */

/* The meter for that, found or made; NULL for lack of memory. */
struct ef_meter *ef_meter_get(struct ef_triggers *triggers, struct ef_installed_filter *filter, unsigned column,
                              int64_t width_ns);

/* Finds the meter's triggers anew; frees it if there are none. Returns 0 or
 * -ENOMEM, with the meter as before. */
int ef_meter_update(struct ef_triggers *triggers, struct ef_meter *meter);

/* After triggers[] was made shorter. */
void ef_meter_regroup(struct ef_meter *meter);

/* Counts rows. */
void ef_meter_add(struct ef_triggers *triggers, struct ef_meter *meter, const struct ef_schema *schema,
                  const uint8_t *const *columns, uint32_t first_row, uint32_t n_rows, const uint64_t *bits,
                  int64_t now_ns);

/* Raises what the counts ask for. */
void ef_meter_look(struct ef_triggers *triggers, struct ef_meter *meter, int64_t now_ns);

#endif
