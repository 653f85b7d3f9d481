/* SPDX-License-Identifier: Apache-2.0 */
/* Reads rows back out of Parquet files that parquet_writer.h wrote, and out of
 * those of others that have the same columns. The file may be damaged or
 * hostile: then it is refused, never believed.
 *
 *     struct ef_parquet_source source = {.read = ef_parquet_read_fd, .ctx = &fd, .size = size};
 *     ef_parquet_reader_create(&schema, &source, &reader, &err);
 *     for (unsigned g = 0; g < ef_parquet_reader_meta(reader)->n_groups; g++) {
 *         if (!ef_parquet_reader_bounds(reader, g, 0, &min, &max) || overlaps(min, max)) {
 *             ef_parquet_reader_group(reader, g, NULL, &rows, &err);
 *             use(rows.rows, rows.n_rows);
 *         }
 *     }
 *     ef_parquet_reader_destroy(reader);
 *
 * A nullable column that the file lacks reads as null; further columns of the
 * file are not looked at. One thread per reader. */
#ifndef EF_STORE_ARCHIVE_PARQUET_READER_H
#define EF_STORE_ARCHIVE_PARQUET_READER_H

#include "store/archive/parquet_meta.h"
#include "store/archive/row_set.h"

struct ef_parquet_reader;

struct ef_parquet_source {
    /* Fills `buf` with the `len` bytes at `offset`, which are within `size`.
     * Returns 0 or a negative errno. */
    int (*read)(void *ctx, uint64_t offset, void *buf, size_t len);
    void *ctx;
    uint64_t size;
};

/* A source's `read` whose `ctx` points to a file descriptor. */
int ef_parquet_read_fd(void *ctx, uint64_t offset, void *buf, size_t len);

/* Reads the footer alone, which `meta` then borrows from `footer`. Returns 0, -EBADMSG,
 * or what the source returned, each with `err`; the caller deinitialises both. */
int ef_parquet_footer_read(const struct ef_parquet_source *source, struct ef_buffer *footer,
                           struct ef_parquet_meta *meta, struct ef_error *err);

/* Reads the footer. Returns 0; -EBADMSG for a file that is damaged or none,
 * -EINVAL for one with other columns, or what the source returned; each with
 * `err`. */
int ef_parquet_reader_create(const struct ef_row_schema *schema, const struct ef_parquet_source *source,
                             struct ef_parquet_reader **reader, struct ef_error *err);
void ef_parquet_reader_destroy(struct ef_parquet_reader *reader); /* NULL is fine. */

/* The file's metadata, until destroy. */
const struct ef_parquet_meta *ef_parquet_reader_meta(const struct ef_parquet_reader *reader);

/* The least and the greatest value that a column has in a row group, in the
 * program's form: numbers as 8 bytes, other types as their bytes. False if the
 * file does not say. `column` is the schema's number. */
bool ef_parquet_reader_bounds(const struct ef_parquet_reader *reader, unsigned group, unsigned column, uint8_t min[64],
                              uint8_t max[64]);

/* True if the column may be null in a row of the group. */
bool ef_parquet_reader_may_be_null(const struct ef_parquet_reader *reader, unsigned group, unsigned column);

/* Reads one row group into `rows`, which it clears first. `wanted`, if not
 * NULL, has a bool per column of the schema; others read as zero, and lists
 * without a wanted column as empty. Returns 0, -EBADMSG with `err`, or what the
 * source returned. */
int ef_parquet_reader_group(struct ef_parquet_reader *reader, unsigned group, const bool *wanted,
                            struct ef_row_set *rows, struct ef_error *err);

/* Reads further columns of the row group that was read into `rows` last, those of
 * `wanted` that were not in `had`: what is only needed of rows that the first ones
 * let through. The caller has made NULL of the others in rows->rows; no row may
 * have changed its place. Returns as ef_parquet_reader_group(). */
int ef_parquet_reader_rest(struct ef_parquet_reader *reader, unsigned group, const bool *had, const bool *wanted,
                           struct ef_row_set *rows, struct ef_error *err);

#endif
