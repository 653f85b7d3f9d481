/* SPDX-License-Identifier: Apache-2.0 */
/* For packet.c, copy.c and their tests only: the parsers without their fast
 * paths, against which the fast paths are compared. */
#ifndef EF_PACKET_PACKET_INTERNAL_H
#define EF_PACKET_PACKET_INTERNAL_H

#include "packet/copy.h"
#include "packet/packet.h"

/* As ef_packet_parse(), always by the general walk. */
enum ef_parse_status ef_packet_parse_general(struct ef_packet *p, const uint8_t *data, uint32_t len, uint32_t wire_len);

/* As ef_copy_parse(), always step by step. */
enum ef_drop_reason ef_copy_parse_general(struct ef_copy *copy, const uint8_t *frame, uint32_t len, uint32_t wire_len);

#endif
