/* SPDX-License-Identifier: Apache-2.0 */
/* The builder: appends headers, then fills in lengths, protocol numbers and
 * checksums from the last header to the first. */
#include <config.h>

#include "packet/build.h"

#include <errno.h>
#include <string.h>

#include "base/util.h"

/* Layers that only the builder tells apart. */
enum { OPTIONS = EF_N_PROTOS, EXTENSION, ERSPAN2, PAYLOAD };

static uint8_t *
fail(struct ef_build *b, int error)
{
    b->error = b->error ? b->error : error;
    memset(b->scratch, 0, sizeof b->scratch);
    return b->scratch;
}

/* Appends `len` zero bytes as a header of this kind. */
static uint8_t *
append(struct ef_build *b, int kind, uint32_t len)
{
    if (b->n_layers == EF_BUILD_MAX_LAYERS || len > b->size - b->len || b->len + len > UINT16_MAX) {
        return fail(b, -ENOSPC);
    }
    uint8_t *h = b->buf + b->len;
    memset(h, 0, len);
    b->layers[b->n_layers].kind = (uint8_t) kind;
    b->layers[b->n_layers].offset = (uint16_t) b->len;
    b->layers[b->n_layers].len = (uint16_t) len;
    b->n_layers++;
    b->len += len;
    return h;
}

void
ef_build_start(struct ef_build *b, uint8_t *buf, uint32_t size)
{
    b->buf = buf;
    b->size = size;
    b->len = 0;
    b->error = 0;
    b->n_layers = 0;
}

uint8_t *
ef_build_eth(struct ef_build *b)
{
    uint8_t *eth = append(b, EF_PROTO_ETH, EF_ETH_LEN);
    eth[0] = eth[6] = 0x02;
    eth[5] = 0x02;
    eth[11] = 0x01;
    return eth;
}

uint8_t *
ef_build_vlan(struct ef_build *b, uint16_t tpid, uint16_t tci)
{
    if (b->n_layers) {
        int before = b->n_layers - 1;
        ef_store_be16(b->buf + b->layers[before].offset + b->layers[before].len - 2, tpid);
    }
    uint8_t *vlan = append(b, EF_PROTO_VLAN, EF_VLAN_LEN);
    ef_store_be16(vlan, tci);
    return vlan;
}

/* Reads an address of the wanted version from text. */
static void
read_address(struct ef_build *b, const char *text, bool ipv4, uint8_t address[16])
{
    if (ef_address_parse(text, address) < 0 || ef_address_is_ipv4(address) != ipv4) {
        fail(b, -EINVAL);
        memset(address, 0, 16);
    }
}

uint8_t *
ef_build_arp(struct ef_build *b, uint16_t op, const char *sender, const char *target)
{
    static const uint8_t head[6] = {0, 1, 8, 0, 6, 4};
    uint8_t *arp = append(b, EF_PROTO_ARP, EF_ARP_LEN + 20);
    uint8_t address[16];
    memcpy(arp, head, sizeof head);
    ef_store_be16(arp + 6, op);
    arp[8] = 0x02;
    arp[13] = 0x01;
    read_address(b, sender, true, address);
    memcpy(arp + 14, address + 12, 4);
    read_address(b, target, true, address);
    memcpy(arp + 24, address + 12, 4);
    return arp;
}

static uint8_t *
build_ipv4(struct ef_build *b, const uint8_t src[16], const uint8_t dst[16])
{
    uint8_t *ip = append(b, EF_PROTO_IPV4, EF_IPV4_LEN);
    ip[0] = 0x45;
    ef_store_be16(ip + 4, 1);
    ef_store_be16(ip + 6, EF_IPV4_DF);
    ip[8] = 64;
    memcpy(ip + 12, src + 12, 4);
    memcpy(ip + 16, dst + 12, 4);
    return ip;
}

