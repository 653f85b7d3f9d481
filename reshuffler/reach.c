/* SPDX-License-Identifier: Apache-2.0 */
/* Reports sent and reports that came; see reach.h. */
#include <config.h>

#include "reshuffler/reach.h"

bool
ef_reach_note(struct ef_reach *r, uint64_t sent, uint64_t arrived, uint64_t lost, struct ef_time now)
{
    if (!r->is_known || arrived != r->arrived || lost != r->lost) {
        *r = (struct ef_reach){true, sent, arrived, lost, now};
        return true;
    }
    return sent - r->sent < EF_REACH_MISSING || ef_time_diff_ns(now, r->since) < EF_REACH_PATIENCE_MS * EF_NS_PER_MS;
}
