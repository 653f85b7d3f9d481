/* SPDX-License-Identifier: Apache-2.0 */
/* Closed traces as records; see trace_record.h. */
#include <config.h>

#include "analyzer/trace_record.h"

#include <string.h>

#define FIXED_BYTES offsetof(struct ef_trace, bytes)

static size_t
round_to_8(size_t n)
{
    return (n + 7) / 8 * 8;
}

uint32_t
ef_trace_record_size(const struct ef_trace *trace)
{
    return (uint32_t) (sizeof(struct ef_trace_record) + round_to_8(FIXED_BYTES + trace->n_bytes) +
                       trace->n_hops * sizeof(struct ef_hop));
}

uint32_t
ef_trace_record_pack(const struct ef_trace *trace, uint8_t *at)
{
    struct ef_trace_record header = {.size = ef_trace_record_size(trace)};
    memcpy(at, &header, sizeof header);
    /* The bytes stand right behind the fixed part in both. */
    memcpy(at + sizeof header, trace, FIXED_BYTES + trace->n_bytes);
    size_t hops_bytes = trace->n_hops * sizeof(struct ef_hop);
    memcpy(at + header.size - hops_bytes, trace->hops, hops_bytes);
    return header.size;
}

struct ef_time
ef_trace_record_start(const uint8_t *record)
{
    struct ef_time start;
    memcpy(&start, record + sizeof(struct ef_trace_record) + offsetof(struct ef_trace, start), sizeof start);
    return start;
}

void
ef_trace_record_unpack(const uint8_t *record, struct ef_trace *trace)
{
    struct ef_trace_record header;
    memcpy(&header, record, sizeof header);
    memcpy(trace, record + sizeof header, FIXED_BYTES);
    memcpy(trace->bytes, record + sizeof header + FIXED_BYTES, trace->n_bytes);
    size_t hops_bytes = trace->n_hops * sizeof(struct ef_hop);
    memcpy(trace->hops, record + header.size - hops_bytes, hops_bytes);
}
