/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold for any bytes: used by the mutation test and the fuzz targets. */
#ifndef EF_TEST_UNIT_PACKET_CHECK_FRAME_H
#define EF_TEST_UNIT_PACKET_CHECK_FRAME_H

#include <stdbool.h>
#include <stdint.h>

/* Puts the frame through the packet parser, with all that reads its result.
 * Aborts if the result contradicts itself. */
void check_packet(const uint8_t *data, uint32_t len, uint32_t wire_len);

/* Puts the frame through the copy parser, and what it finds in it, and the
 * frame itself, through check_packet(). Returns whether it is a copy. */
bool check_frame(const uint8_t *data, uint32_t len, uint32_t wire_len);

#endif
