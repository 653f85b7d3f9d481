/* SPDX-License-Identifier: Apache-2.0 */
/* The application "drop" (drop_run.h), where some or none of the packets like one
 * are dropped: more probes, for the rate and its confidence interval. So few that were
 * dropped that it may have been chance count as none; of few it is asked once more, whether some
 * still are: a moment at which a machine stood still is no rate. */
#ifndef CONTROLLER_DROP_RATE_H
#define CONTROLLER_DROP_RATE_H

#include <stdbool.h>

struct drop;

/* Ends with the verdict. */
void drop_rate_start(struct drop *a);

/* What is known after a round of probes, and what follows; for tests, too. Pure. */
struct drop_rate {
    unsigned dropped, dropped_last; /* Probes, in all and in the last round. */
    unsigned n_repeats;             /* Rounds before that. */
    bool is_less;                   /* In the last one surely less than before. */
    bool is_seen;                   /* What became of nearly all of the last one is known. */
};
enum drop_rate_next { DROP_RATE_AGAIN, DROP_RATE_RANDOM, DROP_RATE_OVER, DROP_RATE_UNKNOWN };

enum drop_rate_next drop_rate_judge(const struct drop_rate *rate);

#endif
