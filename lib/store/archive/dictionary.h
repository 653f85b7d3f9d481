/* SPDX-License-Identifier: Apache-2.0 */
/* The distinct values of a column, numbered as they first come.
 *
 *     struct ef_dictionary dict;
 *     if (ef_dictionary_build(&dict, &data)) use(dict.values, dict.indexes);
 *     ef_dictionary_deinit(&dict);
 *
 * One thread. */
#ifndef EF_STORE_ARCHIVE_DICTIONARY_H
#define EF_STORE_ARCHIVE_DICTIONARY_H

#include "store/archive/column_data.h"

struct ef_dictionary {
    struct ef_column_data values; /* Each once. */
    uint32_t *indexes;            /* Into `values`, one for each value of the column. */
    unsigned index_bits;          /* Of an index in a page; the writer may choose more. */
};

/* Returns false if there are so many distinct values that a dictionary would
 * not pay. In both cases the caller deinitialises it. */
bool ef_dictionary_build(struct ef_dictionary *dict, const struct ef_column_data *data);
void ef_dictionary_deinit(struct ef_dictionary *dict);

#endif
