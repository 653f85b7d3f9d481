/* SPDX-License-Identifier: Apache-2.0 */
/* A cursor from inside: query.c goes over its records, aggregate.c and explain.c
 * over their bitmaps. Private to lib/store. */
#ifndef EF_STORE_CURSOR_H
#define EF_STORE_CURSOR_H

#include "store/planner.h"

/* A bucket of an answer that has the newest first. */
struct ef_cursor_bucket {
    unsigned lane;
    uint32_t n_rows;
    uint64_t sequence;
    int64_t max_ns; /* No record of the snapshot in it is newer. */
};

struct ef_multilog_cursor {
    struct ef_multilog *log;
    struct ef_multilog_query query;
    struct ef_planner planner;
    struct {
        uint64_t sequence, record;
    } firsts[EF_MULTILOG_MAX_WRITERS]; /* Oldest bucket of each lane when the query began, and its first record. */
    struct ef_cursor_bucket *order;    /* With newest_first: all buckets. */
    uint32_t n_order, order_at;
    uint64_t n_missed;
    unsigned lane;
    uint64_t sequence;        /* Next bucket of the lane. */
    uint64_t expected;        /* Next record of the lane. */
    struct ef_bucket *bucket; /* Held, or NULL. */
    uint64_t bucket_id;       /* Of the bucket that is, or was last, held. */
    struct ef_bucket *paused; /* To be held again, or NULL. */
    uint32_t n_rows;          /* Visible in it. */
    uint32_t n_before;        /* Of them, those that query.after has. */
    uint64_t *bits;           /* Which of its rows match; */
    uint32_t n_words;         /* 64 each. */
    uint32_t n_words_taken;   /* Of them. */
    uint32_t word_number;     /* The last that was taken, */
    uint64_t word;            /* and what is left of it. */
    bool is_backward;         /* From the last word, and the last row of each, on. */
    bool is_raised;           /* query.from rose since the bucket was looked at. */
    uint32_t current;         /* The row that the last call went to. */
};

/* Goes to the next bucket in which a row matches; false at the end. */
bool ef_cursor_next_bucket(struct ef_multilog_cursor *cursor, uint64_t *n_matches);

/* cursor_order.c: lists the buckets, newest first (0 or -ENOMEM); takes hold of
 * the next one that is still there, false if there is none. */
int ef_cursor_make_order(struct ef_multilog_cursor *cursor);
bool ef_cursor_next_in_order(struct ef_multilog_cursor *cursor);

/* Sets what of the bucket, which is held, the answer may have; false: nothing. */
bool ef_cursor_enter_bucket(struct ef_multilog_cursor *cursor, struct ef_bucket *bucket, unsigned lane);

#endif
