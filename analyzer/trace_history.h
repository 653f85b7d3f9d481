/* SPDX-License-Identifier: Apache-2.0 */
/* The archive's part of an answer: the matching traces of struct ef_trace_query
 * that are on disk, in ascending order of start and id; with a limit the newest.
 * trace_search.h puts it together with the part that is in memory.
 *
 *     struct ef_trace_history *h = ef_trace_history_create(archive, &query);
 *     while ((rc = ef_trace_history_next(h, &trace)))
 *         if (rc > 0) use(&trace);
 *     ef_trace_history_destroy(h);
 *
 * With a limit, a first pass from the newest to the oldest finds where the answer
 * begins. Then it is gathered in pages of some megabytes, oldest first, so that
 * an answer of any length takes no more memory than that. One thread. */
#ifndef EF_ANALYZER_TRACE_HISTORY_H
#define EF_ANALYZER_TRACE_HISTORY_H

#include "analyzer/trace_store.h"
#include "store/archive/archive.h"

enum { EF_TRACE_HISTORY_MAX_LIMIT = 1 << 20 };

struct ef_trace_history;

struct ef_trace_history_query {
    const struct ef_filter *filter, *condition; /* As in struct ef_trace_query. */
    bool has_id;
    uint64_t id_low, id_high; /* Only traces of these identities. */
    struct ef_trace_key from; /* The first that is asked for. */
    struct ef_time end;       /* Included. */
    bool has_before;          /* Only traces whose key comes before this one. */
    struct ef_trace_key before;
    uint64_t limit;          /* Up to EF_TRACE_HISTORY_MAX_LIMIT; 0: all. */
    struct ef_time fresh_to; /* As in struct ef_archive_query. */
};

struct ef_trace_history *ef_trace_history_create(struct ef_archive *archive,
                                                 const struct ef_trace_history_query *query);
void ef_trace_history_destroy(struct ef_trace_history *history); /* NULL is fine. */

/* As ef_trace_cursor_next(); a slice of work is one row group, some 20 ms. */
int ef_trace_history_next(struct ef_trace_history *history, struct ef_trace *trace);

/* Of a limited answer, once a trace or the end was returned: how many traces it
 * has, and whether older ones match too. */
uint64_t ef_trace_history_found(const struct ef_trace_history *history);
bool ef_trace_history_more(const struct ef_trace_history *history);

/* How many segments or row groups could not be read. */
uint64_t ef_trace_history_n_failed(const struct ef_trace_history *history);

/* What was read so far, over all passes. */
void ef_trace_history_effort(const struct ef_trace_history *history, struct ef_archive_effort *effort);

#endif
