/* SPDX-License-Identifier: Apache-2.0 */
/* Webhooks as people write them, in the configuration and in orders; see
 * webhooks.h. */
#include <config.h>

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/time.h"
#include "controller/webhooks.h"
#include "net/http_client.h"

/* The path of a URL: where "http://HOST:PORT" ends. */
const char *
webhook_path(const char *url)
{
    const char *host = strstr(url, "://");
    const char *slash = host ? strchr(host + 3, '/') : NULL;
    return slash ? slash : url + strlen(url);
}

static int
check_url(const struct doc_place *place, const char *url, struct ef_error *err)
{
    struct ef_error why = EF_ERROR_INIT;
    const char *path = webhook_path(url);
    char server[256];
    snprintf(server, sizeof server, "%.*s", (int) (path - url), url);
    if (strchr(server, '@')) {
        return doc_error(place, err, "has a user's name, which is not sent");
    }
    if (strncmp(url, "http", 4) || (size_t) (path - url) >= sizeof server || ef_http_server_url_check(server, &why)) {
        return doc_error(place, err, "%s", why.text[0] ? why.text : "is no http:// or https:// URL");
    }
    for (const char *p = path; *p; p++) {
        if (*p <= ' ' || *p > '~') {
            return doc_error(place, err, "has a character that is none of a URL's");
        }
    }
    return 0;
}

static int
check_kinds(const struct doc_place *place, struct ef_error *err)
{
    struct doc_place kinds;
    if (doc_array(place, "kinds", false, &kinds, err)) {
        return -EINVAL;
    }
    for (size_t i = 0; i < json_array_size(kinds.value); i++) {
        struct doc_place kind = doc_element(&kinds, i);
        if (!json_is_string(kind.value)) {
            return doc_error(&kind, err, "is no kind of alert");
        }
    }
    return 0;
}

int
webhook_check(const struct doc_place *place, const char *const known[], struct ef_error *err)
{
    const char *url, *secret;
    if (doc_check_keys(place, known, err) || doc_string(place, "url", NULL, &url, err) ||
        doc_string(place, "secret", "none", &secret, err) || check_kinds(place, err)) {
        return -EINVAL;
    }
    struct doc_place url_place = doc_member(place, "url");
    return check_url(&url_place, url, err);
}

int
webhooks_read(const struct doc_place *root, json_t **list, struct ef_error *err)
{
    static const char *const known[] = {"url", "kinds", "secret", NULL};
    struct doc_place places;
    if (doc_array(root, "webhooks", false, &places, err)) {
        return -EINVAL;
    }
    *list = places.value;
    if (json_array_size(places.value) > WEBHOOKS_MAX) {
        return doc_error(&places, err, "more than %d", WEBHOOKS_MAX);
    }
    for (size_t i = 0; i < json_array_size(places.value); i++) {
        struct doc_place place = doc_element(&places, i);
        if (webhook_check(&place, known, err)) {
            return -EINVAL;
        }
    }
    return 0;
}

static int
check_name(const struct doc_place *root, const char **name, struct ef_error *err)
{
    struct doc_place place = doc_member(root, "name");
    if (doc_string(root, "name", "", name, err)) {
        return -EINVAL;
    }
    size_t len = strlen(*name);
    bool is_good = len <= WEBHOOK_MAX_NAME;
    for (size_t i = 0; i < len; i++) {
        is_good &= isalnum((unsigned char) (*name)[i]) || strchr("_.-", (*name)[i]);
    }
    return is_good ? 0
                   : doc_error(&place, err, "a webhook's name has 1 to %d letters, digits, '_', '-' and '.'",
                               WEBHOOK_MAX_NAME);
}

int
webhook_read_order(json_t *order, json_t **document, struct ef_error *err)
{
    static const char *const known[] = {"name", "url", "kinds", "secret", NULL};
    struct doc_place root = {.value = order};
    const char *name;
    char since[EF_TIME_TEXT_SIZE], made[WEBHOOK_MAX_NAME + 1];
    if (webhook_check(&root, known, err) || check_name(&root, &name, err)) {
        return -EINVAL;
    }
    uint32_t number;
    if (!*name && getrandom(&number, sizeof number, 0) != sizeof number) {
        return ef_error_set(err, -errno, "no random number for its name");
    }
    if (!*name) {
        snprintf(made, sizeof made, "hook-%08" PRIx32, number);
        name = made;
    }
    *document = json_copy(order);
    json_object_set_new(*document, "name", json_string(name));
    json_object_set_new(*document, "created", json_string(ef_time_format(ef_time_real(), since)));
    return 0;
}
