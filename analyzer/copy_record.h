/* SPDX-License-Identifier: Apache-2.0 */
/* One copy on its way from ingest to the worker that assembles its packet: all
 * that a trace keeps of it. It is what the rings between them carry, so its
 * bytes are copied once and the received frame is free again. */
#ifndef EF_ANALYZER_COPY_RECORD_H
#define EF_ANALYZER_COPY_RECORD_H

#include "packet/identity.h"
#include "trace/packet_trace.h"

struct ef_copy_record {
    EF_CACHE_ALIGNED struct ef_hop hop; /* The first line of the slot. */
    struct ef_time stamp;               /* Steady time (ingest.h), which closes traces. */
    uint64_t hash, check;               /* The identity, see struct ef_identity. */
    uint32_t wire_len;
    uint16_t n_bytes;
    uint8_t target[16];
    EF_CACHE_ALIGNED uint8_t bytes[EF_TRACE_MAX_BYTES];
};

/* Parses a received frame into `record`, all but its stamp, and computes the
 * identity. Returns EF_DROP_NONE, or why the frame is no copy that can be
 * traced. `flow_hash` chooses the worker. */
enum ef_drop_reason ef_copy_record_of_frame(struct ef_copy_record *record, uint64_t *flow_hash, const uint8_t *frame,
                                            uint32_t len, uint32_t wire_len, struct ef_time arrival);

#endif
