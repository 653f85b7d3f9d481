/* SPDX-License-Identifier: Apache-2.0 */
/* How a question is answered in one bucket: which rows match, as a bitmap.
 *
 * The question is its predicate's disjunctive normal form. For each conjunction
 * the planner asks the indexes of its tests how many rows each would give, takes
 * the rows of the fewest, intersects them with those of other indexes that are
 * not much longer, and tests what is left row by row. The conjunctions' rows are
 * joined as bitmaps, so that a row counts once. Where that would cost more than
 * a scan of all rows, or a conjunction has no index, they are scanned.
 *
 * Private to lib/store; called by query.c. Of one thread. */
#ifndef EF_STORE_PLANNER_H
#define EF_STORE_PLANNER_H

#include "store/bucket_index.h"
#include "store/predicate.h"

/* One thing that a record must be: a term of the predicate, or a test of keys. */
struct ef_plan_test {
    const struct ef_term *term;
    const struct ef_multilog_key_test *key; /* If `term` is NULL. */
    int index;                              /* Of `held`, or -1. */
};

/* What was done for a conjunction, over all buckets. */
struct ef_plan_conjunction {
    uint64_t n_buckets;    /* Answered by index. */
    uint64_t n_empty;      /* Of them, those where an index had no row. */
    uint64_t n_estimated;  /* Rows that the chosen index had. */
    uint64_t n_candidates; /* After intersecting; it and n_matches only if explained. */
    uint64_t n_matches;
    uint64_t chosen[EF_MULTILOG_MAX_INDEXES];      /* How often which index was the cheapest, */
    uint64_t intersected[EF_MULTILOG_MAX_INDEXES]; /* and was intersected with it. */
};

struct ef_plan_stats {
    uint64_t n_buckets;
    uint64_t n_outside_window, n_outside_zones; /* Buckets passed over. */
    uint64_t n_looked_at, n_scanned;            /* The others; of them, scanned, */
    uint64_t n_by_filter;                       /* and answered by the installed filter's matches. */
    uint64_t n_rows_scanned;
    uint64_t n_matches;
};

struct ef_planner {
    struct ef_multilog *log;
    const struct ef_multilog_query *query;
    struct ef_index_definition *held[EF_MULTILOG_MAX_INDEXES];
    unsigned n_held;
    unsigned n_terms, n_tests; /* Keys follow the terms. */
    struct ef_plan_test *tests;
    bool is_explained;  /* Counts what only explain.c shows. */
    bool is_always;     /* The predicate matches all records. */
    int n_conjunctions; /* 1 without a predicate; -E2BIG: scanned only. */
    struct ef_plan_conjunction *conjunctions;
    uint64_t *rows, *others; /* Bitmaps of a bucket. */
    struct ef_plan_stats stats;
};

/* Returns 0 or -ENOMEM. `query` is borrowed. */
int ef_planner_init(struct ef_planner *planner, struct ef_multilog *log, const struct ef_multilog_query *query);
void ef_planner_deinit(struct ef_planner *planner);

/* False if no row of the bucket, which the caller holds, can match. */
bool ef_planner_can_match(struct ef_planner *planner, struct ef_bucket *bucket);

/* Writes which of the first `n_rows` rows of the bucket, which the caller holds,
 * match into `bits`, of as many bits as it may have rows; returns how many. */
uint64_t ef_planner_find(struct ef_planner *planner, struct ef_bucket *bucket, uint32_t n_rows, uint64_t *bits);

/* The tests of a conjunction: the next one's number from `*i` on, or -1. */
int ef_planner_next_test(const struct ef_planner *planner, unsigned conjunction, unsigned *i);

#endif
