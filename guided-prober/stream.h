/* SPDX-License-Identifier: Apache-2.0 */
/* The probes of one order, sent in time: probe n is due n intervals after the
 * start. Who runs late catches up at most MAX_LATE_MS, so that a stall is not
 * followed by a flood.
 *
 *     struct prober_stream s = {.craft = &craft, .output = out, .count = 100, .interval_ns = 10 * EF_NS_PER_MS};
 *     prober_stream_start(&s, ef_time_mono());
 *     while (!prober_stream_done(&s)) { prober_stream_send(&s, ef_time_mono()); wait until prober_stream_due(&s); }
 *
 * One thread per stream. */
#ifndef PROBER_STREAM_H
#define PROBER_STREAM_H

#include <stdbool.h>

#include "guided-prober/craft.h"
#include "guided-prober/output.h"

struct prober_stream {
    const struct prober_craft *craft; /* Borrowed, like the output. */
    struct prober_output *output;
    uint64_t count;
    int64_t interval_ns; /* At least 1. */
    uint64_t n_sent;
    struct ef_time start; /* Monotonic. */
};

void prober_stream_start(struct prober_stream *stream, struct ef_time now);

/* Sends what is due at `now` (monotonic), at most a batch of 64. */
void prober_stream_send(struct prober_stream *stream, struct ef_time now);

static inline bool
prober_stream_done(const struct prober_stream *stream)
{
    return stream->n_sent == stream->count;
}

/* When the next probe is due (monotonic). */
static inline struct ef_time
prober_stream_due(const struct prober_stream *stream)
{
    return ef_time_add_ns(stream->start, (int64_t) stream->n_sent * stream->interval_ns);
}

#endif
