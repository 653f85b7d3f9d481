/* SPDX-License-Identifier: Apache-2.0 */
/* Probes' bytes; see craft.h. */
#include <config.h>

#include "guided-prober/craft.h"

#include <errno.h>
#include <string.h>

#include "packet/build.h"
#include "packet/probe_signature.h"

enum { TTL_STEP = 16, MAX_TTL = 255 };

/* --- The packet, once ----------------------------------------------------- */

/* Each packet around another has a TTL that is still greater where it is taken
 * away, so that the TTLs tell the order of the switches. */
static uint8_t
outer_ttl(const struct prober_format *f, unsigned i)
{
    unsigned ttl = f->via_ttl && !i ? f->via_ttl : f->ttl + TTL_STEP * (f->n_via - i);
    return (uint8_t) EF_MIN(ttl, (unsigned) MAX_TTL);
}

static uint8_t *
add_ip(struct ef_build *b, const uint8_t src[16], const uint8_t dst[16], uint8_t ttl)
{
    uint8_t *ip = ef_build_ip(b, src, dst);
    ip[ef_address_is_ipv4(src) ? 8 : 7] = ttl;
    return ip;
}

/* DSCP with the debug bit, and ECN. */
static uint8_t
tos_of(const struct prober_format *f)
{
    uint8_t debug = f->debug ? (uint8_t) (1u << (f->debug_dscp + 2)) : 0;
    return (uint8_t) (f->dscp << 2 | f->ecn | debug);
}

static void
set_tos(uint8_t *ip, uint8_t tos)
{
    if (ef_ip_version(ip) == 4) {
        ip[1] = tos;
    } else {
        ip[0] = (uint8_t) (0x60 | tos >> 4);
        ip[1] = (uint8_t) (tos << 4 | (ip[1] & 15));
    }
}

static void
add_ethernet(struct ef_build *b, const struct prober_format *f)
{
    uint8_t *eth = ef_build_eth(b);
    memcpy(eth, f->eth_dst, 6);
    memcpy(eth + 6, f->eth_src, 6);
    for (unsigned i = 0; i < f->n_vlans; i++) {
        ef_build_vlan(b, (uint16_t) (f->vlans[i] >> 16), (uint16_t) f->vlans[i]);
    }
}

/* What leads the probe: outermost first, in the same class of service, so that it
 * waits in the same queues. */
static void
add_way(struct ef_build *b, const struct prober_format *f)
{
    if (f->n_via || !f->has_eth) {
        memset(ef_build_eth(b), 0, 12);
    }
    for (unsigned i = 0; i < f->n_via; i++) {
        uint8_t *ip = add_ip(b, f->via_src, f->via[i], outer_ttl(f, i));
        set_tos(ip, tos_of(f) & (uint8_t) ~3);
        if (f->wrap == PROBER_WRAP_GRE) {
            ef_build_gre(b, 0, 0, 0);
        }
    }
    if (f->has_eth) {
        add_ethernet(b, f);
    }
}

static void
add_innermost_ip(struct ef_build *b, const struct prober_format *f)
{
    uint8_t *ip = add_ip(b, f->src, f->dst, f->ttl);
    if (f->ipv6) {
        ef_store_be32(ip, 6u << 28 | f->flow_label);
        set_tos(ip, tos_of(f));
        ip[6] = f->proto;
        return;
    }
    set_tos(ip, tos_of(f));
    ip[9] = f->proto;
    ef_store_be16(ip + 4, f->ip_id);
    ef_store_be16(ip + 6, f->fragment);
    if (f->ip_options.len) {
        ef_build_options(b, f->ip_options.data, f->ip_options.len);
    }
}

