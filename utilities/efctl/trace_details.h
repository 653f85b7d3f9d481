/* SPDX-License-Identifier: Apache-2.0 */
/* All that is known of one trace: what its copies carried, and its bytes. */
#ifndef EFCTL_TRACE_DETAILS_H
#define EFCTL_TRACE_DETAILS_H

#include <jansson.h>

#include "utilities/efctl/table.h"

/* Adds free lines under the trace's hops: one for each hop with its times,
 * source MAC and sequence number, the packet's fields, and its bytes as hex
 * and ASCII. */
void efctl_trace_add_details(struct efctl_table *table, const json_t *trace);

#endif
