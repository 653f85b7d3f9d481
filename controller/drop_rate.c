/* SPDX-License-Identifier: Apache-2.0 */
/* How many packets are dropped; see drop_rate.h. */
#include <config.h>

#include "controller/drop_rate.h"

#include "controller/drop_run.h"
#include "controller/drop_verdict.h"
#include "controller/statistics.h"

enum {
    N_MORE = 400,
    MAX_REPEATS = 1,
    LEAST_DROPPED = 2, /* Of some hundred: fewer may have been chance. */
};

/* What was dropped before and surely is not so often any more has ended meanwhile: only
 * what is now counts. */
static void
take_rate(struct drop *a, const struct probe_round_order *o)
{
    if (statistics_is_less(o->failed, o->failed + o->passed, a->n_failed, a->n_probed)) {
        diagnosis_progress(a->d, "%u of %u were dropped before, %u of %u now: it has ended", a->n_failed, a->n_probed,
                           o->failed, o->failed + o->passed);
        a->n_failed = a->n_probed = 0;
        a->was_dropped = true;
    }
    a->n_failed += o->failed;
    a->n_probed += o->failed + o->passed;
}

static void
on_more(void *ctx)
{
    struct drop *a = ctx;
    const struct probe_round_order *o = probe_round_order(a->round, 0);
    const struct drop_variation base = {DROP_BASE, a->flow, a->at};
    char why[DROP_WHY_SIZE];
    bool is_seen = drop_round_is_seen(a, why),
         is_less = statistics_is_less(o->failed, o->failed + o->passed, a->n_failed, a->n_probed);
    drop_round_keep(a);
    if (!o->is_doubtful) { /* Else some that passed are known, and none that was dropped. */
        take_rate(a, o);
    }
    drop_pattern_note(&a->pattern, &base, o);
    drop_pattern_solve(&a->pattern);
    bool is_open = a->n_failed < LEAST_DROPPED ? !is_seen : is_less;
    if (is_open && a->n_repeats++ < MAX_REPEATS) {
        drop_rate_start(a);
    } else if (a->n_failed >= LEAST_DROPPED) {
        drop_finish_random(a);
    } else if (is_seen) {
        drop_finish_transient(a);
    } else {
        drop_finish_unprobed(a, why);
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
