/* SPDX-License-Identifier: Apache-2.0 */
/* Shares of flows, one after the other; see ecmp_sequence.h. */
#include <config.h>

#include "controller/ecmp_sequence.h"

#include <math.h>
#include <string.h>

#include "base/util.h"

/* What is tested against the fair share: so much of the rest goes that way, too. With two ways
 * 65, 80 and 95 % of all. What is less uneven is not worth an alarm. */
static const double part_of_rest[ECMP_SEQUENCE_SHARES] = {0.3, 0.6, 0.9};

void
ecmp_sequence_init(struct ecmp_sequence *s, size_t n_ways, double flows_between)
{
    memset(s, 0, sizeof *s);
    s->n_ways = EF_MIN(n_ways, (size_t) ECMP_SEQUENCE_WAYS);
    s->flows_between = flows_between;
    s->threshold = log(flows_between) + log((double) s->n_ways * ECMP_SEQUENCE_SHARES);
    for (size_t i = 0; i < ECMP_SEQUENCE_SHARES; i++) {
        double fair = 1.0 / (double) s->n_ways, p = fair + part_of_rest[i] * (1 - fair);
        s->log_ratio[i][true] = log(p / fair);
        s->log_ratio[i][false] = log((1 - p) / (1 - fair));
    }
}

static void
begin_again(struct ecmp_sequence *s)
{
    memset(s->suspicions, 0, sizeof s->suspicions);
    s->is_uneven = false;
    s->log_odds = s->fair_again = 0;
}

static void
suspect(struct ecmp_sequence *s, size_t i, size_t share, bool took_it, struct ef_time time)
{
    struct ecmp_suspicion *x = &s->suspicions[i][share];
    if (x->log_odds <= 0) {
        x->since = time;
    }
    x->log_odds = fmax(0, x->log_odds + s->log_ratio[share][took_it]);
    if (x->log_odds > fmax(s->threshold, s->log_odds)) {
        s->is_uneven = true;
        s->log_odds = x->log_odds;
        s->way = i;
        s->share = share;
        s->since = x->since;
    }
}

void
ecmp_sequence_add(struct ecmp_sequence *s, size_t way, struct ef_time time)
{
    if (s->is_uneven) {
        s->fair_again = fmax(0, s->fair_again - s->log_ratio[s->share][way == s->way]);
        if (s->fair_again >= log(ECMP_SEQUENCE_OVER)) {
            begin_again(s);
            return;
        }
    }
    for (size_t i = 0; i < s->n_ways; i++) {
        for (size_t share = 0; share < ECMP_SEQUENCE_SHARES; share++) {
            suspect(s, i, share, way == i, time);
        }
    }
}
