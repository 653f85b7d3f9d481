/* SPDX-License-Identifier: Apache-2.0 */
/* Indexes over sealed rows: see index.h. */
#include <config.h>

#include "store/index.h"

#include <stdlib.h>
#include <string.h>

#include "base/byteorder.h"
#include "base/util.h"

/* --- Values ----------------------------------------------------------------------- */

static bool
is_number(enum ef_column_type type)
{
    return type <= EF_COLUMN_IPV4;
}

int
ef_index_compare(enum ef_column_type type, uint32_t width, const void *a, const void *b)
{
    if (!is_number(type)) {
        return memcmp(a, b, width);
    }
    uint64_t x = ef_index_number(type, width, a), y = ef_index_number(type, width, b);
    return (x > y) - (x < y);
}

static EF_ALWAYS_INLINE bool
are_numbers_sorted(const struct ef_index_input *in, enum ef_column_type type, uint32_t width)
{
    uint64_t previous = 0;
    for (uint32_t i = 0; i < in->n; i++) {
        uint64_t number = ef_index_number(type, width, in->values + (size_t) i * width);
        if (number < previous) {
            return false;
        }
        previous = number;
    }
    return true;
}

static bool
is_sorted(const struct ef_index_input *in)
{
    if (is_number(in->type)) {
        return are_numbers_sorted(in, in->type, in->width);
    }
    for (uint32_t i = 1; i < in->n; i++) {
        const uint8_t *value = in->values + (size_t) i * in->width;
        if (memcmp(value - in->width, value, in->width) > 0) {
            return false;
        }
    }
    return true;
}

/* --- Sorting ---------------------------------------------------------------------- */

enum { DIGIT_BITS = 12, DIGITS = 1 << DIGIT_BITS };

struct ef_index_scratch {
    uint32_t capacity;
    uint32_t *words;        /* Of each value, the 32 bits that are being sorted. */
    uint32_t *order, *next; /* Numbers of values in the order so far; and after the pass. */
    uint32_t counts[DIGITS];
    unsigned n_passes; /* So far. */
    uint32_t base;     /* The least word of the last pass. */
    uint32_t *starts;  /* Where each different value begins in the order. */
};

struct ef_index_scratch *
ef_index_scratch_create(void)
{
    return calloc(1, sizeof(struct ef_index_scratch));
}

void
ef_index_scratch_destroy(struct ef_index_scratch *s)
{
    if (s) {
        free(s->words);
        free(s->order);
        free(s->next);
        free(s->starts);
        free(s);
    }
}

static bool
grow(struct ef_index_scratch *s, uint32_t n)
{
    if (n <= s->capacity) {
        return true;
    }
    uint32_t **arrays[] = {&s->words, &s->order, &s->next, &s->starts};
    for (unsigned i = 0; i < EF_ARRAY_SIZE(arrays); i++) {
        uint32_t *array = realloc(*arrays[i], ((size_t) n + 1) * sizeof *array);
        if (!array) {
            return false;
        }
        *arrays[i] = array;
    }
    s->capacity = n;
    return true;
}

/* Of a number, word 0 is the low 32 bits. */
static EF_ALWAYS_INLINE void
take_number_words(const struct ef_index_input *in, enum ef_column_type type, uint32_t width, unsigned word,
                  uint32_t *words)
{
    for (uint32_t i = 0; i < in->n; i++) {
        words[i] = (uint32_t) (ef_index_number(type, width, in->values + (size_t) i * width) >> 32 * word);
    }
}

/* Of bytes, word 0 is the last four, of which the first weighs most. */
static void
take_byte_words(const struct ef_index_input *in, unsigned word, uint32_t *words)
{
    uint32_t end = in->width - 4 * word, len = EF_MIN(end, 4u);
    for (uint32_t i = 0; i < in->n; i++) {
        const uint8_t *bytes = in->values + (size_t) i * in->width + end - len;
        uint32_t w = 0;
        for (uint32_t j = 0; j < len; j++) {
            w = w << 8 | bytes[j];
        }
        words[i] = w;
    }
}

