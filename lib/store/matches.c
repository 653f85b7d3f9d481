/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept of one bucket for the installed filters: the rows that each
 * matches and the aggregates over them, in one block of memory. Immutable. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "store/filter_set_private.h"

/* Rows of one filter, at `offset` in `data`: a bit per row if `is_bitmap`, else
 * `n` row numbers in ascending order. */
struct rows {
    uint64_t id;
    uint32_t offset;
    uint32_t n : 31, is_bitmap : 1;
};

struct summary {
    uint64_t id;
    struct ef_aggregate_value value;
};

struct ef_matches {
    _Alignas(struct summary) size_t bytes; /* The summaries follow. */
    uint32_t n_filters, n_aggregates;
    struct summary *summaries; /* Ascending by id, as are the rows. */
    struct rows *rows;
    uint8_t *data;
};

uint64_t
ef_matches_bytes(const struct ef_matches *m)
{
    return m->bytes;
}

/* --- Making ------------------------------------------------------------------------- */

static uint32_t
count_bits(const uint64_t *bits, uint32_t n_words)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < n_words; i++) {
        n += (uint32_t) __builtin_popcountll(bits[i]);
    }
    return n;
}

/* Where each predicate's rows will lie; returns how many bytes they need. A
 * bitmap comes on a multiple of 8. */
static size_t
place(const struct ef_filter_work *work, uint32_t n_words, struct rows *rows)
{
    size_t at = 0;
    for (unsigned i = 0; i < work->n_unique; i++) {
        uint32_t n = count_bits(work->bitmaps + (size_t) i * work->n_words, n_words);
        size_t list = (n * sizeof(uint16_t) + 7) / 8 * 8, bitmap = n_words * sizeof(uint64_t);
        rows[i] = (struct rows){.offset = (uint32_t) at, .n = n, .is_bitmap = bitmap < list};
        at += rows[i].is_bitmap ? bitmap : list;
    }
    return at;
}

static void
write_rows(const struct rows *rows, const uint64_t *bits, uint32_t n_words, uint8_t *data)
{
    if (rows->is_bitmap) {
        memcpy(data + rows->offset, bits, n_words * sizeof *bits);
        return;
    }
    uint16_t *to = (uint16_t *) (void *) (data + rows->offset);
    for (uint32_t word = 0; word < n_words; word++) {
        for (uint64_t left = bits[word]; left; left &= left - 1) {
            *to++ = (uint16_t) (word * 64 + (uint32_t) __builtin_ctzll(left));
        }
    }
}

static struct ef_matches *
allocate(const struct ef_filter_work *work, size_t data_bytes)
{
    size_t bytes = sizeof(struct ef_matches) + work->n_aggregates * sizeof(struct summary) +
                   work->n_filters * sizeof(struct rows) + data_bytes;
    struct ef_matches *m = aligned_alloc(_Alignof(struct summary), (bytes + 15) / 16 * 16);
    if (m) {
        *m = (struct ef_matches){.bytes = bytes, .n_filters = work->n_filters, .n_aggregates = work->n_aggregates};
        m->summaries = (struct summary *) (m + 1);
        m->rows = (struct rows *) (m->summaries + work->n_aggregates);
        m->data = (uint8_t *) (m->rows + work->n_filters);
    }
    return m;
}

static void
summarise(struct ef_matches *m, const struct ef_filter_work *work, const struct ef_sealed *bucket)
{
    for (unsigned i = 0; i < work->n_aggregates; i++) {
        m->summaries[i] = (struct summary){work->aggregates[i].id, EF_AGGREGATE_VALUE_INIT};
        ef_aggregate_add_rows(&m->summaries[i].value, bucket->schema, work->aggregates[i].spec.column, bucket->columns,
                              0, bucket->id.n_rows, work->bitmaps + (size_t) work->aggregates[i].unique * work->n_words,
                              (struct ef_time){INT64_MIN}, (struct ef_time){INT64_MAX});
    }
}

struct ef_matches *
ef_matches_create(const struct ef_filter_work *work, const struct ef_sealed *bucket)
{
    uint32_t n_words = (bucket->id.n_rows + 63) / 64;
    struct rows *unique = calloc(work->n_unique + 1, sizeof *unique);
    if (!unique) {
        return NULL;
    }
    struct ef_matches *m = allocate(work, place(work, n_words, unique));
    for (unsigned i = 0; m && i < work->n_unique; i++) {
        write_rows(&unique[i], work->bitmaps + (size_t) i * work->n_words, n_words, m->data);
    }
    for (unsigned i = 0; m && i < work->n_filters; i++) {
        m->rows[i] = unique[work->unique[i]];
        m->rows[i].id = work->filters[i]->id;
    }
    if (m) {
        summarise(m, work, bucket);
    }
    free(unique);
    return m;
}

/* --- Reading ------------------------------------------------------------------------ */

static int
compare_ids(const void *id_, const void *entry)
{
    uint64_t id = *(const uint64_t *) id_, other;
    memcpy(&other, entry, sizeof other); /* Both kinds of entry begin with it. */
    return (id > other) - (id < other);
}

static void
bits_from_list(const uint16_t *rows, uint32_t n, uint32_t first_row, uint32_t n_rows, uint64_t *bits)
{
    uint32_t low = 0, high = n;
    while (low < high) { /* The first one that is not before the rows asked for. */
        uint32_t middle = (low + high) / 2;
        if (rows[middle] < first_row) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    memset(bits, 0, (n_rows + 63) / 64 * sizeof *bits);
    for (; low < n && rows[low] - first_row < n_rows; low++) {
        uint32_t row = rows[low] - first_row;
        bits[row / 64] |= UINT64_C(1) << row % 64;
    }
}

static void
bits_from_bitmap(const uint64_t *bitmap, uint32_t first_row, uint32_t n_rows, uint64_t *bits)
{
    for (uint32_t i = 0; i < n_rows; i += 64) {
        uint32_t row = first_row + i, left = n_rows - i, shift = row % 64;
        uint64_t word = bitmap[row / 64] >> shift;
        if (shift && left > 64 - shift) {
            word |= bitmap[row / 64 + 1] << (64 - shift);
        }
        bits[i / 64] = left < 64 ? word & ((UINT64_C(1) << left) - 1) : word;
    }
}

bool
ef_matches_eval(const struct ef_matches *m, uint64_t id, uint32_t first_row, uint32_t n_rows, uint64_t *bits)
{
    const struct rows *rows = bsearch(&id, m->rows, m->n_filters, sizeof *rows, compare_ids);
    if (!rows) {
        return false;
    }
    const void *data = m->data + rows->offset;
    if (rows->is_bitmap) {
        bits_from_bitmap(data, first_row, n_rows, bits);
    } else {
        bits_from_list(data, rows->n, first_row, n_rows, bits);
    }
    return true;
}

const struct ef_aggregate_value *
ef_matches_summary(const struct ef_matches *m, uint64_t id)
{
    const struct summary *summary = bsearch(&id, m->summaries, m->n_aggregates, sizeof *summary, compare_ids);
    return summary ? &summary->value : NULL;
}
