/* SPDX-License-Identifier: Apache-2.0 */
/* Flow hash and identity. Reshuffler and analyzer call these for every copy.
 *
 * The keys are laid out so that they are a few whole words of the packet with
 * the mutable fields masked away: nothing is gathered byte by byte, and XXH3
 * over a key of constant size is a handful of multiplications. Layouts are in
 * doc/wire-format.md; to change one is to change which copies meet. */
#include <config.h>

#include "packet/identity.h"

#include <string.h>

#include "base/hash.h"
#include "base/util.h"
#include "packet/headers.h"
#include "packet/ipv6_chain.h"

/* Of a packet without IP, so many bytes after the last EtherType are hashed:
 * the payload of the shortest Ethernet frame, which every copy has unless it
 * was cut below 60 bytes. Zeros stand in for what a shorter one lacks, so that
 * padding makes no difference. */
enum { NON_IP_BYTES = 46 };

/* The first word of a key, so that keys of different kinds never meet. */
enum { KIND_IPV4 = 4, KIND_IPV6 = 6, KIND_OTHER = 1 };

static EF_ALWAYS_INLINE uint64_t
load_raw64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static EF_ALWAYS_INLINE uint32_t
load_raw32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* What is rare stays out of the common path, which then needs no stack. */
#define NOINLINE __attribute__((noinline, cold))

/* Where the innermost packet's headers lie. `l4` is NULL if there is none. */
struct innermost {
    const uint8_t *ip, *l4;
    const struct ef_layer *ip_layer, *l4_layer;
};

static EF_ALWAYS_INLINE struct innermost
innermost_of(const struct ef_packet *p)
{
    struct innermost in = {.ip_layer = &p->layers[p->inner_ip]};
    in.ip = p->data + in.ip_layer->offset;
    if (p->inner_l4 != EF_NO_LAYER) {
        in.l4_layer = &p->layers[p->inner_l4];
        in.l4 = p->data + in.l4_layer->offset;
    }
    return in;
}

/* --- What L4 gives ------------------------------------------------------------ */

/* Two words of a RoCEv2 header in one: opcode, destination QP, PSN. The FECN
 * and BECN bits between them are rewritten on the way. */
static NOINLINE uint64_t
bth_word(const uint8_t *bth)
{
    return (uint64_t) ef_bth_opcode(bth) << 56 ^ (uint64_t) ef_bth_dest_qp(bth) << 24 ^ ef_bth_psn(bth);
}

/* Protocols that have no layer of their own, but whose first bytes tell one
 * packet from another: ESP (SPI and sequence number), SCTP (ports and CRC). */
static NOINLINE uint64_t
unlisted_word(const struct ef_packet *p, const struct innermost *in, uint8_t proto)
{
    uint32_t at = in->ip_layer->offset + (uint32_t) in->ip_layer->header_len;
    if (in->ip_layer->flags & (EF_LAYER_LATER_FRAGMENT | EF_LAYER_CUT) || at + 12 > EF_MIN(p->len, UINT16_MAX)) {
        return 0;
    }
    switch (proto) {
    case EF_IPPROTO_ESP:
        return load_raw64(p->data + at);
    case EF_IPPROTO_SCTP:
        return load_raw32(p->data + at) | (uint64_t) load_raw32(p->data + at + 8) << 32;
    default:
        return 0;
    }
}

/* The invariant fields behind the IP header, in two words. */
static EF_ALWAYS_INLINE void
l4_words(const struct ef_packet *p, const struct innermost *in, uint8_t proto, uint64_t words[2])
{
    if (EF_UNLIKELY(!in->l4)) {
        words[0] = unlisted_word(p, in, proto);
        words[1] = 0;
        return;
    }
    switch (in->l4_layer->proto) {
    case EF_PROTO_TCP: {
        /* Ports and sequence number; acknowledgement and flags, not the window. */
        static const uint8_t mask[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0};
        words[0] = load_raw64(in->l4);
        words[1] = load_raw64(in->l4 + 8) & load_raw64(mask);
        return;
    }
    case EF_PROTO_UDP: {
        /* Ports, length, checksum; and what RoCEv2 has behind them. */
        const struct ef_layer *next = in->l4_layer + 1;
        bool roce = p->protos >> EF_PROTO_BTH & 1 && next < p->layers + p->n_layers && next->proto == EF_PROTO_BTH;
        words[0] = load_raw64(in->l4);
        words[1] = roce ? bth_word(p->data + next->offset) : 0;
        return;
    }
    default:
        /* ICMP: type, code, checksum (over all that it carries), id and sequence or what stands there. */
        words[0] = load_raw64(in->l4);
        words[1] = 0;
        return;
    }
}

