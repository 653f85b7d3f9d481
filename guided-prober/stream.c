/* SPDX-License-Identifier: Apache-2.0 */
/* Sending in time; see stream.h. */
#include <config.h>

#include "guided-prober/stream.h"

enum { BATCH = 64, MAX_LATE_MS = 10 };

void
prober_stream_start(struct prober_stream *s, struct ef_time now)
{
    s->start = now;
    s->n_sent = 0;
}

/* How many are due that were not sent. */
static uint64_t
n_due(struct prober_stream *s, struct ef_time now)
{
    int64_t late = ef_time_diff_ns(now, prober_stream_due(s)), most = MAX_LATE_MS * EF_NS_PER_MS;
    if (late < 0) {
        return 0;
    }
    if (late > most) {
        s->start = ef_time_add_ns(s->start, late - most);
        late = most;
    }
    return 1 + (uint64_t) (late / s->interval_ns);
}

void
prober_stream_send(struct prober_stream *s, struct ef_time now)
{
    uint64_t n = EF_MIN(n_due(s, now), EF_MIN(s->count - s->n_sent, (uint64_t) BATCH));
    for (uint64_t i = 0; i < n; i++) {
        uint8_t *room = prober_output_reserve(s->output, s->craft->len);
        prober_craft_write(s->craft, s->n_sent++, ef_time_real(), room);
        prober_output_commit(s->output, s->craft->len, s->craft->start);
    }
    prober_output_flush(s->output);
}
