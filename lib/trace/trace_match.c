/* SPDX-License-Identifier: Apache-2.0 */
/* Filters on traces; see trace_match.h. */
#include <config.h>

#include "trace/trace_match.h"

#include <string.h>

#include "packet/probe_signature.h"

static struct ef_filter_trace
trace_fields(const struct ef_trace *trace, const struct ef_packet *packet)
{
    struct ef_probe_signature signature;
    int64_t latency_ns = trace->n_hops ? ef_trace_latency_ns(trace) : 0;
    return (struct ef_filter_trace){
        .n_hops = trace->n_hops,
        .n_copies = trace->n_copies,
        .loop = trace->loop,
        .debug = trace->debug,
        .drop = trace->fate == EF_FATE_DROPPED,
        .mux = trace->mux_hop,
        .corrupt = trace->corrupt,
        .probe = !ef_probe_signature_find(packet, &signature),
        .n_missing = trace->n_missing,
        .latency_ns = latency_ns > 0 ? (uint64_t) latency_ns : 0,
    };
}

bool
ef_trace_match(const struct ef_trace *trace, const struct ef_filter *filter, const struct ef_filter *condition)
{
    uint8_t switches[EF_TRACE_MAX_HOPS][16], targets[EF_TRACE_MAX_HOPS][16];
    for (unsigned i = 0; i < trace->n_hops; i++) {
        memcpy(switches[i], trace->hops[i].switch_address, 16);
        memcpy(targets[i], trace->target, 16);
    }
    struct ef_packet packet;
    ef_packet_parse(&packet, trace->bytes, trace->n_bytes, trace->wire_len);
    struct ef_filter_trace fields = trace_fields(trace, &packet);
    struct ef_filter_input input = {
        .packet = &packet,
        .switches = (const uint8_t(*)[16]) switches,
        .n_switches = trace->n_hops,
        .outer_destinations = (const uint8_t(*)[16]) targets,
        .trace = &fields,
    };
    return (!filter || ef_filter_match(filter, &input)) && (!condition || ef_filter_match(condition, &input));
}
