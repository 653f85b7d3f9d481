/* SPDX-License-Identifier: Apache-2.0 */
/* A position in bytes from outside, with two ends: what was captured, and what
 * was on the wire. Every parser of lib/packet reads through it, so that a read
 * beyond the captured bytes cannot be written down by accident.
 *
 *     const uint8_t *udp = ef_cursor_peek(&c, 8);
 *     if (!udp) return ef_cursor_on_wire(&c, 8) ? CUT : MALFORMED;
 *
 * Holds always: offset <= end <= wire_end. */
#ifndef EF_PACKET_CURSOR_H
#define EF_PACKET_CURSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/util.h"

struct ef_cursor {
    const uint8_t *data;
    uint32_t offset;
    uint32_t end;      /* Of the captured bytes of the enclosing packet. */
    uint32_t wire_end; /* Of its bytes on the wire. */
};

static inline uint32_t
ef_cursor_left(const struct ef_cursor *c)
{
    return c->end - c->offset;
}

/* The next `n` bytes, or NULL if not all of them were captured. */
static inline const uint8_t *
ef_cursor_peek(const struct ef_cursor *c, uint32_t n)
{
    return EF_LIKELY(n <= c->end - c->offset) ? c->data + c->offset : NULL;
}

/* True if the next `n` bytes were on the wire, captured or not. */
static inline bool
ef_cursor_on_wire(const struct ef_cursor *c, uint32_t n)
{
    return n <= c->wire_end - c->offset;
}

/* Goes on by `n` bytes, at most to the end; returns how many. */
static inline uint32_t
ef_cursor_skip(struct ef_cursor *c, uint32_t n)
{
    n = EF_MIN(n, c->end - c->offset);
    c->offset += n;
    return n;
}

/* Ends the packet `n` bytes from here, if there are more. Returns false, and
 * changes nothing, if not even the wire had so many. */
static inline bool
ef_cursor_limit(struct ef_cursor *c, uint32_t n)
{
    if (EF_UNLIKELY(n > c->wire_end - c->offset)) {
        return false;
    }
    c->wire_end = c->offset + n;
    c->end = EF_MIN(c->end, c->wire_end);
    return true;
}

#endif
