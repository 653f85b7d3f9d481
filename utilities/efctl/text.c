/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and foreign strings for people; see text.h. */
#include <config.h>

#include "utilities/efctl/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "base/util.h"

char *
efctl_format_duration_us(double us, char *buf)
{
    double size = fabs(us);
    if (size < 0.05) {
        snprintf(buf, EFCTL_TEXT_SIZE, "0 us");
    } else if (size < 999.95) {
        snprintf(buf, EFCTL_TEXT_SIZE, "%.1f us", us);
    } else if (size < 999995) {
        snprintf(buf, EFCTL_TEXT_SIZE, "%.2f ms", us / 1e3);
    } else {
        snprintf(buf, EFCTL_TEXT_SIZE, "%.6g s", round(us / 1e4) / 100);
    }
    return buf;
}

char *
efctl_format_uptime(int64_t seconds, char *buf)
{
    int64_t minutes = seconds / 60, hours = minutes / 60, days = hours / 24;
    if (minutes < 1) {
        snprintf(buf, EFCTL_TEXT_SIZE, "%" PRId64 " s", seconds);
    } else if (hours < 1) {
        snprintf(buf, EFCTL_TEXT_SIZE, "%" PRId64 " min", minutes);
    } else if (days < 1) {
        snprintf(buf, EFCTL_TEXT_SIZE, "%" PRId64 " h %" PRId64 " min", hours, minutes % 60);
    } else {
        snprintf(buf, EFCTL_TEXT_SIZE, "%" PRId64 " d %" PRId64 " h", days, hours % 24);
    }
    return buf;
}

char *
efctl_format_age(const char *time, int64_t now_ns, char *buf)
{
    struct ef_time t;
    if (ef_time_parse(time, (struct ef_time){0}, &t, NULL)) {
        snprintf(buf, EFCTL_TEXT_SIZE, "%s", time);
        return buf;
    }
    int64_t age_ns;
    if (__builtin_sub_overflow(now_ns, t.ns, &age_ns)) {
        age_ns = t.ns < 0 ? INT64_MAX : 0;
    }
    efctl_format_uptime(EF_MAX(age_ns, 0) / EF_NS_PER_S, buf);
    return strcat(buf, " ago");
}

char *
efctl_format_bytes(int64_t bytes, char *buf)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB"};
    if (bytes < 1024) {
        snprintf(buf, EFCTL_TEXT_SIZE, "%" PRId64 " B", bytes);
        return buf;
    }
    double value = (double) bytes / 1024;
    size_t unit = 0;
    while (value >= 1023.5 && unit + 1 < EF_ARRAY_SIZE(units)) {
        value /= 1024;
        unit++;
    }
    snprintf(buf, EFCTL_TEXT_SIZE, value < 99.95 && value != floor(value) ? "%.1f %s" : "%.0f %s", value, units[unit]);
    return buf;
}

char *
efctl_format_count(int64_t count, char *buf)
{
    char digits[24];
    int n = snprintf(digits, sizeof digits, "%" PRId64, count);
    char *out = buf;
    for (int i = 0; i < n; i++) {
        if (i && digits[i - 1] != '-' && (n - i) % 3 == 0) {
            *out++ = ',';
        }
        *out++ = digits[i];
    }
    *out = '\0';
    return buf;
}

char *
efctl_format_time(const char *time, unsigned digits, char *buf)
{
    enum { SECONDS_LEN = 19 }; /* "2026-11-21T02:30:00" */
    struct ef_time t;
    char full[EF_TIME_TEXT_SIZE];
    if (ef_time_parse(time, (struct ef_time){0}, &t, NULL)) {
        snprintf(buf, EFCTL_TEXT_SIZE, "%s", time);
        return buf;
    }
    ef_time_format(t, full);
    int len = SECONDS_LEN + (digits ? 1 + (int) EF_MIN(digits, 9u) : 0);
    snprintf(buf, EFCTL_TEXT_SIZE, "%.*sZ", len, full);
    return buf;
}

/* Reads one UTF-8 character. Returns its length in bytes, 0 if the bytes are
 * not UTF-8 (RFC 3629: no overlong form, no surrogate, at most U+10FFFF). */
static size_t
decode_utf8(const unsigned char *p, uint32_t *code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t len = *p < 0x80 ? 1 : *p >> 5 == 0x6 ? 2 : *p >> 4 == 0xe ? 3 : *p >> 3 == 0x1e ? 4 : 0;
    if (!len) {
        return 0;
    }
    *code = len == 1 ? *p : *p & (0x7fu >> len);
    for (size_t i = 1; i < len; i++) {
        if (p[i] >> 6 != 0x2) {
            return 0;
        }
        *code = *code << 6 | (p[i] & 0x3fu);
    }
    return *code < least[len] || *code > 0x10ffff || (*code >= 0xd800 && *code <= 0xdfff) ? 0 : len;
}

static bool
is_printable(uint32_t code)
{
    return code >= 0x20 && !(code >= 0x7f && code < 0xa0) /* C0, DEL, C1 */
           && !(code >= 0x200b && code <= 0x200f)         /* of no width, direction marks */
           && !(code >= 0x2028 && code <= 0x202e)         /* separators, embeddings, overrides */
           && !(code >= 0x2060 && code <= 0x206f)         /* isolates */
           && code != 0x061c && code != 0xfeff;
}

char *
efctl_escape(const char *text)
{
    enum { LONGEST = 8 }; /* "\u202e" and the end, rounded up */
    char *escaped = malloc(strlen(text) * LONGEST + 1);
    if (!escaped) {
        abort();
    }
    char *out = escaped;
    for (const unsigned char *p = (const unsigned char *) text; *p;) {
        uint32_t code;
        size_t len = decode_utf8(p, &code);
        if (!len || (!is_printable(code) && code < 0x80)) {
            out += sprintf(out, "\\x%02x", *p++);
        } else if (!is_printable(code)) {
            out += sprintf(out, "\\u%04x", code);
            p += len;
        } else {
            memcpy(out, p, len);
            out += len;
            p += len;
        }
    }
    *out = '\0';
    return escaped;
}

size_t
efctl_text_width(const char *text)
{
    size_t width = 0;
    for (; *text; text++) {
        width += (*text & 0xc0) != 0x80;
    }
    return width;
}
