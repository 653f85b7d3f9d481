/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding pages; see chunk_reader.h. */
#include <config.h>

#include "store/archive/chunk_reader.h"

#include <zstd.h>

#include "base/util.h"
#include "store/archive/crc.h"
#include "store/archive/encoding.h"

struct chunk_reader {
    const struct ef_parquet_chunk *chunk;
    const uint8_t *at, *end;
    struct ef_row_set *rows;
    struct ef_column_data *data;
    struct ef_column_data dictionary;
    bool has_dictionary;
    uint32_t *numbers; /* Scratch of chunk->n_values. */
};

/* Where the page's bytes are without compression, or NULL. They live as long as
 * the rows. */
static const uint8_t *
unpack_page(struct chunk_reader *r, const struct ef_parquet_page *page)
{
    size_t packed = (size_t) page->compressed_bytes, raw = (size_t) page->uncompressed_bytes;
    if (packed > (size_t) (r->end - r->at) || raw > EF_CHUNK_MAX_BYTES ||
        (page->has_crc && page->crc != ef_crc32(0, r->at, packed))) {
        return NULL;
    }
    const uint8_t *bytes = r->at;
    r->at += packed;
    if (r->chunk->codec == EF_PARQUET_UNCOMPRESSED) {
        return packed == raw ? bytes : NULL;
    }
    /* What the frame itself says has to agree before memory is taken for it. */
    if (r->chunk->codec != EF_PARQUET_ZSTD || ZSTD_getFrameContentSize(bytes, packed) != raw) {
        return NULL;
    }
    uint8_t *out = ef_row_set_alloc(r->rows, raw);
    return ZSTD_decompress(out, raw, bytes, packed) == raw ? out : NULL;
}

static bool
read_dictionary(struct chunk_reader *r, const struct ef_parquet_page *page)
{
    const uint8_t *bytes = unpack_page(r, page);
    if (!bytes || r->has_dictionary || page->n_values < 0 || page->n_values > page->uncompressed_bytes ||
        (page->encoding != EF_PARQUET_PLAIN && page->encoding != EF_PARQUET_PLAIN_DICTIONARY)) {
        return false;
    }
    r->has_dictionary = true;
    ef_column_data_reserve(&r->dictionary, (uint32_t) page->n_values, 0);
    return ef_plain_decode(bytes, bytes + page->uncompressed_bytes, (uint32_t) page->n_values, &r->dictionary);
}

/* Levels of `n` places, none above `max`, from `*at` on, which it moves. */
static bool
read_levels(struct chunk_reader *r, const uint8_t **at, const uint8_t *end, uint32_t n, unsigned max, uint8_t *levels)
{
    if (!max) {
        return true;
    }
    if (end - *at < 4 || ef_load_le32(*at) > (size_t) (end - *at - 4)) {
        return false;
    }
    const uint8_t *start = *at + 4;
    *at = start + ef_load_le32(*at);
    if (!ef_rle_decode(start, *at, ef_bit_width(max), n, r->numbers)) {
        return false;
    }
    uint32_t greatest = 0;
    for (uint32_t i = 0; i < n; i++) {
        greatest = EF_MAX(greatest, r->numbers[i]);
        levels[i] = (uint8_t) r->numbers[i];
    }
    return greatest <= max;
}

/* Appends values of `from` by their numbers, which exist. */
static void
copy_values(struct ef_column_data *to, const struct ef_column_data *from, const uint32_t *numbers, uint32_t n)
{
    uint32_t width = to->width;
    uint8_t *fixed = to->type == EF_ROW_FIXED ? to->fixed + (size_t) to->n_values * width : NULL;
    if (to->type == EF_ROW_BYTES) {
        for (uint32_t i = 0; i < n; i++) {
            to->bytes[to->n_values + i] = from->bytes[numbers[i]];
        }
    } else if (fixed && width == 16) { /* Addresses: a copy of constant size is two instructions. */
        for (uint32_t i = 0; i < n; i++) {
            memcpy(fixed + (size_t) i * 16, from->fixed + (size_t) numbers[i] * 16, 16);
        }
    } else if (fixed) {
        for (uint32_t i = 0; i < n; i++) {
            memcpy(fixed + (size_t) i * width, from->fixed + (size_t) numbers[i] * width, width);
        }
    } else {
        for (uint32_t i = 0; i < n; i++) {
            to->numbers[to->n_values + i] = from->numbers[numbers[i]];
        }
    }
    to->n_values += n;
}

