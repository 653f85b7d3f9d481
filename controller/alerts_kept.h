/* SPDX-License-Identifier: Apache-2.0 */
/* Alerts in the state (state.h): those that the active controller has are written
 * there, and a controller that starts, takes over or follows has them from there.
 * What watchers raise and resolve is true at once and written behind; what a person
 * acknowledges or resolves is true once it is kept:
 *
 *     if (!alerts_kept_acknowledge(kept, alert, "monika", on_kept, request)) 409;
 *     static void on_kept(void *ctx, json_t *alert, const char *error) { ... }     // NULL: `error` says why
 *
 * A repetition (count, last time) is written within some seconds, all else at once.
 * One event base's thread. */
#ifndef CONTROLLER_ALERTS_KEPT_H
#define CONTROLLER_ALERTS_KEPT_H

#include <jansson.h>
#include <stdbool.h>

#include "controller/alerts.h"

struct alerts_kept;
struct event_base;
struct state_store;

/* Both are borrowed; before the event loop runs. */
struct alerts_kept *alerts_kept_create(struct event_base *base, struct alerts *alerts, struct state_store *state);

/* Before the alerts and the state; functions of changes on their way are not called. NULL is fine. */
void alerts_kept_destroy(struct alerts_kept *kept);

/* The alert as it is now (borrowed), or NULL with what went wrong. Once, from the event loop. */
typedef void alerts_kept_done(void *ctx, json_t *alert, const char *error);

/* By hand. False, and no more will be heard of it: the alert is resolved. `ctx` is the callback's. */
bool alerts_kept_acknowledge(struct alerts_kept *kept, const struct alert *alert, const char *by,
                             alerts_kept_done *done, void *ctx);
bool alerts_kept_resolve(struct alerts_kept *kept, const struct alert *alert, const char *why, alerts_kept_done *done,
                         void *ctx);

#endif
