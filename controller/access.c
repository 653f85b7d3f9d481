/* SPDX-License-Identifier: Apache-2.0 */
/* Who may ask for what; see access.h. */
#include <config.h>

#include "controller/access.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/access_private.h"
#include "controller/admin_token.h"
#include "controller/tokens.h"

/* Wrong tokens: so many at once from one address, then so many a second. */
enum { WRONG_BURST = 20, WRONG_RATE = 1, NAME_MAX_BYTES = 80 };

/* --- Settings ------------------------------------------------------------------ */

static int
read_role(const struct doc_place *access, const char *key, enum role *role, struct ef_error *err)
{
    struct doc_place place = doc_member(access, key);
    if (place.value && !role_parse(json_string_value(place.value), role)) {
        return doc_error(&place, err, "is none of \"none\", \"viewer\", \"operator\", \"admin\"");
    }
    return 0;
}

/* `*name` stays NULL if the file is not named. */
static int
read_file_name(const struct doc_place *access, const char *key, const char **name, struct ef_error *err)
{
    return doc_member(access, key).value ? doc_string(access, key, NULL, name, err) : 0;
}

int
access_settings_read(const struct doc_place *root, struct access_settings *s, struct ef_error *err)
{
    static const char *const known[] = {"anonymous",    "certificate", "requests_per_s", "burst",
                                        "require_once", "audit",       "admin_token",    NULL};
    struct doc_place place;
    *s = (struct access_settings){.certificate = ROLE_ADMIN};
    if (doc_object(root, "access", false, &place, err)) {
        return -EINVAL;
    }
    if (!place.value) {
        return 0;
    }
    s->has_anonymous = doc_member(&place, "anonymous").value != NULL;
    if (doc_check_keys(&place, known, err) || read_role(&place, "anonymous", &s->anonymous, err) ||
        read_role(&place, "certificate", &s->certificate, err) ||
        doc_integer(&place, "requests_per_s", 0, 1000000, 0, &s->requests_per_s, err) ||
        doc_integer(&place, "burst", 1, 10000000, EF_MAX(2 * s->requests_per_s, 1), &s->burst, err) ||
        doc_boolean(&place, "require_once", false, &s->require_once, err)) {
        return -EINVAL;
    }
    return read_file_name(&place, "audit", &s->audit, err) ||
                   read_file_name(&place, "admin_token", &s->admin_token, err)
               ? -EINVAL
               : 0;
}

/* --- Who asks ------------------------------------------------------------------ */

/* What a certificate says of itself need not be text. */
static void
make_printable(char *name)
{
    for (; *name; name++) {
        *name = *name >= ' ' && *name <= '~' && *name != '"' ? *name : '?';
    }
}

static bool
refuse(struct access_control *a, struct ef_http_request *req, int status, const char *code, const char *why)
{
    a->refused[status == 401 ? 0 : status == 403 ? 1 : 2]++;
    if (status == 401) {
        ef_http_add_reply_header(req, "WWW-Authenticate", "Bearer realm=\"everflow\"");
    } else if (status == 429) {
        ef_http_add_reply_header(req, "Retry-After", "1");
    }
    ef_http_reply_error(req, status, code, -1, "%s", why);
    return true;
}

/* The secret of "Authorization: Bearer SECRET", or NULL with `*present` for another
 * scheme. */
static const char *
bearer(const struct ef_http_request *req, bool *present)
{
    const char *header = ef_http_header(req, "Authorization");
    *present = header != NULL;
    return header && !strncasecmp(header, "Bearer ", 7) ? header + 7 + strspn(header + 7, " ") : NULL;
}

static enum role
role_without_token(const struct access_control *a, struct ef_http_request *req)
{
    char name[NAME_MAX_BYTES], actor[NAME_MAX_BYTES + 16];
    if (ef_http_peer_certificate(req, name, sizeof name)) {
        make_printable(name);
        snprintf(actor, sizeof actor, "certificate:%s", name);
        ef_http_set_actor(req, actor);
        return a->settings->certificate;
    }
    bool is_local = ef_http_peer_is_local(req);
    ef_http_set_actor(req, is_local ? "local" : "anonymous");
    return a->settings->has_anonymous ? a->settings->anonymous : is_local ? ROLE_ADMIN : ROLE_NONE;
}

/* The role of a request; ROLE_NONE with `*refused`: it was replied to. */
static enum role
identify(struct access_control *a, struct ef_http_request *req, bool *refused)
{
    bool present;
    const char *secret = bearer(req, &present), *name, *why = "only \"Authorization: Bearer TOKEN\" is known";
    const char *peer = ef_http_peer(req);
    char actor[TOKEN_NAME_MAX + 16];
    *refused = false;
    if (!present) {
        return role_without_token(a, req);
    }
    if (!request_budget_has(a->wrong, peer, ef_time_mono())) {
        ef_http_set_actor(req, "anonymous");
        *refused = refuse(a, req, 429, "too_many_wrong_tokens", "too many wrong tokens from this address; wait");
        return ROLE_NONE;
    }
    enum role role = secret ? tokens_check(a->state, secret, ef_time_real(), &name, &why) : ROLE_NONE;
    if (role == ROLE_NONE && secret && a->settings->admin_token && admin_token_is(a->settings->admin_token, secret)) {
        ef_http_set_actor(req, "admin_token");
        return ROLE_ADMIN;
    }
    if (role == ROLE_NONE) {
        request_budget_take(a->wrong, peer, ef_time_mono());
        ef_http_set_actor(req, "anonymous");
        *refused = refuse(a, req, 401, "bad_token", why);
        return ROLE_NONE;
    }
    snprintf(actor, sizeof actor, "token:%s", name);
    ef_http_set_actor(req, actor);
    return role;
}