static uint8_t *
build_ipv6(struct ef_build *b, const uint8_t src[16], const uint8_t dst[16])
{
    uint8_t *ip = append(b, EF_PROTO_IPV6, EF_IPV6_LEN);
    ef_store_be32(ip, 6u << 28 | 1);
    ip[6] = EF_IPPROTO_NONE;
    ip[7] = 64;
    memcpy(ip + 8, src, 16);
    memcpy(ip + 24, dst, 16);
    return ip;
}

uint8_t *
ef_build_ip(struct ef_build *b, const uint8_t src[16], const uint8_t dst[16])
{
    return ef_address_is_ipv4(src) ? build_ipv4(b, src, dst) : build_ipv6(b, src, dst);
}

uint8_t *
ef_build_ipv4(struct ef_build *b, const char *src, const char *dst)
{
    uint8_t s[16], d[16];
    read_address(b, src, true, s);
    read_address(b, dst, true, d);
    return build_ipv4(b, s, d);
}

uint8_t *
ef_build_ipv6(struct ef_build *b, const char *src, const char *dst)
{
    uint8_t s[16], d[16];
    read_address(b, src, false, s);
    read_address(b, dst, false, d);
    return build_ipv6(b, s, d);
}

/* Where the header before names what follows: IPv6's or an extension's. */
static uint8_t *
next_header_field(struct ef_build *b, int layer)
{
    uint8_t *h = b->buf + b->layers[layer].offset;
    return b->layers[layer].kind == EF_PROTO_IPV6 ? h + 6 : h;
}

uint8_t *
ef_build_ipv6_extension(struct ef_build *b, uint8_t proto, uint32_t len)
{
    int before = b->n_layers - 1;
    bool fits = before >= 0 && (b->layers[before].kind == EF_PROTO_IPV6 || b->layers[before].kind == EXTENSION);
    if (!fits || len < 8 || len % 8 || len > 2048) {
        return fail(b, -EINVAL);
    }
    *next_header_field(b, before) = proto;
    uint8_t *ext = append(b, EXTENSION, len);
    ext[0] = EF_IPPROTO_NONE;
    if (proto == EF_IPPROTO_AH) {
        ext[1] = (uint8_t) (len / 4 - 2);
    } else if (proto != EF_IPPROTO_FRAGMENT) {
        ext[1] = (uint8_t) (len / 8 - 1);
    }
    if (proto == EF_IPPROTO_HOPOPTS || proto == EF_IPPROTO_DSTOPTS) {
        /* PadN as often as needed; one holds at most 257 bytes. */
        for (uint32_t at = 2; at < len;) {
            uint32_t n = EF_MIN(len - at, 256u);
            ext[at] = n > 1;
            if (n > 1) {
                ext[at + 1] = (uint8_t) (n - 2);
            }
            at += n;
        }
    }
    return ext;
}

uint8_t *
ef_build_ipv6_fragment(struct ef_build *b, uint32_t id, uint16_t offset, bool more)
{
    uint8_t *ext = ef_build_ipv6_extension(b, EF_IPPROTO_FRAGMENT, 8);
    ef_store_be16(ext + 2, (offset & EF_IPV6_OFFSET) | more);
    ef_store_be32(ext + 4, id);
    return ext;
}

uint8_t *
ef_build_options(struct ef_build *b, const void *options, uint32_t len)
{
    if (!b->n_layers || b->error) {
        return fail(b, -EINVAL);
    }
    int kind = b->layers[b->n_layers - 1].kind;
    uint8_t *header = b->buf + b->layers[b->n_layers - 1].offset;
    bool tcp = kind == EF_PROTO_TCP, geneve = kind == EF_PROTO_GENEVE;
    /* The length field counts words: of IPv4 and TCP 5 to 15, of Geneve 0 to 63. */
    if (!(tcp || geneve || kind == EF_PROTO_IPV4) || len % 4 || len > (geneve ? 63u : 10u) * 4) {
        return fail(b, -EINVAL);
    }
    uint8_t *h = append(b, OPTIONS, len);
    memcpy(h, options, len);
    uint8_t words = (uint8_t) (len / 4);
    if (tcp) {
        header[12] = (uint8_t) (header[12] + (words << 4));
    } else {
        header[0] = (uint8_t) (header[0] + words);
    }
    return h;
}

