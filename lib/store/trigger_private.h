/* SPDX-License-Identifier: Apache-2.0 */
/* What trigger.c (names, conditions, alerts), tally.c (what all records add up
 * to), meter.c (what a filter's do), backlog.c (which records a meter has still
 * to read), settle.c (which ones must, and what they raise) and monitor.c (the
 * thread) share. All of it is guarded by the one lock.
 *
 * A meter's exact value is needed only where a condition may hold, and that is
 * seldom: whatever a filter matches, it cannot be more than all records. So for
 * each column and period one tally adds up all records, without any filter. Of
 * each meter it is known how much is left until one of its triggers fires; as
 * long as the tally has grown by less since the meter was last brought up to
 * date, the meter reads nothing. The least of what is left to the meters is kept
 * with the tally, so that a thousand of them cost a comparison. */
#ifndef EF_STORE_TRIGGER_PRIVATE_H
#define EF_STORE_TRIGGER_PRIVATE_H

#include <pthread.h>
#include <semaphore.h>

#include "store/aggregate.h"
#include "store/trigger.h"

/* Buckets of time that are kept: late records find theirs in the last so many
 * periods. */
enum { EF_TALLY_CELLS = 32 };

#define EF_NO_BUCKET (INT64_MIN / 2) /* So that differences do not overflow. */

/* Pieces of the lanes that some meters have still to read. */
enum { EF_BACKLOG_SEGMENTS = 1024 };

/* Conditions that more records cannot undo, and the rest. */
enum ef_trigger_group {
    EF_TRIGGER_COUNT_GE,
    EF_TRIGGER_SUM_GE,
    EF_TRIGGER_MAX_GE,
    EF_TRIGGER_MIN_LE,
    EF_TRIGGER_AT_END,
    EF_TRIGGER_N_GROUPS = EF_TRIGGER_AT_END + 1,
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
    int64_t alerted[EF_TALLY_CELLS]; /* The bucket of each cell for which it has raised its alert. */
    struct ef_trigger *next;
};

/* A bucket of time, with all of its records. */
struct ef_tally_cell {
    int64_t bucket;     /* Number: time / period. */
    bool is_fresh;      /* Has grown since it was last looked at. */
    bool is_complete;   /* Conditions of the group AT_END have been decided. */
    bool completes;     /* They are being decided. */
    int64_t changed_ns; /* Monotonic. */
    struct ef_aggregate_value total;
    uint64_t fresh_min, fresh_max;     /* Since it was last looked at. */
    ef_u128 due_at[EF_TRIGGER_AT_END]; /* ef_tally_reading() at which the first of the far meters must be read. */
};

struct ef_meter;

/* What all records add up to, by one column and period. */
struct ef_tally {
    unsigned column;
    int64_t width_ns;
    int64_t newest, oldest;     /* Greatest bucket; and the least one that must not make room yet, INT64_MAX: none. */
    int64_t accepted_ns;        /* When a record last came that was not too late; monotonic. */
    struct ef_meter *meters;    /* By `next_of_tally`; those that are close come first. */
    struct ef_meter *first_far; /* The first one that is not. */
    unsigned n_meters;
    uint32_t to_look;                     /* A bit for each cell that due meters look at. */
    bool has_at_end;                      /* A trigger of that group. */
    bool has_changed;                     /* The triggers have: `first_due` and all cells are looked at anew. */
    ef_u128 first_due[EF_TRIGGER_AT_END]; /* `due_at` of a bucket that begins. */
    ef_u128 close_due[EF_TRIGGER_AT_END]; /* Of the meters that are close, for any bucket. */
    struct ef_tally_cell cells[EF_TALLY_CELLS];
    struct ef_tally *next;
};

/* The same bucket of time as the tally's cell of that position has, or an
 * older one and then nothing. */
