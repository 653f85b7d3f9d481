/* SPDX-License-Identifier: Apache-2.0 */
/* A hash over the one normal form of a document; see json_digest.h. */
#include <config.h>

#include "net/json_digest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

const char *
ef_json_digest(const json_t *document, char text[EF_JSON_DIGEST_SIZE])
{
    char *normal = document ? json_dumps(document, JSON_SORT_KEYS | JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    text[0] = '\0';
    if (normal) {
        snprintf(text, EF_JSON_DIGEST_SIZE, "%016" PRIx64, ef_hash64(normal, strlen(normal)));
        free(normal);
    }
    return text;
}
