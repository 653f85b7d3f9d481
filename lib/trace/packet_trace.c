/* SPDX-License-Identifier: Apache-2.0 */
/* The trace of one packet; see packet_trace.h. */
#include <config.h>

#include "trace/packet_trace.h"

#include <string.h>

#include "base/util.h"

const char *const ef_fate_names[EF_N_FATES] = {"unknown", "delivered", "dropped", "unsure", "expired", "loop"};

/* TTL and traffic class of the IP header that is layer `index`. */
static void
ip_fields(const struct ef_packet *packet, unsigned index, uint8_t *ttl, uint8_t *traffic_class)
{
    const uint8_t *header = ef_packet_layer_data(packet, index);
    if (packet->layers[index].proto == EF_PROTO_IPV4) {
        *traffic_class = header[1];
        *ttl = header[8];
    } else {
        *traffic_class = (uint8_t) (header[0] << 4 | header[1] >> 4);
        *ttl = header[7];
    }
}

/* IP headers around the innermost one. */
static uint8_t
depth_of(const struct ef_packet *packet)
{
    uint8_t n = 0;
    for (unsigned i = packet->outer_ip; i < packet->inner_ip; i++) {
        n += packet->layers[i].proto == EF_PROTO_IPV4 || packet->layers[i].proto == EF_PROTO_IPV6;
    }
    return n;
}

static uint8_t
hop_flags(const struct ef_copy *copy, const struct ef_packet *packet)
{
    uint8_t flags = 0;
    flags |= copy->egress ? EF_HOP_EGRESS : 0;
    flags |= copy->has_port ? EF_HOP_HAS_PORT : 0;
    flags |= copy->has_sequence ? EF_HOP_HAS_SEQUENCE : 0;
    flags |= copy->has_switch_time ? EF_HOP_HAS_SWITCH_TIME : 0;
    flags |= copy->truncated ? EF_HOP_TRUNCATED : 0;
    if (packet->inner_ip != EF_NO_LAYER) {
        flags |= EF_HOP_HAS_IP;
        flags |= packet->inner_ip != packet->outer_ip ? EF_HOP_ENCAPSULATED : 0;
    }
    return flags;
}

void
ef_hop_of_copy(struct ef_hop *hop, const struct ef_copy *copy, const struct ef_packet *packet, struct ef_time arrival)
{
    memset(hop, 0, sizeof *hop);
    memcpy(hop->switch_address, copy->switch_address, sizeof hop->switch_address);
    hop->arrival = arrival;
    hop->switch_time = copy->has_switch_time ? copy->switch_time : (struct ef_time){0};
    hop->port = copy->has_port ? copy->port : 0;
    hop->sequence = copy->has_sequence ? copy->sequence : 0;
    hop->flags = hop_flags(copy, packet);
    hop->drop = copy->switch_drop;
    ef_integrity_of(packet, &hop->integrity);
    if (packet->n_layers > 0) {
        memcpy(hop->src_mac, packet->data + 6, sizeof hop->src_mac);
    }
    if (hop->flags & EF_HOP_HAS_IP) {
        uint8_t traffic_class;
        hop->depth = depth_of(packet);
        ip_fields(packet, packet->inner_ip, &hop->ttl, &traffic_class);
        ip_fields(packet, packet->outer_ip, &hop->outer_ttl, &traffic_class);
        hop->dscp = traffic_class >> 2;
        hop->ecn = traffic_class & 3;
    }
}

static bool
is_same_switch(const struct ef_hop *a, const struct ef_hop *b)
{
    return !memcmp(a->switch_address, b->switch_address, sizeof a->switch_address);
}

/* The same place on the path: switch, direction, how deep in other packets, and
 * whether it went on from there. */
static bool
is_same_place(const struct ef_hop *a, const struct ef_hop *b)
{
    return !((a->flags ^ b->flags) & (EF_HOP_EGRESS | EF_HOP_ENCAPSULATED)) && a->depth == b->depth &&
           a->drop == b->drop && is_same_switch(a, b);
}

