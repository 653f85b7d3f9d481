/* SPDX-License-Identifier: Apache-2.0 */
/* An endless stream of copies: each packet of a flow of its own, seen by
 * EF_STREAM_HOPS switches, `spread` packets apart, so that the copies of one
 * packet come thousands of others apart.
 *
 *     struct ef_copy_stream s;
 *     ef_copy_stream_init(&s, lane, 2000);
 *     ef_copy_stream_make(&s, frames, arrivals, n);   // n frames of EF_STREAM_FRAME bytes
 *
 * Packet n is sent at n * EF_STREAM_GAP_NS of the copies' time. Streams of
 * different lanes have no packet in common. */
#ifndef EF_TEST_BENCH_COPY_STREAM_H
#define EF_TEST_BENCH_COPY_STREAM_H

#include "base/byteorder.h"
#include "base/time.h"
#include "bench/bench.h"
#include "packet/build.h"
#include "packet/copy.h"

enum { EF_STREAM_HOPS = 5, EF_STREAM_GAP_NS = 1000, EF_STREAM_FRAME = 192 };

#define EF_STREAM_DESTINATION "10.200.0.1"
#define EF_STREAM_LAST_SWITCH "10.255.0.4"

struct ef_copy_stream {
    uint64_t step; /* Where the stream is: packet and hop. */
    unsigned hop, lane, spread;
    uint8_t frame[EF_STREAM_HOPS][EF_STREAM_FRAME]; /* A copy of each hop, whose packet is patched in. */
    uint32_t frame_len, inner_at;
};

static inline bool
ef_copy_stream_build_hop(struct ef_copy_stream *s, unsigned hop)
{
    uint8_t original[EF_STREAM_FRAME];
    struct ef_build build;
    ef_build_start(&build, original, sizeof original);
    ef_build_eth(&build);
    ef_build_ipv4(&build, "10.0.0.1", EF_STREAM_DESTINATION)[8] = (uint8_t) (64 - hop);
    ef_build_tcp(&build, 1000, (uint16_t) (80 + s->lane), EF_TCP_SYN);
    int len = ef_build_finish(&build);
    struct ef_copy copy = {
        .switch_address = {[10] = 0xff, 0xff, 10, 255, 0, (uint8_t) hop},
        .target_address = {[10] = 0xff, 0xff, 10, 255, 255, 1},
        .encapsulation = EF_ENCAP_ERSPAN3,
        .has_sequence = true,
        .has_port = true,
        .port = 1,
        .has_switch_time = true,
        .switch_time = {1795228200 * EF_NS_PER_S},
        .original = original,
        .original_len = (uint32_t) len,
        .original_wire_len = (uint32_t) len,
    };
    int outer_len = ef_copy_build_headers(&copy, s->frame[hop], EF_STREAM_FRAME);
    if (len < 0 || outer_len < 0 || outer_len + len > EF_STREAM_FRAME) {
        return false;
    }
    memcpy(s->frame[hop] + outer_len, original, (size_t) len);
    s->frame_len = (uint32_t) (outer_len + len);
    s->inner_at = (uint32_t) outer_len;
    return true;
}

/* False if the frames cannot be built. */
static inline bool
ef_copy_stream_init(struct ef_copy_stream *s, unsigned lane, unsigned spread)
{
    *s = (struct ef_copy_stream){.lane = lane, .spread = spread};
    for (unsigned hop = 0; hop < EF_STREAM_HOPS; hop++) {
        if (!ef_copy_stream_build_hop(s, hop)) {
            return false;
        }
    }
    return true;
}

/* Makes the next `n` frames, each at the next EF_STREAM_FRAME bytes. */
static inline void
ef_copy_stream_make(struct ef_copy_stream *s, uint8_t *frames, struct ef_time *arrivals, unsigned n)
{
    for (unsigned i = 0; i < n;) {
        uint64_t ago = (uint64_t) s->hop * s->spread;
        if (s->step >= ago) {
            uint8_t *frame = frames + (size_t) i * EF_STREAM_FRAME;
            memcpy(frame, s->frame[s->hop], s->frame_len);
            ef_store_be32(frame + s->inner_at + 14 + 12, (uint32_t) (s->step - ago)); /* IP source. */
            arrivals[i++].ns = (int64_t) s->step * EF_STREAM_GAP_NS;
        }
        if (++s->hop == EF_STREAM_HOPS) {
            s->hop = 0;
            s->step++;
        }
    }
}

#endif
