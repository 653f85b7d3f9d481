/* SPDX-License-Identifier: Apache-2.0 */
/* The watcher of the switches; see watch_switches.h. */
#include <config.h>

#include "controller/watch_switches.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "controller/alerts.h"
#include "controller/collection.h"
#include "controller/controller.h"
#include "controller/copy_watch.h"
#include "controller/copy_ways.h"

enum {
    EVERY_MS = 500,
    HISTORY = 30000 / EVERY_MS,
    SILENT_MS = 1500, /* A switch is silent after so long without a copy, ... */
    SILENT_GAPS =
        8, /* and after so many times the mean time between two copies: chance alone makes one such gap in 3,000. */
    SUSPECT_MS = 1000, /* One that lives answers sooner, most often. */
    SELDOM_MS = 15000, /* One that would take longer than this to be silent sends too seldom to tell. */
    BUSY_LOOKS = 8,
    BUSY_COPIES = 20,         /* At the last looks: if some were lost, that would be known. */
    RESOLVE_AFTER_MS = 30000, /* What is not seen within so long is over. */
    CAUSE_MS = 15000,         /* So long after a link or a switch failed, lost copies are no news. */
    UNSETTLED_MS = 6000,      /* So long after one failed or came back, traces tell of that. */
};

struct watched_switch {
    int64_t copies[HISTORY]; /* A ring: how many had come at each look; the newest is that of `n_looks` - 1. */
    uint64_t n_looks;
    struct ef_time last_copy; /* Monotonic. */
    int64_t silent_ms;        /* After so long without one it is silent; 0: that cannot be told. */
    struct ef_time asked; /* Monotonic: it is, and has been asked whether it lives; 0: it is not, or has answered. */
};

struct switch_watch {
    struct controller *controller;
    struct event *timer;
    struct watched_switch *switches; /* As the topology has them. */
    struct ef_time active_since;     /* Monotonic; 0: we are not the active one. */
    struct copy_watch *copies;
    struct copy_ways *ways;
    struct ef_time failure; /* Monotonic: when a link or switch was last seen to have failed; 0: never. */
    json_t *failing;        /* Those that have, by subject; */
    struct ef_time changed; /* when they became more or fewer; 0: never. */
};

/* --- Alerts -------------------------------------------------------------------- */

static void raise_once(struct switch_watch *w, const char *kind, const char *subject, enum alert_severity severity,
                       json_t *evidence, const char *fmt, ...) EF_PRINTF(6, 7);

/* That it goes on is no news. `evidence` is taken over. */
static void
raise_once(struct switch_watch *w, const char *kind, const char *subject, enum alert_severity severity,
           json_t *evidence, const char *fmt, ...)
{
    char summary[ALERT_SUMMARY_SIZE];
    if (alerts_active(w->controller->alerts, kind, subject)) {
        json_decref(evidence);
        return;
    }
    va_list args;
    va_start(args, fmt);
    vsnprintf(summary, sizeof summary, fmt, args);
    va_end(args);
    struct alert_report report = {kind, subject, severity, summary, evidence};
    alerts_raise(w->controller->alerts, &report);
}

/* Resolves those of `kind` that are active and not in `still`, by subject. */
static void
resolve_others(struct switch_watch *w, const char *kind, const json_t *still, const char *why)
{
    json_t *active = alerts_list(w->controller->alerts, "active", kind), *alert;
    size_t i;
    json_array_foreach(active, i, alert)
    {
        const char *subject = json_string_value(json_object_get(alert, "subject"));
        if (!json_object_get(still, subject)) {
            alerts_resolve(w->controller->alerts, kind, subject, why);
        }
    }
    json_decref(active);
}

/* --- Links --------------------------------------------------------------------- */

/* Whether the port with this OpenFlow number has no carrier; its name in `*name`. */
static bool
is_down(const json_t *ports, json_int_t number, const char **name)
{
    size_t i;
    const json_t *port;
    json_array_foreach(ports, i, port)
    {
        const char *link = json_string_value(json_object_get(port, "link"));
        if (json_integer_value(json_object_get(port, "number")) == number) {
            *name = json_string_value(json_object_get(port, "name"));
            return link && !strcmp(link, "down");
        }
    }
    return false;
}

/* Both ends tell of a link: one subject for both. Adds those that are down, or of which nothing is
 * known (no `ports`: the switch cannot be asked), to `down`. */
static void
look_at_port(struct switch_watch *w, const char *device, const json_t *port, const json_t *ports, json_t *down)
{
    char subject[ALERT_SUBJECT_SIZE];
    const char *peer = json_string_value(json_object_get(json_object_get(port, "peer"), "node")), *name = NULL;
    if (!peer || (ports && !is_down(ports, json_integer_value(json_object_get(port, "number")), &name))) {
        return;
    }
    bool is_first = strcmp(device, peer) < 0;
    snprintf(subject, sizeof subject, "%s-%s", is_first ? device : peer, is_first ? peer : device);
    json_object_set_new(down, subject, json_true());
    if (!ports) {
        return;
    }
    w->failure = ef_time_mono();
    raise_once(
        w, "link", subject, ALERT_CRITICAL,
        json_pack("{s:s, s:s*, s:{s:s, s:s}}", "device", device, "port", name, "link", "from", device, "to", peer),
        "the link between %s and %s is down: port %s of %s has no carrier", device, peer, name ? name : "?", device);
}