/* --- What they may ------------------------------------------------------------- */

static bool
is_over_budget(struct access_control *a, struct ef_http_request *req)
{
    struct ef_time now = ef_time_mono();
    const char *peer = ef_http_peer(req), *actor = ef_http_actor(req);
    return a->budget && (!request_budget_take(a->budget, peer, now) ||
                         (!strncmp(actor, "token:", 6) && !request_budget_take(a->budget, actor, now)));
}

static bool
is_repeated(struct access_control *a, struct ef_http_request *req)
{
    const char *once = ef_http_header(req, "Everflow-Once");
    struct ef_error err = EF_ERROR_INIT;
    if (!once && !a->settings->require_once) {
        return false;
    }
    if (!once) {
        return refuse(a, req, 403, "once_missing", "changes need a header Everflow-Once; see doc/rest-api.md");
    }
    if (replay_guard_take(a->replays, once, ef_time_real(), &err)) {
        return refuse(a, req, 403, "replayed", err.text);
    }
    return false;
}

static bool
guard(struct ef_http_request *req, void *ctx)
{
    struct access_control *a = ctx;
    const char *method = ef_http_method(req), *path = ef_http_path(req);
    char text[200];
    bool refused;
    enum role role = identify(a, req, &refused), needed = role_needed(method, path);
    if (refused) {
        return true;
    }
    a->role = role;
    if (is_over_budget(a, req)) {
        return refuse(a, req, 429, "too_many_requests", "too many requests; wait a second");
    }
    if (role == ROLE_NONE) {
        return refuse(a, req, 401, "no_token", "a token is needed: Authorization: Bearer TOKEN (efctl token add)");
    }
    if (role < needed) {
        snprintf(text, sizeof text, "this takes role %s, and %s has %s", role_name(needed), ef_http_actor(req),
                 role_name(role));
        return refuse(a, req, 403, "forbidden", text);
    }
    return strcmp(method, "GET") && is_repeated(a, req);
}

/* --- The audit log ------------------------------------------------------------- */

/* The beginning of the body as text, without what is no ASCII. */
static json_t *
body_text(struct ef_http_request *req)
{
    const char *body;
    char text[AUDIT_MAX_BODY_BYTES + 1];
    size_t len = ef_http_body(req, &body), n = EF_MIN(len, AUDIT_MAX_BODY_BYTES);
    for (size_t i = 0; i < n; i++) {
        text[i] = body[i] >= ' ' && body[i] <= '~' ? body[i] : '?';
    }
    return json_stringn(text, n);
}

static void
observe(const struct ef_http_request *req, int status, void *ctx)
{
    struct access_control *a = ctx;
    const char *path = ef_http_path(req);
    bool is_refused = status == 401 || status == 403 || status == 429;
    if (!is_refused && !strcmp(ef_http_method(req), "GET")) {
        return;
    }
    char where[256];
    snprintf(where, sizeof where, "%s", path);
    make_printable(where);
    json_t *entry = json_pack("{s:s, s:s, s:s, s:s, s:i}", "actor", ef_http_actor(req), "address", ef_http_peer(req),
                              "method", ef_http_method(req), "path", where, "status", status);
    if (!is_refused && strncmp(path, "/v1/webhooks", strlen("/v1/webhooks"))) { /* Those have secrets. */
        json_object_set_new(entry, "body", body_text((struct ef_http_request *) req));
    }
    audit_add(a->audit, entry);
}

/* --- Life ---------------------------------------------------------------------- */

struct access_control *
access_create(const struct access_settings *settings, struct state_store *state, struct ef_http_server *http)
{
    struct access_control *a = calloc(1, sizeof *a);
    if (!a) {
        return NULL;
    }
    a->settings = settings;
    a->state = state;
    a->audit = audit_create(settings->audit);
    a->wrong = request_budget_create(WRONG_RATE, WRONG_BURST);
    a->replays = replay_guard_create(ef_time_real());
    if (settings->requests_per_s) {
        a->budget = request_budget_create((double) settings->requests_per_s, (double) settings->burst);
    }
    if (!a->audit || !a->wrong || !a->replays || (settings->requests_per_s && !a->budget)) {
        access_destroy(a);
        return NULL;
    }
    ef_http_server_add_guard(http, guard, a);
    ef_http_server_set_observer(http, observe, a);
    return a;
}

void
access_destroy(struct access_control *a)
{
    if (a) {
        audit_destroy(a->audit);
        request_budget_destroy(a->budget);
        request_budget_destroy(a->wrong);
        replay_guard_destroy(a->replays);
        free(a);
    }
}

json_t *
access_show(const struct access_control *a)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "tokens",
                     (json_int_t) json_object_size(state_rows(a->state, STATE_TOKEN)), "refused_401",
                     (json_int_t) a->refused[0], "refused_403", (json_int_t) a->refused[1], "refused_429",
                     (json_int_t) a->refused[2], "audit_entries", (json_int_t) audit_n_entries(a->audit), "audit_lost",
                     (json_int_t) audit_n_lost(a->audit));
}
