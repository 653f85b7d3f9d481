/* SPDX-License-Identifier: Apache-2.0 */
/* What filter_set.c (names and the background work), matches.c (what is kept of
 * a bucket) and aggregate.c share. */
#ifndef EF_STORE_FILTER_SET_PRIVATE_H
#define EF_STORE_FILTER_SET_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "store/aggregate.h"
#include "store/derived.h"
#include "store/filter_set.h"

struct ef_installed_filter {
    char name[EF_FILTER_NAME_SIZE];
    uint64_t id; /* Never given twice. */
    _Atomic uint32_t refs;
    struct ef_predicate *predicate;
    struct ef_installed_filter *next;
};

struct ef_installed_aggregate {
    char name[EF_FILTER_NAME_SIZE];
    uint64_t id;
    struct ef_installed_filter *filter;
    struct ef_aggregate_spec spec;
    struct ef_installed_aggregate *next;
};

/* The filters as of some moment, ready to be evaluated on a bucket; used by the
 * background thread alone. */
struct ef_filter_work;

struct ef_filters {
    pthread_mutex_t lock;                /* Of all that follows. */
    struct ef_installed_filter *filters; /* Ascending by id, as are the aggregates. */
    struct ef_installed_aggregate *aggregates;
    uint64_t last_id;
    _Atomic int slot;            /* Of the deriver, or -1; read without the lock. */
    bool has_changed;            /* Since the background thread took over. */
    struct ef_filter_work *work; /* The background thread's own. */
    _Atomic uint64_t kept_bytes, n_buckets_kept;
};

int ef_filters_init(struct ef_filters *filters);
void ef_filters_deinit(struct ef_filters *filters); /* After the background thread has ended. */

/* --- What is kept of a bucket; matches.c ---------------------------------------------- */

struct ef_matches;

/* `filters[i]`'s bitmap is bitmaps[unique[i] * n_words]; summaries are made of
 * `aggregates`, whose filters are among `filters`. NULL for lack of memory. */
struct ef_matches *ef_matches_create(const struct ef_filter_work *work, const struct ef_sealed *bucket);
uint64_t ef_matches_bytes(const struct ef_matches *matches);

/* Writes the filter's bits of some rows; false if nothing is kept of it. */
bool ef_matches_eval(const struct ef_matches *matches, uint64_t filter_id, uint32_t first_row, uint32_t n_rows,
                     uint64_t *bits);

/* The summary of all of the bucket's rows, or NULL. */
const struct ef_aggregate_value *ef_matches_summary(const struct ef_matches *matches, uint64_t aggregate_id);

struct ef_filter_work {
    unsigned n_filters, n_aggregates, n_unique;
    struct ef_installed_filter **filters; /* With a reference each. */
    unsigned *unique;                     /* Which of the evaluated predicates is the filter's. */
    struct {
        uint64_t id;
        unsigned unique;
        struct ef_aggregate_spec spec;
    } * aggregates;
    struct ef_predicate_set *set;
    struct ef_predicate_scratch *scratch;
    uint64_t *chunk;   /* Of all predicates, for one chunk of rows. */
    uint64_t *bitmaps; /* Of all predicates, for one bucket. */
    uint32_t n_words;  /* Of one bitmap. */
};

#endif