bool
ef_hop_is_duplicate(const struct ef_hop *a, const struct ef_hop *b)
{
    return a->ttl == b->ttl && a->outer_ttl == b->outer_ttl && a->port == b->port &&
           !((a->flags ^ b->flags) & EF_HOP_HAS_PORT) && is_same_place(a, b);
}

static struct ef_time
hop_time(const struct ef_trace *trace, const struct ef_hop *hop)
{
    return trace->switch_clock ? hop->switch_time : hop->arrival;
}

/* Whether `hop` is where its TTL begins: it left a switch at which it arrived
 * with one more. */
static bool
begins_ttl(const struct ef_trace *trace, const struct ef_hop *hop)
{
    for (int i = 0; hop->flags & EF_HOP_EGRESS && i < trace->n_hops; i++) {
        const struct ef_hop *other = &trace->hops[i];
        bool more = other->ttl == hop->ttl + 1 || (other->ttl == hop->ttl && other->outer_ttl == hop->outer_ttl + 1);
        if (more && other->depth == hop->depth && !(other->flags & EF_HOP_EGRESS) && !other->drop &&
            is_same_switch(other, hop)) {
            return true;
        }
    }
    return false;
}

/* Of two hops with the same TTL, one of a packet that arrives and the other of
 * one that leaves: negative if `a` is first, positive if `b` is, 0 if nothing
 * but the time tells. */
static int
compare_directions(const struct ef_trace *trace, const struct ef_hop *a, const struct ef_hop *b)
{
    if (!is_same_switch(a, b)) {
        return begins_ttl(trace, b) - begins_ttl(trace, a);
    }
    if (a->flags & b->flags & EF_HOP_HAS_SEQUENCE) {
        return (int32_t) (a->sequence - b->sequence) < 0 ? -1 : 1;
    }
    return a->flags & EF_HOP_EGRESS ? 1 : -1;
}

static bool
is_before(const struct ef_trace *trace, bool by_outer_ttl, const struct ef_hop *a, const struct ef_hop *b)
{
    if (a->ttl != b->ttl) {
        return a->ttl > b->ttl;
    }
    if (by_outer_ttl && a->outer_ttl != b->outer_ttl) {
        return a->outer_ttl > b->outer_ttl;
    }
    if (!a->drop != !b->drop && is_same_switch(a, b)) {
        return !a->drop;
    }
    if ((a->flags ^ b->flags) & EF_HOP_EGRESS) {
        int order = compare_directions(trace, a, b);
        if (order) {
            return order < 0;
        }
    }
    return ef_time_before(hop_time(trace, a), hop_time(trace, b));
}

/* Insertion sort: paths are short and copies mostly arrive in their order. */
static void
order_hops(struct ef_trace *trace, bool by_outer_ttl)
{
    for (int i = 1; i < trace->n_hops; i++) {
        struct ef_hop hop = trace->hops[i];
        int j = i;
        while (j > 0 && is_before(trace, by_outer_ttl, &hop, &trace->hops[j - 1])) {
            trace->hops[j] = trace->hops[j - 1];
            j--;
        }
        trace->hops[j] = hop;
    }
}

/* Two copies of one switch: its own clock tells, if both carry it. */
static bool
is_earlier(const struct ef_hop *a, const struct ef_hop *b)
{
    return a->flags & b->flags & EF_HOP_HAS_SWITCH_TIME ? ef_time_before(a->switch_time, b->switch_time)
                                                        : ef_time_before(a->arrival, b->arrival);
}

static bool
is_again_with_lower_ttl(const struct ef_hop *a, const struct ef_hop *b)
{
    bool lower = b->ttl < a->ttl || (b->ttl == a->ttl && b->outer_ttl < a->outer_ttl);
    return lower && is_same_place(a, b) && !is_earlier(b, a);
}

