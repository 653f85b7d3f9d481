/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of an emulated fabric; see addressing.h. */
#include <config.h>

#include "utilities/fabric/addressing.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/parse_number.h"

struct ef_prefix
ef_leaf_subnet(int k)
{
    return (struct ef_prefix){0x0a000000u | (uint32_t) k << 16, 24};
}

struct ef_mac
ef_mac_of(uint32_t address)
{
    return (struct ef_mac){{0x02, 0xef, (uint8_t) (address >> 24), (uint8_t) (address >> 16), (uint8_t) (address >> 8),
                            (uint8_t) address}};
}

char *
ef_address_format(uint32_t address, char text[EF_ADDRESS_TEXT_SIZE])
{
    struct in_addr in = {.s_addr = htonl(address)};
    inet_ntop(AF_INET, &in, text, EF_ADDRESS_TEXT_SIZE);
    return text;
}

char *
ef_prefix_format(struct ef_prefix prefix, char text[EF_ADDRESS_TEXT_SIZE])
{
    ef_address_format(prefix.address, text);
    size_t used = strlen(text);
    snprintf(text + used, EF_ADDRESS_TEXT_SIZE - used, "/%d", prefix.len);
    return text;
}

char *
ef_address6_format(uint32_t address, char text[EF_ADDRESS6_TEXT_SIZE])
{
    struct in6_addr in = {.s6_addr = {0xfd, [12] = (uint8_t) (address >> 24), (uint8_t) (address >> 16),
                                      (uint8_t) (address >> 8), (uint8_t) address}};
    inet_ntop(AF_INET6, &in, text, EF_ADDRESS6_TEXT_SIZE);
    return text;
}

char *
ef_prefix6_format(struct ef_prefix prefix, char text[EF_ADDRESS6_TEXT_SIZE])
{
    ef_address6_format(prefix.address, text);
    size_t used = strlen(text);
    snprintf(text + used, EF_ADDRESS6_TEXT_SIZE - used, "/%d", 96 + prefix.len);
    return text;
}

char *
ef_mac_format(struct ef_mac mac, char text[EF_MAC_TEXT_SIZE])
{
    const uint8_t *b = mac.bytes;
    snprintf(text, EF_MAC_TEXT_SIZE, "%02x:%02x:%02x:%02x:%02x:%02x", b[0], b[1], b[2], b[3], b[4], b[5]);
    return text;
}

int
ef_address_parse(const char *text, uint32_t *address, struct ef_error *err)
{
    struct in_addr in;
    if (inet_pton(AF_INET, text, &in) != 1 || !in.s_addr) {
        return ef_error_set(err, -EINVAL, "'%.60s' is not an IPv4 address such as 10.1.0.11", text);
    }
    *address = ntohl(in.s_addr);
    return 0;
}

int
ef_prefix_parse(const char *text, struct ef_prefix *prefix, struct ef_error *err)
{
    char address[EF_ADDRESS_TEXT_SIZE];
    const char *slash = strchr(text, '/');
    uint64_t len = 0;
    if (slash && (size_t) (slash - text) < sizeof address) {
        snprintf(address, sizeof address, "%.*s", (int) (slash - text), text);
        if (!ef_address_parse(address, &prefix->address, NULL) &&
            !ef_parse_u64(slash + 1, "length", 8, 30, &len, NULL)) {
            prefix->len = (int) len;
            if (prefix->address & ~ef_prefix_mask(prefix->len)) {
                return ef_error_set(err, -EINVAL, "'%.60s' has bits set after the first %d", text, prefix->len);
            }
            return 0;
        }
    }
    return ef_error_set(err, -EINVAL, "'%.60s' is not a subnet of length 8 to 30, such as 10.1.0.0/24", text);
}

int
ef_mac_parse(const char *text, struct ef_mac *mac, struct ef_error *err)
{
    uint8_t *b = mac->bytes;
    int end = 0;
    if (sscanf(text, "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx%n", b, b + 1, b + 2, b + 3, b + 4, b + 5, &end) != 6 ||
        text[end] || end != 17) {
        return ef_error_set(err, -EINVAL, "'%.60s' is not a MAC address such as 02:ef:0a:01:00:0b", text);
    }
    if (b[0] & 1) {
        return ef_error_set(err, -EINVAL, "%s is a multicast MAC address", text);
    }
    return 0;
}
