/* SPDX-License-Identifier: Apache-2.0 */
/* The monitor thread: takes what was published since it looked last into the
 * tallies, finds out whose triggers could fire, and has those meters read. It
 * reads rows as a query does, of a snapshot, so that it sees a batch wholly or
 * not at all. A writer wakes it; see trigger.h.
 *
 * How it sleeps: it says that it is waiting, then looks once more whether a tail
 * has moved, then waits for the semaphore. A writer stores its tail, and then
 * asks whether the monitor is waiting; all four are sequentially consistent, so
 * one of the two sees the other. test/unit/store/wake.pml is this for spin. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "store/multilog_private.h"

/* What it may take of a core for looking as soon as there is something: so many
 * ns per ms, saved up to so many. When all of that is spent, it is sparing: it
 * looks once per ms, until it has saved enough at a lower rate, since that costs
 * something, too. */
enum {
    CREDIT_PER_MS = 18000,
    CREDIT_PER_MS_SPARING = 2000,
    ENOUGH_CREDIT = 10 * CREDIT_PER_MS,
    MOST_CREDIT = 50 * CREDIT_PER_MS,
};

/* --- What the meters need ------------------------------------------------------------ */

static int
make_set(struct ef_triggers *t)
{
    const struct ef_predicate **predicates = calloc(t->n_meters + 1, sizeof(struct ef_predicate *));
    unsigned n = 0;
    for (struct ef_meter *meter = t->meters; predicates && meter; meter = meter->next) {
        meter->number = n;
        predicates[n++] = ef_installed_filter_predicate(meter->filter);
    }
    int rc = predicates ? ef_predicate_set_create(predicates, n, &t->set) : -ENOMEM;
    if (!rc) {
        t->scratch = ef_predicate_scratch_create(t->set);
        rc = t->scratch ? 0 : -ENOMEM;
    }
    free(predicates);
    return rc;
}

static int
prepare(struct ef_triggers *t)
{
    ef_predicate_set_destroy(t->set);
    ef_predicate_scratch_destroy(t->scratch);
    free(t->bits);
    free(t->wanted);
    free(t->due);
    t->set = NULL;
    t->scratch = NULL;
    t->bits = calloc((size_t) (t->n_meters + 1) * EF_PREDICATE_CHUNK_WORDS, sizeof *t->bits);
    t->wanted = calloc(t->n_meters / 64 + 1, sizeof *t->wanted);
    t->due = calloc(t->n_meters + 1, sizeof(struct ef_meter *));
    int rc = make_set(t);
    rc = t->bits && t->wanted && t->due ? rc : -ENOMEM;
    t->is_stale = rc;
    return rc;
}

/* --- Records ------------------------------------------------------------------------ */

/* How many of the rows all tallies can take. */
static uint32_t
room_for(struct ef_triggers *t, const uint8_t *times, uint32_t n_rows, int64_t now_ns)
{
    for (struct ef_tally *tally = t->tallies; n_rows && tally; tally = tally->next) {
        n_rows = ef_tally_room(tally, times, n_rows, now_ns);
    }
    return n_rows;
}

static int64_t
latest(const uint8_t *times, uint32_t n_rows, int64_t max_ns)
{
    for (uint32_t i = 0; i < n_rows; i++) {
        int64_t ns;
        memcpy(&ns, times + (size_t) i * sizeof ns, sizeof ns);
        max_ns = EF_MAX(max_ns, ns);
    }
    return max_ns;
}

static void
end_segment(struct ef_backlog *backlog, struct ef_segment *segment)
{
    if (segment->n_rows) {
        ef_backlog_push(backlog, segment);
        segment->first_row += segment->n_rows;
        segment->n_rows = 0;
        segment->max_ns = INT64_MIN;
    }
}

/* Rows from `segment->first_row` to `end` of a bucket that is held. */
static void
take_rows(struct ef_multilog *log, struct ef_bucket *bucket, struct ef_segment *segment, uint32_t end, int64_t now_ns)
{
    struct ef_triggers *t = &log->triggers;
    const uint8_t *columns[EF_SCHEMA_MAX_COLUMNS];
    ef_bucket_columns(log, bucket, columns);
    for (uint32_t row = segment->first_row; row < end;) {
        const uint8_t *times = columns[0] + (size_t) row * sizeof(int64_t);
        uint32_t n = room_for(t, times, EF_MIN(end - row, (uint32_t) EF_PREDICATE_CHUNK_ROWS), now_ns);
        if (!n || ef_backlog_is_full(&t->backlog)) {
            end_segment(&t->backlog, segment);
            ef_monitor_settle(log, now_ns, ef_backlog_is_full(&t->backlog));
            continue;
        }
        for (struct ef_tally *tally = t->tallies; tally; tally = tally->next) {
            ef_tally_add(t, tally, &log->schema, columns, row, n, now_ns);
        }
        segment->max_ns = latest(times, n, segment->max_ns);
        segment->n_rows += n;
        t->stats.n_records += n;
        row += n;
    }
    end_segment(&t->backlog, segment);
}

