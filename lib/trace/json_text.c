/* SPDX-License-Identifier: Apache-2.0 */
/* JSON text into a buffer; see json_text.h. */
#include <config.h>

#include "trace/json_text.h"

#include <arpa/inet.h>

#include "packet/packet.h"

static const char hex_digits[] = "0123456789abcdef";

void
ef_json_u64(struct ef_json_text *j, uint64_t v)
{
    char digits[20];
    size_t n = 0;
    do {
        digits[sizeof digits - ++n] = (char) ('0' + v % 10);
        v /= 10;
    } while (v);
    ef_json_raw(j, digits + sizeof digits - n, n);
}

/* `v` in exactly `n` digits. */
static void
put_digits(char *at, unsigned n, uint32_t v)
{
    while (n-- > 0) {
        at[n] = (char) ('0' + v % 10);
        v /= 10;
    }
}

void
ef_json_us(struct ef_json_text *j, int64_t ns)
{
    uint64_t magnitude = ns < 0 ? -(uint64_t) ns : (uint64_t) ns;
    if (ns < 0) {
        EF_JSON_LITERAL(j, "-");
    }
    ef_json_u64(j, magnitude / 1000);
    char *at = ef_json_reserve(j, 4);
    if (at) {
        at[0] = '.';
        put_digits(at + 1, 3, (uint32_t) (magnitude % 1000));
    }
}

void
ef_json_hex(struct ef_json_text *j, const uint8_t *data, size_t n)
{
    char *at = ef_json_reserve(j, 2 * n);
    for (size_t i = 0; at && i < n; i++) {
        *at++ = hex_digits[data[i] >> 4];
        *at++ = hex_digits[data[i] & 15];
    }
}

void
ef_json_string(struct ef_json_text *j, const char *text)
{
    EF_JSON_LITERAL(j, "\"");
    for (; *text; text++) {
        uint8_t c = (uint8_t) *text;
        if (c == '"' || c == '\\') {
            char escaped[] = {'\\', (char) c};
            ef_json_raw(j, escaped, sizeof escaped);
        } else if (c < 0x20 || c >= 0x7f) {
            char escaped[] = {'\\', 'u', '0', '0', hex_digits[c >> 4], hex_digits[c & 15]};
            ef_json_raw(j, escaped, sizeof escaped);
        } else {
            ef_json_raw(j, text, 1);
        }
    }
    EF_JSON_LITERAL(j, "\"");
}

void
ef_json_mac(struct ef_json_text *j, const uint8_t mac[6])
{
    EF_JSON_LITERAL(j, "\"");
    for (int i = 0; i < 6; i++) {
        ef_json_hex(j, &mac[i], 1);
        EF_JSON_LITERAL(j, ":");
    }
    if (j->p) {
        j->p[-1] = '"'; /* In place of the last colon. */
    }
}

void
ef_json_address(struct ef_json_text *j, const uint8_t address[16])
{
    char text[INET6_ADDRSTRLEN];
    ef_json_string(j, ef_address_format(address, text));
}

struct date {
    int32_t year;
    uint32_t month, day;
};

/* The date `days` after 1970-01-01 in the Gregorian calendar. Eras of 400 years
 * that start on 1 March make the leap day the last of its year. */
static struct date
date_of_days(int64_t days)
{
    enum { DAYS_PER_ERA = 146097, DAYS_TO_1970 = 719468 };
    days += DAYS_TO_1970;
    int64_t era = (days >= 0 ? days : days - DAYS_PER_ERA + 1) / DAYS_PER_ERA;
    uint32_t day = (uint32_t) (days - era * DAYS_PER_ERA);
    uint32_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    day -= 365 * year + year / 4 - year / 100;
    uint32_t month = (5 * day + 2) / 153; /* From March. */
    struct date date = {.day = day - (153 * month + 2) / 5 + 1};
    date.month = month < 10 ? month + 3 : month - 9;
    date.year = (int32_t) (era * 400 + year + (date.month <= 2));
    return date;
}

void
ef_json_time(struct ef_json_text *j, struct ef_time t)
{
    enum { SECONDS_PER_DAY = 86400 };
    int64_t seconds = t.ns / EF_NS_PER_S, ns = t.ns % EF_NS_PER_S;
    if (ns < 0) {
        ns += EF_NS_PER_S;
        seconds--;
    }
    int64_t days = seconds / SECONDS_PER_DAY, second = seconds % SECONDS_PER_DAY;
    if (second < 0) {
        second += SECONDS_PER_DAY;
        days--;
    }
    struct date date = date_of_days(days);
    static const char form[] = "\"0000-00-00T00:00:00.000000000Z\"";
    char *at = ef_json_reserve(j, sizeof form - 1);
    if (at) {
        memcpy(at, form, sizeof form - 1);
        put_digits(at + 1, 4, (uint32_t) date.year);
        put_digits(at + 6, 2, date.month);
        put_digits(at + 9, 2, date.day);
        put_digits(at + 12, 2, (uint32_t) second / 3600);
        put_digits(at + 15, 2, (uint32_t) second / 60 % 60);
        put_digits(at + 18, 2, (uint32_t) second % 60);
        put_digits(at + 21, 9, (uint32_t) ns);
    }
}
