/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/whoami; GET, POST and DELETE /v1/tokens; GET /v1/audit. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse_number.h"
#include "controller/access_private.h"
#include "controller/tokens.h"

enum { DEFAULT_AUDIT_LIMIT = 100 };

static const char *const audit_params[] = {"limit", NULL};

static void
get_whoami(struct ef_http_request *req, void *ctx)
{
    const struct access_control *a = ctx;
    ef_http_reply_json(req, 200,
                       json_pack("{s:s, s:s, s:s}", "actor", ef_http_actor(req), "role", role_name(a->role), "address",
                                 ef_http_peer(req)));
}

static void
get_tokens(struct ef_http_request *req, void *ctx)
{
    const struct access_control *a = ctx;
    ef_http_reply_json(req, 200, json_pack("{s:o}", "tokens", tokens_list(a->state)));
}

static void
get_audit(struct ef_http_request *req, void *ctx)
{
    const struct access_control *a = ctx;
    const char *text = ef_http_param(req, "limit");
    uint64_t limit = DEFAULT_AUDIT_LIMIT;
    struct ef_error err = EF_ERROR_INIT;
    if (text && ef_parse_u64(text, "limit", 1, AUDIT_MAX_ENTRIES, &limit, &err)) {
        ef_http_reply_error(req, 400, "bad_query", -1, "%s", err.text);
        return;
    }
    ef_http_reply_json(req, 200, json_pack("{s:o}", "entries", audit_list(a->audit, limit)));
}

/* --- Changes: answered when they are kept --------------------------------------- */

struct change {
    struct ef_http_request *req;
    char secret[TOKEN_SECRET_SIZE]; /* Empty: a token was revoked. */
    char name[TOKEN_NAME_MAX + 1];
};

static void
on_kept(void *ctx, const char *error)
{
    struct change *change = ctx;
    if (error) {
        ef_http_reply_error(change->req, 503, "not_kept", -1, "%s", error);
    } else if (*change->secret) {
        ef_http_reply_json(change->req, 201, json_pack("{s:s, s:s}", "name", change->name, "token", change->secret));
    } else {
        ef_http_reply_json(change->req, 200, json_pack("{s:s}", "revoked", change->name));
    }
    explicit_bzero(change, sizeof *change);
    free(change);
}

struct wish {
    const char *name;
    enum role role;
    struct ef_time expires;
};

static int
read_expiry(const char *text, struct ef_time *expires, struct ef_error *err)
{
    struct ef_time now = ef_time_real();
    int rc = ef_time_parse(text, now, expires, err);
    if (!rc && !ef_time_before(now, *expires)) {
        rc = ef_error_set(err, -EINVAL, "it has passed already");
    }
    return rc ? ef_error_prefix(err, rc, "expires") : 0;
}

static int
read_wish(const json_t *document, struct wish *wish, struct ef_error *err)
{
    const json_t *expires = json_object_get(document, "expires");
    const char *role = json_string_value(json_object_get(document, "role"));
    wish->name = json_string_value(json_object_get(document, "name"));
    wish->expires.ns = 0;
    if (!wish->name || json_object_size(document) != 2u + (expires != NULL) || (expires && !json_is_string(expires))) {
        return ef_error_set(err, -EINVAL,
                            "the body should be {\"name\": ..., \"role\": ..., \"expires\": TIME or left out}");
    }
    if (!role_parse(role, &wish->role) || wish->role == ROLE_NONE) {
        return ef_error_set(err, -EINVAL, "role: is none of viewer, operator, admin");
    }
    return expires ? read_expiry(json_string_value(expires), &wish->expires, err) : 0;
}

static void
post_token(struct ef_http_request *req, void *ctx)
{
    struct access_control *a = ctx;
    struct ef_error err = EF_ERROR_INIT;
    struct wish wish;
    const char *body;
    size_t len = ef_http_body(req, &body);
    json_t *document = json_loadb(body, len, JSON_REJECT_DUPLICATES, NULL);
    struct change *change = calloc(1, sizeof *change);
    int rc = change ? read_wish(document, &wish, &err) : ef_error_set(&err, -ENOMEM, "out of memory");
    if (!rc) {
        change->req = req;
        strncpy(change->name, wish.name, TOKEN_NAME_MAX);
        rc = tokens_issue(a->state, wish.name, wish.role, wish.expires, change->secret, on_kept, change, &err);
    }
    json_decref(document);
    if (rc) {
        free(change);
        ef_http_reply_error(req,
                            rc == -EEXIST   ? 409
                            : rc == -ENOSPC ? 507
                            : rc == -EINVAL ? 400
                                            : 500,
                            rc == -EEXIST ? "exists" : "bad_token", -1, "%s", err.text);
    }
}

static void
delete_token(struct ef_http_request *req, void *ctx)
{
    struct access_control *a = ctx;
    struct change *change = calloc(1, sizeof *change);
    if (!change) {
        ef_http_reply_error(req, 500, "out_of_memory", -1, "out of memory");
        return;
    }
    change->req = req;
    bool is_name = ef_http_path_segment(req, 2, change->name, sizeof change->name);
    if (!is_name || tokens_revoke(a->state, change->name, on_kept, change)) {
        free(change);
        ef_http_reply_error(req, 404, "no_token", -1, "there is no token of this name");
    }
}

void
api_access_add(struct access_control *access, struct ef_http_server *http)
{
    static const struct ef_http_route routes[] = {
        {"GET", "/v1/whoami", NULL, get_whoami},       {"GET", "/v1/tokens", NULL, get_tokens},
        {"POST", "/v1/tokens", NULL, post_token},      {"DELETE", "/v1/tokens/*", NULL, delete_token},
        {"GET", "/v1/audit", audit_params, get_audit}, {0},
    };
    ef_http_server_add_routes(http, routes, access);
}
