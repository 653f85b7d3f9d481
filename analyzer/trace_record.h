/* SPDX-License-Identifier: Apache-2.0 */
/* A closed trace as the memory store keeps it: the variable part of a record of
 * the multilog, as long as the trace needs, beside the columns that questions
 * look at (trace_columns.h), which have its start and its identity. Never leaves
 * the process, so it is in our own byte order and layout.
 *
 *     uint32_t len = ef_trace_record_pack(&trace, buf);   // at most EF_TRACE_RECORD_MAX
 *     ef_trace_record_unpack(buf, start, id, &trace);
 *
 * Pure functions. */
#ifndef EF_ANALYZER_TRACE_RECORD_H
#define EF_ANALYZER_TRACE_RECORD_H

#include "trace/packet_trace.h"

enum {
    EF_TRACE_RECORD_FIXED_MAX = 32 + 2 * 16,
    EF_TRACE_RECORD_HOP_MAX = 32 + 16 + 8,
    EF_TRACE_RECORD_MAX = EF_TRACE_RECORD_FIXED_MAX + EF_TRACE_MAX_BYTES + EF_TRACE_MAX_HOPS * EF_TRACE_RECORD_HOP_MAX,
};

/* Writes the record of `trace` to `at` and returns its length. */
uint32_t ef_trace_record_pack(const struct ef_trace *trace, uint8_t *at);

/* The whole trace again. */
void ef_trace_record_unpack(const uint8_t *record, struct ef_time start, uint64_t id, struct ef_trace *trace);

/* Only the switches of its hops; returns how many. */
unsigned ef_trace_record_switches(const uint8_t *record, uint8_t switches[EF_TRACE_MAX_HOPS][16]);

#endif
