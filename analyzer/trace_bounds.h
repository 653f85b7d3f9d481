/* SPDX-License-Identifier: Apache-2.0 */
/* What a condition asks of numbers that the archive has as columns, so that row
 * groups whose statistics say no are not read: few have a loop, a drop.
 *
 *     struct ef_archive_bound bounds[EF_TRACE_MAX_BOUNDS];
 *     query.n_bounds = ef_trace_bounds(condition, bounds);
 *
 * Each trace that fulfils the condition is within the bounds; it may ask for more
 * than they say. Pure. */
#ifndef EF_ANALYZER_TRACE_BOUNDS_H
#define EF_ANALYZER_TRACE_BOUNDS_H

#include "filter/filter.h"
#include "store/archive/archive.h"

enum { EF_TRACE_MAX_BOUNDS = 8 };

/* Of columns of ef_trace_schema. `condition` may be NULL. Returns how many. */
unsigned ef_trace_bounds(const struct ef_filter *condition, struct ef_archive_bound bounds[EF_TRACE_MAX_BOUNDS]);

#endif
