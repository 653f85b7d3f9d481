/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts; see judge.h. */
#include <config.h>

#include "analyzer/judge.h"

#include <string.h>

#include "base/util.h"
#include "packet/headers.h"
#include "packet/probe_signature.h"
#include "packet/switch_drop.h"

/* When no packet has shown how long it takes. */
#define UNKNOWN_TRANSIT_NS (50 * EF_NS_PER_MS)

#define LEAST_MARGIN_NS (20 * EF_NS_PER_US)

/* Learned from one trace in so many; the rest only costs. */
enum { LEARN_EVERY = 8 };

int
ef_judge_init(struct ef_judge *judge)
{
    return judge->last_hops || judge->may_learn ? ef_transit_table_init(&judge->transits) : 0;
}

void
ef_judge_deinit(struct ef_judge *judge)
{
    ef_transit_table_deinit(&judge->transits);
}

/* Where the packet was going when its last hop saw it. The original is as the
 * first hop saw it: if it was put into a tunnel since, the tunnel's end is not
 * known, and the packet's own destination counts. */
static bool
destination(const struct ef_trace *trace, uint8_t address[16])
{
    struct ef_packet p;
    ef_packet_parse(&p, trace->bytes, trace->n_bytes, trace->wire_len);
    if (p.inner_ip == EF_NO_LAYER) {
        return false;
    }
    bool in_tunnel = trace->hops[trace->n_hops - 1].flags & EF_HOP_ENCAPSULATED;
    unsigned layer = in_tunnel ? p.outer_ip : p.inner_ip;
    const uint8_t *header = ef_packet_layer_data(&p, layer);
    if (p.layers[layer].proto == EF_PROTO_IPV4) {
        ef_address_from_ipv4(address, ef_ipv4_dst(header));
    } else {
        memcpy(address, header + 24, 16);
    }
    return true;
}

static struct ef_time
time_of(const struct ef_trace *trace, const struct ef_hop *hop)
{
    return hop->flags & EF_HOP_HAS_SWITCH_TIME && trace->switch_clock ? hop->switch_time : hop->arrival;
}

/* When the last switch saw the packet, and by when reports about it have come. */
struct last_seen {
    struct ef_time at, heard;
};

/* Whether the switch had a copy lost when it would have seen the packet. */
static enum ef_loss
ask(const struct ef_judge *judge, const uint8_t switch_address[16], const struct last_seen *seen,
    const struct ef_transit *transit)
{
    bool is_learned = transit && ef_transit_min_ns(transit) <= ef_transit_max_ns(transit);
    int64_t min = is_learned ? ef_transit_min_ns(transit) : -UNKNOWN_TRANSIT_NS;
    int64_t max = is_learned ? ef_transit_max_ns(transit) : UNKNOWN_TRANSIT_NS;
    int64_t margin = EF_MAX((max - min) / 2, LEAST_MARGIN_NS); /* Not every packet was learned from. */
    enum ef_loss worst = EF_LOSS_POSSIBLE;
    for (unsigned i = 0; i < judge->n_losses; i++) {
        enum ef_loss loss = ef_loss_table_ask(judge->losses[i], switch_address, ef_time_add_ns(seen->at, min - margin),
                                              ef_time_add_ns(seen->at, max + margin), seen->heard);
        worst = loss == EF_LOSS_SEEN || worst == EF_LOSS_POSSIBLE ? loss : worst;
        if (worst == EF_LOSS_SEEN) {
            break;
        }
    }
    return worst;
}

/* Whether one of the switches `fall` behind the last hop had a copy lost. None
 * being known there, it cannot be excluded. */
static bool
could_be_lost_at(const struct ef_judge *judge, const struct ef_transit_from *from, unsigned fall,
                 const struct last_seen *seen)
{
    bool is_known = false;
    for (uint32_t i = 0; i < from->n; i++) {
        const struct ef_transit *next = &from->next[i];
        if (next->ttl_fall == fall) {
            is_known = true;
            if (ask(judge, next->to, seen, next) == EF_LOSS_SEEN) {
                return true;
            }
        }
    }
    return !is_known;
}

