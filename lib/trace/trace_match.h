/* SPDX-License-Identifier: Apache-2.0 */
/* Asks compiled filters about a trace: its packet is the original as the first
 * hop saw it, its switches those of all hops. */
#ifndef EF_TRACE_TRACE_MATCH_H
#define EF_TRACE_TRACE_MATCH_H

#include <stdbool.h>

#include "filter/filter.h"
#include "trace/packet_trace.h"

/* True if the finished `trace` matches both; NULL matches everything. */
bool ef_trace_match(const struct ef_trace *trace, const struct ef_filter *filter, const struct ef_filter *condition);

#endif
