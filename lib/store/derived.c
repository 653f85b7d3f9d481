/* SPDX-License-Identifier: Apache-2.0 */
/* The background thread of a multilog; see derived.h.
 *
 * Only this thread frees anything. A bucket points to its struct ef_derived;
 * whoever takes a free bucket for new rows moves that to the graveyard. To take
 * one slot away from a bucket that stays, the struct is replaced by a copy
 * without it, and the old one waits until no reader can have it: until the
 * bucket has been seen with no reference but its lane's. A reader takes its
 * reference before it loads the pointer, and the thread looks at the references
 * after it has replaced the pointer, all sequentially consistent: a reader that
 * got the old one is seen. */
#include <config.h>

#include "store/derived.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "store/multilog_private.h"

/* How often what readers still hold is looked at again. */
enum { RETRY_MS = 10 };

enum slot_state { SLOT_FREE, SLOT_ACTIVE, SLOT_CLOSING };

/* One slot's value, taken off a bucket, that a reader may still use. */
struct retired {
    struct retired *next;
    struct ef_bucket *bucket;
    uint64_t bucket_id;
    struct ef_derived *derived;
    unsigned slot;
};

static struct ef_sealed
describe(struct ef_multilog *log, struct ef_multilog_writer *lane, uint64_t sequence, struct ef_bucket *bucket)
{
    struct ef_sealed sealed = {
        .id = {.lane = lane->number,
               .sequence = sequence,
               .first_record = bucket->first_record,
               .n_rows = atomic_load_explicit(&bucket->n_rows, memory_order_acquire),
               .min = {atomic_load_explicit(&bucket->min_ns, memory_order_relaxed)},
               .max = {atomic_load_explicit(&bucket->max_ns, memory_order_relaxed)}},
        .schema = &log->schema,
        .variable = (const uint8_t *) bucket + log->variable_at,
        .bucket = bucket,
    };
    ef_bucket_columns(log, bucket, sealed.columns);
    return sealed;
}

/* --- Sealed ------------------------------------------------------------------------- */

static struct ef_derived *
derived_of(const struct ef_sealed *sealed)
{
    struct ef_derived *derived = atomic_load(&sealed->bucket->derived);
    if (!derived && (derived = calloc(1, sizeof *derived))) {
        derived->id = sealed->id;
        atomic_store(&sealed->bucket->derived, derived);
    }
    return derived;
}

static void
derive(struct ef_derivers *d, unsigned slot, const struct ef_sealed *sealed)
{
    const struct ef_deriver *deriver = &d->slots[slot].deriver;
    struct ef_derived *derived = derived_of(sealed);
    void *value = derived ? deriver->seal(deriver->aux, sealed) : NULL;
    if (value) {
        atomic_store_explicit(&derived->slots[slot], value, memory_order_release);
    }
    atomic_fetch_or_explicit(&sealed->bucket->done, UINT32_C(1) << slot, memory_order_release);
}

static void
derive_lane(struct ef_multilog *log, unsigned slot, struct ef_multilog_writer *lane)
{
    struct ef_derivers *d = &log->derivers;
    uint64_t *next = &d->slots[slot].next[lane->number];
    uint64_t end = atomic_load_explicit(&lane->n_sealed, memory_order_acquire);
    *next = EF_MAX(*next, atomic_load_explicit(&lane->first, memory_order_acquire));
    for (; *next < end && atomic_load(&d->slots[slot].state) == SLOT_ACTIVE; ++*next) {
        struct ef_bucket *bucket = ef_lane_bucket(lane, *next);
        if (ef_bucket_pin(&log->pool, bucket, ef_bucket_id(lane, *next))) {
            struct ef_sealed sealed = describe(log, lane, *next, bucket);
            derive(d, slot, &sealed);
            ef_bucket_drop(&log->pool, bucket);
        }
    }
}

/* --- Left and detached --------------------------------------------------------------- */

static void
leave(struct ef_derivers *d, unsigned slot, struct ef_derived *derived)
{
    void *value = atomic_exchange(&derived->slots[slot], NULL);
    const struct ef_deriver *deriver = &d->slots[slot].deriver;
    if (value && deriver->leave) {
        deriver->leave(deriver->aux, &derived->id, value);
    }
}

static void
leave_all(struct ef_derivers *d, struct ef_derived *derived)
{
    for (unsigned slot = 0; slot < EF_MAX_DERIVERS; slot++) {
        leave(d, slot, derived);
    }
    free(derived);
}

