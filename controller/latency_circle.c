/* SPDX-License-Identifier: Apache-2.0 */
/* Probes around a circle; see latency_circle.h. */
#include <config.h>

#include "controller/latency_circle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/controller.h"
#include "controller/link_probes.h"
#include "controller/link_ranks.h"
#include "controller/topology_links.h"

enum { N_PROBES = 150, INTERVAL_MS = 8 };

struct latency_circle {
    const char *a, *b;
    double us;
    bool is_queue;
    struct link_probes *probes;
};

/* --- The circle ----------------------------------------------------------- */

static const char *
other_end(const struct topology_link *link, const char *end)
{
    return !strcmp(link->a, end) ? link->b : !strcmp(link->b, end) ? link->a : NULL;
}

static bool
is_on(const char *const way[], size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (!strcmp(way[i], name)) {
            return true;
        }
    }
    return false;
}

/* Completes `way`, of `n` switches, to one of `length` whose last is a neighbour of the
 * first. Tries all: circles are short. */
static bool
complete(const struct topology_link links[], size_t n_links, const char *way[], size_t n, size_t length)
{
    for (size_t i = 0; i < n_links; i++) {
        const char *next = other_end(&links[i], way[n - 1]);
        if (next && n == length && n > 2 && !strcmp(next, way[0])) {
            return true;
        }
        if (next && n < length && !is_on(way, n, next)) {
            way[n] = next;
            if (complete(links, n_links, way, n + 1, length)) {
                return true;
            }
        }
    }
    return false;
}

/* The shortest circle that begins with `a`, `b`. Returns its length, 0: there is none. */
static size_t
find_circle(const struct controller *c, const char *a, const char *b, const char *way[LINK_PROBES_WAY])
{
    size_t n_links, found = 0;
    struct topology_link *links = topology_links(c->topology.document, &n_links);
    way[0] = a;
    way[1] = b;
    for (size_t length = 3; !found && length <= 4; length++) {
        found = complete(links, n_links, way, 2, length) ? length : 0;
    }
    free(links);
    return found;
}

struct latency_circle *
latency_circle_start(struct controller *c, const char *a, const char *b, double us, bool is_queue,
                     void (*done)(void *ctx), void *ctx)
{
    const char *way[LINK_PROBES_WAY], *back[LINK_PROBES_WAY];
    size_t n = find_circle(c, a, b, way);
    if (!n) {
        return NULL;
    }
    struct latency_circle *circle = calloc(1, sizeof *circle);
    if (!circle) {
        abort(); /* Control path. */
    }
    *circle = (struct latency_circle){.a = a, .b = b, .us = us, .is_queue = is_queue};
    back[0] = a;
    for (size_t i = 1; i < n; i++) {
        back[i] = way[n - i];
    }
    circle->probes = link_probes_create(c);
    link_probes_keep_orders(circle->probes);
    link_probes_add_way(circle->probes, way, n);
    link_probes_add_way(circle->probes, back, n);
    link_probes_run(circle->probes, N_PROBES, INTERVAL_MS, done, ctx);
    return circle;
}

void
latency_circle_stop(struct latency_circle *circle)
{
    if (circle) {
        link_probes_destroy(circle->probes);
        free(circle);
    }
}

const char *
latency_circle_sender(const struct latency_circle *circle, char *why, size_t size)
{
    struct round_trips_summary there, back;
    round_trips_summarize(&link_probes_get(circle->probes, 0)->trips, &there);
    round_trips_summarize(&link_probes_get(circle->probes, 1)->trips, &back);
    if (there.n < N_PROBES / 4 || back.n < N_PROBES / 4) {
        snprintf(why, size, "too few probes came around the circle to know the direction");
        return NULL;
    }
    double x = circle->is_queue ? there.p90_us : there.floor_us, y = circle->is_queue ? back.p90_us : back.floor_us;
    int direction = link_rank_direction(&there, &back, circle->us, circle->is_queue);
    const char *sender = direction > 0 ? circle->a : direction < 0 ? circle->b : NULL;
    snprintf(why, size, "around the circle it takes %.0f us with %s > %s, %.0f us with %s > %s: %s%s", x, circle->a,
             circle->b, y, circle->b, circle->a, sender ? sender : "both directions alike, or not clear",
             sender ? " sends what is held back" : "");
    return sender;
}
