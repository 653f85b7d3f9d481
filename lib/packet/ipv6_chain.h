/* SPDX-License-Identifier: Apache-2.0 */
/* The chain of IPv6 extension headers between the fixed header and what the
 * packet carries (RFC 8200, section 4). ef_packet_parse() counts the chain to
 * the IPv6 layer's header_len; who needs more of it walks it again:
 *
 *     struct ef_ipv6_chain chain;
 *     ef_ipv6_chain_walk(&chain, ip, layer->header_len);
 *     if (chain.is_fragment) ... chain.fragment_id ...
 */
#ifndef EF_PACKET_IPV6_CHAIN_H
#define EF_PACKET_IPV6_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

/* More extension headers than this are not followed. */
enum { EF_MAX_IPV6_EXTENSIONS = 16 };

struct ef_ipv6_chain {
    uint32_t header_len;   /* With the fixed header; greater than `len` if the bytes end first. */
    uint8_t proto;         /* What follows the chain; of a fragment, what its fragment header names. */
    bool has_fragment;     /* There is a fragment header. */
    bool is_fragment;      /* ... and it says that the packet is not whole. */
    bool too_long;         /* More than EF_MAX_IPV6_EXTENSIONS. */
    uint16_t fragment;     /* Its offset and flag: EF_IPV6_OFFSET, EF_IPV6_MF. */
    uint32_t fragment_id;  /* Identification. */
    uint8_t fragment_next; /* What the fragment header names as next. */
};

/* Walks from the fixed header at `ip`, of which `len` bytes (at least 40) may
 * be read. Ends at a later fragment's fragment header. */
void ef_ipv6_chain_walk(struct ef_ipv6_chain *chain, const uint8_t *ip, uint32_t len);

#endif
