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
    LEAST_DROPPED = 2, /* Of some hundred: fewer may have been chance, */
    FEW_DROPPED = 12,  /* and fewer one moment's, when a machine stood still: only if it goes on. */
};

enum drop_rate_next
drop_rate_judge(const struct drop_rate *r)
{
    bool is_none = r->dropped < LEAST_DROPPED, is_few = !is_none && r->dropped < FEW_DROPPED;
    bool is_open = is_none ? !r->is_seen : r->is_less || is_few;
    if (is_open && r->n_repeats < MAX_REPEATS) {
        return DROP_RATE_AGAIN;
    }
    if (!is_none && (!is_few || r->dropped_last)) {
        return DROP_RATE_RANDOM;
    }
    return r->is_seen ? DROP_RATE_OVER : DROP_RATE_UNKNOWN;
}

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
    struct drop_rate rate = {.dropped = a->n_failed,
                             .dropped_last = o->failed,
                             .n_repeats = a->n_repeats,
                             .is_less = is_less,
                             .is_seen = is_seen};
    switch (drop_rate_judge(&rate)) {
    case DROP_RATE_AGAIN:
        a->n_repeats++;
        drop_rate_start(a);
        break;
    case DROP_RATE_RANDOM:
        drop_finish_random(a);
        break;
    case DROP_RATE_OVER:
        a->was_dropped = a->was_dropped || a->n_failed >= LEAST_DROPPED;
        drop_finish_transient(a);
        break;
    case DROP_RATE_UNKNOWN:
        drop_finish_unprobed(a, why);
        break;
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