/* The same for addresses of 16 bytes. */
static void
take_address_words(const struct ef_index_input *in, unsigned word, uint32_t *words)
{
    const uint8_t *bytes = in->values + 12 - (size_t) word * 4;
    for (uint32_t i = 0; i < in->n; i++) {
        words[i] = ef_load_be32(bytes + (size_t) i * 16);
    }
}

/* With constant widths: the loops are tight. */
static void
take_words(const struct ef_index_input *in, unsigned word, uint32_t *words)
{
    if (!is_number(in->type) && in->width == 16) {
        take_address_words(in, word, words);
    } else if (!is_number(in->type)) {
        take_byte_words(in, word, words);
    } else if (in->width == 1) {
        take_number_words(in, EF_COLUMN_U8, 1, word, words);
    } else if (in->width == 2) {
        take_number_words(in, EF_COLUMN_U16, 2, word, words);
    } else if (in->width == 4) {
        take_number_words(in, EF_COLUMN_U32, 4, word, words);
    } else {
        take_number_words(in, in->type, 8, word, words);
    }
}

/* One stable pass over the digit of `mask` at `shift`. The first takes the values
 * as they lie. */
static void
sort_pass(struct ef_index_scratch *s, uint32_t n, uint32_t base, unsigned shift, uint32_t mask)
{
    memset(s->counts, 0, (mask + (size_t) 1) * sizeof s->counts[0]);
    for (uint32_t i = 0; i < n; i++) {
        s->counts[(s->words[i] - base) >> shift & mask]++;
    }
    uint32_t sum = 0;
    for (uint32_t d = 0; d <= mask; d++) {
        uint32_t count = s->counts[d];
        s->counts[d] = sum;
        sum += count;
    }
    if (!s->n_passes) {
        for (uint32_t i = 0; i < n; i++) {
            s->next[s->counts[(s->words[i] - base) >> shift & mask]++] = i;
        }
    } else {
        for (uint32_t i = 0; i < n; i++) {
            uint32_t value = s->order[i];
            s->next[s->counts[(s->words[value] - base) >> shift & mask]++] = value;
        }
    }
    uint32_t *order = s->next;
    s->next = s->order;
    s->order = order;
    s->n_passes++;
    s->base = base;
}

static void
sort_by_words(struct ef_index_scratch *s, uint32_t n)
{
    uint32_t min = UINT32_MAX, max = 0;
    for (uint32_t i = 0; i < n; i++) {
        min = EF_MIN(min, s->words[i]);
        max = EF_MAX(max, s->words[i]);
    }
    unsigned bits = max > min ? 32 - (unsigned) __builtin_clz(max - min) : 0;
    unsigned n_digits = (bits + DIGIT_BITS - 1) / DIGIT_BITS;
    for (unsigned i = 0; i < n_digits; i++) {
        unsigned width = (bits + n_digits - 1) / n_digits;
        sort_pass(s, n, min, i * width, (1u << width) - 1);
    }
}

static void
sort(const struct ef_index_input *in, struct ef_index_scratch *s)
{
    unsigned n_words = (in->width + 3) / 4;
    s->n_passes = 0;
    for (unsigned word = 0; word < n_words; word++) {
        take_words(in, word, s->words);
        sort_by_words(s, in->n);
    }
    if (!s->n_passes) {
        for (uint32_t i = 0; i < in->n; i++) {
            s->order[i] = i;
        }
    }
}

/* --- Building --------------------------------------------------------------------- */

/* Of so many different values and more, bitmaps are larger than postings. */
enum { MAX_BITMAPS = 16 };

/* Where each different value begins. After a single pass over a column of one
 * word the digits are the values, and the counts where each ends. */
static uint32_t
find_starts(const struct ef_index_input *in, struct ef_index_scratch *s)
{
    uint32_t n_keys = 0;
    if (s->n_passes == 1 && in->width <= 4) {
        uint32_t start = 0;
        for (uint32_t d = 0; start < in->n; d++) {
            s->starts[n_keys] = start;
            n_keys += s->counts[d] > start;
            start = s->counts[d];
        }
    } else {
        for (uint32_t i = 0; i < in->n; i++) {
            const uint8_t *value = in->values + (size_t) s->order[i] * in->width;
            if (!i || memcmp(in->values + (size_t) s->order[i - 1] * in->width, value, in->width) != 0) {
                s->starts[n_keys++] = i;
            }
        }
    }
    s->starts[n_keys] = in->n;
    return n_keys;
}