static void
look_at_links(struct switch_watch *w, json_t *failing)
{
    const struct controller *c = w->controller;
    json_t *down = json_object();
    size_t i, k;
    const json_t *node, *port;
    json_array_foreach(json_object_get(c->topology.document, "switches"), i, node)
    {
        json_t *ports = managed_switch_is_reached(c->switches[i]) ? managed_switch_ports(c->switches[i]) : NULL;
        json_array_foreach(json_object_get(node, "ports"), k, port)
        {
            look_at_port(w, c->topology.switches[i].name, port, ports, down);
        }
        json_decref(ports);
    }
    resolve_others(w, "link", down, "both ends have carrier");
    json_object_update(failing, down);
    json_decref(down);
}

/* --- Switches ------------------------------------------------------------------ */

/* How long a silence must be to mean something, where `copies` came in `looks`. */
static int64_t
silence_of(int64_t copies, uint64_t looks)
{
    int64_t ms = copies > 0 ? (int64_t) looks * EVERY_MS * SILENT_GAPS / copies : SELDOM_MS;
    return ms < SELDOM_MS ? EF_MAX(ms, SILENT_MS) : 0;
}

/* Notes how many copies came; true if there are new ones. */
static bool
note_copies(struct watched_switch *s, int64_t copies, struct ef_time now)
{
    uint64_t looks = EF_MIN(s->n_looks, HISTORY);
    int64_t newest = looks ? s->copies[(s->n_looks - 1) % HISTORY] : copies;
    int64_t oldest = looks ? s->copies[looks < HISTORY ? 0 : s->n_looks % HISTORY] : copies;
    bool is_new = copies != newest || !looks;
    if (is_new) {
        s->last_copy = now;
        s->silent_ms = silence_of(copies - oldest, looks);
    }
    s->copies[s->n_looks++ % HISTORY] = copies;
    return is_new;
}

static bool
has_silence(const struct watched_switch *s, struct ef_time now)
{
    return s->silent_ms && ef_time_diff_ns(now, s->last_copy) >= s->silent_ms * EF_NS_PER_MS;
}

static void
look_at_switch(struct switch_watch *w, size_t i, json_t *failed)
{
    struct managed_switch *managed = w->controller->switches[i];
    struct watched_switch *s = &w->switches[i];
    const char *name = managed_switch_name(managed);
    struct ef_time now = ef_time_mono();
    struct collection_told told;
    bool is_known = collection_tell(w->controller->collection, name, now, &told), is_first = !s->n_looks;
    bool is_new = is_known && note_copies(s, told.gathered, now);
    bool is_silent = is_known && !is_new && has_silence(s, now);
    /* An alert of the controller before us is over when we have seen so, not when we have seen nothing yet. */
    bool is_doubtful = alerts_active(w->controller->alerts, "switch", name) && (!is_new || is_first);
    if (!is_silent && !is_doubtful) {
        s->asked.ns = 0;
        managed_switch_forget_check(managed);
        return;
    }
    enum switch_life life = managed_switch_check(managed);
    s->asked = life != SWITCH_ASKED ? (struct ef_time){0} : s->asked.ns ? s->asked : now;
    if (life != SWITCH_DEAD) {
        if (is_doubtful && life != SWITCH_ALIVE) {
            json_object_set_new(failed, name, json_true());
        }
        return;
    }
    json_object_set_new(failed, name, json_true());
    w->failure = now;
    raise_once(w, "switch", name, ALERT_CRITICAL, json_pack("{s:s}", "device", name),
               "%s has failed: no copy of a packet comes from it any more, and %s", name,
               managed_switch_is_reached(managed) ? "its ovs-vswitchd does not answer its database"
                                                  : "its database cannot be reached");
}

static void
look_at_switches(struct switch_watch *w, json_t *failing)
{
    json_t *failed = json_object();
    for (size_t i = 0; i < w->controller->topology.n_switches; i++) {
        look_at_switch(w, i, failed);
    }
    resolve_others(w, "switch", failed, "it answers, or its copies come again");
    json_object_update(failing, failed);
    json_decref(failed);
}

/* --- Unsettled ----------------------------------------------------------------- */

/* `failing` is taken over. */
static void
note_failing(struct switch_watch *w, json_t *failing)
{
    if (!json_equal(failing, w->failing)) {
        w->changed = ef_time_mono();
    }
    json_decref(w->failing);
    w->failing = failing;
}

bool
switch_watch_is_unsettled(const struct switch_watch *w)
{
    return w && w->changed.ns && ef_time_diff_ns(ef_time_mono(), w->changed) < UNSETTLED_MS * EF_NS_PER_MS;
}

/* --- Hidden -------------------------------------------------------------------- */

static bool
is_quiet(const struct watched_switch *s)
{
    return !s->n_looks || ef_time_diff_ns(ef_time_mono(), s->last_copy) >= SILENT_MS * EF_NS_PER_MS;
}

