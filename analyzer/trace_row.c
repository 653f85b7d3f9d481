/* SPDX-License-Identifier: Apache-2.0 */
/* Traces as rows; see trace_row.h. The packet is split, put together again at
 * once, and kept whole if that is not the packet: so whatever is in it, what
 * comes out is what went in. */
#include <config.h>

#include "analyzer/trace_row.h"

#include <string.h>

#include "analyzer/trace_sieve.h"
#include "base/byteorder.h"
#include "base/util.h"
#include "packet/build.h"
#include "packet/headers.h"

enum { ETHERNET_BYTES = 14, IPV4_BYTES = 20, IPV6_BYTES = 40, TCP_BYTES = 20, L4_BYTES = 8 };

static const uint8_t ipv4_mapped[12] = {[10] = 0xff, [11] = 0xff};

/* --- Splitting the packet ---------------------------------------------------------- */

static struct ef_bytes
bytes_between(const struct ef_trace *t, uint32_t from, uint32_t to, bool *has)
{
    *has = to > from;
    return *has ? (struct ef_bytes){t->bytes + from, to - from} : (struct ef_bytes){0};
}

static void
split_ethernet(const struct ef_trace *t, struct ef_trace_row *r)
{
    r->has_ethernet = true;
    memcpy(r->eth_dst, t->bytes, 6);
    memcpy(r->eth_src, t->bytes + 6, 6);
    r->eth_type = ef_load_be16(t->bytes + 12);
    r->has_eth_src = !t->n_hops || memcmp(r->eth_src, t->hops[0].src_mac, 6) != 0;
}

/* What the IP length is unless the packet says otherwise. */
static uint16_t
usual_ip_length(uint32_t wire_len, uint32_t ip_offset, bool is_ipv6)
{
    return (uint16_t) (wire_len - ip_offset - (is_ipv6 ? IPV6_BYTES : 0));
}

static uint16_t
usual_checksum(uint8_t *header, uint32_t len)
{
    header[10] = header[11] = 0;
    return ef_checksum_fold(ef_checksum_add(0, header, len));
}

static void
split_ipv4(const struct ef_trace *t, const struct ef_layer *layer, struct ef_trace_row *r)
{
    const uint8_t *h = t->bytes + layer->offset;
    uint8_t copy[60];
    r->has_ipv4 = true;
    r->traffic_class = h[1];
    r->ip_length = ef_load_be16(h + 2);
    r->ip_id = ef_load_be16(h + 4);
    r->ip_fragment = ef_load_be16(h + 6);
    r->ttl = h[8];
    r->proto = h[9];
    r->ip_checksum = ef_load_be16(h + 10);
    memcpy(r->src, ipv4_mapped, 12);
    memcpy(r->src + 12, h + 12, 4);
    memcpy(r->dst, ipv4_mapped, 12);
    memcpy(r->dst + 12, h + 16, 4);
    uint32_t len = EF_MIN((uint32_t) layer->header_len, (uint32_t) sizeof copy);
    memcpy(copy, h, len);
    r->has_ip_checksum = r->ip_checksum != usual_checksum(copy, len);
    r->ip_options = bytes_between(t, layer->offset + IPV4_BYTES, layer->offset + layer->header_len, &r->has_ip_options);
}

static void
split_ipv6(const struct ef_trace *t, const struct ef_layer *layer, struct ef_trace_row *r)
{
    const uint8_t *h = t->bytes + layer->offset;
    uint32_t first = ef_load_be32(h);
    r->has_ipv6 = true;
    r->traffic_class = (uint8_t) (first >> 20);
    r->flow_label = first & 0xfffff;
    r->ip_length = ef_load_be16(h + 4);
    r->proto = h[6];
    r->ttl = h[7];
    memcpy(r->src, h + 8, 16);
    memcpy(r->dst, h + 24, 16);
    r->ip_options = bytes_between(t, layer->offset + IPV6_BYTES, layer->offset + layer->header_len, &r->has_ip_options);
}

