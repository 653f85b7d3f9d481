/* SPDX-License-Identifier: Apache-2.0 */
/* The archive's columns of a trace; see trace_row.h. */
#include <config.h>

#include "analyzer/trace_row.h"

#define ROW(NAME, TYPE, FIELD)                                                     \
    {                                                                              \
        .name = NAME, .type = TYPE, .offset = offsetof(struct ef_trace_row, FIELD) \
    }
#define ROW_FIXED(NAME, FIELD)                                                              \
    {                                                                                       \
        .name = NAME, .type = EF_ROW_FIXED, .offset = offsetof(struct ef_trace_row, FIELD), \
        .width = sizeof(((struct ef_trace_row *) 0)->FIELD)                                 \
    }
#define ROW_IF(NAME, TYPE, FIELD, HAS)                                              \
    {                                                                               \
        .name = NAME, .type = TYPE, .offset = offsetof(struct ef_trace_row, FIELD), \
        EF_ROW_NULL_UNLESS(struct ef_trace_row, HAS)                                \
    }
#define ROW_FIXED_IF(NAME, FIELD, HAS)                                                                    \
    {                                                                                                     \
        .name = NAME, .type = EF_ROW_FIXED, .offset = offsetof(struct ef_trace_row, FIELD),               \
        .width = sizeof(((struct ef_trace_row *) 0)->FIELD), EF_ROW_NULL_UNLESS(struct ef_trace_row, HAS) \
    }
#define HOP(NAME, TYPE, FIELD)                                                              \
    {                                                                                       \
        .name = NAME, .type = TYPE, .offset = offsetof(struct ef_hop_row, FIELD), .list = 1 \
    }
#define HOP_FIXED(NAME, FIELD)                                                                       \
    {                                                                                                \
        .name = NAME, .type = EF_ROW_FIXED, .offset = offsetof(struct ef_hop_row, FIELD), .list = 1, \
        .width = sizeof(((struct ef_hop_row *) 0)->FIELD)                                            \
    }
#define HOP_IF(NAME, TYPE, FIELD, HAS)                                                       \
    {                                                                                        \
        .name = NAME, .type = TYPE, .offset = offsetof(struct ef_hop_row, FIELD), .list = 1, \
        EF_ROW_NULL_UNLESS(struct ef_hop_row, HAS)                                           \
    }

#define SEQUENCE(NAME, TYPE, FIELD, WIDTH)                                                                       \
    {                                                                                                            \
        .name = NAME, .type = TYPE, .offset = offsetof(struct ef_sequence_row, FIELD), .list = 2, .width = WIDTH \
    }

enum { COLUMN_START, COLUMN_CLASS, COLUMN_DST };

