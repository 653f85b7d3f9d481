/* SPDX-License-Identifier: Apache-2.0 */
/* IPv6 extension headers. Called by packet.c on the way through a packet and
 * by identity.c for fragments. */
#include <config.h>

#include "packet/ipv6_chain.h"

#include <string.h>

#include "packet/headers.h"

static bool
is_extension(uint8_t proto)
{
    switch (proto) {
    case EF_IPPROTO_HOPOPTS:
    case EF_IPPROTO_ROUTING:
    case EF_IPPROTO_FRAGMENT:
    case EF_IPPROTO_AH:
    case EF_IPPROTO_DSTOPTS:
    case EF_IPPROTO_MOBILITY:
    case EF_IPPROTO_HIP:
    case EF_IPPROTO_SHIM6:
        return true;
    default:
        return false;
    }
}

/* Length of the extension header `ext` of type `proto`. */
static uint32_t
extension_len(uint8_t proto, const uint8_t *ext)
{
    switch (proto) {
    case EF_IPPROTO_FRAGMENT:
        return 8;
    case EF_IPPROTO_AH:
        return (ext[1] + 2u) * 4;
    default:
        return (ext[1] + 1u) * 8;
    }
}

static void
note_fragment(struct ef_ipv6_chain *chain, const uint8_t *ext)
{
    chain->has_fragment = true;
    chain->fragment = ef_load_be16(ext + 2);
    chain->fragment_id = ef_load_be32(ext + 4);
    chain->fragment_next = ext[0];
    chain->is_fragment = chain->fragment & (EF_IPV6_OFFSET | EF_IPV6_MF);
}

void
ef_ipv6_chain_walk(struct ef_ipv6_chain *chain, const uint8_t *ip, uint32_t len)
{
    *chain = (struct ef_ipv6_chain){.header_len = EF_IPV6_LEN, .proto = ef_ipv6_next_header(ip)};
    for (int n = 0; is_extension(chain->proto); n++) {
        if (n == EF_MAX_IPV6_EXTENSIONS) {
            chain->too_long = true;
            return;
        }
        if (len < chain->header_len + 8) {
            /* Each extension header has at least 8 bytes: so long it is at least. */
            chain->header_len += 8;
            return;
        }
        const uint8_t *ext = ip + chain->header_len;
        chain->header_len += extension_len(chain->proto, ext);
        bool later_fragment = false;
        if (chain->proto == EF_IPPROTO_FRAGMENT) {
            note_fragment(chain, ext);
            later_fragment = chain->fragment & EF_IPV6_OFFSET;
        }
        chain->proto = ext[0];
        if (later_fragment || chain->header_len > len) {
            return;
        }
    }
}
