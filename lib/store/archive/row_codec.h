/* SPDX-License-Identifier: Apache-2.0 */
/* A row as bytes, one after another in the schema's order: what the spool
 * keeps. Only a program with the same schema (its fingerprint) can read it.
 *
 *     ef_row_encode(&schema, &row, &buffer);
 *     if (ef_row_decode(&schema, bytes, len, &rows)) use(rows.rows[rows.n_rows - 1]);
 *
 * One thread per buffer and per set. */
#ifndef EF_STORE_ARCHIVE_ROW_CODEC_H
#define EF_STORE_ARCHIVE_ROW_CODEC_H

#include "store/archive/byte_buffer.h"
#include "store/archive/row_set.h"

/* Appends the row to `out`. */
void ef_row_encode(const struct ef_row_schema *schema, const void *row, struct ef_buffer *out);

/* Adds the row that `len` bytes are to `rows`, whose schema it has. False if
 * they are none; the set then has some memory less, and no row more. */
bool ef_row_decode(const uint8_t *data, size_t len, struct ef_row_set *rows);

#endif
