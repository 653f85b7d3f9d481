/* SPDX-License-Identifier: Apache-2.0 */
/* The watcher of shares: every few seconds the flows of the new traces are added to those of
 * the last minute, by switch and way, and judged one after the other (ecmp_flows.h); an
 * alert of kind "ecmp" when a switch shares them unevenly. It is resolved when a few dozen new flows
 * are even again; what was before is forgotten then.
 *
 *     c->ecmp_watch = ecmp_watch_start(c);
 *
 * Needs no prober. One event base's thread. */
#ifndef CONTROLLER_ECMP_WATCH_H
#define CONTROLLER_ECMP_WATCH_H

struct controller;
struct ecmp_watch;

struct ecmp_watch *ecmp_watch_start(struct controller *c); /* NULL: the configuration turns it off. */
void ecmp_watch_stop(struct ecmp_watch *watch);            /* NULL is fine. */

#endif
