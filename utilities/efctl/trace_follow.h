/* SPDX-License-Identifier: Apache-2.0 */
/* efctl trace --follow: prints traces as they close, until interrupted.
 *
 * A trace closes after its last copy, so one that closes now may have started
 * before another that is already shown. Each second all traces of the last ten
 * seconds (of the controller's clock) are asked for, and those not in the
 * answer before are printed. */
#ifndef EFCTL_TRACE_FOLLOW_H
#define EFCTL_TRACE_FOLLOW_H

#include "utilities/efctl/command.h"
#include "utilities/efctl/trace_view.h"

/* As text, or one JSON document per line if `ndjson`. With query->start, what
 * is there already is printed first. Returns an exit status: when the first
 * request fails, or the reader has gone. A controller that goes away later is
 * waited for. */
int efctl_trace_follow(struct efctl_context *context, const struct efctl_trace_query *query, bool ndjson);

#endif