/* What stands for the ports in the 5-tuple: the ports, the id of an echo, or 0. */
static EF_ALWAYS_INLINE uint32_t
flow_ports(const struct innermost *in)
{
    if (EF_UNLIKELY(!in->l4)) {
        return 0;
    }
    switch (in->l4_layer->proto) {
    case EF_PROTO_TCP:
    case EF_PROTO_UDP:
        return load_raw32(in->l4);
    case EF_PROTO_ICMP:
        return ef_icmp_is_echo(ef_icmp_type(in->l4)) ? ef_icmp_id(in->l4) : 0;
    default:
        return ef_icmpv6_is_echo(ef_icmp_type(in->l4)) ? ef_icmp_id(in->l4) : 0;
    }
}

/* --- IPv4 ----------------------------------------------------------------------- */

static EF_ALWAYS_INLINE uint64_t
hash_ipv4(const uint8_t *ip, uint32_t ports)
{
    uint64_t key[2] = {load_raw64(ip + 12), ports | (uint64_t) ef_ipv4_proto(ip) << 32};
    return ef_hash64_seed(key, sizeof key, KIND_IPV4);
}

static EF_ALWAYS_INLINE uint64_t
flow_hash_ipv4(const struct innermost *in)
{
    /* No fragment but the first has ports: so none may use them. */
    return hash_ipv4(in->ip, EF_UNLIKELY(ef_ipv4_is_fragment(in->ip)) ? 0 : flow_ports(in));
}

static EF_ALWAYS_INLINE XXH128_hash_t
identity_ipv4(const struct ef_packet *p, const struct innermost *in)
{
    /* Of bytes 2 to 9 (total length, id, fragment, TTL, protocol): not DF, which
     * some routers clear, nor the TTL. */
    static const uint8_t mask[8] = {0xff, 0xff, 0xff, 0xff, 0x3f, 0xff, 0, 0xff};
    uint64_t key[4] = {load_raw64(in->ip + 12), load_raw64(in->ip + 2) & load_raw64(mask)};
    l4_words(p, in, ef_ipv4_proto(in->ip), key + 2);
    return XXH3_128bits_withSeed(key, sizeof key, KIND_IPV4);
}

/* --- IPv6 ----------------------------------------------------------------------- */

/* The chain of extension headers; most packets have none. */
static EF_ALWAYS_INLINE void
chain_of(const struct innermost *in, struct ef_ipv6_chain *chain)
{
    if (EF_LIKELY(in->ip_layer->header_len == EF_IPV6_LEN)) {
        *chain = (struct ef_ipv6_chain){.proto = ef_ipv6_next_header(in->ip)};
    } else {
        ef_ipv6_chain_walk(chain, in->ip, in->ip_layer->header_len);
    }
}

static EF_ALWAYS_INLINE uint64_t
flow_hash_ipv6(const struct innermost *in, const struct ef_ipv6_chain *chain)
{
    /* Of a fragment, only what every fragment can see. */
    uint32_t ports = chain->is_fragment ? 0 : flow_ports(in);
    uint8_t proto = chain->is_fragment ? chain->fragment_next : chain->proto;
    uint64_t key[5];
    memcpy(key, in->ip + 8, 32);
    key[4] = ports | (uint64_t) proto << 32;
    return ef_hash64_seed(key, sizeof key, KIND_IPV6);
}

static EF_ALWAYS_INLINE XXH128_hash_t
identity_ipv6(const struct ef_packet *p, const struct innermost *in, const struct ef_ipv6_chain *chain)
{
    /* Of bytes 0 to 7 (version, traffic class, flow label, payload length, next
     * header, hop limit): neither traffic class nor hop limit. */
    static const uint8_t mask[8] = {0, 0x0f, 0xff, 0xff, 0xff, 0xff, 0xff, 0};
    uint64_t key[8];
    key[0] = load_raw64(in->ip) & load_raw64(mask);
    memcpy(key + 1, in->ip + 8, 32);
    key[5] = chain->has_fragment ? chain->fragment_id | (uint64_t) chain->fragment << 32 : 0;
    l4_words(p, in, chain->proto, key + 6);
    return XXH3_128bits_withSeed(key, sizeof key, KIND_IPV6);
}

/* --- Without IP -------------------------------------------------------------------- */

/* The key is the EtherType behind all tags and the first bytes after it, zeros
 * in place of what is not there. Returns false if there is not even Ethernet. */
static bool
non_ip_key(const struct ef_packet *p, uint8_t key[2 + NON_IP_BYTES])
{
    memset(key, 0, 2 + NON_IP_BYTES);
    unsigned i = 0;
    while (i < p->n_layers && (p->layers[i].proto == EF_PROTO_ETH || p->layers[i].proto == EF_PROTO_VLAN)) {
        i++;
    }
    if (!i) {
        return false;
    }
    /* Both end with the type of what follows. */
    uint32_t at = p->layers[i - 1].offset + (uint32_t) p->layers[i - 1].header_len;
    memcpy(key, p->data + at - 2, 2);
    uint32_t known = i < p->n_layers ? p->layers[i].header_len : NON_IP_BYTES;
    uint32_t there = EF_MIN(p->len, UINT16_MAX) - at;
    memcpy(key + 2, p->data + at, EF_MIN(EF_MIN(known, there), (uint32_t) NON_IP_BYTES));
    return true;
}

