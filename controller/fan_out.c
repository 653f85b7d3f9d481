/* SPDX-License-Identifier: Apache-2.0 */
/* One request to several peers; see fan_out.h. */
#include <config.h>

#include "controller/fan_out.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/text.h"
#include "net/http_client.h"

enum { DEADLINE_MS = 5000, MAX_ANSWER_BYTES = 16 << 20 };

struct call {
    struct fan_out *fan_out;
    struct fan_out_answer *answer;
    struct ef_http_call *http; /* NULL when it is over. */
};

struct fan_out {
    fan_out_done *done;
    void *ctx;
    struct event *end; /* Of one without a peer that could be asked. */
    size_t n, n_open;
    struct fan_out_answer *answers;
    struct call *calls;
};

static void
destroy(struct fan_out *f)
{
    for (size_t i = 0; i < f->n; i++) {
        ef_http_call_cancel(f->calls[i].http);
        json_decref(f->answers[i].body);
    }
    event_free(f->end);
    free(f->answers);
    free(f->calls);
    free(f);
}

static void
one_is_over(struct fan_out *f)
{
    if (!--f->n_open) {
        f->done(f->ctx, f->answers, f->n);
        destroy(f);
    }
}

static void
on_done(void *ctx, const struct ef_http_result *result)
{
    struct call *call = ctx;
    struct fan_out_answer *a = call->answer;
    call->http = NULL;
    a->status = result->status;
    a->body = result->status ? json_loadb(result->body, result->body_len, 0, NULL) : NULL;
    if (result->status < 200 || result->status > 299) {
        ef_http_result_explain(result, a->error, sizeof a->error);
        text_make_printable(a->error);
    } else if (!json_is_object(a->body)) {
        snprintf(a->error, sizeof a->error, "its answer is not a JSON object");
    }
    one_is_over(call->fan_out);
}

static void
ask(struct event_base *base, struct call *call, const struct fan_out_request *request, const char *body)
{
    struct ef_error err = EF_ERROR_INIT;
    struct ef_http_call_spec spec = {
        .server = call->answer->peer->url,
        .tls = call->answer->peer->tls,
        .pool = call->answer->peer->pool,
        .target = request->target,
        .method = request->method,
        .program = request->program,
        .body = body,
        .body_len = body ? strlen(body) : 0,
        .content_type = body ? "application/json" : NULL,
        .timeout_ms = DEADLINE_MS,
        .deadline_ms = DEADLINE_MS,
        .max_bytes = MAX_ANSWER_BYTES,
        .on_done = on_done,
        .ctx = call,
    };
    if (ef_http_call_start(base, &spec, &call->http, &err)) {
        call->http = NULL;
        snprintf(call->answer->error, sizeof call->answer->error, "%.299s", err.text);
    } else {
        call->fan_out->n_open++;
    }
}

static void
start_is_over(evutil_socket_t fd, short what, void *arg)
{
    one_is_over(arg);
}

struct fan_out *
fan_out_start(struct event_base *base, const struct peer *peers, size_t n_peers, const struct fan_out_request *request,
              fan_out_done *done, void *ctx)
{
    static const struct timeval at_once = {0};
    struct fan_out *f = calloc(1, sizeof *f);
    if (!f || !(f->answers = calloc(n_peers + 1, sizeof *f->answers)) ||
        !(f->calls = calloc(n_peers + 1, sizeof *f->calls)) || !(f->end = evtimer_new(base, start_is_over, f))) {
        abort(); /* Control path. */
    }
    char *body = request->body ? json_dumps(request->body, JSON_COMPACT) : NULL;
    f->done = done;
    f->ctx = ctx;
    f->n = n_peers;
    f->n_open = 1; /* The start itself, which ends from the event loop. */
    for (size_t i = 0; i < n_peers; i++) {
        f->answers[i].peer = &peers[i];
        f->calls[i] = (struct call){.fan_out = f, .answer = &f->answers[i]};
        ask(base, &f->calls[i], request, body);
    }
    free(body);
    evtimer_add(f->end, &at_once);
    return f;
}

void
fan_out_cancel(struct fan_out *f)
{
    if (f) {
        destroy(f);
    }
}
