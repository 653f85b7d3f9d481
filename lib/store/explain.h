/* SPDX-License-Identifier: Apache-2.0 */
/* How a query is answered: which indexes are used for each conjunction of its
 * filter, how many rows they promised and gave, how many buckets were passed
 * over or scanned. The query is run to its end, but no record is made.
 *
 *     char *text;
 *     if (!ef_multilog_explain(log, &query, EF_EXPLAIN_TEXT, &text)) {
 *         fputs(text, stdout);
 *         free(text);
 *     }
 *
 * As text (the second line is one):
 *
 *     filter: src == 10.0.0.17 && dst == 10.0.0.200
 *     buckets: 153, of them 0 outside the window, 0 outside the zones, 152 by index, 0 by the filter's own matches,
 *     1 scanned (38400 rows)
 *     conjunction 1: src, dst; 39021 rows estimated, 134 candidates, 134 matches, nothing in 3 buckets
 *         index src: the shortest in 80 buckets, intersected with in 69
 *         index dst: the shortest in 72 buckets, intersected with in 80
 *     result: 134 records
 *
 * JSON has the same under the names that are in explain.c. Any thread. */
#ifndef EF_STORE_EXPLAIN_H
#define EF_STORE_EXPLAIN_H

#include "store/multilog.h"

enum ef_explain_format { EF_EXPLAIN_TEXT, EF_EXPLAIN_JSON };

/* Returns 0 and a text for free(), or -ENOMEM. */
int ef_multilog_explain(struct ef_multilog *log, const struct ef_multilog_query *query, enum ef_explain_format format,
                        char **text);

/* The same of an answer as far as it was read; its query must say is_explained. */
int ef_multilog_cursor_explain(const struct ef_multilog_cursor *cursor, enum ef_explain_format format, char **text);

#endif