static size_t
words_of(uint32_t n_rows)
{
    return (n_rows + 63) / 64;
}

static size_t
directory_bytes(uint32_t n_keys, uint32_t width)
{
    return ((size_t) n_keys + 1) * sizeof(uint32_t) + (size_t) n_keys * width;
}

static size_t
bitmap_bytes(uint32_t n_keys, uint32_t n_rows)
{
    return n_keys * words_of(n_rows) * sizeof(uint64_t);
}

static size_t
postings_bytes(uint32_t n)
{
    return ((size_t) n * sizeof(uint16_t) + 7) / 8 * 8;
}

size_t
ef_index_max_bytes(uint32_t n, uint32_t width, bool is_multi_valued)
{
    size_t directory =
        is_multi_valued ? directory_bytes(n, width) : EF_MAX(postings_bytes(n), directory_bytes(MAX_BITMAPS, width));
    return sizeof(struct ef_index) + postings_bytes(n) + directory;
}

/* What the index will have; the memory behind the struct is divided in order of
 * alignment. */
static struct ef_index *
allocate(const struct ef_index_input *in, enum ef_index_form form, uint32_t n_keys)
{
    size_t data = form == EF_INDEX_BITMAPS ? bitmap_bytes(n_keys, in->n_rows)
                                           : (form == EF_INDEX_POSTINGS ? postings_bytes(in->n) : 0);
    size_t directory = n_keys ? directory_bytes(n_keys, in->width) : 0;
    size_t bytes = sizeof(struct ef_index) + data + directory;
    struct ef_index *index = malloc(bytes);
    if (!index) {
        return NULL;
    }
    uint8_t *behind = (uint8_t *) (index + 1);
    *index = (struct ef_index){
        .form = form,
        .type = in->type,
        .width = in->width,
        .n = in->n,
        .n_rows = in->n_rows,
        .n_keys = n_keys,
        .bytes = bytes,
        .values = in->rows ? NULL : in->values,
        .bitmaps = (const uint64_t *) (const void *) behind,
        .rows = (const uint16_t *) (const void *) behind,
        .starts = (const uint32_t *) (const void *) (behind + data),
        .keys = behind + data + ((size_t) n_keys + 1) * sizeof(uint32_t),
    };
    return index;
}

static void
fill_directory(const struct ef_index *index, const struct ef_index_input *in, const struct ef_index_scratch *s)
{
    uint8_t *keys = (uint8_t *) index->keys;
    if (!index->n_keys) {
        return;
    }
    memcpy((uint32_t *) index->starts, s->starts, ((size_t) index->n_keys + 1) * sizeof(uint32_t));
    for (uint32_t k = 0; k < index->n_keys; k++) {
        memcpy(keys + (size_t) k * in->width, in->values + (size_t) s->order[s->starts[k]] * in->width, in->width);
    }
}

static uint32_t
row_of(const struct ef_index_input *in, uint32_t value)
{
    return in->rows ? in->rows[value] : value;
}

static void
fill_postings(const struct ef_index *index, const struct ef_index_input *in, const struct ef_index_scratch *s)
{
    uint16_t *rows = (uint16_t *) index->rows;
    for (uint32_t i = 0; i < in->n; i++) {
        rows[i] = (uint16_t) row_of(in, s->order[i]);
    }
}

static void
fill_bitmaps(const struct ef_index *index, const struct ef_index_input *in, const struct ef_index_scratch *s)
{
    uint64_t *bits = (uint64_t *) index->bitmaps;
    memset(bits, 0, bitmap_bytes(index->n_keys, in->n_rows));
    for (uint32_t k = 0; k < index->n_keys; k++, bits += words_of(in->n_rows)) {
        for (uint32_t i = s->starts[k]; i < s->starts[k + 1]; i++) {
            uint32_t row = row_of(in, s->order[i]);
            bits[row / 64] |= UINT64_C(1) << row % 64;
        }
    }
}