uint8_t *
ef_build_tcp(struct ef_build *b, uint16_t src_port, uint16_t dst_port, uint8_t flags)
{
    uint8_t *tcp = append(b, EF_PROTO_TCP, EF_TCP_LEN);
    ef_store_be16(tcp, src_port);
    ef_store_be16(tcp + 2, dst_port);
    ef_store_be32(tcp + 4, 1);
    ef_store_be32(tcp + 8, flags & EF_TCP_ACK ? 1 : 0);
    tcp[12] = 0x50;
    tcp[13] = flags;
    ef_store_be16(tcp + 14, 65535);
    return tcp;
}

uint8_t *
ef_build_udp(struct ef_build *b, uint16_t src_port, uint16_t dst_port)
{
    uint8_t *udp = append(b, EF_PROTO_UDP, EF_UDP_LEN);
    ef_store_be16(udp, src_port);
    ef_store_be16(udp + 2, dst_port);
    return udp;
}

static uint8_t *
build_icmp(struct ef_build *b, enum ef_proto kind, uint8_t type, uint8_t code, uint32_t rest)
{
    uint8_t *icmp = append(b, kind, EF_ICMP_LEN);
    icmp[0] = type;
    icmp[1] = code;
    ef_store_be32(icmp + 4, rest);
    return icmp;
}

uint8_t *
ef_build_icmp(struct ef_build *b, uint8_t type, uint8_t code, uint32_t rest)
{
    return build_icmp(b, EF_PROTO_ICMP, type, code, rest);
}

uint8_t *
ef_build_icmpv6(struct ef_build *b, uint8_t type, uint8_t code, uint32_t rest)
{
    return build_icmp(b, EF_PROTO_ICMPV6, type, code, rest);
}

uint8_t *
ef_build_gre(struct ef_build *b, uint16_t flags, uint32_t key, uint32_t sequence)
{
    uint32_t len = ef_gre_header_len(flags);
    uint8_t *gre = append(b, EF_PROTO_GRE, len);
    ef_store_be16(gre, flags);
    if (flags & EF_GRE_K) {
        ef_store_be32(gre + EF_GRE_LEN + (flags & EF_GRE_C ? 4 : 0), key);
    }
    if (flags & EF_GRE_S) {
        ef_store_be32(gre + len - 4, sequence);
    }
    return gre;
}

uint8_t *
ef_build_erspan2(struct ef_build *b, uint16_t session, uint32_t index)
{
    uint8_t *erspan = append(b, ERSPAN2, EF_ERSPAN2_LEN);
    ef_store_be32(erspan, 1u << 28 | (session & 0x3ffu));
    ef_store_be32(erspan + 4, index & 0xfffff);
    return erspan;
}

uint8_t *
ef_build_erspan3(struct ef_build *b, uint16_t session, uint16_t port, uint32_t seconds, uint32_t ns)
{
    uint8_t *erspan = append(b, EF_PROTO_ERSPAN, EF_ERSPAN3_LEN + EF_ERSPAN3_PLATFORM_LEN);
    ef_store_be32(erspan, 2u << 28 | (session & 0x3ffu));
    ef_store_be32(erspan + 4, ns);
    /* P (a frame follows), granularity 2 (IEEE 1588), O (sub-header follows). */
    ef_store_be32(erspan + 8, 1u << 15 | 2u << 1 | 1);
    ef_store_be32(erspan + 12, 5u << 26 | port);
    ef_store_be32(erspan + 16, seconds);
    return erspan;
}

uint8_t *
ef_build_vxlan(struct ef_build *b, uint32_t vni)
{
    uint8_t *vxlan = append(b, EF_PROTO_VXLAN, EF_VXLAN_LEN);
    vxlan[0] = 0x08;
    ef_store_be32(vxlan + 4, vni << 8);
    return vxlan;
}

uint8_t *
ef_build_geneve(struct ef_build *b, uint32_t vni)
{
    uint8_t *geneve = append(b, EF_PROTO_GENEVE, EF_GENEVE_LEN);
    ef_store_be32(geneve + 4, vni << 8);
    return geneve;
}

