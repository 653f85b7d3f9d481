/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps debug sessions within the capacity; see debug_watch.h. */
#include <config.h>

#include "controller/debug_watch.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/util.h"
#include "controller/controller.h"
#include "controller/fan_out.h"

enum { LOOK_MS = 500, WINDOW = 4, RECENT = 2 };

/* How much beyond is not a matter of the clock: over the window, and over its last second. */
static const double tolerance = 1.01, recent_tolerance = 1.25;

/* What all analyzers together had got at a time. */
struct total {
    struct ef_time at;
    int64_t copies;
};

struct debug_watch {
    struct controller *controller;
    struct debug_sessions *sessions;
    struct event *timer;
    struct fan_out *call;
    struct total totals[WINDOW + 1]; /* Newest last. */
    size_t n_totals;
    bool has_answers;       /* Of all analyzers, when they were asked last. */
    uint64_t n_changes;     /* Of sessions, that the totals are younger than. */
    struct ef_time settled; /* Monotonic: until then copies are still made as before the last change. */
};

/* --- Looking -------------------------------------------------------------- */

static const struct debug_session *
newest_active(const struct debug_watch *w)
{
    const struct debug_session *s, *newest = NULL;
    TAILQ_FOREACH(s, debug_sessions_all(w->sessions), next)
    {
        newest = s->is_active && ef_time_before(ef_time_real(), s->end) ? s : newest;
    }
    return newest;
}

/* One that begins anew has got fewer: then the window does, too. */
static void
add_total(struct debug_watch *w, int64_t copies)
{
    if (w->n_totals && copies < w->totals[w->n_totals - 1].copies) {
        w->n_totals = 0;
    }
    if (w->n_totals == EF_ARRAY_SIZE(w->totals)) {
        memmove(&w->totals[0], &w->totals[1], WINDOW * sizeof w->totals[0]);
        w->n_totals--;
    }
    w->totals[w->n_totals++] = (struct total){ef_time_mono(), copies};
}

static double
bytes_each(const struct debug_watch *w)
{
    const struct debug_session *s = newest_active(w);
    double bytes = debug_rates_copies(debug_sessions_rates(w->sessions)).bytes_each;
    return bytes > 0 ? bytes : s ? s->traffic.bytes_per_copy : 0;
}

/* Over the last `n` intervals; there are as many. */
static struct debug_load
load_over(const struct debug_watch *w, size_t n)
{
    const struct total *last = &w->totals[w->n_totals - 1], *first = last - n;
    double s = (double) ef_time_diff_ns(last->at, first->at) / EF_NS_PER_S;
    double copies_per_s = (double) (last->copies - first->copies) / s;
    return (struct debug_load){copies_per_s, copies_per_s * bytes_each(w) * 8};
}

bool
debug_watch_measured(const struct debug_watch *w, struct debug_load *load)
{
    if (w->n_totals > WINDOW && w->n_changes == debug_sessions_changes(w->sessions)) {
        *load = load_over(w, WINDOW);
    } else if (newest_active(w) && !w->has_answers) {
        double copies_per_s = debug_rates_copies(debug_sessions_rates(w->sessions)).per_s;
        *load = (struct debug_load){copies_per_s, copies_per_s * bytes_each(w) * 8};
    } else {
        return false;
    }
    return true;
}

/* --- Shedding ------------------------------------------------------------- */

/* What nobody else accounts for is the newest's. */
static struct debug_load
load_of_newest(const struct debug_watch *w, const struct debug_session *newest, const struct debug_load *measured)
{
    struct debug_load own = debug_session_load(newest), used = debug_sessions_used(w->sessions);
    own.copies_per_s += EF_MAX(measured->copies_per_s - used.copies_per_s, 0);
    own.bits_per_s += EF_MAX(measured->bits_per_s - used.bits_per_s, 0);
    own.copies_per_s = EF_MIN(own.copies_per_s, measured->copies_per_s);
    own.bits_per_s = EF_MIN(own.bits_per_s, measured->bits_per_s);
    return own;
}

