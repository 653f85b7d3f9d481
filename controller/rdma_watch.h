/* SPDX-License-Identifier: Apache-2.0 */
/* The watcher of RDMA: every other second the new copies of pauses, NAKs and
 * congestion notifications are looked at (rdma_events.h); alerts of kind "pfc", whose subject is the link on
 * which a storm begins, and of kind "rdma", whose subject is the complaining host and its peer.
 * They are resolved when there was none for some seconds.
 *
 *     c->rdma_watch = rdma_watch_start(c);
 *
 * Needs the classes pfc, rdma_nack and cnp, each for its part. One event base's thread. */
#ifndef CONTROLLER_RDMA_WATCH_H
#define CONTROLLER_RDMA_WATCH_H

struct controller;
struct rdma_watch;

struct rdma_watch *rdma_watch_start(struct controller *c); /* NULL: the configuration turns it off. */
void rdma_watch_stop(struct rdma_watch *watch);            /* NULL is fine. */

#endif
