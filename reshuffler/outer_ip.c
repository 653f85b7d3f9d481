/* SPDX-License-Identifier: Apache-2.0 */
/* Checks and redirects the outer IP header; see outer_ip.h. */
#include <config.h>

#include "reshuffler/outer_ip.h"

#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <string.h>

#include "base/byteorder.h"
#include "base/util.h"

/* One's complement sums do not depend on byte order (RFC 1071, section 2), so
 * the words are taken as the machine reads them. */
static uint16_t
fold(uint64_t sum)
{
    while (sum >> 16) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return (uint16_t) sum;
}

static uint16_t
sum_of(const uint8_t *data, uint32_t len)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < len; i += 4) {
        uint32_t word;
        memcpy(&word, data + i, sizeof word);
        sum += word;
    }
    return fold(sum);
}

static enum ef_drop_reason
check_ipv4(const uint8_t *ip, uint32_t available, uint32_t *len)
{
    if (available < sizeof(struct iphdr)) {
        return EF_DROP_OUTER_TRUNCATED;
    }
    uint32_t header = (ip[0] & 0xfu) * 4;
    *len = ef_load_be16(ip + offsetof(struct iphdr, tot_len));
    if (header < sizeof(struct iphdr) || *len < header || *len > available) {
        return EF_DROP_OUTER_TRUNCATED;
    }
    return sum_of(ip, header) == 0xffff ? EF_DROP_NONE : EF_DROP_OUTER_CHECKSUM;
}

enum ef_drop_reason
ef_outer_ip_check(const uint8_t *ip, uint32_t available, uint32_t *len)
{
    if (available && ip[0] >> 4 == 4) {
        return check_ipv4(ip, available, len);
    }
    if (available < sizeof(struct ip6_hdr) || ip[0] >> 4 != 6) {
        return EF_DROP_OUTER_TRUNCATED;
    }
    *len = (uint32_t) sizeof(struct ip6_hdr) + ef_load_be16(ip + offsetof(struct ip6_hdr, ip6_plen));
    return *len <= available ? EF_DROP_NONE : EF_DROP_OUTER_TRUNCATED;
}

/* Writes `n` bytes (even) at an even offset of the IPv4 header; returns what
 * that adds to the one's complement sum: ~m + m' for each word. */
static uint64_t
replace(uint8_t *at, const void *by, unsigned n)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < n; i += 2) {
        uint16_t was, is;
        memcpy(&was, at + i, sizeof was);
        memcpy(&is, (const uint8_t *) by + i, sizeof is);
        sum += (uint64_t) (uint16_t) ~was + is;
    }
    memcpy(at, by, n);
    return sum;
}

static void
redirect_ipv4(uint8_t *ip, const uint8_t destination[4])
{
    uint8_t *check = ip + offsetof(struct iphdr, check);
    uint8_t ttl_and_protocol[2] = {EF_OUTER_IP_TTL, ip[offsetof(struct iphdr, protocol)]};
    uint16_t was, is;
    memcpy(&was, check, sizeof was);
    uint64_t sum = (uint16_t) ~was;
    sum += replace(ip + offsetof(struct iphdr, ttl), ttl_and_protocol, sizeof ttl_and_protocol);
    sum += replace(ip + offsetof(struct iphdr, daddr), destination, 4);
    is = (uint16_t) ~fold(sum);
    memcpy(check, &is, sizeof is);
}

void
ef_outer_ip_redirect(uint8_t *ip, const uint8_t destination[16])
{
    if (ip[0] >> 4 == 4) {
        redirect_ipv4(ip, destination + 12);
    } else {
        ip[offsetof(struct ip6_hdr, ip6_hlim)] = EF_OUTER_IP_TTL;
        memcpy(ip + offsetof(struct ip6_hdr, ip6_dst), destination, 16);
    }
}
