/* SPDX-License-Identifier: Apache-2.0 */
/* Measures links: sends probes over each of them and straight back (S1, S2, S1), LINK_PROBES_TURNS times in a row,
 * over all of them at the same time, and gives the round trips by S1's clock. Each probe is several
 * round trips that way, of S1 and, in between, of S2; and all but the first find both switches awake.
 *
 *     struct link_probes *p = link_probes_create(c);
 *     link_probes_add(p, "leaf1", "spine1");           // as leaf1 sees it
 *     link_probes_add(p, "spine1", "leaf1");           // as spine1 does
 *     link_probes_run(p, 60, 40, done, ctx);           // 60 probes for each, one in 40 ms
 *
 *     static void done(void *ctx)
 *     {
 *         const struct link_probe *l = link_probes_get(p, 0);      // l->trips
 *         ... link_probes_run(p, ...) again, which adds to them, or link_probes_destroy(p)
 *     }
 *
 * Probes of different links take turns, and no two links have quite the same
 * interval, so that none always comes behind the same other one. A probe ends at
 * S1 itself: no host gets any. More than LINK_PROBES_AT_ONCE links are measured one
 * group after the other.
 *
 * Probes come out of the budget that all applications share (probe_budget.h), which
 * a run waits for, at most some seconds; the interval grows with the number of links, so that all probes
 * together never leave more than LINK_PROBES_RATE copies a second: what copies load, they would measure.
 *
 * A run ends by itself, when all traces of its probes have been asked for, at
 * the latest some seconds after the last probe was due. The orders are not kept in
 * the list of orders unless asked for. One event base's thread. */
#ifndef CONTROLLER_LINK_PROBES_H
#define CONTROLLER_LINK_PROBES_H

#include <stdbool.h>
#include <stddef.h>

#include "controller/round_trips.h"

struct controller;
struct link_probes;

enum {
    LINK_PROBES_AT_ONCE = 40,
    LINK_PROBES_MAX = 512,
    LINK_PROBES_RATE = 1200, /* Copies a second. */
    LINK_PROBES_TURNS = 3,   /* What switches look through is 6 switches. */
    LINK_PROBES_NAME = 64,
    LINK_PROBES_WAY = 8
};

struct link_probe {
    char from[LINK_PROBES_NAME], to[LINK_PROBES_NAME];
    size_t n_way; /* More than 2: a longer way, which `way` has. */
    char way[LINK_PROBES_WAY][LINK_PROBES_NAME];
    char id[17]; /* The last order, or "". */
    unsigned sent;
    struct round_trips trips; /* Also those that probes from the other end brought. */
    char error[200];          /* Why there was no order, or it was refused; or "". */
};

struct link_probes *link_probes_create(struct controller *c);
void link_probes_destroy(struct link_probes *probes); /* Stops what runs. NULL is fine. */

/* Adds a link, once; false if there are LINK_PROBES_MAX. Not while it runs. */
bool link_probes_add(struct link_probes *probes, const char *from, const char *to);

/* Adds a way of 2 to LINK_PROBES_WAY switches, from the last of which a link leads
 * back to the first, and whose round trip that measures. */
bool link_probes_add_way(struct link_probes *probes, const char *const way[], size_t n);

size_t link_probes_n(const struct link_probes *probes);
struct link_probe *link_probes_get(struct link_probes *probes, size_t i);

/* Has the orders remembered, for people to look at. */
void link_probes_keep_orders(struct link_probes *probes);

/* Forgets what was measured. */
void link_probes_clear(struct link_probes *probes);

/* Sends `count` probes over each link. `done` is called once, from the event loop,
 * unless it was destroyed before. */
void link_probes_run(struct link_probes *probes, unsigned count, double interval_ms, void (*done)(void *ctx),
                     void *ctx);

#endif
