/* SPDX-License-Identifier: Apache-2.0 */
/* What a reshuffler answers to neighbors of a port that is its VIPs' own: ARP
 * requests (RFC 826), neighbor solicitations (RFC 4861) and pings (ICMP and
 * ICMPv6 echo requests) for a VIP, and nothing else.
 *
 *     uint32_t len = ef_answer_frame(plan, mac, frame, frame_len, out, &kind);
 *     if (len) send(out, len);
 *
 * The frames come from strangers: whatever is cut short, fragmented, damaged, has
 * IPv4 options or an address that nobody can be answered at, gets no answer. Who
 * asks is answered alone: an answer is never larger than the question (but for a
 * neighbor advertisement's fixed 86 bytes). No state: any thread may call. */
#ifndef RESHUFFLER_ANSWER_H
#define RESHUFFLER_ANSWER_H

#include "reshuffler/plan.h"

enum ef_answer_kind { EF_ANSWER_ARP, EF_ANSWER_ND, EF_ANSWER_PING, EF_N_ANSWER_KINDS };

enum { EF_ANSWER_MAX_BYTES = 9216 }; /* Larger frames get no answer. */

/* Writes the answer to an untagged Ethernet frame, received at the port with the
 * address `mac`, to `out` (EF_ANSWER_MAX_BYTES bytes). Returns its length with
 * `*kind`, or 0 if there is none. */
uint32_t ef_answer_frame(const struct ef_plan *plan, const uint8_t mac[6], const uint8_t *frame, uint32_t len,
                         uint8_t *out, enum ef_answer_kind *kind);

#endif
