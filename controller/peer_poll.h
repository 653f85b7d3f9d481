/* SPDX-License-Identifier: Apache-2.0 */
/* Asks analyzers and reshufflers for their /v1/status, all at once, and tells
 * when all have answered or had 2 s to do so.
 *
 *     polls = peer_polls_create(base, &configuration, ctx);
 *     peer_polls_start(polls, done, request); // As often as one likes, also at the same time.
 *     peer_polls_destroy(polls);              // Before the event base's end.
 *
 *     static void done(void *ctx, void *request, json_t *analyzers, json_t *reshufflers)
 *
 * Each array (borrowed) has an object for each peer, in the configuration's
 * order: {"name", "url", "state": "up"} and what its own status says, or
 * {"name", "url", "state": "down", "error"}. One event base's thread. */
#ifndef CONTROLLER_PEER_POLL_H
#define CONTROLLER_PEER_POLL_H

#include <jansson.h>

#include "controller/configuration.h"

struct event_base;
struct peer_polls;

typedef void peer_poll_done(void *ctx, void *request, json_t *analyzers, json_t *reshufflers);

/* The configuration is borrowed. */
struct peer_polls *peer_polls_create(struct event_base *base, const struct configuration *configuration, void *ctx);

/* `done` is called exactly once: from the event loop, or when the polls are destroyed. */
void peer_polls_start(struct peer_polls *polls, peer_poll_done *done, void *request);

/* Ends those that are not over: peers that have not answered are "down" then. NULL is fine. */
void peer_polls_destroy(struct peer_polls *polls);

#endif
