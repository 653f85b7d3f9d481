/* SPDX-License-Identifier: Apache-2.0 */
/* Bearer tokens: secrets of 256 random bits, each with a name, a role and
 * perhaps an end. Only the SHA-256 of a secret is kept, in the controller's
 * state, as the key of its row: who reads the database cannot ask with it, and
 * finding a secret takes one look-up whose time tells nothing about it.
 *
 *     tokens_issue(state, "grafana", ROLE_VIEWER, no_end, secret, on_kept, request, &err);
 *     enum role role = tokens_check(state, secret, ef_time_real(), &name, &why);
 *
 * Functions on the state; one event base's thread. */
#ifndef CONTROLLER_TOKENS_H
#define CONTROLLER_TOKENS_H

#include "base/time.h"
#include "controller/role.h"
#include "controller/state.h"

enum { TOKEN_SECRET_SIZE = 4 + 64 + 1, TOKENS_MAX = 1000, TOKEN_NAME_MAX = 63 };

/* Makes a secret for `name` into `secret`, "eft_" and 64 hex digits; `expires` in
 * real time, 0: never. Returns 0, and `done` is called as state_put() has it; or,
 * without that, -EINVAL (not a name), -EEXIST, -ENOSPC or another negative errno
 * with `err`. */
int tokens_issue(struct state_store *state, const char *name, enum role role, struct ef_time expires,
                 char secret[TOKEN_SECRET_SIZE], state_done *done, void *ctx, struct ef_error *err);

/* Returns -ENOENT, or 0, and `done` is called. */
int tokens_revoke(struct state_store *state, const char *name, state_done *done, void *ctx);

/* The role that `secret` gives at `now`, with its token's name in `*name` (borrowed
 * as state_get() has it); ROLE_NONE with `*why` in words. */
enum role tokens_check(const struct state_store *state, const char *secret, struct ef_time now, const char **name,
                       const char **why);

/* [{"name", "role", "created", "expires"}], by name; new reference. */
json_t *tokens_list(const struct state_store *state);

#endif
