/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of rows; see row_set.h. */
#include <config.h>

#include "store/archive/row_set.h"

#include "base/util.h"
#include "store/archive/byte_buffer.h"

enum { BLOCK_BYTES = 1 << 18 };

struct ef_row_set_block {
    struct ef_row_set_block *next;
    size_t used, size;
    uint8_t bytes[] __attribute__((aligned(16)));
};

static void
free_blocks(struct ef_row_set_block *block)
{
    while (block) {
        struct ef_row_set_block *next = block->next;
        free(block);
        block = next;
    }
}

void
ef_row_set_deinit(struct ef_row_set *set)
{
    free_blocks(set->blocks);
    free_blocks(set->spare);
    free(set->rows);
    *set = (struct ef_row_set){.schema = set->schema};
}

void
ef_row_set_clear(struct ef_row_set *set)
{
    while (set->blocks) {
        struct ef_row_set_block *block = set->blocks;
        set->blocks = block->next;
        /* Blocks for outsize values are not kept. */
        if (block->size > BLOCK_BYTES) {
            free(block);
        } else {
            block->next = set->spare;
            set->spare = block;
        }
    }
    set->n_rows = 0;
    set->n_bytes = 0;
}

static struct ef_row_set_block *
new_block(struct ef_row_set *set, size_t size)
{
    struct ef_row_set_block *block = set->spare;
    if (block && size <= BLOCK_BYTES) {
        set->spare = block->next;
    } else {
        size = EF_MAX(size, (size_t) BLOCK_BYTES);
        block = ef_must_realloc(NULL, sizeof *block + size);
        block->size = size;
    }
    block->used = 0;
    block->next = set->blocks;
    set->blocks = block;
    return block;
}

void *
ef_row_set_alloc(struct ef_row_set *set, size_t size)
{
    struct ef_row_set_block *block = set->blocks;
    size = (size + 7) / 8 * 8;
    if (!block || block->size - block->used < size) {
        block = new_block(set, size);
    }
    void *p = block->bytes + block->used;
    block->used += size;
    set->n_bytes += size;
    return p;
}

static void *
copy_bytes(struct ef_row_set *set, const void *data, size_t size)
{
    void *copy = ef_row_set_alloc(set, size);
    if (size) {
        memcpy(copy, data, size);
    }
    return copy;
}

/* Replaces the bytes that the struct at `base`, of list number `list`, borrows
 * by copies. */
static void
own_bytes(struct ef_row_set *set, unsigned list, void *base)
{
    for (unsigned i = 0; i < set->schema->n_columns; i++) {
        const struct ef_row_column *c = &set->schema->columns[i];
        if (c->list != list || c->type != EF_ROW_BYTES) {
            continue;
        }
        struct ef_bytes value = {0};
        if (ef_row_has(c, base)) {
            memcpy(&value, (uint8_t *) base + c->offset, sizeof value);
            value.data = copy_bytes(set, value.data, value.len);
        }
        memcpy((uint8_t *) base + c->offset, &value, sizeof value);
    }
}

static void
own_list(struct ef_row_set *set, unsigned index, void *row)
{
    const struct ef_row_list_column *l = &set->schema->lists[index];
    struct ef_row_list list;
    memcpy(&list, (uint8_t *) row + l->offset, sizeof list);
    uint8_t *elements = copy_bytes(set, list.elements, (size_t) list.n * l->element_bytes);
    list.elements = elements;
    memcpy((uint8_t *) row + l->offset, &list, sizeof list);
    for (uint32_t i = 0; i < list.n; i++) {
        own_bytes(set, index + 1, elements + (size_t) i * l->element_bytes);
    }
}

void
ef_row_set_push(struct ef_row_set *set, void *row)
{
    if (set->n_rows == set->rows_room) {
        set->rows_room = EF_MAX(set->rows_room * 2, 1024u);
        set->rows = ef_must_realloc(set->rows, set->rows_room * sizeof *set->rows);
    }
    set->rows[set->n_rows++] = row;
}

void *
ef_row_set_add(struct ef_row_set *set, const void *row)
{
    void *copy = copy_bytes(set, row, set->schema->row_bytes);
    own_bytes(set, 0, copy);
    for (unsigned i = 0; i < set->schema->n_lists; i++) {
        own_list(set, i, copy);
    }
    ef_row_set_push(set, copy);
    return copy;
}

/* A merge sort from the bottom up: stable, and quick where runs are in order. */
void
ef_row_set_sort(struct ef_row_set *set)
{
    uint32_t n = set->n_rows;
    void **from = set->rows, **to = ef_must_realloc(NULL, n * sizeof *to), **spare = to;
    for (uint64_t width = 1; width < n; width *= 2) {
        for (uint64_t start = 0; start < n; start += 2 * width) {
            uint64_t a = start, a_end = EF_MIN(start + width, (uint64_t) n);
            uint64_t b = a_end, b_end = EF_MIN(start + 2 * width, (uint64_t) n);
            for (uint64_t i = start; i < b_end; i++) {
                bool take_a = b == b_end || (a < a_end && ef_row_compare(set->schema, from[a], from[b]) <= 0);
                to[i] = take_a ? from[a++] : from[b++];
            }
        }
        void **swap = from;
        from = to;
        to = swap;
    }
    if (from == spare && n) {
        memcpy(set->rows, from, n * sizeof *from);
    }
    free(spare);
}
