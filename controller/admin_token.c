/* SPDX-License-Identifier: Apache-2.0 */
/* The first token, in a file; see admin_token.h. */
#include <config.h>

#include "controller/admin_token.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <string.h>
#include <unistd.h>

bool
admin_token_is(const char *file, const char *secret)
{
    char text[ADMIN_TOKEN_MAX_BYTES + 2];
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0) {
        close(fd);
    }
    text[n > 0 ? n : 0] = '\0';
    size_t len = strcspn(text, "\r\n");
    bool is_it = len >= ADMIN_TOKEN_MIN_BYTES && len <= ADMIN_TOKEN_MAX_BYTES && len == strlen(secret) &&
                 !CRYPTO_memcmp(text, secret, len);
    OPENSSL_cleanse(text, sizeof text);
    return is_it;
}
