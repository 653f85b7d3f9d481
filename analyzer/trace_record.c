/* SPDX-License-Identifier: Apache-2.0 */
/* Closed traces as records; see trace_record.h. Behind a fixed part come the
 * addresses, the bytes of the original, then the hops; addresses of 4 bytes
 * where they (of the hops, all of them) are IPv4. */
#include <config.h>

#include "analyzer/trace_record.h"

#include <stddef.h>
#include <string.h>

#include "base/byteorder.h"
#include "base/util.h"
#include "packet/headers.h"

/* Flags of the fixed part. */
enum {
    LOOP = 1,
    DEBUG_MARK = 2,
    SWITCH_CLOCK = 4,
    HOPS_FULL = 8,
    COPIES_LOST = 16,
    HAS_EXPECTED = 32,
    TARGET_IS_IPV4 = 64,
    EXPECTED_IS_IPV4 = 128,
};

struct fixed {
    struct ef_time end;
    uint32_t wire_len, n_copies, n_duplicates;
    uint16_t n_bytes;
    uint8_t n_hops, flags, n_missing, mux_hop, fate, layout;
};

/* How all hops of the trace are written, so that the loops over them have no
 * branches. */
enum { SWITCHES_ARE_IPV4 = 1, SWITCH_TIMES = 2 };

/* A hop: its arrival, the end of struct ef_hop as it is (port to drop), the
 * address of the switch, and with SWITCH_TIMES its time. Copied piece by piece to
 * where it stays: a struct in between would be written in small pieces and read
 * in large ones. */
enum {
    HOP_PORT = sizeof(struct ef_time),
    HOP_END_BYTES = offsetof(struct ef_hop, drop) + 1 - offsetof(struct ef_hop, port),
    HOP_SWITCH = HOP_PORT + HOP_END_BYTES,
};

_Static_assert(sizeof(struct fixed) + 2 * 16 <= EF_TRACE_RECORD_FIXED_MAX, "EF_TRACE_RECORD_FIXED_MAX");
_Static_assert(HOP_SWITCH + 16 + 8 <= EF_TRACE_RECORD_HOP_MAX, "EF_TRACE_RECORD_HOP_MAX");

static EF_ALWAYS_INLINE size_t
hop_bytes(unsigned layout)
{
    return HOP_SWITCH + (layout & SWITCHES_ARE_IPV4 ? 4 : 16) + (layout & SWITCH_TIMES ? sizeof(struct ef_time) : 0);
}

/* As ef_address_is_ipv4(), without a call. */
static EF_ALWAYS_INLINE bool
is_ipv4(const uint8_t address[16])
{
    return !ef_load_be64(address) && ef_load_be32(address + 8) == 0xffff;
}

/* --- Writing ------------------------------------------------------------------------ */

static EF_ALWAYS_INLINE uint8_t *
put(uint8_t *at, const void *bytes, size_t n)
{
    memcpy(at, bytes, n);
    return at + n;
}

static EF_ALWAYS_INLINE uint8_t *
put_address(uint8_t *at, const uint8_t address[16], bool as_ipv4)
{
    return as_ipv4 ? put(at, address + 12, 4) : put(at, address, 16);
}

static unsigned
layout_of(const struct ef_trace *trace)
{
    uint64_t other = 0, times = 0; /* Bits that no IPv4 address has; and of times. */
    for (unsigned i = 0; i < trace->n_hops; i++) {
        const uint8_t *address = trace->hops[i].switch_address;
        other |= ef_load_be64(address) | (ef_load_be32(address + 8) ^ 0xffff);
        times |= (uint64_t) trace->hops[i].switch_time.ns;
    }
    return (other ? 0 : SWITCHES_ARE_IPV4) | (times ? SWITCH_TIMES : 0);
}

static EF_ALWAYS_INLINE uint8_t *
put_hops_as(uint8_t *at, const struct ef_trace *trace, unsigned layout)
{
    for (unsigned i = 0; i < trace->n_hops; i++, at += hop_bytes(layout)) {
        const struct ef_hop *hop = &trace->hops[i];
        memcpy(at, &hop->arrival, sizeof hop->arrival);
        memcpy(at + HOP_PORT, &hop->port, HOP_END_BYTES);
        uint8_t *end = put_address(at + HOP_SWITCH, hop->switch_address, layout & SWITCHES_ARE_IPV4);
        if (layout & SWITCH_TIMES) {
            memcpy(end, &hop->switch_time, sizeof hop->switch_time);
        }
    }
    return at;
}

static uint8_t *
put_hops(uint8_t *at, const struct ef_trace *trace, unsigned layout)
{
    switch (layout) {
    case SWITCHES_ARE_IPV4:
        return put_hops_as(at, trace, SWITCHES_ARE_IPV4);
    case SWITCHES_ARE_IPV4 | SWITCH_TIMES:
        return put_hops_as(at, trace, SWITCHES_ARE_IPV4 | SWITCH_TIMES);
    default:
        return put_hops_as(at, trace, layout);
    }
}