void
ef_derived_bury(struct ef_multilog *log, struct ef_bucket *bucket)
{
    struct ef_derived *derived = atomic_exchange(&bucket->derived, NULL);
    if (derived) {
        struct ef_derived *head = atomic_load(&log->derivers.graveyard);
        do {
            derived->next = head;
        } while (!atomic_compare_exchange_weak(&log->derivers.graveyard, &head, derived));
    }
}

static void
empty_graveyard(struct ef_derivers *d)
{
    struct ef_derived *derived = atomic_exchange(&d->graveyard, NULL), *next;
    for (; derived; derived = next) {
        next = derived->next;
        leave_all(d, derived);
    }
}

/* Replaces the bucket's struct by one without the slot. Without memory it is
 * tried again at the next round; false then. */
static bool
take_slot_off(struct ef_multilog *log, struct ef_bucket *bucket, unsigned slot)
{
    struct ef_derivers *d = &log->derivers;
    struct ef_derived *old = atomic_load(&bucket->derived);
    if (!old || !atomic_load(&old->slots[slot])) {
        return true;
    }
    struct ef_derived *copy = calloc(1, sizeof *copy);
    struct retired *retired = calloc(1, sizeof *retired);
    if (!copy || !retired) {
        free(copy);
        free(retired);
        return false;
    }
    copy->id = old->id;
    for (unsigned i = 0; i < EF_MAX_DERIVERS; i++) {
        atomic_init(&copy->slots[i], i == slot ? NULL : atomic_load(&old->slots[i]));
    }
    uint64_t id = ef_bucket_id(&log->lanes[old->id.lane], old->id.sequence);
    *retired = (struct retired){d->retired, bucket, id, old, slot};
    if (!atomic_compare_exchange_strong(&bucket->derived, &old, copy)) { /* It left just now. */
        free(copy);
        free(retired);
        return false;
    }
    d->retired = retired;
    return true;
}

/* True if no reader can have what was taken off the bucket. The lane's hold on
 * it is looked at last: if it has the bucket even then, the one reference seen
 * before was the lane's. */
static bool
is_unused(struct ef_multilog *log, const struct retired *retired)
{
    struct ef_bucket *bucket = retired->bucket;
    if (atomic_load(&bucket->id) != retired->bucket_id) {
        return true;
    }
    uint32_t refs = atomic_load(&bucket->refs);
    const struct ef_sealed_id *id = &retired->derived->id;
    return refs == 0 || (refs == 1 && atomic_load(&log->lanes[id->lane].first) <= id->sequence);
}

static void
free_retired(struct ef_multilog *log, bool all)
{
    struct ef_derivers *d = &log->derivers;
    struct retired **link = &d->retired;
    while (*link) {
        struct retired *retired = *link;
        if (!all && !is_unused(log, retired)) {
            link = &retired->next;
            continue;
        }
        leave(d, retired->slot, retired->derived);
        *link = retired->next;
        free(retired->derived);
        free(retired);
    }
}

static bool
is_retired(const struct ef_derivers *d, unsigned slot)
{
    for (const struct retired *retired = d->retired; retired; retired = retired->next) {
        if (retired->slot == slot) {
            return true;
        }
    }
    return false;
}

static void
end_slot(struct ef_derivers *d, unsigned slot)
{
    const struct ef_deriver deriver = d->slots[slot].deriver;
    atomic_store(&d->slots[slot].state, SLOT_FREE);
    if (deriver.gone) {
        deriver.gone(deriver.aux);
    }
}

static void
close_slot(struct ef_multilog *log, unsigned slot)
{
    bool is_off = true;
    for (uint32_t i = 0; i < log->pool.n_buckets; i++) {
        struct ef_bucket *bucket = ef_bucket_at(&log->pool, i);
        is_off &= take_slot_off(log, bucket, slot);
        atomic_fetch_and(&bucket->done, ~(UINT32_C(1) << slot));
    }
    empty_graveyard(&log->derivers);
    free_retired(log, false);
    if (is_off && !is_retired(&log->derivers, slot)) {
        end_slot(&log->derivers, slot);
    }
}

/* --- The thread --------------------------------------------------------------------- */

/* One round; true if something waits for readers. */
static bool
work(struct ef_multilog *log)
{
    struct ef_derivers *d = &log->derivers;
    bool waits = false;
    for (unsigned slot = 0; slot < EF_MAX_DERIVERS; slot++) {
        int state = atomic_load(&d->slots[slot].state);
        for (unsigned lane = 0; state == SLOT_ACTIVE && lane < log->n_lanes; lane++) {
            derive_lane(log, slot, &log->lanes[lane]);
        }
        if (state == SLOT_CLOSING) {
            close_slot(log, slot);
            waits |= atomic_load(&d->slots[slot].state) == SLOT_CLOSING;
        }
    }
    empty_graveyard(d);
    free_retired(log, false);
    return waits || d->retired;
}

