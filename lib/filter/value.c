/* SPDX-License-Identifier: Apache-2.0 */
/* Values as written in a filter; see value.h. */
#include <config.h>

#include "filter/value.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/byteorder.h"
#include "base/time.h"

enum { MAX_WORD = 63, NS_PER_US = 1000 };

/* Low 96 bits of an IPv4 address in IPv6, before the address itself. */
#define MAPPED_PREFIX ((ef_u128) 0xffff << 32)

const char *
ef_value_type_name(const struct ef_field *field)
{
    switch (field->type) {
    case EF_FIELD_NUMBER:
        return "a number";
    case EF_FIELD_BOOLEAN:
        return "0, 1, true or false";
    case EF_FIELD_ETHER:
        return "an Ethernet address, as 02:00:00:00:00:01";
    case EF_FIELD_IPV4:
        return "an IPv4 address or prefix";
    case EF_FIELD_IPV6:
        return "an IPv6 address or prefix";
    case EF_FIELD_ADDRESS:
        return "an IPv4 or IPv6 address or prefix";
    case EF_FIELD_DURATION:
        return "a number of microseconds";
    case EF_FIELD_TIME:
        return "a time, as 2026-11-21T02:30:00Z or nanoseconds since 1970";
    default:
        return "nothing: it is a protocol, which only exists or not";
    }
}

static int
not_a_value(const struct ef_field *field, const struct ef_token *token, struct ef_error *err)
{
    return ef_error_set_at(err, -EINVAL, token->offset, "'%.*s' is not %s, which %s needs", EF_MIN(token->len, 80),
                           token->start, ef_value_type_name(field), field->name);
}

static int
too_great(const struct ef_field *field, const struct ef_token *token, uint64_t max, struct ef_error *err)
{
    return ef_error_set_at(err, -EINVAL, token->offset, "%.*s is too great: %s is at most %llu", EF_MIN(token->len, 80),
                           token->start, field->name, (unsigned long long) max);
}

/* Decimal, 0x hexadecimal, 0 octal, 0b binary. Returns 0, -EINVAL or -ERANGE. */
static int
parse_unsigned(const char *word, uint64_t *value)
{
    int base = 10;
    if (word[0] == '0' && word[1]) {
        char c = (char) tolower((unsigned char) word[1]);
        base = c == 'x' ? 16 : c == 'b' ? 2 : 8;
        word += base == 8 ? 1 : 2;
    }
    if (!isxdigit((unsigned char) *word)) {
        return -EINVAL; /* No sign nor second "0x", which strtoull() would take. */
    }
    char *end;
    errno = 0;
    *value = strtoull(word, &end, base);
    return *end || (base == 16 && word[1] && tolower((unsigned char) word[1]) == 'x') ? -EINVAL
           : errno == ERANGE                                                          ? -ERANGE
                                                                                      : 0;
}

static int
parse_number(const struct ef_field *field, const struct ef_token *token, const char *word, ef_u128 *out,
             struct ef_error *err)
{
    uint64_t value, max = field->bits < 64 ? (UINT64_C(1) << field->bits) - 1 : UINT64_MAX;
    int rc = parse_unsigned(word, &value);
    if (rc == -EINVAL) {
        return not_a_value(field, token, err);
    }
    if (rc || value > max) {
        return field->type == EF_FIELD_BOOLEAN ? not_a_value(field, token, err) : too_great(field, token, max, err);
    }
    *out = value;
    return 0;
}

static int
parse_boolean(const struct ef_field *field, const struct ef_token *token, const char *word, ef_u128 *out,
              struct ef_error *err)
{
    static const char *const words[] = {"false", "true", "False", "True", "FALSE", "TRUE"};
    for (unsigned i = 0; i < EF_ARRAY_SIZE(words); i++) {
        if (!strcmp(word, words[i])) {
            *out = i & 1;
            return 0;
        }
    }
    return parse_number(field, token, word, out, err);
}

