/* SPDX-License-Identifier: Apache-2.0 */
/* Reading Parquet's encodings; see encoding.h. */
#include <config.h>

#include "base/util.h"
#include "store/archive/encoding.h"
#include "store/archive/thrift.h"

/* Number `index` of those packed at `at` with `width` bits, 0 to 64, where
 * `len` bytes hold them all. */
static inline uint64_t
unpack(const uint8_t *at, size_t len, uint64_t index, unsigned width)
{
    uint64_t bit = index * width;
    size_t byte = bit / 8, n = EF_MIN(len - byte, (size_t) 16);
    if (width <= 56 && n >= 8) {
        return ef_load_le64(at + byte) >> bit % 8 & (((uint64_t) 1 << width) - 1);
    }
    unsigned __int128 word = 0;
    memcpy(&word, at + byte, n);
    word >>= bit % 8;
    return width == 64 ? (uint64_t) word : (uint64_t) word & (((uint64_t) 1 << width) - 1);
}

/* --- RLE --------------------------------------------------------------------- */

/* One run of packed groups: `n` of its numbers are wanted. */
static bool
decode_packed(const uint8_t **at, const uint8_t *end, uint64_t n_groups, unsigned width, uint32_t n, uint32_t *values)
{
    size_t left = (size_t) (end - *at);
    /* Some writers leave out the padding of the last group. */
    size_t needed = ((size_t) n * width + 7) / 8;
    if (needed > left) {
        return false;
    }
    for (uint32_t i = 0; width && i < n; i++) {
        values[i] = (uint32_t) unpack(*at, left, i, width);
    }
    if (!width) {
        memset(values, 0, n * sizeof *values);
    }
    *at += width && n_groups > left / width ? left : (size_t) n_groups * width;
    return true;
}

static bool
decode_run(const uint8_t **at, const uint8_t *end, unsigned width, uint32_t n, uint32_t *values)
{
    size_t n_bytes = (width + 7) / 8;
    uint32_t value = 0;
    if ((size_t) (end - *at) < n_bytes) {
        return false;
    }
    memcpy(&value, *at, n_bytes);
    *at += n_bytes;
    for (uint32_t i = 0; i < n; i++) {
        values[i] = value;
    }
    return true;
}

bool
ef_rle_decode(const uint8_t *at, const uint8_t *end, unsigned width, uint32_t n, uint32_t *values)
{
    if (width > 32) {
        return false;
    }
    for (uint32_t i = 0; i < n;) {
        uint64_t head;
        if (!ef_varint_read(&at, end, &head)) {
            return false;
        }
        uint64_t length = head >> 1;
        bool is_packed = head & 1;
        if (!length || length > UINT32_MAX / 8) {
            return false;
        }
        uint32_t k = (uint32_t) EF_MIN(is_packed ? length * 8 : length, (uint64_t) (n - i));
        if (!(is_packed ? decode_packed(&at, end, length, width, k, values + i)
                        : decode_run(&at, end, width, k, values + i))) {
            return false;
        }
        i += k;
    }
    return true;
}

/* --- DELTA_BINARY_PACKED ------------------------------------------------------- */

struct delta {
    const uint8_t *at, *end;
    uint64_t miniblock; /* Numbers in one, a multiple of 8. */
    uint64_t n_miniblocks;
    unsigned max_width;
};

/* Up to `n` numbers of one block; returns how many, or 0 for damage. */
static uint32_t
decode_block(struct delta *d, uint64_t before, uint32_t n, uint64_t *values)
{
    uint64_t zigzag;
    if (!ef_varint_read(&d->at, d->end, &zigzag) || (uint64_t) (d->end - d->at) < d->n_miniblocks) {
        return 0;
    }
    uint64_t min = (uint64_t) ef_unzigzag(zigzag);
    const uint8_t *widths = d->at;
    uint32_t done = 0;
    d->at += d->n_miniblocks;
    for (uint64_t m = 0; m < d->n_miniblocks && done < n; m++) {
        uint32_t k = (uint32_t) EF_MIN(d->miniblock, (uint64_t) (n - done));
        size_t len = (size_t) (d->miniblock / 8 * widths[m]);
        if (widths[m] > d->max_width || (size_t) (d->end - d->at) < len) {
            return 0;
        }
        for (uint32_t i = 0; i < k; i++) {
            before += min + (widths[m] ? unpack(d->at, len, i, widths[m]) : 0);
            values[done++] = before;
        }
        d->at += len;
    }
    return done;
}

static bool
read_delta_head(struct delta *d, uint32_t n, uint64_t *first)
{
    uint64_t block, total, zigzag;
    if (!ef_varint_read(&d->at, d->end, &block) || !ef_varint_read(&d->at, d->end, &d->n_miniblocks) ||
        !ef_varint_read(&d->at, d->end, &total) || !ef_varint_read(&d->at, d->end, &zigzag)) {
        return false;
    }
    if (!d->n_miniblocks || !block || block > 1 << 20 || d->n_miniblocks > block || block % d->n_miniblocks ||
        block / d->n_miniblocks % 8 || total < n) {
        return false;
    }
    d->miniblock = block / d->n_miniblocks;
    *first = (uint64_t) ef_unzigzag(zigzag);
    return true;
}

bool
ef_delta_decode(const uint8_t *at, const uint8_t *end, uint32_t n, bool is_32_bit, uint64_t *values)
{
    struct delta d = {.at = at, .end = end, .max_width = is_32_bit ? 32 : 64};
    uint64_t first;
    if (!read_delta_head(&d, n, &first)) {
        return false;
    }
    if (n) {
        values[0] = first;
    }
    for (uint32_t i = 1; i < n;) {
        uint32_t k = decode_block(&d, values[i - 1], n - i, values + i);
        if (!k) {
            return false;
        }
        i += k;
    }
    for (uint32_t i = 0; is_32_bit && i < n; i++) {
        values[i] &= UINT32_MAX;
    }
    return true;
}

/* --- PLAIN --------------------------------------------------------------------- */

static bool
plain_bytes(const uint8_t *at, const uint8_t *end, uint32_t n, struct ef_bytes *bytes)
{
    for (uint32_t i = 0; i < n; i++) {
        if (end - at < 4) {
            return false;
        }
        uint32_t len = ef_load_le32(at);
        at += 4;
        if (len > EF_ROW_MAX_BYTES || (size_t) (end - at) < len) {
            return false;
        }
        bytes[i] = (struct ef_bytes){at, len};
        at += len;
    }
    return true;
}

bool
ef_plain_decode(const uint8_t *at, const uint8_t *end, uint32_t n, struct ef_column_data *d)
{
    size_t left = (size_t) (end - at);
    if (d->type == EF_ROW_BYTES) {
        if (!plain_bytes(at, end, n, d->bytes + d->n_values)) {
            return false;
        }
    } else {
        size_t width = d->type == EF_ROW_FIXED ? d->width : ef_row_type_is_32_bit(d->type) ? 4 : 8;
        if (n > left / width) {
            return false;
        }
        if (!n) {
            return true;
        }
        if (d->type == EF_ROW_FIXED) {
            memcpy(d->fixed + (size_t) d->n_values * width, at, n * width);
        } else {
            for (uint32_t i = 0; i < n; i++) {
                d->numbers[d->n_values + i] = 0;
                memcpy(&d->numbers[d->n_values + i], at + i * width, width);
            }
        }
    }
    d->n_values += n;
    return true;
}
