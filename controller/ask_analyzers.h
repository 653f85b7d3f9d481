/* SPDX-License-Identifier: Apache-2.0 */
/* A request that every analyzer is asked, and one answer made of all theirs.
 *
 *     ask_analyzers(http, c, &request, 200, merge);
 *
 * replies to `http` once each has answered, or had 5 s to do so: with what `merge`
 * makes of the answers, and "incomplete" in it with those whose part is missing. If
 * none says yes the reply is the first refusal, or 503 no_analyzer. */
#ifndef CONTROLLER_ASK_ANALYZERS_H
#define CONTROLLER_ASK_ANALYZERS_H

#include "controller/controller.h"
#include "controller/fan_out.h"

/* Makes an object of the answers without an error, of which there is one at least.
 * What is in a body comes from outside. */
typedef json_t *answers_merge(const struct controller *c, const struct fan_out_answer answers[], size_t n);

/* `status` is that of a good reply. */
void ask_analyzers(struct ef_http_request *http, struct controller *c, const struct fan_out_request *request,
                   int status, answers_merge *merge);

/* The same, with the reply handed to `then`, which takes it over with its status,
 * once, from the event loop or ask_analyzers_stop(). */
typedef void answers_then(void *ctx, int status, json_t *reply);
void ask_analyzers_then(struct controller *c, const struct fan_out_request *request, int status, answers_merge *merge,
                        answers_then *then, void *ctx);

/* At the controller's end, while all else still stands: who waits is told 503. */
void ask_analyzers_stop(struct controller *c);

#endif
