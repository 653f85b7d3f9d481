/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of a list's elements that somebody counts up, such as the sequence
 * numbers of a switch's copies: each is near to the others of the same key, and
 * far from those of other keys. In a file they are the distance from the least
 * one of their key in their row group, which takes a byte instead of four; the
 * least ones are in a list of the group's first row, so any reader can add them.
 *
 *     static const struct ef_row_counter counter = {.column = SEQUENCE, .key = SWITCH,
 *                                                   .base_key = BASE_SWITCH, .base = BASE_SEQUENCE};
 *     schema.counter = &counter;
 *
 * To programs, rows have the numbers themselves, and the list of the least ones
 * is empty. Called by parquet_writer.c and parquet_reader.c. One thread. */
#ifndef EF_STORE_ARCHIVE_ROW_COUNTER_H
#define EF_STORE_ARCHIVE_ROW_COUNTER_H

#include "store/archive/row_set.h"

/* Makes the counters of a row group distances. The rows are changed. */
void ef_row_counter_pack(struct ef_row_set *rows);

/* And numbers again, of those rows that are not NULL; the first one must not be.
 * False if the file contradicts itself. */
bool ef_row_counter_unpack(struct ef_row_set *rows);

#endif
