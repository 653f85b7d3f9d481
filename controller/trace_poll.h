/* SPDX-License-Identifier: Apache-2.0 */
/* Traces as they come: asks the analyzers again and again for those that began since the
 * last time.
 *
 *     struct trace_poll_spec spec = {.filter = "tcp", .condition = "!trace.probe", .period_ms = 5000, .limit = 2000,
 *                                    .take = take, .done = done, .ctx = ctx};
 *     poll = trace_poll_start(c, &spec);
 *
 *     static void take(void *ctx, const json_t *trace)        // oldest first, each once
 *     static void done(void *ctx, struct ef_time until)       // these were all up to then
 *
 * A trace is closed a second after its last copy, and only then seen: each
 * question ends TRACE_POLL_BEHIND_MS before now. Of more than `limit` only the newest come. While
 * the controller is not the active one, nothing is asked. `done` may stop the poll.
 * One event base's thread. */
#ifndef CONTROLLER_TRACE_POLL_H
#define CONTROLLER_TRACE_POLL_H

#include <jansson.h>
#include <stdint.h>

#include "base/time.h"

struct controller;
struct trace_poll;

enum { TRACE_POLL_BEHIND_MS = 1800 };

struct trace_poll_spec {
    const char *filter, *condition; /* Borrowed for its life; NULL: any. */
    int64_t period_ms;
    int64_t back_ms; /* How far the first question goes back. */
    uint64_t limit;
    void (*take)(void *ctx, const json_t *trace);
    void (*done)(void *ctx, struct ef_time until);
    void *ctx;
};

struct trace_poll *trace_poll_start(struct controller *c, const struct trace_poll_spec *spec);
void trace_poll_stop(struct trace_poll *poll); /* NULL is fine. */

#endif
