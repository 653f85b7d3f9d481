/* SPDX-License-Identifier: Apache-2.0 */
/* The pages of one column of one row group, back into values and levels. Called
 * by parquet_reader.c with bytes that nobody vouches for. One thread. */
#ifndef EF_STORE_ARCHIVE_CHUNK_READER_H
#define EF_STORE_ARCHIVE_CHUNK_READER_H

#include "store/archive/column_data.h"
#include "store/archive/parquet_meta.h"
#include "store/archive/row_set.h"

enum {
    EF_CHUNK_MAX_PLACES = 1 << 24,
    EF_CHUNK_MAX_BYTES = 1 << 30, /* Of a chunk in the file, and of a page without compression. */
};

/* Decodes the `len` bytes at `bytes`, the chunk's pages, into `data`, which is
 * initialised. Values of variable length are put into `rows`. Returns false if
 * the bytes are damaged. */
bool ef_chunk_read(const struct ef_parquet_chunk *chunk, const uint8_t *bytes, size_t len, struct ef_row_set *rows,
                   struct ef_column_data *data);

#endif
