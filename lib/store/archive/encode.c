/* SPDX-License-Identifier: Apache-2.0 */
/* Writing Parquet's encodings; see encoding.h. */
#include <config.h>

#include "base/util.h"
#include "store/archive/encoding.h"
#include "store/archive/thrift.h"

/* Appends `n` numbers of `width` bits, least significant bit first, filled up
 * with zeros to `n_padded`, a multiple of 8. */
static void
pack_bits(const uint64_t *values, uint32_t n, uint32_t n_padded, unsigned width, struct ef_buffer *out)
{
    uint8_t *at = ef_buffer_grow(out, (size_t) n_padded / 8 * width);
    unsigned __int128 pending = 0;
    unsigned n_bits = 0;
    for (uint32_t i = 0; i < n_padded; i++) {
        pending |= (unsigned __int128) (i < n ? values[i] : 0) << n_bits;
        for (n_bits += width; n_bits >= 8; n_bits -= 8) {
            *at++ = (uint8_t) pending;
            pending >>= 8;
        }
    }
}

/* --- RLE --------------------------------------------------------------------- */

enum { MIN_RUN = 8 };

static uint32_t
run_length(const uint32_t *values, uint32_t n)
{
    uint32_t run = 1;
    while (run < n && values[run] == values[0]) {
        run++;
    }
    return run;
}

static void
add_run(uint32_t value, uint32_t run, unsigned width, struct ef_buffer *out)
{
    ef_varint_add(out, (uint64_t) run << 1);
    for (unsigned i = 0; i < (width + 7) / 8; i++) {
        ef_buffer_add_byte(out, (uint8_t) (value >> 8 * i));
    }
}

static void
add_packed(const uint32_t *values, uint32_t n, unsigned width, struct ef_buffer *out)
{
    uint32_t n_groups = (n + 7) / 8;
    ef_varint_add(out, (uint64_t) n_groups << 1 | 1);
    for (uint32_t i = 0; i < n; i += 8) {
        uint64_t group[8];
        uint32_t k = EF_MIN(n - i, 8u);
        for (uint32_t j = 0; j < k; j++) {
            group[j] = values[i + j];
        }
        pack_bits(group, k, 8, width, out);
    }
}

void
ef_rle_encode(const uint32_t *values, uint32_t n, unsigned width, struct ef_buffer *out)
{
    for (uint32_t i = 0; i < n;) {
        uint32_t run = run_length(values + i, n - i);
        if (run >= MIN_RUN) {
            add_run(values[i], run, width, out);
            i += run;
            continue;
        }
        /* Whole groups of 8, until a run begins where a group would. */
        uint32_t start = i;
        do {
            i = n - i > 8 ? i + 8 : n;
        } while (i < n && run_length(values + i, EF_MIN(n - i, (uint32_t) MIN_RUN)) < MIN_RUN);
        add_packed(values + start, i - start, width, out);
    }
}

/* --- DELTA_BINARY_PACKED ------------------------------------------------------- */

enum { BLOCK = 128, MINIBLOCKS = 4, MINIBLOCK = BLOCK / MINIBLOCKS };

/* Sign-extends a number of 32 bits. */
static int64_t
as_signed(uint64_t value, bool is_32_bit)
{
    return is_32_bit ? (int32_t) value : (int64_t) value;
}

static void
add_block(const uint64_t *deltas, uint32_t n, bool is_32_bit, struct ef_buffer *out)
{
    uint64_t mask = is_32_bit ? UINT32_MAX : UINT64_MAX, above[BLOCK];
    int64_t min = as_signed(deltas[0], is_32_bit);
    for (uint32_t i = 1; i < n; i++) {
        min = EF_MIN(min, as_signed(deltas[i], is_32_bit));
    }
    for (uint32_t i = 0; i < n; i++) {
        above[i] = (deltas[i] - (uint64_t) min) & mask;
    }
    ef_varint_add(out, ef_zigzag(min));
    size_t widths = out->len;
    memset(ef_buffer_grow(out, MINIBLOCKS), 0, MINIBLOCKS);
    for (uint32_t i = 0; i < n; i += MINIBLOCK) {
        uint32_t k = EF_MIN(n - i, (uint32_t) MINIBLOCK);
        uint64_t all = 0;
        for (uint32_t j = 0; j < k; j++) {
            all |= above[i + j];
        }
        unsigned width = ef_bit_width(all);
        out->data[widths + i / MINIBLOCK] = (uint8_t) width;
        pack_bits(above + i, k, MINIBLOCK, width, out);
    }
}

void
ef_delta_encode(const uint64_t *values, uint32_t n, bool is_32_bit, struct ef_buffer *out)
{
    ef_varint_add(out, BLOCK);
    ef_varint_add(out, MINIBLOCKS);
    ef_varint_add(out, n);
    ef_varint_add(out, ef_zigzag(n ? as_signed(values[0], is_32_bit) : 0));
    for (uint32_t i = 1; i < n; i += BLOCK) {
        uint64_t deltas[BLOCK];
        uint32_t k = EF_MIN(n - i, (uint32_t) BLOCK);
        for (uint32_t j = 0; j < k; j++) {
            deltas[j] = values[i + j] - values[i + j - 1];
        }
        add_block(deltas, k, is_32_bit, out);
    }
}

/* --- PLAIN --------------------------------------------------------------------- */

static void
plain_numbers(const uint64_t *values, uint32_t n, size_t width, struct ef_buffer *out)
{
    uint8_t *at = ef_buffer_grow(out, n * width);
    for (uint32_t i = 0; i < n; i++, at += width) {
        memcpy(at, &values[i], width);
    }
}

void
ef_plain_encode(const struct ef_column_data *data, uint32_t first, uint32_t n, struct ef_buffer *out)
{
    if (data->type == EF_ROW_FIXED) {
        ef_buffer_add(out, data->fixed + (size_t) first * data->width, (size_t) n * data->width);
    } else if (data->type == EF_ROW_BYTES) {
        for (uint32_t i = first; i < first + n; i++) {
            ef_store_le32(ef_buffer_grow(out, 4), data->bytes[i].len);
            ef_buffer_add(out, data->bytes[i].data, data->bytes[i].len);
        }
    } else if (n) {
        plain_numbers(data->numbers + first, n, ef_row_type_is_32_bit(data->type) ? 4 : 8, out);
    }
}
