/* SPDX-License-Identifier: Apache-2.0 */
/* Playing; see play.h. */
#include <config.h>

#include "utilities/replay/play.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "io/source.h"
#include "packet/headers.h"

static void
say_progress(struct replay_play *play, struct ef_time now)
{
    double seconds = (double) ef_time_diff_ns(now, play->began) / EF_NS_PER_S;
    fprintf(stderr, "ef-replay: %.0f s, %" PRIu64 " copies, %.0f a second\n", seconds, play->n_sent,
            (double) play->n_sent / seconds);
}

static void
begin(struct replay_play *play, struct ef_time first)
{
    play->began = ef_time_mono();
    play->first = first;
    play->next_progress = ef_time_add_ms(play->began, 1000);
}

/* Waits until a copy of `time` is due. What is queued goes out before. */
static void
wait_for(struct replay_play *play, struct ef_time time)
{
    struct ef_time now = ef_time_mono();
    if (play->show_progress && !ef_time_before(now, play->next_progress)) {
        say_progress(play, now);
        play->next_progress = ef_time_add_ms(now, 1000);
    }
    if (play->speed <= 0) {
        return;
    }
    struct ef_time due =
        ef_time_add_ns(play->began, (int64_t) ((double) ef_time_diff_ns(time, play->first) / play->speed));
    if (ef_time_before(now, due)) {
        struct timespec until = {due.ns / EF_NS_PER_S, due.ns % EF_NS_PER_S};
        ef_sink_flush(play->sink);
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL); /* A signal ends it: then `stop` is set. */
    }
}

int
replay_play_stream(struct replay_play *play, struct replay_stream *stream)
{
    struct replay_arrival arrival;
    uint8_t frame[REPLAY_MAX_FRAME];
    bool begun = false;
    while (!*play->stop && replay_stream_next(stream, &arrival)) {
        if (!begun) {
            begin(play, arrival.time);
            begun = true;
        }
        wait_for(play, arrival.time);
        uint32_t len = replay_stream_frame(stream, &arrival, frame);
        ef_sink_queue(play->sink, frame + EF_ETH_LEN, len - EF_ETH_LEN);
        play->n_sent++;
    }
    ef_sink_flush(play->sink);
    return *play->stop ? -EINTR : 0;
}

static void
play_frame(struct replay_play *play, const struct ef_frame *frame)
{
    struct ef_copy copy;
    if (ef_copy_parse(&copy, frame->data, frame->len, frame->wire_len)) {
        play->n_not_copies++;
        return;
    }
    if (!play->n_sent) {
        begin(play, frame->arrival);
    }
    wait_for(play, frame->arrival);
    uint32_t len = (uint32_t) (copy.original - frame->data) + copy.original_len - copy.outer_ip_offset;
    ef_sink_queue(play->sink, frame->data + copy.outer_ip_offset, len);
    play->n_sent++;
}

int
replay_play_capture(struct replay_play *play, const char *path, struct ef_error *err)
{
    char spec[4096 + 8];
    struct ef_frame frames[EF_BURST];
    struct ef_source *source;
    snprintf(spec, sizeof spec, "pcap:%s", path);
    int n = ef_source_open(spec, 0, &source, err);
    if (n) {
        return n;
    }
    while (!*play->stop && (n = ef_source_receive(source, frames, EF_BURST, 100)) >= 0) {
        for (int i = 0; i < n && !*play->stop; i++) {
            play_frame(play, &frames[i]);
        }
    }
    ef_sink_flush(play->sink);
    int rc = *play->stop ? -EINTR : 0;
    if (n < 0 && n != -ENODATA) {
        rc = ef_error_set(err, n, "%s: %s", path, ef_source_error(source));
    }
    ef_source_close(source);
    return rc;
}
