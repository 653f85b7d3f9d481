/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a received copy's outer headers. Called by the reshuffler and the
 * analyzer for every frame; the layouts are in doc/wire-format.md. */
#include <config.h>

#include "packet/copy.h"

#include <string.h>

#include "packet/cursor.h"
#include "packet/headers.h"
#include "packet/ipv6_chain.h"
#include "packet/packet_internal.h"
#include "packet/switch_drop.h"

/* What 0x8949 has between GRE and the frame. */
enum { VENDOR_8949_LEN = 22 };

/* More VLAN tags than this are not followed in the outer frame. */
enum { MAX_OUTER_TAGS = 4 };

/* Why a header of `n` bytes is not there: it was not captured, or (`lie`) the
 * outer packet has no room for it. */
static enum ef_drop_reason
missing(const struct ef_cursor *c, uint32_t n, enum ef_drop_reason lie)
{
    return ef_cursor_on_wire(c, n) ? EF_DROP_OUTER_TRUNCATED : lie;
}

/* --- Outer Ethernet and IP --------------------------------------------------- */

static enum ef_drop_reason
parse_outer_ipv4(struct ef_copy *copy, struct ef_cursor *c)
{
    const uint8_t *ip = ef_cursor_peek(c, EF_IPV4_LEN);
    if (!ip) {
        return EF_DROP_OUTER_TRUNCATED;
    }
    uint32_t header_len = ef_ipv4_header_len(ip);
    if (ef_ip_version(ip) != 4 || header_len < EF_IPV4_LEN || ef_ipv4_proto(ip) != EF_IPPROTO_GRE ||
        ef_ipv4_total_len(ip) < header_len) {
        return EF_DROP_NOT_A_COPY;
    }
    if (ef_ipv4_is_fragment(ip)) {
        return EF_DROP_OUTER_FRAGMENT;
    }
    if (!ef_cursor_limit(c, ef_ipv4_total_len(ip)) || !ef_cursor_peek(c, header_len)) {
        return EF_DROP_OUTER_TRUNCATED;
    }
    ef_address_from_ipv4(copy->switch_address, ef_ipv4_src(ip));
    ef_address_from_ipv4(copy->target_address, ef_ipv4_dst(ip));
    ef_cursor_skip(c, header_len);
    return EF_DROP_NONE;
}

static enum ef_drop_reason
parse_outer_ipv6(struct ef_copy *copy, struct ef_cursor *c)
{
    const uint8_t *ip = ef_cursor_peek(c, EF_IPV6_LEN);
    if (!ip) {
        return EF_DROP_OUTER_TRUNCATED;
    }
    if (ef_ip_version(ip) != 6) {
        return EF_DROP_NOT_A_COPY;
    }
    if (!ef_cursor_limit(c, ef_ip_total_len(ip))) {
        return EF_DROP_OUTER_TRUNCATED;
    }
    struct ef_ipv6_chain chain;
    ef_ipv6_chain_walk(&chain, ip, ef_cursor_left(c));
    if (chain.is_fragment) {
        return chain.fragment_next == EF_IPPROTO_GRE ? EF_DROP_OUTER_FRAGMENT : EF_DROP_NOT_A_COPY;
    }
    if (!ef_cursor_peek(c, chain.header_len)) {
        return EF_DROP_OUTER_TRUNCATED;
    }
    if (chain.proto != EF_IPPROTO_GRE) {
        return EF_DROP_NOT_A_COPY;
    }
    memcpy(copy->switch_address, ef_ipv6_src(ip), 16);
    memcpy(copy->target_address, ef_ipv6_dst(ip), 16);
    ef_cursor_skip(c, chain.header_len);
    return EF_DROP_NONE;
}

static enum ef_drop_reason
parse_outer(struct ef_copy *copy, struct ef_cursor *c)
{
    const uint8_t *eth = ef_cursor_peek(c, EF_ETH_LEN);
    if (!eth) {
        return EF_DROP_OUTER_TRUNCATED;
    }
    uint16_t type = ef_eth_type(eth);
    ef_cursor_skip(c, EF_ETH_LEN);
    for (int n = 0; n < MAX_OUTER_TAGS && EF_UNLIKELY(ef_ethertype_is_vlan(type)); n++) {
        const uint8_t *vlan = ef_cursor_peek(c, EF_VLAN_LEN);
        if (!vlan) {
            return EF_DROP_OUTER_TRUNCATED;
        }
        type = ef_vlan_type(vlan);
        ef_cursor_skip(c, EF_VLAN_LEN);
    }
    copy->outer_ip_offset = (uint16_t) c->offset;
    switch (type) {
    case EF_ETHERTYPE_IPV4:
        return parse_outer_ipv4(copy, c);
    case EF_ETHERTYPE_IPV6:
        return parse_outer_ipv6(copy, c);
    default:
        return EF_DROP_NOT_A_COPY;
    }
}

