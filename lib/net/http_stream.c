/* SPDX-License-Identifier: Apache-2.0 */
/* Chunked replies that are produced as the client takes them; see
 * http_server.h. Every call of the producer comes from an event of its own,
 * never from inside evhttp, so that it may end the stream at any point. */
#include <config.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <stdlib.h>

#include "net/http_server_private.h"

struct ef_http_stream {
    struct event *wake;
    ef_http_produce *produce;
    ef_http_gone *gone;
    void *ctx;
    bool drained; /* Everything written so far has left our buffers. */
};

static void
call_producer(evutil_socket_t fd, short what, void *arg)
{
    struct ef_http_request *req = arg;
    if (req->stream->drained) {
        req->stream->produce(req, req->stream->ctx);
    }
}

static struct bufferevent *
bufferevent_of(const struct ef_http_request *req)
{
    return evhttp_connection_get_bufferevent(evhttp_request_get_connection(req->evreq));
}

/* While we send, silence of the client is no reason to drop it; only taking
 * nothing is. */
static void
set_read_timeout(const struct ef_http_request *req, bool on)
{
    static const struct timeval timeout = {.tv_sec = EF_HTTP_IDLE_TIMEOUT_S};
    bufferevent_set_timeouts(bufferevent_of(req), on ? &timeout : NULL, &timeout);
}

void
ef_http_stream_start(struct ef_http_request *req, const char *content_type, ef_http_produce *produce,
                     ef_http_gone *gone, void *ctx)
{
    struct ef_http_stream *stream = calloc(1, sizeof *stream);
    struct event *wake = req->connection ? evtimer_new(req->server->base, call_producer, req) : NULL;
    if (!stream || !wake) { /* Without a client the producer must still be told. */
        free(stream);
        if (wake) {
            event_free(wake);
        }
        ef_http_reply_error(req, 503, "out_of_memory", -1, "out of memory");
        gone(ctx);
        return;
    }
    *stream = (struct ef_http_stream){wake, produce, gone, ctx, true};
    req->stream = stream;
    req->server->stats.streams_open++;
    evhttp_add_header(evhttp_request_get_output_headers(req->evreq), "Content-Type", content_type);
    ef_http_request_observe(req, 200);
    evhttp_send_reply_start(req->evreq, 200, NULL);
    set_read_timeout(req, false);
    event_active(wake, EV_TIMEOUT, 1);
}

static void
on_drained(struct evhttp_connection *connection, void *arg)
{
    struct ef_http_request *req = arg;
    req->stream->drained = true;
    ef_http_connection_drained(req->connection);
    event_active(req->stream->wake, EV_TIMEOUT, 1);
}

void
ef_http_stream_write(struct ef_http_request *req, struct evbuffer *data)
{
    /* An empty chunk would end the body. */
    if (evbuffer_get_length(data)) {
        req->stream->drained = false;
        ef_http_connection_wrote(req->connection);
        evhttp_send_reply_chunk_with_cb(req->evreq, data, on_drained, req);
    }
}

void
ef_http_stream_wake(struct ef_http_request *req)
{
    if (req->stream->drained) {
        event_active(req->stream->wake, EV_TIMEOUT, 1);
    }
}

size_t
ef_http_stream_pending(const struct ef_http_request *req)
{
    return evbuffer_get_length(bufferevent_get_output(bufferevent_of(req)));
}

static void
release_stream(struct ef_http_request *req)
{
    req->server->stats.streams_open--;
    event_free(req->stream->wake);
    free(req->stream);
    req->stream = NULL;
}

void
ef_http_stream_end(struct ef_http_request *req)
{
    struct evhttp_request *evreq = req->evreq;
    set_read_timeout(req, true);
    release_stream(req);
    ef_http_request_destroy(req);
    evhttp_send_reply_end(evreq);
}

void
ef_http_stream_cancel(struct ef_http_request *req)
{
    ef_http_gone *gone = req->stream->gone;
    void *ctx = req->stream->ctx;
    release_stream(req);
    ef_http_request_destroy(req);
    gone(ctx);
}
