/* SPDX-License-Identifier: Apache-2.0 */
/* Congestion by the losses of each second; see congestion.h. */
#include <config.h>

#include "reshuffler/congestion.h"

bool
ef_congestion_note(struct ef_congestion *c, uint64_t received, uint64_t lost)
{
    uint64_t n = received - c->received, n_lost = lost - c->lost;
    c->received = received;
    c->lost = lost;
    c->lost_share = n ? (double) n_lost / (double) n : 0;
    bool is_much = n_lost && n_lost * 100 >= n * EF_CONGESTION_PERCENT;
    c->n_calm = is_much ? 0 : c->n_calm + 1;
    if (is_much && !c->is_congested) {
        c->is_congested = true;
        c->n_begun++;
        return true;
    }
    if (c->is_congested && c->n_calm >= EF_CONGESTION_CALM_S) {
        c->is_congested = false;
        return true;
    }
    return false;
}
