/* SPDX-License-Identifier: Apache-2.0 */
/* The watcher of links: every few seconds some probes over every link between
 * switches, from both ends, at a low rate; an alert of kind "latency" when a link
 * becomes slower than it was, compared with what happened to the others meanwhile.
 *
 *     c->link_watch = link_watch_start(c);
 *     base_us = link_watch_base(c->link_watch, "leaf1", "spine1");     // the usual floor
 *
 * It learns what is usual for each link: what its floor is above the median of all
 * links, whatever that is just now; the median of the last minutes, without the times when the
 * link was slow. Two judgements are made of
 * each cycle (link_ranks.h): of its own few probes, which shows a great delay
 * after two cycles, the second of which follows at once; and of those of the last six,
 * which shows a small one. What was never different is not found: that is for
 * the application (latency_app.h), which also compares links of the same kind.
 *
 * When all links of a switch become slower, the switch is the subject. The alert is
 * resolved when the links are as before. Needs a prober in the configuration, and
 * switches whose copies carry their clock. One event base's thread. */
#ifndef CONTROLLER_LINK_WATCH_H
#define CONTROLLER_LINK_WATCH_H

#include <jansson.h>

struct controller;
struct link_watch;

/* NULL if the configuration turns it off, there is no prober, or nothing to watch. */
struct link_watch *link_watch_start(struct controller *c);
void link_watch_stop(struct link_watch *watch); /* NULL is fine. */

/* The usual floor over a link as `from` sees it, above the median of all links at
 * the same time; NAN: not known (yet). */
double link_watch_base(const struct link_watch *watch, const char *from, const char *to);

/* {"cycles", "links", "learned": links whose floors are known, "slow": links}, a
 * new reference; of NULL null. */
json_t *link_watch_show(const struct link_watch *watch);

#endif
