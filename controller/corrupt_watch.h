/* SPDX-License-Identifier: Apache-2.0 */
/* The watcher of corruption: every other second the new traces of packets whose bytes
 * changed on their way are looked at (corrupt_links.h); an alert of kind "corrupt",
 * whose subject is the link ("leaf2>spine2") or the switch, with how many of
 * how many traced packets it was. One or two are told as what may be chance. The alert is
 * resolved when there was none for some time.
 *
 *     c->corrupt_watch = corrupt_watch_start(c);
 *
 * Needs no probes. One event base's thread. */
#ifndef CONTROLLER_CORRUPT_WATCH_H
#define CONTROLLER_CORRUPT_WATCH_H

struct controller;
struct corrupt_watch;

struct corrupt_watch *corrupt_watch_start(struct controller *c); /* NULL: the configuration turns it off. */
void corrupt_watch_stop(struct corrupt_watch *watch);            /* NULL is fine. */

#endif
