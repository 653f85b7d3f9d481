/* SPDX-License-Identifier: Apache-2.0 */
/* One analyzer's Parquet, passed on; see traces_parquet.h. */
#include <config.h>

#include "controller/traces_parquet.h"

#include <event2/buffer.h>
#include <stdlib.h>
#include <string.h>

#include "net/http_client.h"

enum {
    SILENCE_MS = 10000, /* It says at least once a second that it is at it. */
    MAX_WAITING = 1 << 20,
};

/* An answer on its way through. */
struct passage {
    struct ef_http_request *http;
    struct ef_http_call *call; /* NULL: over. */
    struct evbuffer *waiting;  /* Not yet given to the client. */
    bool is_streaming, is_paused;
};

static void
passage_free(void *ctx)
{
    struct passage *p = ctx;
    ef_http_call_cancel(p->call);
    evbuffer_free(p->waiting);
    free(p);
}

static void
produce(struct ef_http_request *http, void *ctx)
{
    struct passage *p = ctx;
    ef_http_stream_write(http, p->waiting);
    if (!p->call) {
        passage_free(p);
        ef_http_stream_end(http);
    } else if (p->is_paused) {
        p->is_paused = false;
        ef_http_call_resume(p->call);
    }
}

static void
on_data(void *ctx, const char *data, size_t len)
{
    struct passage *p = ctx;
    evbuffer_add(p->waiting, data, len);
    if (evbuffer_get_length(p->waiting) > MAX_WAITING && !p->is_paused) {
        p->is_paused = true;
        ef_http_call_pause(p->call);
    }
    if (!p->is_streaming) {
        p->is_streaming = true;
        ef_http_stream_start(p->http, "application/vnd.apache.parquet", produce, passage_free, p);
    } else if (!ef_http_stream_pending(p->http)) {
        ef_http_stream_wake(p->http);
    }
}

static void
on_done(void *ctx, const struct ef_http_result *result)
{
    struct passage *p = ctx;
    char why[300];
    p->call = NULL;
    if (p->is_streaming) {
        ef_http_stream_wake(p->http);
        return;
    }
    ef_http_result_explain(result, why, sizeof why);
    ef_http_reply_error(p->http, 503, "no_analyzer", -1, "%s", why);
    passage_free(p);
}

/* The analyzer that is asked, or NULL after an error reply. */
static const struct peer *
find_analyzer(const struct controller *c, struct ef_http_request *req)
{
    const char *name = ef_http_param(req, "analyzer");
    const struct configuration *configuration = &c->configuration;
    for (size_t i = 0; i < configuration->n_analyzers; i++) {
        if (name ? !strcmp(configuration->analyzers[i].name, name) : configuration->n_analyzers == 1) {
            return &configuration->analyzers[i];
        }
    }
    ef_http_reply_error(req, 400, "bad_analyzer", -1,
                        name ? "analyzer: there is no '%.40s'"
                             : "format=parquet is one analyzer's answer: say which with analyzer=NAME%.0s",
                        name ? name : "");
    return NULL;
}

void
traces_parquet_reply(struct controller *c, struct ef_http_request *req, const struct trace_question *question)
{
    const struct peer *analyzer = find_analyzer(c, req);
    if (!analyzer) {
        return;
    }
    struct evbuffer *url = evbuffer_new();
    struct passage *p = calloc(1, sizeof *p);
    if (!url || !p || !(p->waiting = evbuffer_new())) {
        abort(); /* Control path. */
    }
    p->http = req;
    struct ef_error err = EF_ERROR_INIT;
    struct ef_http_call_spec spec = {
        .server = analyzer->url,
        .tls = analyzer->tls,
        .pool = analyzer->pool,
        .target = trace_query_target(url, question, "parquet"),
        .program = "ef-analyzer",
        .timeout_ms = SILENCE_MS,
        .on_data = on_data,
        .on_done = on_done,
        .ctx = p,
    };
    if (ef_http_call_start(c->base, &spec, &p->call, &err)) {
        ef_http_reply_error(req, 503, "no_analyzer", -1, "%s", err.text);
        passage_free(p);
    }
    evbuffer_free(url);
}
