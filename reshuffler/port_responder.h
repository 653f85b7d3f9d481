/* SPDX-License-Identifier: Apache-2.0 */
/* Answers for the VIPs (answer.h) at a port that only its source reads, as DPDK's
 * are: what comes there and is no copy is offered to it, on the source's thread,
 * and the answer goes out of the same port. No more answers a second than a
 * responder.h gives at an interface of the kernel.
 *
 *     if (ef_port_responder_init(&r, source, &err)) fail;     // before the thread starts
 *     ef_port_responder_offer(&r, plan, frame, len);          // the source's thread
 *     ef_port_responder_stats(&r, &stats);                    // any thread
 */
#ifndef RESHUFFLER_PORT_RESPONDER_H
#define RESHUFFLER_PORT_RESPONDER_H

#include "base/counter.h"
#include "io/source.h"
#include "reshuffler/responder.h"

struct ef_port_responder {
    struct ef_source *source; /* Borrowed. */
    uint8_t mac[6];
    struct ef_answer_budget budget;
    ef_counter answers[EF_N_ANSWER_KINDS], limited;
    uint8_t out[EF_ANSWER_MAX_BYTES];
};

/* `r` is zeroed. Returns 0, or a negative errno with `err`: the source's port
 * cannot send. */
int ef_port_responder_init(struct ef_port_responder *r, struct ef_source *source, struct ef_error *err);

/* An Ethernet frame that may be a question. */
void ef_port_responder_offer(struct ef_port_responder *r, const struct ef_plan *plan, const uint8_t *frame,
                             uint32_t len);

void ef_port_responder_stats(const struct ef_port_responder *r, struct ef_responder_stats *stats);

#endif