static void
add_tcp(struct ef_build *b, const struct prober_format *f)
{
    uint8_t *tcp = ef_build_tcp(b, f->src_port, f->dst_port, f->tcp_flags);
    ef_store_be32(tcp + 4, f->tcp_seq);
    ef_store_be32(tcp + 8, f->tcp_ack);
    ef_store_be16(tcp + 14, f->tcp_window);
    ef_store_be16(tcp + 18, f->tcp_urgent);
    if (f->tcp_options.len) {
        ef_build_options(b, f->tcp_options.data, f->tcp_options.len);
    }
}

static void
add_icmp(struct ef_build *b, const struct prober_format *f)
{
    uint32_t rest = (uint32_t) f->icmp_id << 16 | f->icmp_seq;
    if (f->ipv6) {
        ef_build_icmpv6(b, f->has_icmp_type ? f->icmp_type : 128, f->icmp_code, rest);
    } else {
        ef_build_icmp(b, f->has_icmp_type ? f->icmp_type : 8, f->icmp_code, rest);
    }
}

static bool
is_icmp(const struct prober_format *f)
{
    return f->proto == EF_IPPROTO_ICMP || (f->ipv6 && f->proto == EF_IPPROTO_ICMPV6);
}

static bool
has_transport(const struct prober_format *f)
{
    return f->proto == EF_IPPROTO_TCP || f->proto == EF_IPPROTO_UDP || is_icmp(f);
}

static void
add_transport(struct ef_build *b, const struct prober_format *f)
{
    if (f->proto == EF_IPPROTO_TCP) {
        add_tcp(b, f);
    } else if (f->proto == EF_IPPROTO_UDP) {
        ef_build_udp(b, f->src_port, f->dst_port);
    } else if (is_icmp(f)) {
        add_icmp(b, f);
    }
}

/* The signature, with nothing yet in what changes; the bytes given; zeros up to
 * the length asked for. */
static int
add_payload(struct ef_build *b, const struct prober_format *f, uint32_t ip, uint64_t probe_id, struct ef_error *err)
{
    uint8_t signature[EF_PROBE_SIGNATURE_LEN];
    struct ef_probe_signature blank = {.probe_id = probe_id};
    if (f->signature) {
        ef_probe_signature_write(&blank, signature);
        ef_build_payload(b, signature, sizeof signature);
    }
    ef_build_payload(b, f->payload.data, f->payload.len);
    uint32_t len = b->len - ip;
    if (f->length && f->length < len) {
        return ef_error_set(err, -EINVAL, "length: %u bytes have no room for the headers%s, which need %u", f->length,
                            f->signature ? " and the signature" : "", len);
    }
    ef_build_payload(b, NULL, f->length ? f->length - len : 0);
    return 0;
}

/* Offsets of the innermost headers, from the builder's list of layers. */
struct places {
    unsigned ip, l4;
};

static int
build(struct prober_craft *c, const struct prober_format *f, uint64_t probe_id, struct places *at, struct ef_error *err)
{
    struct ef_build b;
    ef_build_start(&b, c->bytes, sizeof c->bytes);
    add_way(&b, f);
    at->ip = b.len;
    add_innermost_ip(&b, f);
    at->l4 = b.len;
    add_transport(&b, f);
    c->signature = f->signature ? b.len : 0;
    int rc = add_payload(&b, f, at->ip, probe_id, err);
    if (rc) {
        return rc;
    }
    int len = ef_build_finish(&b);
    if (len < 0) {
        return ef_error_set(err, -EINVAL, "the packet with all that is around it is longer than %d bytes",
                            PROBER_MAX_FRAME);
    }
    c->len = (uint32_t) len;
    return 0;
}

/* --- What changes --------------------------------------------------------- */

/* IPv4 ids go round from 1 to 65535: for 0 the kernel would choose one. */
static uint16_t
id_of(const struct prober_craft *c, uint64_t sequence)
{
    return (uint16_t) (1 + (c->first_id + sequence % UINT16_MAX) % UINT16_MAX);
}

