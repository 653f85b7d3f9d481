/* SPDX-License-Identifier: Apache-2.0 */
/* One answer out of memory (trace_store.h) and archive (trace_history.h): the
 * asker does not notice which trace was where. Called by http_traces.c.
 *
 *     if (!ef_trace_search_create(store, archiver, &query, &search, &err)) {
 *         while ((rc = ef_trace_search_next(search, &trace)))
 *             if (rc > 0) use(&trace); else go on, or let others have the thread;
 *         more = ef_trace_search_more(search);
 *         ef_trace_search_destroy(search);
 *     }
 *
 * No trace comes twice: memory answers for the traces that started after the
 * newest of those that ever left it, the archive for the others, and for those
 * of earlier runs. Before the archive is asked, all that is in memory is handed
 * to it. If what memory found is evicted before it was reached, which only a
 * long answer lives to see, the border is drawn anew and the archive goes on
 * from there; such an answer may also have traces that were closed meanwhile.
 *
 * Without an archive the answer is memory's alone. One thread. */
#ifndef EF_ANALYZER_TRACE_SEARCH_H
#define EF_ANALYZER_TRACE_SEARCH_H

#include "analyzer/archiver.h"
#include "analyzer/trace_store.h"

struct ef_trace_search;

/* `archiver` NULL: memory only. Returns 0; -EBUSY with `err`, see
 * ef_trace_store_query(); or -EINVAL with `err` for a limit that is too large for
 * an archive. */
int ef_trace_search_create(struct ef_trace_store *store, struct ef_archiver *archiver,
                           const struct ef_trace_query *query, struct ef_trace_search **search, struct ef_error *err);
void ef_trace_search_destroy(struct ef_trace_search *search); /* NULL is fine. */

/* As ef_trace_cursor_next(). */
int ef_trace_search_next(struct ef_trace_search *search, struct ef_trace *trace);

/* At the end: whether older traces match too, and why some may be missing, or
 * NULL. */
bool ef_trace_search_more(const struct ef_trace_search *search);
const char *ef_trace_search_incomplete(const struct ef_trace_search *search);

/* How memory's part was found, see ef_trace_cursor_explain(), and in "archive" what
 * was read of that. */
char *ef_trace_search_explain(const struct ef_trace_search *search);

#endif
