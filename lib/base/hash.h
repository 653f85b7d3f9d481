/* SPDX-License-Identifier: Apache-2.0 */
/* The hash of the whole suite: XXH3 (https://xxhash.com), inlined so that keys
 * of constant size compile to a few multiplications. Reshuffler, analyzer and
 * their restarts must agree, so there is no per-process seed here. */
#ifndef EF_BASE_HASH_H
#define EF_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wundef"
#define XXH_INLINE_ALL
#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>
#pragma GCC diagnostic pop

static inline uint64_t
ef_hash64(const void *data, size_t len)
{
    return XXH3_64bits(data, len);
}

static inline uint64_t
ef_hash64_seed(const void *data, size_t len, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, len, seed);
}

/* A finaliser for integers that are already well spread (XXH3's avalanche). */
static inline uint64_t
ef_hash_mix(uint64_t x)
{
    x ^= x >> 37;
    x *= 0x165667919E3779F9ULL;
    return x ^ (x >> 32);
}

#endif