static uint8_t
flags_of(const struct ef_trace *trace)
{
    return (uint8_t) ((trace->loop ? LOOP : 0) | (trace->debug ? DEBUG_MARK : 0) |
                      (trace->switch_clock ? SWITCH_CLOCK : 0) | (trace->hops_full ? HOPS_FULL : 0) |
                      (trace->copies_lost ? COPIES_LOST : 0) | (trace->has_expected ? HAS_EXPECTED : 0) |
                      (is_ipv4(trace->target) ? TARGET_IS_IPV4 : 0) |
                      (is_ipv4(trace->expected) ? EXPECTED_IS_IPV4 : 0));
}

uint32_t
ef_trace_record_pack(const struct ef_trace *trace, uint8_t *record)
{
    struct fixed fixed = {
        .end = trace->end,
        .wire_len = trace->wire_len,
        .n_copies = trace->n_copies,
        .n_duplicates = trace->n_duplicates,
        .n_bytes = trace->n_bytes,
        .n_hops = trace->n_hops,
        .flags = flags_of(trace),
        .n_missing = trace->n_missing,
        .mux_hop = trace->mux_hop,
        .fate = trace->fate,
        .layout = (uint8_t) layout_of(trace),
    };
    uint8_t *at = put(record, &fixed, sizeof fixed);
    at = put_address(at, trace->target, fixed.flags & TARGET_IS_IPV4);
    at = trace->has_expected ? put_address(at, trace->expected, fixed.flags & EXPECTED_IS_IPV4) : at;
    at = put(at, trace->bytes, trace->n_bytes);
    return (uint32_t) (put_hops(at, trace, fixed.layout) - record);
}

/* --- Reading ------------------------------------------------------------------------ */

static EF_ALWAYS_INLINE const uint8_t *
get(const uint8_t *at, void *bytes, size_t n)
{
    memcpy(bytes, at, n);
    return at + n;
}

static const uint8_t *
get_address(const uint8_t *at, uint8_t address[16], bool as_ipv4)
{
    if (!as_ipv4) {
        return get(at, address, 16);
    }
    ef_address_from_ipv4(address, at);
    return at + 4;
}

static void
get_hop(const uint8_t *at, struct ef_hop *hop, unsigned layout)
{
    *hop = (struct ef_hop){0};
    memcpy(&hop->arrival, at, sizeof hop->arrival);
    memcpy(&hop->port, at + HOP_PORT, HOP_END_BYTES);
    at = get_address(at + HOP_SWITCH, hop->switch_address, layout & SWITCHES_ARE_IPV4);
    if (layout & SWITCH_TIMES) {
        memcpy(&hop->switch_time, at, sizeof hop->switch_time);
    }
}

static void
read_fixed(const struct fixed *fixed, struct ef_trace *trace)
{
    trace->end = fixed->end;
    trace->wire_len = fixed->wire_len;
    trace->n_copies = fixed->n_copies;
    trace->n_duplicates = fixed->n_duplicates;
    trace->n_bytes = fixed->n_bytes;
    trace->n_hops = fixed->n_hops;
    trace->loop = fixed->flags & LOOP;
    trace->debug = fixed->flags & DEBUG_MARK;
    trace->switch_clock = fixed->flags & SWITCH_CLOCK;
    trace->hops_full = fixed->flags & HOPS_FULL;
    trace->copies_lost = fixed->flags & COPIES_LOST;
    trace->has_expected = fixed->flags & HAS_EXPECTED;
    trace->n_missing = fixed->n_missing;
    trace->mux_hop = fixed->mux_hop;
    trace->fate = fixed->fate;
}

void
ef_trace_record_unpack(const uint8_t *record, struct ef_time start, uint64_t id, struct ef_trace *trace)
{
    struct fixed fixed;
    const uint8_t *at = get(record, &fixed, sizeof fixed);
    trace->id = id;
    trace->start = start;
    read_fixed(&fixed, trace);
    at = get_address(at, trace->target, fixed.flags & TARGET_IS_IPV4);
    memset(trace->expected, 0, sizeof trace->expected);
    if (trace->has_expected) {
        at = get_address(at, trace->expected, fixed.flags & EXPECTED_IS_IPV4);
    }
    at = get(at, trace->bytes, trace->n_bytes);
    trace->corrupt = trace->is_mixed = false;
    for (unsigned i = 0; i < trace->n_hops; i++, at += hop_bytes(fixed.layout)) {
        get_hop(at, &trace->hops[i], fixed.layout);
        trace->corrupt |= trace->hops[i].flags & EF_HOP_CORRUPT;
    }
}

unsigned
ef_trace_record_switches(const uint8_t *record, uint8_t switches[EF_TRACE_MAX_HOPS][16])
{
    struct fixed fixed;
    const uint8_t *at = get(record, &fixed, sizeof fixed);
    at += fixed.flags & TARGET_IS_IPV4 ? 4 : 16;
    at += !(fixed.flags & HAS_EXPECTED) ? 0 : fixed.flags & EXPECTED_IS_IPV4 ? 4 : 16;
    at += fixed.n_bytes;
    for (unsigned i = 0; i < fixed.n_hops; i++, at += hop_bytes(fixed.layout)) {
        get_address(at + HOP_SWITCH, switches[i], fixed.layout & SWITCHES_ARE_IPV4);
    }
    return fixed.n_hops;
}