static void
wait_for_work(struct ef_derivers *d, bool retry)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += RETRY_MS * EF_NS_PER_MS;
    until.tv_sec += until.tv_nsec / EF_NS_PER_S;
    until.tv_nsec %= EF_NS_PER_S;
    while ((retry ? sem_timedwait(&d->wake, &until) : sem_wait(&d->wake)) && errno == EINTR) {
    }
    while (!sem_trywait(&d->wake)) { /* All that was asked for so far is one round's work. */
    }
}

static void *
run(void *log_)
{
    struct ef_multilog *log = log_;
    struct ef_derivers *d = &log->derivers;
    bool waits = false;
    while (!atomic_load(&d->stop)) {
        wait_for_work(d, waits);
        pthread_mutex_lock(&d->lock);
        uint64_t asked = d->n_asked;
        pthread_mutex_unlock(&d->lock);
        waits = work(log);
        pthread_mutex_lock(&d->lock);
        d->n_done = asked;
        pthread_cond_broadcast(&d->round_ended);
        pthread_mutex_unlock(&d->lock);
    }
    return NULL;
}

/* --- From outside --------------------------------------------------------------------- */

void
ef_derivers_init(struct ef_derivers *d)
{
    sem_init(&d->wake, 0, 0);
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->round_ended, NULL);
}

void
ef_derivers_stop(struct ef_multilog *log)
{
    struct ef_derivers *d = &log->derivers;
    if (d->is_running) {
        atomic_store(&d->stop, true);
        sem_post(&d->wake);
        pthread_join(d->thread, NULL);
        work(log); /* What was sealed last. */
    }
    free_retired(log, true);
    for (uint32_t i = 0; i < log->pool.n_buckets; i++) {
        ef_derived_bury(log, ef_bucket_at(&log->pool, i));
    }
    empty_graveyard(d);
    for (unsigned slot = 0; slot < EF_MAX_DERIVERS; slot++) {
        if (atomic_load(&d->slots[slot].state) != SLOT_FREE) {
            end_slot(d, slot);
        }
        free(d->slots[slot].next);
    }
    sem_destroy(&d->wake);
    pthread_mutex_destroy(&d->lock);
    pthread_cond_destroy(&d->round_ended);
}

/* With `lock` held. Signals are for the program's own threads. */
static int
start(struct ef_multilog *log)
{
    struct ef_derivers *d = &log->derivers;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = d->is_running ? 0 : -pthread_create(&d->thread, NULL, run, log);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!rc) {
        d->is_running = true;
        atomic_store(&d->is_attached, true);
    }
    return rc;
}

static int
take_slot(struct ef_multilog *log, const struct ef_deriver *deriver)
{
    struct ef_derivers *d = &log->derivers;
    for (unsigned slot = 0; slot < EF_MAX_DERIVERS; slot++) {
        if (atomic_load(&d->slots[slot].state) != SLOT_FREE) {
            continue;
        }
        uint64_t *next = calloc(log->n_lanes, sizeof *next);
        if (!next) {
            return -ENOMEM;
        }
        free(d->slots[slot].next);
        d->slots[slot].next = next;
        d->slots[slot].deriver = *deriver;
        atomic_store(&d->slots[slot].state, SLOT_ACTIVE);
        if (deriver->required) {
            atomic_fetch_or(&d->required, UINT32_C(1) << slot);
        }
        return (int) slot;
    }
    return -EBUSY;
}

int
ef_multilog_attach(struct ef_multilog *log, const struct ef_deriver *deriver)
{
    struct ef_derivers *d = &log->derivers;
    pthread_mutex_lock(&d->lock);
    int rc = start(log);
    rc = rc ? rc : take_slot(log, deriver);
    pthread_mutex_unlock(&d->lock);
    sem_post(&d->wake);
    return rc;
}

void
ef_multilog_detach(struct ef_multilog *log, unsigned slot)
{
    struct ef_derivers *d = &log->derivers;
    int active = SLOT_ACTIVE;
    atomic_fetch_and(&d->required, ~(UINT32_C(1) << slot));
    atomic_compare_exchange_strong(&d->slots[slot].state, &active, SLOT_CLOSING);
    sem_post(&d->wake);
}

void
ef_multilog_flush_derived(struct ef_multilog *log)
{
    struct ef_derivers *d = &log->derivers;
    pthread_mutex_lock(&d->lock);
    uint64_t mine = ++d->n_asked;
    sem_post(&d->wake);
    while (d->is_running && d->n_done < mine) {
        pthread_cond_wait(&d->round_ended, &d->lock);
    }
    pthread_mutex_unlock(&d->lock);
}
