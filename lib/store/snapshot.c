/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots of a multilog: the tails of all lanes as of one instant, which is
 * when the epoch advances. */
#include <config.h>

#include "store/multilog_private.h"

#include <errno.h>

/* The lane's tail before its first publication in `epoch`. The tail is read
 * first: whoever has published in this epoch marked before, so that we see it. */
static uint64_t
tail_before(struct ef_multilog_writer *lane, uint64_t epoch)
{
    uint64_t tail = atomic_load(&lane->tail);
    if (atomic_load_explicit(&lane->mark_epoch, memory_order_acquire) == epoch) {
        tail = atomic_load_explicit(&lane->mark_tail, memory_order_relaxed);
    }
    return tail;
}

/* With `snapshots` held: the marks of this epoch stay while we read them. */
static void
cut(struct ef_multilog *log, struct ef_multilog_snapshot *snapshot)
{
    uint64_t epoch = atomic_load_explicit(&log->epoch, memory_order_relaxed) + 1;
    atomic_store(&log->epoch, epoch);
    *snapshot = (struct ef_multilog_snapshot){{0}};
    for (unsigned i = 0; i < log->n_lanes; i++) {
        snapshot->tails[i] = tail_before(&log->lanes[i], epoch);
    }
}

void
ef_multilog_snapshot(struct ef_multilog *log, struct ef_multilog_snapshot *snapshot)
{
    pthread_mutex_lock(&log->snapshots);
    if (log->is_frozen) {
        *snapshot = log->frozen;
    } else {
        cut(log, snapshot);
    }
    pthread_mutex_unlock(&log->snapshots);
}

int
ef_multilog_freeze(struct ef_multilog *log, struct ef_multilog_snapshot *snapshot)
{
    int rc = -EALREADY;
    pthread_mutex_lock(&log->snapshots);
    if (!log->is_frozen) {
        cut(log, &log->frozen);
        log->is_frozen = true;
        *snapshot = log->frozen;
        rc = 0;
    }
    pthread_mutex_unlock(&log->snapshots);
    return rc;
}

void
ef_multilog_unfreeze(struct ef_multilog *log)
{
    pthread_mutex_lock(&log->snapshots);
    log->is_frozen = false;
    pthread_mutex_unlock(&log->snapshots);
    ef_monitor_wake(log); /* It may have seen tails move that were frozen. */
}