static void
split_ip(const struct ef_trace *t, const struct ef_layer *layer, struct ef_trace_row *r)
{
    r->has_ip = true;
    if (layer->proto == EF_PROTO_IPV4) {
        split_ipv4(t, layer, r);
    } else {
        split_ipv6(t, layer, r);
    }
    const struct ef_hop *first = t->n_hops ? &t->hops[0] : NULL;
    r->has_ttl = !first || r->ttl != first->ttl;
    r->has_traffic_class = !first || r->traffic_class != (uint8_t) (first->dscp << 2 | first->ecn);
    r->has_ip_length = r->ip_length != usual_ip_length(t->wire_len, layer->offset, r->has_ipv6);
}

/* What follows the header before it; returns where the payload begins. */
static uint32_t
split_l4(const struct ef_trace *t, const struct ef_layer *layer, uint32_t ip_end, struct ef_trace_row *r)
{
    const uint8_t *h = t->bytes + layer->offset;
    bool is_tcp = layer->proto == EF_PROTO_TCP, is_udp = layer->proto == EF_PROTO_UDP;
    if (layer->offset != ip_end || t->n_bytes - layer->offset < (is_tcp ? TCP_BYTES : L4_BYTES)) {
        return ip_end;
    }
    r->has_l4 = true;
    r->has_ports = is_tcp || is_udp;
    r->has_tcp = is_tcp;
    r->has_icmp = !r->has_ports;
    r->srcport = ef_load_be16(h);
    r->dstport = ef_load_be16(h + 2);
    if (is_tcp) {
        r->tcp_seq = ef_load_be32(h + 4);
        r->tcp_ack = ef_load_be32(h + 8);
        r->tcp_flags = ef_load_be16(h + 12) & 0xfff;
        r->tcp_window = ef_load_be16(h + 14);
        r->l4_checksum = ef_load_be16(h + 16);
        r->tcp_urgent = ef_load_be16(h + 18);
        r->tcp_options =
            bytes_between(t, layer->offset + TCP_BYTES, layer->offset + layer->header_len, &r->has_tcp_options);
        return EF_MAX(layer->offset + TCP_BYTES, layer->offset + layer->header_len);
    }
    if (is_udp) {
        r->udp_length = ef_load_be16(h + 4);
        r->has_udp_length = r->udp_length != (uint16_t) (t->wire_len - layer->offset);
        r->l4_checksum = ef_load_be16(h + 6);
    } else {
        r->icmp_type = h[0];
        r->icmp_code = h[1];
        r->l4_checksum = ef_load_be16(h + 2);
        r->icmp_rest = ef_load_be32(h + 4);
    }
    return layer->offset + L4_BYTES;
}

static void
split_packet(const struct ef_trace *t, struct ef_trace_row *r)
{
    struct ef_packet p;
    uint32_t end = 0;
    ef_packet_parse(&p, t->bytes, t->n_bytes, t->wire_len);
    if (p.n_layers > 0 && t->n_bytes >= ETHERNET_BYTES) {
        split_ethernet(t, r);
        end = ETHERNET_BYTES;
    }
    if (end && p.inner_ip != EF_NO_LAYER) {
        const struct ef_layer *ip = &p.layers[p.inner_ip];
        r->encapsulation = bytes_between(t, end, ip->offset, &r->has_encapsulation);
        split_ip(t, ip, r);
        end = ip->offset + ip->header_len;
        if (p.inner_l4 != EF_NO_LAYER) {
            end = split_l4(t, &p.layers[p.inner_l4], end, r);
        }
    }
    r->payload = bytes_between(t, end, t->n_bytes, &r->has_payload);
}

/* --- Putting it together ------------------------------------------------------------ */

/* Bytes of a packet as they are put together; `overflow` if they are too many. */
struct packet_bytes {
    uint8_t *at;
    uint32_t len;
    bool overflow;
};

static uint8_t *
add(struct packet_bytes *b, const void *data, uint32_t len)
{
    static __thread uint8_t nowhere[64];
    if (len > EF_TRACE_MAX_BYTES - b->len) {
        b->overflow = true;
        return nowhere;
    }
    uint8_t *at = b->at + b->len;
    if (data && len) {
        memcpy(at, data, len);
    } else {
        memset(at, 0, len);
    }
    b->len += len;
    return at;
}

