/* SPDX-License-Identifier: Apache-2.0 */
/* What of a filter and a condition the store's columns can answer. The result
 * lets through every trace that matches, and few others: what it lets through is
 * asked once more as a trace, unless the question `is_exact`.
 *
 *     struct ef_trace_question q;
 *     ef_trace_question_init(&q, &schema, &query);
 *     query.predicate = q.predicate;
 *     query.keys = q.keys; query.n_keys = q.n_keys;
 *     ...
 *     ef_trace_question_deinit(&q);
 *
 * - Tests of packet fields that are columns (addresses, ports, TCP flags, which
 *   protocol) become tests of the columns, or of the flag `nested`. Their negations are
 *   left to the trace: a field that is not there is not equal to anything.
 * - trace.* but for trace.copies and trace.missing become tests of columns, which
 *   are exact.
 * - `switch` (trace.through) in a conjunction becomes a test of the keys that the
 *   store has an index of.
 * - Anything else is taken for true: `and` drops it, `or` is true with it. */
#ifndef EF_ANALYZER_TRACE_QUESTION_H
#define EF_ANALYZER_TRACE_QUESTION_H

#include "analyzer/trace_store.h"
#include "store/multilog.h"
#include "store/predicate.h"

enum { EF_TRACE_QUESTION_MAX_KEYS = 8 };

struct ef_trace_question {
    struct ef_predicate *predicate; /* NULL: every trace. */
    struct ef_multilog_key_test keys[EF_TRACE_QUESTION_MAX_KEYS];
    unsigned n_keys;
    bool is_exact;
};

/* Of a query its filter, condition and identities. Returns 0 or -ENOMEM. */
int ef_trace_question_init(struct ef_trace_question *question, const struct ef_schema *schema,
                           const struct ef_trace_query *query);
void ef_trace_question_deinit(struct ef_trace_question *question);

#endif