static bool
is_suspect(const struct watched_switch *s)
{
    return s->asked.ns && ef_time_diff_ns(ef_time_mono(), s->asked) >= SUSPECT_MS * EF_NS_PER_MS;
}

/* One that does not answer, itself or on the way, has perhaps failed as well. */
static bool
is_behind_suspect(const struct switch_watch *w, const char *name, char what[COPY_SHADOW_TEXT])
{
    const struct topology *t = &w->controller->topology;
    for (size_t i = 0; i < t->n_switches; i++) {
        const struct copy_place place = {t->switches[i].name, NULL};
        if (is_suspect(&w->switches[i]) && (!strcmp(place.from, name) || copy_ways_may_cross(w->ways, name, &place))) {
            snprintf(what, COPY_SHADOW_TEXT, "%.64s, of which nothing is heard", place.from);
            return true;
        }
    }
    return false;
}

/* The one of that name, if no copy of it comes; or NULL. */
static const struct watched_switch *
find_quiet(const struct switch_watch *w, const char *name)
{
    for (size_t i = 0; w && i < w->controller->topology.n_switches; i++) {
        if (!strcmp(w->controller->topology.switches[i].name, name)) {
            return is_quiet(&w->switches[i]) ? &w->switches[i] : NULL;
        }
    }
    return NULL;
}

bool
switch_watch_hides(const struct switch_watch *w, const char *name, char what[COPY_SHADOW_TEXT])
{
    return find_quiet(w, name) && copy_shadow_falls_on(w->ways, w->controller->alerts, name, what);
}

bool
switch_watch_may_hide(const struct switch_watch *w, const char *name, char what[COPY_SHADOW_TEXT])
{
    return switch_watch_hides(w, name, what) || (find_quiet(w, name) && is_behind_suspect(w, name, what));
}

/* --- Copies -------------------------------------------------------------------- */

/* How many copies came at the last looks. */
static int64_t
copies_lately(const struct watched_switch *s)
{
    uint64_t looks = EF_MIN(s->n_looks, BUSY_LOOKS + 1);
    return looks ? s->copies[(s->n_looks - 1) % HISTORY] - s->copies[(s->n_looks - looks) % HISTORY] : 0;
}

static void
look_at_losses(struct switch_watch *w)
{
    const struct topology *t = &w->controller->topology;
    struct ef_time now = ef_time_mono();
    struct copy_heard *heard = calloc(t->n_switches + 1, sizeof *heard);
    char what[COPY_SHADOW_TEXT];
    json_t *gaps = collection_show(w->controller->collection);
    if (!heard) {
        abort(); /* Control path. */
    }
    for (size_t i = 0; i < t->n_switches; i++) {
        const struct watched_switch *s = &w->switches[i];
        heard[i] = (struct copy_heard){.name = t->switches[i].name,
                                       .copies = s->n_looks ? s->copies[(s->n_looks - 1) % HISTORY] : 0,
                                       .is_busy = copies_lately(s) >= BUSY_COPIES,
                                       .is_silent = has_silence(s, now),
                                       .is_hidden = switch_watch_may_hide(w, t->switches[i].name, what)};
    }
    struct copy_look look = {
        .gaps = gaps,
        .heard = heard,
        .n_heard = t->n_switches,
        .has_cause = w->failure.ns && ef_time_diff_ns(now, w->failure) < CAUSE_MS * EF_NS_PER_MS,
        .may_resolve = ef_time_diff_ns(now, w->active_since) > RESOLVE_AFTER_MS * EF_NS_PER_MS,
        .now = now,
    };
    copy_watch_look(w->copies, &look);
    json_decref(gaps);
    free(heard);
}

/* --- Life ---------------------------------------------------------------------- */

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct switch_watch *w = arg;
    if (!state_is_active(w->controller->state)) {
        w->active_since.ns = 0;
    } else {
        w->active_since = w->active_since.ns ? w->active_since : ef_time_mono();
        json_t *failing = json_object();
        look_at_links(w, failing);
        look_at_switches(w, failing);
        note_failing(w, failing);
        look_at_losses(w);
    }
}

struct switch_watch *
switch_watch_start(struct controller *c)
{
    static const struct timeval interval = {0, EVERY_MS * 1000};
    if (!c->configuration.watchers.switches) {
        return NULL;
    }
    struct switch_watch *w = calloc(1, sizeof *w);
    if (!w || !(w->switches = calloc(c->topology.n_switches + 1, sizeof *w->switches)) ||
        !(w->timer = event_new(c->base, -1, EV_PERSIST, on_timer, w)) || event_add(w->timer, &interval)) {
        abort(); /* Control path, at the start. */
    }
    w->controller = c;
    w->copies = copy_watch_create(c->topology.document, c->alerts);
    w->ways = copy_ways_create(c->topology.document);
    w->failing = json_object();
    return w;
}

void
switch_watch_stop(struct switch_watch *w)
{
    if (w) {
        event_free(w->timer);
        copy_watch_destroy(w->copies);
        copy_ways_destroy(w->ways);
        json_decref(w->failing);
        free(w->switches);
        free(w);
    }
}
