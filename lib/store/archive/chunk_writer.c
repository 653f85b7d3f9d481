/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of one column; see chunk_writer.h. */
#include <config.h>

#include "store/archive/chunk_writer.h"

#include "base/util.h"
#include "store/archive/crc.h"
#include "store/archive/dictionary.h"
#include "store/archive/encoding.h"

enum { SAMPLE_VALUES = 4096 };

enum ef_parquet_type
ef_parquet_type_of(enum ef_row_type type)
{
    return type == EF_ROW_BYTES          ? EF_PARQUET_BYTE_ARRAY
           : type == EF_ROW_FIXED        ? EF_PARQUET_FIXED
           : ef_row_type_is_32_bit(type) ? EF_PARQUET_INT32
                                         : EF_PARQUET_INT64;
}

void
ef_chunk_writer_deinit(struct ef_chunk_writer *w)
{
    ZSTD_freeCCtx(w->zstd);
    ef_buffer_deinit(&w->raw);
    ef_buffer_deinit(&w->packed);
    free(w->numbers);
}

/* --- Statistics --------------------------------------------------------------- */

static void
find_fixed_bounds(const struct ef_column_data *d, struct ef_chunk_bounds *bounds)
{
    const uint8_t *min = d->fixed, *max = d->fixed;
    for (uint32_t i = 1; i < d->n_values; i++) {
        const uint8_t *value = d->fixed + (size_t) i * d->width;
        min = memcmp(value, min, d->width) < 0 ? value : min;
        max = memcmp(value, max, d->width) > 0 ? value : max;
    }
    bounds->len = d->width;
    memcpy(bounds->min, min, d->width);
    memcpy(bounds->max, max, d->width);
}

static void
find_number_bounds(const struct ef_column_data *d, struct ef_chunk_bounds *bounds)
{
    uint64_t min = d->numbers[0], max = d->numbers[0];
    for (uint32_t i = 1; i < d->n_values; i++) {
        min = ef_row_compare_numbers(d->type, d->numbers[i], min) < 0 ? d->numbers[i] : min;
        max = ef_row_compare_numbers(d->type, d->numbers[i], max) > 0 ? d->numbers[i] : max;
    }
    bounds->len = ef_row_type_is_32_bit(d->type) ? 4 : 8;
    ef_store_le64(bounds->min, min);
    ef_store_le64(bounds->max, max);
}

void
ef_chunk_bounds_find(const struct ef_column_data *d, struct ef_chunk_bounds *bounds)
{
    bounds->len = 0;
    if (d->n_values && ef_row_type_is_number(d->type)) {
        find_number_bounds(d, bounds);
    } else if (d->n_values && d->type == EF_ROW_FIXED && d->width <= EF_STATISTICS_MAX_BYTES) {
        find_fixed_bounds(d, bounds);
    }
}

/* --- Encoding ----------------------------------------------------------------- */

static void
compress(struct ef_chunk_writer *w, const struct ef_buffer *raw, struct ef_buffer *packed)
{
    packed->len = 0;
    ef_buffer_reserve(packed, ZSTD_compressBound(raw->len));
    size_t n = ZSTD_compressCCtx(w->zstd, packed->data, packed->size, raw->data, raw->len, w->zstd_level);
    if (ZSTD_isError(n)) {
        abort(); /* The room suffices: it is out of memory. */
    }
    packed->len = n;
}

static void
encode_values(const struct ef_column_data *d, const struct ef_dictionary *dict, enum ef_parquet_encoding encoding,
              uint32_t first, uint32_t n, struct ef_buffer *out)
{
    if (encoding == EF_PARQUET_RLE_DICTIONARY) {
        ef_buffer_add_byte(out, (uint8_t) dict->index_bits);
        ef_rle_encode(dict->indexes + first, n, dict->index_bits, out);
    } else if (encoding == EF_PARQUET_DELTA_BINARY_PACKED) {
        ef_delta_encode(d->numbers + first, n, ef_row_type_is_32_bit(d->type), out);
    } else {
        ef_plain_encode(d, first, n, out);
    }
}

