/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a packet: parsed, identified, summarised. Captured whole, and as
 * the beginning of a longer packet. */
#include <config.h>

#include "fuzz/fuzz.h"
#include "unit/packet/check_frame.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_packet(data, (uint32_t) size, (uint32_t) size);
    check_packet(data, (uint32_t) size, (uint32_t) size + 1000);
    return 0;
}
