/* SPDX-License-Identifier: Apache-2.0 */
/* Sends copies at their time, or as fast as the sink takes them. */
#ifndef REPLAY_PLAY_H
#define REPLAY_PLAY_H

#include <signal.h>

#include "io/sink.h"
#include "utilities/replay/stream.h"

struct replay_play {
    struct ef_sink *sink;
    double speed;                      /* 1: by the copies' times; 2: twice as fast; 0: at once. */
    bool show_progress;                /* A line on standard error each second. */
    const volatile sig_atomic_t *stop; /* Ends it when set. */
    uint64_t n_sent, n_not_copies;     /* What was played, what was left out. */
    struct ef_time began;              /* Monotonic; internal, like the rest. */
    struct ef_time first, next_progress;
};

/* Plays all of `stream`. Returns 0, or -EINTR if stopped. */
int replay_play_stream(struct replay_play *play, struct replay_stream *stream);

/* Plays the copies of a capture; other frames are left out. Returns 0, -EINTR,
 * or another negative errno with `err`. */
int replay_play_capture(struct replay_play *play, const char *path, struct ef_error *err);

#endif
