/* SPDX-License-Identifier: Apache-2.0 */
/* The fields that a filter may name: Wireshark's names, types and meanings for
 * the packet, and our own `switch`, `outer.*`, `trace.*`. One table, read by
 * typecheck.c (types, where a field belongs), compile.c (where its bytes are)
 * and by whoever lists or completes names. Immutable. */
#ifndef EF_FILTER_FIELDS_H
#define EF_FILTER_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/util.h"

struct ef_filter_input;

/* The type of every value: a number, a time, an Ethernet, IPv4 or IPv6 address
 * as a number. Only 16-byte addresses need more than the low 64 bits. */
typedef unsigned __int128 ef_u128;

enum ef_field_type {
    EF_FIELD_PROTOCOL, /* Has no value, only exists. */
    EF_FIELD_NUMBER,
    EF_FIELD_BOOLEAN,
    EF_FIELD_ETHER,
    EF_FIELD_IPV4,
    EF_FIELD_IPV6,
    EF_FIELD_ADDRESS,  /* IPv4 or IPv6; IPv4 is ::ffff:a.b.c.d. */
    EF_FIELD_DURATION, /* Written in us with up to three decimals, kept in ns. */
    EF_FIELD_TIME,     /* As ef_time_parse() takes it, kept as ef_value_of_time(). */
};

/* Where the values are. */
enum ef_field_access {
    EF_ACCESS_PROTOCOL, /* Exists where a layer of `proto` is. */
    EF_ACCESS_LOAD,     /* In each layer of `proto`, at `offset`. */
    EF_ACCESS_PAIR,     /* The same, and once more behind it (tcp.port): ef_pair_distance(). */
    EF_ACCESS_COMPUTED, /* By ef_field_collect(), with the number `computed`. */
};

enum ef_computed_field {
    EF_COMPUTED_FRAME,
    EF_COMPUTED_FRAME_LEN,
    EF_COMPUTED_FRAME_CAP_LEN,
    EF_COMPUTED_ETH_TYPE,
    EF_COMPUTED_ERSPAN,
    EF_COMPUTED_VLAN,
    EF_COMPUTED_VLAN_ID,
    EF_COMPUTED_VLAN_PRIORITY,
    EF_COMPUTED_VLAN_DEI,
    EF_COMPUTED_VLAN_ETYPE,
    EF_COMPUTED_AD, /* These four are of 802.1ad tags. */
    EF_COMPUTED_AD_ID,
    EF_COMPUTED_AD_PRIORITY,
    EF_COMPUTED_AD_DEI,
    EF_COMPUTED_TCP_LEN,
    EF_COMPUTED_ICMP_IDENT,
    EF_COMPUTED_ICMP_SEQ,
    EF_COMPUTED_SWITCH,
    EF_COMPUTED_OUTER_DST,
    EF_COMPUTED_TRACE_HOPS,
    EF_COMPUTED_TRACE_COPIES,
    EF_COMPUTED_TRACE_LOOP,
    EF_COMPUTED_TRACE_DEBUG,
    EF_COMPUTED_TRACE_DROP,
    EF_COMPUTED_TRACE_MUX,
    EF_COMPUTED_TRACE_CORRUPT,
    EF_COMPUTED_TRACE_PROBE,
    EF_COMPUTED_TRACE_MISSING,
    EF_COMPUTED_TRACE_LATENCY,
};

struct ef_field {
    const char *name;
    const char *help; /* A few words for lists of fields. */
    uint8_t type;     /* enum ef_field_type */
    uint8_t bits;     /* Of the type: greater numbers are refused, as Wireshark does. */
    uint8_t kinds;    /* enum ef_filter_kind: where the field may be used. */
    uint8_t access;   /* enum ef_field_access */
    bool hex;         /* Numbers are shown in hexadecimal. */
    uint8_t computed; /* enum ef_computed_field */

    /* The value is (big-endian number of `width` bytes at `offset` & mask) >> shift. */
    uint8_t proto;  /* enum ef_proto */
    uint8_t offset; /* From the layer's start. */
    uint8_t width;  /* 1, 2, 4, 8 or 16 */
    uint8_t shift;
    uint64_t mask; /* All ones for width 16. */
};

/* Nanoseconds since 1970 moved up so that values before it are smaller ones. */
static EF_ALWAYS_INLINE uint64_t
ef_value_of_time(int64_t ns)
{
    return (uint64_t) ns ^ UINT64_C(1) << 63;
}

/* How far the second of a pair is from the first one: ports of 2 bytes and
 * addresses of 4 or 16 stand side by side, Ethernet's 6 are read as 8. */
static EF_ALWAYS_INLINE unsigned
ef_pair_distance(unsigned width)
{
    return width == 8 ? 6 : width;
}

/* The fields that one text may name. There are others beside the packet's:
 * lib/store makes one of the columns of its records. */
struct ef_field_table {
    const struct ef_field *fields;
    size_t n_fields;
};

extern const struct ef_field_table ef_packet_fields;

/* The field called so (`len` bytes at `name`), or NULL. */
const struct ef_field *ef_field_find(const struct ef_field_table *table, const char *name, size_t len);

/* The field whose name is nearest to it, or NULL. */
const struct ef_field *ef_field_nearest(const struct ef_field_table *table, const char *name, size_t len);

enum { EF_FIELD_MAX_VALUES = 32 };

/* Writes the values of the field's occurrences into `values` (for a protocol:
 * one of any value each) and returns their number. More than
 * EF_FIELD_MAX_VALUES (switches of one packet) are collected from the
 * occurrence `first` on; the caller asks again while the array is full. */
unsigned ef_field_collect(const struct ef_field *field, const struct ef_filter_input *in, unsigned first,
                          ef_u128 values[EF_FIELD_MAX_VALUES]);

#endif
