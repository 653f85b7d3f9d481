/* SPDX-License-Identifier: Apache-2.0 */
/* Identities from texts; see trace_id.h. */
#include <config.h>

#include "trace/trace_id.h"

#include <errno.h>
#include <string.h>

enum { DIGITS = 16, BITS_PER_DIGIT = 4 };

int
ef_trace_id_parse(const char *text, uint64_t *low, uint64_t *high, struct ef_error *err)
{
    static const char digits[] = "0123456789abcdef";
    size_t n = strlen(text);
    if (!n || n > DIGITS || strspn(text, digits) != n) {
        return ef_error_set(err, -EINVAL, "'%.40s' is no id: an id has up to 16 digits of 0-9 and a-f", text);
    }
    *low = 0;
    *high = UINT64_MAX;
    for (size_t i = 0; i < n; i++) {
        unsigned shift = (unsigned) (DIGITS - 1 - i) * BITS_PER_DIGIT;
        *low |= (uint64_t) (strchr(digits, text[i]) - digits) << shift;
        *high = *low | ((UINT64_C(1) << shift) - 1);
    }
    return 0;
}
