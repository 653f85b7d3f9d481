/* SPDX-License-Identifier: Apache-2.0 */
/* How many packets are dropped; see drop_rate.h. */
#include <config.h>

#include "controller/drop_rate.h"

#include "controller/drop_run.h"
#include "controller/drop_verdict.h"

enum {
    N_MORE = 400,
    LEAST_DROPPED = 2, /* Of some hundred: fewer may have been chance. */
};

static void
on_more(void *ctx)
{
    struct drop *a = ctx;
    const struct probe_round_order *o = probe_round_order(a->round, 0);
    const struct drop_variation base = {DROP_BASE, a->flow, a->at};
    drop_round_keep(a);
    if (!o->is_doubtful) { /* Else some that passed are known, and none that was dropped. */
        a->n_failed += o->failed;
        a->n_probed += o->failed + o->passed;
    }
    drop_pattern_note(&a->pattern, &base, o);
    drop_pattern_solve(&a->pattern);
    if (a->n_failed >= LEAST_DROPPED) {
        drop_finish_random(a);
    } else {
        drop_finish_transient(a);
    }
}

void
drop_rate_start(struct drop *a)
{
    const struct drop_variation base = {DROP_BASE, a->flow, a->at};
    diagnosis_progress(a->d, "%u of %u probes like it were dropped at %s: %d more, for the rate", a->n_failed,
                       a->n_probed, a->at, N_MORE);
    drop_round_begin(a);
    drop_round_add(a, &base, N_MORE);
    probe_round_start(a->round, on_more, a);
}
