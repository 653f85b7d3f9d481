/* SPDX-License-Identifier: Apache-2.0 */
/* From memory to disk; see archiver.h. */
#include <config.h>

#include "analyzer/archiver.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/trace_row.h"
#include "base/counter.h"

enum { TURN_MS = 100, FLUSH_EVERY = 256 };

struct ef_archiver {
    struct ef_trace_follower *follower;
    struct ef_archive *archive;
    pthread_t thread;
    bool is_running;
    pthread_mutex_t mutex;
    pthread_cond_t changed, granted;
    bool stop;                   /* Guarded by the mutex, */
    uint64_t n_asked, n_granted; /* as are the turns asked for, those of them that were taken, */
    unsigned n_questions;        /* and the questions under way. */

    /* The thread's own. */
    struct ef_trace trace;
    struct ef_trace_row row;
    ef_counter n_taken, n_missed;
};

/* Takes what was appended since the last time, and flushes also when nothing
 * was: a spool file may have its age. */
static void
take_all(struct ef_archiver *a)
{
    while (ef_trace_follower_next(a->follower, &a->trace) > 0) {
        ef_trace_to_row(&a->trace, &a->row);
        ef_archive_append(a->archive, &a->row);
        ef_counter_add(&a->n_taken, 1);
        if (ef_counter_get(&a->n_taken) % FLUSH_EVERY == 0) {
            ef_archive_flush(a->archive);
        }
    }
    ef_counter_set(&a->n_missed, ef_trace_follower_n_missed(a->follower));
    ef_archive_flush(a->archive);
}

static struct timespec
timespec_in_ms(int64_t ms)
{
    struct ef_time then = ef_time_add_ms(ef_time_mono(), ms);
    return (struct timespec){then.ns / EF_NS_PER_S, then.ns % EF_NS_PER_S};
}

static void *
run(void *arg)
{
    struct ef_archiver *a = arg;
    pthread_mutex_lock(&a->mutex);
    while (!a->stop) {
        uint64_t n_asked = a->n_asked;
        pthread_mutex_unlock(&a->mutex);
        take_all(a);
        pthread_mutex_lock(&a->mutex);
        a->n_granted = n_asked;
        pthread_cond_broadcast(&a->granted);
        struct timespec until = timespec_in_ms(TURN_MS);
        if (!a->stop && a->n_asked == n_asked) {
            pthread_cond_timedwait(&a->changed, &a->mutex, &until);
        }
    }
    pthread_mutex_unlock(&a->mutex);
    return NULL;
}

int
ef_archiver_create(const struct ef_archiver_config *config, struct ef_trace_store *store, struct ef_archiver **out,
                   struct ef_error *err)
{
    struct ef_archive_config archive = {
        .dir = config->dir,
        .schema = &ef_trace_schema,
        .max_age_ns = config->max_age_ns,
        .max_bytes = config->max_bytes,
        .alarm_ns = 10 * EF_NS_PER_S,
    };
    struct ef_archiver *a = calloc(1, sizeof *a);
    if (!a) {
        return ef_error_set(err, -ENOMEM, "out of memory");
    }
    int rc = ef_trace_follower_open(store, &a->follower, err);
    rc = rc ? rc : ef_archive_open(&archive, &a->archive, err);
    if (rc) {
        ef_trace_follower_close(a->follower);
        free(a);
        return rc;
    }
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&a->changed, &attr);
    pthread_cond_init(&a->granted, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&a->mutex, NULL);
    *out = a;
    return 0;
}

int
ef_archiver_start(struct ef_archiver *a, struct ef_error *err)
{
    int rc = pthread_create(&a->thread, NULL, run, a);
    if (rc) {
        return ef_error_set(err, -rc, "cannot start a thread: %s", strerror(rc));
    }
    a->is_running = true;
    return 0;
}

void
ef_archiver_destroy(struct ef_archiver *a)
{
    if (!a) {
        return;
    }
    if (a->is_running) {
        pthread_mutex_lock(&a->mutex);
        a->stop = true;
        pthread_cond_broadcast(&a->changed);
        pthread_mutex_unlock(&a->mutex);
        pthread_join(a->thread, NULL);
    }
    take_all(a);
    ef_archive_close(a->archive);
    pthread_cond_destroy(&a->changed);
    pthread_cond_destroy(&a->granted);
    pthread_mutex_destroy(&a->mutex);
    ef_trace_follower_close(a->follower);
    free(a);
}

struct ef_archive *
ef_archiver_archive(struct ef_archiver *a)
{
    return a->archive;
}

uint64_t
ef_archiver_hurry(struct ef_archiver *a)
{
    pthread_mutex_lock(&a->mutex);
    uint64_t ticket = ++a->n_asked;
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->mutex);
    return ticket;
}

bool
ef_archiver_enter(struct ef_archiver *a, uint64_t ticket)
{
    struct timespec until = timespec_in_ms(1);
    bool may = false;
    int rc = 0;
    pthread_mutex_lock(&a->mutex);
    while (!(may = a->n_granted >= ticket && a->n_questions < EF_ARCHIVER_MAX_QUESTIONS) && !rc) {
        rc = pthread_cond_timedwait(&a->granted, &a->mutex, &until);
    }
    a->n_questions += may;
    pthread_mutex_unlock(&a->mutex);
    return may;
}

void
ef_archiver_leave(struct ef_archiver *a)
{
    pthread_mutex_lock(&a->mutex);
    a->n_questions--;
    pthread_cond_broadcast(&a->granted);
    pthread_mutex_unlock(&a->mutex);
}

void
ef_archiver_stats(struct ef_archiver *a, struct ef_archiver_stats *stats)
{
    stats->n_taken = ef_counter_get(&a->n_taken);
    stats->n_missed = ef_counter_get(&a->n_missed);
    ef_archive_stats(a->archive, &stats->archive);
}