/* "800" or "800.125" microseconds to nanoseconds. */
static int
parse_duration(const struct ef_field *field, const struct ef_token *token, char *word, ef_u128 *out,
               struct ef_error *err)
{
    char *dot = strchr(word, '.'), *end;
    size_t decimals = dot ? strlen(dot + 1) : 0;
    unsigned long fraction = 0;
    if (dot) {
        *dot = '\0';
        if (!isdigit((unsigned char) dot[1]) || decimals > 3) {
            return not_a_value(field, token, err);
        }
        fraction = strtoul(dot + 1, &end, 10);
        for (; decimals < 3; decimals++) {
            fraction *= 10;
        }
        if (*end) {
            return not_a_value(field, token, err);
        }
    }
    int rc = parse_number(field, token, word, out, err);
    if (!rc && *out > UINT64_MAX / NS_PER_US - 1) {
        return too_great(field, token, UINT64_MAX / NS_PER_US - 1, err);
    }
    *out = *out * NS_PER_US + fraction;
    return rc;
}

static int
parse_time(const struct ef_field *field, const struct ef_token *token, const char *word, ef_u128 *out,
           struct ef_error *err)
{
    struct ef_time time;
    if (ef_time_parse(word, ef_time_real(), &time, NULL)) {
        return not_a_value(field, token, err);
    }
    *out = ef_value_of_time(time.ns);
    return 0;
}

/* The forms of Wireshark: 02:00:.., 02-00-.., 0200.0000.0001, 020000000001. */
static int
parse_ether(const struct ef_field *field, const struct ef_token *token, const char *word, ef_u128 *out,
            struct ef_error *err)
{
    size_t len = strlen(word);
    int group = len == 12 ? 12 : len == 14 ? 4 : len == 17 ? 2 : 0; /* Digits between separators. */
    char separator = len == 14 ? '.' : len == 17 ? word[2] : 0;
    if (!group || (len == 17 && separator != ':' && separator != '-')) {
        return not_a_value(field, token, err);
    }
    *out = 0;
    for (size_t i = 0; i < len; i++) {
        if ((i + 1) % (size_t) (group + 1) == 0) {
            if (word[i] != separator) {
                return not_a_value(field, token, err);
            }
            continue;
        }
        if (!isxdigit((unsigned char) word[i])) {
            return not_a_value(field, token, err);
        }
        char digit[] = {word[i], '\0'};
        *out = *out << 4 | strtoul(digit, NULL, 16);
    }
    return 0;
}

/* Reads the address part; returns its bits (32 or 128), or 0 if it is none that
 * `type` takes. */
static unsigned
parse_address(enum ef_field_type type, const char *word, ef_u128 *out)
{
    uint8_t bytes[16];
    if (type != EF_FIELD_IPV6 && inet_pton(AF_INET, word, bytes) == 1) {
        *out = ef_load_be32(bytes);
        return 32;
    }
    if (type != EF_FIELD_IPV4 && inet_pton(AF_INET6, word, bytes) == 1) {
        *out = (ef_u128) ef_load_be64(bytes) << 64 | ef_load_be64(bytes + 8);
        return 128;
    }
    return 0;
}

static int
parse_prefix(const struct ef_field *field, const struct ef_token *token, char *word, struct ef_value_range *range,
             struct ef_error *err)
{
    char *slash = strchr(word, '/');
    if (slash) {
        *slash = '\0';
    }
    unsigned bits = parse_address(field->type, word, &range->low);
    if (!bits) {
        return not_a_value(field, token, err);
    }
    uint64_t length = bits;
    if (slash) {
        size_t digits = strspn(slash + 1, "0123456789");
        if (!digits || slash[1 + digits] || digits > 3 || (length = strtoul(slash + 1, NULL, 10)) > bits) {
            return ef_error_set_at(err, -EINVAL, token->offset + (int) (slash + 1 - word),
                                   "'%.20s' is not a prefix length from 0 to %u", slash + 1, bits);
        }
    }
    ef_u128 host = bits - length == 128 ? ~(ef_u128) 0 : ((ef_u128) 1 << (bits - length)) - 1;
    range->low &= ~host;
    range->high = range->low | host;
    if (field->type == EF_FIELD_ADDRESS && bits == 32) {
        range->low |= MAPPED_PREFIX;
        range->high |= MAPPED_PREFIX;
    }
    return 0;
}

