/* SPDX-License-Identifier: Apache-2.0 */
/* Answers for the VIPs at one interface (answer.h), for a port that is the
 * reshuffler's own: its neighbors find the VIP there and can ping it, and no
 * kernel has the address.
 *
 * A packet socket of its own, beside the source's ring, takes ARP and ICMP only,
 * so copies never come here; at most EF_RESPONDER_PER_S answers a second are
 * given. An interface that goes away is looked for every second. On the event
 * base's thread. */
#ifndef RESHUFFLER_RESPONDER_H
#define RESHUFFLER_RESPONDER_H

#include "base/time.h"
#include "reshuffler/answer.h"
#include "reshuffler/plan_cell.h"

struct event_base;
struct ef_responder;

enum { EF_RESPONDER_PER_S = 1000 };

struct ef_responder_stats {
    uint64_t answers[EF_N_ANSWER_KINDS];
    uint64_t limited; /* Questions beyond the rate. */
};

/* `source_spec` is one of "afpacket:IFACE[@NETNS]"; it and `plans` are borrowed.
 * Returns 0, -EINVAL (another kind of source) or another negative errno with `err`. */
int ef_responder_create(struct event_base *base, const struct ef_plan_cell *plans, const char *source_spec,
                        struct ef_responder **responder, struct ef_error *err);
void ef_responder_destroy(struct ef_responder *responder); /* NULL is fine. */

void ef_responder_stats(const struct ef_responder *responder, struct ef_responder_stats *stats);

/* Of a question at `now`: whether it may be answered. A bucket that fills up to a
 * second's worth. */
struct ef_answer_budget {
    struct ef_time filled;
    int64_t tokens;
};
bool ef_answer_budget_take(struct ef_answer_budget *budget, struct ef_time now_mono);

#endif