struct ef_index *
ef_index_build(const struct ef_index_input *in, struct ef_index_scratch *s)
{
    if (!in->rows && is_sorted(in)) {
        return allocate(in, EF_INDEX_IN_ORDER, 0);
    }
    if (!in->n) {
        return allocate(in, EF_INDEX_POSTINGS, 0);
    }
    if (!grow(s, in->n)) {
        return NULL;
    }
    sort(in, s);
    uint32_t n_keys = find_starts(in, s);
    bool has_bitmaps = n_keys <= MAX_BITMAPS && bitmap_bytes(n_keys, in->n_rows) <= postings_bytes(in->n);
    bool has_directory = in->rows || has_bitmaps || directory_bytes(n_keys, in->width) <= postings_bytes(in->n);
    struct ef_index *index =
        allocate(in, has_bitmaps ? EF_INDEX_BITMAPS : EF_INDEX_POSTINGS, has_directory ? n_keys : 0);
    if (!index) {
        return NULL;
    }
    fill_directory(index, in, s);
    if (has_bitmaps) {
        fill_bitmaps(index, in, s);
    } else {
        fill_postings(index, in, s);
    }
    return index;
}

void
ef_index_destroy(struct ef_index *index)
{
    free(index);
}

/* --- Looking up ------------------------------------------------------------------- */

/* The `i`th thing that a search compares with: a key of the directory, or the
 * value at that place of the order. */
static const uint8_t *
searched(const struct ef_index *index, uint32_t i)
{
    if (index->n_keys) {
        return index->keys + (size_t) i * index->width;
    }
    uint32_t row = index->form == EF_INDEX_IN_ORDER ? i : index->rows[i];
    return index->values + (size_t) row * index->width;
}

/* The first place whose value is not less than `bound`; or, past equal ones, is
 * greater. */
static uint32_t
search(const struct ef_index *index, const void *bound, bool is_past_equal)
{
    uint32_t low = 0, high = index->n_keys ? index->n_keys : index->n;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        int order = ef_index_compare(index->type, index->width, searched(index, middle), bound);
        if (order < 0 || (is_past_equal && order == 0)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return index->n_keys ? index->starts[low] : low;
}

struct ef_index_range
ef_index_find(const struct ef_index *index, const void *low, const void *high)
{
    if (!index->n) {
        return (struct ef_index_range){0, 0};
    }
    uint32_t first = search(index, low, false), end = search(index, high, true);
    return (struct ef_index_range){first, end > first ? end - first : 0};
}

/* Sets the bits `first` to `first` + `n` - 1. */
static void
mark_run(uint64_t *bits, uint32_t first, uint32_t n)
{
    while (n) {
        uint32_t at = first % 64, len = EF_MIN(64 - at, n);
        bits[first / 64] |= (len == 64 ? UINT64_MAX : (UINT64_C(1) << len) - 1) << at;
        first += len;
        n -= len;
    }
}

static void
mark_bitmaps(const struct ef_index *index, struct ef_index_range range, uint64_t *bits)
{
    size_t n_words = words_of(index->n_rows);
    const uint64_t *bitmap = index->bitmaps;
    for (uint32_t k = 0; k < index->n_keys; k++, bitmap += n_words) {
        if (index->starts[k] >= range.first && index->starts[k] - range.first < range.n) {
            for (size_t i = 0; i < n_words; i++) {
                bits[i] |= bitmap[i];
            }
        }
    }
}

void
ef_index_mark(const struct ef_index *index, struct ef_index_range range, uint64_t *bits)
{
    switch (index->form) {
    case EF_INDEX_IN_ORDER:
        mark_run(bits, range.first, range.n);
        break;
    case EF_INDEX_BITMAPS:
        mark_bitmaps(index, range, bits);
        break;
    case EF_INDEX_POSTINGS:
        for (const uint16_t *row = index->rows + range.first, *end = row + range.n; row < end; row++) {
            bits[*row / 64] |= UINT64_C(1) << *row % 64;
        }
        break;
    }
}
