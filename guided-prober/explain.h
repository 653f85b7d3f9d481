/* SPDX-License-Identifier: Apache-2.0 */
/* A probe for people: each header with each field, its bytes and what they mean.
 * What is printed is read from the bytes, not from what was asked for. */
#ifndef PROBER_EXPLAIN_H
#define PROBER_EXPLAIN_H

#include <stdint.h>
#include <stdio.h>

/* Prints the `len` bytes of `frame` from byte `start` on: a whole frame, or (with
 * EF_ETH_LEN) a packet behind an Ethernet header that is not sent. */
void prober_explain(const uint8_t *frame, uint32_t len, uint32_t start, FILE *out);

#endif
