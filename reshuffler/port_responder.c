/* SPDX-License-Identifier: Apache-2.0 */
/* Answers out of the source's own port; see port_responder.h. */
#include <config.h>

#include "reshuffler/port_responder.h"

int
ef_port_responder_init(struct ef_port_responder *r, struct ef_source *source, struct ef_error *err)
{
    int rc = ef_source_enable_replies(source, r->mac, err);
    r->source = source;
    return rc ? ef_error_prefix(err, rc, "--answer") : 0;
}

void
ef_port_responder_offer(struct ef_port_responder *r, const struct ef_plan *plan, const uint8_t *frame, uint32_t len)
{
    enum ef_answer_kind kind = EF_ANSWER_ARP;
    uint32_t n = ef_answer_frame(plan, r->mac, frame, len, r->out, &kind);
    if (!n) {
        return;
    }
    if (!ef_answer_budget_take(&r->budget, ef_time_mono())) {
        ef_counter_add(&r->limited, 1);
    } else if (!ef_source_reply(r->source, r->out, n)) {
        ef_counter_add(&r->answers[kind], 1);
    }
}

void
ef_port_responder_stats(const struct ef_port_responder *r, struct ef_responder_stats *stats)
{
    for (int kind = 0; kind < EF_N_ANSWER_KINDS; kind++) {
        stats->answers[kind] = ef_counter_get(&r->answers[kind]);
    }
    stats->limited = ef_counter_get(&r->limited);
}
