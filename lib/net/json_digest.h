/* SPDX-License-Identifier: Apache-2.0 */
/* A short name for the contents of a JSON document, so that two programs can see
 * whether they have the same one: equal for documents that differ in the order of
 * their members, in white space, or in how a character is written. Not for
 * documents that somebody may want to forge. Any thread. */
#ifndef EF_NET_JSON_DIGEST_H
#define EF_NET_JSON_DIGEST_H

#include <jansson.h>

enum { EF_JSON_DIGEST_SIZE = 17 }; /* 16 hexadecimal digits and NUL. */

/* Returns `text`, "" if there is no document (or no memory). */
const char *ef_json_digest(const json_t *document, char text[EF_JSON_DIGEST_SIZE]);

#endif
