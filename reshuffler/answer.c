/* SPDX-License-Identifier: Apache-2.0 */
/* Answers to ARP, ND and ping; see answer.h. */
#include <config.h>

#include "reshuffler/answer.h"

#include <net/if_arp.h>
#include <netinet/icmp6.h>
#include <netinet/if_ether.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/ip_icmp.h>
#include <string.h>

#include "base/byteorder.h"
#include "packet/build.h"

enum { ETH = 14, ARP = 28, IPV4 = 20, IPV6 = 40, ICMP = 8, NA = 32, TTL = 64, ND_HOP_LIMIT = 255 };

static bool
is_vip(const struct ef_plan *plan, const uint8_t address[16])
{
    for (unsigned i = 0; i < plan->n_vips; i++) {
        if (!memcmp(plan->vips[i], address, 16)) {
            return true;
        }
    }
    return false;
}

static bool
is_ipv4_vip(const struct ef_plan *plan, const uint8_t address[4])
{
    uint8_t mapped[16];
    ef_address_from_ipv4(mapped, address);
    return is_vip(plan, mapped);
}

/* One host that may be answered: not a group, not nobody, not ourselves. */
static bool
is_host_ipv4(const struct ef_plan *plan, const uint8_t a[4])
{
    return a[0] != 0 && a[0] != 127 && a[0] < 224 && !is_ipv4_vip(plan, a);
}

static bool
is_host_ipv6(const struct ef_plan *plan, const uint8_t a[16])
{
    static const uint8_t zeros[15];
    bool is_any_or_loopback = !memcmp(a, zeros, 15) && a[15] <= 1;
    return a[0] != 0xff && !is_any_or_loopback && !is_vip(plan, a);
}

static void
write_ethernet(uint8_t *out, const uint8_t to[6], const uint8_t mac[6], uint16_t type)
{
    memcpy(out, to, 6);
    memcpy(out + 6, mac, 6);
    ef_store_be16(out + 12, type);
}

/* --- ARP ----------------------------------------------------------------------- */

static uint32_t
answer_arp(const struct ef_plan *plan, const uint8_t mac[6], const uint8_t *frame, uint32_t len, uint8_t *out)
{
    static const uint8_t request[8] = {0, ARPHRD_ETHER, ETH_P_IP >> 8, ETH_P_IP & 0xff, 6, 4, 0, ARPOP_REQUEST};
    const uint8_t *arp = frame + ETH, *sender = arp + 8, *sender_ip = arp + 14, *target_ip = arp + 24;
    static const uint8_t nobody[4];
    if (len < ETH + ARP || memcmp(arp, request, sizeof request) || sender[0] & 1 || !is_ipv4_vip(plan, target_ip)) {
        return 0;
    }
    /* A probe for whether the address is in use has no sender (RFC 5227): it is. */
    if (memcmp(sender_ip, nobody, 4) && !is_host_ipv4(plan, sender_ip)) {
        return 0;
    }
    write_ethernet(out, sender, mac, ETH_P_ARP);
    memcpy(out + ETH, request, sizeof request);
    out[ETH + 7] = ARPOP_REPLY;
    memcpy(out + ETH + 8, mac, 6);
    memcpy(out + ETH + 14, target_ip, 4);
    memcpy(out + ETH + 18, sender, 6);
    memcpy(out + ETH + 24, sender_ip, 4);
    return ETH + ARP;
}

/* --- ICMP ---------------------------------------------------------------------- */

static uint32_t
answer_ping(const struct ef_plan *plan, const uint8_t mac[6], const uint8_t *frame, uint32_t len, uint8_t *out)
{
    const uint8_t *ip = frame + ETH, *icmp = ip + IPV4;
    if (len < ETH + IPV4 + ICMP || ip[0] != 0x45 || ip[9] != IPPROTO_ICMP ||
        ef_load_be16(ip + 6) & (IP_MF | IP_OFFMASK)) {
        return 0;
    }
    uint32_t total = ef_load_be16(ip + 2);
    if (total < IPV4 + ICMP || total > len - ETH || icmp[0] != ICMP_ECHO || icmp[1] || frame[6] & 1 ||
        !is_ipv4_vip(plan, ip + 16) || !is_host_ipv4(plan, ip + 12) || ef_checksum_fold(ef_checksum_add(0, ip, IPV4)) ||
        ef_checksum_fold(ef_checksum_add(0, icmp, total - IPV4))) {
        return 0;
    }
    write_ethernet(out, frame + 6, mac, ETH_P_IP);
    uint8_t *to = out + ETH;
    memcpy(to, ip, total);
    to[8] = TTL;
    memcpy(to + 12, ip + 16, 4);
    memcpy(to + 16, ip + 12, 4);
    to[IPV4] = ICMP_ECHOREPLY;
    memset(to + 10, 0, 2);
    memset(to + IPV4 + 2, 0, 2);
    ef_store_be16(to + 10, ef_checksum_fold(ef_checksum_add(0, to, IPV4)));
    ef_store_be16(to + IPV4 + 2, ef_checksum_fold(ef_checksum_add(0, to + IPV4, total - IPV4)));
    return ETH + total;
}

/* --- ICMPv6 -------------------------------------------------------------------- */

/* Over the pseudo-header and the message; 0 if the checksum in it is right. */
static uint16_t
icmp6_checksum(const uint8_t *ip, uint32_t payload)
{
    uint8_t rest[8] = {0, 0, (uint8_t) (payload >> 8), (uint8_t) payload, 0, 0, 0, IPPROTO_ICMPV6};
    return ef_checksum_fold(ef_checksum_add(ef_checksum_add(0, rest, sizeof rest), ip + 8, 32 + payload));
}

