/* SPDX-License-Identifier: Apache-2.0 */
/* The archive's building blocks and Parquet files: what is written is read back
 * value by value, and damaged files are refused. */
#include <config.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/time.h"
#include "store/archive/byte_buffer.h"
#include "store/archive/crc.h"
#include "store/archive/encoding.h"
#include "store/archive/parquet_join.h"
#include "store/archive/parquet_reader.h"
#include "store/archive/parquet_writer.h"
#include "unit/store/random_rows.h"

static struct random_rows random_rows;

/* --- Checks and encodings --------------------------------------------------------- */

static void
test_crc(void **state)
{
    uint8_t bytes[300];
    assert_int_equal(ef_crc32(0, "123456789", 9), 0xcbf43926);
    assert_int_equal(ef_crc32c(0, "123456789", 9), 0xe3069283);
    random_rows.state = 1;
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t) random_number(&random_rows);
    }
    for (size_t i = 0; i <= sizeof bytes; i++) {
        uint32_t whole = ef_crc32c_portable(0, bytes, i);
        assert_int_equal(ef_crc32c(0, bytes, i), whole);
        assert_int_equal(ef_crc32c(ef_crc32c(0, bytes, i / 3), bytes + i / 3, i - i / 3), whole);
        assert_int_equal(ef_crc32(ef_crc32(0, bytes, i / 3), bytes + i / 3, i - i / 3), ef_crc32(0, bytes, i));
    }
}

static void
test_rle(void **state)
{
    static uint32_t values[3000], back[3000];
    random_rows.state = 2;
    for (unsigned width = 0; width <= 32; width++) {
        struct ef_buffer out = {0};
        uint64_t mask = ((uint64_t) 1 << width) - 1;
        uint32_t n = 1 + (uint32_t) (random_number(&random_rows) % 3000);
        for (uint32_t i = 0; i < n; i++) {
            bool repeats = i && random_number(&random_rows) % 100 < 3 * width;
            values[i] = repeats ? values[i - 1] : (uint32_t) (random_number(&random_rows) & mask);
        }
        ef_rle_encode(values, n, width, &out);
        assert_true(ef_rle_decode(out.data, out.data + out.len, width, n, back));
        assert_memory_equal(values, back, n * sizeof *values);
        for (size_t cut = 0; cut < out.len; cut += 1 + cut / 7) {
            ef_rle_decode(out.data, out.data + cut, width, n, back); /* Within its bounds, whatever it says. */
        }
        ef_buffer_deinit(&out);
    }
}

static void
check_delta(const uint64_t *values, uint32_t n, bool is_32_bit)
{
    static uint64_t back[2000];
    struct ef_buffer out = {0};
    ef_delta_encode(values, n, is_32_bit, &out);
    assert_true(ef_delta_decode(out.data, out.data + out.len, n, is_32_bit, back));
    assert_memory_equal(values, back, n * sizeof *values);
    for (size_t cut = 0; cut < out.len; cut += 1 + cut / 7) {
        ef_delta_decode(out.data, out.data + cut, n, is_32_bit, back);
    }
    ef_buffer_deinit(&out);
}

static void
test_delta(void **state)
{
    static uint64_t values[2000];
    random_rows.state = 3;
    for (unsigned round = 0; round < 200; round++) {
        bool is_32_bit = round & 1;
        unsigned shift = (unsigned) (random_number(&random_rows) % 64);
        uint32_t n = (uint32_t) (random_number(&random_rows) % 2000);
        for (uint32_t i = 0; i < n; i++) {
            values[i] = (i ? values[i - 1] : 0) + (random_number(&random_rows) >> shift);
            values[i] &= is_32_bit ? UINT32_MAX : UINT64_MAX;
        }
        check_delta(values, n, is_32_bit);
    }
}

/* --- Files ------------------------------------------------------------------------ */

static int
add_to_buffer(void *ctx, const void *data, size_t len)
{
    ef_buffer_add(ctx, data, len);
    return 0;
}

