/* SPDX-License-Identifier: Apache-2.0 */
/* Aggregates: count, sum, least, greatest and mean of one column over the
 * records that a filter matches.
 *
 *     ef_multilog_add_filter(log, "web", "dport in {80, 443}", &err);       // filter_set.h
 *     ef_multilog_add_aggregate(log, "web_bytes", "web", "SUM(bytes)", &err);
 *     struct ef_aggregate_value value;
 *     ef_multilog_get_aggregate(log, "web_bytes", &snapshot, from, to, &value);
 *     total = value.sum;
 *
 * A value is that of a snapshot: exactly the aggregate of its records in the
 * window which are in memory, whenever the aggregate was added. For each sealed
 * bucket one summary is kept (by the background thread, of each writer's bucket
 * apart), so that only buckets which the window or the snapshot cuts are looked
 * at row by row. Nothing is done when a record is appended.
 *
 * COUNT takes any column that can be compared, or none: "COUNT", "COUNT()". SUM
 * and AVG take numbers, MIN and MAX also times and IPv4 addresses. A sum has 128
 * bits: it cannot overflow.
 *
 * Thread-safety: any thread may call anything. */
#ifndef EF_STORE_AGGREGATE_H
#define EF_STORE_AGGREGATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "store/multilog.h"
#include "store/predicate.h"

enum ef_aggregate_function {
    EF_AGGREGATE_COUNT,
    EF_AGGREGATE_SUM,
    EF_AGGREGATE_MIN,
    EF_AGGREGATE_MAX,
    EF_AGGREGATE_AVG,
};

/* What all functions need; values as ef_column_value() gives them. */
struct ef_aggregate_value {
    uint64_t count;
    uint64_t min, max; /* Of a count of 0: UINT64_MAX and 0. */
    ef_u128 sum;
};

#define EF_AGGREGATE_VALUE_INIT ((struct ef_aggregate_value){.min = UINT64_MAX})

/* A function and what it is applied to. */
struct ef_aggregate_spec {
    enum ef_aggregate_function function;
    unsigned column; /* Of COUNT: any. */
};

/* Reads "SUM(bytes)", in any case of letters. Returns 0 or -EINVAL with `err`. */
int ef_aggregate_spec_parse(const char *text, const struct ef_schema *schema, struct ef_aggregate_spec *spec,
                            struct ef_error *err);

/* Adds the values of the rows whose bits are set and whose time is in the
 * window to `value`. Row 0 of `columns` is bit 0. */
void ef_aggregate_add_rows(struct ef_aggregate_value *value, const struct ef_schema *schema, unsigned column,
                           const uint8_t *const *columns, uint32_t first_row, uint32_t n_rows, const uint64_t *bits,
                           struct ef_time from, struct ef_time to);

/* Adds all of the rows. */
void ef_aggregate_add_all(struct ef_aggregate_value *value, const struct ef_schema *schema, unsigned column,
                          const uint8_t *const *columns, uint32_t first_row, uint32_t n_rows);

void ef_aggregate_merge(struct ef_aggregate_value *into, const struct ef_aggregate_value *from);

/* Adds an aggregate to an installed filter. Returns 0; -ENOENT if there is no
 * such filter, -EEXIST if the name is taken, -EINVAL for the text, all with
 * `err`; or -ENOMEM. */
int ef_multilog_add_aggregate(struct ef_multilog *log, const char *name, const char *filter, const char *text,
                              struct ef_error *err);

/* Returns 0 or -ENOENT. */
int ef_multilog_remove_aggregate(struct ef_multilog *log, const char *name);

/* The aggregate of the snapshot's records between `from` and `to`, both
 * included. Returns 0, or -ENOENT if there is none of that name. */
int ef_multilog_get_aggregate(struct ef_multilog *log, const char *name, const struct ef_multilog_snapshot *snapshot,
                              struct ef_time from, struct ef_time to, struct ef_aggregate_value *value);

/* The same of any query's records, found as a cursor finds them but not made. Of
 * COUNT only `count` is filled in. Returns 0 or -ENOMEM. */
int ef_multilog_aggregate_query(struct ef_multilog *log, const struct ef_multilog_query *query,
                                const struct ef_aggregate_spec *spec, struct ef_aggregate_value *value);

/* The same with texts: `text` as "SUM(bytes)", `filter` in the filter language.
 * Returns 0, -EINVAL with `err`, or -ENOMEM. */
int ef_multilog_aggregate(struct ef_multilog *log, const char *filter, const char *text,
                          const struct ef_multilog_snapshot *snapshot, struct ef_time from, struct ef_time to,
                          struct ef_aggregate_value *value, struct ef_error *err);

#endif
