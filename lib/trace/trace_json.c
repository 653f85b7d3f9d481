/* SPDX-License-Identifier: Apache-2.0 */
/* A trace as JSON text; see trace_json.h. */
#include <config.h>

#include "trace/trace_json.h"

#include <string.h>

#include "packet/probe_signature.h"
#include "packet/switch_drop.h"
#include "trace/json_text.h"

static void
put_id(struct ef_json_text *j, uint64_t id)
{
    uint8_t bytes[8];
    ef_store_be64(bytes, id);
    EF_JSON_LITERAL(j, "\"");
    ef_json_hex(j, bytes, sizeof bytes);
    EF_JSON_LITERAL(j, "\"");
}

static void
put_ipv4_address(struct ef_json_text *j, const uint8_t *bytes)
{
    uint8_t address[16] = {[10] = 0xff, [11] = 0xff};
    memcpy(address + 12, bytes, 4);
    ef_json_address(j, address);
}

/* The IPv6 packet's protocol: of the layer that follows, or what the header
 * itself names if none was recognised. */
static uint8_t
ipv6_protocol(const struct ef_packet *p, const uint8_t *header)
{
    switch (p->inner_l4 == EF_NO_LAYER ? EF_N_PROTOS : p->layers[p->inner_l4].proto) {
    case EF_PROTO_TCP:
        return 6;
    case EF_PROTO_UDP:
        return 17;
    case EF_PROTO_ICMPV6:
        return 58;
    default:
        return header[6];
    }
}

static void
put_ip(struct ef_json_text *j, const struct ef_packet *p)
{
    const uint8_t *header = ef_packet_layer_data(p, p->inner_ip);
    EF_JSON_LITERAL(j, ",\"src\":");
    if (p->layers[p->inner_ip].proto == EF_PROTO_IPV4) {
        put_ipv4_address(j, header + 12);
        EF_JSON_LITERAL(j, ",\"dst\":");
        put_ipv4_address(j, header + 16);
        EF_JSON_LITERAL(j, ",\"proto\":");
        ef_json_u64(j, header[9]);
        EF_JSON_LITERAL(j, ",\"ip_id\":");
        ef_json_u64(j, ef_load_be16(header + 4));
    } else {
        ef_json_address(j, header + 8);
        EF_JSON_LITERAL(j, ",\"dst\":");
        ef_json_address(j, header + 24);
        EF_JSON_LITERAL(j, ",\"proto\":");
        ef_json_u64(j, ipv6_protocol(p, header));
    }
}

/* The flags that are set, as their usual letters: "SA". */
static void
put_tcp_flags(struct ef_json_text *j, uint8_t flags)
{
    static const char letters[] = "FSRPAUEC";
    EF_JSON_LITERAL(j, ",\"tcp_flags\":\"");
    for (int bit = 0; bit < 8; bit++) {
        if (flags >> bit & 1) {
            ef_json_raw(j, &letters[bit], 1);
        }
    }
    EF_JSON_LITERAL(j, "\"");
}

static void
put_ports(struct ef_json_text *j, const struct ef_packet *p)
{
    const uint8_t *header = ef_packet_layer_data(p, p->inner_l4);
    uint8_t proto = p->layers[p->inner_l4].proto;
    if (proto == EF_PROTO_TCP || proto == EF_PROTO_UDP) {
        EF_JSON_LITERAL(j, ",\"srcport\":");
        ef_json_u64(j, ef_load_be16(header));
        EF_JSON_LITERAL(j, ",\"dstport\":");
        ef_json_u64(j, ef_load_be16(header + 2));
    }
    if (proto == EF_PROTO_TCP) {
        put_tcp_flags(j, header[13]);
    }
}

/* Which probe it is, if it is one. */
static void
put_probe(struct ef_json_text *j, const struct ef_packet *p)
{
    struct ef_probe_signature signature;
    if (!ef_probe_signature_find(p, &signature)) {
        EF_JSON_LITERAL(j, ",\"probe\":{\"id\":");
        put_id(j, signature.probe_id);
        EF_JSON_LITERAL(j, ",\"sequence\":");
        ef_json_u64(j, signature.sequence);
        EF_JSON_LITERAL(j, ",\"sent\":");
        ef_json_time(j, signature.sent);
        EF_JSON_LITERAL(j, "}");
    }
}

