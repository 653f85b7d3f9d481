/* SPDX-License-Identifier: Apache-2.0 */
/* Packets of many protocols drawn at random, the same ones for the same seed:
 *
 *     struct crafter c = {.random = seed};
 *     int len = craft_packet(&c);      the packet is in c.frame
 *
 * Header fields take their values from small sets, so that tests by value find
 * some packets and not others. Every header is whole and tells the truth;
 * fragments and encapsulations (VXLAN, Geneve, GRE, ERSPAN, IP in IP, quoted
 * packets) are among them. One thread per crafter. */
#ifndef EF_TEST_TOOLS_CRAFT_H
#define EF_TEST_TOOLS_CRAFT_H

#include <stdbool.h>
#include <stdint.h>

#include "packet/build.h"

enum { CRAFT_MAX_FRAME = 2000 };

struct crafter {
    uint64_t random;
    struct ef_build b;
    uint8_t frame[CRAFT_MAX_FRAME];
    int nesting;   /* Encapsulations so far. */
    bool fragment; /* The packet being written is a first fragment. */
};

/* Returns the length of the next packet, in c->frame, or a negative errno. One
 * with more headers than our parser follows is passed over. */
int craft_packet(struct crafter *c);

/* The next number below `n`, from the same generator: SplitMix64 (Steele, Lea,
 * Flood: Fast splittable pseudorandom number generators, 2014). */
uint32_t craft_draw(struct crafter *c, uint32_t n);

#endif
