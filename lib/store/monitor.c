/* SPDX-License-Identifier: Apache-2.0 */
/* The monitor thread: looks at what was published since it looked last, and
 * feeds the meters. It reads rows as a query does, of a snapshot, so that it
 * sees a batch wholly or not at all. See trigger.h. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>

#include "store/multilog_private.h"

/* --- Records ------------------------------------------------------------------------ */

static int
prepare(struct ef_triggers *t)
{
    const struct ef_predicate **predicates = calloc(t->n_meters + 1, sizeof(struct ef_predicate *));
    unsigned n = 0;
    ef_predicate_set_destroy(t->set);
    ef_predicate_scratch_destroy(t->scratch);
    free(t->bits);
    t->set = NULL;
    t->scratch = NULL;
    t->bits = calloc((size_t) (t->n_meters + 1) * EF_PREDICATE_CHUNK_WORDS, sizeof *t->bits);
    for (const struct ef_meter *meter = t->meters; predicates && meter; meter = meter->next) {
        predicates[n++] = ef_installed_filter_predicate(meter->filter);
    }
    int rc = predicates && t->bits ? ef_predicate_set_create(predicates, n, &t->set) : -ENOMEM;
    if (!rc) {
        t->scratch = ef_predicate_scratch_create(t->set);
        rc = t->scratch ? 0 : -ENOMEM;
    }
    free(predicates);
    t->is_stale = rc;
    return rc;
}

static void
look_at_rows(struct ef_multilog *log, struct ef_bucket *bucket, uint32_t row, uint32_t end, int64_t now_ns)
{
    struct ef_triggers *t = &log->triggers;
    const uint8_t *columns[EF_SCHEMA_MAX_COLUMNS];
    ef_bucket_columns(log, bucket, columns);
    for (; row < end; row += EF_PREDICATE_CHUNK_ROWS) {
        uint32_t n = EF_MIN(end - row, (uint32_t) EF_PREDICATE_CHUNK_ROWS);
        const uint64_t *bits = t->bits;
        ef_predicate_set_eval(t->set, t->scratch, columns, row, n, t->bits);
        for (struct ef_meter *meter = t->meters; meter; meter = meter->next, bits += EF_PREDICATE_CHUNK_WORDS) {
            ef_meter_add(t, meter, &log->schema, columns, row, n, bits, now_ns);
        }
        t->stats.n_records += n;
    }
}

/* Of one lane, the records up to `tail`. */
static void
look_at_lane(struct ef_multilog *log, unsigned number, uint64_t tail, int64_t now_ns)
{
    struct ef_multilog_writer *lane = &log->lanes[number];
    struct ef_monitor_position *at = &log->triggers.positions[number];
    while (at->record < tail) {
        uint64_t first = atomic_load_explicit(&lane->first, memory_order_acquire);
        at->sequence = EF_MAX(at->sequence, first);
        if (at->sequence >= atomic_load_explicit(&lane->n_begun, memory_order_acquire)) {
            break; /* All of it has left. */
        }
        struct ef_bucket *bucket = ef_lane_bucket(lane, at->sequence);
        if (!ef_bucket_pin(&log->pool, bucket, ef_bucket_id(lane, at->sequence))) {
            continue; /* It leaves just now. */
        }
        if (bucket->first_record > at->record) {
            uint64_t there = EF_MIN(bucket->first_record, tail);
            log->triggers.stats.n_missed += there - at->record;
            at->record = there;
        }
        uint64_t n_rows = atomic_load_explicit(&bucket->n_rows, memory_order_acquire);
        uint64_t end = EF_MIN(tail, bucket->first_record + n_rows);
        if (at->record < end) {
            look_at_rows(log, bucket, (uint32_t) (at->record - bucket->first_record),
                         (uint32_t) (end - bucket->first_record), now_ns);
            at->record = end;
        }
        at->sequence += at->record < tail; /* The rest is in the next one. */
        ef_bucket_drop(&log->pool, bucket);
    }
    if (at->record < tail) {
        log->triggers.stats.n_missed += tail - at->record;
        at->record = tail;
    }
}

static void
look(struct ef_multilog *log)
{
    struct ef_triggers *t = &log->triggers;
    struct ef_time start = ef_time_of_clock(CLOCK_THREAD_CPUTIME_ID);
    int64_t now_ns = ef_time_mono().ns;
    struct ef_multilog_snapshot snapshot;
    if (t->is_stale && prepare(t)) {
        return; /* Memory may be there at the next time. */
    }
    ef_multilog_snapshot(log, &snapshot);
    for (unsigned i = 0; i < log->n_lanes; i++) {
        look_at_lane(log, i, snapshot.tails[i], now_ns);
    }
    for (struct ef_meter *meter = t->meters; meter; meter = meter->next) {
        ef_meter_look(t, meter, now_ns);
    }
    t->stats.n_wakeups++;
    t->stats.busy_ns += (uint64_t) ef_time_diff_ns(ef_time_of_clock(CLOCK_THREAD_CPUTIME_ID), start);
}

/* --- The thread --------------------------------------------------------------------- */

static unsigned
shortest_period(const struct ef_triggers *t)
{
    unsigned shortest_ms = EF_TRIGGER_MAX_PERIOD_MS;
    for (const struct ef_trigger *trigger = t->triggers; trigger; trigger = trigger->next) {
        shortest_ms = EF_MIN(shortest_ms, trigger->period_ms);
    }
    return shortest_ms;
}

static void *
run(void *log_)
{
    struct ef_multilog *log = log_;
    struct ef_triggers *t = &log->triggers;
    pthread_mutex_lock(&t->lock);
    while (!t->stop) {
        if (!t->triggers) {
            pthread_cond_wait(&t->changed, &t->lock);
            continue;
        }
        look(log);
        struct ef_time next = ef_time_add_ms(ef_time_mono(), shortest_period(t));
        struct timespec until = {.tv_sec = next.ns / EF_NS_PER_S, .tv_nsec = next.ns % EF_NS_PER_S};
        pthread_cond_timedwait(&t->changed, &t->lock, &until); /* Looking once more than needed does no harm. */
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

/* The first trigger sees what comes from now on. */
static void
set_positions(struct ef_multilog *log)
{
    for (unsigned i = 0; i < log->n_lanes; i++) {
        struct ef_multilog_writer *lane = &log->lanes[i];
        log->triggers.positions[i].record = atomic_load(&lane->tail);
        log->triggers.positions[i].sequence = atomic_load(&lane->first);
    }
}

int
ef_monitor_start(struct ef_multilog *log)
{
    struct ef_triggers *t = &log->triggers;
    if (!t->positions) {
        t->positions = calloc(log->n_lanes, sizeof *t->positions);
    }
    if (!t->alerts) {
        t->alerts = calloc(EF_MAX_ALERTS, sizeof *t->alerts);
    }
    if (!t->positions || !t->alerts) {
        return -ENOMEM;
    }
    if (!t->triggers) {
        set_positions(log);
    }
    int rc = t->is_running ? 0 : -pthread_create(&t->thread, NULL, run, log);
    t->is_running |= !rc;
    return rc;
}
