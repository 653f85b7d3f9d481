/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that grow at their end. For control paths only: without memory the
 * program ends.
 *
 *     struct ef_buffer b = {0};
 *     ef_buffer_add(&b, "PAR1", 4);
 *     ef_store_le32(ef_buffer_grow(&b, 4), n);
 *     ef_buffer_deinit(&b);
 *
 * A pointer into a buffer is good until the next growth. One thread. */
#ifndef EF_STORE_ARCHIVE_BYTE_BUFFER_H
#define EF_STORE_ARCHIVE_BYTE_BUFFER_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct ef_buffer {
    uint8_t *data;
    size_t len, size;
};

/* realloc(), and malloc() with `p` NULL, that never fail. */
static inline void *
ef_must_realloc(void *p, size_t size)
{
    p = realloc(p, size ? size : 1);
    if (!p) {
        abort();
    }
    return p;
}

static inline void
ef_buffer_deinit(struct ef_buffer *b)
{
    free(b->data);
    *b = (struct ef_buffer){0};
}

/* Makes room for `n` bytes behind the end without moving the end. */
static inline void
ef_buffer_reserve(struct ef_buffer *b, size_t n)
{
    if (!b->data || b->size - b->len < n) {
        size_t size = b->size * 2 > b->len + n ? b->size * 2 : b->len + n + 64;
        b->data = ef_must_realloc(b->data, size);
        b->size = size;
    }
}

/* Appends `n` bytes that the caller fills, and returns where they are. */
static inline uint8_t *
ef_buffer_grow(struct ef_buffer *b, size_t n)
{
    ef_buffer_reserve(b, n);
    b->len += n;
    return b->data + b->len - n;
}

static inline void
ef_buffer_add(struct ef_buffer *b, const void *data, size_t n)
{
    if (n) {
        memcpy(ef_buffer_grow(b, n), data, n);
    }
}

static inline void
ef_buffer_add_byte(struct ef_buffer *b, uint8_t byte)
{
    *ef_buffer_grow(b, 1) = byte;
}

/* Little-endian numbers at any address; base/byteorder.h says why a copy does. */
static inline uint32_t
ef_load_le32(const void *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline uint64_t
ef_load_le64(const void *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void
ef_store_le32(void *p, uint32_t v)
{
    memcpy(p, &v, sizeof v);
}

static inline void
ef_store_le64(void *p, uint64_t v)
{
    memcpy(p, &v, sizeof v);
}

#endif
