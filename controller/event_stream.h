/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/events: server-sent events (the WHATWG's HTML standard, section 9.2), as
 * `curl -N` and a browser's EventSource read them:
 *
 *     id: 17
 *     event: alert
 *     data: {"id": "3f2a...", "kind": "drop", "state": "open", ...}
 *
 * A client that comes again with the header Last-Event-ID goes on where it was, as
 * far back as events are kept; a new one begins with what happens next. One that is
 * too slow gets "event: missed" with how many it did not get. A comment each 15 s
 * shows that the connection lives. */
#ifndef CONTROLLER_EVENT_STREAM_H
#define CONTROLLER_EVENT_STREAM_H

struct event_base;
struct event_streams;
struct events;
struct ef_http_server;

enum { EVENT_STREAMS_MAX = 64 };

struct event_streams *event_streams_create(struct event_base *base, struct events *events, struct ef_http_server *http);
void event_streams_destroy(struct event_streams *streams); /* After the server; NULL is fine. */

#endif
