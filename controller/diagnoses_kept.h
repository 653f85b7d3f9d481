/* SPDX-License-Identifier: Apache-2.0 */
/* Diagnoses in the state (state.h): what was found outlives the controller that
 * found it, and the standby shows it. What an application is doing does not: one
 * that ran when its controller ended is told as failed, interrupted, by the next.
 * One event base's thread. */
#ifndef CONTROLLER_DIAGNOSES_KEPT_H
#define CONTROLLER_DIAGNOSES_KEPT_H

#include "controller/diagnoses.h"
#include "controller/state.h"

struct diagnoses_kept;
struct event_base;

/* All are borrowed; before the event loop runs. */
struct diagnoses_kept *diagnoses_kept_create(struct event_base *base, struct diagnoses *diagnoses,
                                             struct state_store *state);
void diagnoses_kept_destroy(struct diagnoses_kept *kept); /* Before the diagnoses and the state. NULL is fine. */

/* Keeps `d` as it is now; `done` as state_put() has it. */
void diagnoses_kept_put(struct diagnoses_kept *kept, const struct diagnosis *d, state_done *done, void *ctx);

#endif
