/* SPDX-License-Identifier: Apache-2.0 */
/* The rounds of a run; see drop_run.h. */
#include <config.h>

#include "controller/drop_run.h"

#include <stdio.h>
#include <string.h>

enum { SEEN_PERCENT = 90 };

void
drop_round_add(struct drop *a, const struct drop_variation *v, unsigned count)
{
    const char *via[2] = {a->detour, v->at};
    bool has_detour = *a->detour && !strcmp(v->at, a->at);
    json_t *packet = probe_flow_packet(&v->flow, has_detour ? via : via + 1, has_detour ? 2 : 1);
    probe_round_add(a->round, packet, count, v->at);
}

void
drop_round_begin(struct drop *a)
{
    probe_round_destroy(a->round);
    a->round = probe_round_create(a->c);
    a->n_variations = 0;
}

void
drop_round_add_variations(struct drop *a, unsigned count)
{
    for (size_t i = 0; i < a->n_variations; i++) {
        drop_round_add(a, &a->variations[i], count);
    }
}

void
drop_round_keep(struct drop *a)
{
    for (unsigned i = 0; i < probe_round_n(a->round); i++) {
        const struct probe_round_order *o = probe_round_order(a->round, i);
        if (*o->id) {
            diagnosis_evidence_add(a->d, "probes", json_string(o->id));
        }
        if (o->failed && *o->a_trace) {
            diagnosis_evidence_add(a->d, "traces", json_string(o->a_trace));
        }
    }
}

void
drop_round_note(struct drop *a, unsigned skip)
{
    for (size_t i = 0; i < a->n_variations; i++) {
        const struct probe_round_order *o = probe_round_order(a->round, (unsigned) i + skip);
        if (o) {
            drop_pattern_note(&a->pattern, &a->variations[i], o);
        }
    }
    drop_pattern_solve(&a->pattern);
}

bool
drop_round_is_seen(const struct drop *a, char why[DROP_WHY_SIZE])
{
    unsigned seen = 0, asked = 0;
    bool is_doubtful = false;
    for (unsigned i = 0; i < probe_round_n(a->round); i++) {
        const struct probe_round_order *o = probe_round_order(a->round, i);
        seen += o->passed + o->failed;
        asked += o->count;
        is_doubtful = is_doubtful || o->is_doubtful;
    }
    snprintf(why, DROP_WHY_SIZE, "only %u of %u probes were seen%s", seen, asked,
             is_doubtful ? ", and copies are being lost" : "");
    return !is_doubtful && 100ULL * seen >= (unsigned long long) SEEN_PERCENT * asked;
}
