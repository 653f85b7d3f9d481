/* SPDX-License-Identifier: Apache-2.0 */
/* Writes rows as a Parquet file: row groups of rows in the schema's order, one
 * column after another, compressed by zstd, with statistics, so that DuckDB,
 * pandas, Spark and ClickHouse open it as it is. doc/store.md says how each
 * type is written.
 *
 *     struct ef_parquet_writer_config config = {.schema = &schema, .sink = write_all, .ctx = &fd};
 *     ef_parquet_writer_create(&config, &writer, &err);
 *     while (...) rc = ef_parquet_writer_add(writer, &row);
 *     rc = ef_parquet_writer_finish(writer, pairs, n_pairs);
 *     ef_parquet_writer_destroy(writer);
 *
 * Memory: the rows of one row group twice, and a page of one column. One
 * thread; it may abort when memory is out, so it is for control paths. */
#ifndef EF_STORE_ARCHIVE_PARQUET_WRITER_H
#define EF_STORE_ARCHIVE_PARQUET_WRITER_H

#include "store/archive/parquet_meta.h"
#include "store/archive/row_schema.h"

enum {
    EF_PARQUET_GROUP_ROWS = 1 << 14,
    EF_PARQUET_MAX_GROUP_ROWS = 1 << 20,
    EF_PARQUET_ZSTD_LEVEL = 3,
};

struct ef_parquet_writer;

struct ef_parquet_writer_config {
    const struct ef_row_schema *schema; /* Borrowed. */
    uint32_t group_rows;                /* Of a row group; 0: EF_PARQUET_GROUP_ROWS. */
    uint32_t page_rows;                 /* Of a page at most; 0: as many as the group has. */
    int zstd_level;                     /* 0: EF_PARQUET_ZSTD_LEVEL. */
    /* Takes the next bytes of the file. Returns 0 or a negative errno, which ends
     * the writing: every later call returns it too. */
    int (*sink)(void *ctx, const void *data, size_t len);
    void *ctx;
};

/* Returns 0, or -EINVAL with `err`. */
int ef_parquet_writer_create(const struct ef_parquet_writer_config *config, struct ef_parquet_writer **writer,
                             struct ef_error *err);
void ef_parquet_writer_destroy(struct ef_parquet_writer *writer); /* NULL is fine. */

/* Takes a copy of `row`. Returns 0; -EMSGSIZE if a list or a value is longer
 * than the schema's bounds (then nothing was taken); or what the sink returned. */
int ef_parquet_writer_add(struct ef_parquet_writer *writer, const void *row);

/* Gives the sink a byte that means nothing, between row groups: for a stream whose
 * reader wants to know that there is still somebody. Returns what the sink did. */
int ef_parquet_writer_pad(struct ef_parquet_writer *writer);

/* Writes what is left and the footer with `n_pairs` pairs of text, which end
 * up in the file's metadata. Returns 0 or what the sink returned. */
int ef_parquet_writer_finish(struct ef_parquet_writer *writer, const struct ef_parquet_pair *pairs, unsigned n_pairs);

#endif