struct ef_meter_cell {
    int64_t bucket;
    struct ef_aggregate_value value;
    uint64_t seen_count; /* Of the tally when the meter was last brought up to date. */
    ef_u128 seen_sum;
    uint32_t n_alerted[EF_TRIGGER_AT_END]; /* So many at the group's beginning have. */
};

struct ef_meter {
    struct ef_meter *next, *next_of_tally;
    struct ef_tally *tally;
    uint32_t begun;   /* A bit for each of `cells` that may be of the tally's bucket. */
    unsigned number;  /* Among the set's predicates. */
    uint64_t n_read;  /* Segments of the backlog before this number have been read. */
    bool is_due;      /* To be read now. */
    bool is_close;    /* A few matches of a bucket are enough: not worth knowing what it has seen. */
    bool only_counts; /* No trigger wants more. */
    ef_u128 first_due[EF_TRIGGER_AT_END]; /* ef_meter_due_at() of a bucket that begins. */
    struct ef_installed_filter *filter;   /* With a reference. */
    unsigned n_triggers;
    struct ef_trigger **triggers; /* By group, and in a group the first to fire first. */
    unsigned group_start[EF_TRIGGER_N_GROUPS + 1];
    struct ef_meter_cell cells[EF_TALLY_CELLS];
};

/* Rows that are in the tallies; not all meters have read them. */
struct ef_segment {
    unsigned lane;
    bool is_lost; /* They left memory, which was counted. */
    uint64_t sequence;
    uint32_t first_row, n_rows;
    int64_t max_ns;
};

struct ef_backlog {
    struct ef_segment *segments; /* Number n is at n % EF_BACKLOG_SEGMENTS. */
    uint64_t first, end;
    uint64_t n_rows, max_rows; /* At `max_rows` all meters read, before much of it leaves memory. */
};

/* Rows of one chunk, one after another, that lie in the same cell. */
struct ef_run {
    uint16_t first, end;
    uint16_t cell;
};

struct ef_monitor_position {
    uint64_t sequence, record; /* The next bucket and record of the lane to look at. */
    uint64_t tail;             /* The lane's before it was last looked at. */
};

struct ef_triggers {
    pthread_mutex_t lock;
    pthread_cond_t raised; /* Uses the monotonic clock. */
    sem_t wake;            /* Of the monitor: records, triggers, or the end. */
    struct ef_trigger *triggers;
    struct ef_tally *tallies;
    struct ef_meter *meters;
    unsigned n_meters;
    bool is_running, stop, is_stale; /* `is_stale`: what follows is not of the meters. */
    pthread_t thread;
    struct ef_predicate_set *set; /* Of the meters' filters, in their order. */
    struct ef_predicate_scratch *scratch;
    uint64_t *bits;
    uint64_t *wanted;      /* A bit for each of the set's predicates. */
    struct ef_meter **due; /* Room for all meters. */
    unsigned n_due;

    int64_t credit_ns, credited_ns; /* Processor time saved, and as of when. */
    bool is_sparing;                /* It is spent. */
    struct ef_backlog backlog;
    struct ef_run runs[EF_PREDICATE_CHUNK_ROWS];
    struct ef_monitor_position *positions;
    struct ef_trigger_stats stats;
    struct ef_alert *alerts; /* Number n is at n % EF_MAX_ALERTS. */
};

int ef_triggers_init(struct ef_triggers *triggers);
void ef_triggers_deinit(struct ef_triggers *triggers); /* Ends the thread, too. */

/* Uninstalls the triggers of an aggregate that is being removed. */
void ef_triggers_forget(struct ef_triggers *triggers, uint64_t aggregate_id);

/* Has the monitor look now. Any thread, with or without the lock. */
void ef_monitor_wake(struct ef_multilog *log);

/* With the lock held, as all that follows: */
void ef_triggers_raise(struct ef_triggers *triggers, struct ef_trigger *trigger, int64_t bucket,
                       const struct ef_aggregate_value *value);
int ef_monitor_start(struct ef_multilog *log);
bool ef_condition_holds(const struct ef_condition *condition, const struct ef_aggregate_value *value);

