/* SPDX-License-Identifier: Apache-2.0 */
/* Framing of JSON texts in a stream; see json_framer.h. */
#include <config.h>

#include "net/json_framer.h"

#include <errno.h>

static void
scan_string_byte(struct ef_json_framer *f, char c)
{
    if (f->escaped) {
        f->escaped = false;
    } else if (c == '\\') {
        f->escaped = true;
    } else if (c == '"') {
        f->in_string = false;
    }
}

/* One byte outside of a string. Returns 1 if it ends the message. */
static int
scan_byte(struct ef_json_framer *f, char c, struct ef_error *err)
{
    switch (c) {
    case '{':
    case '[':
        return ++f->depth > EF_JSON_FRAMER_MAX_DEPTH ? ef_error_set(err, -EPROTO, "JSON nested too deep") : 0;
    case '}':
    case ']':
        if (!f->depth) {
            return ef_error_set(err, -EPROTO, "not JSON: a '%c' that closes nothing", c);
        }
        return --f->depth == 0;
    case ' ':
    case '\t':
    case '\r':
    case '\n':
        return 0;
    default:
        if (!f->depth) {
            return ef_error_set(err, -EPROTO, "not JSON: byte 0x%02x between messages", (unsigned char) c);
        }
        f->in_string = c == '"';
        return 0;
    }
}

int
ef_json_framer_scan(struct ef_json_framer *f, const char *data, size_t len, size_t *used, struct ef_error *err)
{
    for (size_t i = 0; i < len; i++) {
        *used = i + 1;
        if (++f->len > f->max_bytes) {
            return ef_error_set(err, -EMSGSIZE, "a message of more than %zu bytes", f->max_bytes);
        }
        if (f->in_string) {
            scan_string_byte(f, data[i]);
            continue;
        }
        int rc = scan_byte(f, data[i], err);
        if (rc) {
            f->len = 0;
            return rc;
        }
    }
    *used = len;
    return 0;
}
