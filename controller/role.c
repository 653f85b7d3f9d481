/* SPDX-License-Identifier: Apache-2.0 */
/* Roles; see role.h. */
#include <config.h>

#include "controller/role.h"

#include <string.h>

#include "base/util.h"

static const char *const names[] = {"none", "viewer", "operator", "admin"};

const char *
role_name(enum role role)
{
    return names[role];
}

bool
role_parse(const char *text, enum role *role)
{
    for (size_t i = 0; text && i < EF_ARRAY_SIZE(names); i++) {
        if (!strcmp(names[i], text)) {
            *role = (enum role) i;
            return true;
        }
    }
    return false;
}

/* True if `path` is `folder` or below it. */
static bool
is_below(const char *path, const char *folder)
{
    size_t n = strlen(folder);
    return !strncmp(path, folder, n) && (!path[n] || path[n] == '/');
}

enum role
role_needed(const char *method, const char *path)
{
    static const char *const always_admin[] = {"/v1/tokens", "/v1/audit", "/v1/config"};
    static const char *const admin_changes[] = {"/v1/switches", "/v1/topology", "/v1/webhooks"};
    bool looks = !strcmp(method, "GET") || !strcmp(method, "HEAD");
    for (size_t i = 0; i < EF_ARRAY_SIZE(always_admin); i++) {
        if (is_below(path, always_admin[i])) {
            return ROLE_ADMIN;
        }
    }
    for (size_t i = 0; i < EF_ARRAY_SIZE(admin_changes) && !looks; i++) {
        if (is_below(path, admin_changes[i])) {
            return ROLE_ADMIN;
        }
    }
    return looks ? ROLE_VIEWER : ROLE_OPERATOR;
}
