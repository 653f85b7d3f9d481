/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the workloads that ef-replay makes: what arrives is what the
 * stories tell, in order of time, numbered by each switch without repetition,
 * and the frames are copies of the packets in question. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/byteorder.h"
#include "base/time.h"
#include "base/util.h"
#include "packet/identity.h"
#include "utilities/replay/stream.h"

enum { PACKETS = 3000, START = 1795228200 };

static struct replay_workload
eventful(void)
{
    return (struct replay_workload){
        .seed = 7,
        .n_packets = PACKETS,
        .n_flows = 50,
        .hops = 5,
        .width = 3,
        .packet_bytes = 80,
        .lost = 0.02,
        .duplicated = 0.02,
        .loops = 0.02,
        .drops = 0.02,
        .muxed = 0.02,
        .debug = 0.1,
        .gap_ns = 1000,
        .hop_ns = 5000,
        .reorder_ns = 100000,
        .encapsulation = EF_ENCAP_ERSPAN3,
        .target = {[10] = 0xff, 0xff, 10, 255, 255, 1},
    };
}

static struct replay_stream *
open_stream(const struct replay_workload *w)
{
    struct replay_stream *stream;
    struct ef_error err;
    assert_int_equal(replay_stream_create(w, (struct ef_time){START * EF_NS_PER_S}, &stream, &err), 0);
    return stream;
}

/* What has arrived of a packet. */
struct seen {
    unsigned n_copies, n_duplicates;
    struct ef_identity id;
};

static void
check_frame(const struct replay_workload *w, struct replay_stream *stream, const struct replay_arrival *a,
            struct seen *seen)
{
    uint8_t frame[REPLAY_MAX_FRAME];
    uint32_t len = replay_stream_frame(stream, a, frame);
    struct ef_copy copy;
    struct ef_packet packet;
    struct ef_identity id;
    assert_int_equal(ef_copy_parse(&copy, frame, len, len), EF_DROP_NONE);
    assert_int_equal(ef_load_be32(copy.switch_address + 12), replay_switch_ipv4(w, a->switch_number));
    assert_memory_equal(copy.target_address, w->target, 16);
    assert_int_equal(copy.sequence, a->sequence);
    assert_int_equal(copy.switch_time.ns, a->mirrored.ns);
    assert_int_equal(copy.original_len, w->packet_bytes + (a->encapsulated ? 20 : 0));

    ef_packet_parse(&packet, copy.original, copy.original_len, copy.original_wire_len);
    ef_identity_of(&packet, &id);
    if (seen->n_copies + seen->n_duplicates == 0) {
        seen->id = id;
    }
    assert_int_equal(id.hash, seen->id.hash);
    assert_int_equal(id.check, seen->id.check);
}

static void
arrivals_are_the_stories(void **state)
{
    struct replay_workload w = eventful();
    struct replay_stream *stream = open_stream(&w);
    struct seen *seen = calloc(PACKETS, sizeof *seen);
    struct replay_arrival a;
    int64_t before = 0;
    while (replay_stream_next(stream, &a)) {
        assert_true(a.time.ns >= before);
        before = a.time.ns;
        assert_true(a.mirrored.ns < a.time.ns);
        check_frame(&w, stream, &a, &seen[a.packet]);
        seen[a.packet].n_copies += !a.is_duplicate;
        seen[a.packet].n_duplicates += a.is_duplicate;
    }
    for (unsigned i = 0; i < PACKETS; i++) {
        struct replay_story story;
        unsigned n_lost = 0, n_duplicated = 0;
        replay_story_tell(&w, i, &story);
        for (unsigned k = 0; k < story.n_copies; k++) {
            n_lost += story.copies[k].is_lost;
            n_duplicated += story.copies[k].is_duplicated;
        }
        assert_int_equal(seen[i].n_copies, story.n_copies - n_lost);
        assert_int_equal(seen[i].n_duplicates, n_duplicated);
    }
    free(seen);
    replay_stream_destroy(stream);
}

/* Without duplicates each number of a switch arrives once, or is a lost one. */
static void
switches_number_their_copies(void **state)
{
    struct replay_workload w = eventful();
    w.duplicated = 0;
    struct replay_stream *stream = open_stream(&w);
    const unsigned n_switches = w.hops * w.width;
    uint8_t(*arrived)[PACKETS * 4] = calloc(n_switches, sizeof *arrived);
    struct replay_arrival a;
    while (replay_stream_next(stream, &a)) {
        assert_true(a.sequence < sizeof *arrived);
        assert_int_equal(arrived[a.switch_number][a.sequence]++, 0);
    }
    const struct replay_tally *tallies = replay_stream_tallies(stream);
    uint64_t n_lost = 0;
    for (unsigned i = 0; i < n_switches; i++) {
        uint64_t n = 0;
        for (size_t k = 0; k < sizeof *arrived; k++) {
            n += arrived[i][k];
            assert_true(!arrived[i][k] || k < tallies[i].n_made);
        }
        assert_int_equal(n, tallies[i].n_made - tallies[i].n_lost);
        n_lost += tallies[i].n_lost;
    }
    assert_true(n_lost > 0);
    free(arrived);
    replay_stream_destroy(stream);
}