/* Of one lane, the records up to `tail`. */
static void
take_lane(struct ef_multilog *log, unsigned number, uint64_t tail, int64_t now_ns)
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
            struct ef_segment segment = {.lane = number,
                                         .sequence = at->sequence,
                                         .first_row = (uint32_t) (at->record - bucket->first_record),
                                         .max_ns = INT64_MIN};
            take_rows(log, bucket, &segment, (uint32_t) (end - bucket->first_record), now_ns);
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
    struct ef_multilog_snapshot snapshot;
    int64_t now_ns = ef_time_mono().ns;
    if (t->is_stale && prepare(t)) {
        return; /* Memory may be there at the next time. */
    }
    for (unsigned i = 0; i < log->n_lanes; i++) {
        t->positions[i].tail = atomic_load(&log->lanes[i].tail);
    }
    ef_multilog_snapshot(log, &snapshot);
    for (unsigned i = 0; i < log->n_lanes; i++) {
        take_lane(log, i, snapshot.tails[i], now_ns);
    }
    ef_monitor_settle(log, now_ns, false);
    t->stats.n_looks++;
}

/* --- The thread --------------------------------------------------------------------- */

void
ef_monitor_wake(struct ef_multilog *log)
{
    sem_post(&log->triggers.wake);
}

/* With the lock, which is not held meanwhile. INT64_MAX: for ever. */
static void
sleep_until(struct ef_triggers *t, int64_t until_ns)
{
    struct timespec until = {.tv_sec = until_ns / EF_NS_PER_S, .tv_nsec = until_ns % EF_NS_PER_S};
    pthread_mutex_unlock(&t->lock);
    if (until_ns == INT64_MAX) {
        sem_wait(&t->wake);
    } else {
        sem_clockwait(&t->wake, CLOCK_MONOTONIC, &until);
    }
    while (!sem_trywait(&t->wake)) { /* Whatever we were woken for, we look at all of it. */
    }
    pthread_mutex_lock(&t->lock);
}

static bool
has_news(const struct ef_multilog *log)
{
    for (unsigned i = 0; i < log->n_lanes; i++) {
        if (atomic_load(&log->lanes[i].tail) != log->triggers.positions[i].tail) {
            return true;
        }
    }
    return false;
}

/* Looking takes time of the processor, however little there is to look at, most
 * of it in the kernel for going to sleep and waking up. */
static void
account(struct ef_triggers *t)
{
    int64_t now_ns = ef_time_mono().ns, busy_ns = ef_time_of_clock(CLOCK_THREAD_CPUTIME_ID).ns;
    int64_t past_us = EF_MIN((now_ns - t->credited_ns) / EF_NS_PER_US, EF_NS_PER_S / EF_NS_PER_US);
    if (t->is_sparing) {
        t->credit_ns += past_us * CREDIT_PER_MS_SPARING / 1000;
        t->is_sparing = t->credit_ns < ENOUGH_CREDIT;
    } else {
        t->credit_ns += past_us * CREDIT_PER_MS / 1000 - (busy_ns - (int64_t) t->stats.busy_ns);
        t->credit_ns = EF_MAX(EF_MIN(t->credit_ns, MOST_CREDIT), 0);
        t->is_sparing = !t->credit_ns;
    }
    t->credited_ns = now_ns;
    t->stats.busy_ns = (uint64_t) busy_ns;
}

static void
wait_for_news(struct ef_multilog *log)
{
    struct ef_triggers *t = &log->triggers;
    int64_t until_ns = INT64_MAX;
    account(t);
    if (t->is_sparing || t->is_stale) {
        sleep_until(t, t->credited_ns + EF_NS_PER_MS);
    }
    for (const struct ef_tally *tally = t->tallies; tally; tally = tally->next) {
        until_ns = EF_MIN(until_ns, ef_tally_next_end(tally));
    }
    atomic_store(&log->is_monitor_waiting, true);
    if (!has_news(log) && !t->is_stale && !t->stop) {
        sleep_until(t, until_ns);
    }
    atomic_store(&log->is_monitor_waiting, false);
}

static void *
run(void *log_)
{
    struct ef_multilog *log = log_;
    struct ef_triggers *t = &log->triggers;
    prctl(PR_SET_TIMERSLACK, 1000UL);
    pthread_mutex_lock(&t->lock);
    while (!t->stop) {
        if (!t->triggers) {
            sleep_until(t, INT64_MAX);
            continue;
        }
        look(log);
        wait_for_news(log);
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
    if (!t->positions || !t->alerts || ef_backlog_init(&t->backlog)) {
        return -ENOMEM;
    }
    t->backlog.max_rows = (uint64_t) log->pool.n_buckets * log->bucket_rows / 8;
    if (!t->triggers) {
        set_positions(log);
    }
    int rc = t->is_running ? 0 : -pthread_create(&t->thread, NULL, run, log);
    t->is_running |= !rc;
    return rc;
}
