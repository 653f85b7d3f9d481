/* SPDX-License-Identifier: Apache-2.0 */
/* Writes JSON text straight into a buffer of fixed size, for answers of many
 * thousand objects, where building a tree of values first would cost most of
 * the time. The caller writes the punctuation:
 *
 *     struct ef_json_text j = {buf, buf + sizeof buf};
 *     EF_JSON_LITERAL(&j, "{\"start\":");
 *     ef_json_time(&j, trace->start);
 *     EF_JSON_LITERAL(&j, "}");
 *     if (!j.p) the buffer was too small;
 *
 * Once something does not fit, `p` is NULL and every further call does nothing. */
#ifndef EF_TRACE_JSON_TEXT_H
#define EF_TRACE_JSON_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/time.h"

struct ef_json_text {
    char *p;   /* Where the next byte goes; NULL: it did not fit. */
    char *end; /* Of the buffer. */
};

/* Makes room for `n` bytes and returns where they go, or NULL. */
static inline char *
ef_json_reserve(struct ef_json_text *j, size_t n)
{
    char *at = j->p;
    if (!at || (size_t) (j->end - at) < n) {
        j->p = NULL;
        return NULL;
    }
    j->p = at + n;
    return at;
}

static inline void
ef_json_raw(struct ef_json_text *j, const char *text, size_t n)
{
    char *at = ef_json_reserve(j, n);
    if (at) {
        memcpy(at, text, n);
    }
}
#define EF_JSON_LITERAL(j, literal) ef_json_raw((j), "" literal, sizeof(literal) - 1)

static inline void
ef_json_bool(struct ef_json_text *j, bool v)
{
    ef_json_raw(j, v ? "true" : "false", v ? 4 : 5);
}

void ef_json_u64(struct ef_json_text *j, uint64_t v);

/* `ns` nanoseconds as microseconds with three decimals: -0.250. */
void ef_json_us(struct ef_json_text *j, int64_t ns);

/* Two lower-case digits a byte, without quotes. */
void ef_json_hex(struct ef_json_text *j, const uint8_t *data, size_t n);

/* The rest are strings with their quotes. Bytes of `text` that are not printable
 * ASCII are escaped as the code points U+0000 to U+00FF. */
void ef_json_string(struct ef_json_text *j, const char *text);
void ef_json_mac(struct ef_json_text *j, const uint8_t mac[6]);
void ef_json_address(struct ef_json_text *j, const uint8_t address[16]);

/* A real time in the form of ef_time_format(). */
void ef_json_time(struct ef_json_text *j, struct ef_time t);

#endif
