/* SPDX-License-Identifier: Apache-2.0 */
/* parquet_rows SEED ROWS FILE: writes a Parquet file of random rows of a random
 * schema, then prints what our own reader finds in it, a JSON object per row:
 * numbers as text in decimals, times in nanoseconds, bytes in hexadecimal. What
 * others find in it is compared with that by test/system/parquet_oracle. */
#include <config.h>

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "store/archive/byte_buffer.h"
#include "store/archive/parquet_reader.h"
#include "store/archive/parquet_writer.h"
#include "unit/store/random_rows.h"

static struct random_rows random_rows;

static int
write_stdio(void *ctx, const void *data, size_t len)
{
    return fwrite(data, 1, len, ctx) == len ? 0 : -1;
}

static void
print_bytes(const uint8_t *bytes, size_t len)
{
    putchar('"');
    for (size_t i = 0; i < len; i++) {
        printf("%02x", bytes[i]);
    }
    putchar('"');
}

static void
print_value(const struct ef_row_column *c, const uint8_t *base)
{
    struct ef_bytes value;
    if (!ef_row_has(c, base)) {
        printf("null");
    } else if (c->type == EF_ROW_FIXED) {
        print_bytes(base + c->offset, c->width);
    } else if (c->type == EF_ROW_BYTES) {
        memcpy(&value, base + c->offset, sizeof value);
        print_bytes(value.data, value.len);
    } else if (c->type == EF_ROW_I64 || c->type == EF_ROW_TIME) {
        printf("\"%" PRId64 "\"", (int64_t) ef_row_get_number(c, base));
    } else {
        printf("\"%" PRIu64 "\"", ef_row_get_number(c, base));
    }
}

static void
print_struct(const struct ef_row_schema *s, unsigned list, const uint8_t *base)
{
    const char *separator = "";
    for (unsigned i = 0; i < s->n_columns; i++) {
        if (s->columns[i].list == list) {
            printf("%s\"%s\":", separator, s->columns[i].name);
            print_value(&s->columns[i], base);
            separator = ",";
        }
    }
}

static void
print_row(const struct ef_row_schema *s, const uint8_t *row)
{
    putchar('{');
    print_struct(s, 0, row);
    for (unsigned i = 0; i < s->n_lists; i++) {
        struct ef_row_list list;
        memcpy(&list, row + s->lists[i].offset, sizeof list);
        printf(",\"%s\":[", s->lists[i].name);
        for (uint32_t k = 0; k < list.n; k++) {
            printf(k ? ",{" : "{");
            print_struct(s, i + 1, (const uint8_t *) list.elements + (size_t) k * s->lists[i].element_bytes);
            putchar('}');
        }
        putchar(']');
    }
    printf("}\n");
}

static int
write_file(const char *name, unsigned long n_rows)
{
    FILE *file = fopen(name, "we");
    struct ef_parquet_writer_config config = {
        .schema = &random_rows.schema, .group_rows = 700, .page_rows = 300, .sink = write_stdio, .ctx = file};
    struct ef_parquet_writer *writer;
    struct ef_error err = EF_ERROR_INIT;
    if (!file || ef_parquet_writer_create(&config, &writer, &err)) {
        return -1;
    }
    for (unsigned long i = 0; i < n_rows; i++) {
        ef_parquet_writer_add(writer, random_row(&random_rows));
    }
    int rc = ef_parquet_writer_finish(writer, NULL, 0);
    ef_parquet_writer_destroy(writer);
    return fclose(file) ? -1 : rc;
}

static int
print_file(const char *name, struct ef_error *err)
{
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    struct ef_parquet_source source = {
        .read = ef_parquet_read_fd, .ctx = &fd, .size = (uint64_t) lseek(fd, 0, SEEK_END)};
    struct ef_parquet_reader *reader;
    struct ef_row_set rows = {.schema = &random_rows.schema};
    int rc = ef_parquet_reader_create(&random_rows.schema, &source, &reader, err);
    if (rc) {
        return rc;
    }
    for (unsigned g = 0; !rc && g < ef_parquet_reader_meta(reader)->n_groups; g++) {
        rc = ef_parquet_reader_group(reader, g, NULL, &rows, err);
        for (uint32_t i = 0; !rc && i < rows.n_rows; i++) {
            print_row(&random_rows.schema, rows.rows[i]);
        }
    }
    ef_parquet_reader_destroy(reader);
    ef_row_set_deinit(&rows);
    close(fd);
    return rc;
}

int
main(int argc, char *argv[])
{
    struct ef_error err = EF_ERROR_INIT;
    if (argc != 4) {
        fprintf(stderr, "usage: parquet_rows SEED ROWS FILE\n");
        return 2;
    }
    random_rows_init(&random_rows, strtoull(argv[1], NULL, 10));
    if (write_file(argv[3], strtoul(argv[2], NULL, 10))) {
        fprintf(stderr, "parquet_rows: cannot write %s\n", argv[3]);
        return 1;
    }
    if (print_file(argv[3], &err)) {
        fprintf(stderr, "parquet_rows: %s: %s\n", argv[3], err.text);
        return 1;
    }
    return 0;
}
