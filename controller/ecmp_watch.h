/* SPDX-License-Identifier: Apache-2.0 */
/* The watcher of shares: every few seconds the flows of the new traces are counted by
 * switch and way (ecmp_flows.h); an alert of kind "ecmp" when a switch shares those of the
 * last seconds, or of the last half minute, unevenly by a chance below 1e-6. The
 * alert is resolved when the flows of half a minute are even again.
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
