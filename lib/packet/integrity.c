/* SPDX-License-Identifier: Apache-2.0 */
/* Checksums of packets on their way; see integrity.h. On the path of every copy. */
#include <config.h>

#include "packet/integrity.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/util.h"
#include "packet/headers.h"

/* Where the congestion bits of a RoCEv2 header are, from the UDP header on: the first
 * byte of a word of the sum. */
enum { UDP_BTH_CONGESTION = EF_UDP_LEN + 4 };

/* --- Sums -------------------------------------------------------------------- */

/* Of 64-bit words, whose carries are in the upper half. */
__extension__ typedef unsigned __int128 wide;

static EF_ALWAYS_INLINE uint64_t
load64(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/* Less than eight bytes, with zeros behind the last one of an odd number. */
static EF_ALWAYS_INLINE uint64_t
load_rest(const uint8_t *at, uint32_t n)
{
    uint32_t four = 0;
    uint16_t two = 0, one = 0;
    if (n & 4) {
        memcpy(&four, at, 4);
        at += 4;
    }
    if (n & 2) {
        memcpy(&two, at, 2);
        at += 2;
    }
    if (n & 1) {
        memcpy(&one, at, 1);
    }
    return (uint64_t) four + two + one;
}

/* The words of the sum are taken as they lie in memory, and four at once: a sum in
 * the other byte order is the same sum with its bytes swapped (RFC 1071, section 2). */
static EF_ALWAYS_INLINE wide
add_bytes(wide sum, const uint8_t *at, uint32_t n)
{
    for (; n >= 32; at += 32, n -= 32) {
        sum += load64(at);
        sum += load64(at + 8);
        sum += load64(at + 16);
        sum += load64(at + 24);
    }
    for (; n >= 8; at += 8, n -= 8) {
        sum += load64(at);
    }
    return sum + load_rest(at, n);
}

static EF_ALWAYS_INLINE uint16_t
fold(wide wide_sum)
{
    uint64_t sum = (uint64_t) wide_sum % UINT16_MAX + (uint64_t) (wide_sum >> 64);
    return (uint16_t) (sum % UINT16_MAX); /* One's complement: 0 and 0xffff are two names of one number. */
}

/* --- The payload -------------------------------------------------------------- */

struct payload {
    const uint8_t *ip, *at;
    uint32_t len, n; /* As the IP header says, and what there is of it. */
    bool is_ipv6, is_plain;
};

/* Where the payload of the innermost IP packet is; false if it cannot be told. */
static EF_ALWAYS_INLINE bool
find_payload(const struct ef_packet *p, struct payload *found)
{
    const struct ef_layer *layer = &p->layers[p->inner_ip];
    const uint8_t *ip = p->data + layer->offset;
    bool is_ipv6 = layer->proto == EF_PROTO_IPV6;
    uint32_t end = is_ipv6 ? EF_IPV6_LEN + (uint32_t) ef_load_be16(ip + 4) : ef_ipv4_total_len(ip);
    uint32_t start = layer->header_len, there = EF_MIN(p->len, (uint32_t) UINT16_MAX) - layer->offset;
    if (layer->flags & EF_LAYER_CUT || end <= start || there <= start) {
        return false;
    }
    *found = (struct payload){
        .ip = ip,
        .at = ip + start,
        .len = end - start,
        .n = EF_MIN(end, there) - start,
        .is_ipv6 = is_ipv6,
        .is_plain = is_ipv6 ? start == EF_IPV6_LEN : start == EF_IPV4_LEN && !ef_ipv4_is_fragment(ip),
    };
    return true;
}

static EF_ALWAYS_INLINE wide
pseudo_header(const struct payload *payload, uint8_t proto)
{
    wide sum = (wide) htons((uint16_t) payload->len) + htons(proto);
    return payload->is_ipv6 ? add_bytes(sum, payload->ip + 8, 32) : add_bytes(sum, payload->ip + 12, 8);
}

/* What has to be added to the payload's sum before a right one is 0. Returns false
 * if the payload has no checksum that can be verified. */
static EF_ALWAYS_INLINE bool
rest_of_sum(const struct ef_packet *p, const struct payload *payload, wide *rest)
{
    *rest = 0;
    if (!payload->is_plain || payload->n < payload->len || p->inner_l4 == EF_NO_LAYER) {
        return false;
    }
    switch (p->layers[p->inner_l4].proto) {
    case EF_PROTO_TCP:
        *rest = pseudo_header(payload, EF_IPPROTO_TCP);
        return true;
    case EF_PROTO_UDP:
        *rest = pseudo_header(payload, EF_IPPROTO_UDP);
        return ef_udp_checksum(payload->at) && ef_udp_len(payload->at) == payload->len &&
               !ef_packet_has(p, EF_PROTO_BTH);
    case EF_PROTO_ICMP:
        return !payload->is_ipv6;
    case EF_PROTO_ICMPV6:
        *rest = pseudo_header(payload, EF_IPPROTO_ICMPV6);
        return payload->is_ipv6;
    default:
        return false;
    }
}

/* One's complement: to take away is to add the complement. */
static EF_ALWAYS_INLINE wide
without_congestion_bits(const struct ef_packet *p, const struct payload *payload, wide sum)
{
    if (!ef_packet_has(p, EF_PROTO_BTH) || p->inner_l4 == EF_NO_LAYER || payload->n <= UDP_BTH_CONGESTION) {
        return sum;
    }
    return sum + (uint16_t) ~htons((uint16_t) (payload->at[UDP_BTH_CONGESTION] << 8));
}

/* --- Entry --------------------------------------------------------------------- */

void
ef_integrity_of(const struct ef_packet *p, struct ef_integrity *out)
{
    struct payload payload;
    wide rest;
    *out = (struct ef_integrity){0};
    if (p->inner_ip == EF_NO_LAYER) {
        return;
    }
    const struct ef_layer *ip = &p->layers[p->inner_ip];
    if (ip->proto == EF_PROTO_IPV4 && !(ip->flags & EF_LAYER_CUT)) {
        out->ip_is_wrong = fold(add_bytes(0, p->data + ip->offset, ip->header_len));
    }
    if (!find_payload(p, &payload)) {
        return;
    }
    bool is_protected = rest_of_sum(p, &payload, &rest);
    wide sum = add_bytes(is_protected ? rest : 0, payload.at, payload.n);
    out->sum = fold(without_congestion_bits(p, &payload, sum));
    out->n_bytes = (uint16_t) payload.n;
    out->payload = (uint8_t) (!is_protected ? EF_PAYLOAD_UNPROTECTED : out->sum ? EF_PAYLOAD_WRONG : EF_PAYLOAD_RIGHT);
}

bool
ef_integrity_changed(const struct ef_integrity *before, const struct ef_integrity *after)
{
    if (after->ip_is_wrong && !before->ip_is_wrong) {
        return true;
    }
    switch (after->payload) {
    case EF_PAYLOAD_WRONG:
        return before->payload == EF_PAYLOAD_RIGHT ||
               (before->payload == EF_PAYLOAD_WRONG && before->sum != after->sum);
    case EF_PAYLOAD_UNPROTECTED:
        return before->payload == EF_PAYLOAD_UNPROTECTED && before->n_bytes == after->n_bytes &&
               before->sum != after->sum;
    default:
        return false;
    }
}