uint8_t *
ef_build_bth(struct ef_build *b, uint8_t opcode, uint32_t dest_qp, uint32_t psn)
{
    uint8_t *bth = append(b, EF_PROTO_BTH, EF_BTH_LEN);
    bth[0] = opcode;
    ef_store_be16(bth + 2, 0xffff);
    ef_store_be32(bth + 4, dest_qp & 0xffffff);
    ef_store_be32(bth + 8, psn & 0xffffff);
    return bth;
}

uint8_t *
ef_build_mac_control(struct ef_build *b, uint16_t opcode, uint8_t classes)
{
    uint8_t *macc = append(b, EF_PROTO_MAC_CONTROL, opcode == EF_MAC_CONTROL_PFC ? 20 : 4);
    ef_store_be16(macc, opcode);
    ef_store_be16(macc + 2, opcode == EF_MAC_CONTROL_PFC ? classes : 65535);
    for (int i = 0; opcode == EF_MAC_CONTROL_PFC && i < 8; i++) {
        ef_store_be16(macc + 4 + 2 * i, classes >> i & 1 ? 65535 : 0);
    }
    return macc;
}

uint8_t *
ef_build_payload(struct ef_build *b, const void *bytes, uint32_t len)
{
    uint8_t *payload = append(b, PAYLOAD, len);
    if (bytes && !b->error) {
        memcpy(payload, bytes, len);
    }
    return payload;
}

/* --- Finishing --------------------------------------------------------------- */

static uint16_t
ethertype_of(int kind)
{
    switch (kind) {
    case EF_PROTO_ETH:
        return EF_ETHERTYPE_TEB;
    case EF_PROTO_VLAN:
        return EF_ETHERTYPE_VLAN;
    case EF_PROTO_ARP:
        return EF_ETHERTYPE_ARP;
    case EF_PROTO_IPV4:
        return EF_ETHERTYPE_IPV4;
    case EF_PROTO_IPV6:
        return EF_ETHERTYPE_IPV6;
    case EF_PROTO_MAC_CONTROL:
        return EF_ETHERTYPE_MAC_CONTROL;
    case ERSPAN2:
        return EF_ETHERTYPE_ERSPAN;
    case EF_PROTO_ERSPAN:
        return EF_ETHERTYPE_ERSPAN3;
    default:
        return 0;
    }
}

static uint8_t
ip_proto_of(int kind)
{
    switch (kind) {
    case EF_PROTO_TCP:
        return EF_IPPROTO_TCP;
    case EF_PROTO_UDP:
        return EF_IPPROTO_UDP;
    case EF_PROTO_ICMP:
        return EF_IPPROTO_ICMP;
    case EF_PROTO_ICMPV6:
        return EF_IPPROTO_ICMPV6;
    case EF_PROTO_GRE:
        return EF_IPPROTO_GRE;
    case EF_PROTO_IPV4:
        return EF_IPPROTO_IPV4;
    case EF_PROTO_IPV6:
        return EF_IPPROTO_IPV6;
    default:
        return 0;
    }
}

/* The layer after `i` that is not only its options; -1 if none. */
static int
layer_after(const struct ef_build *b, int i)
{
    for (i++; i < b->n_layers && b->layers[i].kind == OPTIONS; i++) {
    }
    return i < b->n_layers ? i : -1;
}

/* Stores the EtherType of what follows, unless the caller did (a field that is
 * not zero stays). */
static void
set_type(struct ef_build *b, int i, uint8_t *field)
{
    int next = layer_after(b, i);
    if (next >= 0 && !ef_load_be16(field)) {
        ef_store_be16(field, ethertype_of(b->layers[next].kind));
    }
}

static void
set_ip_proto(struct ef_build *b, int i, uint8_t *field)
{
    int next = layer_after(b, i);
    uint8_t proto = next >= 0 ? ip_proto_of(b->layers[next].kind) : 0;
    if (proto) {
        *field = proto;
    }
}

