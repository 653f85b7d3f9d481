/* SPDX-License-Identifier: Apache-2.0 */
/* For packet.c and its tests only: the parser without its fast path, against
 * which the fast path is compared. */
#ifndef EF_PACKET_PACKET_INTERNAL_H
#define EF_PACKET_PACKET_INTERNAL_H

#include "packet/packet.h"

/* As ef_packet_parse(), always by the general walk. */
enum ef_parse_status ef_packet_parse_general(struct ef_packet *p, const uint8_t *data, uint32_t len, uint32_t wire_len);

#endif
