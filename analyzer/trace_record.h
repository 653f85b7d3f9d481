/* SPDX-License-Identifier: Apache-2.0 */
/* A closed trace as the memory store keeps it: a header, the fixed part of
 * struct ef_trace, the bytes of the original, the hops; as long as the trace
 * needs. Never leaves the process, so it is in our own byte order and layout. */
#ifndef EF_ANALYZER_TRACE_RECORD_H
#define EF_ANALYZER_TRACE_RECORD_H

#include <stddef.h>

#include "trace/packet_trace.h"

struct ef_trace_record {
    uint32_t size;   /* In bytes with this header; a multiple of 8. */
    bool is_padding; /* Nothing but room left free. */
};

#define EF_TRACE_RECORD_MAX                                                                        \
    (sizeof(struct ef_trace_record) + offsetof(struct ef_trace, bytes) + EF_TRACE_MAX_BYTES + 16 + \
     EF_TRACE_MAX_HOPS * sizeof(struct ef_hop))

/* How many bytes `trace` takes. */
uint32_t ef_trace_record_size(const struct ef_trace *trace);

/* Writes the record of `trace` to `at`, 8-byte aligned, and returns its size. */
uint32_t ef_trace_record_pack(const struct ef_trace *trace, uint8_t *at);

/* Only its `start`, and the whole trace. */
struct ef_time ef_trace_record_start(const uint8_t *record);
void ef_trace_record_unpack(const uint8_t *record, struct ef_trace *trace);

#endif