static bool
has_loop(const struct ef_trace *trace)
{
    for (int i = 0; i < trace->n_hops; i++) {
        for (int j = i + 1; j < trace->n_hops; j++) {
            if (is_again_with_lower_ttl(&trace->hops[i], &trace->hops[j])) {
                return true;
            }
        }
    }
    return false;
}

/* By how much more than one the TTL of the outermost header fell from `a` to `b`. */
static int
missing_between(const struct ef_hop *a, const struct ef_hop *b)
{
    if (!(a->flags & b->flags & EF_HOP_HAS_IP) || (a->flags ^ b->flags) & EF_HOP_ENCAPSULATED || a->depth != b->depth) {
        return 0;
    }
    bool encapsulated = a->flags & EF_HOP_ENCAPSULATED;
    int fall = encapsulated ? a->outer_ttl - b->outer_ttl : a->ttl - b->ttl;
    return fall > 1 ? fall - 1 : 0;
}

static void
find_missing(struct ef_trace *trace)
{
    int n = 0;
    for (int i = 1; i < trace->n_hops; i++) {
        n += missing_between(&trace->hops[i - 1], &trace->hops[i]);
    }
    trace->n_missing = (uint8_t) EF_MIN(n, UINT8_MAX);
}

/* A retransmission may be equal in all that identifies a packet, and its checksum is
 * right as well; without one that is, it cannot be told from a corrupted packet. */
static bool
is_proven(const struct ef_integrity *before, const struct ef_integrity *after)
{
    return before->payload == EF_PAYLOAD_RIGHT || (after->ip_is_wrong && !before->ip_is_wrong);
}

static void
find_corruption(struct ef_trace *trace)
{
    for (int i = 1; i < trace->n_hops; i++) {
        const struct ef_integrity *before = &trace->hops[i - 1].integrity;
        struct ef_hop *hop = &trace->hops[i];
        if (ef_integrity_changed(before, &hop->integrity) && (!trace->is_mixed || is_proven(before, &hop->integrity))) {
            hop->flags |= EF_HOP_CORRUPT;
            trace->corrupt = true;
        }
    }
}

static void
find_mux(struct ef_trace *trace)
{
    trace->mux_hop = 0;
    for (uint8_t i = 1; i < trace->n_hops && !trace->mux_hop; i++) {
        uint8_t before = trace->hops[i - 1].flags, flags = trace->hops[i].flags;
        trace->mux_hop = before & EF_HOP_HAS_IP && flags & ~before & EF_HOP_ENCAPSULATED ? i : 0;
    }
}

void
ef_trace_finish(struct ef_trace *trace, uint8_t debug_dscp)
{
    uint8_t all = 0xff, dscp = 0;
    for (int i = 0; i < trace->n_hops; i++) {
        all &= trace->hops[i].flags;
        dscp |= trace->hops[i].dscp;
    }
    trace->switch_clock = all & EF_HOP_HAS_SWITCH_TIME;
    trace->debug = dscp & debug_dscp;
    order_hops(trace, all & EF_HOP_ENCAPSULATED);
    trace->loop = has_loop(trace);
    trace->corrupt = false;
    find_corruption(trace);
    find_missing(trace);
    find_mux(trace);
}

/* From `b` to `a`, modulo 2^64: a switch's clock may say anything. */
static int64_t
ns_between(struct ef_time a, struct ef_time b)
{
    return (int64_t) ((uint64_t) a.ns - (uint64_t) b.ns);
}

int64_t
ef_trace_since_first_ns(const struct ef_trace *trace, unsigned index)
{
    return ns_between(hop_time(trace, &trace->hops[index]), hop_time(trace, &trace->hops[0]));
}

int64_t
ef_trace_latency_ns(const struct ef_trace *trace)
{
    return ef_trace_since_first_ns(trace, trace->n_hops - 1u);
}

int64_t
ef_trace_mux_latency_ns(const struct ef_trace *trace)
{
    return trace->mux_hop ? ns_between(hop_time(trace, &trace->hops[trace->mux_hop]),
                                       hop_time(trace, &trace->hops[trace->mux_hop - 1]))
                          : 0;
}