static void
put_packet(struct ef_json_text *j, const struct ef_trace *trace)
{
    struct ef_packet p;
    char summary[256];
    ef_packet_parse(&p, trace->bytes, trace->n_bytes, trace->wire_len);
    EF_JSON_LITERAL(j, ",\"packet\":{\"summary\":");
    ef_json_string(j, ef_packet_summary(&p, summary, sizeof summary));
    EF_JSON_LITERAL(j, ",\"length\":");
    ef_json_u64(j, trace->wire_len);
    if (p.inner_ip != EF_NO_LAYER) {
        put_ip(j, &p);
    }
    if (p.inner_l4 != EF_NO_LAYER) {
        put_ports(j, &p);
    }
    EF_JSON_LITERAL(j, ",\"hex\":\"");
    ef_json_hex(j, trace->bytes, trace->n_bytes);
    EF_JSON_LITERAL(j, "\"}");
    put_probe(j, &p);
}

static void
put_u64_or_null(struct ef_json_text *j, bool there, uint64_t v)
{
    if (there) {
        ef_json_u64(j, v);
    } else {
        EF_JSON_LITERAL(j, "null");
    }
}

static void
put_hop_ip(struct ef_json_text *j, const struct ef_hop *hop)
{
    EF_JSON_LITERAL(j, ",\"ttl\":");
    ef_json_u64(j, hop->ttl);
    if (hop->flags & EF_HOP_ENCAPSULATED) {
        EF_JSON_LITERAL(j, ",\"outer_ttl\":");
        ef_json_u64(j, hop->outer_ttl);
    }
    EF_JSON_LITERAL(j, ",\"dscp\":");
    ef_json_u64(j, hop->dscp);
    EF_JSON_LITERAL(j, ",\"ecn\":");
    ef_json_u64(j, hop->ecn);
}

static void
put_hop_times(struct ef_json_text *j, const struct ef_trace *trace, unsigned index)
{
    const struct ef_hop *hop = &trace->hops[index];
    EF_JSON_LITERAL(j, ",\"arrival\":");
    ef_json_time(j, hop->arrival);
    EF_JSON_LITERAL(j, ",\"switch_time\":");
    if (hop->flags & EF_HOP_HAS_SWITCH_TIME) {
        ef_json_time(j, hop->switch_time);
    } else {
        EF_JSON_LITERAL(j, "null");
    }
    EF_JSON_LITERAL(j, ",\"since_first_us\":");
    ef_json_us(j, ef_trace_since_first_ns(trace, index));
}

static void
put_hop(struct ef_json_text *j, const struct ef_trace *trace, unsigned index)
{
    const struct ef_hop *hop = &trace->hops[index];
    EF_JSON_LITERAL(j, "{\"switch\":");
    ef_json_address(j, hop->switch_address);
    EF_JSON_LITERAL(j, ",\"port\":");
    put_u64_or_null(j, hop->flags & EF_HOP_HAS_PORT, hop->port);
    EF_JSON_LITERAL(j, ",\"direction\":");
    ef_json_string(j, hop->flags & EF_HOP_EGRESS ? "egress" : "ingress");
    if (hop->flags & EF_HOP_HAS_IP) {
        put_hop_ip(j, hop);
    }
    EF_JSON_LITERAL(j, ",\"src_mac\":");
    ef_json_mac(j, hop->src_mac);
    put_hop_times(j, trace, index);
    EF_JSON_LITERAL(j, ",\"sequence\":");
    put_u64_or_null(j, hop->flags & EF_HOP_HAS_SEQUENCE, hop->sequence);
    EF_JSON_LITERAL(j, ",\"encapsulated\":");
    ef_json_bool(j, hop->flags & EF_HOP_ENCAPSULATED);
    EF_JSON_LITERAL(j, ",\"truncated\":");
    ef_json_bool(j, hop->flags & EF_HOP_TRUNCATED);
    if (hop->flags & EF_HOP_CORRUPT) {
        EF_JSON_LITERAL(j, ",\"corrupt\":true");
    }
    if (hop->drop) {
        EF_JSON_LITERAL(j, ",\"drop_reason\":");
        ef_json_string(j, ef_switch_drop_name(hop->drop));
    }
    EF_JSON_LITERAL(j, "}");
}

