/* SPDX-License-Identifier: Apache-2.0 */
/* A trace as a row of the archive, and back: equal in all that a trace says,
 * and the packet byte for byte.
 *
 *     struct ef_trace_row row;
 *     ef_trace_to_row(&trace, &row);               // borrows from `trace` and from `row` itself
 *     ef_archive_append(archive, &row);
 *     ...
 *     if (ef_trace_of_row(rows->rows[i], &trace)) use(&trace);
 *
 * The packet is split into the fields of its Ethernet header, of its innermost
 * IP header and of TCP, UDP or ICMP behind it, so that any tool can ask for
 * them. What follows from other columns is null: doc/store.md says what. A
 * packet that would not come out the same is kept whole in `frame` as well.
 * Plain values; any thread. */
#ifndef EF_ANALYZER_TRACE_ROW_H
#define EF_ANALYZER_TRACE_ROW_H

#include "store/archive/row_schema.h"
#include "trace/packet_trace.h"

/* The worst of what is known about a trace; rows are ordered by it first. */
enum ef_trace_class { EF_TRACE_OTHER, EF_TRACE_LOOP, EF_TRACE_DROP, EF_TRACE_DEBUG };

struct ef_hop_row {
    uint8_t switch_address[16], src_mac[6];
    uint8_t ttl, outer_ttl, depth, traffic_class, flags, drop;
    bool has_outer_ttl, has_after, has_port, has_sequence, has_clock;
    uint32_t port, sequence;
    int64_t after_ns; /* From the arrival of the hop before, or the trace's start, to this one's. */
    int64_t delay_ns; /* From the switch's clock to the arrival. */
};

/* Only in files: the least `sequence` of a switch in a row group; see row_counter.h. */
struct ef_sequence_row {
    uint8_t switch_address[16];
    uint32_t least;
};

struct ef_trace_row {
    struct ef_time start;
    uint64_t id;
    int64_t last_copy_ns; /* Between the latest hop and the last copy. */
    uint32_t wire_len, n_copies, n_duplicates;
    uint8_t trace_class, fate, loop, debug, switch_clock, hops_full, copies_lost, n_missing, mux_hop;
    uint8_t nested; /* The columns do not say all that a filter may find in the packet. */
    uint8_t target[16], expected[16];
    bool has_expected;

    bool has_ethernet, has_eth_src;
    uint8_t eth_dst[6], eth_src[6];
    uint16_t eth_type;
    struct ef_bytes encapsulation; /* Between the Ethernet and the innermost IP header. */
    bool has_encapsulation;

    bool has_ip, has_ipv4, has_ipv6;
    bool has_ttl, has_traffic_class, has_ip_length, has_ip_checksum, has_ip_options;
    uint8_t src[16], dst[16], proto, ttl, traffic_class;
    uint16_t ip_length, ip_id, ip_fragment, ip_checksum;
    uint32_t flow_label;
    struct ef_bytes ip_options; /* Options, or extension headers. */

    bool has_ports, has_tcp, has_udp_length, has_icmp, has_l4, has_tcp_options;
    uint16_t srcport, dstport, tcp_flags, tcp_window, tcp_urgent, udp_length, l4_checksum;
    uint32_t tcp_seq, tcp_ack, icmp_rest;
    uint8_t icmp_type, icmp_code;
    struct ef_bytes tcp_options;

    struct ef_bytes payload, frame;
    bool has_payload, has_frame;

    struct ef_row_list hops, sequences;
    struct ef_hop_row hop_rows[EF_TRACE_MAX_HOPS];
};

extern const struct ef_row_schema ef_trace_schema;

void ef_trace_to_row(const struct ef_trace *trace, struct ef_trace_row *row);

/* False for a row that is of no trace. */
bool ef_trace_of_row(const struct ef_trace_row *row, struct ef_trace *trace);

#endif
