/* SPDX-License-Identifier: Apache-2.0 */
/* From copies that get lost (collection.h) to alerts of kind "copies": what loses them, said
 * once, and resolved when none was lost for half a minute. For watch_switches.h.
 *
 *     struct copy_watch *w = copy_watch_create(topology.document, alerts);
 *     copy_watch_look(w, &(struct copy_look){gaps, senders, n, has_cause, may_resolve, now});     // twice a second
 *
 * A burst that overran something is no fault: losses are told when they go on, and are a hundredth of
 * the copies at least. Those of
 * one switch alone are its own. When several lose copies at the same time, it is what their
 * copies' ways have in common (copy_ways.h) that is named, with them as evidence, not each
 * of them; and a link that holds packets up for many milliseconds (an alert "latency") is to blame for what is lost
 * on the way through it, unless all copies of one that has no other way arrive. Those that have nothing in common are
 * told each for itself, some seconds later, and so is one alone: others may begin to lose meanwhile.
 *
 * One thread; time is injected. */
#ifndef CONTROLLER_COPY_WATCH_H
#define CONTROLLER_COPY_WATCH_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"

struct alerts;
struct copy_watch;

/* A switch, as its copies are counted at the reshufflers. */
struct copy_heard {
    const char *name;
    int64_t copies; /* That came so far. */
    bool is_busy;   /* Many came lately: if it lost some, that would be known. */
    bool is_silent; /* None comes any more, */
    bool is_hidden; /* and that may be since what has failed swallows them (copy_shadow.h), which was told. */
};

struct copy_look {
    const json_t *gaps; /* collection_show(). */
    const struct copy_heard *heard;
    size_t n_heard;
    bool has_cause;   /* A link or a switch has just failed, and that was told. */
    bool may_resolve; /* It has been looked at long enough to say that none was lost. */
    struct ef_time now;
};

/* Both are borrowed. */
struct copy_watch *copy_watch_create(const json_t *document, struct alerts *alerts);
void copy_watch_destroy(struct copy_watch *watch); /* NULL is fine. */

void copy_watch_look(struct copy_watch *watch, const struct copy_look *look);

#endif
