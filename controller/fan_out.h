/* SPDX-License-Identifier: Apache-2.0 */
/* One request to several peers at once, and all their answers together.
 *
 *     struct fan_out_request request = {.method = "GET", .target = "/v1/counters", .program = "ef-analyzer"};
 *     fan_out_start(base, peers, n_peers, &request, done, ctx);
 *
 *     static void done(void *ctx, const struct fan_out_answer answers[], size_t n)
 *
 * `done` is called exactly once, from the event loop, when each peer has answered or had
 * 5 s to do so, unless it was cancelled before. The answers are borrowed. One event base's thread. */
#ifndef CONTROLLER_FAN_OUT_H
#define CONTROLLER_FAN_OUT_H

#include <jansson.h>

#include "controller/configuration.h"

struct event_base;
struct fan_out;

struct fan_out_request {
    const char *method, *target, *program;
    const json_t *body; /* NULL: none. */
};

struct fan_out_answer {
    const struct peer *peer;
    int status;      /* 0: none came; see `error`. */
    json_t *body;    /* NULL if it is not JSON. */
    char error[300]; /* In words, unless `status` is a 2xx one with a JSON object. */
};

typedef void fan_out_done(void *ctx, const struct fan_out_answer answers[], size_t n);

/* What `request` points at is copied. */
struct fan_out *fan_out_start(struct event_base *base, const struct peer *peers, size_t n_peers,
                              const struct fan_out_request *request, fan_out_done *done, void *ctx);

/* Before `done`; NULL is fine. */
void fan_out_cancel(struct fan_out *f);

#endif