static int
read_buffer(void *ctx, uint64_t offset, void *buf, size_t len)
{
    const struct ef_buffer *file = ctx;
    assert_true(offset <= file->len && len <= file->len - offset);
    memcpy(buf, file->data + offset, len);
    return 0;
}

static int
open_buffer(struct ef_buffer *file, const struct ef_row_schema *schema, struct ef_parquet_reader **reader)
{
    struct ef_parquet_source source = {.read = read_buffer, .ctx = file, .size = file->len};
    struct ef_error err = EF_ERROR_INIT;
    return ef_parquet_reader_create(schema, &source, reader, &err);
}

static bool
is_same_struct(const struct ef_row_schema *s, unsigned list, const uint8_t *a, const uint8_t *b)
{
    for (unsigned i = 0; i < s->n_columns; i++) {
        const struct ef_row_column *c = &s->columns[i];
        if (c->list != list) {
            continue;
        }
        if (ef_row_has(c, a) != ef_row_has(c, b)) {
            return false;
        }
        if (!ef_row_has(c, a)) {
            continue;
        }
        if (c->type == EF_ROW_BYTES) {
            struct ef_bytes x, y;
            memcpy(&x, a + c->offset, sizeof x);
            memcpy(&y, b + c->offset, sizeof y);
            if (x.len != y.len || (x.len && memcmp(x.data, y.data, x.len))) {
                return false;
            }
        } else if (memcmp(a + c->offset, b + c->offset, ef_row_column_width(c))) {
            return false;
        }
    }
    return true;
}

static bool
is_same_row(const struct ef_row_schema *s, const uint8_t *a, const uint8_t *b)
{
    bool same = is_same_struct(s, 0, a, b);
    for (unsigned i = 0; same && i < s->n_lists; i++) {
        struct ef_row_list x, y;
        memcpy(&x, a + s->lists[i].offset, sizeof x);
        memcpy(&y, b + s->lists[i].offset, sizeof y);
        same = x.n == y.n;
        for (uint32_t k = 0; same && k < x.n; k++) {
            size_t at = (size_t) k * s->lists[i].element_bytes;
            same = is_same_struct(s, i + 1, (const uint8_t *) x.elements + at, (const uint8_t *) y.elements + at);
        }
    }
    return same;
}

/* Rows in the order in which the file has them. */
static void
sort_groups(struct ef_row_set *rows, uint32_t group_rows)
{
    struct ef_row_set part = *rows;
    for (uint32_t first = 0; first < rows->n_rows; first += group_rows) {
        part.rows = rows->rows + first;
        part.n_rows = rows->n_rows - first < group_rows ? rows->n_rows - first : group_rows;
        ef_row_set_sort(&part);
    }
}

static void
write_file(const struct ef_parquet_writer_config *config, struct ef_row_set *rows, uint32_t n, struct ef_buffer *file)
{
    struct ef_parquet_writer_config c = *config;
    struct ef_parquet_writer *writer;
    struct ef_error err = EF_ERROR_INIT;
    struct ef_parquet_pair pair = {{"key", 3}, {"value", 5}};
    c.sink = add_to_buffer;
    c.ctx = file;
    assert_int_equal(ef_parquet_writer_create(&c, &writer, &err), 0);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(ef_parquet_writer_add(writer, ef_row_set_add(rows, random_row(&random_rows))), 0);
    }
    assert_int_equal(ef_parquet_writer_finish(writer, &pair, 1), 0);
    ef_parquet_writer_destroy(writer);
}

/* True if a column of the row lies within the bounds that the file states. */
static void
check_bounds(const struct ef_parquet_reader *reader, unsigned group, const struct ef_row_schema *s, const void *row)
{
    for (unsigned i = 0; i < s->n_columns; i++) {
        const struct ef_row_column *c = &s->columns[i];
        uint8_t min[64], max[64];
        if (c->list || !ef_row_has(c, row) || !ef_parquet_reader_bounds(reader, group, i, min, max)) {
            continue;
        }
        if (c->type == EF_ROW_FIXED) {
            assert_true(memcmp((const uint8_t *) row + c->offset, min, c->width) >= 0);
            assert_true(memcmp((const uint8_t *) row + c->offset, max, c->width) <= 0);
        } else {
            uint64_t value = ef_row_get_number(c, row);
            assert_true(ef_row_compare_numbers(c->type, value, ef_load_le64(min)) >= 0);
            assert_true(ef_row_compare_numbers(c->type, value, ef_load_le64(max)) <= 0);
        }
    }
}

