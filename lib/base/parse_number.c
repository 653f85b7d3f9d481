/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers typed by people and programs; see parse_number.h. */
#include <config.h>

#include "base/parse_number.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int
out_of_range(const char *text, const char *what, uint64_t min, uint64_t max, struct ef_error *err)
{
    return ef_error_set(err, -ERANGE, "%s: %.40s is not between %llu and %llu", what, text, (unsigned long long) min,
                        (unsigned long long) max);
}

static int
parse_prefix(const char *text, const char *what, uint64_t *out, char **end, struct ef_error *err)
{
    errno = 0;
    int base = text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10;
    if (!isdigit((unsigned char) *text)) {
        return ef_error_set(err, -EINVAL, "%s: '%.40s' is not a number", what, text);
    }
    *out = strtoull(text, end, base);
    if (errno == ERANGE) {
        return ef_error_set(err, -ERANGE, "%s: %.40s is too large", what, text);
    }
    return 0;
}

int
ef_parse_u64(const char *text, const char *what, uint64_t min, uint64_t max, uint64_t *out, struct ef_error *err)
{
    char *end;
    uint64_t value;
    int rc = parse_prefix(text, what, &value, &end, err);
    if (rc) {
        return rc;
    }
    if (*end) {
        return ef_error_set(err, -EINVAL, "%s: '%.40s' is not a number", what, text);
    }
    if (value < min || value > max) {
        return out_of_range(text, what, min, max, err);
    }
    *out = value;
    return 0;
}

static int
unit_shift(const char *unit)
{
    static const char letters[] = "KMGT";
    if (!*unit) {
        return 0;
    }
    const char *p = strchr(letters, toupper((unsigned char) *unit));
    if (!p || !(!unit[1] || !strcmp(unit + 1, "i") || !strcmp(unit + 1, "iB") || !strcmp(unit + 1, "B"))) {
        return -1;
    }
    return 10 * (int) (p - letters + 1);
}

int
ef_parse_size(const char *text, const char *what, uint64_t min, uint64_t max, uint64_t *out, struct ef_error *err)
{
    char *end;
    uint64_t value;
    int rc = parse_prefix(text, what, &value, &end, err);
    if (rc) {
        return rc;
    }
    int shift = unit_shift(end);
    if (shift < 0) {
        return ef_error_set(err, -EINVAL, "%s: '%.40s' is not a size; write bytes, or a number with K, M or G", what,
                            text);
    }
    if (value > UINT64_MAX >> shift || value << shift < min || value << shift > max) {
        return out_of_range(text, what, min, max, err);
    }
    *out = value << shift;
    return 0;
}