static bool
read_indexes(struct chunk_reader *r, const uint8_t *at, const uint8_t *end, uint32_t n)
{
    uint32_t greatest = 0;
    if (!r->has_dictionary || at == end || !ef_rle_decode(at + 1, end, *at, n, r->numbers)) {
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        greatest = EF_MAX(greatest, r->numbers[i]);
    }
    if (n && greatest >= r->dictionary.n_values) {
        return false;
    }
    copy_values(r->data, &r->dictionary, r->numbers, n);
    return true;
}

static bool
read_values(struct chunk_reader *r, int encoding, const uint8_t *at, const uint8_t *end, uint32_t n)
{
    struct ef_column_data *d = r->data;
    switch (n ? encoding : EF_PARQUET_PLAIN) {
    case EF_PARQUET_PLAIN:
        return ef_plain_decode(at, end, n, d);
    case EF_PARQUET_PLAIN_DICTIONARY:
    case EF_PARQUET_RLE_DICTIONARY:
        return read_indexes(r, at, end, n);
    case EF_PARQUET_DELTA_BINARY_PACKED:
        if (!ef_row_type_is_number(d->type) ||
            !ef_delta_decode(at, end, n, ef_row_type_is_32_bit(d->type), d->numbers + d->n_values)) {
            return false;
        }
        d->n_values += n;
        return true;
    default:
        return false;
    }
}

static bool
read_data(struct chunk_reader *r, const struct ef_parquet_page *page)
{
    struct ef_column_data *d = r->data;
    const uint8_t *at = unpack_page(r, page);
    if (!at || page->n_values <= 0 || page->n_values > r->chunk->n_values - d->n_places) {
        return false;
    }
    const uint8_t *end = at + page->uncompressed_bytes;
    uint32_t n = (uint32_t) page->n_values, n_values = n;
    if ((d->max_repetition && page->repetition_encoding != EF_PARQUET_RLE) ||
        (d->max_definition && page->definition_encoding != EF_PARQUET_RLE) ||
        !read_levels(r, &at, end, n, d->max_repetition, d->repetition ? d->repetition + d->n_places : NULL) ||
        !read_levels(r, &at, end, n, d->max_definition, d->definition ? d->definition + d->n_places : NULL)) {
        return false;
    }
    for (uint32_t i = 0; d->max_definition && i < n; i++) {
        n_values -= d->definition[d->n_places + i] != d->max_definition;
    }
    d->n_places += n;
    return read_values(r, page->encoding, at, end, n_values);
}

static bool
read_pages(struct chunk_reader *r)
{
    while (r->data->n_places < r->chunk->n_values) {
        struct ef_parquet_page page;
        if (ef_parquet_page_read(&page, &r->at, r->end)) {
            return false;
        }
        bool is_dictionary = page.type == EF_PARQUET_DICTIONARY_PAGE;
        if (!is_dictionary && page.type != EF_PARQUET_DATA_PAGE) {
            return false;
        }
        if (!(is_dictionary ? read_dictionary(r, &page) : read_data(r, &page))) {
            return false;
        }
    }
    return true;
}

bool
ef_chunk_read(const struct ef_parquet_chunk *chunk, const uint8_t *bytes, size_t len, struct ef_row_set *rows,
              struct ef_column_data *data)
{
    struct chunk_reader r = {.chunk = chunk, .at = bytes, .end = bytes + len, .rows = rows, .data = data};
    if (chunk->n_values < 0 || chunk->n_values > EF_CHUNK_MAX_PLACES) {
        return false;
    }
    r.dictionary = (struct ef_column_data){.type = data->type, .width = data->width};
    r.numbers = ef_must_realloc(NULL, (size_t) chunk->n_values * sizeof *r.numbers);
    ef_column_data_reserve(data, (uint32_t) chunk->n_values, (uint32_t) chunk->n_values);
    bool ok = read_pages(&r);
    free(r.numbers);
    ef_column_data_deinit(&r.dictionary);
    return ok;
}
