/* SPDX-License-Identifier: Apache-2.0 */
/* How much the applications may probe: orders at the same time, and probes a
 * second, all of them together. Watchers run by themselves, so that a fault that
 * breaks a thousand flows must not become a flood of probes.
 *
 *     if (probe_budget_take(budget, n_orders, n_probes, now)) send;  else later;
 *     ...
 *     probe_budget_return(budget, n_orders);         // they are over
 *
 * Probes are a bucket that fills at the rate and holds one second of it. A round
 * that is larger than the whole bucket may go when the bucket is full, and leaves
 * it in debt. Pure arithmetic on monotonic times that are passed in; one thread. */
#ifndef CONTROLLER_PROBE_BUDGET_H
#define CONTROLLER_PROBE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"

struct probe_budget {
    unsigned max_orders; /* At the same time. */
    unsigned rate;       /* Probes a second. */

    unsigned orders; /* Now. */
    double level;    /* Probes that may be sent; below 0 in debt. */
    struct ef_time filled;
    uint64_t taken, refused; /* Probes; questions. */
};

void probe_budget_init(struct probe_budget *budget, unsigned max_orders, unsigned rate, struct ef_time now);

/* False: there is no room for them now. */
bool probe_budget_take(struct probe_budget *budget, unsigned orders, unsigned probes, struct ef_time now);
void probe_budget_return(struct probe_budget *budget, unsigned orders);

#endif
