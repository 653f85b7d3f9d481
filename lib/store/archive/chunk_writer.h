/* SPDX-License-Identifier: Apache-2.0 */
/* One column of one row group as bytes of a Parquet file: chooses the encoding
 * that comes out smallest, and makes the pages. Called by parquet_writer.c.
 * One thread. */
#ifndef EF_STORE_ARCHIVE_CHUNK_WRITER_H
#define EF_STORE_ARCHIVE_CHUNK_WRITER_H

#include <zstd.h>

#include "store/archive/column_data.h"
#include "store/archive/parquet_meta.h"

enum { EF_STATISTICS_MAX_BYTES = 64 };

/* The least and the greatest value as their PLAIN bytes; `len` 0: there is none. */
struct ef_chunk_bounds {
    uint32_t len;
    uint8_t min[EF_STATISTICS_MAX_BYTES], max[EF_STATISTICS_MAX_BYTES];
};

struct ef_chunk_writer {
    ZSTD_CCtx *zstd;
    int zstd_level;
    uint32_t page_rows;           /* 0: all. */
    struct ef_buffer raw, packed; /* Scratch. */
    uint32_t *numbers;            /* Levels of a page, for the encoder. */
    uint32_t numbers_room;
};

/* Appends the pages of `data` to `out`, of which byte 0 is at `file_offset` of
 * the file, and fills all of `chunk` but its path. */
void ef_chunk_write(struct ef_chunk_writer *w, const struct ef_column_data *data, int64_t file_offset,
                    struct ef_buffer *out, struct ef_parquet_chunk *chunk);

/* What the statistics of `data` are. */
void ef_chunk_bounds_find(const struct ef_column_data *data, struct ef_chunk_bounds *bounds);

void ef_chunk_writer_deinit(struct ef_chunk_writer *w);

enum ef_parquet_type ef_parquet_type_of(enum ef_row_type type);

#endif
