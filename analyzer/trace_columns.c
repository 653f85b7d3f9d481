/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of closed traces; see trace_columns.h. */
#include <config.h>

#include "analyzer/trace_columns.h"

#include <string.h>

#include "analyzer/trace_record.h"
#include "base/util.h"
#include "packet/headers.h"

#define COLUMN(NAME, TYPE)                                                  \
    {                                                                       \
#NAME, EF_COLUMN_##TYPE, offsetof(struct ef_trace_columns, NAME), 0 \
    }

const struct ef_column ef_trace_columns_list[] = {
    COLUMN(start, TIME),  COLUMN(id, U64),      COLUMN(latency_ns, U64), COLUMN(src, IPV6),
    COLUMN(dst, IPV6),    COLUMN(srcport, U16), COLUMN(dstport, U16),    COLUMN(tcp_flags, U16),
    COLUMN(protocol, U8), COLUMN(hops, U8),     COLUMN(flags, U8),       COLUMN(trace, VARIABLE),
};
const unsigned ef_trace_columns_n = EF_ARRAY_SIZE(ef_trace_columns_list);

_Static_assert(EF_ARRAY_SIZE(ef_trace_columns_list) == EF_TRACE_COLUMN_TRACE + 1, "enum ef_trace_column");

static bool
has_several_ip_headers(const struct ef_packet *p)
{
    unsigned n = 0;
    for (unsigned i = 0; i < p->n_layers; i++) {
        n += p->layers[i].proto == EF_PROTO_IPV4 || p->layers[i].proto == EF_PROTO_IPV6;
    }
    return n > 1;
}

static void
fill_l4(struct ef_trace_columns *c, const struct ef_packet *p)
{
    if (p->inner_l4 == EF_NO_LAYER) {
        return;
    }
    const uint8_t *header = ef_packet_layer_data(p, p->inner_l4);
    switch (p->layers[p->inner_l4].proto) {
    case EF_PROTO_TCP:
        c->protocol = EF_IPPROTO_TCP;
        c->tcp_flags = ef_tcp_flags12(header);
        break;
    case EF_PROTO_UDP:
        c->protocol = EF_IPPROTO_UDP;
        break;
    default:
        c->protocol =
            p->layers[p->inner_l4].proto == EF_PROTO_ICMP ? (uint8_t) EF_IPPROTO_ICMP : (uint8_t) EF_IPPROTO_ICMPV6;
        return;
    }
    c->srcport = ef_load_be16(header);
    c->dstport = ef_load_be16(header + 2);
}

static void
fill_packet(struct ef_trace_columns *c, const struct ef_trace *trace)
{
    struct ef_packet p;
    ef_packet_parse(&p, trace->bytes, trace->n_bytes, trace->wire_len);
    if (p.inner_ip == EF_NO_LAYER) {
        return;
    }
    const uint8_t *ip = ef_packet_layer_data(&p, p.inner_ip);
    ef_ip_src(ip, c->src);
    ef_ip_dst(ip, c->dst);
    fill_l4(c, &p);
    c->flags |= has_several_ip_headers(&p) ? EF_TRACE_FLAG_NESTED : 0;
}

void
ef_trace_columns_fill(struct ef_trace_columns *columns, const struct ef_trace *trace)
{
    int64_t latency_ns = trace->n_hops ? ef_trace_latency_ns(trace) : 0;
    *columns = (struct ef_trace_columns){
        .start = trace->start,
        .id = trace->id,
        .latency_ns = latency_ns > 0 ? (uint64_t) latency_ns : 0,
        .hops = trace->n_hops,
        .flags = (uint8_t) ((trace->debug ? EF_TRACE_FLAG_DEBUG : 0) | (trace->mux_hop ? EF_TRACE_FLAG_MUX : 0) |
                            (trace->fate == EF_FATE_DROPPED ? EF_TRACE_FLAG_DROP : 0) |
                            (trace->loop ? EF_TRACE_FLAG_LOOP : 0) | (trace->corrupt ? EF_TRACE_FLAG_CORRUPT : 0)),
    };
    fill_packet(columns, trace);
}

void
ef_trace_columns_switches(const void *record, uint32_t len, struct ef_multilog_keys *keys)
{
    uint8_t switches[EF_TRACE_MAX_HOPS][16];
    unsigned n = len ? ef_trace_record_switches(record, switches) : 0;
    for (unsigned i = 0; i < n; i++) {
        ef_multilog_add_key(keys, switches[i]);
    }
}
