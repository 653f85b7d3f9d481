/* SPDX-License-Identifier: Apache-2.0 */
/* Whether copies reach an analyzer, which may answer for its health over another
 * network than the one that copies come by: we count the reports that we send it
 * (loss_reporter.h), ten a second, and it says how many of ours came.
 *
 *     if (!ef_reach_note(&reach, sent, arrived, lost, now)) they do not arrive
 *
 * A report may be on its way, or lost where an analyzer has more than it can
 * take; so several must be missing, none come for a while, and the analyzer must
 * not be losing frames itself. Plain values; time is given. */
#ifndef RESHUFFLER_REACH_H
#define RESHUFFLER_REACH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"

enum { EF_REACH_MISSING = 3, EF_REACH_PATIENCE_MS = 250 };

struct ef_reach {
    bool is_known;
    uint64_t sent, arrived, lost; /* When reports came last. */
    struct ef_time since;         /* Monotonic: then. */
};

/* `sent` as it was when the analyzer was asked; `arrived` and `lost` (frames that
 * it had no room for) as it answered. A zeroed `reach` is a fresh one. */
bool ef_reach_note(struct ef_reach *reach, uint64_t sent, uint64_t arrived, uint64_t lost, struct ef_time now_mono);

#endif
