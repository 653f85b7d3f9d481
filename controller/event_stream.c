/* SPDX-License-Identifier: Apache-2.0 */
/* Server-sent events; see event_stream.h. */
#include <config.h>

#include "controller/event_stream.h"

#include <event2/buffer.h>
#include <event2/event.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/parse_number.h"
#include "controller/events.h"
#include "net/http_server.h"

enum { ALIVE_S = 15, BATCH = 64 };

struct stream {
    struct event_streams *streams;
    struct ef_http_request *http;
    uint64_t after;  /* The number of the last event that was sent. */
    bool says_alive; /* A comment is due. */
    struct stream *next, **prev;
};

struct event_streams {
    struct events *events;
    struct events_listener *listener;
    struct event *alive;
    struct stream *list;
    unsigned n;
};

static void
stream_destroy(struct stream *s)
{
    *s->prev = s->next;
    if (s->next) {
        s->next->prev = s->prev;
    }
    s->streams->n--;
    free(s);
}

static void
on_gone(void *ctx)
{
    stream_destroy(ctx);
}

static void
add_event(struct evbuffer *out, const struct event_text *event)
{
    if (event->n_missed) {
        evbuffer_add_printf(out, "event: missed\ndata: {\"events\":%" PRIu64 "}\n\n", event->n_missed);
    }
    evbuffer_add_printf(out, "id: %" PRIu64 "\nevent: %s\ndata: %s\n\n", event->number, event->type, event->data);
}

static void
produce(struct ef_http_request *req, void *ctx)
{
    struct stream *s = ctx;
    struct event_text event;
    struct evbuffer *out = evbuffer_new();
    if (!out) {
        abort(); /* Control path. */
    }
    for (unsigned i = 0; i < BATCH && events_read(s->streams->events, &s->after, &event); i++) {
        add_event(out, &event);
    }
    if (s->says_alive && !evbuffer_get_length(out)) {
        evbuffer_add_printf(out, ": alive\n\n");
    }
    s->says_alive = false;
    if (evbuffer_get_length(out)) {
        ef_http_stream_write(req, out);
    }
    evbuffer_free(out);
}

static void
get_events(struct ef_http_request *req, void *ctx)
{
    struct event_streams *streams = ctx;
    const char *last = ef_http_header(req, "Last-Event-ID");
    struct ef_error err = EF_ERROR_INIT;
    uint64_t after = events_newest(streams->events);
    if (last && ef_parse_u64(last, "Last-Event-ID", 0, UINT64_MAX - 1, &after, &err)) {
        ef_http_reply_error(req, 400, "bad_query", -1, "%s", err.text);
        return;
    }
    struct stream *s = streams->n < EVENT_STREAMS_MAX ? malloc(sizeof *s) : NULL;
    if (!s) {
        ef_http_reply_error(req, 503, "too_many", -1, "%u others read events; ask for /v1/alerts instead", streams->n);
        return;
    }
    *s = (struct stream){streams, req, after, true, streams->list, &streams->list};
    if (s->next) {
        s->next->prev = &s->next;
    }
    streams->list = s;
    streams->n++;
    ef_http_stream_start(req, "text/event-stream", produce, on_gone, s);
}

static void
wake_all(void *ctx)
{
    struct event_streams *streams = ctx;
    for (struct stream *s = streams->list; s; s = s->next) {
        ef_http_stream_wake(s->http);
    }
}

static void
on_alive(evutil_socket_t fd, short what, void *ctx)
{
    struct event_streams *streams = ctx;
    for (struct stream *s = streams->list; s; s = s->next) {
        s->says_alive = true;
    }
    wake_all(streams);
}

struct event_streams *
event_streams_create(struct event_base *base, struct events *events, struct ef_http_server *http)
{
    static const struct ef_http_route routes[] = {{"GET", "/v1/events", NULL, get_events}, {0}};
    static const struct timeval interval = {ALIVE_S, 0};
    struct event_streams *streams = calloc(1, sizeof *streams);
    if (!streams || !(streams->alive = event_new(base, -1, EV_PERSIST, on_alive, streams)) ||
        event_add(streams->alive, &interval)) {
        abort(); /* Control path, at the start. */
    }
    streams->events = events;
    streams->listener = events_listen(events, wake_all, streams);
    ef_http_server_add_routes(http, routes, streams);
    return streams;
}

void
event_streams_destroy(struct event_streams *streams)
{
    if (streams) {
        events_unlisten(streams->events, streams->listener);
        event_free(streams->alive);
        free(streams);
    }
}
