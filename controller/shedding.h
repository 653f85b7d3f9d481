/* SPDX-License-Identifier: Apache-2.0 */
/* Which reshufflers a switch sends its copies to, by how the reshufflers are: one
 * that is congested loses a quarter of its switches after the other, one that is
 * down all of them; when it has been well for a while, they come back the same
 * way. Whatever targets switches have, copies of one packet meet: all
 * reshufflers choose the same analyzer.
 *
 *     shedding_note(&state, is_down, is_congested, now);              // once a second
 *     targets = shedding_targets(configured, states, n, switch_index) // new reference
 *
 * Pure functions on values; time is given. */
#ifndef CONTROLLER_SHEDDING_H
#define CONTROLLER_SHEDDING_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/time.h"

enum {
    SHEDDING_QUARTERS = 4,
    SHEDDING_STEP_MS = 5000,    /* Between one quarter and the next. */
    SHEDDING_RETURN_MS = 30000, /* Being well, before a quarter comes back. */
    SHEDDING_DOWN_AFTER = 2,    /* Questions in a row without an answer. */
};

struct shedding_state {
    const json_t *vips;     /* Its addresses, an array of texts (borrowed); NULL: it is left alone. */
    unsigned n_shed;        /* Quarters of its switches that are elsewhere. */
    unsigned n_no_answer;   /* In a row. */
    struct ef_time changed; /* Monotonic: of the last step, or of the last time that it was not well. */
};

/* Returns true if n_shed has changed. */
bool shedding_note(struct shedding_state *s, bool has_answered, bool is_congested, struct ef_time now_mono);

/* The targets of the switch with this number: `configured` without the VIPs of
 * the reshufflers that its quarter has left; if none is left, the VIPs of those
 * that have shed nothing, of the same IP version; if there are none, `configured`. */
json_t *shedding_targets(const json_t *configured, const struct shedding_state states[], size_t n, size_t number);

#endif