static const struct ef_row_column columns[] = {
    [COLUMN_START] = ROW("start", EF_ROW_TIME, start),
    [COLUMN_CLASS] = ROW("class", EF_ROW_U8, trace_class),
    [COLUMN_DST] = ROW_FIXED_IF("dst", dst, has_ip),
    ROW_FIXED_IF("src", src, has_ip),
    ROW_IF("proto", EF_ROW_U8, proto, has_ip),
    ROW_IF("srcport", EF_ROW_U16, srcport, has_ports),
    ROW_IF("dstport", EF_ROW_U16, dstport, has_ports),
    ROW("id", EF_ROW_U64, id),
    ROW("wire_len", EF_ROW_U32, wire_len),
    ROW("fate", EF_ROW_U8, fate),
    ROW("loop", EF_ROW_U8, loop),
    ROW("debug", EF_ROW_U8, debug),
    ROW("switch_clock", EF_ROW_U8, switch_clock),
    ROW("hops_full", EF_ROW_U8, hops_full),
    ROW("copies_lost", EF_ROW_U8, copies_lost),
    ROW("n_missing", EF_ROW_U8, n_missing),
    ROW("mux_hop", EF_ROW_U8, mux_hop),
    ROW("nested", EF_ROW_U8, nested),
    ROW("n_copies", EF_ROW_U32, n_copies),
    ROW("n_duplicates", EF_ROW_U32, n_duplicates),
    ROW("last_copy_ns", EF_ROW_I64, last_copy_ns),
    ROW_FIXED("target", target),
    ROW_FIXED_IF("expected", expected, has_expected),
    ROW_FIXED_IF("eth_dst", eth_dst, has_ethernet),
    ROW_FIXED_IF("eth_src", eth_src, has_eth_src),
    ROW_IF("eth_type", EF_ROW_U16, eth_type, has_ethernet),
    ROW_IF("encapsulation", EF_ROW_BYTES, encapsulation, has_encapsulation),
    ROW_IF("ip_ttl", EF_ROW_U8, ttl, has_ttl),
    ROW_IF("ip_traffic_class", EF_ROW_U8, traffic_class, has_traffic_class),
    ROW_IF("ip_length", EF_ROW_U16, ip_length, has_ip_length),
    ROW_IF("ip_id", EF_ROW_U16, ip_id, has_ipv4),
    ROW_IF("ip_fragment", EF_ROW_U16, ip_fragment, has_ipv4),
    ROW_IF("ip_checksum", EF_ROW_U16, ip_checksum, has_ip_checksum),
    ROW_IF("ipv6_flow_label", EF_ROW_U32, flow_label, has_ipv6),
    ROW_IF("ip_options", EF_ROW_BYTES, ip_options, has_ip_options),
    ROW_IF("tcp_seq", EF_ROW_U32, tcp_seq, has_tcp),
    ROW_IF("tcp_ack", EF_ROW_U32, tcp_ack, has_tcp),
    ROW_IF("tcp_flags", EF_ROW_U16, tcp_flags, has_tcp),
    ROW_IF("tcp_window", EF_ROW_U16, tcp_window, has_tcp),
    ROW_IF("tcp_urgent", EF_ROW_U16, tcp_urgent, has_tcp),
    ROW_IF("tcp_options", EF_ROW_BYTES, tcp_options, has_tcp_options),
    ROW_IF("udp_length", EF_ROW_U16, udp_length, has_udp_length),
    ROW_IF("icmp_type", EF_ROW_U8, icmp_type, has_icmp),
    ROW_IF("icmp_code", EF_ROW_U8, icmp_code, has_icmp),
    ROW_IF("icmp_rest", EF_ROW_U32, icmp_rest, has_icmp),
    ROW_IF("l4_checksum", EF_ROW_U16, l4_checksum, has_l4),
    ROW_IF("payload", EF_ROW_BYTES, payload, has_payload),
    ROW_IF("frame", EF_ROW_BYTES, frame, has_frame),
    HOP_IF("after_ns", EF_ROW_I64, after_ns, has_after),
    HOP_IF("delay_ns", EF_ROW_I64, delay_ns, has_clock),
    HOP("ttl", EF_ROW_U8, ttl),
    HOP_IF("outer_ttl", EF_ROW_U8, outer_ttl, has_outer_ttl),
    HOP("depth", EF_ROW_U8, depth),
    HOP("traffic_class", EF_ROW_U8, traffic_class),
    HOP_FIXED("src_mac", src_mac),
    HOP("flags", EF_ROW_U8, flags),
    HOP("drop", EF_ROW_U8, drop),
    HOP_IF("port", EF_ROW_U32, port, has_port),
    /* The last four are `counter`. */
    HOP_FIXED("switch", switch_address),
    HOP_IF("sequence_above", EF_ROW_U32, sequence, has_sequence),
    SEQUENCE("switch", EF_ROW_FIXED, switch_address, 16),
    SEQUENCE("least", EF_ROW_U32, least, 0),
};

enum { N_COLUMNS = EF_ARRAY_SIZE(columns) };

static const struct ef_row_counter counter = {
    .key = N_COLUMNS - 4, .column = N_COLUMNS - 3, .base_key = N_COLUMNS - 2, .base = N_COLUMNS - 1};

static const struct ef_row_list_column lists[] = {
    {"hops", offsetof(struct ef_trace_row, hops), sizeof(struct ef_hop_row)},
    {"sequences", offsetof(struct ef_trace_row, sequences), sizeof(struct ef_sequence_row)},
};

const struct ef_row_schema ef_trace_schema = {
    .columns = columns,
    .n_columns = EF_ARRAY_SIZE(columns),
    .lists = lists,
    .n_lists = EF_ARRAY_SIZE(lists),
    .row_bytes = offsetof(struct ef_trace_row, hop_rows), /* The list borrows those. */
    .sort = {COLUMN_CLASS, COLUMN_DST, COLUMN_START},
    .n_sort = 3,
    .counter = &counter,
};
