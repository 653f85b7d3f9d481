/* SPDX-License-Identifier: Apache-2.0 */
/* What a refused question looks like: the text with a caret under the place. */
#ifndef EFCTL_TRACE_ERRORS_H
#define EFCTL_TRACE_ERRORS_H

#include "utilities/efctl/client.h"
#include "utilities/efctl/trace_view.h"

/* Draws `failure` of `query`: for a wrong filter or condition the text, a
 * caret under the offset and the message, else one line. */
void efctl_trace_draw_failure(struct efctl_output *out, const struct efctl_trace_query *query,
                              const struct efctl_failure *failure);

/* The same on stderr; returns EFCTL_FAILED. */
int efctl_trace_fail(const struct efctl_trace_query *query, const struct efctl_failure *failure);

#endif
