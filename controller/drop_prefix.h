/* SPDX-License-Identifier: Apache-2.0 */
/* The prefix of the addresses whose packets are dropped, where some of those that
 * were tried are and some are not: the longest that has all of the former, if it has none
 * of the latter.
 *
 *     drop_prefix_note(&set, "10.2.0.11", true);
 *     drop_prefix_note(&set, "10.3.0.11", true);
 *     drop_prefix_note(&set, "10.1.0.11", false);
 *     if (drop_prefix_find(&set, text))               // "10.2.0.0/15"
 *
 * IPv4 or IPv6, as the first address is. A zeroed value is an empty one. */
#ifndef CONTROLLER_DROP_PREFIX_H
#define CONTROLLER_DROP_PREFIX_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

enum { DROP_PREFIX_ADDRESSES = 8, DROP_PREFIX_TEXT = INET6_ADDRSTRLEN + 12 };

struct drop_prefix_set {
    int family; /* AF_INET, AF_INET6; 0: none was noted. */
    uint8_t dropped[DROP_PREFIX_ADDRESSES][16], passed[DROP_PREFIX_ADDRESSES][16];
    unsigned n_dropped, n_passed;
};

/* More than there is room for, or of the other version, are left out. */
void drop_prefix_note(struct drop_prefix_set *set, const char *address, bool is_dropped);

/* False: less than two are dropped, or no prefix has all of those and nothing else. */
bool drop_prefix_find(const struct drop_prefix_set *set, char text[DROP_PREFIX_TEXT]);

#endif
