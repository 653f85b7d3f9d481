/* SPDX-License-Identifier: Apache-2.0 */
/* Many rows, kept as the bytes of row_codec.h, in the schema's order: what
 * seal.c needs between a spool file and a segment. As structs they would take
 * several times the memory.
 *
 *     struct ef_row_sorter sorter = {.schema = &schema};
 *     ef_row_sorter_add(&sorter, record, len, &row);      // the record's row, decoded
 *     ef_row_sorter_sort(&sorter);
 *     for (uint32_t i = 0; i < sorter.n; i++) use(ef_row_sorter_get(&sorter, i));
 *     ef_row_sorter_deinit(&sorter);
 *
 * For control paths: it may abort when memory is out. One thread. */
#ifndef EF_STORE_ARCHIVE_ROW_SORTER_H
#define EF_STORE_ARCHIVE_ROW_SORTER_H

#include "store/archive/byte_buffer.h"
#include "store/archive/row_schema.h"

struct ef_row_sorter {
    const struct ef_row_schema *schema;
    struct ef_buffer records, keys; /* One after another; keys are all of one length. */
    struct ef_row_sorter_entry {
        size_t offset; /* In `records`. */
        uint32_t len, number;
        const uint8_t *key;
    } * entries;
    uint32_t n, room;
    size_t key_bytes;
};

/* Copies `record`; `row` is the row that it is. */
void ef_row_sorter_add(struct ef_row_sorter *sorter, const uint8_t *record, size_t len, const void *row);

/* Equal rows keep their order. */
void ef_row_sorter_sort(struct ef_row_sorter *sorter);

/* Record number `i`, until the next one is added. */
struct ef_bytes ef_row_sorter_get(const struct ef_row_sorter *sorter, uint32_t i);

void ef_row_sorter_deinit(struct ef_row_sorter *sorter);

#endif
