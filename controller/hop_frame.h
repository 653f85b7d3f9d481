/* SPDX-License-Identifier: Apache-2.0 */
/* The frame as a switch saw it: the original bytes of a trace with the source
 * MAC, TTL, DSCP and ECN of one hop put in, and the IPv4 header checksum made
 * right again. Pure; used by trace_export.c. */
#ifndef CONTROLLER_HOP_FRAME_H
#define CONTROLLER_HOP_FRAME_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* Decodes hexadecimal text into at most `size` bytes. Returns how many, or
 * -EINVAL if it is not whole hexadecimal bytes. */
int hop_frame_decode(const char *hex, uint8_t *bytes, size_t size);

/* Puts what `hop` says into `frame`, as far as it says it and the frame has it. */
void hop_frame_patch(uint8_t *frame, size_t len, const json_t *hop);

#endif