/* --- ERSPAN -------------------------------------------------------------------- */

/* Port 0 stands for "not known". */
static EF_ALWAYS_INLINE void
set_port(struct ef_copy *copy, uint32_t port)
{
    copy->has_port = port != 0;
    copy->port = port;
}

/* The reason for a drop in a field that has `mark` plus it, else 0. */
static EF_ALWAYS_INLINE uint8_t
drop_in(uint32_t field, uint32_t mark)
{
    return (field & ~(uint32_t) EF_SWITCH_DROP_MAX) == mark ? (uint8_t) (field & EF_SWITCH_DROP_MAX) : 0;
}

/* The key of a 0x6558 copy; one that is not of our switches says nothing. */
static EF_ALWAYS_INLINE void
read_key(struct ef_copy *copy, uint32_t key)
{
    copy->switch_drop = drop_in(key >> 16, EF_GRE_KEY_DROP);
    copy->egress = key >> 16 == EF_GRE_KEY_EGRESS;
    if (copy->switch_drop || copy->egress || key >> 16 == EF_GRE_KEY_MAGIC) {
        set_port(copy, key & 0xffff);
    }
}

/* The fields of a type II header. */
static EF_ALWAYS_INLINE void
read_erspan2(struct ef_copy *copy, const uint8_t *erspan)
{
    copy->encapsulation = EF_ENCAP_ERSPAN2;
    copy->session = ef_erspan_session(erspan);
    copy->truncated = ef_erspan_truncated(erspan);
    copy->switch_drop = drop_in(ef_erspan2_reserved(erspan), EF_ERSPAN2_DROP);
    copy->egress = ef_erspan2_reserved(erspan) == EF_ERSPAN2_EGRESS;
    set_port(copy, ef_erspan2_index(erspan));
}

static enum ef_drop_reason
parse_erspan2(struct ef_copy *copy, struct ef_cursor *c)
{
    const uint8_t *erspan = ef_cursor_peek(c, EF_ERSPAN2_LEN);
    if (!erspan) {
        return missing(c, EF_ERSPAN2_LEN, EF_DROP_BAD_ERSPAN);
    }
    if (ef_erspan_version(erspan) != 1) {
        return EF_DROP_BAD_ERSPAN;
    }
    read_erspan2(copy, erspan);
    ef_cursor_skip(c, EF_ERSPAN2_LEN);
    return EF_DROP_NONE;
}

/* The platform sub-header: its first six bits say which layout it has. Those
 * with a second word of seconds complete an IEEE 1588 timestamp. */
static EF_ALWAYS_INLINE void
read_platform(struct ef_copy *copy, const uint8_t *erspan)
{
    const uint8_t *platform = erspan + EF_ERSPAN3_LEN;
    uint32_t first = ef_load_be32(platform), second = ef_load_be32(platform + 4);
    switch (first >> 26) {
    case 1:
        set_port(copy, second);
        return;
    case 3:
        set_port(copy, first & 0x3fff);
        break;
    case 5:
        set_port(copy, first & 0xffff);
        break;
    case 7:
        set_port(copy, first & 0xfffff);
        break;
    default:
        return;
    }
    uint32_t ns = ef_erspan3_timestamp(erspan);
    /* Granularities 0 and 1 count from a moment that only the switch knows. */
    if (ef_erspan3_granularity(erspan) == 2 && second && ns < EF_NS_PER_S) {
        copy->has_switch_time = true;
        copy->switch_time.ns = (int64_t) second * EF_NS_PER_S + ns;
    }
}

/* The fields of a type III header that is whole. */
static EF_ALWAYS_INLINE void
read_erspan3(struct ef_copy *copy, const uint8_t *erspan)
{
    copy->encapsulation = EF_ENCAP_ERSPAN3;
    copy->session = ef_erspan_session(erspan);
    copy->truncated = ef_erspan_truncated(erspan);
    copy->egress = ef_erspan3_egress(erspan);
    copy->switch_drop = drop_in(ef_erspan3_sgt(erspan), EF_ERSPAN3_DROP);
    if (ef_erspan3_has_platform(erspan)) {
        read_platform(copy, erspan);
    }
}