static void
shed(struct debug_watch *w, const struct debug_session *s, const struct debug_load *measured)
{
    const struct debug_load *capacity = &w->controller->configuration.capacity;
    struct debug_load own = load_of_newest(w, s, measured);
    int bits = debug_bits_to_shed(capacity, measured, &own, s->bits);
    char note[400], what[60], time[EF_TIME_TEXT_SIZE];
    snprintf(what, sizeof what, bits < 0 ? "it is paused" : "it marks 1 packet of %d now", 1 << EF_MAX(bits, 0));
    snprintf(note, sizeof note, "%.0f copies/s and %.0f bits/s were traced, the capacity is %.0f and %.0f; %s",
             measured->copies_per_s, measured->bits_per_s, capacity->copies_per_s, capacity->bits_per_s, what);
    ef_log_warn("debug", "session %s: %s", s->id, note);
    json_t *document = json_deep_copy(s->document);
    json_object_set_new(document, "note", json_string(note));
    json_object_set_new(document, "changed", json_string(ef_time_format(ef_time_real(), time)));
    if (bits < 0) {
        json_object_set_new(document, "state", json_string("paused"));
    } else {
        json_object_set_new(document, "sample", json_integer(1 << bits));
        /* What it costs is what was measured, not what was expected. */
        json_object_set_new(json_object_get(document, "traffic"), "packets_per_s",
                            json_real(own.copies_per_s / s->traffic.copies * (double) (1U << s->bits)));
    }
    debug_sessions_alert(w->sessions, s->id, note);
    debug_sessions_put(w->sessions, s->id, document, NULL, NULL);
}

static bool
is_beyond(const struct debug_watch *w, const struct debug_load *measured, double factor)
{
    const struct debug_load *capacity = &w->controller->configuration.capacity;
    const struct debug_load limit = {capacity->copies_per_s * factor, capacity->bits_per_s * factor};
    return !debug_fits(&limit, &(struct debug_load){0, 0}, measured);
}

/* Begins to count anew when a session has changed. True if that is long enough ago. */
static bool
has_settled(struct debug_watch *w)
{
    if (w->n_changes != debug_sessions_changes(w->sessions)) {
        w->n_changes = debug_sessions_changes(w->sessions);
        w->n_totals = 0;
        w->settled = ef_time_add_ms(ef_time_mono(), DEBUG_SETTLE_MS);
    }
    return ef_time_before(w->settled, ef_time_mono());
}

/* What is beyond now may be more than over the window, and is what has to go. */
static void
judge(struct debug_watch *w)
{
    struct debug_load measured, recent = {0};
    const struct debug_session *newest = newest_active(w);
    if (!newest || !debug_watch_measured(w, &measured)) {
        return;
    }
    recent = w->n_totals > RECENT ? load_over(w, RECENT) : measured;
    bool beyond = is_beyond(w, &measured, tolerance) || is_beyond(w, &recent, recent_tolerance);
    if (beyond && has_settled(w) && state_is_active(w->controller->state)) {
        shed(w, newest, recent.copies_per_s > measured.copies_per_s ? &recent : &measured);
    }
}

/* --- Asking --------------------------------------------------------------- */

static void
on_answers(void *ctx, const struct fan_out_answer answers[], size_t n)
{
    struct debug_watch *w = ctx;
    int64_t copies = 0;
    bool all = n > 0;
    w->call = NULL;
    for (size_t i = 0; i < n; i++) {
        const json_t *received = *answers[i].error ? NULL : json_object_get(answers[i].body, "copies_received");
        all = all && json_is_integer(received);
        copies += json_integer_value(received);
    }
    w->has_answers = all;
    if (!has_settled(w)) {
        return;
    }
    if (all) {
        add_total(w, copies);
    } else {
        w->n_totals = 0;
    }
    judge(w);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
    static const struct fan_out_request request = {.method = "GET", .target = "/v1/status", .program = "ef-analyzer"};
    struct debug_watch *w = arg;
    const struct configuration *c = &w->controller->configuration;
    if (!newest_active(w)) {
        w->n_totals = 0;
        w->has_answers = true;
    } else if (!w->call && c->n_analyzers) {
        w->call = fan_out_start(w->controller->base, c->analyzers, c->n_analyzers, &request, on_answers, w);
    } else if (!w->call) {
        w->has_answers = false;
        judge(w);
    }
}

/* --- Life ----------------------------------------------------------------- */

struct debug_watch *
debug_watch_create(struct controller *c, struct debug_sessions *sessions)
{
    static const struct timeval interval = {.tv_usec = LOOK_MS * 1000};
    struct debug_watch *w = calloc(1, sizeof *w);
    if (!w || !(w->timer = event_new(c->base, -1, EV_PERSIST, on_timer, w)) || event_add(w->timer, &interval)) {
        abort(); /* Control path, at the start. */
    }
    w->controller = c;
    w->sessions = sessions;
    return w;
}

void
debug_watch_destroy(struct debug_watch *w)
{
    if (w) {
        fan_out_cancel(w->call);
        event_free(w->timer);
        free(w);
    }
}
