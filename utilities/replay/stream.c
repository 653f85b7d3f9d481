/* SPDX-License-Identifier: Apache-2.0 */
/* The order of events, by a binary heap; see stream.h. A copy is two events:
 * its switch makes it, which gives the number; and it arrives. */
#include <config.h>

#include "utilities/replay/stream.h"

#include <errno.h>
#include <stdlib.h>

#include "utilities/replay/frame.h"

enum event_kind { MADE, ARRIVES };

struct event {
    int64_t ns; /* After the start. */
    enum event_kind kind;
    uint8_t copy; /* Index in its story. */
    struct replay_arrival arrival;
};

struct replay_stream {
    struct replay_workload w;
    struct ef_time start;
    uint64_t next_packet;
    struct event *heap;
    size_t n_events, size;
    struct replay_tally *tallies;
    struct replay_frame_maker frames;
};

/* --- The heap -------------------------------------------------------------------- */

/* Equal times in an order that does not depend on the heap's shape. */
static bool
comes_before(const struct event *a, const struct event *b)
{
    if (a->ns != b->ns) {
        return a->ns < b->ns;
    }
    if (a->arrival.packet != b->arrival.packet) {
        return a->arrival.packet < b->arrival.packet;
    }
    return a->copy != b->copy ? a->copy < b->copy : a->kind < b->kind;
}

static void
push(struct replay_stream *s, const struct event *event)
{
    size_t i = s->n_events++;
    for (; i && comes_before(event, &s->heap[(i - 1) / 2]); i = (i - 1) / 2) {
        s->heap[i] = s->heap[(i - 1) / 2];
    }
    s->heap[i] = *event;
}

static struct event
pop(struct replay_stream *s)
{
    struct event first = s->heap[0], last = s->heap[--s->n_events];
    size_t i = 0;
    for (size_t child = 1; child < s->n_events; child = 2 * i + 1) {
        child += child + 1 < s->n_events && comes_before(&s->heap[child + 1], &s->heap[child]);
        if (!comes_before(&s->heap[child], &last)) {
            break;
        }
        s->heap[i] = s->heap[child];
        i = child;
    }
    s->heap[i] = last;
    return first;
}

/* Room for what one packet, or one event, can add. */
static bool
make_room(struct replay_stream *s)
{
    if (s->n_events + 2 * REPLAY_MAX_COPIES <= s->size) {
        return true;
    }
    struct event *heap = realloc(s->heap, 2 * s->size * sizeof *heap);
    if (!heap) {
        return false;
    }
    s->heap = heap;
    s->size *= 2;
    return true;
}

/* --- Events ---------------------------------------------------------------------- */

static void
push_story(struct replay_stream *s, const struct replay_story *story)
{
    for (unsigned i = 0; i < story->n_copies; i++) {
        const struct replay_copy *copy = &story->copies[i];
        struct event event = {
            .ns = copy->mirrored_ns,
            .kind = MADE,
            .copy = (uint8_t) i,
            .arrival = {.mirrored = ef_time_add_ns(s->start, copy->mirrored_ns),
                        .packet = story->packet,
                        .flow = story->flow,
                        .switch_number = copy->switch_number,
                        .ttl = copy->ttl,
                        .outer_ttl = copy->outer_ttl,
                        .encapsulated = copy->encapsulated,
                        .debug = story->debug},
        };
        push(s, &event);
    }
}

static void
push_arrivals(struct replay_stream *s, struct event *event)
{
    struct replay_tally *tally = &s->tallies[event->arrival.switch_number];
    struct replay_story story;
    replay_story_tell(&s->w, event->arrival.packet, &story);
    const struct replay_copy *copy = &story.copies[event->copy];
    event->arrival.sequence = (uint32_t) tally->n_made++;
    if (copy->is_lost) {
        tally->n_lost++;
        return;
    }
    event->kind = ARRIVES;
    event->ns = copy->arrival_ns;
    push(s, event);
    if (copy->is_duplicated) {
        tally->n_duplicated++;
        event->arrival.is_duplicate = true;
        event->ns = copy->duplicate_ns;
        push(s, event);
    }
}

/* All packets that begin before the next event are told first. */
static bool
tell_stories(struct replay_stream *s)
{
    while (s->next_packet < s->w.n_packets &&
           (!s->n_events || (int64_t) s->next_packet * s->w.gap_ns <= s->heap[0].ns)) {
        struct replay_story story;
        if (!make_room(s)) {
            return false;
        }
        replay_story_tell(&s->w, s->next_packet++, &story);
        push_story(s, &story);
    }
    return make_room(s);
}

bool
replay_stream_next(struct replay_stream *s, struct replay_arrival *arrival)
{
    while (tell_stories(s) && s->n_events) {
        struct event event = pop(s);
        if (event.kind == ARRIVES) {
            *arrival = event.arrival;
            arrival->time = ef_time_add_ns(s->start, event.ns);
            return true;
        }
        push_arrivals(s, &event);
    }
    return false;
}

uint32_t
replay_stream_frame(struct replay_stream *s, const struct replay_arrival *arrival, uint8_t *frame)
{
    return replay_frame_make(&s->frames, &s->w, arrival, frame);
}

const struct replay_tally *
replay_stream_tallies(const struct replay_stream *s)
{
    return s->tallies;
}

/* --- Making one ------------------------------------------------------------------- */

static int
check(const struct replay_workload *w, struct ef_error *err)
{
    if (w->hops < 1 || w->hops > REPLAY_MAX_HOPS || w->width < 1 || w->width > REPLAY_MAX_WIDTH || !w->n_flows) {
        return ef_error_set(err, -EINVAL, "a workload has 1 to %d hops, 1 to %d switches at each, and flows",
                            REPLAY_MAX_HOPS, REPLAY_MAX_WIDTH);
    }
    if (w->n_packets > 1ull << 32 || w->gap_ns < 1 || w->hop_ns < 0 || w->reorder_ns < 0) {
        return ef_error_set(err, -EINVAL, "a workload has at most 2^32 packets, and times that are not negative");
    }
    if (w->loops + w->drops + w->muxed > 1) {
        return ef_error_set(err, -EINVAL, "the shares of loops, drops and muxed packets are more than 1 together");
    }
    return 0;
}

int
replay_stream_create(const struct replay_workload *w, struct ef_time start, struct replay_stream **out,
                     struct ef_error *err)
{
    int rc = check(w, err);
    if (rc) {
        return rc;
    }
    struct replay_stream *s = calloc(1, sizeof *s);
    if (!s) {
        return ef_error_set(err, -ENOMEM, "out of memory");
    }
    s->w = *w;
    s->start = start;
    s->size = 4096;
    s->heap = malloc(s->size * sizeof *s->heap);
    s->tallies = calloc((size_t) w->hops * w->width, sizeof *s->tallies);
    rc = s->heap && s->tallies ? replay_frame_maker_init(&s->frames, w, err)
                               : ef_error_set(err, -ENOMEM, "out of memory");
    if (rc) {
        replay_stream_destroy(s);
        return rc;
    }
    *out = s;
    return 0;
}

void
replay_stream_destroy(struct replay_stream *s)
{
    if (s) {
        free(s->heap);
        free(s->tallies);
        free(s);
    }
}
