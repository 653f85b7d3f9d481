/* SPDX-License-Identifier: Apache-2.0 */
/* The inner loops of filters: which of 64 numbers lie in a range, for numbers
 * of 1, 2, 4 and 8 bytes, in the best form that this processor has. Pure. */
#ifndef EF_STORE_PREDICATE_KERNELS_H
#define EF_STORE_PREDICATE_KERNELS_H

#include <stdint.h>

/* For each of `n_blocks` times 64 numbers at `values` (any alignment): sets bit
 * i of bits[block] if (number & mask) - low <= span, modulo the number's size;
 * bits that are set already stay. */
typedef void ef_range_kernel(const uint8_t *values, uint32_t n_blocks, uint64_t mask, uint64_t low, uint64_t span,
                             uint64_t *bits);

struct ef_range_kernels {
    const char *name;             /* "avx512", "avx2", "portable" */
    ef_range_kernel *by_width[4]; /* 1, 2, 4, 8 bytes. */
};

/* The best ones. */
const struct ef_range_kernels *ef_range_kernels(void);

/* The `index`th that this processor can run, best first; NULL after the last:
 * for tests, which compare them. */
const struct ef_range_kernels *ef_range_kernels_at(unsigned index);

#endif