/* Where the packet arrived at the switch that saw it last, as
 * ef_transit_table_learn() takes it; or where it left, if nothing else is known. */
static const struct ef_hop *
last_arrival(const struct ef_trace *trace)
{
    const struct ef_hop *last = &trace->hops[trace->n_hops - 1];
    for (int i = trace->n_hops - 2; i >= 0 && last->flags & EF_HOP_EGRESS; i--) {
        const struct ef_hop *hop = &trace->hops[i];
        if (!(hop->flags & EF_HOP_EGRESS) && !memcmp(hop->switch_address, last->switch_address, 16)) {
            return hop;
        }
    }
    return last;
}

/* Whether lost copies explain that `expected` and all before it are missing. */
static bool
is_explained_by_losses(const struct ef_judge *judge, const struct ef_trace *trace, const uint8_t expected[16])
{
    const struct ef_hop *hop = last_arrival(trace);
    struct last_seen seen = {time_of(trace, hop), ef_time_add_ns(trace->end, judge->report_ns)};
    const struct ef_transit_from *from = ef_transit_table_from(&judge->transits, hop->switch_address);
    const struct ef_transit *transit = ef_transit_find(from, expected);
    if (ask(judge, expected, &seen, transit) != EF_LOSS_SEEN) {
        return false;
    }
    for (unsigned fall = 1; transit && fall < transit->ttl_fall; fall++) {
        if (!could_be_lost_at(judge, from, fall, &seen)) {
            return false;
        }
    }
    return true;
}

static enum ef_fate
judge_missing_end(const struct ef_judge *judge, const struct ef_trace *trace, const struct ef_last_hop *expected)
{
    const struct ef_hop *last = &trace->hops[trace->n_hops - 1];
    if ((last->flags & EF_HOP_ENCAPSULATED ? last->outer_ttl : last->ttl) <= 1) {
        return EF_FATE_EXPIRED;
    }
    if (trace->copies_lost || trace->hops_full) {
        return EF_FATE_UNSURE;
    }
    for (unsigned i = 0; i < expected->n_switches; i++) {
        if (is_explained_by_losses(judge, trace, expected->switches[i])) {
            return EF_FATE_UNSURE;
        }
    }
    return EF_FATE_DROPPED;
}

static enum ef_fate
judge_fate(const struct ef_judge *judge, struct ef_trace *trace)
{
    uint8_t address[16];
    if (trace->loop) {
        return EF_FATE_LOOP;
    }
    if (trace->n_hops && trace->hops[trace->n_hops - 1].drop) {
        return trace->hops[trace->n_hops - 1].drop == EF_SWITCH_DROP_TTL ? EF_FATE_EXPIRED : EF_FATE_DROPPED;
    }
    if (!judge->last_hops || !trace->n_hops || !destination(trace, address)) {
        return EF_FATE_UNKNOWN;
    }
    const struct ef_last_hop *expected = ef_last_hops_find(judge->last_hops, address);
    if (!expected) {
        return EF_FATE_UNKNOWN;
    }
    const uint8_t *last = trace->hops[trace->n_hops - 1].switch_address;
    trace->has_expected = true;
    if (ef_last_hop_is(expected, last)) {
        memcpy(trace->expected, last, 16);
        return EF_FATE_DELIVERED;
    }
    memcpy(trace->expected, expected->switches[0], 16);
    return judge_missing_end(judge, trace, expected);
}

/* --- Corruption of what identifies a packet ------------------------------------ */

/* So many right checksums of senders, and no more wrong ones than one of so many. */
enum { SENT_RIGHT_LEAST = 32, SENT_RIGHT_PER_WRONG = 50, SENT_COUNTED_MOST = 1 << 20 };

