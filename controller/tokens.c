/* SPDX-License-Identifier: Apache-2.0 */
/* Bearer tokens; see tokens.h. */
#include <config.h>

#include "controller/tokens.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { SECRET_BYTES = 32, HASH_BYTES = 32, KEY_SIZE = 2 * HASH_BYTES + 1 };

static void
to_hex(const unsigned char *bytes, size_t n, char *text)
{
    for (size_t i = 0; i < n; i++) {
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    }
}

static bool
make_key(const char *secret, char key[KEY_SIZE])
{
    unsigned char hash[HASH_BYTES];
    if (!EVP_Digest(secret, strlen(secret), hash, NULL, EVP_sha256(), NULL)) {
        return false;
    }
    to_hex(hash, sizeof hash, key);
    return true;
}

/* The key of the token with this name, or NULL. */
static const char *
find(const struct state_store *state, const char *name)
{
    const char *key;
    json_t *document;
    json_object_foreach(state_rows(state, STATE_TOKEN), key, document)
    {
        const char *its = json_string_value(json_object_get(document, "name"));
        if (its && !strcmp(its, name)) {
            return key;
        }
    }
    return NULL;
}

static bool
is_name(const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    size_t len = strspn(name, allowed);
    return len && !name[len] && len <= TOKEN_NAME_MAX;
}

static json_t *
describe(const char *name, enum role role, struct ef_time expires)
{
    char created[EF_TIME_TEXT_SIZE], end[EF_TIME_TEXT_SIZE];
    json_t *document = json_pack("{s:s, s:s, s:s}", "name", name, "role", role_name(role), "created",
                                 ef_time_format(ef_time_real(), created));
    if (expires.ns) {
        json_object_set_new(document, "expires", json_string(ef_time_format(expires, end)));
    }
    return document;
}

int
tokens_issue(struct state_store *state, const char *name, enum role role, struct ef_time expires,
             char secret[TOKEN_SECRET_SIZE], state_done *done, void *ctx, struct ef_error *err)
{
    unsigned char bytes[SECRET_BYTES];
    char key[KEY_SIZE];
    if (!is_name(name)) {
        return ef_error_set(err, -EINVAL, "a token's name has 1 to %d letters, digits, '_', '.' or '-'",
                            TOKEN_NAME_MAX);
    }
    if (find(state, name)) {
        return ef_error_set(err, -EEXIST, "there is a token '%s'; revoke it first", name);
    }
    if (json_object_size(state_rows(state, STATE_TOKEN)) >= TOKENS_MAX) {
        return ef_error_set(err, -ENOSPC, "there are %d tokens; revoke some", TOKENS_MAX);
    }
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) {
        return ef_error_set(err, -EIO, "no random bytes: %s", strerror(errno));
    }
    memcpy(secret, "eft_", 4);
    to_hex(bytes, sizeof bytes, secret + 4);
    if (!make_key(secret, key)) {
        return ef_error_set(err, -EIO, "cannot hash");
    }
    state_put(state, STATE_TOKEN, key, describe(name, role, expires), done, ctx);
    return 0;
}

int
tokens_revoke(struct state_store *state, const char *name, state_done *done, void *ctx)
{
    const char *key = find(state, name);
    if (!key) {
        return -ENOENT;
    }
    state_delete(state, STATE_TOKEN, key, done, ctx);
    return 0;
}

enum role
tokens_check(const struct state_store *state, const char *secret, struct ef_time now, const char **name,
             const char **why)
{
    char key[KEY_SIZE];
    enum role role = ROLE_NONE;
    struct ef_time end;
    struct ef_error err = EF_ERROR_INIT;
    json_t *document = make_key(secret, key) ? state_get(state, STATE_TOKEN, key) : NULL;
    *name = json_string_value(json_object_get(document, "name"));
    const char *expires = json_string_value(json_object_get(document, "expires"));
    if (!*name || !role_parse(json_string_value(json_object_get(document, "role")), &role)) {
        *why = "the token is not known, or was revoked";
        return ROLE_NONE;
    }
    if (expires && (ef_time_parse(expires, now, &end, &err) || !ef_time_before(now, end))) {
        *why = "the token has expired";
        return ROLE_NONE;
    }
    return role;
}

static int
by_name(const void *a, const void *b)
{
    return strcmp(json_string_value(json_object_get(*(json_t *const *) a, "name")),
                  json_string_value(json_object_get(*(json_t *const *) b, "name")));
}

json_t *
tokens_list(const struct state_store *state)
{
    json_t *rows = state_rows(state, STATE_TOKEN), *list = json_array(), *document;
    json_t **sorted = calloc(json_object_size(rows) + 1, sizeof *sorted);
    const char *key;
    size_t n = 0;
    json_object_foreach(rows, key, document)
    {
        if (sorted && json_is_string(json_object_get(document, "name"))) {
            sorted[n++] = document;
        }
    }
    if (n) {
        qsort(sorted, n, sizeof *sorted, by_name);
    }
    for (size_t i = 0; i < n; i++) {
        json_array_append(list, sorted[i]);
    }
    free(sorted);
    return list;
}
