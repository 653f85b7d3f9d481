/* SPDX-License-Identifier: Apache-2.0 */
/* Questions about traces asked of the archive: what the columns of a row tell
 * (trace_question.h) is asked of a row group's statistics, then of those columns
 * of its rows, and only of the rows that are left the other columns are read.
 *
 *     ef_trace_sieve_init(&sieve, &query);
 *     archive_query.sieve = &sieve.archive;
 *     ... trace_match() of each row that comes, unless sieve.question.is_exact ...
 *     ef_trace_sieve_deinit(&sieve);
 *
 * One thread. It may abort when memory is out: of control paths. */
#ifndef EF_ANALYZER_TRACE_SIEVE_H
#define EF_ANALYZER_TRACE_SIEVE_H

#include "analyzer/trace_columns.h"
#include "analyzer/trace_question.h"
#include "analyzer/trace_row.h"
#include "store/archive/archive.h"

struct ef_trace_sieve {
    struct ef_archive_sieve archive;
    struct ef_schema schema; /* Of the columns in memory, in whose words the question is. */
    struct ef_trace_question question;
    bool columns[EF_ROW_MAX_COLUMNS];
    uint8_t *values[EF_SCHEMA_MAX_COLUMNS]; /* Of EF_PREDICATE_CHUNK_ROWS rows. */
};

/* Of the query, its filter, condition and identities are asked. The sieve must
 * stay where it is. */
void ef_trace_sieve_init(struct ef_trace_sieve *sieve, const struct ef_trace_query *query);
void ef_trace_sieve_deinit(struct ef_trace_sieve *sieve);

/* Fills what the archive's columns tell of the columns in memory: all but the
 * trace, and `hops` and `latency_ns` if the row's list of hops was read. */
void ef_trace_columns_of_row(const struct ef_trace_row *row, struct ef_trace_columns *columns);

#endif
