/* SPDX-License-Identifier: Apache-2.0 */
/* Range tests on 64 numbers at a time; see predicate_kernels.h. */
#include <config.h>

#include "store/predicate_kernels.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/util.h"

/* --- Any processor ------------------------------------------------------------------ */

#define PORTABLE(TYPE)                                                                                                \
    static void portable_##TYPE(const uint8_t *values, uint32_t n_blocks, uint64_t mask, uint64_t low, uint64_t span, \
                                uint64_t *bits)                                                                       \
    {                                                                                                                 \
        for (uint32_t block = 0; block < n_blocks; block++) {                                                         \
            TYPE numbers[64];                                                                                         \
            uint64_t word = 0;                                                                                        \
            memcpy(numbers, values + (size_t) block * sizeof numbers, sizeof numbers);                                \
            for (unsigned i = 0; i < 64; i++) {                                                                       \
                word |= (uint64_t) ((TYPE) ((numbers[i] & (TYPE) mask) - (TYPE) low) <= (TYPE) span) << i;            \
            }                                                                                                         \
            bits[block] |= word;                                                                                      \
        }                                                                                                             \
    }

PORTABLE(uint8_t)
PORTABLE(uint16_t)
PORTABLE(uint32_t)
PORTABLE(uint64_t)

static const struct ef_range_kernels portable = {
    "portable", {portable_uint8_t, portable_uint16_t, portable_uint32_t, portable_uint64_t}};

#ifdef __x86_64__
#include <immintrin.h>

/* --- AVX-512: a comparison gives a mask of bits ------------------------------------- */

#define AVX512 __attribute__((target("avx512f,avx512bw")))

/* LANES numbers per vector, SUFFIX as in the names of the intrinsics. */
#define AVX512_KERNEL(LANES, BITS, TYPE)                                                                    \
    AVX512 static void avx512_##BITS(const uint8_t *values, uint32_t n_blocks, uint64_t mask, uint64_t low, \
                                     uint64_t span, uint64_t *bits)                                         \
    {                                                                                                       \
        __m512i masks = _mm512_set1_epi##BITS((TYPE) mask), lows = _mm512_set1_epi##BITS((TYPE) low);       \
        __m512i spans = _mm512_set1_epi##BITS((TYPE) span);                                                 \
        for (uint32_t block = 0; block < n_blocks; block++) {                                               \
            uint64_t word = 0;                                                                              \
            for (unsigned i = 0; i < 64; i += LANES, values += 64) {                                        \
                __m512i numbers = _mm512_and_si512(_mm512_loadu_si512(values), masks);                      \
                numbers = _mm512_sub_epi##BITS(numbers, lows);                                              \
                word |= (uint64_t) _mm512_cmple_epu##BITS##_mask(numbers, spans) << i;                      \
            }                                                                                               \
            bits[block] |= word;                                                                            \
        }                                                                                                   \
    }

AVX512_KERNEL(64, 8, char)
AVX512_KERNEL(32, 16, short)
AVX512_KERNEL(16, 32, int)
AVX512_KERNEL(8, 64, long long)

static const struct ef_range_kernels avx512 = {"avx512", {avx512_8, avx512_16, avx512_32, avx512_64}};

/* --- AVX2: a comparison gives lanes of ones, from which bits are gathered ------------ */

#define AVX2 __attribute__((target("avx2")))

AVX2 static inline __m256i
load(const uint8_t *p)
{
    return _mm256_loadu_si256((const __m256i *) (const void *) p);
}

/* x <= span, unsigned, where only a signed comparison exists. */
AVX2 static inline uint32_t
gather_8(__m256i x, __m256i span)
{
    return (uint32_t) _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(x, span), x));
}

AVX2 static inline __m256i
within_16(__m256i x, __m256i span)
{
    return _mm256_cmpeq_epi16(_mm256_min_epu16(x, span), x);
}

AVX2 static inline uint32_t
gather_32(__m256i x, __m256i span)
{
    return (uint32_t) _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_min_epu32(x, span), x)));
}

/* There is no minimum of 64 bits: with the top bits turned, signed is as good. */
AVX2 static inline uint32_t
gather_64(__m256i x, __m256i span)
{
    __m256i top = _mm256_set1_epi64x(INT64_MIN);
    __m256i beyond = _mm256_cmpgt_epi64(_mm256_xor_si256(x, top), _mm256_xor_si256(span, top));
    return ~(uint32_t) _mm256_movemask_pd(_mm256_castsi256_pd(beyond)) & 0xf;
}

#define AVX2_KERNEL(LANES, BITS, SUFFIX, TYPE)                                                                         \
    AVX2 static void avx2_##BITS(const uint8_t *values, uint32_t n_blocks, uint64_t mask, uint64_t low, uint64_t span, \
                                 uint64_t *bits)                                                                       \
    {                                                                                                                  \
        __m256i masks = _mm256_set1_##SUFFIX((TYPE) mask), lows = _mm256_set1_##SUFFIX((TYPE) low);                    \
        __m256i spans = _mm256_set1_##SUFFIX((TYPE) span);                                                             \
        for (uint32_t block = 0; block < n_blocks; block++) {                                                          \
            uint64_t word = 0;                                                                                         \
            for (unsigned i = 0; i < 64; i += LANES, values += 32) {                                                   \
                __m256i numbers = _mm256_sub_epi##BITS(_mm256_and_si256(load(values), masks), lows);                   \
                word |= (uint64_t) gather_##BITS(numbers, spans) << i;                                                 \
            }                                                                                                          \
            bits[block] |= word;                                                                                       \
        }                                                                                                              \
    }

AVX2_KERNEL(32, 8, epi8, char)
AVX2_KERNEL(8, 32, epi32, int)
AVX2_KERNEL(4, 64, epi64x, long long)

/* Two vectors of 16 lanes are packed to bytes, whose top bits are gathered. */
AVX2 static void
avx2_16(const uint8_t *values, uint32_t n_blocks, uint64_t mask, uint64_t low, uint64_t span, uint64_t *bits)
{
    __m256i masks = _mm256_set1_epi16((short) mask), lows = _mm256_set1_epi16((short) low);
    __m256i spans = _mm256_set1_epi16((short) span);
    for (uint32_t block = 0; block < n_blocks; block++) {
        uint64_t word = 0;
        for (unsigned i = 0; i < 64; i += 32, values += 64) {
            __m256i first = _mm256_sub_epi16(_mm256_and_si256(load(values), masks), lows);
            __m256i second = _mm256_sub_epi16(_mm256_and_si256(load(values + 32), masks), lows);
            __m256i packed = _mm256_packs_epi16(within_16(first, spans), within_16(second, spans));
            packed = _mm256_permute4x64_epi64(packed, 0xd8); /* Packing interleaves the halves. */
            word |= (uint64_t) (uint32_t) _mm256_movemask_epi8(packed) << i;
        }
        bits[block] |= word;
    }
}

static const struct ef_range_kernels avx2 = {"avx2", {avx2_8, avx2_16, avx2_32, avx2_64}};
#endif

/* --- Choosing ----------------------------------------------------------------------- */

const struct ef_range_kernels *
ef_range_kernels_at(unsigned index)
{
    const struct ef_range_kernels *all[4] = {NULL};
    unsigned n = 0;
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")) {
        all[n++] = &avx512;
    }
    if (__builtin_cpu_supports("avx2")) {
        all[n++] = &avx2;
    }
#endif
    all[n++] = &portable;
    return index < n ? all[index] : NULL;
}

const struct ef_range_kernels *
ef_range_kernels(void)
{
    return ef_range_kernels_at(0);
}