static unsigned n_counters; /* Schemas with one. */

static void
check_round_trip(uint64_t seed, uint32_t n, uint32_t group_rows, uint32_t page_rows)
{
    random_rows_init(&random_rows, seed);
    n_counters += seed % 2 && random_rows_add_counter(&random_rows);
    const struct ef_row_schema *s = &random_rows.schema;
    struct ef_parquet_writer_config config = {.schema = s, .group_rows = group_rows, .page_rows = page_rows};
    struct ef_row_set rows = {.schema = s}, back = {.schema = s};
    struct ef_buffer file = {0};
    struct ef_parquet_reader *reader;
    struct ef_error err = EF_ERROR_INIT;
    write_file(&config, &rows, n, &file);
    sort_groups(&rows, group_rows);
    assert_int_equal(open_buffer(&file, s, &reader), 0);
    const struct ef_parquet_meta *meta = ef_parquet_reader_meta(reader);
    assert_int_equal(meta->n_rows, n);
    assert_int_equal(ef_parquet_meta_find(meta, "key").len, 5);
    uint32_t at = 0;
    for (unsigned g = 0; g < meta->n_groups; g++) {
        assert_int_equal(ef_parquet_reader_group(reader, g, NULL, &back, &err), 0);
        for (uint32_t i = 0; i < back.n_rows; i++) {
            assert_true(is_same_row(s, rows.rows[at], back.rows[i]));
            check_bounds(reader, g, s, rows.rows[at++]);
        }
    }
    assert_int_equal(at, n);
    ef_parquet_reader_destroy(reader);
    ef_row_set_deinit(&rows);
    ef_row_set_deinit(&back);
    ef_buffer_deinit(&file);
}

static void
test_round_trip(void **state)
{
    check_round_trip(1, 0, 10, 0);
    for (uint64_t seed = 2; seed < 60; seed++) {
        check_round_trip(seed, (uint32_t) (seed * 37 % 500), 1 + (uint32_t) seed * 5, seed % 3 ? 0 : 7);
    }
    check_round_trip(60, 20000, 16384, 3000);
    assert_true(n_counters > 5);
}

/* A column that is not wanted is not read; its rows are the others' nevertheless. */
static void
test_projection(void **state)
{
    random_rows_init(&random_rows, 5);
    const struct ef_row_schema *s = &random_rows.schema;
    struct ef_parquet_writer_config config = {.schema = s};
    struct ef_row_set rows = {.schema = s}, back = {.schema = s};
    struct ef_buffer file = {0};
    struct ef_parquet_reader *reader;
    struct ef_error err = EF_ERROR_INIT;
    bool wanted[EF_ROW_MAX_COLUMNS] = {true};
    write_file(&config, &rows, 300, &file);
    sort_groups(&rows, 300);
    assert_int_equal(open_buffer(&file, s, &reader), 0);
    assert_int_equal(ef_parquet_reader_group(reader, 0, wanted, &back, &err), 0);
    assert_int_equal(back.n_rows, 300);
    for (uint32_t i = 0; i < back.n_rows; i++) {
        assert_int_equal(ef_row_get_number(&s->columns[0], back.rows[i]),
                         ef_row_get_number(&s->columns[0], rows.rows[i]));
    }
    ef_parquet_reader_destroy(reader);
    ef_row_set_deinit(&rows);
    ef_row_set_deinit(&back);
    ef_buffer_deinit(&file);
}

struct visit {
    uint8_t key[4];
    uint32_t count;
};

struct visits {
    struct ef_time time;
    struct ef_row_list visits, least;
};

