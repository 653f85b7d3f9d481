/* SPDX-License-Identifier: Apache-2.0 */
/* The status of all peers; see peer_poll.h. */
#include <config.h>

#include "controller/peer_poll.h"

#include <event2/event.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "controller/text.h"
#include "net/http_client.h"

enum { TIMEOUT_MS = 2000, MAX_STATUS_BYTES = 1 << 20 };

struct peer_poll;

struct question {
    struct peer_poll *poll;
    json_t *result;            /* Borrowed from the poll's arrays. */
    struct ef_http_call *call; /* NULL when it is over. */
};

struct peer_poll {
    TAILQ_ENTRY(peer_poll) next;
    struct peer_polls *polls;
    json_t *analyzers, *reshufflers;
    peer_poll_done *done;
    void *request;
    struct event *start; /* So that the last part is over in the event loop, whatever could be asked. */
    size_t n_open, n;
    struct question questions[];
};

struct peer_polls {
    struct event_base *base;
    const struct configuration *configuration;
    void *ctx;
    TAILQ_HEAD(, peer_poll) list; /* Those that are not over. */
};

static void
set_down(json_t *result, char *error)
{
    json_object_set_new(result, "state", json_string("down"));
    json_object_set_new(result, "error", json_string(text_make_printable(error)));
}

static void
finish(struct peer_poll *poll)
{
    poll->done(poll->polls->ctx, poll->request, poll->analyzers, poll->reshufflers);
    TAILQ_REMOVE(&poll->polls->list, poll, next);
    event_free(poll->start);
    json_decref(poll->analyzers);
    json_decref(poll->reshufflers);
    free(poll);
}

static void
one_is_over(struct peer_poll *poll)
{
    if (!--poll->n_open) {
        finish(poll);
    }
}

/* Before all have answered. */
static void
cut_short(struct peer_poll *poll)
{
    for (size_t i = 0; i < poll->n; i++) {
        struct question *q = &poll->questions[i];
        if (q->call) {
            ef_http_call_cancel(q->call);
            set_down(q->result, (char[]){"was not waited for"});
        }
    }
    finish(poll);
}

static void
on_status(void *ctx, const struct ef_http_result *http)
{
    struct question *q = ctx;
    char error[300];
    q->call = NULL;
    json_t *status = http->status == 200 ? json_loadb(http->body, http->body_len, 0, NULL) : NULL;
    if (json_is_object(status)) {
        json_object_update_missing(q->result, status); /* Its own name and the like do not replace ours. */
        json_object_set_new(q->result, "state", json_string("up"));
        json_object_set_new(q->result, "error", json_null());
    } else if (http->status == 200) {
        set_down(q->result, (char[]){"its status is not JSON"});
    } else {
        set_down(q->result, ef_http_result_explain(http, error, sizeof error));
    }
    json_decref(status);
    one_is_over(q->poll);
}

static void
ask(struct event_base *base, struct question *q, const struct peer *peer, const char *program)
{
    struct ef_error err = EF_ERROR_INIT;
    struct ef_http_call_spec spec = {
        .server = peer->url,
        .tls = peer->tls,
        .pool = peer->pool,
        .target = "/v1/status",
        .program = program,
        .timeout_ms = TIMEOUT_MS,
        .deadline_ms = TIMEOUT_MS,
        .max_bytes = MAX_STATUS_BYTES,
        .on_done = on_status,
        .ctx = q,
    };
    q->poll->n_open++;
    if (ef_http_call_start(base, &spec, &q->call, &err)) {
        q->call = NULL;
        set_down(q->result, err.text);
        one_is_over(q->poll);
    }
}

static struct question *
ask_all(struct event_base *base, struct question *q, const struct peer *peers, size_t n, const char *program,
        struct peer_poll *poll, json_t *results)
{
    for (size_t i = 0; i < n; i++, q++) {
        json_t *result = json_pack("{s:s, s:s}", "name", peers[i].name, "url", peers[i].url);
        json_array_append_new(results, result);
        *q = (struct question){poll, result, NULL};
        ask(base, q, &peers[i], program);
    }
    return q;
}

static void
start_is_over(evutil_socket_t fd, short what, void *arg)
{
    one_is_over(arg);
}

void
peer_polls_start(struct peer_polls *polls, peer_poll_done *done, void *request)
{
    const struct configuration *configuration = polls->configuration;
    size_t n = configuration->n_analyzers + configuration->n_reshufflers;
    struct peer_poll *poll = calloc(1, sizeof *poll + n * sizeof poll->questions[0]);
    static const struct timeval at_once = {0};
    if (!poll || !(poll->start = event_new(polls->base, -1, 0, start_is_over, poll)) ||
        event_add(poll->start, &at_once)) {
        abort(); /* Control path. */
    }
    TAILQ_INSERT_TAIL(&polls->list, poll, next);
    poll->polls = polls;
    poll->analyzers = json_array();
    poll->reshufflers = json_array();
    poll->done = done;
    poll->request = request;
    poll->n_open = 1; /* The start itself. */
    poll->n = n;
    struct question *q = ask_all(polls->base, poll->questions, configuration->analyzers, configuration->n_analyzers,
                                 "ef-analyzer", poll, poll->analyzers);
    ask_all(polls->base, q, configuration->reshufflers, configuration->n_reshufflers, "ef-reshuffler", poll,
            poll->reshufflers);
}

struct peer_polls *
peer_polls_create(struct event_base *base, const struct configuration *configuration, void *ctx)
{
    struct peer_polls *polls = calloc(1, sizeof *polls);
    if (!polls) {
        abort(); /* Control path, at the start. */
    }
    polls->base = base;
    polls->configuration = configuration;
    polls->ctx = ctx;
    TAILQ_INIT(&polls->list);
    return polls;
}

void
peer_polls_destroy(struct peer_polls *polls)
{
    if (polls) {
        while (!TAILQ_EMPTY(&polls->list)) {
            cut_short(TAILQ_FIRST(&polls->list));
        }
        free(polls);
    }
}