/* How many bytes all values would about take, judged from those in the middle. */
static double
estimate(struct ef_chunk_writer *w, const struct ef_column_data *d, const struct ef_dictionary *dict,
         enum ef_parquet_encoding encoding)
{
    uint32_t n = EF_MIN(d->n_values, (uint32_t) SAMPLE_VALUES), first = (d->n_values - n) / 2;
    w->raw.len = 0;
    encode_values(d, dict, encoding, first, n, &w->raw);
    compress(w, &w->raw, &w->packed);
    double bytes = (double) w->packed.len * d->n_values / n;
    if (encoding == EF_PARQUET_RLE_DICTIONARY) {
        w->raw.len = 0;
        ef_plain_encode(&dict->values, 0, dict->values.n_values, &w->raw);
        compress(w, &w->raw, &w->packed);
        bytes += (double) w->packed.len;
    }
    return bytes;
}

/* The estimate for the dictionary, with indexes of whole bytes if zstd then finds
 * more in them than the bits that they have too many. */
static double
estimate_dictionary(struct ef_chunk_writer *w, const struct ef_column_data *d, struct ef_dictionary *dict)
{
    unsigned bits = dict->index_bits, whole_bytes = (bits + 7) / 8 * 8;
    double least = estimate(w, d, dict, EF_PARQUET_RLE_DICTIONARY);
    if (whole_bytes > bits) {
        dict->index_bits = whole_bytes;
        double bytes = estimate(w, d, dict, EF_PARQUET_RLE_DICTIONARY);
        dict->index_bits = bytes < least ? whole_bytes : bits;
        least = EF_MIN(bytes, least);
    }
    return least;
}

static enum ef_parquet_encoding
choose_encoding(struct ef_chunk_writer *w, const struct ef_column_data *d, struct ef_dictionary *dict,
                bool has_dictionary)
{
    enum ef_parquet_encoding best = EF_PARQUET_PLAIN;
    if (!d->n_values) {
        return best;
    }
    if (has_dictionary && dict->values.n_values == 1) {
        return EF_PARQUET_RLE_DICTIONARY;
    }
    double least = estimate(w, d, dict, EF_PARQUET_PLAIN);
    if (has_dictionary) {
        double bytes = estimate_dictionary(w, d, dict);
        best = bytes < least ? EF_PARQUET_RLE_DICTIONARY : best;
        least = EF_MIN(bytes, least);
    }
    if (ef_row_type_is_number(d->type) && estimate(w, d, dict, EF_PARQUET_DELTA_BINARY_PACKED) < least) {
        best = EF_PARQUET_DELTA_BINARY_PACKED;
    }
    return best;
}

/* --- Pages -------------------------------------------------------------------- */

/* Part of a column that becomes a page. */
struct span {
    uint32_t first_place, n_places, first_value, n_values;
};

/* The span behind `before` of at most `max_rows` rows, 0 for all. */
static struct span
next_span(const struct ef_column_data *d, const struct span *before, uint32_t max_rows)
{
    struct span s = {.first_place = before->first_place + before->n_places,
                     .first_value = before->first_value + before->n_values};
    uint32_t n_rows = 0;
    for (uint32_t i = s.first_place; i < d->n_places; i++) {
        n_rows += !d->repetition || !d->repetition[i];
        if (max_rows && n_rows > max_rows) {
            break;
        }
        s.n_places++;
        s.n_values += !d->definition || d->definition[i] == d->max_definition;
    }
    return s;
}

