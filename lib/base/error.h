/* SPDX-License-Identifier: Apache-2.0 */
/* An error for a person: what is wrong, where, and what to do about it.
 *
 * A function that can fail on input from outside takes a `struct ef_error *`
 * (NULL is fine) beside its negative errno:
 *
 *     return ef_error_set(err, -EINVAL, "port %ld is not between 1 and 65535", v);
 *
 * The library fills it; the program decides whether to print it. */
#ifndef EF_BASE_ERROR_H
#define EF_BASE_ERROR_H

#include "base/util.h"

struct ef_error {
    int offset;     /* Byte offset in the text that was parsed, or -1. */
    char text[512]; /* One line, no final newline. */
};

#define EF_ERROR_INIT ((struct ef_error){.offset = -1})

/* Formats the message into `err` (offset -1) and returns `code`. */
int ef_error_set(struct ef_error *err, int code, const char *fmt, ...) EF_PRINTF(3, 4);

/* The same with the byte `offset` at which the parsed text is wrong. */
int ef_error_set_at(struct ef_error *err, int code, int offset, const char *fmt, ...) EF_PRINTF(4, 5);

/* Puts "prefix: " in front of the message and returns `code`. */
int ef_error_prefix(struct ef_error *err, int code, const char *fmt, ...) EF_PRINTF(3, 4);

#endif
