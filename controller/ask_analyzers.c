/* SPDX-License-Identifier: Apache-2.0 */
/* One reply of all analyzers' answers; see ask_analyzers.h. */
#include <config.h>

#include "controller/ask_analyzers.h"

#include <stdlib.h>
#include <sys/queue.h>

/* One request on its way. */
struct question {
    LIST_ENTRY(question) next;
    struct fan_out *fan_out;
    const struct controller *controller;
    int status;
    answers_merge *merge;
    answers_then *then;
    void *ctx;
};

static void
refuse(struct question *q, const char *why)
{
    q->then(q->ctx, 503,
            json_pack("{s:{s:s, s:s+}}", "error", "code", "no_analyzer", "message", "no analyzer answers: ", why));
}

/* What the first one that answered says, since none said yes. */
static void
hand_refusal(struct question *q, const struct fan_out_answer answers[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (answers[i].status >= 400 && json_is_object(json_object_get(answers[i].body, "error"))) {
            q->then(q->ctx, answers[i].status, json_incref(answers[i].body));
            return;
        }
    }
    refuse(q, n ? answers[0].error : "the configuration names none");
}

static void
on_answers(void *ctx, const struct fan_out_answer answers[], size_t n)
{
    struct question *q = ctx;
    LIST_REMOVE(q, next);
    json_t *incomplete = json_array();
    for (size_t i = 0; i < n; i++) {
        if (*answers[i].error) {
            json_array_append_new(
                incomplete, json_pack("{s:s, s:s}", "analyzer", answers[i].peer->name, "error", answers[i].error));
        }
    }
    if (json_array_size(incomplete) == n) {
        hand_refusal(q, answers, n);
    } else {
        json_t *answer = q->merge(q->controller, answers, n);
        if (json_array_size(incomplete)) {
            json_object_set(answer, "incomplete", incomplete);
        }
        q->then(q->ctx, q->status, answer);
    }
    json_decref(incomplete);
    free(q);
}

void
ask_analyzers_then(struct controller *c, const struct fan_out_request *request, int status, answers_merge *merge,
                   answers_then *then, void *ctx)
{
    struct question *q = malloc(sizeof *q);
    if (!q) {
        abort(); /* Control path. */
    }
    *q = (struct question){.controller = c, .status = status, .merge = merge, .then = then, .ctx = ctx};
    LIST_INSERT_HEAD(&c->questions, q, next);
    q->fan_out =
        fan_out_start(c->base, c->configuration.analyzers, c->configuration.n_analyzers, request, on_answers, q);
}

static void
reply(void *ctx, int status, json_t *body)
{
    ef_http_reply_json(ctx, status, body);
}

void
ask_analyzers(struct ef_http_request *http, struct controller *c, const struct fan_out_request *request, int status,
              answers_merge *merge)
{
    ask_analyzers_then(c, request, status, merge, reply, http);
}

void
ask_analyzers_stop(struct controller *c)
{
    struct question *q;
    while ((q = LIST_FIRST(&c->questions))) {
        LIST_REMOVE(q, next);
        fan_out_cancel(q->fan_out);
        refuse(q, "the controller ends");
        free(q);
    }
}
