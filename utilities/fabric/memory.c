/* SPDX-License-Identifier: Apache-2.0 */
/* Allocation that cannot fail; see memory.h. */
#include <config.h>

#include "utilities/fabric/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *
checked(void *p)
{
    if (!p) {
        fputs("ef-fabric: out of memory\n", stderr);
        abort();
    }
    return p;
}

void *
ef_xzalloc(size_t size)
{
    return checked(calloc(1, size));
}

void *
ef_xgrow(void *array, size_t n, size_t size)
{
    char *grown = checked(reallocarray(array, n + 1, size));
    memset(grown + n * size, 0, size);
    return grown;
}

char *
ef_xasprintf(const char *fmt, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, fmt);
    int n = vasprintf(&text, fmt, args);
    va_end(args);
    return checked(n < 0 ? NULL : text);
}
