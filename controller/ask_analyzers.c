/* SPDX-License-Identifier: Apache-2.0 */
/* One reply of all analyzers' answers; see ask_analyzers.h. */
#include <config.h>

#include "controller/ask_analyzers.h"

#include <stdlib.h>

/* One request on its way. */
struct question {
    struct ef_http_request *http;
    const struct controller *controller;
    int status;
    answers_merge *merge;
};

/* What the first one that answered says, since none said yes. */
static void
reply_refusal(struct ef_http_request *http, const struct fan_out_answer answers[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (answers[i].status >= 400 && answers[i].body) {
            ef_http_reply_json(http, answers[i].status, json_incref(answers[i].body));
            return;
        }
    }
    ef_http_reply_error(http, 503, "no_analyzer", -1, "no analyzer answers: %s",
                        n ? answers[0].error : "the configuration names none");
}

static void
on_answers(void *ctx, const struct fan_out_answer answers[], size_t n)
{
    struct question *q = ctx;
    json_t *incomplete = json_array();
    for (size_t i = 0; i < n; i++) {
        if (*answers[i].error) {
            json_array_append_new(
                incomplete, json_pack("{s:s, s:s}", "analyzer", answers[i].peer->name, "error", answers[i].error));
        }
    }
    if (json_array_size(incomplete) == n) {
        reply_refusal(q->http, answers, n);
    } else {
        json_t *answer = q->merge(q->controller, answers, n);
        if (json_array_size(incomplete)) {
            json_object_set(answer, "incomplete", incomplete);
        }
        ef_http_reply_json(q->http, q->status, answer);
    }
    json_decref(incomplete);
    free(q);
}

void
ask_analyzers(struct ef_http_request *http, struct controller *c, const struct fan_out_request *request, int status,
              answers_merge *merge)
{
    struct question *q = malloc(sizeof *q);
    if (!q) {
        abort(); /* Control path. */
    }
    *q = (struct question){http, c, status, merge};
    fan_out_start(c->base, c->configuration.analyzers, c->configuration.n_analyzers, request, on_answers, q);
}
