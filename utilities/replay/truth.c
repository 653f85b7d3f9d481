/* SPDX-License-Identifier: Apache-2.0 */
/* The truth as a file; see truth.h. */
#include <config.h>

#include "utilities/replay/truth.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "packet/identity.h"

struct sums {
    uint64_t kinds[REPLAY_N_KINDS];
    uint64_t n_debug;
};

static json_t *
switch_json(const struct replay_workload *w, unsigned switch_number)
{
    char text[16];
    uint32_t ip = replay_switch_ipv4(w, switch_number);
    snprintf(text, sizeof text, "%u.%u.%u.%u", ip >> 24, ip >> 16 & 255, ip >> 8 & 255, ip & 255);
    return json_string(text);
}

/* The identity that every copy of the packet has. */
static void
put_id(json_t *line, const struct replay_story *story, struct replay_stream *stream)
{
    uint8_t frame[REPLAY_MAX_FRAME];
    struct replay_arrival arrival = {
        .mirrored = {EF_NS_PER_S}, /* Any time: it is no part of the packet. */
        .packet = story->packet,
        .flow = story->flow,
        .ttl = story->copies[0].ttl,
        .debug = story->debug,
    };
    uint32_t len = replay_stream_frame(stream, &arrival, frame);
    struct ef_copy copy;
    struct ef_packet packet;
    struct ef_identity id;
    if (!ef_copy_parse(&copy, frame, len, len)) {
        char text[17];
        ef_packet_parse(&packet, copy.original, copy.original_len, copy.original_wire_len);
        ef_identity_of(&packet, &id);
        snprintf(text, sizeof text, "%016" PRIx64, id.hash);
        json_object_set_new(line, "id", json_string(text));
    }
}

static json_t *
story_json(const struct replay_workload *w, const struct replay_story *story, struct replay_stream *stream)
{
    json_t *path = json_array(), *lost = json_array(), *duplicated = json_array();
    for (unsigned i = 0; i < story->n_copies; i++) {
        json_array_append_new(path, switch_json(w, story->copies[i].switch_number));
        if (story->copies[i].is_lost) {
            json_array_append_new(lost, json_integer(i));
        }
        if (story->copies[i].is_duplicated) {
            json_array_append_new(duplicated, json_integer(i));
        }
    }
    json_t *line = json_object();
    json_object_set_new(line, "packet", json_integer((json_int_t) story->packet));
    put_id(line, story, stream);
    json_object_set_new(line, "flow", json_integer(story->flow));
    json_object_set_new(line, "kind", json_string(replay_kind_names[story->kind]));
    json_object_set_new(line, "debug", json_boolean(story->debug));
    json_object_set_new(line, "path", path);
    json_object_set_new(line, "lost", lost);
    json_object_set_new(line, "duplicated", duplicated);
    if (story->kind == REPLAY_MUXED) {
        json_object_set_new(line, "mux", switch_json(w, story->copies[story->place].switch_number));
        json_object_set_new(line, "mux_latency_ns", json_integer(story->mux_latency_ns));
    }
    return line;
}

static bool
is_eventful(const struct replay_story *story)
{
    bool eventful = story->kind != REPLAY_PLAIN;
    for (unsigned i = 0; i < story->n_copies; i++) {
        eventful |= story->copies[i].is_lost || story->copies[i].is_duplicated;
    }
    return eventful;
}

static void
write_line(FILE *out, json_t *line)
{
    json_dumpf(line, out, JSON_COMPACT);
    fputc('\n', out);
    json_decref(line);
}

static json_t *
tally_json(const struct replay_tally *t)
{
    return json_pack("{s:I, s:I, s:I, s:I}", "made", (json_int_t) t->n_made, "lost", (json_int_t) t->n_lost,
                     "duplicated", (json_int_t) t->n_duplicated, "arrived",
                     (json_int_t) (t->n_made - t->n_lost + t->n_duplicated));
}

static json_t *
sums_json(const struct replay_workload *w, const struct sums *sums, const struct replay_tally *tallies)
{
    struct replay_tally all = {0};
    json_t *switches = json_object(), *kinds = json_object();
    for (unsigned i = 0; i < w->hops * w->width; i++) {
        json_t *name = switch_json(w, i);
        json_object_set_new(switches, json_string_value(name), tally_json(&tallies[i]));
        json_decref(name);
        all.n_made += tallies[i].n_made;
        all.n_lost += tallies[i].n_lost;
        all.n_duplicated += tallies[i].n_duplicated;
    }
    for (int i = 0; i < REPLAY_N_KINDS; i++) {
        json_object_set_new(kinds, replay_kind_names[i], json_integer((json_int_t) sums->kinds[i]));
    }
    json_t *line = json_pack("{s:b, s:I, s:I}", "end", 1, "packets", (json_int_t) w->n_packets, "debug",
                             (json_int_t) sums->n_debug);
    json_object_set_new(line, "copies", tally_json(&all));
    json_object_set_new(line, "kinds", kinds);
    json_object_set_new(line, "switches", switches);
    return line;
}

int
replay_truth_write(const char *path, const struct replay_workload *w, struct replay_stream *stream, bool every_packet,
                   struct ef_error *err)
{
    struct sums sums = {0};
    FILE *out = fopen(path, "w");
    if (!out) {
        return ef_error_set(err, -errno, "%s: %s", path, strerror(errno));
    }
    for (uint64_t packet = 0; packet < w->n_packets; packet++) {
        struct replay_story story;
        replay_story_tell(w, packet, &story);
        sums.kinds[story.kind]++;
        sums.n_debug += story.debug;
        if (every_packet || is_eventful(&story)) {
            write_line(out, story_json(w, &story, stream));
        }
    }
    write_line(out, sums_json(w, &sums, replay_stream_tallies(stream)));
    bool failed = ferror(out);
    if (fclose(out) || failed) {
        return ef_error_set(err, -EIO, "%s: cannot write all of it: %s", path, strerror(errno));
    }
    return 0;
}
