/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of an emulated fabric: one IPv4 address per node, everything else
 * follows from it, so that a person who reads a packet knows where it is from.
 *
 *     switch   10.255.0.K (leaf K), 10.255.1.K (others)   its loopback
 *     leaf K   10.K.0.0/24, gateway 10.K.0.1              its hosts' subnet
 *     host     10.K.0.11, .12 ...; collectors .201, .202 ...
 *     MAC      02:ef: and the four bytes of the IPv4 address
 *     IPv6     fd00:: and the IPv4 address in the last four bytes
 *
 * Addresses are numbers in host byte order, because plans count with them; 0
 * means "not given". Nothing here allocates or fails except the parsers. */
#ifndef EF_FABRIC_ADDRESSING_H
#define EF_FABRIC_ADDRESSING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define EF_ADDRESS_TEXT_SIZE 20  /* "255.255.255.255/32" */
#define EF_ADDRESS6_TEXT_SIZE 48 /* "fd00::255.255.255.255/128", and longer */
#define EF_MAC_TEXT_SIZE 18      /* "02:ef:0a:01:00:0b" */

struct ef_mac {
    uint8_t bytes[6];
};

struct ef_prefix {
    uint32_t address; /* Its host bits are 0. */
    int len;          /* 0 to 32. */
};

/* Where the defaults lie. */
#define EF_LEAF_LOOPBACKS 0x0aff0000u  /* 10.255.0.0/24 */
#define EF_OTHER_LOOPBACKS 0x0aff0100u /* 10.255.1.0/24 */
#define EF_DEFAULT_VIP 0x0affff01u     /* 10.255.255.1 */
#define EF_FIRST_HOST 11               /* In a leaf's subnet. */
#define EF_FIRST_COLLECTOR 201
#define EF_CPU_GATEWAY 0xa9fe0001u /* 169.254.0.1: next hop of a switch's own packets */

/* The subnet of the hosts of the `k`th leaf (from 1). */
struct ef_prefix ef_leaf_subnet(int k);

static inline uint32_t
ef_prefix_mask(int len)
{
    return len ? UINT32_MAX << (32 - len) : 0;
}

static inline bool
ef_prefix_contains(struct ef_prefix prefix, uint32_t address)
{
    return (address & ef_prefix_mask(prefix.len)) == prefix.address;
}

/* The first address of a subnet: what its hosts use as gateway. */
static inline uint32_t
ef_prefix_gateway(struct ef_prefix prefix)
{
    return prefix.address + 1;
}

/* The MAC that goes with an address. */
struct ef_mac ef_mac_of(uint32_t address);

/* Text forms, written into the caller's buffer, which is returned. */
char *ef_address_format(uint32_t address, char text[EF_ADDRESS_TEXT_SIZE]);
char *ef_prefix_format(struct ef_prefix prefix, char text[EF_ADDRESS_TEXT_SIZE]);
char *ef_address6_format(uint32_t address, char text[EF_ADDRESS6_TEXT_SIZE]);
char *ef_prefix6_format(struct ef_prefix prefix, char text[EF_ADDRESS6_TEXT_SIZE]);
char *ef_mac_format(struct ef_mac mac, char text[EF_MAC_TEXT_SIZE]);

/* Parsers: 0, or -EINVAL with `err` ("'x' is not an IPv4 address"). */
int ef_address_parse(const char *text, uint32_t *address, struct ef_error *err);
int ef_prefix_parse(const char *text, struct ef_prefix *prefix, struct ef_error *err);
int ef_mac_parse(const char *text, struct ef_mac *mac, struct ef_error *err);

#endif
