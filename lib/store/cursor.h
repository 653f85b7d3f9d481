/* SPDX-License-Identifier: Apache-2.0 */
/* A cursor from inside: query.c goes over its records, aggregate.c and explain.c
 * over their bitmaps. Private to lib/store. */
#ifndef EF_STORE_CURSOR_H
#define EF_STORE_CURSOR_H

#include "store/planner.h"

struct ef_multilog_cursor {
    struct ef_multilog *log;
    struct ef_multilog_query query;
    struct ef_planner planner;
    struct {
        uint64_t sequence, record;
    } firsts[EF_MULTILOG_MAX_WRITERS]; /* Oldest bucket of each lane when the query began, and its first record. */
    uint64_t n_missed;
    unsigned lane;
    uint64_t sequence;        /* Next bucket of the lane. */
    uint64_t expected;        /* Next record of the lane. */
    struct ef_bucket *bucket; /* Held, or NULL. */
    uint32_t n_rows;          /* Visible in it. */
    uint64_t *bits;           /* Which of its rows match; */
    uint32_t n_words;         /* 64 each. */
    uint32_t word_at;         /* Next of them. */
    uint64_t word;            /* What is left of the word before. */
    uint32_t current;         /* The row that the last call went to. */
};

/* Goes to the next bucket in which a row matches; false at the end. */
bool ef_cursor_next_bucket(struct ef_multilog_cursor *cursor, uint64_t *n_matches);

#endif