static enum ef_drop_reason
parse_erspan3(struct ef_copy *copy, struct ef_cursor *c)
{
    const uint8_t *erspan = ef_cursor_peek(c, EF_ERSPAN3_LEN);
    if (!erspan) {
        return missing(c, EF_ERSPAN3_LEN, EF_DROP_BAD_ERSPAN);
    }
    uint32_t header_len = EF_ERSPAN3_LEN + (ef_erspan3_has_platform(erspan) ? EF_ERSPAN3_PLATFORM_LEN : 0);
    /* Frame type 0 is Ethernet; an original without its Ethernet header is none that we take. */
    if (ef_erspan_version(erspan) != 2 || ef_erspan3_frame_type(erspan) != 0) {
        return EF_DROP_BAD_ERSPAN;
    }
    if (!ef_cursor_peek(c, header_len)) {
        return missing(c, header_len, EF_DROP_BAD_ERSPAN);
    }
    read_erspan3(copy, erspan);
    ef_cursor_skip(c, header_len);
    return EF_DROP_NONE;
}

/* --- GRE -------------------------------------------------------------------------- */

/* Encapsulations without a header of their own between GRE and the frame. */
static enum ef_drop_reason
parse_plain(struct ef_copy *copy, struct ef_cursor *c, uint16_t type)
{
    switch (type) {
    case EF_ETHERTYPE_TEB:
        copy->encapsulation = EF_ENCAP_GRE;
        return EF_DROP_NONE;
    case EF_ETHERTYPE_ERSPAN:
        copy->encapsulation = EF_ENCAP_ERSPAN1;
        return EF_DROP_NONE;
    case EF_ETHERTYPE_VENDOR_8949:
        copy->encapsulation = EF_ENCAP_VENDOR_8949;
        if (!ef_cursor_peek(c, VENDOR_8949_LEN)) {
            return missing(c, VENDOR_8949_LEN, EF_DROP_BAD_GRE);
        }
        ef_cursor_skip(c, VENDOR_8949_LEN);
        return EF_DROP_NONE;
    default:
        return EF_DROP_BAD_GRE;
    }
}

static enum ef_drop_reason
parse_gre(struct ef_copy *copy, struct ef_cursor *c)
{
    const uint8_t *gre = ef_cursor_peek(c, EF_GRE_LEN);
    if (!gre) {
        return missing(c, EF_GRE_LEN, EF_DROP_BAD_GRE);
    }
    uint16_t flags = ef_gre_flags(gre), type = ef_gre_type(gre);
    uint32_t header_len = ef_gre_header_len(flags);
    if (flags & (EF_GRE_VERSION | EF_GRE_R)) {
        return EF_DROP_BAD_GRE;
    }
    if (!ef_cursor_peek(c, header_len)) {
        return missing(c, header_len, EF_DROP_BAD_GRE);
    }
    if (flags & EF_GRE_S) {
        copy->has_sequence = true;
        copy->sequence = ef_gre_sequence(gre);
    }
    if (flags & EF_GRE_K && type == EF_ETHERTYPE_TEB) {
        read_key(copy, ef_gre_key(gre));
    }
    ef_cursor_skip(c, header_len);
    if (type == EF_ETHERTYPE_ERSPAN3) {
        return parse_erspan3(copy, c);
    }
    return type == EF_ETHERTYPE_ERSPAN && flags & EF_GRE_S ? parse_erspan2(copy, c) : parse_plain(copy, c, type);
}

/* --- The original's length ---------------------------------------------------------- */

/* Length of the frame at the cursor by its IP header, or 0 if it has none. */
static __attribute__((noinline)) uint32_t
length_by_headers(struct ef_cursor c)
{
    uint32_t start = c.offset;
    const uint8_t *eth = ef_cursor_peek(&c, EF_ETH_LEN);
    if (!eth) {
        return 0;
    }
    uint16_t type = ef_eth_type(eth);
    ef_cursor_skip(&c, EF_ETH_LEN);
    for (const uint8_t *vlan; ef_ethertype_is_vlan(type) && (vlan = ef_cursor_peek(&c, EF_VLAN_LEN));) {
        type = ef_vlan_type(vlan);
        ef_cursor_skip(&c, EF_VLAN_LEN);
    }
    const uint8_t *ip = ef_cursor_peek(&c, EF_IPV4_LEN);
    bool known = ip && ((type == EF_ETHERTYPE_IPV4 && ef_ip_version(ip) == 4) ||
                        (type == EF_ETHERTYPE_IPV6 && ef_ip_version(ip) == 6));
    return known ? c.offset - start + ef_ip_total_len(ip) : 0;
}

/* The original starts at the cursor. */
static EF_ALWAYS_INLINE void
set_original(struct ef_copy *copy, const struct ef_cursor *c)
{
    copy->original = c->data + c->offset;
    copy->original_len = ef_cursor_left(c);
    copy->original_wire_len = c->wire_end - c->offset;
    bool may_say_truncated = copy->encapsulation == EF_ENCAP_ERSPAN2 || copy->encapsulation == EF_ENCAP_ERSPAN3;
    if (EF_UNLIKELY(copy->truncated || !may_say_truncated)) {
        uint32_t len = length_by_headers(*c);
        if (len > copy->original_wire_len) {
            copy->original_wire_len = len;
            copy->truncated = true;
        }
    }
}