static void
put_mux(struct ef_json_text *j, const struct ef_trace *trace)
{
    if (!trace->mux_hop) {
        EF_JSON_LITERAL(j, ",\"mux\":null");
        return;
    }
    EF_JSON_LITERAL(j, ",\"mux\":{\"before\":");
    ef_json_address(j, trace->hops[trace->mux_hop - 1].switch_address);
    EF_JSON_LITERAL(j, ",\"after\":");
    ef_json_address(j, trace->hops[trace->mux_hop].switch_address);
    EF_JSON_LITERAL(j, ",\"latency_us\":");
    ef_json_us(j, ef_trace_mux_latency_ns(trace));
    EF_JSON_LITERAL(j, "}");
}

static void
put_fate(struct ef_json_text *j, const struct ef_trace *trace)
{
    EF_JSON_LITERAL(j, ",\"fate\":");
    ef_json_string(j, trace->fate < EF_N_FATES ? ef_fate_names[trace->fate] : "unknown");
    EF_JSON_LITERAL(j, ",\"expected\":");
    if (trace->has_expected) {
        ef_json_address(j, trace->expected);
    } else {
        EF_JSON_LITERAL(j, "null");
    }
}

static void
put_verdicts(struct ef_json_text *j, const struct ef_trace *trace)
{
    EF_JSON_LITERAL(j, ",\"n_hops\":");
    ef_json_u64(j, trace->n_hops);
    EF_JSON_LITERAL(j, ",\"n_copies\":");
    ef_json_u64(j, trace->n_copies);
    EF_JSON_LITERAL(j, ",\"n_duplicates\":");
    ef_json_u64(j, trace->n_duplicates);
    EF_JSON_LITERAL(j, ",\"loop\":");
    ef_json_bool(j, trace->loop);
    EF_JSON_LITERAL(j, ",\"corrupt\":");
    ef_json_bool(j, trace->corrupt);
    EF_JSON_LITERAL(j, ",\"debug\":");
    ef_json_bool(j, trace->debug);
    EF_JSON_LITERAL(j, ",\"hops_full\":");
    ef_json_bool(j, trace->hops_full);
    EF_JSON_LITERAL(j, ",\"copies_lost\":");
    ef_json_bool(j, trace->copies_lost);
    EF_JSON_LITERAL(j, ",\"missing\":");
    ef_json_u64(j, trace->n_missing);
    put_mux(j, trace);
    put_fate(j, trace);
    EF_JSON_LITERAL(j, ",\"latency_us\":");
    ef_json_us(j, trace->n_hops ? ef_trace_latency_ns(trace) : 0);
    EF_JSON_LITERAL(j, ",\"time_source\":");
    ef_json_string(j, trace->switch_clock ? "switch" : "analyzer");
}

size_t
ef_trace_json(const struct ef_trace *trace, const char *analyzer, char *buf, size_t size)
{
    struct ef_json_text j = {buf, buf + size};
    EF_JSON_LITERAL(&j, "{\"id\":");
    put_id(&j, trace->id);
    EF_JSON_LITERAL(&j, ",\"start\":");
    ef_json_time(&j, trace->start);
    EF_JSON_LITERAL(&j, ",\"end\":");
    ef_json_time(&j, trace->end);
    EF_JSON_LITERAL(&j, ",\"analyzer\":");
    ef_json_string(&j, analyzer);
    put_packet(&j, trace);
    EF_JSON_LITERAL(&j, ",\"hops\":[");
    for (unsigned i = 0; i < trace->n_hops; i++) {
        if (i > 0) {
            EF_JSON_LITERAL(&j, ",");
        }
        put_hop(&j, trace, i);
    }
    EF_JSON_LITERAL(&j, "]");
    put_verdicts(&j, trace);
    EF_JSON_LITERAL(&j, "}");
    return j.p ? (size_t) (j.p - buf) : 0;
}