/* In the file, counters are small: whoever reads it adds the least of the key. */
static void
test_counter(void **state)
{
    static const struct ef_row_column columns[] = {
        {"time", EF_ROW_TIME, offsetof(struct visits, time)},
        {"key", EF_ROW_FIXED, offsetof(struct visit, key), .list = 1, .width = 4},
        {"count", EF_ROW_U32, offsetof(struct visit, count), .list = 1},
        {"key", EF_ROW_FIXED, offsetof(struct visit, key), .list = 2, .width = 4},
        {"least", EF_ROW_U32, offsetof(struct visit, count), .list = 2},
    };
    static const struct ef_row_list_column lists[] = {
        {"visits", offsetof(struct visits, visits), sizeof(struct visit)},
        {"least", offsetof(struct visits, least), sizeof(struct visit)},
    };
    static const struct ef_row_counter counter = {.column = 2, .key = 1, .base_key = 3, .base = 4};
    struct ef_row_schema s = {columns, 5, lists, 2, sizeof(struct visits), .counter = &counter}, plain = s;
    struct ef_parquet_writer_config config = {.schema = &s, .group_rows = 10, .sink = add_to_buffer};
    struct ef_row_set back = {.schema = &s};
    struct ef_parquet_writer *writer;
    struct ef_parquet_reader *reader;
    struct ef_buffer file = {0};
    struct ef_error err = EF_ERROR_INIT;
    config.ctx = &file;
    plain.counter = NULL;
    assert_int_equal(ef_parquet_writer_create(&config, &writer, &err), 0);
    for (uint32_t i = 0; i < 20; i++) {
        struct visit visit = {{(uint8_t) (i % 2)}, (i % 2 ? 4000000000 : 7000) + i};
        struct visits row = {{i}, {&visit, 1}, {NULL, 0}};
        assert_int_equal(ef_parquet_writer_add(writer, &row), 0);
    }
    assert_int_equal(ef_parquet_writer_finish(writer, NULL, 0), 0);
    ef_parquet_writer_destroy(writer);
    assert_int_equal(open_buffer(&file, &s, &reader), 0);
    assert_int_equal(ef_parquet_reader_group(reader, 1, NULL, &back, &err), 0);
    for (uint32_t i = 0; i < 10; i++) {
        const struct visits *row = back.rows[i];
        assert_int_equal(((const struct visit *) row->visits.elements)->count, (i % 2 ? 4000000000 : 7000) + 10 + i);
        assert_int_equal(row->least.n, 0);
    }
    ef_parquet_reader_destroy(reader);
    assert_int_equal(open_buffer(&file, &plain, &reader), 0);
    assert_int_equal(ef_parquet_reader_group(reader, 1, NULL, &back, &err), 0);
    for (uint32_t i = 0; i < 10; i++) {
        const struct visits *row = back.rows[i];
        assert_int_equal(((const struct visit *) row->visits.elements)->count, i / 2 * 2);
        assert_int_equal(row->least.n, i ? 0 : 2);
    }
    ef_parquet_reader_destroy(reader);
    ef_row_set_deinit(&back);
    ef_buffer_deinit(&file);
}

