/* SPDX-License-Identifier: Apache-2.0 */
/* The outer IP header of a copy: is it sound, and send it elsewhere. The
 * reshuffler is the copy's destination and originates it anew, so the hop limit
 * starts again (a copy that arrives with TTL 1 is delivered, not discarded);
 * the source, which names the switch, and everything else stays. No state: any
 * thread may call. */
#ifndef RESHUFFLER_OUTER_IP_H
#define RESHUFFLER_OUTER_IP_H

#include <stdint.h>

#include "base/drop_reason.h"

enum { EF_OUTER_IP_TTL = 64 };

/* Checks the IPv4 or IPv6 packet that starts at `ip`, of which `available` bytes
 * were captured. Returns EF_DROP_NONE with the packet's length in `*len` (without
 * the padding of a short Ethernet frame), EF_DROP_OUTER_TRUNCATED if it is not
 * all there or its lengths contradict each other, or EF_DROP_OUTER_CHECKSUM: a
 * damaged header must not be sent on with a checksum made right. */
enum ef_drop_reason ef_outer_ip_check(const uint8_t *ip, uint32_t available, uint32_t *len);

/* Gives the checked packet at `ip` the `destination`, an address of the same IP
 * version (IPv4 as ::ffff:a.b.c.d), and the hop limit EF_OUTER_IP_TTL. The IPv4
 * checksum is updated from what changed (RFC 1624, equation 3). */
void ef_outer_ip_redirect(uint8_t *ip, const uint8_t destination[16]);

#endif
