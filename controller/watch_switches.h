/* SPDX-License-Identifier: Apache-2.0 */
/* The watcher of the switches themselves, by their databases and the counters of
 * their copies; it needs neither traces nor probes, and so sees first what would
 * make those of other watchers look like something else:
 *
 *     link     a port of the topology has no carrier (Interface:link_state)
 *     switch   its copies have stopped, and its ovs-vswitchd does not take a
 *              configuration number (next_cfg, cur_cfg) within 3 s, or its database
 *              is gone as well
 *     copies   copies of a switch, of several on their common way, or for an analyzer, get
 *              lost (collection.h, copy_watch.h)
 *
 * An alert of the kind is raised for each, and resolved when it is over. When a link or
 * switch fails or comes back, packets and copies are lost at other places, too, for
 * some seconds: what is concluded from them then would be wrong.
 *
 *     if (switch_watch_is_unsettled(c->switch_watch)) look later;
 *
 * And for as long as it has failed, copies of others that go through it are lost with it
 * (copy_shadow.h): that such a switch has not seen a packet says nothing.
 *
 *     if (switch_watch_may_hide(c->switch_watch, "leaf4", what)) nothing can be told of packets to leaf4;
 *
 * One event base's thread. */
#ifndef CONTROLLER_WATCH_SWITCHES_H
#define CONTROLLER_WATCH_SWITCHES_H

#include <stdbool.h>

#include "controller/copy_shadow.h"

struct controller;
struct switch_watch;

/* By the configuration; NULL if it is off. */
struct switch_watch *switch_watch_start(struct controller *c);
void switch_watch_stop(struct switch_watch *watch); /* NULL is fine. */

/* Whether a link or a switch has failed or come back within the last seconds; of NULL
 * false. */
bool switch_watch_is_unsettled(const struct switch_watch *watch);

/* Whether no copy of the switch comes any more, and that may be since the way leads over
 * what has failed. What that is, in `what`; of NULL false. */
bool switch_watch_hides(const struct switch_watch *watch, const char *name, char what[COPY_SHADOW_TEXT]);

/* The same, or a switch on the way, or it itself, has been asked whether it has failed, and
 * does not answer yet. */
bool switch_watch_may_hide(const struct switch_watch *watch, const char *name, char what[COPY_SHADOW_TEXT]);

#endif
