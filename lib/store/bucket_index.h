/* SPDX-License-Identifier: Apache-2.0 */
/* The indexes of each bucket, made by derivers (derived.h) when it is sealed.
 * Private to lib/store: planner.c looks up, multilog.c creates and destroys.
 *
 * An index of a bucket may be read by who holds the bucket and the index's
 * definition (ef_indexes_hold()): as long as somebody holds a definition, it
 * stays attached, though it has been removed. */
#ifndef EF_STORE_BUCKET_INDEX_H
#define EF_STORE_BUCKET_INDEX_H

#include <stdatomic.h>

#include "store/derived.h"
#include "store/index.h"
#include "store/indexes.h"
#include "store/keys.h"
#include "store/multilog_private.h"

/* Least and greatest value of each column of a bucket that is a number, as
 * ef_index_number(). */
struct ef_zones {
    struct {
        uint64_t min, max;
    } columns[EF_SCHEMA_MAX_COLUMNS];
};

/* What an index is of. */
struct ef_index_definition {
    struct ef_indexes *indexes;
    unsigned column;
    ef_multilog_extract *extract;
    enum ef_column_type type; /* Of its values. */
    uint32_t width;
    unsigned slot; /* Of its deriver. */
    _Atomic uint64_t n_buckets, n_records, n_bytes, n_without, builder_ns;

    unsigned n_holders; /* Guarded by the mutex of `indexes`. */
    bool is_removed;
    struct ef_multilog_keys keys; /* The deriver's own. */
};

/* Returns 0 or -ENOMEM. */
int ef_indexes_create(struct ef_multilog *log, struct ef_indexes **indexes);
void ef_indexes_destroy(struct ef_indexes *indexes); /* After ef_derivers_stop(). NULL is fine. */

/* Copies where the definitions are and returns how many; they stay until they
 * are let go. */
unsigned ef_indexes_hold(struct ef_multilog *log, struct ef_index_definition *held[EF_MULTILOG_MAX_INDEXES]);
void ef_indexes_let_go(struct ef_multilog *log, struct ef_index_definition *const *held, unsigned n);

/* Of the bucket, which the caller holds; NULL: not (yet) there. */
const struct ef_zones *ef_indexes_zones(struct ef_multilog *log, const struct ef_bucket *bucket);

static inline const struct ef_index *
ef_indexes_of(const struct ef_index_definition *definition, const struct ef_bucket *bucket)
{
    return ef_bucket_derived(bucket, definition->slot);
}

#endif