static void
add_bytes(struct packet_bytes *b, bool has, struct ef_bytes bytes)
{
    if (has) {
        add(b, bytes.data, bytes.len);
    }
}

static void
add_ethernet(const struct ef_trace *t, const struct ef_trace_row *r, struct packet_bytes *b)
{
    add(b, r->eth_dst, 6);
    add(b, r->has_eth_src ? r->eth_src : t->hops[0].src_mac, 6);
    ef_store_be16(add(b, NULL, 2), r->eth_type);
}

static void
add_ip(const struct ef_trace *t, const struct ef_trace_row *r, struct packet_bytes *b)
{
    uint32_t offset = b->len;
    uint8_t ttl = r->has_ttl ? r->ttl : t->hops[0].ttl;
    uint8_t traffic_class = r->has_traffic_class ? r->traffic_class : (uint8_t) (t->hops[0].dscp << 2 | t->hops[0].ecn);
    uint16_t length = r->has_ip_length ? r->ip_length : usual_ip_length(t->wire_len, offset, r->has_ipv6);
    uint8_t *h = add(b, NULL, r->has_ipv6 ? IPV6_BYTES : IPV4_BYTES);
    if (r->has_ipv6) {
        ef_store_be32(h, 6u << 28 | (uint32_t) traffic_class << 20 | r->flow_label);
        ef_store_be16(h + 4, length);
        h[6] = r->proto;
        h[7] = ttl;
        memcpy(h + 8, r->src, 16);
        memcpy(h + 24, r->dst, 16);
        add_bytes(b, r->has_ip_options, r->ip_options);
        return;
    }
    uint32_t header_len = IPV4_BYTES + (r->has_ip_options ? r->ip_options.len : 0);
    h[0] = (uint8_t) (4 << 4 | (header_len / 4 & 0xf));
    h[1] = traffic_class;
    ef_store_be16(h + 2, length);
    ef_store_be16(h + 4, r->ip_id);
    ef_store_be16(h + 6, r->ip_fragment);
    h[8] = ttl;
    h[9] = r->proto;
    memcpy(h + 12, r->src + 12, 4);
    memcpy(h + 16, r->dst + 12, 4);
    add_bytes(b, r->has_ip_options, r->ip_options);
    if (!b->overflow) {
        ef_store_be16(h + 10, r->has_ip_checksum ? r->ip_checksum : usual_checksum(h, header_len));
    }
}

static void
add_l4(const struct ef_trace *t, const struct ef_trace_row *r, struct packet_bytes *b)
{
    uint32_t offset = b->len;
    uint8_t *h = add(b, NULL, r->has_tcp ? TCP_BYTES : L4_BYTES);
    if (r->has_tcp) {
        uint32_t header_len = TCP_BYTES + (r->has_tcp_options ? r->tcp_options.len : 0);
        ef_store_be32(h + 4, r->tcp_seq);
        ef_store_be32(h + 8, r->tcp_ack);
        ef_store_be16(h + 12, (uint16_t) (header_len / 4 << 12 | r->tcp_flags));
        ef_store_be16(h + 14, r->tcp_window);
        ef_store_be16(h + 16, r->l4_checksum);
        ef_store_be16(h + 18, r->tcp_urgent);
        add_bytes(b, r->has_tcp_options, r->tcp_options);
    } else if (r->has_ports) {
        ef_store_be16(h + 4, r->has_udp_length ? r->udp_length : (uint16_t) (t->wire_len - offset));
        ef_store_be16(h + 6, r->l4_checksum);
    } else {
        h[0] = r->icmp_type;
        h[1] = r->icmp_code;
        ef_store_be16(h + 2, r->l4_checksum);
        ef_store_be32(h + 4, r->icmp_rest);
    }
    if (r->has_ports) {
        ef_store_be16(h, r->srcport);
        ef_store_be16(h + 2, r->dstport);
    }
}

/* The packet of the row, whose trace `t` has its hops and `wire_len`. Returns its
 * length, or -1 if it would be too long. */
