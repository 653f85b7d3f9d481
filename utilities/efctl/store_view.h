/* SPDX-License-Identifier: Apache-2.0 */
/* What efctl store draws. Documents may be anything; see json_get.h. */
#ifndef EFCTL_STORE_VIEW_H
#define EFCTL_STORE_VIEW_H

#include "utilities/efctl/output.h"

/* GET /v1/status: what each analyzer keeps, in memory and in its archive, and
 * what it lacks; ctx: the time now, struct ef_time * */
efctl_view efctl_store_view;

/* True if an analyzer does not say, or its archive has an alarm. */
bool efctl_store_is_bad(const json_t *status);

/* {"traces", "more", "incomplete"}: a line per trace; ctx: struct
 * efctl_trace_query * */
efctl_view efctl_store_traces_view;

#endif
