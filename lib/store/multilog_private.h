/* SPDX-License-Identifier: Apache-2.0 */
/* What append.c, snapshot.c, query.c and multilog.c share: lanes and where the
 * columns lie in a bucket. Each writer fills a lane of its own, a sequence of
 * buckets, and publishes it with one store of the lane's tail; doc/store.md has
 * the protocol by which the tails are read as of one instant. */
#ifndef EF_STORE_MULTILOG_PRIVATE_H
#define EF_STORE_MULTILOG_PRIVATE_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "base/counter.h"
#include "base/util.h"
#include "store/bucket_pool.h"
#include "store/capture.h"
#include "store/derived.h"
#include "store/filter_set_private.h"
#include "store/multilog.h"
#include "store/trigger_private.h"

/* A lane; `struct ef_multilog_writer` is the lane that it writes. */
struct ef_multilog_writer {
    struct ef_multilog *log;
    unsigned number;
    _Atomic uint32_t *buckets; /* Of sequence number s: buckets[s % n_buckets]. */
    atomic_bool busy;          /* A writer has it open. */

    /* The writer's own. */
    struct ef_bucket *open; /* Being filled, or NULL. */
    uint32_t row;           /* Rows filled in it. */
    uint32_t variable_used; /* Bytes filled of its variable parts. */
    uint64_t epoch;         /* Of its last publication. */
    ef_counter n_refused, n_not_captured;
    uint64_t random;                      /* State of its sampling; never 0. */
    _Atomic(struct ef_capture *) capture; /* The one that it is using, or NULL. */

    /* Published by the writer. */
    EF_CACHE_ALIGNED _Atomic uint64_t tail; /* Records visible. */
    _Atomic uint64_t mark_epoch, mark_tail; /* The tail before the first publication in `mark_epoch`. */
    _Atomic uint64_t n_begun, n_sealed;     /* Buckets. */

    /* Moved by whoever evicts. */
    EF_CACHE_ALIGNED _Atomic uint64_t first; /* Sequence number of the oldest bucket in memory. */
};

/* The background thread and whom it works for; derived.c. */
struct ef_derivers {
    atomic_bool is_attached; /* Somebody ever was: sealing wakes the thread. */
    _Atomic uint32_t required;
    _Atomic(struct ef_derived *) graveyard;
    sem_t wake;
    pthread_t thread;
    pthread_mutex_t lock; /* Of starting, taking slots, and the two counts. */
    pthread_cond_t round_ended;
    uint64_t n_asked, n_done;
    bool is_running;
    atomic_bool stop;
    struct retired *retired; /* The thread's own. */
    struct {
        _Atomic int state;
        struct ef_deriver deriver;
        uint64_t *next; /* Of each lane, the bucket to handle next; the thread's own. */
    } slots[EF_MAX_DERIVERS];
};

struct ef_multilog {
    struct ef_schema schema;
    struct ef_bucket_pool pool;
    uint32_t bucket_rows, bucket_variable_bytes;
    uint32_t column_at[EF_SCHEMA_MAX_COLUMNS]; /* In a bucket; of a variable column: the ends of its parts. */
    uint32_t variable_at;
    unsigned n_lanes;
    struct ef_multilog_writer *lanes;
    _Atomic uint64_t epoch;         /* Advanced by each snapshot. */
    atomic_bool is_monitor_waiting; /* For records: who publishes some wakes it; monitor.c. */
    _Atomic uint64_t n_evicted;
    _Atomic int64_t newest_evicted_ns;
    _Atomic(struct ef_capture *) capture; /* NULL: all is taken. */
    struct ef_indexes *indexes;
    pthread_mutex_t snapshots; /* One at a time; guards `frozen`. */
    bool is_frozen;
    struct ef_multilog_snapshot frozen;
    struct ef_derivers derivers;
    struct ef_filters filters;
    struct ef_triggers triggers;
};

/* Identities start at 1 << 40 so that a zeroed header is no bucket's. */
static inline uint64_t
ef_bucket_id(const struct ef_multilog_writer *lane, uint64_t sequence)
{
    return (uint64_t) (lane->number + 1) << 40 | sequence;
}

static inline struct ef_bucket *
ef_lane_bucket(const struct ef_multilog_writer *lane, uint64_t sequence)
{
    const struct ef_bucket_pool *pool = &lane->log->pool;
    uint32_t number = atomic_load_explicit(&lane->buckets[sequence % pool->n_buckets], memory_order_acquire);
    return ef_bucket_at(pool, number);
}

static inline uint8_t *
ef_bucket_column(const struct ef_multilog *log, struct ef_bucket *bucket, unsigned column)
{
    return (uint8_t *) bucket + log->column_at[column];
}

/* Where the variable part of a row lies. */
const void *ef_bucket_variable(const struct ef_multilog *log, struct ef_bucket *bucket, uint32_t row, uint32_t *len);

/* Lets the oldest bucket go; false if there is none that is sealed. */
bool ef_multilog_evict_oldest(struct ef_multilog *log);
/* Where row 0 of each column lies, as predicates want it. */
static inline void
ef_bucket_columns(const struct ef_multilog *log, struct ef_bucket *bucket, const uint8_t **columns)
{
    for (unsigned i = 0; i < log->schema.n_columns; i++) {
        columns[i] = ef_bucket_column(log, bucket, i);
    }
}

/* Writer: no more rows go into the open bucket. */
void ef_lane_seal(struct ef_multilog_writer *lane);

void ef_derivers_init(struct ef_derivers *derivers);
void ef_derivers_stop(struct ef_multilog *log); /* And frees all. */

/* The taker of a free bucket: what was derived from its last rows goes. */
void ef_derived_bury(struct ef_multilog *log, struct ef_bucket *bucket);

#endif