static int
join_packet(const struct ef_trace *t, const struct ef_trace_row *r, uint8_t bytes[EF_TRACE_MAX_BYTES])
{
    struct packet_bytes b = {.at = bytes};
    if (r->has_frame) {
        add_bytes(&b, true, r->frame);
        return b.overflow ? -1 : (int) b.len;
    }
    if (r->has_ethernet) {
        add_ethernet(t, r, &b);
    }
    add_bytes(&b, r->has_encapsulation, r->encapsulation);
    if (r->has_ip) {
        add_ip(t, r, &b);
    }
    if (r->has_l4) {
        add_l4(t, r, &b);
    }
    add_bytes(&b, r->has_payload, r->payload);
    return b.overflow ? -1 : (int) b.len;
}

/* --- Traces -------------------------------------------------------------------------- */

/* From `a` to `b`, modulo 2^64: a switch's clock may say anything. */
static int64_t
ns_between(struct ef_time a, struct ef_time b)
{
    return (int64_t) ((uint64_t) b.ns - (uint64_t) a.ns);
}

static void
hop_to_row(struct ef_time before, const struct ef_hop *hop, struct ef_hop_row *r)
{
    memcpy(r->switch_address, hop->switch_address, 16);
    memcpy(r->src_mac, hop->src_mac, 6);
    r->ttl = hop->ttl;
    r->outer_ttl = hop->outer_ttl;
    r->has_outer_ttl = hop->outer_ttl != hop->ttl;
    r->depth = hop->depth;
    r->traffic_class = (uint8_t) (hop->dscp << 2 | hop->ecn);
    r->flags = hop->flags;
    r->drop = hop->drop;
    r->has_port = hop->flags & EF_HOP_HAS_PORT;
    r->has_sequence = hop->flags & EF_HOP_HAS_SEQUENCE;
    r->has_clock = hop->flags & EF_HOP_HAS_SWITCH_TIME;
    r->port = hop->port;
    r->sequence = hop->sequence;
    r->after_ns = ns_between(before, hop->arrival);
    r->has_after = r->after_ns != 0;
    r->delay_ns = ns_between(hop->switch_time, hop->arrival);
}

static void
hop_of_row(struct ef_time before, const struct ef_hop_row *r, struct ef_hop *hop)
{
    memset(hop, 0, sizeof *hop);
    memcpy(hop->switch_address, r->switch_address, 16);
    memcpy(hop->src_mac, r->src_mac, 6);
    hop->ttl = r->ttl;
    hop->outer_ttl = r->has_outer_ttl ? r->outer_ttl : r->ttl;
    hop->depth = r->depth;
    hop->dscp = r->traffic_class >> 2;
    hop->ecn = r->traffic_class & 3;
    hop->flags = r->flags;
    hop->drop = r->drop;
    hop->port = r->has_port ? r->port : 0;
    hop->sequence = r->has_sequence ? r->sequence : 0;
    hop->arrival.ns = (int64_t) ((uint64_t) before.ns + (uint64_t) r->after_ns);
    hop->switch_time.ns = r->has_clock ? (int64_t) ((uint64_t) hop->arrival.ns - (uint64_t) r->delay_ns) : 0;
}

/* When the latest of the hops arrived, or the start if there is none. */
static struct ef_time
latest_arrival(const struct ef_trace *t)
{
    int64_t latest = t->n_hops ? t->hops[0].arrival.ns : t->start.ns;
    for (unsigned i = 1; i < t->n_hops; i++) {
        latest = EF_MAX(latest, t->hops[i].arrival.ns);
    }
    return (struct ef_time){latest};
}

static enum ef_trace_class
class_of(const struct ef_trace *t)
{
    return t->loop                      ? EF_TRACE_LOOP
           : t->fate == EF_FATE_DROPPED ? EF_TRACE_DROP
           : t->debug                   ? EF_TRACE_DEBUG
                                        : EF_TRACE_OTHER;
}

/* True if questions about the packet cannot be asked of the columns: there are
 * several IP headers, or one that could not be split. */
