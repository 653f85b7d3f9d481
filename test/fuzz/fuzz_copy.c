/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a received copy, and what is found in it as a packet. */
#include <config.h>

#include "fuzz/fuzz.h"
#include "unit/packet/check_frame.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_frame(data, (uint32_t) size, (uint32_t) size);
    check_frame(data, (uint32_t) size, (uint32_t) size + 1000);
    return 0;
}
