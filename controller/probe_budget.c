/* SPDX-License-Identifier: Apache-2.0 */
/* What probing may cost; see probe_budget.h. */
#include <config.h>

#include "controller/probe_budget.h"

#include "base/util.h"

void
probe_budget_init(struct probe_budget *b, unsigned max_orders, unsigned rate, struct ef_time now)
{
    *b = (struct probe_budget){.max_orders = max_orders, .rate = rate, .level = rate, .filled = now};
}

static void
fill(struct probe_budget *b, struct ef_time now)
{
    double passed_s = (double) ef_time_diff_ns(now, b->filled) / 1e9;
    if (passed_s > 0) {
        b->level = EF_MIN(b->level + passed_s * b->rate, (double) b->rate);
        b->filled = now;
    }
}

/* A round larger than all that is allowed at the same time goes alone. */
static bool
has_room(const struct probe_budget *b, unsigned orders)
{
    return !b->orders || b->orders + orders <= b->max_orders;
}

bool
probe_budget_take(struct probe_budget *b, unsigned orders, unsigned probes, struct ef_time now)
{
    fill(b, now);
    if (!has_room(b, orders) || b->level < EF_MIN(probes, b->rate)) {
        b->refused++;
        return false;
    }
    b->orders += orders;
    b->level -= probes;
    b->taken += probes;
    return true;
}

void
probe_budget_return(struct probe_budget *b, unsigned orders)
{
    b->orders -= EF_MIN(orders, b->orders);
}
