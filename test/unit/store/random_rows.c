/* SPDX-License-Identifier: Apache-2.0 */
/* Random rows; see random_rows.h. */
#include <config.h>

#include "unit/store/random_rows.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/time.h"

enum { CONSTANT, FEW, CLIMBING, SMALL, ANY, N_KINDS };

uint64_t
random_number(struct random_rows *r)
{
    r->state += 0x9e3779b97f4a7c15u;
    return ef_hash64(&r->state, sizeof r->state);
}

/* --- The schema ---------------------------------------------------------------- */

static void
add_column(struct random_rows *r, unsigned list, enum ef_row_type type, uint32_t *size)
{
    unsigned i = r->schema.n_columns++;
    snprintf(r->names[i], sizeof r->names[i], "c%u", i);
    bool is_null = i && random_number(r) % 3 == 0;
    *size = (*size + 7) / 8 * 8;
    r->columns[i] = (struct ef_row_column){
        .name = r->names[i],
        .type = type,
        .offset = *size,
        .null_flag = is_null ? *size + 64 + 1 : 0,
        .list = (uint8_t) list,
        .width = type == EF_ROW_FIXED ? (uint16_t) (1 + random_number(r) % 20) : 0,
    };
    r->kinds[i] = (uint8_t) (random_number(r) % N_KINDS);
    *size += 72;
}

static void
add_list(struct random_rows *r, unsigned list)
{
    uint32_t size = 0;
    unsigned n = 1 + (unsigned) (random_number(r) % 5);
    for (unsigned i = 0; i < n; i++) {
        add_column(r, list + 1, (enum ef_row_type)(random_number(r) % EF_N_ROW_TYPES), &size);
    }
    r->lists[list] = (struct ef_row_list_column){list ? "visits" : "hops", r->schema.row_bytes, size};
    r->schema.row_bytes += sizeof(struct ef_row_list);
}

void
random_rows_init(struct random_rows *r, uint64_t seed)
{
    memset(r, 0, sizeof *r);
    r->state = seed;
    r->schema.columns = r->columns;
    r->schema.lists = r->lists;
    add_column(r, 0, EF_ROW_TIME, &r->schema.row_bytes);
    unsigned n = (unsigned) (random_number(r) % 12);
    for (unsigned i = 0; i < n; i++) {
        add_column(r, 0, (enum ef_row_type)(random_number(r) % EF_N_ROW_TYPES), &r->schema.row_bytes);
    }
    unsigned n_row_columns = r->schema.n_columns;
    r->schema.n_lists = (unsigned) (random_number(r) % 3);
    for (unsigned i = 0; i < r->schema.n_lists; i++) {
        add_list(r, i);
    }
    for (unsigned i = 0; i < 3; i++) {
        unsigned column = (unsigned) (random_number(r) % n_row_columns);
        if (r->columns[column].type != EF_ROW_BYTES) {
            r->schema.sort[r->schema.n_sort++] = (uint8_t) column;
        }
    }
}

bool
random_rows_add_counter(struct random_rows *r)
{
    static const char *const names[] = {"key", "count", "key", "least"};
    if (r->schema.n_lists != 2) {
        return false;
    }
    unsigned first = r->schema.n_columns, width = (unsigned) (1 + random_number(r) % 16);
    uint32_t size = r->lists[1].element_bytes;
    for (unsigned i = 0; i < 4; i++) {
        bool is_key = i % 2 == 0;
        r->columns[first + i] = (struct ef_row_column){.name = names[i],
                                                       .type = is_key ? EF_ROW_FIXED : EF_ROW_U32,
                                                       .offset = (i < 2 ? size : 0) + (is_key ? 0 : 24),
                                                       .null_flag = i == 1 ? size + 28 + 1 : 0,
                                                       .list = i < 2 ? 2 : 3,
                                                       .width = is_key ? (uint16_t) width : 0};
        r->kinds[first + i] = is_key ? FEW : random_number(r) % 2 ? CLIMBING : ANY;
    }
    r->schema.n_columns += 4;
    r->lists[1].element_bytes += 32;
    r->lists[2] = (struct ef_row_list_column){"least", r->schema.row_bytes, 32};
    r->schema.row_bytes += sizeof(struct ef_row_list);
    r->schema.n_lists = 3;
    r->counter_columns = (struct ef_row_counter){.key = (uint8_t) first,
                                                 .column = (uint8_t) (first + 1),
                                                 .base_key = (uint8_t) (first + 2),
                                                 .base = (uint8_t) (first + 3)};
    r->schema.counter = &r->counter_columns;
    return true;
}

/* --- Rows ---------------------------------------------------------------------- */

static uint64_t
number_of_kind(struct random_rows *r, unsigned kind)
{
    switch (kind) {
    case CONSTANT:
        return 0x123456789abcdef;
    case FEW:
        return random_number(r) % 7 * 0x0101010101010101;
    case CLIMBING:
        return r->counter++ * 1000 + random_number(r) % 50;
    case SMALL:
        return random_number(r) % 100;
    default:
        return random_number(r) % 16 ? random_number(r) : random_number(r) % 2 ? UINT64_MAX : (uint64_t) 1 << 63;
    }
}

static struct ef_bytes
bytes_of_kind(struct random_rows *r, unsigned kind)
{
    uint32_t len = kind == ANY && random_number(r) % 50 == 0 ? 5000 : (uint32_t) (random_number(r) % 20);
    uint64_t seed = number_of_kind(r, kind);
    if (len > sizeof r->bytes - r->bytes_used) {
        len = 0;
    }
    uint8_t *at = r->bytes + r->bytes_used;
    for (uint32_t i = 0; i < len; i++) {
        at[i] = (uint8_t) (seed >> i % 8 * 8);
    }
    r->bytes_used += len;
    return (struct ef_bytes){at, len};
}

static void
fill(struct random_rows *r, unsigned list, uint8_t *base)
{
    for (unsigned i = 0; i < r->schema.n_columns; i++) {
        const struct ef_row_column *c = &r->columns[i];
        if (c->list != list) {
            continue;
        }
        bool has = !c->null_flag || random_number(r) % 4;
        if (c->null_flag) {
            base[c->null_flag - 1] = has;
        }
        if (!has) {
            continue;
        }
        if (c->type == EF_ROW_BYTES) {
            struct ef_bytes value = bytes_of_kind(r, r->kinds[i]);
            memcpy(base + c->offset, &value, sizeof value);
        } else if (c->type == EF_ROW_FIXED) {
            for (unsigned k = 0; k < c->width; k += 8) {
                uint64_t value = number_of_kind(r, r->kinds[i]);
                memcpy(base + c->offset + k, &value, 8);
            }
        } else {
            ef_row_set_number(c, base, number_of_kind(r, r->kinds[i]));
        }
    }
}

const void *
random_row(struct random_rows *r)
{
    memset(r->row, 0, sizeof r->row);
    r->bytes_used = 0;
    fill(r, 0, r->row);
    for (unsigned i = 0; i < r->schema.n_lists - (r->schema.counter != NULL); i++) {
        uint32_t n = (uint32_t) (random_number(r) % 3 ? random_number(r) % 6 : 0);
        struct ef_row_list list = {r->elements[i], n};
        memset(r->elements[i], 0, (size_t) n * r->lists[i].element_bytes);
        for (uint32_t k = 0; k < n; k++) {
            fill(r, i + 1, r->elements[i] + (size_t) k * r->lists[i].element_bytes);
        }
        memcpy(r->row + r->lists[i].offset, &list, sizeof list);
    }
    return r->row;
}
