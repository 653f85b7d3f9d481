/* SPDX-License-Identifier: Apache-2.0 */
/* Aggregates of an ad hoc query: over the bitmaps of a cursor, so that no record
 * is made; a count looks at no value at all. See aggregate.h. */
#include <config.h>

#include "store/aggregate.h"
#include "store/cursor.h"

static void
add_bucket(struct ef_multilog_cursor *c, const struct ef_aggregate_spec *spec, uint64_t n_matches,
           struct ef_aggregate_value *value)
{
    if (spec->function == EF_AGGREGATE_COUNT) {
        value->count += n_matches;
        return;
    }
    const uint8_t *columns[EF_SCHEMA_MAX_COLUMNS];
    ef_bucket_columns(c->log, c->bucket, columns);
    ef_aggregate_add_rows(value, &c->log->schema, spec->column, columns, 0, c->n_rows, c->bits, c->query.from,
                          c->query.to);
}

int
ef_multilog_aggregate_query(struct ef_multilog *log, const struct ef_multilog_query *query,
                            const struct ef_aggregate_spec *spec, struct ef_aggregate_value *value)
{
    struct ef_multilog_cursor *c;
    uint64_t n_matches;
    int rc = ef_multilog_query(log, query, &c);
    if (rc) {
        return rc;
    }
    *value = EF_AGGREGATE_VALUE_INIT;
    while (ef_cursor_next_bucket(c, &n_matches)) {
        add_bucket(c, spec, n_matches, value);
    }
    ef_multilog_cursor_close(c);
    return 0;
}

int
ef_multilog_aggregate(struct ef_multilog *log, const char *filter, const char *text,
                      const struct ef_multilog_snapshot *snapshot, struct ef_time from, struct ef_time to,
                      struct ef_aggregate_value *value, struct ef_error *err)
{
    struct ef_multilog_query query = {.snapshot = *snapshot, .from = from, .to = to};
    struct ef_aggregate_spec spec;
    struct ef_predicate *predicate = NULL;
    int rc = ef_aggregate_spec_parse(text, ef_multilog_schema(log), &spec, err);
    rc = rc ? rc : ef_predicate_compile(filter, ef_multilog_schema(log), &predicate, err);
    query.predicate = predicate;
    rc = rc ? rc : ef_multilog_aggregate_query(log, &query, &spec, value);
    ef_predicate_destroy(predicate);
    return rc;
}