static void
add_levels(struct ef_chunk_writer *w, const uint8_t *levels, const struct span *s, unsigned max)
{
    if (!max) {
        return;
    }
    if (w->numbers_room < s->n_places) {
        w->numbers_room = s->n_places;
        w->numbers = ef_must_realloc(w->numbers, w->numbers_room * sizeof *w->numbers);
    }
    for (uint32_t i = 0; i < s->n_places; i++) {
        w->numbers[i] = levels[s->first_place + i];
    }
    size_t start = w->raw.len;
    ef_buffer_grow(&w->raw, 4);
    ef_rle_encode(w->numbers, s->n_places, ef_bit_width(max), &w->raw);
    ef_store_le32(w->raw.data + start, (uint32_t) (w->raw.len - start - 4));
}

/* Compresses w->raw and appends it with its header. */
static void
add_page(struct ef_chunk_writer *w, struct ef_parquet_page page, struct ef_buffer *out, struct ef_parquet_chunk *chunk)
{
    size_t start = out->len;
    compress(w, &w->raw, &w->packed);
    page.uncompressed_bytes = (int32_t) w->raw.len;
    page.compressed_bytes = (int32_t) w->packed.len;
    page.has_crc = true;
    page.crc = ef_crc32(0, w->packed.data, w->packed.len);
    ef_parquet_page_write(&page, out);
    chunk->uncompressed_bytes += (int64_t) (out->len - start + w->raw.len);
    ef_buffer_add(out, w->packed.data, w->packed.len);
    chunk->compressed_bytes += (int64_t) (out->len - start);
    chunk->encodings |= 1u << page.encoding;
}

static void
add_dictionary_page(struct ef_chunk_writer *w, const struct ef_dictionary *dict, struct ef_buffer *out,
                    struct ef_parquet_chunk *chunk)
{
    struct ef_parquet_page page = {
        .type = EF_PARQUET_DICTIONARY_PAGE, .encoding = EF_PARQUET_PLAIN, .n_values = (int32_t) dict->values.n_values};
    w->raw.len = 0;
    ef_plain_encode(&dict->values, 0, dict->values.n_values, &w->raw);
    add_page(w, page, out, chunk);
}

static void
add_data_pages(struct ef_chunk_writer *w, const struct ef_column_data *d, const struct ef_dictionary *dict,
               enum ef_parquet_encoding encoding, struct ef_buffer *out, struct ef_parquet_chunk *chunk)
{
    struct span s = {0};
    while ((s = next_span(d, &s, w->page_rows)).n_places) {
        struct ef_parquet_page page = {.type = EF_PARQUET_DATA_PAGE,
                                       .encoding = encoding,
                                       .n_values = (int32_t) s.n_places,
                                       .definition_encoding = EF_PARQUET_RLE,
                                       .repetition_encoding = EF_PARQUET_RLE};
        w->raw.len = 0;
        add_levels(w, d->repetition, &s, d->max_repetition);
        add_levels(w, d->definition, &s, d->max_definition);
        encode_values(d, dict, encoding, s.first_value, s.n_values, &w->raw);
        add_page(w, page, out, chunk);
    }
}

void
ef_chunk_write(struct ef_chunk_writer *w, const struct ef_column_data *d, int64_t file_offset, struct ef_buffer *out,
               struct ef_parquet_chunk *chunk)
{
    struct ef_dictionary dict;
    bool has_dictionary = ef_dictionary_build(&dict, d);
    enum ef_parquet_encoding encoding = choose_encoding(w, d, &dict, has_dictionary);
    *chunk = (struct ef_parquet_chunk){
        .type = ef_parquet_type_of(d->type),
        .codec = EF_PARQUET_ZSTD,
        .encodings = d->max_definition ? 1u << EF_PARQUET_RLE : 0,
        .n_values = d->n_places,
        .n_nulls = (int64_t) d->n_places - d->n_values,
    };
    if (encoding == EF_PARQUET_RLE_DICTIONARY) {
        chunk->dictionary_page_offset = file_offset + (int64_t) out->len;
        add_dictionary_page(w, &dict, out, chunk);
    }
    chunk->data_page_offset = file_offset + (int64_t) out->len;
    add_data_pages(w, d, &dict, encoding, out, chunk);
    ef_dictionary_deinit(&dict);
}
