/* SPDX-License-Identifier: Apache-2.0 */
/* Up and down with hysteresis; see health.h. */
#include <config.h>

#include "reshuffler/health.h"

#include "base/util.h"

static void
go_down(struct ef_health *h, struct ef_time now)
{
    bool is_calm = !h->n_failures || ef_time_diff_ns(now, h->since) >= EF_HEALTH_CALM_MS * EF_NS_PER_MS;
    unsigned doubled = EF_MIN(2 * h->n_to_up, (unsigned) EF_HEALTH_GOOD_TO_UP_MAX);
    h->n_to_up = is_calm ? EF_HEALTH_GOOD_TO_UP : doubled;
    h->n_failures++;
}

bool
ef_health_note(struct ef_health *h, bool is_good, struct ef_time now)
{
    h->has_answered |= is_good;
    if (is_good != h->is_down) { /* As it should be. */
        h->n_in_row = 0;
        return false;
    }
    h->n_in_row++;
    if (h->n_in_row < (h->is_down ? h->n_to_up : EF_HEALTH_BAD_TO_DOWN)) {
        return false;
    }
    if (!h->is_down) {
        go_down(h, now);
    }
    h->is_down = !h->is_down;
    h->n_in_row = 0;
    h->since = now;
    return true;
}