/* Some columns first, and of some rows the others: as if all had been read at once. */
static void
test_rest(void **state)
{
    struct ef_buffer file = {0};
    struct ef_row_set rows = {.schema = &random_rows.schema}, back = {.schema = &random_rows.schema};
    struct ef_parquet_reader *reader;
    struct ef_error err = EF_ERROR_INIT;
    unsigned n_checked = 0;
    for (uint64_t seed = 100; seed < 160; seed++) {
        random_rows_init(&random_rows, seed);
        random_rows_add_counter(&random_rows);
        const struct ef_row_schema *s = &random_rows.schema;
        struct ef_parquet_writer_config config = {.schema = s};
        bool had[EF_ROW_MAX_COLUMNS];
        file.len = 0;
        ef_row_set_clear(&rows);
        write_file(&config, &rows, 200, &file);
        sort_groups(&rows, 200);
        for (unsigned i = 0; i < s->n_columns; i++) {
            had[i] = random_number(&random_rows) % 3 == 0;
        }
        assert_int_equal(open_buffer(&file, s, &reader), 0);
        assert_int_equal(ef_parquet_reader_group(reader, 0, had, &back, &err), 0);
        for (uint32_t i = 0; i < back.n_rows; i++) {
            back.rows[i] = random_number(&random_rows) % 4 ? NULL : back.rows[i];
        }
        assert_int_equal(ef_parquet_reader_rest(reader, 0, had, NULL, &back, &err), 0);
        for (uint32_t i = 0; i < back.n_rows; i++) {
            assert_true(!back.rows[i] || is_same_row(s, rows.rows[i], back.rows[i]));
            n_checked += back.rows[i] != NULL;
        }
        ef_parquet_reader_destroy(reader);
    }
    assert_in_range(n_checked, 60 * 30, 60 * 70);
    ef_row_set_deinit(&rows);
    ef_row_set_deinit(&back);
    ef_buffer_deinit(&file);
}

/* Three files, one of them without rows, as one. */
static void
test_join(void **state)
{
    enum { FILES = 3, ROWS = 50 };
    struct ef_buffer files[FILES] = {{0}}, joined = {0}, other = {0};
    struct ef_row_set rows = {.schema = &random_rows.schema}, back = {.schema = &random_rows.schema};
    struct ef_parquet_join *join = ef_parquet_join_create(add_to_buffer, &joined);
    struct ef_parquet_reader *reader;
    struct ef_error err = EF_ERROR_INIT;
    struct ef_parquet_writer_config config = {.schema = &random_rows.schema, .group_rows = 20};
    random_rows_init(&random_rows, 7);
    write_file(&config, &rows, 1, &other); /* With other columns. */
    ef_row_set_clear(&rows);
    random_rows_init(&random_rows, 6);
    for (unsigned i = 0; i < FILES; i++) {
        write_file(&config, &rows, i == 1 ? 0 : ROWS, &files[i]);
        struct ef_parquet_source source = {.read = read_buffer, .ctx = &files[i], .size = files[i].len};
        assert_int_equal(ef_parquet_join_add(join, &source, &err), 0);
        assert_int_equal(ef_parquet_join_meta(join)->n_rows, i == 1 ? 0 : ROWS);
        source.size -= 1 + i; /* Its end is missing. */
        assert_int_equal(ef_parquet_join_add(join, &source, &err), -EBADMSG);
    }
    struct ef_parquet_source source = {.read = read_buffer, .ctx = &other, .size = other.len};
    assert_int_equal(ef_parquet_join_add(join, &source, &err), -EINVAL);
    assert_int_equal(ef_parquet_join_finish(join), 0);
    ef_parquet_join_destroy(join);
    for (unsigned i = 0; i < 2 * ROWS; i += ROWS) {
        struct ef_row_set part = rows;
        part.rows += i;
        part.n_rows = ROWS;
        sort_groups(&part, 20);
    }
    assert_int_equal(open_buffer(&joined, &random_rows.schema, &reader), 0);
    uint32_t at = 0;
    for (unsigned g = 0; g < ef_parquet_reader_meta(reader)->n_groups; g++) {
        assert_int_equal(ef_parquet_reader_group(reader, g, NULL, &back, &err), 0);
        for (uint32_t i = 0; i < back.n_rows; i++) {
            assert_true(is_same_row(&random_rows.schema, rows.rows[at++], back.rows[i]));
            check_bounds(reader, g, &random_rows.schema, back.rows[i]);
        }
    }
    assert_int_equal(at, 2 * ROWS);
    ef_parquet_reader_destroy(reader);
    ef_row_set_deinit(&rows);
    ef_row_set_deinit(&back);
    for (unsigned i = 0; i < FILES; i++) {
        ef_buffer_deinit(&files[i]);
    }
    ef_buffer_deinit(&joined);
    ef_buffer_deinit(&other);
}