/* --- settle.c ----------------------------------------------------------------------- */

/* Looks at what the tallies have got: reads the meters that must be, raises
 * alerts. With `all`, every meter is read, and the backlog is empty. */
void ef_monitor_settle(struct ef_multilog *log, int64_t now_ns, bool all);

/* --- tally.c ------------------------------------------------------------------------ */

/* Puts the meter to the tally for that, found or made. Returns 0 or -ENOMEM. */
int ef_tally_join(struct ef_triggers *triggers, struct ef_meter *meter, unsigned column, int64_t width_ns);
void ef_tally_leave(struct ef_triggers *triggers, struct ef_meter *meter);

/* How many of the rows can be added before a bucket that has still to be looked
 * at would make room. If it is none, it can be the first after settling. */
uint32_t ef_tally_room(struct ef_tally *tally, const uint8_t *times, uint32_t n_rows, int64_t now_ns);

void ef_tally_add(struct ef_triggers *triggers, struct ef_tally *tally, const struct ef_schema *schema,
                  const uint8_t *const *columns, uint32_t first_row, uint32_t n_rows, int64_t now_ns);

/* What grows towards `due_at`. */
ef_u128 ef_tally_reading(const struct ef_tally_cell *cell, enum ef_trigger_group group);

/* Its bucket of time is over: no record has come for long enough, or one that is
 * two periods newer. */
bool ef_tally_is_over(const struct ef_tally *tally, const struct ef_tally_cell *cell, int64_t now_ns);

/* When a bucket will be over by the clock; INT64_MAX: none will. */
int64_t ef_tally_next_end(const struct ef_tally *tally);

/* After all cells were looked at. */
void ef_tally_looked(struct ef_tally *tally);

/* Which of a chunk's rows lie in which of the tally's cells; how many runs. */
unsigned ef_tally_runs(const struct ef_tally *tally, const uint8_t *times, uint32_t n_rows, struct ef_run *runs);

/* All rows up to `max_ns` lie before the tally's buckets. */
bool ef_tally_is_past(const struct ef_tally *tally, int64_t max_ns);

/* --- meter.c ------------------------------------------------------------------------ */

/* The meter for that, found or made; NULL for lack of memory. */
struct ef_meter *ef_meter_get(struct ef_triggers *triggers, struct ef_installed_filter *filter, unsigned column,
                              int64_t width_ns);

/* Finds the meter's triggers anew; frees it if there are none. Returns 0 or
 * -ENOMEM, with the meter as before. */
int ef_meter_update(struct ef_triggers *triggers, struct ef_meter *meter);

/* After triggers[] was made shorter. */
void ef_meter_regroup(struct ef_meter *meter);

/* The reading of the tally's cell from which on the meter must be read. */
ef_u128 ef_meter_due_at(const struct ef_meter *meter, unsigned cell, enum ef_trigger_group group);

/* Adds the rows of a chunk whose bits are set. */
void ef_meter_add(struct ef_meter *meter, const struct ef_schema *schema, const uint8_t *const *columns,
                  uint32_t first_row, const struct ef_run *runs, unsigned n_runs, const uint64_t *bits);

/* After all was added that the tally has: raises what the cell asks for, and
 * keeps what it has seen. */
void ef_meter_look(struct ef_triggers *triggers, struct ef_meter *meter, unsigned cell);

/* --- backlog.c ---------------------------------------------------------------------- */

int ef_backlog_init(struct ef_backlog *backlog);

/* There is no room for one more segment. */
bool ef_backlog_is_full(const struct ef_backlog *backlog);
void ef_backlog_push(struct ef_backlog *backlog, const struct ef_segment *segment);

/* Has the due meters read what they have not. */
void ef_backlog_read(struct ef_multilog *log);

/* Drops what no meter can want any more: what is before all tallies' buckets;
 * or all of it. */
void ef_backlog_trim(struct ef_triggers *triggers, bool all);

#endif