static void
plan_id(struct prober_craft *c, const struct prober_format *f, uint64_t probe_id)
{
    uint32_t given = f->ip_id ? f->ip_id : (uint32_t) (1 + probe_id % UINT16_MAX);
    if (f->ipv6) {
        return;
    }
    if (f->same) {
        ef_store_be16(c->bytes + c->ip + 4, (uint16_t) given);
        return;
    }
    c->id = c->ip + 4;
    c->first_id = given - 1;
}

static void
plan_counter(struct prober_craft *c, const struct prober_format *f)
{
    static const uint8_t echoes[] = {0, 8, 128, 129};
    if (f->same || !c->l4) {
        return;
    }
    if (f->proto == EF_IPPROTO_TCP) {
        c->counter = c->l4 + 4;
        c->counter_is_32 = true;
        c->first_counter = f->tcp_seq;
    } else if (is_icmp(f) && memchr(echoes, c->bytes[c->l4], sizeof echoes)) {
        c->counter = c->l4 + 6;
        c->first_counter = f->icmp_seq;
    }
}

static void
plan_checksum(struct prober_craft *c, const struct prober_format *f)
{
    if (!c->l4) {
        return;
    }
    c->udp = f->proto == EF_IPPROTO_UDP;
    c->checksum = c->l4 + (f->proto == EF_IPPROTO_TCP ? 16 : c->udp ? 6 : 2);
    c->checksum_mode = f->checksum;
    c->checksum_value = f->checksum_value;
}

/* Puts zeros where probes differ and sums up the rest. */
static void
sum_up(struct prober_craft *c)
{
    if (c->id) {
        memset(c->bytes + c->id, 0, 2);
    }
    if (c->ipv4) {
        memset(c->bytes + c->ip + 10, 0, 2);
        c->ip_sum = ef_checksum_add(0, c->bytes + c->ip, ef_ipv4_header_len(c->bytes + c->ip));
    }
    if (!c->checksum) {
        return;
    }
    const uint8_t *ip = c->bytes + c->ip;
    uint32_t len = c->len - c->l4, sum = 0;
    memset(c->bytes + c->checksum, 0, 2);
    if (c->counter) {
        memset(c->bytes + c->counter, 0, c->counter_is_32 ? 4 : 2);
    }
    if (ip[0] >> 4 == 6) {
        sum = ef_checksum_add(ip[6] + len, ip + 8, 32);
    } else if (ip[9] != EF_IPPROTO_ICMP) {
        sum = ef_checksum_add(ip[9] + len, ip + 12, 8);
    }
    c->l4_sum = ef_checksum_add(sum, c->bytes + c->l4, len);
}

int
prober_craft_init(struct prober_craft *c, const struct prober_format *f, uint64_t probe_id, struct ef_error *err)
{
    struct places at;
    memset(c, 0, offsetof(struct prober_craft, overwrites));
    int rc = build(c, f, probe_id, &at, err);
    if (rc) {
        return rc;
    }
    c->ip = at.ip;
    c->l4 = has_transport(f) ? at.l4 : 0;
    c->ipv4 = !f->ipv6;
    c->start = f->has_eth && !f->n_via ? 0 : EF_ETH_LEN;
    plan_id(c, f, probe_id);
    plan_counter(c, f);
    plan_checksum(c, f);
    c->n_overwrites = f->n_overwrites;
    memcpy(c->overwrites, f->overwrites, sizeof c->overwrites);
    for (unsigned i = 0; i < c->n_overwrites; i++) {
        if (c->ip + c->overwrites[i].offset + c->overwrites[i].len > c->len) {
            return ef_error_set(err, -EINVAL, "overwrite: byte %u is beyond the packet's %u", c->overwrites[i].offset,
                                c->len - c->ip);
        }
    }
    sum_up(c);
    return 0;
}

/* --- One probe ------------------------------------------------------------ */

