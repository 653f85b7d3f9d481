/* SPDX-License-Identifier: Apache-2.0 */
/* Events; see events.h. */
#include <config.h>

#include "controller/events.h"

#include <stdlib.h>

#include "controller/alerts.h"

struct events_listener {
    events_wake *wake;
    void *ctx;
    struct events_listener *next;
};

struct events {
    struct alerts *alerts;
    char *kept[EVENTS_KEPT]; /* A ring: number n is at n % EVENTS_KEPT. */
    uint64_t newest;
    struct events_listener *listeners;
};

static void
on_alert(void *ctx, const struct alert *alert)
{
    struct events *e = ctx;
    json_t *shown = alert_show(alert);
    char *text = json_dumps(shown, JSON_COMPACT);
    json_decref(shown);
    if (!text) {
        abort(); /* Control path: out of memory. */
    }
    char **place = &e->kept[++e->newest % EVENTS_KEPT];
    free(*place);
    *place = text;
    for (struct events_listener *l = e->listeners; l; l = l->next) {
        l->wake(l->ctx);
    }
}

struct events *
events_create(struct alerts *alerts)
{
    struct events *e = calloc(1, sizeof *e);
    if (!e) {
        abort(); /* Control path, at the start. */
    }
    e->alerts = alerts;
    alerts_on_change(alerts, on_alert, e);
    return e;
}

void
events_destroy(struct events *e)
{
    if (!e) {
        return;
    }
    alerts_on_change(e->alerts, NULL, NULL);
    for (size_t i = 0; i < EVENTS_KEPT; i++) {
        free(e->kept[i]);
    }
    free(e);
}

uint64_t
events_newest(const struct events *events)
{
    return events->newest;
}

bool
events_read(const struct events *e, uint64_t *after, struct event_text *event)
{
    uint64_t next = *after > e->newest ? 1 : *after + 1;
    uint64_t oldest = e->newest < EVENTS_KEPT ? 1 : e->newest - EVENTS_KEPT + 1;
    if (next > e->newest) {
        return false;
    }
    uint64_t number = next < oldest ? oldest : next;
    *event = (struct event_text){number, "alert", e->kept[number % EVENTS_KEPT], number - next};
    *after = number;
    return true;
}

struct events_listener *
events_listen(struct events *e, events_wake *wake, void *ctx)
{
    struct events_listener *l = malloc(sizeof *l);
    if (!l) {
        abort(); /* Control path. */
    }
    *l = (struct events_listener){wake, ctx, e->listeners};
    e->listeners = l;
    return l;
}

void
events_unlisten(struct events *e, struct events_listener *listener)
{
    for (struct events_listener **p = &e->listeners; *p; p = &(*p)->next) {
        if (*p == listener) {
            *p = listener->next;
            free(listener);
            return;
        }
    }
}
