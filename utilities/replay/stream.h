/* SPDX-License-Identifier: Apache-2.0 */
/* The copies of a workload in the order in which they arrive, with the sequence
 * numbers that their switches gave them, and the frames of them.
 *
 *     replay_stream_create(&workload, start, &stream);
 *     while (replay_stream_next(stream, &arrival)) {
 *         int len = replay_stream_frame(stream, &arrival, frame);
 *         ...
 *     }
 *     replay_stream_tallies(stream);
 *
 * A switch numbers its copies as it makes them, so that each lost one leaves a
 * gap. One thread per stream. */
#ifndef REPLAY_STREAM_H
#define REPLAY_STREAM_H

#include "base/error.h"
#include "base/time.h"
#include "utilities/replay/workload.h"

struct replay_stream;

enum { REPLAY_MAX_FRAME = 2048 };

struct replay_arrival {
    struct ef_time time;     /* Real time, from the stream's start on. */
    struct ef_time mirrored; /* The switch's time in it. */
    uint64_t packet;
    uint32_t flow, sequence;
    uint16_t switch_number;
    uint8_t ttl, outer_ttl;
    bool encapsulated, debug, is_duplicate;
};

/* Per switch. */
struct replay_tally {
    uint64_t n_made; /* Sequence numbers given: 0 to n_made - 1. */
    uint64_t n_lost, n_duplicated;
};

/* Returns 0, or -EINVAL with `err` for a workload that cannot be, or -ENOMEM. */
int replay_stream_create(const struct replay_workload *w, struct ef_time start, struct replay_stream **stream,
                         struct ef_error *err);
void replay_stream_destroy(struct replay_stream *stream); /* NULL is fine. */

/* The next copy to arrive; false at the end. */
bool replay_stream_next(struct replay_stream *stream, struct replay_arrival *arrival);

/* Writes the copy from its outer Ethernet header on (14 zero bytes and the
 * EtherType) into `frame` of REPLAY_MAX_FRAME bytes; returns its length. */
uint32_t replay_stream_frame(struct replay_stream *stream, const struct replay_arrival *arrival, uint8_t *frame);

/* Of the copies made so far, hops * width of them. Borrowed. */
const struct replay_tally *replay_stream_tallies(const struct replay_stream *stream);

#endif
