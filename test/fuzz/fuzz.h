/* SPDX-License-Identifier: Apache-2.0 */
/* A fuzz target defines LLVMFuzzerTestOneInput() and returns 0 from it. It is
 * linked with libFuzzer (configure --enable-fuzzers) or with replay_main.c. */
#ifndef EF_TEST_FUZZ_FUZZ_H
#define EF_TEST_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
