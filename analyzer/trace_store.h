/* SPDX-License-Identifier: Apache-2.0 */
/* Where closed traces are kept and asked for. This is a seam: all that the
 * workers and the HTTP side know of the store is here. Behind it: a multilog
 * (store/multilog.h) with a writer per worker; what questions look at is in
 * columns (trace_columns.h), with indexes of addresses, switches and identities.
 *
 *     ef_trace_store_append(store, worker_number, &trace);   // gathers a batch
 *     ef_trace_store_flush(store, worker_number);            // all visible
 *
 *     struct ef_trace_query query = {.filter = f, .start = {INT64_MIN}, .end = {INT64_MAX}, .limit = 100};
 *     if (!ef_trace_store_query(store, &query, &cursor, &err)) {
 *         while ((rc = ef_trace_cursor_next(cursor, &trace)))
 *             if (rc > 0) use(&trace); else go on, or let others have the thread;
 *         ef_trace_cursor_close(cursor);
 *     }
 *
 * An answer is in ascending order of the traces' starts, and of ids where those are
 * the same; where more match than `limit`, it has the newest. It shows the traces that were closed when it was
 * asked for, less those evicted before they were reached.
 *
 * Thread-safety: writer `n` belongs to one thread; a cursor and a follower
 * belong to one thread each; otherwise any thread may call anything. */
#ifndef EF_ANALYZER_TRACE_STORE_H
#define EF_ANALYZER_TRACE_STORE_H

#include "base/error.h"
#include "trace/packet_trace.h"
#include "trace/trace_page.h"

struct ef_filter;
struct ef_trace_store;
struct ef_trace_cursor;
struct ef_trace_follower;

struct ef_trace_query {
    const struct ef_filter *filter;    /* NULL: everything. Borrowed until the cursor is closed. */
    const struct ef_filter *condition; /* The same. */
    bool has_id;
    uint64_t id_low, id_high;   /* Only traces of these identities, both included. */
    struct ef_time start, end;  /* Of the trace's start, both included. */
    bool has_before;            /* Only traces whose key comes before this one: */
    struct ef_trace_key before; /* for the pages of an answer. */
    uint64_t limit;             /* 0: all. */
    bool is_explained;          /* For ef_trace_cursor_explain(). */
};

enum { EF_TRACE_STORE_INDEXES = 5 };

/* What one index costs. */
struct ef_trace_index_stats {
    const char *name;              /* Of its column. */
    uint64_t n_traces, n_bytes;    /* That it has, and memory for it. */
    uint64_t n_without;            /* Buckets left without it for lack of memory. */
    struct ef_time processor_time; /* Spent on it, since 0. */
};

struct ef_trace_store_stats {
    uint64_t n_stored, n_evicted;
    uint64_t n_refused;  /* Traces not taken, since no memory could be made free. */
    uint64_t used_bytes; /* With the indexes. */
    uint64_t index_bytes;
    struct ef_trace_index_stats indexes[EF_TRACE_STORE_INDEXES];
    uint64_t n_queries; /* Open cursors. */
    bool has_oldest;
    struct ef_time oldest;         /* No trace in memory started earlier. */
    struct ef_time newest_evicted; /* Every trace that left memory started then or earlier; INT64_MIN: none did. */
};

/* `bytes` for the traces and their indexes, shared by `n_writers`, and
 * `query_bytes` for the open cursors together, with 256 KiB each for what their
 * askers hold. Starts a thread. Returns 0 or a negative errno with `err`. */
int ef_trace_store_create(unsigned n_writers, uint64_t bytes, uint64_t query_bytes, struct ef_trace_store **store,
                          struct ef_error *err);

/* All cursors and followers must be closed. NULL is fine. */
void ef_trace_store_destroy(struct ef_trace_store *store);

void ef_trace_store_append(struct ef_trace_store *store, unsigned writer, const struct ef_trace *trace);
void ef_trace_store_flush(struct ef_trace_store *store, unsigned writer);

/* Starts an answer. Returns 0, or -EBUSY with `err` while other answers use the
 * memory for it. */
int ef_trace_store_query(struct ef_trace_store *store, const struct ef_trace_query *query,
                         struct ef_trace_cursor **cursor, struct ef_error *err);

/* The next trace: 1 and `*trace`; -EAGAIN after a slice of work (some 100 us)
 * that found none yet; 0 at the end. */
int ef_trace_cursor_next(struct ef_trace_cursor *cursor, struct ef_trace *trace);

/* True if more traces matched than the limit let through; final once a trace or
 * the end was returned. */
bool ef_trace_cursor_more(const struct ef_trace_cursor *cursor);

/* Once a trace or the end was returned: how many traces are still to come, but
 * for those that are evicted before, and how many were. */
uint64_t ef_trace_cursor_left(const struct ef_trace_cursor *cursor);
uint64_t ef_trace_cursor_lost(const struct ef_trace_cursor *cursor);

/* How the answer was found: JSON, an object, for free(); or NULL for lack of
 * memory. Complete once a trace or the end was returned. */
char *ef_trace_cursor_explain(const struct ef_trace_cursor *cursor);

void ef_trace_cursor_close(struct ef_trace_cursor *cursor); /* NULL is fine. */

void ef_trace_store_stats(struct ef_trace_store *store, struct ef_trace_store_stats *stats);

/* Waits until the thread has made the indexes of all that it can: for tests and
 * measurements. */
void ef_trace_store_settle(struct ef_trace_store *store);

/* --- Following -------------------------------------------------------------------- */

/* Takes every trace once, writer by writer in the order of appending, as the
 * archive wants them. Returns 0 or -ENOMEM with `err`. */
int ef_trace_follower_open(struct ef_trace_store *store, struct ef_trace_follower **follower, struct ef_error *err);
void ef_trace_follower_close(struct ef_trace_follower *follower); /* NULL is fine. */

/* The next trace that is flushed: 1 and `*trace`; 0 if there is none now; or
 * -ENOMEM: try again later. */
int ef_trace_follower_next(struct ef_trace_follower *follower, struct ef_trace *trace);

/* Traces that left memory before their turn came; as of the last 0 that next
 * returned. */
uint64_t ef_trace_follower_n_missed(const struct ef_trace_follower *follower);

#endif
