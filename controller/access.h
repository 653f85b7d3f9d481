/* SPDX-License-Identifier: Apache-2.0 */
/* Who may ask the controller for what. A guard of the HTTP server: each request
 * gets an actor and a role, and is refused (401, 403, 429) or let through; what
 * changes something, and what was refused, goes into the audit log.
 *
 *     "access": {"anonymous": "none", "certificate": "operator", "requests_per_s": 100, "burst": 200,
 *                "require_once": true, "audit": "/var/log/everflow/audit.ndjson", "admin_token": "admin.token"}
 *
 * The actor is, in this order:
 *
 *     token:NAME        "Authorization: Bearer SECRET", with the token's role
 *     admin_token       the same with the secret in the file "admin_token": admin
 *     certificate:NAME  TLS with a certificate of our authority, with role "certificate"
 *                       (admin unless set); NAME is its common name
 *     local, anonymous  nobody of these; "local" from loopback or a Unix socket, admin
 *                       unless "anonymous" says otherwise; "anonymous" from elsewhere: none
 *
 * A token that is wrong is refused even where nobody would need one. Addresses
 * that often show wrong tokens are not looked at any more for a while. One event
 * base's thread. */
#ifndef CONTROLLER_ACCESS_H
#define CONTROLLER_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "controller/document.h"
#include "controller/role.h"

struct access_control;
struct ef_http_server;
struct state_store;

struct access_settings {
    bool has_anonymous; /* Else `anonymous` is not said. */
    enum role anonymous, certificate;
    int64_t requests_per_s, burst; /* For each token and address; 0: no limit. */
    bool require_once;             /* Changes need header Everflow-Once; see replay_guard.h. */
    const char *audit;             /* File, or NULL. */
    const char *admin_token;       /* File with the first token (admin_token.h), or NULL. */
};

/* Reads "access" of `root`. Returns 0 or -EINVAL with `err`. */
int access_settings_read(const struct doc_place *root, struct access_settings *settings, struct ef_error *err);

/* Guards `http`; all are borrowed. NULL: out of memory. */
struct access_control *access_create(const struct access_settings *settings, struct state_store *state,
                                     struct ef_http_server *http);
void access_destroy(struct access_control *access); /* NULL is fine. */

/* Adds GET /v1/whoami, GET and POST /v1/tokens, DELETE /v1/tokens/NAME and GET /v1/audit. */
void api_access_add(struct access_control *access, struct ef_http_server *http);

/* What GET /v1/status shows of it (new reference). */
json_t *access_show(const struct access_control *access);

#endif