static NOINLINE void
identify_non_ip(const struct ef_packet *p, struct ef_identity *id)
{
    uint8_t key[2 + NON_IP_BYTES];
    bool known = non_ip_key(p, key);
    XXH128_hash_t hash = XXH3_128bits_withSeed(key, known ? sizeof key : 0, KIND_OTHER);
    /* No addresses, no ports: the packet is a flow of its own. */
    *id = (struct ef_identity){.flow_hash = hash.low64, .hash = hash.low64, .check = hash.high64};
}

/* --- Entry ------------------------------------------------------------------------- */

static __attribute__((noinline)) void
identify_ipv6(const struct ef_packet *p, struct ef_identity *id)
{
    struct innermost in = innermost_of(p);
    struct ef_ipv6_chain chain;
    chain_of(&in, &chain);
    XXH128_hash_t hash = identity_ipv6(p, &in, &chain);
    *id = (struct ef_identity){.flow_hash = flow_hash_ipv6(&in, &chain), .hash = hash.low64, .check = hash.high64};
}

/* The innermost IP layer's protocol, or EF_PROTO_ETH if there is none. */
static EF_ALWAYS_INLINE uint8_t
innermost_proto(const struct ef_packet *p)
{
    return EF_LIKELY(p->inner_ip != EF_NO_LAYER) ? p->layers[p->inner_ip].proto : EF_PROTO_ETH;
}

void
ef_identity_of(const struct ef_packet *p, struct ef_identity *id)
{
    switch (innermost_proto(p)) {
    case EF_PROTO_IPV4: {
        struct innermost in = innermost_of(p);
        id->flow_hash = flow_hash_ipv4(&in);
        XXH128_hash_t hash = identity_ipv4(p, &in);
        id->hash = hash.low64;
        id->check = hash.high64;
        return;
    }
    case EF_PROTO_IPV6:
        identify_ipv6(p, id);
        return;
    default:
        identify_non_ip(p, id);
        return;
    }
}

uint64_t
ef_flow_hash(const struct ef_packet *p)
{
    struct ef_identity id;
    switch (innermost_proto(p)) {
    case EF_PROTO_IPV4: {
        struct innermost in = innermost_of(p);
        return flow_hash_ipv4(&in);
    }
    case EF_PROTO_IPV6: {
        struct innermost in = innermost_of(p);
        struct ef_ipv6_chain chain;
        chain_of(&in, &chain);
        return flow_hash_ipv6(&in, &chain);
    }
    default:
        identify_non_ip(p, &id);
        return id.flow_hash;
    }
}

/* TCP or UDP in IPv4 whose headers are plain and whole, and which is no tunnel:
 * then there is no deeper IP layer, and the ports are behind 20 bytes of IP. A
 * part of what packet.c's fast path takes. */
static EF_ALWAYS_INLINE bool
is_plain_ipv4(const uint8_t *data, uint32_t len, uint32_t wire_len)
{
    const uint8_t *ip = data + EF_ETH_LEN, *l4 = ip + EF_IPV4_LEN;
    if (len < EF_ETH_LEN + EF_IPV4_LEN + EF_TCP_LEN || len > UINT16_MAX || ef_eth_type(data) != EF_ETHERTYPE_IPV4) {
        return false;
    }
    uint32_t total_len = ef_ipv4_total_len(ip), left = total_len - EF_IPV4_LEN;
    if (ip[0] != 0x45 || ef_ipv4_is_fragment(ip) || total_len < EF_IPV4_LEN + EF_UDP_LEN ||
        total_len > wire_len - EF_ETH_LEN) {
        return false;
    }
    if (ef_ipv4_proto(ip) == EF_IPPROTO_TCP) {
        uint32_t header_len = ef_tcp_header_len(l4);
        return header_len >= EF_TCP_LEN && header_len <= left && header_len <= len - EF_ETH_LEN - EF_IPV4_LEN;
    }
    uint16_t port = ef_l4_dst_port(l4);
    return ef_ipv4_proto(ip) == EF_IPPROTO_UDP && ef_udp_len(l4) >= EF_UDP_LEN && ef_udp_len(l4) <= left &&
           port != EF_PORT_VXLAN && port != EF_PORT_GENEVE && port != EF_PORT_ROCE;
}

static __attribute__((noinline)) uint64_t
parse_and_hash(const uint8_t *data, uint32_t len, uint32_t wire_len)
{
    struct ef_packet p;
    ef_packet_parse(&p, data, len, wire_len);
    return ef_flow_hash(&p);
}

uint64_t
ef_flow_hash_of_frame(const uint8_t *data, uint32_t len, uint32_t wire_len)
{
    if (EF_UNLIKELY(!is_plain_ipv4(data, len, EF_MAX(len, wire_len)))) {
        return parse_and_hash(data, len, wire_len);
    }
    const uint8_t *ip = data + EF_ETH_LEN;
    return hash_ipv4(ip, load_raw32(ip + EF_IPV4_LEN));
}
