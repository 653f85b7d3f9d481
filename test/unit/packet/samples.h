/* SPDX-License-Identifier: Apache-2.0 */
/* One packet of every shape that the parser knows, each under a name. */
#ifndef EF_TEST_UNIT_PACKET_SAMPLES_H
#define EF_TEST_UNIT_PACKET_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

#include "packet/build.h"

enum { SAMPLE_MAX = 2048 };

struct sample {
    const char *name;
    void (*make)(struct ef_build *b); /* Appends the packet's headers. */
};

extern const struct sample samples[];
extern const size_t n_samples;

/* Builds the sample of that name; returns its length, or negative if there is
 * none or it does not fit. */
int sample_build(const char *name, uint8_t *buf, uint32_t size);

#endif