uint32_t
ef_checksum_add(uint32_t sum, const void *data, uint32_t len)
{
    const uint8_t *p = data;
    for (; len > 1; p += 2, len -= 2) {
        sum += ef_load_be16(p);
    }
    return len ? sum + ((uint32_t) p[0] << 8) : sum;
}

uint16_t
ef_checksum_fold(uint32_t sum)
{
    while (sum >> 16) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return (uint16_t) ~sum;
}

/* The sum over the pseudo-header of the IP packet that layer `i` is in. */
static uint32_t
pseudo_header_sum(const struct ef_build *b, int i, uint8_t proto, uint32_t len)
{
    for (i--; i >= 0; i--) {
        const uint8_t *ip = b->buf + b->layers[i].offset;
        if (b->layers[i].kind == EF_PROTO_IPV4) {
            return ef_checksum_add(proto + len, ip + 12, 8);
        }
        if (b->layers[i].kind == EF_PROTO_IPV6) {
            return ef_checksum_add(proto + len, ip + 8, 32);
        }
    }
    return 0;
}

static void
set_l4_checksum(struct ef_build *b, int i, uint8_t *h, uint32_t field, uint32_t pseudo)
{
    ef_store_be16(h + field, 0);
    uint16_t sum = ef_checksum_fold(ef_checksum_add(pseudo, h, b->len - b->layers[i].offset));
    if (!sum && b->layers[i].kind == EF_PROTO_UDP) {
        sum = 0xffff; /* In UDP 0 says that there is none (RFC 768). */
    }
    ef_store_be16(h + field, sum);
}

static void
finish_ipv4(struct ef_build *b, int i, uint8_t *ip, uint32_t len)
{
    set_ip_proto(b, i, ip + 9);
    ef_store_be16(ip + 2, (uint16_t) len);
    ef_store_be16(ip + 10, 0);
    ef_store_be16(ip + 10, ef_checksum_fold(ef_checksum_add(0, ip, ef_ipv4_header_len(ip))));
}

/* Layer `i` with everything behind it is `len` bytes long. */
static void
finish_layer(struct ef_build *b, int i, uint8_t *h, uint32_t len)
{
    switch (b->layers[i].kind) {
    case EF_PROTO_ETH:
        set_type(b, i, h + 12);
        break;
    case EF_PROTO_VLAN:
    case EF_PROTO_GENEVE:
        set_type(b, i, h + 2);
        break;
    case EF_PROTO_IPV4:
        finish_ipv4(b, i, h, len);
        break;
    case EF_PROTO_IPV6:
        ef_store_be16(h + 4, (uint16_t) (len - EF_IPV6_LEN));
        set_ip_proto(b, i, h + 6);
        break;
    case EXTENSION:
        set_ip_proto(b, i, h);
        break;
    case EF_PROTO_TCP:
        set_l4_checksum(b, i, h, 16, pseudo_header_sum(b, i, EF_IPPROTO_TCP, len));
        break;
    case EF_PROTO_UDP:
        ef_store_be16(h + 4, (uint16_t) len);
        set_l4_checksum(b, i, h, 6, pseudo_header_sum(b, i, EF_IPPROTO_UDP, len));
        break;
    case EF_PROTO_ICMP:
        set_l4_checksum(b, i, h, 2, 0);
        break;
    case EF_PROTO_ICMPV6:
        set_l4_checksum(b, i, h, 2, pseudo_header_sum(b, i, EF_IPPROTO_ICMPV6, len));
        break;
    case EF_PROTO_GRE:
        set_type(b, i, h + 2);
        if (ef_gre_flags(h) & EF_GRE_C) {
            set_l4_checksum(b, i, h, 4, 0);
        }
        break;
    default:
        break;
    }
}

int
ef_build_finish(struct ef_build *b)
{
    if (b->error) {
        return b->error;
    }
    for (int i = b->n_layers - 1; i >= 0; i--) {
        finish_layer(b, i, b->buf + b->layers[i].offset, b->len - b->layers[i].offset);
    }
    return (int) b->len;
}