/* No byte that is changed or cut off leads astray: what is in pages is found out
 * by their checks, the rest at the latest when it contradicts itself. */
static void
test_damage(void **state)
{
    for (uint64_t seed = 1; seed < 5; seed++) {
        random_rows_init(&random_rows, seed);
        random_rows_add_counter(&random_rows);
        const struct ef_row_schema *s = &random_rows.schema;
        struct ef_parquet_writer_config config = {.schema = s, .group_rows = 20};
        struct ef_row_set rows = {.schema = s}, back = {.schema = s};
        struct ef_buffer file = {0};
        write_file(&config, &rows, 45, &file);
        size_t len = file.len;
        for (size_t i = 0; i < 2 * len; i += 1 + i % 5) {
            struct ef_parquet_reader *reader;
            struct ef_error err = EF_ERROR_INIT;
            bool is_cut = i >= len;
            uint8_t flip = (uint8_t) (1u << i % 8);
            file.len = is_cut ? i - len : len;
            file.data[i % len] ^= is_cut ? 0 : flip;
            if (!open_buffer(&file, s, &reader)) {
                assert_false(is_cut);
                for (unsigned g = 0; g < ef_parquet_reader_meta(reader)->n_groups; g++) {
                    ef_parquet_reader_group(reader, g, NULL, &back, &err);
                }
                ef_parquet_reader_destroy(reader);
            }
            file.data[i % len] ^= is_cut ? 0 : flip;
        }
        ef_row_set_deinit(&rows);
        ef_row_set_deinit(&back);
        ef_buffer_deinit(&file);
    }
}

static int
full_disk(void *ctx, const void *data, size_t len)
{
    return -ENOSPC;
}

static void
test_sink_fails(void **state)
{
    random_rows_init(&random_rows, 9);
    struct ef_parquet_writer_config config = {.schema = &random_rows.schema, .group_rows = 2, .sink = full_disk};
    struct ef_parquet_writer *writer;
    struct ef_error err = EF_ERROR_INIT;
    assert_int_equal(ef_parquet_writer_create(&config, &writer, &err), 0);
    assert_int_equal(ef_parquet_writer_add(writer, random_row(&random_rows)), 0);
    assert_int_equal(ef_parquet_writer_add(writer, random_row(&random_rows)), -ENOSPC);
    assert_int_equal(ef_parquet_writer_add(writer, random_row(&random_rows)), -ENOSPC);
    assert_int_equal(ef_parquet_writer_finish(writer, NULL, 0), -ENOSPC);
    ef_parquet_writer_destroy(writer);
}

static void
test_schema_check(void **state)
{
    struct ef_error err = EF_ERROR_INIT;
    struct ef_row_column columns[] = {{"time", EF_ROW_TIME, 0}, {"x", EF_ROW_U32, 8}};
    struct ef_row_schema s = {.columns = columns, .n_columns = 2, .row_bytes = 12};
    assert_int_equal(ef_row_schema_check(&s, &err), 0);
    uint64_t fingerprint = ef_row_schema_fingerprint(&s);
    columns[1].offset = 9;
    assert_int_equal(ef_row_schema_check(&s, &err), -EINVAL);
    columns[1] = (struct ef_row_column){"time", EF_ROW_U32, 8};
    assert_int_equal(ef_row_schema_check(&s, &err), -EINVAL);
    columns[1] = (struct ef_row_column){"x", EF_ROW_U16, 8};
    assert_int_equal(ef_row_schema_check(&s, &err), 0);
    assert_true(ef_row_schema_fingerprint(&s) != fingerprint);
    columns[0].type = EF_ROW_U64;
    assert_int_equal(ef_row_schema_check(&s, &err), -EINVAL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crc),        cmocka_unit_test(test_rle),          cmocka_unit_test(test_delta),
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_projection),   cmocka_unit_test(test_damage),
        cmocka_unit_test(test_sink_fails), cmocka_unit_test(test_schema_check), cmocka_unit_test(test_counter),
        cmocka_unit_test(test_join),       cmocka_unit_test(test_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
