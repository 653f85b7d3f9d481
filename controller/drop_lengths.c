/* SPDX-License-Identifier: Apache-2.0 */
/* The length from which on packets are dropped; see drop_lengths.h. */
#include <config.h>

#include "controller/drop_lengths.h"

#include <stdlib.h>

#include "base/util.h"
#include "controller/drop_run.h"
#include "controller/drop_verdict.h"

enum {
    N_LENGTHS = 36, /* Of one step of the bisection: two steps from the shortest to the longest. */
    MAX_LENGTH_STEPS = 4,
};

/* The known lengths that are next to each other and fare differently. */
static void
on_lengths(void *ctx)
{
    struct drop *a = ctx;
    struct drop_pattern *p = &a->pattern;
    drop_round_keep(a);
    if (drop_has_ended(a)) {
        return;
    }
    for (unsigned i = 0; i < probe_round_n(a->round); i++) {
        const struct probe_round_order *o = probe_round_order(a->round, i);
        int length = a->variations[i].flow.length;
        bool long_fails = p->fails_length > p->passes_length;
        if (o->failed > o->passed && (long_fails ? length < p->fails_length : length > p->fails_length)) {
            p->fails_length = length;
        } else if (o->passed > o->failed && (long_fails ? length > p->passes_length : length < p->passes_length)) {
            p->passes_length = length;
        }
    }
    drop_tell_so_far(a);
    drop_lengths_start(a);
}

void
drop_lengths_start(struct drop *a)
{
    struct drop_pattern *p = &a->pattern;
    int span = p->fails_length - p->passes_length, last = 0;
    if (abs(span) <= 1 || a->n_steps++ == MAX_LENGTH_STEPS) {
        drop_finish_persistent(a);
        return;
    }
    diagnosis_progress(a->d, "packets of %d bytes pass, of %d are dropped: trying lengths between", p->passes_length,
                       p->fails_length);
    drop_round_begin(a);
    for (int i = 1; i <= N_LENGTHS; i++) {
        struct drop_variation *v = &a->variations[a->n_variations];
        *v = (struct drop_variation){DROP_SIZE, a->flow, a->at};
        v->flow.length = p->passes_length + span * i / (N_LENGTHS + 1);
        if (v->flow.length != last && v->flow.length != p->passes_length && v->flow.length != p->fails_length) {
            last = v->flow.length;
            a->n_variations++;
        }
    }
    a->variations[a->n_variations++] = (struct drop_variation){DROP_BASE, a->flow, a->at};
    drop_round_add_variations(a, DROP_N_VARIED);
    probe_round_start(a->round, on_lengths, a);
}
