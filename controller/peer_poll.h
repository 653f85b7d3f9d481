/* SPDX-License-Identifier: Apache-2.0 */
/* Asks analyzers and reshufflers for their /v1/status, all at once, and tells
 * when all have answered or had 2 s to do so.
 *
 *     peer_poll_start(base, &configuration, done, ctx);
 *
 *     static void done(void *ctx, json_t *analyzers, json_t *reshufflers)
 *
 * Each array (borrowed) has an object for each peer, in the configuration's
 * order: {"name", "url", "state": "up"} and what its own status says, or
 * {"name", "url", "state": "down", "error"}. One event base's thread. */
#ifndef CONTROLLER_PEER_POLL_H
#define CONTROLLER_PEER_POLL_H

#include <jansson.h>

#include "controller/configuration.h"

struct event_base;

typedef void peer_poll_done(void *ctx, json_t *analyzers, json_t *reshufflers);

/* `done` is called exactly once, from the event loop; `ctx` must live until
 * then (the loop may end before, then it is not called). */
void peer_poll_start(struct event_base *base, const struct configuration *configuration, peer_poll_done *done,
                     void *ctx);

#endif