static bool
is_nested(const struct ef_trace *t, const struct ef_trace_row *r)
{
    struct ef_trace_columns real, told;
    ef_trace_columns_fill(&real, t);
    ef_trace_columns_of_row(r, &told);
    return real.flags & EF_TRACE_FLAG_NESTED || memcmp(real.src, told.src, sizeof real.src) ||
           memcmp(real.dst, told.dst, sizeof real.dst) || real.srcport != told.srcport ||
           real.dstport != told.dstport || real.tcp_flags != told.tcp_flags || real.protocol != told.protocol;
}

void
ef_trace_to_row(const struct ef_trace *t, struct ef_trace_row *r)
{
    memset(r, 0, offsetof(struct ef_trace_row, hop_rows));
    r->start = t->start;
    r->id = t->id;
    r->last_copy_ns = ns_between(latest_arrival(t), t->end);
    r->wire_len = t->wire_len;
    r->n_copies = t->n_copies;
    r->n_duplicates = t->n_duplicates;
    r->trace_class = (uint8_t) class_of(t);
    r->fate = t->fate;
    r->loop = t->loop;
    r->debug = t->debug;
    r->switch_clock = t->switch_clock;
    r->hops_full = t->hops_full;
    r->copies_lost = t->copies_lost;
    r->n_missing = t->n_missing;
    r->mux_hop = t->mux_hop;
    memcpy(r->target, t->target, 16);
    memcpy(r->expected, t->expected, 16);
    r->has_expected = t->has_expected;
    r->hops = (struct ef_row_list){r->hop_rows, t->n_hops};
    for (unsigned i = 0; i < t->n_hops; i++) {
        hop_to_row(i ? t->hops[i - 1].arrival : t->start, &t->hops[i], &r->hop_rows[i]);
    }
    split_packet(t, r);
    uint8_t bytes[EF_TRACE_MAX_BYTES];
    if (join_packet(t, r, bytes) != t->n_bytes || memcmp(bytes, t->bytes, t->n_bytes)) {
        r->frame = bytes_between(t, 0, t->n_bytes, &r->has_frame);
        r->has_encapsulation = r->has_ip_options = r->has_tcp_options = r->has_payload = false;
    }
    r->nested = is_nested(t, r);
}

/* True if what the row says of a trace is possible. */
static bool
is_row_of_trace(const struct ef_trace_row *r)
{
    bool needs_hop = (r->has_ethernet && !r->has_eth_src) || (r->has_ip && !(r->has_ttl && r->has_traffic_class));
    return r->hops.n <= EF_TRACE_MAX_HOPS && (r->hops.n || !needs_hop || r->has_frame) && r->fate < EF_N_FATES &&
           (!r->has_ip || r->has_ipv4 != r->has_ipv6) && r->mux_hop <= r->hops.n;
}

bool
ef_trace_of_row(const struct ef_trace_row *r, struct ef_trace *t)
{
    memset(t, 0, offsetof(struct ef_trace, bytes));
    if (!is_row_of_trace(r)) {
        return false;
    }
    t->start = r->start;
    t->id = r->id;
    t->wire_len = r->wire_len;
    t->n_copies = r->n_copies;
    t->n_duplicates = r->n_duplicates;
    t->fate = r->fate;
    t->loop = r->loop;
    t->debug = r->debug;
    t->switch_clock = r->switch_clock;
    t->hops_full = r->hops_full;
    t->copies_lost = r->copies_lost;
    t->n_missing = r->n_missing;
    t->mux_hop = r->mux_hop;
    memcpy(t->target, r->target, 16);
    t->has_expected = r->has_expected;
    if (r->has_expected) {
        memcpy(t->expected, r->expected, 16);
    }
    t->n_hops = (uint8_t) r->hops.n;
    const struct ef_hop_row *hops = r->hops.elements;
    for (unsigned i = 0; i < t->n_hops; i++) {
        hop_of_row(i ? t->hops[i - 1].arrival : t->start, &hops[i], &t->hops[i]);
        t->corrupt |= hops[i].flags & EF_HOP_CORRUPT;
    }
    t->end.ns = (int64_t) ((uint64_t) latest_arrival(t).ns + (uint64_t) r->last_copy_ns);
    int len = join_packet(t, r, t->bytes);
    t->n_bytes = (uint16_t) EF_MAX(len, 0);
    return len >= 0;
}