static void
write_ipv6(uint8_t *ip, const uint8_t from[16], const uint8_t to[16], uint32_t payload, uint8_t hop_limit)
{
    memset(ip, 0, IPV6);
    ip[0] = 0x60;
    ef_store_be16(ip + 4, (uint16_t) payload);
    ip[6] = IPPROTO_ICMPV6;
    ip[7] = hop_limit;
    memcpy(ip + 8, from, 16);
    memcpy(ip + 24, to, 16);
}

/* Options are 8 bytes each or a multiple; one of none is a trap (RFC 4861, 4.6). */
static bool
options_are_sound(const uint8_t *options, uint32_t len)
{
    while (len) {
        uint32_t n = len >= 8 ? options[1] * 8u : 0;
        if (!n || n > len) {
            return false;
        }
        options += n;
        len -= n;
    }
    return true;
}

static uint32_t
answer_solicitation(const struct ef_plan *plan, const uint8_t mac[6], const uint8_t *frame, uint32_t payload,
                    uint8_t *out)
{
    static const uint8_t any[16], all_nodes[16] = {0xff, 0x02, [15] = 1}, all_nodes_mac[6] = {0x33, 0x33, [5] = 1};
    const uint8_t *ip = frame + ETH, *icmp = ip + IPV6, *target = icmp + 8;
    bool is_probe = !memcmp(ip + 8, any, 16); /* Whether the address is in use: it is. */
    bool to_us = is_vip(plan, ip + 24) || (ip[24] == 0xff && ip[25] == 2 && !memcmp(ip + 37, target + 13, 3));
    if (payload < 24 || ip[7] != ND_HOP_LIMIT || !to_us || !is_vip(plan, target) ||
        (!is_probe && !is_host_ipv6(plan, ip + 8)) || !options_are_sound(icmp + 24, payload - 24)) {
        return 0;
    }
    write_ethernet(out, is_probe ? all_nodes_mac : frame + 6, mac, ETH_P_IPV6);
    write_ipv6(out + ETH, target, is_probe ? all_nodes : ip + 8, NA, ND_HOP_LIMIT);
    uint8_t *na = out + ETH + IPV6;
    memset(na, 0, NA);
    na[0] = ND_NEIGHBOR_ADVERT;
    na[4] = is_probe ? 0x20 : 0x60; /* Override; solicited. */
    memcpy(na + 8, target, 16);
    na[24] = ND_OPT_TARGET_LINKADDR;
    na[25] = 1;
    memcpy(na + 26, mac, 6);
    ef_store_be16(na + 2, icmp6_checksum(out + ETH, NA));
    return ETH + IPV6 + NA;
}

static uint32_t
answer_ping6(const struct ef_plan *plan, const uint8_t mac[6], const uint8_t *frame, uint32_t payload, uint8_t *out)
{
    const uint8_t *ip = frame + ETH;
    if (!is_vip(plan, ip + 24) || !is_host_ipv6(plan, ip + 8)) {
        return 0;
    }
    write_ethernet(out, frame + 6, mac, ETH_P_IPV6);
    write_ipv6(out + ETH, ip + 24, ip + 8, payload, TTL);
    uint8_t *icmp = out + ETH + IPV6;
    memcpy(icmp, ip + IPV6, payload);
    icmp[0] = ICMP6_ECHO_REPLY;
    memset(icmp + 2, 0, 2);
    ef_store_be16(icmp + 2, icmp6_checksum(out + ETH, payload));
    return ETH + IPV6 + payload;
}

static uint32_t
answer_ipv6(const struct ef_plan *plan, const uint8_t mac[6], const uint8_t *frame, uint32_t len, uint8_t *out,
            enum ef_answer_kind *kind)
{
    const uint8_t *ip = frame + ETH, *icmp = ip + IPV6;
    if (len < ETH + IPV6 + ICMP || ip[0] >> 4 != 6 || ip[6] != IPPROTO_ICMPV6) {
        return 0;
    }
    uint32_t payload = ef_load_be16(ip + 4);
    if (payload < ICMP || payload > len - ETH - IPV6 || icmp[1] || frame[6] & 1 || icmp6_checksum(ip, payload)) {
        return 0;
    }
    switch (icmp[0]) {
    case ND_NEIGHBOR_SOLICIT:
        *kind = EF_ANSWER_ND;
        return answer_solicitation(plan, mac, frame, payload, out);
    case ICMP6_ECHO_REQUEST:
        *kind = EF_ANSWER_PING;
        return answer_ping6(plan, mac, frame, payload, out);
    default:
        return 0;
    }
}

uint32_t
ef_answer_frame(const struct ef_plan *plan, const uint8_t mac[6], const uint8_t *frame, uint32_t len, uint8_t *out,
                enum ef_answer_kind *kind)
{
    if (len < ETH || len > EF_ANSWER_MAX_BYTES || (!(frame[0] & 1) && memcmp(frame, mac, 6))) {
        return 0;
    }
    switch (ef_load_be16(frame + 12)) {
    case ETH_P_ARP:
        *kind = EF_ANSWER_ARP;
        return answer_arp(plan, mac, frame, len, out);
    case ETH_P_IP:
        *kind = EF_ANSWER_PING;
        return answer_ping(plan, mac, frame, len, out);
    case ETH_P_IPV6:
        return answer_ipv6(plan, mac, frame, len, out, kind);
    default:
        return 0;
    }
}
