/* SPDX-License-Identifier: Apache-2.0 */
/* The encodings of Parquet's pages that we write and read
 * (https://github.com/apache/parquet-format/blob/master/Encodings.md): PLAIN,
 * the RLE/bit-packing hybrid of levels and dictionary indexes, and
 * DELTA_BINARY_PACKED. Every reader has had them for years.
 *
 * Decoders take bytes that nobody vouches for: they never read behind `end`,
 * write exactly what they are asked for, and return false if it is not there. */
#ifndef EF_STORE_ARCHIVE_ENCODING_H
#define EF_STORE_ARCHIVE_ENCODING_H

#include <stdbool.h>

#include "store/archive/column_data.h"

/* How many bits the greatest number, `max`, needs. */
static inline unsigned
ef_bit_width(uint64_t max)
{
    return max ? 64 - (unsigned) __builtin_clzll(max) : 0;
}

/* --- RLE/bit-packing hybrid: `n` numbers of `width` bits, at most 32 ------------ */

void ef_rle_encode(const uint32_t *values, uint32_t n, unsigned width, struct ef_buffer *out);
bool ef_rle_decode(const uint8_t *at, const uint8_t *end, unsigned width, uint32_t n, uint32_t *values);

/* --- DELTA_BINARY_PACKED: numbers of 32 or 64 bits ------------------------------ */

void ef_delta_encode(const uint64_t *values, uint32_t n, bool is_32_bit, struct ef_buffer *out);
bool ef_delta_decode(const uint8_t *at, const uint8_t *end, uint32_t n, bool is_32_bit, uint64_t *values);

/* --- PLAIN: the values from number `first` on ------------------------------------ */

/* True for the types that Parquet keeps in 32 bits. */
static inline bool
ef_row_type_is_32_bit(enum ef_row_type type)
{
    return type <= EF_ROW_U32;
}

void ef_plain_encode(const struct ef_column_data *data, uint32_t first, uint32_t n, struct ef_buffer *out);

/* Appends `n` values to `data`, which has room for them. Values of variable
 * length point into the page. */
bool ef_plain_decode(const uint8_t *at, const uint8_t *end, uint32_t n, struct ef_column_data *data);

#endif
