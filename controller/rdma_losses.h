/* SPDX-License-Identifier: Apache-2.0 */
/* What the fabric did to packets of RoCEv2 flows: a queue pair that complains of missing packets
 * is tied to the link at which packets of that flow were dropped or corrupted.
 *
 *     struct rdma_losses *l = rdma_losses_create(topology.document);
 *     rdma_losses_take(l, trace);  ...                                   // the same traces as rdma_events.h
 *     rdma_losses_find(l, alerts, "10.1.0.11", "10.2.0.11", since, &loss);
 *     ... "3 packets from it were dropped between spine1 and leaf2."
 *
 * A flow is told by its addresses and UDP port 4791: the queue pair in a NAK is that of
 * the sender of the data, in the data that of the receiver. What is known comes from two
 * sides: traces of the flow's own packets, if switches copy any, and alerts of kind "drop"
 * and "corrupt" about a link that is on a shortest way of the flow.
 *
 * Bounded: RDMA_LOSSES_MAX are remembered. One thread. */
#ifndef CONTROLLER_RDMA_LOSSES_H
#define CONTROLLER_RDMA_LOSSES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/time.h"

struct alerts;
struct rdma_losses;

enum { RDMA_LOSSES_MAX = 4096, RDMA_LOSSES_TRACES = 5, RDMA_LOSSES_NAME = 64, RDMA_LOSSES_TEXT = 400 };

/* The place where most of a flow's packets were lost: by traces, which tell the link if there is one
 * way on from where they were seen last; by an alert, if there are several, or no traces. */
struct rdma_loss {
    char from[RDMA_LOSSES_NAME], to[RDMA_LOSSES_NAME]; /* "" as `from`: nothing is known; as `to`: within a switch. */
    unsigned dropped, corrupt;                         /* Packets, by traces. */
    char traces[RDMA_LOSSES_TRACES][17];
    size_t n_traces;
    char alert[17], alert_kind[16]; /* "": none. */
};

struct rdma_losses *rdma_losses_create(const json_t *document);
void rdma_losses_destroy(struct rdma_losses *losses); /* NULL is fine. */

/* Takes a trace; what is no RoCEv2 packet that was dropped or corrupted is left out. */
void rdma_losses_take(struct rdma_losses *losses, const json_t *trace);

/* What became of packets from `src` to `dst`, addresses, since then. False: nothing is known. */
bool rdma_losses_find(const struct rdma_losses *losses, const struct alerts *alerts, const char *src, const char *dst,
                      struct ef_time since, struct rdma_loss *loss);

/* One sentence; and {"from", "to", "dropped", "corrupt", "traces", "alert"}, a new reference, null if nothing is
 * known. */
const char *rdma_loss_text(const struct rdma_loss *loss, char text[RDMA_LOSSES_TEXT]);
json_t *rdma_loss_show(const struct rdma_loss *loss);

#endif