int
ef_value_parse(const struct ef_field *field, const struct ef_token *token, struct ef_value_range *range,
               struct ef_error *err)
{
    char word[MAX_WORD + 1];
    int rc;
    if (token->len > MAX_WORD) {
        return not_a_value(field, token, err);
    }
    memcpy(word, token->start, (size_t) token->len);
    word[token->len] = '\0';
    switch (field->type) {
    case EF_FIELD_NUMBER:
        rc = parse_number(field, token, word, &range->low, err);
        break;
    case EF_FIELD_BOOLEAN:
        rc = parse_boolean(field, token, word, &range->low, err);
        break;
    case EF_FIELD_DURATION:
        rc = parse_duration(field, token, word, &range->low, err);
        break;
    case EF_FIELD_TIME:
        rc = parse_time(field, token, word, &range->low, err);
        break;
    case EF_FIELD_ETHER:
        rc = parse_ether(field, token, word, &range->low, err);
        break;
    default:
        return parse_prefix(field, token, word, range, err);
    }
    range->high = range->low;
    return rc;
}

static char *
format_address(ef_u128 value, bool ipv4, char buf[EF_VALUE_TEXT_SIZE])
{
    uint8_t bytes[16];
    ef_store_be64(bytes, (uint64_t) (value >> 64));
    ef_store_be64(bytes + 8, (uint64_t) value);
    inet_ntop(ipv4 ? AF_INET : AF_INET6, ipv4 ? bytes + 12 : bytes, buf, EF_VALUE_TEXT_SIZE);
    return buf;
}

static char *
format_duration(unsigned long long ns, char buf[EF_VALUE_TEXT_SIZE])
{
    int n = snprintf(buf, EF_VALUE_TEXT_SIZE, "%llu", ns / NS_PER_US);
    if (ns % NS_PER_US) {
        snprintf(buf + n, EF_VALUE_TEXT_SIZE - (size_t) n, ".%03llu", ns % NS_PER_US);
    }
    return buf;
}

static bool
is_mapped(ef_u128 value)
{
    return value >> 32 == MAPPED_PREFIX >> 32;
}

static bool
shown_as_ipv4(const struct ef_field *field, ef_u128 value)
{
    return field->type == EF_FIELD_IPV4 || (field->type == EF_FIELD_ADDRESS && is_mapped(value));
}

char *
ef_value_format(const struct ef_field *field, ef_u128 value, char buf[EF_VALUE_TEXT_SIZE])
{
    unsigned long long number = (unsigned long long) value;
    switch (field->type) {
    case EF_FIELD_ETHER:
        snprintf(buf, EF_VALUE_TEXT_SIZE, "%02x:%02x:%02x:%02x:%02x:%02x", (unsigned) (number >> 40 & 0xff),
                 (unsigned) (number >> 32 & 0xff), (unsigned) (number >> 24 & 0xff), (unsigned) (number >> 16 & 0xff),
                 (unsigned) (number >> 8 & 0xff), (unsigned) (number & 0xff));
        return buf;
    case EF_FIELD_IPV4:
    case EF_FIELD_IPV6:
    case EF_FIELD_ADDRESS:
        return format_address(value, shown_as_ipv4(field, value), buf);
    case EF_FIELD_DURATION:
        return format_duration(number, buf);
    case EF_FIELD_TIME:
        return ef_time_format((struct ef_time){(int64_t) ef_value_of_time((int64_t) number)}, buf);
    default:
        snprintf(buf, EF_VALUE_TEXT_SIZE, field->hex ? "0x%llx" : "%llu", number);
        return buf;
    }
}

char *
ef_value_range_format(const struct ef_field *field, const struct ef_value_range *range, bool *is_range,
                      char buf[EF_VALUE_TEXT_SIZE])
{
    ef_u128 host = range->high ^ range->low;
    bool is_address = field->type == EF_FIELD_IPV4 || field->type == EF_FIELD_IPV6 || field->type == EF_FIELD_ADDRESS;
    bool is_prefix = is_address && !(host & (host + 1)) && !(range->low & host);
    *is_range = host && !is_prefix;
    ef_value_format(field, range->low, buf);
    if (host && is_prefix) {
        unsigned length = shown_as_ipv4(field, range->low) ? 32 : 128;
        for (; host; host >>= 1) {
            length--;
        }
        size_t used = strlen(buf);
        snprintf(buf + used, EF_VALUE_TEXT_SIZE - used, "/%u", length);
    }
    return buf;
}
