/* SPDX-License-Identifier: Apache-2.0 */
/* What others change on switches; see drift_watch.h. */
#include <config.h>

#include "controller/drift_watch.h"

#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/alerts.h"
#include "controller/controller.h"

enum { EVERY_MS = 500, QUIET_S = 60 };

struct drift_watch {
    struct controller *controller;
    struct event *timer;
    struct ef_time began; /* Monotonic. */
    json_t *seen;         /* {switch: {"count", "last"}}: how often, and when that was new (monotonic). */
};

/* Notes how often the switch was changed; true if that is more than before. */
static bool
note(struct drift_watch *w, const char *name, uint64_t count)
{
    json_t *seen = json_object_get(w->seen, name);
    json_int_t before = json_integer_value(json_object_get(seen, "count"));
    if ((json_int_t) count != before) { /* Less: it was removed and is there anew. */
        json_object_set_new(
            w->seen, name,
            json_pack("{s:I, s:I}", "count", (json_int_t) count, "last", (json_int_t) ef_time_mono().ns));
    }
    return (json_int_t) count > before;
}

static void
raise_drift(struct drift_watch *w, const struct managed_switch *s)
{
    char summary[ALERT_SUMMARY_SIZE];
    const char *name = managed_switch_name(s);
    json_t *shown = managed_switch_show(s), *drift = json_object_get(shown, "drift");
    const char *what = json_string_value(json_object_get(drift, "what"));
    snprintf(summary, sizeof summary,
             "others changed what the controller had configured on %s: %s (%" PRIu64
             " times since it manages it); it is put right",
             name, what ? what : "?", managed_switch_drifts(s));
    struct alert_report report = {.kind = "drift",
                                  .subject = name,
                                  .severity = ALERT_WARNING,
                                  .summary = summary,
                                  .evidence = json_pack("{s:s, s:O?}", "device", name, "drift", drift)};
    alerts_raise(w->controller->alerts, &report);
    json_decref(shown);
}

/* An alert of the controller before us is over when we have seen nothing for as long. */
static void
resolve_quiet(struct drift_watch *w)
{
    json_t *active = alerts_list(w->controller->alerts, "active", "drift"), *alert;
    size_t i;
    json_array_foreach(active, i, alert)
    {
        const char *name = json_string_value(json_object_get(alert, "subject"));
        const json_t *last = json_object_get(json_object_get(w->seen, name), "last");
        struct ef_time since = last ? (struct ef_time){json_integer_value(last)} : w->began;
        if (ef_time_diff_ns(ef_time_mono(), since) > QUIET_S * EF_NS_PER_S) {
            alerts_resolve(w->controller->alerts, "drift", name, "nobody changed it for a minute");
        }
    }
    json_decref(active);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct drift_watch *w = arg;
    const struct controller *c = w->controller;
    if (!state_is_active(c->state)) {
        return;
    }
    for (size_t i = 0; i < c->n_switches; i++) {
        if (note(w, managed_switch_name(c->switches[i]), managed_switch_drifts(c->switches[i]))) {
            raise_drift(w, c->switches[i]);
        }
    }
    resolve_quiet(w);
}

struct drift_watch *
drift_watch_start(struct controller *c)
{
    static const struct timeval interval = {0, EVERY_MS * 1000};
    if (!c->configuration.watchers.switches) {
        return NULL;
    }
    struct drift_watch *w = calloc(1, sizeof *w);
    if (!w || !(w->timer = event_new(c->base, -1, EV_PERSIST, on_timer, w)) || event_add(w->timer, &interval)) {
        abort(); /* Control path, at the start. */
    }
    w->controller = c;
    w->began = ef_time_mono();
    w->seen = json_object();
    return w;
}

void
drift_watch_stop(struct drift_watch *w)
{
    if (w) {
        event_free(w->timer);
        json_decref(w->seen);
        free(w);
    }
}
