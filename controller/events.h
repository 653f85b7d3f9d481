/* SPDX-License-Identifier: Apache-2.0 */
/* What happened, in order: each change of an alert is an event with a number, as
 * JSON text. The newest are kept; whoever passes them on reads at his own pace,
 * from a number of his own, and is told how many he missed when he was too slow.
 *
 *     uint64_t after = 0;
 *     while (events_read(events, &after, &event)) send(event.type, event.data);
 *
 * Readers: event_stream.h (server-sent events), webhooks.h. One event base's
 * thread. */
#ifndef CONTROLLER_EVENTS_H
#define CONTROLLER_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

struct alerts;
struct events;

enum { EVENTS_KEPT = 1000 };

struct event_text {
    uint64_t number;   /* From 1. */
    const char *type;  /* "alert". */
    const char *data;  /* A JSON object on one line; borrowed until the event loop goes on. */
    uint64_t n_missed; /* Events before this one that the reader did not get. */
};

struct events *events_create(struct alerts *alerts);
void events_destroy(struct events *events); /* NULL is fine; before the alerts. */

/* The number of the newest; 0: none yet. */
uint64_t events_newest(const struct events *events);

/* The oldest event after number `*after`, which it moves on; false if there is none. A
 * number from the future (of a controller before us) is taken as 0. */
bool events_read(const struct events *events, uint64_t *after, struct event_text *event);

/* Has `wake` called (from inside what caused it: do no more than note it) after each event. */
typedef void events_wake(void *ctx);
struct events_listener;
struct events_listener *events_listen(struct events *events, events_wake *wake, void *ctx);
void events_unlisten(struct events *events, struct events_listener *listener);

#endif
