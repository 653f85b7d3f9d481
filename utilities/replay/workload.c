/* SPDX-License-Identifier: Apache-2.0 */
/* The stories; see workload.h. */
#include <config.h>

#include "utilities/replay/workload.h"

#include <string.h>

#include "base/hash.h"
#include "base/time.h"
#include "base/util.h"

enum { BASE_DELAY_NS = 20000 /* From a switch to the analyzer, at least. */ };

/* What a number was drawn for. */
enum purpose {
    FLOW,
    KIND,
    PLACE,
    ROUNDS,
    MUX_LATENCY,
    DEBUG,
    LOST,
    DUPLICATED,
    HOP_DELAY,
    DELAY,
    DUPLICATE_DELAY,
    WAY
};

const char *const replay_kind_names[REPLAY_N_KINDS] = {"plain", "loop", "drop", "muxed"};

static uint64_t
draw(const struct replay_workload *w, enum purpose purpose, uint64_t what, uint64_t which)
{
    const uint64_t key[] = {what, which << 8 | purpose};
    return ef_hash64_seed(key, sizeof key, w->seed);
}

/* Evenly from 0 to 1, without 1. */
static double
draw_unit(const struct replay_workload *w, enum purpose purpose, uint64_t what, uint64_t which)
{
    return (double) (draw(w, purpose, what, which) >> 11) * 0x1p-53;
}

/* Evenly from 0 to n - 1; 0 if n is 0. */
static uint64_t
draw_below(const struct replay_workload *w, enum purpose purpose, uint64_t what, uint64_t which, uint64_t n)
{
    return n ? draw(w, purpose, what, which) % n : 0;
}

/* --- Addresses ------------------------------------------------------------------- */

uint32_t
replay_switch_ipv4(const struct replay_workload *w, unsigned switch_number)
{
    return 10u << 24 | 255u << 16 | (switch_number / w->width + 1) << 8 | (switch_number % w->width + 1);
}

uint32_t
replay_flow_src(uint32_t flow)
{
    return 10u << 24 | (flow & 0x7fffff);
}

static unsigned
switch_at(const struct replay_workload *w, uint32_t flow, unsigned place)
{
    return place * w->width + (unsigned) draw_below(w, WAY, flow, place, w->width);
}

uint32_t
replay_flow_dst(const struct replay_workload *w, uint32_t flow)
{
    return 172u << 24 | 16u << 16 | (switch_at(w, flow, w->hops - 1) % w->width) << 8 | (1 + flow % 254);
}

/* --- A packet's way -------------------------------------------------------------- */

/* How far the story is. */
struct walk {
    const struct replay_workload *w;
    struct replay_story *story;
    int64_t now_ns;
    uint8_t ttl, outer_ttl;
    bool encapsulated;
};

static struct replay_copy *
pass(struct walk *walk, unsigned place)
{
    struct replay_story *story = walk->story;
    struct replay_copy *copy = &story->copies[story->n_copies];
    *copy = (struct replay_copy){
        .switch_number = (uint16_t) switch_at(walk->w, story->flow, place),
        .ttl = walk->ttl,
        .outer_ttl = walk->encapsulated ? walk->outer_ttl : walk->ttl,
        .encapsulated = walk->encapsulated,
        .mirrored_ns = walk->now_ns,
    };
    walk->now_ns += walk->w->hop_ns + (int64_t) draw_below(walk->w, HOP_DELAY, story->packet, story->n_copies,
                                                           (uint64_t) walk->w->hop_ns / 4);
    story->n_copies++;
    if (walk->encapsulated) {
        walk->outer_ttl--;
    } else {
        walk->ttl--;
    }
    return copy;
}

/* The load balancer takes one off the TTL, as a router does, and starts a new
 * outer one. */
static void
encapsulate(struct walk *walk, const struct replay_copy *before)
{
    struct replay_story *story = walk->story;
    story->mux_latency_ns = 10000 + (int64_t) draw_below(walk->w, MUX_LATENCY, story->packet, 0, 990000);
    walk->now_ns = before->mirrored_ns + story->mux_latency_ns;
    walk->encapsulated = true;
    walk->outer_ttl = REPLAY_FIRST_TTL;
}

static void
go_round(struct walk *walk, unsigned place)
{
    unsigned rounds = 2 + (unsigned) draw_below(walk->w, ROUNDS, walk->story->packet, 0, 3);
    for (unsigned i = 0; i < rounds; i++) {
        pass(walk, place - 1);
        pass(walk, place);
    }
}

static void
walk_all(struct walk *walk)
{
    struct replay_story *story = walk->story;
    for (unsigned place = 0; place < walk->w->hops; place++) {
        const struct replay_copy *copy = pass(walk, place);
        if (story->kind == REPLAY_PLAIN || place != story->place) {
            continue;
        }
        if (story->kind == REPLAY_DROP) {
            return;
        }
        if (story->kind == REPLAY_LOOP) {
            go_round(walk, place);
            return;
        }
        encapsulate(walk, copy);
        pass(walk, place);
    }
}

static void
choose_kind(const struct replay_workload *w, struct replay_story *story)
{
    double u = draw_unit(w, KIND, story->packet, 0);
    story->kind = u < w->loops                         ? REPLAY_LOOP
                  : u < w->loops + w->drops            ? REPLAY_DROP
                  : u < w->loops + w->drops + w->muxed ? REPLAY_MUXED
                                                       : REPLAY_PLAIN;
    if (w->hops < 2 && story->kind != REPLAY_MUXED) {
        story->kind = REPLAY_PLAIN; /* No switch to come back to, or to miss. */
    }
    story->place = story->kind == REPLAY_LOOP   ? 1 + (unsigned) draw_below(w, PLACE, story->packet, 0, w->hops - 1)
                   : story->kind == REPLAY_DROP ? (unsigned) draw_below(w, PLACE, story->packet, 0, w->hops - 1)
                                                : (unsigned) draw_below(w, PLACE, story->packet, 0, w->hops);
}

/* What befalls the copies on their way. */
static void
send_copies(const struct replay_workload *w, struct replay_story *story)
{
    for (unsigned i = 0; i < story->n_copies; i++) {
        struct replay_copy *copy = &story->copies[i];
        uint64_t late = (uint64_t) w->reorder_ns;
        copy->is_lost = draw_unit(w, LOST, story->packet, i) < w->lost;
        copy->is_duplicated = !copy->is_lost && draw_unit(w, DUPLICATED, story->packet, i) < w->duplicated;
        copy->arrival_ns = copy->mirrored_ns + BASE_DELAY_NS + (int64_t) draw_below(w, DELAY, story->packet, i, late);
        copy->duplicate_ns = copy->arrival_ns + 1 + (int64_t) draw_below(w, DUPLICATE_DELAY, story->packet, i, late);
    }
}

void
replay_story_tell(const struct replay_workload *w, uint64_t packet, struct replay_story *story)
{
    struct walk walk = {.w = w, .story = story, .now_ns = (int64_t) packet * w->gap_ns, .ttl = REPLAY_FIRST_TTL};
    *story = (struct replay_story){.packet = packet};
    story->flow = (uint32_t) draw_below(w, FLOW, packet, 0, w->n_flows);
    story->debug = draw_unit(w, DEBUG, packet, 0) < w->debug;
    choose_kind(w, story);
    walk_all(&walk);
    send_copies(w, story);
}