static bool
has_signature(const struct ef_trace *trace)
{
    struct ef_packet p;
    struct ef_probe_signature signature;
    ef_packet_parse(&p, trace->bytes, trace->n_bytes, trace->wire_len);
    return !ef_probe_signature_find(&p, &signature);
}

/* The switches of the packet's source; NULL: not known. */
static const struct ef_last_hop *
source_of(const struct ef_judge *judge, const struct ef_trace *trace)
{
    struct ef_packet p;
    uint8_t address[16];
    ef_packet_parse(&p, trace->bytes, trace->n_bytes, trace->wire_len);
    if (p.inner_ip == EF_NO_LAYER) {
        return NULL;
    }
    ef_ip_src(ef_packet_layer_data(&p, p.inner_ip), address);
    return ef_last_hops_find(judge->last_hops, address);
}

/* Counts what hosts send, up to where it is certain enough; then the older half counts no more. */
static void
learn_sent(struct ef_judge *judge, bool is_wrong)
{
    *(is_wrong ? &judge->sent_wrong : &judge->sent_right) += 1;
    if (judge->sent_right + judge->sent_wrong >= SENT_COUNTED_MOST) {
        judge->sent_right /= 2;
        judge->sent_wrong /= 2;
    }
}

static bool
is_sent_right(const struct ef_judge *judge)
{
    return judge->sent_right >= SENT_RIGHT_LEAST &&
           (uint64_t) judge->sent_wrong * SENT_RIGHT_PER_WRONG <= judge->sent_right;
}

/* Whether the source's switch saw the packet, but its copy was lost. */
static bool
could_be_lost_before(const struct ef_judge *judge, const struct ef_trace *trace, const struct ef_last_hop *source)
{
    struct last_seen seen = {time_of(trace, &trace->hops[0]), ef_time_add_ns(trace->end, judge->report_ns)};
    bool is_lost = trace->copies_lost || trace->hops_full;
    for (unsigned i = 0; i < source->n_switches && !is_lost; i++) {
        is_lost = ask(judge, source->switches[i], &seen, NULL) == EF_LOSS_SEEN;
    }
    return is_lost;
}

/* A trace that begins elsewhere than at its source, with a wrong checksum. */
static void
judge_beginning(struct ef_judge *judge, struct ef_trace *trace)
{
    struct ef_hop *first = &trace->hops[0];
    bool is_wrong = first->integrity.payload == EF_PAYLOAD_WRONG, ip_is_wrong = first->integrity.ip_is_wrong;
    bool may_be_corrupt = ip_is_wrong || (is_wrong && is_sent_right(judge));
    bool is_sample = first->integrity.payload >= EF_PAYLOAD_RIGHT && trace->id % LEARN_EVERY == 0;
    if (!(may_be_corrupt || is_sample) || first->flags & EF_HOP_ENCAPSULATED) {
        return;
    }
    const struct ef_last_hop *source = source_of(judge, trace);
    if (!source || has_signature(trace)) {
        return;
    }
    if (ef_last_hop_is(source, first->switch_address)) {
        if (is_sample) {
            learn_sent(judge, is_wrong);
        }
    } else if (may_be_corrupt && !could_be_lost_before(judge, trace, source)) {
        first->flags |= EF_HOP_CORRUPT;
        trace->corrupt = true;
    }
}

/* --- Entry ---------------------------------------------------------------------- */

void
ef_judge_trace(struct ef_judge *judge, struct ef_trace *trace)
{
    trace->has_expected = false;
    memset(trace->expected, 0, sizeof trace->expected);
    enum ef_fate fate = judge_fate(judge, trace);
    trace->fate = (uint8_t) fate;
    ef_counter_add(&judge->fates[fate], 1);
    if (judge->last_hops && trace->n_hops) {
        judge_beginning(judge, trace);
    }
    if (trace->corrupt) {
        ef_counter_add(&judge->corrupt, 1);
    }
    if (judge->last_hops && fate != EF_FATE_LOOP && trace->id % LEARN_EVERY == 0) {
        ef_transit_table_learn(&judge->transits, trace);
    }
}
