/* SPDX-License-Identifier: Apache-2.0 */
/* What the store keeps of a closed trace in columns, so that questions are
 * answered by index or by scan and not trace by trace: a record of the multilog
 * (store/multilog.h) whose variable part is the trace (trace_record.h).
 *
 *     struct ef_trace_columns columns;
 *     ef_trace_columns_fill(&columns, &trace);
 *     columns.trace = (struct ef_bytes){buf, ef_trace_record_pack(&trace, buf)};
 *
 * The packet's fields are those of its one IP packet and what is in that. With
 * several IP headers (tunnels, what ICMP errors quote) a filter may mean any of
 * them: such traces are `nested`, and questions about packets take them all and
 * look at the packet. Immutable and pure. */
#ifndef EF_ANALYZER_TRACE_COLUMNS_H
#define EF_ANALYZER_TRACE_COLUMNS_H

#include "store/multilog.h"
#include "trace/packet_trace.h"

/* What few traces are; those that are asked for alone have the higher bits, so
 * that their values are few ranges. */
enum {
    EF_TRACE_FLAG_DEBUG = 1,
    EF_TRACE_FLAG_MUX = 2,
    EF_TRACE_FLAG_DROP = 4,
    EF_TRACE_FLAG_LOOP = 8,
    EF_TRACE_FLAG_NESTED = 16,
    EF_TRACE_FLAG_CORRUPT = 32,
    EF_TRACE_FLAGS_END = 64,
};

struct ef_trace_columns {
    struct ef_time start;
    uint64_t id;
    uint64_t latency_ns;
    uint8_t src[16], dst[16];  /* 0 without IP. */
    uint16_t srcport, dstport; /* 0 without TCP or UDP. */
    uint16_t tcp_flags;        /* 12 bits; 0 without TCP. */
    uint8_t protocol;          /* Of TCP, UDP, ICMP, ICMPv6; 0 without them. */
    uint8_t hops;              /* trace.hops */
    uint8_t flags;             /* EF_TRACE_FLAG_... */
    struct ef_bytes trace;
};

enum ef_trace_column { EF_TRACE_COLUMN_START, EF_TRACE_COLUMN_ID, EF_TRACE_COLUMN_TRACE = 11 };

extern const struct ef_column ef_trace_columns_list[];
extern const unsigned ef_trace_columns_n;

/* All but `trace`, of a finished trace. */
void ef_trace_columns_fill(struct ef_trace_columns *columns, const struct ef_trace *trace);

/* The switches of a record, for its index and for tests of them: 16 bytes each. */
void ef_trace_columns_switches(const void *record, uint32_t len, struct ef_multilog_keys *keys);

#endif
