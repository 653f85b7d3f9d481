/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts a stream of bytes into JSON texts. JSON-RPC over a stream has no framing
 * but the JSON itself, and messages may come split or several at once; a parser
 * that begins anew with every read would be quadratic.
 *
 *     struct ef_json_framer f = {.max_bytes = 1 << 24};
 *     while (len) {
 *         size_t used;
 *         int rc = ef_json_framer_scan(&f, data, len, &used, &err);
 *         // rc 1: the message's last byte is data[used - 1]; 0: all is scanned, more is needed
 *     }
 *
 * It counts brackets outside of strings and no more: whether a text is valid is
 * for the JSON parser to say. Only objects and arrays are messages. Length and
 * depth are bounded. A plain struct; one thread at a time. */
#ifndef EF_NET_JSON_FRAMER_H
#define EF_NET_JSON_FRAMER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum { EF_JSON_FRAMER_MAX_DEPTH = 100 };

struct ef_json_framer {
    size_t max_bytes; /* Longest message. */
    /* Internal; zero to begin with. */
    size_t len;
    unsigned depth;
    bool in_string, escaped;
};

/* Scans `len` bytes; `*used` is how many belong to the current message. Returns
 * 1 at the end of a message, 0 if it goes on, or -EPROTO or -EMSGSIZE with
 * `err`. */
int ef_json_framer_scan(struct ef_json_framer *framer, const char *data, size_t len, size_t *used,
                        struct ef_error *err);

#endif
