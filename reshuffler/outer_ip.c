/* SPDX-License-Identifier: Apache-2.0 */
/* Checks and redirects the outer IP header; see outer_ip.h. */
#include <config.h>

#include "reshuffler/outer_ip.h"

#include <arpa/inet.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <string.h>

#include "base/byteorder.h"
#include "base/util.h"

/* One's complement sums do not depend on byte order (RFC 1071, section 2), so
 * the words are taken as the machine reads them. */
static EF_ALWAYS_INLINE uint16_t
fold(uint64_t sum)
{
    sum = (sum & 0xffffffff) + (sum >> 32);
    for (int i = 0; i < 3; i++) { /* Each time fewer bits carry; no branch depends on the bytes. */
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return (uint16_t) sum;
}

static EF_ALWAYS_INLINE uint16_t
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

/* Of a header without options, in as few words as it has. */
static EF_ALWAYS_INLINE uint16_t
sum_of_plain(const uint8_t *ip)
{
    uint64_t first, second;
    uint32_t third;
    memcpy(&first, ip, sizeof first);
    memcpy(&second, ip + 8, sizeof second);
    memcpy(&third, ip + 16, sizeof third);
    return fold((first & 0xffffffff) + (first >> 32) + (second & 0xffffffff) + (second >> 32) + third);
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
    uint16_t sum = EF_LIKELY(header == sizeof(struct iphdr)) ? sum_of_plain(ip) : sum_of(ip, header);
    return sum == 0xffff ? EF_DROP_NONE : EF_DROP_OUTER_CHECKSUM;
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

/* Destination, TTL and checksum: HC' = ~(~HC + ~m + m') over the words that
 * change, which may be wider than 16 bits and are folded in the end. */
static void
redirect_ipv4(uint8_t *ip, const uint8_t destination[4])
{
    uint8_t *ttl = ip + offsetof(struct iphdr, ttl), *check = ip + offsetof(struct iphdr, check),
            *to = ip + offsetof(struct iphdr, daddr);
    uint16_t old_check, old_ttl,
        new_ttl = htons((uint16_t) (EF_OUTER_IP_TTL << 8 | ip[offsetof(struct iphdr, protocol)]));
    uint32_t old_to, new_to;
    memcpy(&old_check, check, sizeof old_check);
    memcpy(&old_ttl, ttl, sizeof old_ttl);
    memcpy(&old_to, to, sizeof old_to);
    memcpy(&new_to, destination, sizeof new_to);
    uint64_t sum = (uint64_t) (uint16_t) ~old_check + (uint16_t) ~old_ttl + new_ttl + (uint32_t) ~old_to + new_to;
    uint16_t new_check = (uint16_t) ~fold(sum);
    memcpy(ttl, &new_ttl, sizeof new_ttl);
    memcpy(check, &new_check, sizeof new_check);
    memcpy(to, &new_to, sizeof new_to);
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