enum ef_drop_reason
ef_copy_parse_general(struct ef_copy *copy, const uint8_t *frame, uint32_t len, uint32_t wire_len)
{
    struct ef_cursor c = {.data = frame, .end = EF_MIN(len, UINT16_MAX), .wire_end = EF_MAX(len, wire_len)};
    *copy = (struct ef_copy){0};
    enum ef_drop_reason why = parse_outer(copy, &c);
    if (why == EF_DROP_NONE) {
        why = parse_gre(copy, &c);
    }
    if (why == EF_DROP_NONE) {
        set_original(copy, &c);
    }
    return why;
}

/* --- The fast path ------------------------------------------------------------------ */

/* Where the headers of the common shapes are, and the longest that they are. */
enum { IP = EF_ETH_LEN, GRE = IP + EF_IPV4_LEN, AFTER_GRE = GRE + 8 };
enum { COMMON_LEN = AFTER_GRE + EF_ERSPAN3_LEN + EF_ERSPAN3_PLATFORM_LEN };

/* The GRE header's first word as the patched Open vSwitch writes it. */
#define COMMON_GRE(FLAGS, TYPE) ((uint32_t) (FLAGS) << 16 | (TYPE))

/* Reads what is behind the outer IP header; returns the original's offset, or 0
 * if this is no common shape. */
static EF_ALWAYS_INLINE uint32_t
read_common(struct ef_copy *copy, const uint8_t *frame)
{
    const uint8_t *gre = frame + GRE, *erspan = frame + AFTER_GRE;
    switch (ef_load_be32(gre)) {
    case COMMON_GRE(EF_GRE_S, EF_ETHERTYPE_ERSPAN3):
        if (ef_erspan_version(erspan) != 2 || ef_erspan3_frame_type(erspan) != 0 || !ef_erspan3_has_platform(erspan)) {
            return 0;
        }
        copy->sequence = ef_load_be32(gre + 4);
        read_erspan3(copy, erspan);
        return AFTER_GRE + EF_ERSPAN3_LEN + EF_ERSPAN3_PLATFORM_LEN;
    case COMMON_GRE(EF_GRE_S, EF_ETHERTYPE_ERSPAN):
        if (ef_erspan_version(erspan) != 1) {
            return 0;
        }
        copy->sequence = ef_load_be32(gre + 4);
        read_erspan2(copy, erspan);
        return AFTER_GRE + EF_ERSPAN2_LEN;
    case COMMON_GRE(EF_GRE_K | EF_GRE_S, EF_ETHERTYPE_TEB):
        read_key(copy, ef_load_be32(gre + 4));
        copy->sequence = ef_load_be32(gre + 8);
        return GRE + 12;
    default:
        return 0;
    }
}

/* Untagged Ethernet, IPv4 without options and whole, GRE as our own switches
 * send it: what ef_copy_parse_general() would find, at once. */
static EF_ALWAYS_INLINE bool
parse_common(struct ef_copy *copy, const uint8_t *frame, uint32_t len, uint32_t wire_len)
{
    if (len < COMMON_LEN || len > UINT16_MAX || wire_len < len) {
        return false;
    }
    const uint8_t *ip = frame + IP;
    uint32_t end = IP + (uint32_t) ef_ipv4_total_len(ip);
    if (ef_eth_type(frame) != EF_ETHERTYPE_IPV4 || ip[0] != 0x45 || ef_ipv4_proto(ip) != EF_IPPROTO_GRE ||
        ef_ipv4_is_fragment(ip) || end < COMMON_LEN || end > wire_len) {
        return false;
    }
    *copy = (struct ef_copy){.outer_ip_offset = IP, .has_sequence = true};
    uint32_t offset = read_common(copy, frame);
    if (!offset) {
        return false;
    }
    ef_address_from_ipv4(copy->switch_address, ef_ipv4_src(ip));
    ef_address_from_ipv4(copy->target_address, ef_ipv4_dst(ip));
    struct ef_cursor c = {.data = frame, .offset = offset, .end = EF_MIN(len, end), .wire_end = end};
    set_original(copy, &c);
    return true;
}

enum ef_drop_reason
ef_copy_parse(struct ef_copy *copy, const uint8_t *frame, uint32_t len, uint32_t wire_len)
{
    if (EF_LIKELY(parse_common(copy, frame, len, wire_len))) {
        return EF_DROP_NONE;
    }
    return ef_copy_parse_general(copy, frame, len, wire_len);
}
