/* SPDX-License-Identifier: Apache-2.0 */
/* Whether an analyzer is to be trusted with copies, from how it answered when it
 * was asked: down after EF_HEALTH_BAD_TO_DOWN questions without a good answer in
 * a row, up again after several good ones in a row. How many is doubled each
 * time that it goes down again within EF_HEALTH_CALM_MS, up to a bound: one that
 * flaps stays away for longer. A new one counts as up, so that a reshuffler that
 * is started again does not hold copies back.
 *
 *     if (ef_health_note(&health, is_good, now)) make a new plan;
 *
 * Time is given, nothing is waited for. */
#ifndef RESHUFFLER_HEALTH_H
#define RESHUFFLER_HEALTH_H

#include <stdbool.h>

#include "base/time.h"

/* Asked this often, each question answered within the timeout, an analyzer that
 * is killed is noticed in 400 ms and one that hangs in 900 ms. */
enum {
    EF_HEALTH_ASK_EVERY_MS = 200,
    EF_HEALTH_TIMEOUT_MS = 350,
    EF_HEALTH_BAD_TO_DOWN = 2,
    EF_HEALTH_GOOD_TO_UP = 3,
    EF_HEALTH_GOOD_TO_UP_MAX = 48,
    EF_HEALTH_CALM_MS = 60000,
};

struct ef_health {
    bool is_down;
    bool has_answered;    /* Ever. */
    unsigned n_in_row;    /* Answers in a row that speak for a change. */
    unsigned n_to_up;     /* Good ones in a row that it takes. */
    unsigned n_failures;  /* Times that it went down. */
    struct ef_time since; /* Monotonic: of the last change; zero if there was none. */
};

/* A zeroed one is up. Returns true if up has become down or down up. */
bool ef_health_note(struct ef_health *health, bool is_good, struct ef_time now_mono);

#endif
