/* SPDX-License-Identifier: Apache-2.0 */
/* Joins Parquet files with the same columns into one: their row groups follow
 * each other as they are, byte by byte, under one footer. Nothing is decoded, so
 * the columns need not be known. The files may be damaged or hostile.
 *
 *     struct ef_parquet_join *join = ef_parquet_join_create(write_all, &fd);
 *     for (...) rc = ef_parquet_join_add(join, &source, &err);
 *     rc = ef_parquet_join_finish(join);
 *     ef_parquet_join_destroy(join);
 *
 * One thread; it may abort when memory is out, so it is for control paths. */
#ifndef EF_STORE_ARCHIVE_PARQUET_JOIN_H
#define EF_STORE_ARCHIVE_PARQUET_JOIN_H

#include "store/archive/parquet_reader.h"

struct ef_parquet_join;

/* `sink` as in struct ef_parquet_writer_config. */
struct ef_parquet_join *ef_parquet_join_create(int (*sink)(void *ctx, const void *data, size_t len), void *ctx);
void ef_parquet_join_destroy(struct ef_parquet_join *join); /* NULL is fine. */

/* Adds the rows of a file. Returns 0; -EBADMSG with `err` for one that is damaged or
 * none, -EINVAL with `err` for one whose columns are not those of the first, after
 * both of which nothing of it was taken; or what the source or the sink returned. */
int ef_parquet_join_add(struct ef_parquet_join *join, const struct ef_parquet_source *source, struct ef_error *err);

/* The metadata of the file that was added last. */
const struct ef_parquet_meta *ef_parquet_join_meta(const struct ef_parquet_join *join);

/* Writes the footer. Returns 0; -EINVAL if no file was added; or what the sink did. */
int ef_parquet_join_finish(struct ef_parquet_join *join);

#endif
