/* SPDX-License-Identifier: Apache-2.0 */
/* Rates from the switches' counters; see debug_rates.h. */
#include <config.h>

#include "controller/debug_rates.h"

#include <event2/event.h>
#include <stdlib.h>

#include "base/util.h"
#include "controller/controller.h"

enum { LOOK_MS = 500, LATE_MS = 7000 };

/* Of one switch; the second counter of each pair is not used where there is a 0. */
struct switch_rates {
    struct debug_rate seen;   /* rx_packets, 0 */
    struct debug_rate copies; /* copies, copy_bytes */
    struct debug_rate marked; /* class_debug, 0 */
};

struct debug_rates {
    struct controller *controller;
    struct event *timer;
    struct switch_rates *switches;
};

/* --- One rate ------------------------------------------------------------- */

static int64_t
ms_between(struct ef_time from, struct ef_time to)
{
    return ef_time_diff_ns(to, from) / EF_NS_PER_MS;
}

void
debug_rate_take(struct debug_rate *rate, struct ef_time refreshed, int64_t packets, int64_t bytes, struct ef_time now)
{
    int64_t ms = ms_between(rate->at, refreshed);
    if (!rate->n || packets < rate->packets || bytes < rate->bytes) {
        *rate = (struct debug_rate){.at = refreshed, .packets = packets, .bytes = bytes, .n = 1};
        return;
    }
    if (ms <= 0) { /* No news. */
        if (ms_between(rate->at, now) > DEBUG_SILENT_MS) {
            rate->packets_per_s = rate->bytes_per_s = rate->per_s_before = 0;
        }
        return;
    }
    /* A switch without traffic writes nothing: what is new is of the last interval. */
    double s = (double) (ms > LATE_MS ? DEBUG_REFRESH_MS : ms) / 1000;
    rate->per_s_before = rate->packets_per_s;
    rate->packets_per_s = (double) (packets - rate->packets) / s;
    rate->bytes_per_s = (double) (bytes - rate->bytes) / s;
    rate->at = refreshed;
    rate->packets = packets;
    rate->bytes = bytes;
    rate->n++;
}

bool
debug_rate_is_known(const struct debug_rate *rate, struct ef_time now)
{
    return rate->n >= 2 || (rate->n && ms_between(rate->at, now) > DEBUG_SILENT_MS);
}

/* --- All switches --------------------------------------------------------- */

static void
take(struct debug_rate *rate, const struct managed_switch *s, const char *first, const char *second, struct ef_time now)
{
    int64_t packets = managed_switch_counter(s, first), bytes = second ? managed_switch_counter(s, second) : 0;
    if (packets >= 0 && bytes >= 0) {
        debug_rate_take(rate, managed_switch_refreshed(s), packets, bytes, now);
    }
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct debug_rates *r = arg;
    struct ef_time now = ef_time_mono();
    for (size_t i = 0; i < r->controller->topology.n_switches; i++) {
        const struct managed_switch *s = r->controller->switches[i];
        take(&r->switches[i].seen, s, "rx_packets", NULL, now);
        take(&r->switches[i].copies, s, "copies", "copy_bytes", now);
        take(&r->switches[i].marked, s, "class_debug", NULL, now);
    }
}

double
debug_rates_seen(const struct debug_rates *r, size_t number)
{
    const struct debug_rate *seen = &r->switches[number].seen;
    struct ef_time now = ef_time_mono();
    return debug_rate_is_known(seen, now) ? EF_MAX(seen->packets_per_s, seen->per_s_before) : -1;
}

struct debug_copies
debug_rates_copies(const struct debug_rates *r)
{
    struct debug_copies sum = {0};
    double bytes = 0;
    for (size_t i = 0; i < r->controller->topology.n_switches; i++) {
        const struct switch_rates *s = &r->switches[i];
        sum.per_s += s->copies.packets_per_s;
        sum.others_per_s += EF_MAX(s->copies.packets_per_s - s->marked.packets_per_s, 0);
        bytes += s->copies.bytes_per_s;
    }
    sum.bytes_each = sum.per_s > 0 ? bytes / sum.per_s : 0;
    return sum;
}

/* --- Life ----------------------------------------------------------------- */

struct debug_rates *
debug_rates_create(struct controller *c)
{
    static const struct timeval interval = {.tv_usec = LOOK_MS * 1000};
    struct debug_rates *r = calloc(1, sizeof *r);
    if (!r || !(r->switches = calloc(c->topology.n_switches + 1, sizeof *r->switches)) ||
        !(r->timer = event_new(c->base, -1, EV_PERSIST, on_timer, r)) || event_add(r->timer, &interval)) {
        abort(); /* Control path, at the start. */
    }
    r->controller = c;
    return r;
}

void
debug_rates_destroy(struct debug_rates *r)
{
    if (r) {
        event_free(r->timer);
        free(r->switches);
        free(r);
    }
}