static void
kinds_have_their_shape(void **state)
{
    struct replay_workload w = eventful();
    unsigned n[REPLAY_N_KINDS] = {0};
    for (unsigned i = 0; i < PACKETS; i++) {
        struct replay_story story;
        replay_story_tell(&w, i, &story);
        n[story.kind]++;
        const struct replay_copy *last = &story.copies[story.n_copies - 1];
        unsigned last_place = last->switch_number / w.width;
        switch (story.kind) {
        case REPLAY_PLAIN:
            assert_int_equal(story.n_copies, w.hops);
            assert_int_equal(last->ttl, REPLAY_FIRST_TTL - (int) w.hops + 1);
            break;
        case REPLAY_LOOP:
            assert_int_equal(last->switch_number, story.copies[story.place].switch_number);
            assert_true(story.n_copies >= story.place + 5);
            break;
        case REPLAY_DROP:
            assert_int_equal(last_place, story.place);
            assert_true(last_place < w.hops - 1);
            break;
        case REPLAY_MUXED:
            assert_int_equal(story.n_copies, w.hops + 1);
            assert_true(last->encapsulated && !story.copies[story.place].encapsulated);
            assert_int_equal(story.copies[story.place + 1].mirrored_ns - story.copies[story.place].mirrored_ns,
                             story.mux_latency_ns);
            break;
        }
        if (story.kind != REPLAY_DROP && story.kind != REPLAY_LOOP) {
            /* The last switch follows from the destination. */
            assert_int_equal(last->switch_number % w.width, replay_flow_dst(&w, story.flow) >> 8 & 255);
        }
    }
    for (int i = REPLAY_LOOP; i < REPLAY_N_KINDS; i++) {
        assert_in_range(n[i], PACKETS / 100, PACKETS * 3 / 100); /* 2 % of them. */
    }
}

static uint64_t
hash_of_frames(const struct replay_workload *w)
{
    struct replay_stream *stream = open_stream(w);
    struct replay_arrival a;
    uint8_t frame[REPLAY_MAX_FRAME];
    uint64_t hash = 14695981039346656037u;
    while (replay_stream_next(stream, &a)) {
        uint32_t len = replay_stream_frame(stream, &a, frame);
        for (uint32_t i = 0; i < len; i++) {
            hash = (hash ^ frame[i]) * 1099511628211u;
        }
    }
    replay_stream_destroy(stream);
    return hash;
}

static void
the_seed_decides(void **state)
{
    struct replay_workload w = eventful();
    w.n_packets = 300;
    uint64_t first = hash_of_frames(&w);
    assert_int_equal(first, hash_of_frames(&w));
    w.seed++;
    assert_int_not_equal(first, hash_of_frames(&w));
}

static void
every_encapsulation_and_size_is_a_copy(void **state)
{
    for (uint8_t encap = EF_ENCAP_GRE; encap <= EF_ENCAP_VENDOR_8949; encap++) {
        static const uint32_t sizes[][2] = {{54, 0}, {64, 74}, {1500, 0}, {1500, 128}};
        for (size_t i = 0; i < EF_ARRAY_SIZE(sizes); i++) {
            struct replay_workload w = eventful();
            w.n_packets = 50;
            w.encapsulation = encap;
            w.packet_bytes = sizes[i][0];
            w.truncate = sizes[i][1];
            struct replay_stream *stream = open_stream(&w);
            struct replay_arrival a;
            while (replay_stream_next(stream, &a)) {
                uint8_t frame[REPLAY_MAX_FRAME];
                uint32_t len = replay_stream_frame(stream, &a, frame);
                struct ef_copy copy;
                assert_int_equal(ef_copy_parse(&copy, frame, len, len), EF_DROP_NONE);
                assert_int_equal(copy.encapsulation, encap);
                uint32_t whole = w.packet_bytes + (a.encapsulated ? 20 : 0);
                assert_int_equal(copy.original_len, w.truncate ? EF_MIN(w.truncate, whole) : whole);
            }
            replay_stream_destroy(stream);
        }
    }
}

static void
what_cannot_be_is_refused(void **state)
{
    static const struct {
        uint32_t hops, width, bytes, truncate;
        double loops, drops;
    } bad[] = {{0, 4, 64, 0, 0, 0}, {17, 4, 64, 0, 0, 0},  {5, 0, 64, 0, 0, 0},  {5, 201, 64, 0, 0, 0},
               {5, 4, 53, 0, 0, 0}, {5, 4, 4000, 0, 0, 0}, {5, 4, 64, 20, 0, 0}, {5, 4, 64, 0, 0.6, 0.6}};
    for (size_t i = 0; i < EF_ARRAY_SIZE(bad); i++) {
        struct replay_workload w = eventful();
        struct replay_stream *stream;
        struct ef_error err = EF_ERROR_INIT;
        w.hops = bad[i].hops;
        w.width = bad[i].width;
        w.packet_bytes = bad[i].bytes;
        w.truncate = bad[i].truncate;
        w.loops = bad[i].loops;
        w.drops = bad[i].drops;
        assert_int_equal(replay_stream_create(&w, (struct ef_time){START * EF_NS_PER_S}, &stream, &err), -22);
        assert_true(err.text[0]);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrivals_are_the_stories),
        cmocka_unit_test(switches_number_their_copies),
        cmocka_unit_test(kinds_have_their_shape),
        cmocka_unit_test(the_seed_decides),
        cmocka_unit_test(every_encapsulation_and_size_is_a_copy),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests_name("replay/stream", tests, NULL, NULL);
}
