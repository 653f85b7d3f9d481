/* SPDX-License-Identifier: Apache-2.0 */
/* Traces as one Parquet file, of the columns that the archives have: efctl store
 * export --format parquet. */
#ifndef EFCTL_STORE_PARQUET_H
#define EFCTL_STORE_PARQUET_H

#include "utilities/efctl/command.h"
#include "utilities/efctl/trace_view.h"

/* Asks each analyzer for what matches `query` and joins that in the file `path`,
 * which is replaced only once all is there. What is missing is said on stderr;
 * then, too, there is a file if any analyzer answered. Returns an exit status. */
int efctl_store_parquet(struct efctl_context *context, const struct efctl_trace_query *query, const char *path);

#endif