static uint32_t
sum_of_64(uint64_t x)
{
    return (uint32_t) ((x >> 48) + (x >> 32 & 0xffff) + (x >> 16 & 0xffff) + (x & 0xffff));
}

/* Equal as checksums: 0 and 0xffff are one number. */
static bool
is_right(uint16_t sum, uint16_t right)
{
    return sum == right || (sum == 0 && right == 0xffff) || (sum == 0xffff && right == 0);
}

/* UDP's goes another round than the IPv4 id, so that the two together do not
 * repeat soon. */
static uint16_t
wrong_udp_checksum(uint64_t sequence)
{
    return (uint16_t) (1 + (sequence + sequence / UINT16_MAX) % UINT16_MAX);
}

/* A checksum that is not `right`, nor 0. */
static uint16_t
wrong_checksum(const struct prober_craft *c, uint16_t right, uint64_t sequence)
{
    uint16_t wrong = c->udp ? wrong_udp_checksum(sequence) : right ^ 0x5555;
    if (!wrong || is_right(wrong, right)) {
        wrong ^= 0xaaaa;
    }
    return wrong ? wrong : 0x1234;
}

static uint16_t
checksum_of(const struct prober_craft *c, uint32_t sum, uint64_t sequence)
{
    uint16_t right = ef_checksum_fold(sum);
    switch (c->checksum_mode) {
    case PROBER_CHECKSUM_RIGHT:
        return !right && c->udp ? 0xffff : right;
    case PROBER_CHECKSUM_GIVEN:
        return c->checksum_value;
    default:
        return wrong_checksum(c, right, sequence);
    }
}

/* Where UDP's next checksum would be the right one, a nanosecond makes another
 * right: the checksum itself must not change, or it would be another probe's. */
static struct ef_time
time_that_keeps_it_wrong(const struct prober_craft *c, uint32_t l4_sum, uint64_t sequence, struct ef_time sent)
{
    if (!c->udp || c->checksum_mode != PROBER_CHECKSUM_WRONG) {
        return sent;
    }
    uint16_t right = ef_checksum_fold(l4_sum + sum_of_64(sequence) + sum_of_64((uint64_t) sent.ns));
    return is_right(wrong_udp_checksum(sequence), right) ? ef_time_add_ns(sent, 1) : sent;
}

void
prober_craft_write(const struct prober_craft *c, uint64_t sequence, struct ef_time sent, uint8_t *out)
{
    uint32_t ip_sum = c->ip_sum, l4_sum = c->l4_sum;
    memcpy(out, c->bytes, c->len);
    if (c->id) {
        uint16_t id = id_of(c, sequence);
        ef_store_be16(out + c->id, id);
        ip_sum += id;
    }
    if (c->ipv4) {
        ef_store_be16(out + c->ip + 10, ef_checksum_fold(ip_sum));
    }
    if (c->counter) {
        uint32_t n = c->first_counter + (uint32_t) sequence;
        if (c->counter_is_32) {
            ef_store_be32(out + c->counter, n);
        } else {
            n &= 0xffff;
            ef_store_be16(out + c->counter, (uint16_t) n);
        }
        l4_sum += (n >> 16) + (n & 0xffff);
    }
    if (c->signature) {
        sent = time_that_keeps_it_wrong(c, l4_sum, sequence, sent);
        ef_store_be64(out + c->signature + EF_PROBE_SIGNATURE_SEQUENCE, sequence);
        ef_store_be64(out + c->signature + EF_PROBE_SIGNATURE_SENT, (uint64_t) sent.ns);
        l4_sum += sum_of_64(sequence) + sum_of_64((uint64_t) sent.ns);
    }
    if (c->checksum) {
        ef_store_be16(out + c->checksum, checksum_of(c, l4_sum, sequence));
    }
    for (unsigned i = 0; i < c->n_overwrites; i++) {
        memcpy(out + c->ip + c->overwrites[i].offset, c->overwrites[i].bytes, c->overwrites[i].len);
    }
}
