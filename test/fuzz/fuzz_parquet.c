/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a Parquet file: the first one chooses the schema that is asked
 * of it. */
#include <config.h>

#include <errno.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "store/archive/parquet_join.h"
#include "store/archive/parquet_reader.h"
#include "unit/store/random_rows.h"

struct input {
    const uint8_t *data;
    size_t size;
};

static int
read_input(void *ctx, uint64_t offset, void *buf, size_t len)
{
    const struct input *in = ctx;
    if (offset > in->size || len > in->size - offset) {
        return -EIO;
    }
    memcpy(buf, in->data + offset, len);
    return 0;
}

static int
drop(void *ctx, const void *data, size_t len)
{
    return 0;
}

/* First the time alone; then the rest, of every other row. */
static void
read_in_two(struct ef_parquet_reader *reader, unsigned group, struct ef_row_set *rows)
{
    static const bool first[EF_ROW_MAX_COLUMNS] = {true};
    struct ef_error err = EF_ERROR_INIT;
    if (!ef_parquet_reader_group(reader, group, first, rows, &err)) {
        for (uint32_t i = 0; i < rows->n_rows; i += 2) {
            rows->rows[i] = NULL;
        }
        ef_parquet_reader_rest(reader, group, first, NULL, rows, &err);
    }
}

/* Joined with itself. */
static void
join(const struct ef_parquet_source *source)
{
    struct ef_parquet_join *j = ef_parquet_join_create(drop, NULL);
    struct ef_error err = EF_ERROR_INIT;
    if (!ef_parquet_join_add(j, source, &err) && !ef_parquet_join_add(j, source, &err)) {
        ef_parquet_join_finish(j);
    }
    ef_parquet_join_destroy(j);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct random_rows random_rows;
    if (!size) {
        return 0;
    }
    random_rows_init(&random_rows, data[0]);
    if (data[0] % 4 == 3) {
        random_rows_add_counter(&random_rows);
    }
    struct input in = {data + 1, size - 1};
    struct ef_parquet_source source = {.read = read_input, .ctx = &in, .size = in.size};
    struct ef_parquet_reader *reader;
    struct ef_error err = EF_ERROR_INIT;
    join(&source);
    if (ef_parquet_reader_create(&random_rows.schema, &source, &reader, &err)) {
        return 0;
    }
    struct ef_row_set rows = {.schema = &random_rows.schema};
    for (unsigned g = 0; g < ef_parquet_reader_meta(reader)->n_groups && g < 8; g++) {
        ef_parquet_reader_group(reader, g, NULL, &rows, &err);
        read_in_two(reader, g, &rows);
    }
    ef_row_set_deinit(&rows);
    ef_parquet_reader_destroy(reader);
    return 0;
}
