/* SPDX-License-Identifier: Apache-2.0 */
/* The metadata of a Parquet file: its footer and its page headers, in memory
 * and as bytes (https://github.com/apache/parquet-format, parquet.thrift).
 *
 * Pointers in these structs are borrowed: when written, from the writer; when
 * read, from the bytes, which must stay. Values; no thread protocol. */
#ifndef EF_STORE_ARCHIVE_PARQUET_META_H
#define EF_STORE_ARCHIVE_PARQUET_META_H

#include "base/error.h"
#include "store/archive/byte_buffer.h"
#include "store/schema.h"

enum { EF_PARQUET_MAGIC_BYTES = 4, EF_PARQUET_MAX_LEVELS = 8 };
#define EF_PARQUET_MAGIC "PAR1"

enum ef_parquet_type {
    EF_PARQUET_GROUP = -1, /* A schema element with children. */
    EF_PARQUET_INT32 = 1,
    EF_PARQUET_INT64 = 2,
    EF_PARQUET_BYTE_ARRAY = 6,
    EF_PARQUET_FIXED = 7,
};

enum ef_parquet_repetition { EF_PARQUET_REQUIRED = 0, EF_PARQUET_OPTIONAL = 1, EF_PARQUET_REPEATED = 2 };

enum ef_parquet_encoding {
    EF_PARQUET_PLAIN = 0,
    EF_PARQUET_PLAIN_DICTIONARY = 2, /* What RLE_DICTIONARY was called first. */
    EF_PARQUET_RLE = 3,
    EF_PARQUET_DELTA_BINARY_PACKED = 5,
    EF_PARQUET_RLE_DICTIONARY = 8,
};

enum ef_parquet_codec { EF_PARQUET_UNCOMPRESSED = 0, EF_PARQUET_ZSTD = 6 };

enum ef_parquet_page_type { EF_PARQUET_DATA_PAGE = 0, EF_PARQUET_DICTIONARY_PAGE = 2 };

/* What the bytes of a type mean. */
enum ef_parquet_meaning {
    EF_PARQUET_PLAIN_VALUE,
    EF_PARQUET_LIST,
    EF_PARQUET_UINT8,
    EF_PARQUET_UINT16,
    EF_PARQUET_UINT32,
    EF_PARQUET_UINT64,
    EF_PARQUET_SINT64,
    EF_PARQUET_TIMESTAMP_NS, /* Not adjusted to UTC: else DuckDB reads it as microseconds. */
};

/* One element of the schema, which is a tree in depth-first order. */
struct ef_parquet_element {
    int32_t type; /* enum ef_parquet_type */
    int32_t type_length;
    int32_t repetition;
    int32_t n_children;
    enum ef_parquet_meaning meaning;
    struct ef_bytes name;
};

/* Of one column in one row group. */
struct ef_parquet_chunk {
    int32_t type, codec;
    uint32_t encodings; /* Bit 1 << enum ef_parquet_encoding for each that occurs. */
    unsigned n_path;
    struct ef_bytes path[EF_PARQUET_MAX_LEVELS];
    int64_t n_values; /* With nulls and empty lists. */
    int64_t uncompressed_bytes, compressed_bytes;
    int64_t data_page_offset, dictionary_page_offset; /* 0: there is none. */
    int64_t n_nulls;                                  /* -1: not known. */
    struct ef_bytes min, max;                         /* `data` NULL: not known. */
};

struct ef_parquet_group {
    struct ef_parquet_chunk *chunks;
    unsigned n_chunks;
    int64_t n_rows, uncompressed_bytes, compressed_bytes, file_offset;
};

struct ef_parquet_pair {
    struct ef_bytes key, value;
};

struct ef_parquet_meta {
    int64_t n_rows;
    struct ef_parquet_element *elements;
    unsigned n_elements;
    struct ef_bytes element_bytes; /* As they were read; written in place of `elements` if there are any. */
    struct ef_parquet_group *groups;
    unsigned n_groups;
    struct ef_parquet_pair *pairs;
    unsigned n_pairs;
    struct ef_bytes created_by;
    /* Numbers of the chunks by which the rows of each group are ordered; not read. */
    const int32_t *sort;
    unsigned n_sort;
};

/* Appends the metadata as Thrift; the magic and the length around it are the
 * file's business. */
void ef_parquet_meta_write(const struct ef_parquet_meta *meta, struct ef_buffer *out);

/* Reads `len` bytes from anyone. Returns 0 or -EBADMSG with `err`. Then
 * ef_parquet_meta_deinit() frees the arrays, not what they borrow. */
int ef_parquet_meta_read(struct ef_parquet_meta *meta, const uint8_t *data, size_t len, struct ef_error *err);
void ef_parquet_meta_deinit(struct ef_parquet_meta *meta);

/* The value of `key` in the file's metadata, or one without data. */
struct ef_bytes ef_parquet_meta_find(const struct ef_parquet_meta *meta, const char *key);

struct ef_parquet_page {
    int32_t type;
    int32_t uncompressed_bytes, compressed_bytes; /* Without this header. */
    bool has_crc;
    uint32_t crc; /* CRC-32 of the compressed bytes. */
    int32_t n_values, encoding, definition_encoding, repetition_encoding;
};

void ef_parquet_page_write(const struct ef_parquet_page *page, struct ef_buffer *out);

/* Reads a header from `*at`, which it moves behind it. Returns 0 or -EBADMSG. */
int ef_parquet_page_read(struct ef_parquet_page *page, const uint8_t **at, const uint8_t *end);

#endif
