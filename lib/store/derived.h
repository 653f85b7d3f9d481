/* SPDX-License-Identifier: Apache-2.0 */
/* What is derived from sealed buckets: indexes, matches of filters, summaries,
 * the archive. A multilog has one background thread; it calls each deriver for
 * each bucket that is sealed, and keeps what the deriver returns beside the
 * bucket until that has left memory.
 *
 *     static void *
 *     seal(void *aux, const struct ef_sealed *bucket)
 *     {
 *         return build_index(bucket->columns[1], bucket->n_rows);
 *     }
 *     static void leave(void *aux, const struct ef_sealed_id *id, void *derived) { destroy_index(derived); }
 *
 *     struct ef_deriver deriver = {.seal = seal, .leave = leave, .aux = me};
 *     int slot = ef_multilog_attach(log, &deriver);
 *     ...
 *     index = ef_bucket_derived(bucket, (unsigned) slot);   // by a reader that holds the bucket; NULL: not yet
 *     ef_multilog_detach(log, (unsigned) slot);
 *
 * A deriver that is attached later is called for what is in memory already.
 * Readers must do without what is not there: a bucket that is open, or not yet
 * handled, or whose deriver returned NULL, is read as it is.
 *
 * Order: each deriver gets the buckets of one lane in their order; what left
 * memory before its turn came is passed over, unless the deriver is `required`:
 * then buckets stay until it has had them, and when memory is full of such,
 * records are refused. All calls come from the one thread, never at the same
 * time; a slow one delays the others, never a writer. After `leave` for a bucket
 * no reader uses `derived` any more; the bucket's rows may be gone by then.
 *
 * Thread-safety: attach, detach and flush from any thread, but not from within
 * a deriver. */
#ifndef EF_STORE_DERIVED_H
#define EF_STORE_DERIVED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"
#include "store/bucket_pool.h"
#include "store/schema.h"

struct ef_multilog;

enum { EF_MAX_DERIVERS = 32 };

struct ef_sealed_id {
    unsigned lane;
    uint64_t sequence;     /* Of the lane's buckets, this one's number. */
    uint64_t first_record; /* Of the lane's records, the number of the first row. */
    uint32_t n_rows;
    struct ef_time min, max; /* Of the rows. */
};

/* Good during the call. */
struct ef_sealed {
    struct ef_sealed_id id;
    const struct ef_schema *schema;
    const uint8_t *columns[EF_SCHEMA_MAX_COLUMNS]; /* Row 0; of the variable column: each part's end, uint32_t. */
    const uint8_t *variable;                       /* The variable parts one after another. */
    struct ef_bucket *bucket;
};

struct ef_deriver {
    bool required;
    void *(*seal)(void *aux, const struct ef_sealed *bucket);               /* NULL is fine as an answer. */
    void (*leave)(void *aux, const struct ef_sealed_id *id, void *derived); /* NULL or for each that is not NULL. */
    void (*gone)(void *aux); /* NULL or the last call: after detach or at the log's end. */
    void *aux;
};

/* Returns the slot, -EBUSY if all are taken, -ENOMEM, or a negative errno of
 * starting the thread. `deriver` is copied. */
int ef_multilog_attach(struct ef_multilog *log, const struct ef_deriver *deriver);

/* Asks for the end: no new `seal` begins after the thread has seen it, `leave`
 * comes as readers let go, `gone` at last; the slot is free then. */
void ef_multilog_detach(struct ef_multilog *log, unsigned slot);

/* Waits until every bucket that is sealed now has been handled. */
void ef_multilog_flush_derived(struct ef_multilog *log);

/* --- For readers ------------------------------------------------------------------- */

struct ef_derived {
    struct ef_sealed_id id;
    struct ef_derived *next; /* In the lists of derived.c. */
    _Atomic(void *) slots[EF_MAX_DERIVERS];
};

/* What the deriver of `slot` returned for the bucket, which the caller holds by
 * ef_bucket_pin(); it stays as long as the caller holds it. NULL: nothing. */
static inline void *
ef_bucket_derived(const struct ef_bucket *bucket, unsigned slot)
{
    struct ef_derived *derived = atomic_load(&((struct ef_bucket *) bucket)->derived);
    return derived ? atomic_load_explicit(&derived->slots[slot], memory_order_acquire) : NULL;
}

#endif
