/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing times; see time.h. */
#include <config.h>

#include "base/time.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *
ef_time_format(struct ef_time t, char *buf)
{
    int64_t s = t.ns / EF_NS_PER_S, frac = t.ns % EF_NS_PER_S;
    if (frac < 0) {
        s--;
        frac += EF_NS_PER_S;
    }
    time_t seconds = s;
    struct tm tm;
    gmtime_r(&seconds, &tm);
    size_t n = strftime(buf, EF_TIME_TEXT_SIZE, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(buf + n, EF_TIME_TEXT_SIZE - n, ".%09ldZ", (long) frac);
    return buf;
}

static bool
unit_ns(const char *unit, double *ns)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {
        {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}, {"d", 86400e9},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(units); i++) {
        if (!strcmp(unit, units[i].name)) {
            *ns = units[i].ns;
            return true;
        }
    }
    return false;
}

int
ef_duration_parse(const char *text, int64_t *ns, struct ef_error *err)
{
    char *end;
    double value = strtod(text, &end), scale;
    if (end == text || !isfinite(value) || !unit_ns(end, &scale) || fabs(value * scale) > 9.2e18) {
        return ef_error_set(err, -EINVAL,
                            "'%.40s' is not a duration; write a number with a unit, such as 200ms, 1s, 5m or 2h", text);
    }
    *ns = (int64_t) (value * scale);
    return 0;
}

/* The part after the seconds: ".frac" of up to nine digits, then the zone. */
static int
parse_fraction_and_zone(const char *p, int64_t *ns)
{
    *ns = 0;
    if (*p == '.') {
        int64_t digit = EF_NS_PER_S / 10;
        for (p++; isdigit((unsigned char) *p); p++, digit /= 10) {
            *ns += (*p - '0') * digit;
        }
    }
    if ((*p == 'Z' || *p == 'z') && !p[1]) {
        return 0;
    }
    int hours, minutes, used = 0;
    char sign;
    if (sscanf(p, "%c%2d:%2d%n", &sign, &hours, &minutes, &used) == 3 && !p[used] && (sign == '+' || sign == '-') &&
        hours < 24 && minutes < 60 && hours >= 0 && minutes >= 0) {
        int64_t shift = (hours * 60 + minutes) * 60 * EF_NS_PER_S;
        *ns += sign == '+' ? -shift : shift;
        return 0;
    }
    return -EINVAL;
}

int
ef_time_parse(const char *text, struct ef_time now, struct ef_time *out, struct ef_error *err)
{
    int64_t ns;
    if (!strcmp(text, "now")) {
        *out = now;
        return 0;
    }
    if (*text == '-' && !ef_duration_parse(text, &ns, NULL)) {
        *out = ef_time_add_ns(now, ns);
        return 0;
    }
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (isdigit((unsigned char) *text) && !*end && !errno) {
        out->ns = number;
        return 0;
    }
    struct tm tm = {0};
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
    int64_t whole;
    if (rest && !parse_fraction_and_zone(rest, &ns) && !__builtin_mul_overflow(timegm(&tm), EF_NS_PER_S, &whole) &&
        !__builtin_add_overflow(whole, ns, &out->ns)) { /* 64 bits hold the years 1678 to 2261. */
        return 0;
    }
    return ef_error_set(err, -EINVAL,
                        "'%.60s' is not a time; write RFC 3339 such as 2026-01-31T12:00:00Z, "
                        "'now', an age such as -5m, or nanoseconds since 1970",
                        text);
}
