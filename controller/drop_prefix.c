/* SPDX-License-Identifier: Apache-2.0 */
/* What addresses have in common; see drop_prefix.h. */
#include <config.h>

#include "controller/drop_prefix.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"

void
drop_prefix_note(struct drop_prefix_set *set, const char *address, bool is_dropped)
{
    uint8_t bytes[16] = {0};
    int family = strchr(address, ':') ? AF_INET6 : AF_INET;
    unsigned *n = is_dropped ? &set->n_dropped : &set->n_passed;
    if ((set->family && set->family != family) || *n == DROP_PREFIX_ADDRESSES ||
        inet_pton(family, address, bytes) != 1) {
        return;
    }
    set->family = family;
    memcpy(is_dropped ? set->dropped[*n] : set->passed[*n], bytes, sizeof bytes);
    ++*n;
}

/* So many bits, at most `most`, at the beginning of both are the same. */
static unsigned
common_bits(const uint8_t a[16], const uint8_t b[16], unsigned most)
{
    unsigned n = 0;
    while (n < most && !((a[n / 8] ^ b[n / 8]) & (0x80u >> n % 8))) {
        n++;
    }
    return n;
}

bool
drop_prefix_find(const struct drop_prefix_set *set, char text[DROP_PREFIX_TEXT])
{
    unsigned bits = set->family == AF_INET6 ? 128 : 32;
    uint8_t prefix[16] = {0};
    char address[INET6_ADDRSTRLEN];
    if (set->n_dropped < 2) {
        return false;
    }
    for (unsigned i = 1; i < set->n_dropped; i++) {
        bits = common_bits(set->dropped[0], set->dropped[i], bits);
    }
    for (unsigned i = 0; i < set->n_passed; i++) {
        if (common_bits(set->dropped[0], set->passed[i], bits) == bits) {
            return false;
        }
    }
    for (unsigned i = 0; i < bits; i++) {
        prefix[i / 8] |= set->dropped[0][i / 8] & (0x80u >> i % 8);
    }
    inet_ntop(set->family, prefix, address, sizeof address);
    snprintf(text, DROP_PREFIX_TEXT, "%s/%u", address, bits);
    return true;
}
