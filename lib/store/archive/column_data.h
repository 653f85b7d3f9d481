/* SPDX-License-Identifier: Apache-2.0 */
/* One column of some rows, as Parquet sees it: the values that are there, and
 * for each place two small numbers, the levels, that say what is not.
 *
 * Definition level of a place: how much of the path to the value exists; 0 is
 * an empty list, the greatest is a value, the one below in a nullable column is
 * null. Repetition level: 0 where a new row begins, 1 for further elements of
 * its list. A column that is neither nullable nor in a list has no levels.
 *
 *     struct ef_column_data data = {0};
 *     ef_column_gather(&schema, 3, rows, n_rows, &data);      // from the program's structs
 *     ef_column_data_deinit(&data);
 *
 * Values of EF_ROW_BYTES are borrowed from the rows, or from the decoded page.
 * One thread. */
#ifndef EF_STORE_ARCHIVE_COLUMN_DATA_H
#define EF_STORE_ARCHIVE_COLUMN_DATA_H

#include "store/archive/byte_buffer.h"
#include "store/archive/row_schema.h"

struct ef_column_data {
    enum ef_row_type type;
    uint32_t width; /* Of a value in `fixed`. */
    uint32_t n_values;
    uint64_t *numbers;      /* Types that are numbers, */
    uint8_t *fixed;         /* EF_ROW_FIXED, one after another, */
    struct ef_bytes *bytes; /* and EF_ROW_BYTES. */

    uint32_t n_places;
    uint8_t *definition, *repetition; /* NULL where the greatest level is 0. */
    uint8_t max_definition, max_repetition;

    uint32_t values_room, places_room;
};

/* Prepares `data` for a column, empty. */
void ef_column_data_init(struct ef_column_data *data, const struct ef_row_column *column);
void ef_column_data_deinit(struct ef_column_data *data);

/* Makes room for so many more values and places. */
void ef_column_data_reserve(struct ef_column_data *data, uint32_t n_values, uint32_t n_places);

/* Fills `data`, which is initialised here, with a column of `n_rows` rows. */
void ef_column_gather(const struct ef_row_schema *schema, unsigned column, const void *const *rows, uint32_t n_rows,
                      struct ef_column_data *data);

#endif
