/* SPDX-License-Identifier: Apache-2.0 */
/* Reading orders; see read_order.h. */
#include <config.h>

#include "guided-prober/read_order.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/parse_number.h"
#include "base/time.h"

enum { MAX_VALUE = 1200, MAX_COUNT = 1000000000, MAX_INTERVAL_MS = 3600000, DEFAULT_INTERVAL_MS = 100 };

int
prober_read_id(const char *text, uint64_t *id)
{
    char hex[19];
    size_t len = strlen(text);
    if (!len || len > 16 || strspn(text, "0123456789abcdefABCDEF") != len) {
        return -EINVAL;
    }
    snprintf(hex, sizeof hex, "0x%.16s", text);
    return ef_parse_u64(hex, "id", 0, UINT64_MAX, id, NULL);
}

/* A value as it would be typed. */
static int
value_text(const json_t *value, char text[MAX_VALUE])
{
    int n = json_is_string(value)    ? snprintf(text, MAX_VALUE, "%s", json_string_value(value))
            : json_is_integer(value) ? snprintf(text, MAX_VALUE, "%" JSON_INTEGER_FORMAT, json_integer_value(value))
            : json_is_boolean(value) ? snprintf(text, MAX_VALUE, "%s", json_is_true(value) ? "true" : "false")
                                     : -1;
    return n < 0 || n >= MAX_VALUE ? -EINVAL : 0;
}

/* ["leaf1", "spine1"] as "leaf1,spine1". */
static int
joined(const json_t *list, char text[MAX_VALUE])
{
    char one[MAX_VALUE];
    const json_t *value;
    size_t i, used = 0;
    text[0] = '\0';
    json_array_foreach(list, i, value)
    {
        if (value_text(value, one)) {
            return -EINVAL;
        }
        int n = snprintf(text + used, MAX_VALUE - used, "%s%s", i ? "," : "", one);
        if (n < 0 || (size_t) n >= MAX_VALUE - used) {
            return -EINVAL;
        }
        used += (size_t) n;
    }
    return 0;
}

static int
set_field(struct prober_format *f, const char *name, const json_t *value, struct ef_error *err)
{
    char text[MAX_VALUE];
    if (value_text(value, text)) {
        return ef_error_set(err, -EINVAL, "%.40s: must be a text, a whole number, true or false", name);
    }
    return prober_format_set(f, name, text, err);
}

/* Of an array each element is set, as an option that is given several times; but
 * a way is one text. */
static int
set_value(struct prober_format *f, const char *name, const json_t *value, struct ef_error *err)
{
    char text[MAX_VALUE];
    const json_t *element;
    size_t i;
    if (!json_is_array(value)) {
        return set_field(f, name, value, err);
    }
    if (!strcmp(name, "via")) {
        return !json_array_size(value) ? 0
               : joined(value, text)   ? ef_error_set(err, -EINVAL, "via: must be texts")
                                       : prober_format_set(f, name, text, err);
    }
    json_array_foreach(value, i, element)
    {
        int rc = set_field(f, name, element, err);
        if (rc) {
            return rc;
        }
    }
    return 0;
}

static int
read_packet(const json_t *packet, struct prober_format *f, struct ef_error *err)
{
    void *i;
    json_t *object = (json_t *) packet; /* jansson's iterators change nothing, but ask for it. */
    prober_format_init(f);
    if (!json_is_object(packet)) {
        return ef_error_set(err, -EINVAL, "packet: must be an object of fields");
    }
    for (i = json_object_iter(object); i; i = json_object_iter_next(object, i)) {
        int rc = set_value(f, json_object_iter_key(i), json_object_iter_value(i), err);
        if (rc) {
            return ef_error_prefix(err, rc, "packet");
        }
    }
    return 0;
}

static int
read_numbers(const json_t *document, struct prober_order_text *order, struct ef_error *err)
{
    const json_t *id = json_object_get(document, "id"), *count = json_object_get(document, "count"),
                 *interval = json_object_get(document, "interval_ms");
    order->has_id = id != NULL;
    if (id && (!json_is_string(id) || prober_read_id(json_string_value(id), &order->id))) {
        return ef_error_set(err, -EINVAL, "id: must be a text of up to 16 hexadecimal digits");
    }
    order->count = count ? (uint64_t) json_integer_value(count) : 1;
    if (count && (!json_is_integer(count) || order->count < 1 || order->count > MAX_COUNT)) {
        return ef_error_set(err, -EINVAL, "count: must be a whole number from 1 to %d", MAX_COUNT);
    }
    double ms = interval ? json_number_value(interval) : DEFAULT_INTERVAL_MS;
    if (interval && (!json_is_number(interval) || !(ms >= 0 && ms <= MAX_INTERVAL_MS))) {
        return ef_error_set(err, -EINVAL, "interval_ms: must be a number from 0 to %d", MAX_INTERVAL_MS);
    }
    order->interval_ns = (int64_t) (ms * EF_NS_PER_MS);
    return 0;
}

int
prober_read_order(const json_t *document, struct prober_order_text *order, struct ef_error *err)
{
    static const char *const known[] = {"id", "packet", "count", "interval_ms"};
    json_t *object = (json_t *) document;
    memset(order, 0, sizeof *order);
    if (!json_is_object(document)) {
        return ef_error_set(err, -EINVAL, "an order must be an object");
    }
    for (void *i = json_object_iter(object); i; i = json_object_iter_next(object, i)) {
        size_t k = 0;
        while (k < EF_ARRAY_SIZE(known) && strcmp(known[k], json_object_iter_key(i))) {
            k++;
        }
        if (k == EF_ARRAY_SIZE(known)) {
            return ef_error_set(err, -EINVAL, "%.40s: unknown; an order has id, packet, count and interval_ms",
                                json_object_iter_key(i));
        }
    }
    int rc = read_numbers(document, order, err);
    return rc ? rc : read_packet(json_object_get(document, "packet"), &order->format, err);
}
