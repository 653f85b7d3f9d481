/* SPDX-License-Identifier: Apache-2.0 */
/* Errors for people; see error.h. */
#include <config.h>

#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void
format(struct ef_error *err, int offset, const char *fmt, va_list args)
{
    if (err) {
        err->offset = offset;
        vsnprintf(err->text, sizeof err->text, fmt, args);
    }
}

int
ef_error_set(struct ef_error *err, int code, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    format(err, -1, fmt, args);
    va_end(args);
    return code;
}

int
ef_error_set_at(struct ef_error *err, int code, int offset, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    format(err, offset, fmt, args);
    va_end(args);
    return code;
}

int
ef_error_prefix(struct ef_error *err, int code, const char *fmt, ...)
{
    if (err) {
        char rest[sizeof err->text];
        memcpy(rest, err->text, sizeof rest);
        va_list args;
        va_start(args, fmt);
        int n = vsnprintf(err->text, sizeof err->text, fmt, args);
        va_end(args);
        if (n >= 0 && (size_t) n < sizeof err->text) {
            snprintf(err->text + n, sizeof err->text - (size_t) n, ": %s", rest);
        }
    }
    return code;
}
