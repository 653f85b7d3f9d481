/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a copy: an original TCP packet, plain or inside IP-in-IP,
 * patched into frames made once, behind the outer headers that its switch
 * writes. Belongs to stream.c. */
#ifndef REPLAY_FRAME_H
#define REPLAY_FRAME_H

#include "utilities/replay/stream.h"

struct replay_frame_maker {
    uint8_t original[2][REPLAY_MAX_FRAME]; /* Plain, encapsulated. */
    uint32_t original_len[2];
    uint32_t ip_at[2]; /* Of the innermost IP header. */
};

/* Returns 0, or -EINVAL with `err` if no frame can be made so. */
int replay_frame_maker_init(struct replay_frame_maker *maker, const struct replay_workload *w, struct ef_error *err);

/* As replay_stream_frame(). */
uint32_t replay_frame_make(struct replay_frame_maker *maker, const struct replay_workload *w,
                           const struct replay_arrival *arrival, uint8_t *frame);

#endif
