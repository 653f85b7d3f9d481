/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of all kinds, right and malformed, that carry a number in their last 8
 * bytes, behind the end of the packet in them: whatever a switch does with the
 * headers, the frame and its copies can be told from all others. */
#ifndef EF_TEST_TOOLS_NUMBERED_FRAME_H
#define EF_TEST_TOOLS_NUMBERED_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/craft.h"

enum { NUMBERED_MAX_FRAME = CRAFT_MAX_FRAME + 8 };

/* The next frame of `c` and `number`, in `frame`; returns its length. One in ten
 * is malformed: cut off, or with a few bytes changed. */
uint32_t numbered_frame_make(struct crafter *c, uint32_t number, uint8_t frame[NUMBERED_MAX_FRAME]);

/* A frame that is of no protocol. */
uint32_t numbered_marker_make(uint32_t number, uint8_t frame[NUMBERED_MAX_FRAME]);

enum numbered_kind { NUMBERED_FOREIGN, NUMBERED_FRAME, NUMBERED_MARKER };

/* Whether `frame` is one of ours, and its number. */
enum numbered_kind numbered_frame_of(const uint8_t *frame, uint32_t len, uint32_t *number);

/* A hash of what a router leaves alone: all but the Ethernet addresses, the
 * outermost IP header's TTL and checksum, and the outermost tag's DEI bit, which
 * Open vSwitch clears in what it reads from a packet socket. */
uint64_t numbered_frame_invariant(const uint8_t *frame, uint32_t len);

#endif
