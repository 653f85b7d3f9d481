/* SPDX-License-Identifier: Apache-2.0 */
/* Distinct values; see dictionary.h. */
#include <config.h>

#include "store/archive/dictionary.h"

#include "base/hash.h"
#include "base/util.h"
#include "store/archive/encoding.h"

enum {
    MAX_DISTINCT = 1 << 16,
    PROBE = 2048, /* After so many values it is known whether they repeat at all. */
};

static uint64_t
hash_value(const struct ef_column_data *d, uint32_t i)
{
    if (d->type == EF_ROW_BYTES) {
        return ef_hash64(d->bytes[i].data ? d->bytes[i].data : "", d->bytes[i].len);
    }
    if (d->type == EF_ROW_FIXED) {
        return ef_hash64(d->fixed + (size_t) i * d->width, d->width);
    }
    return ef_hash64(&d->numbers[i], sizeof d->numbers[i]);
}

static bool
is_equal(const struct ef_column_data *a, uint32_t i, const struct ef_column_data *b, uint32_t j)
{
    if (a->type == EF_ROW_BYTES) {
        return a->bytes[i].len == b->bytes[j].len &&
               (!a->bytes[i].len || !memcmp(a->bytes[i].data, b->bytes[j].data, a->bytes[i].len));
    }
    if (a->type == EF_ROW_FIXED) {
        return !memcmp(a->fixed + (size_t) i * a->width, b->fixed + (size_t) j * b->width, a->width);
    }
    return a->numbers[i] == b->numbers[j];
}

static void
add_value(struct ef_column_data *to, const struct ef_column_data *from, uint32_t i)
{
    ef_column_data_reserve(to, 1, 0);
    if (to->type == EF_ROW_BYTES) {
        to->bytes[to->n_values] = from->bytes[i];
    } else if (to->type == EF_ROW_FIXED) {
        memcpy(to->fixed + (size_t) to->n_values * to->width, from->fixed + (size_t) i * to->width, to->width);
    } else {
        to->numbers[to->n_values] = from->numbers[i];
    }
    to->n_values++;
}

/* True if the dictionary has become too large for the first `n` values. */
static bool
is_vain(uint32_t n_distinct, uint32_t n)
{
    return n_distinct > MAX_DISTINCT || (n >= PROBE && n_distinct > n - n / 4);
}

/* `slots` holds 1 + the index of a value, or 0; its size is `mask` + 1. */
static bool
number_values(struct ef_dictionary *dict, const struct ef_column_data *d, uint32_t *slots, uint32_t mask)
{
    for (uint32_t i = 0; i < d->n_values; i++) {
        uint32_t at = (uint32_t) hash_value(d, i) & mask;
        while (slots[at] && !is_equal(&dict->values, slots[at] - 1, d, i)) {
            at = (at + 1) & mask;
        }
        if (!slots[at]) {
            add_value(&dict->values, d, i);
            slots[at] = dict->values.n_values;
            if (is_vain(dict->values.n_values, i + 1)) {
                return false;
            }
        }
        dict->indexes[i] = slots[at] - 1;
    }
    return true;
}

bool
ef_dictionary_build(struct ef_dictionary *dict, const struct ef_column_data *d)
{
    *dict = (struct ef_dictionary){.values = {.type = d->type, .width = d->width}};
    uint32_t n_slots = 1024;
    while (n_slots < 2 * EF_MIN(d->n_values, (uint32_t) MAX_DISTINCT + 1)) {
        n_slots *= 2;
    }
    uint32_t *slots = ef_must_realloc(NULL, n_slots * sizeof *slots);
    memset(slots, 0, n_slots * sizeof *slots);
    dict->indexes = ef_must_realloc(NULL, d->n_values * sizeof *dict->indexes);
    bool pays = d->n_values && number_values(dict, d, slots, n_slots - 1);
    free(slots);
    dict->index_bits = pays ? EF_MAX(ef_bit_width(dict->values.n_values - 1), 1u) : 0;
    return pays;
}

void
ef_dictionary_deinit(struct ef_dictionary *dict)
{
    ef_column_data_deinit(&dict->values);
    free(dict->indexes);
    *dict = (struct ef_dictionary){0};
}
