/* SPDX-License-Identifier: Apache-2.0 */
/* Refuses a change that was recorded and is sent again. A client that wants this
 * puts into each request, as header Everflow-Once, the time in milliseconds since
 * 1970, a '-' and 16 to 64 hex digits by chance: a request is taken if its time is
 * at most a minute off and it was not seen before.
 *
 * What was seen is forgotten when its time has run out, and at a restart, so
 * requests from before the start are refused. Not thread-safe; time is the
 * caller's, real. */
#ifndef CONTROLLER_REPLAY_GUARD_H
#define CONTROLLER_REPLAY_GUARD_H

#include "base/error.h"
#include "base/time.h"

struct replay_guard;

enum { REPLAY_GUARD_MAX_SEEN = 100000, REPLAY_GUARD_WINDOW_S = 60 };

struct replay_guard *replay_guard_create(struct ef_time now); /* NULL: out of memory. */
void replay_guard_destroy(struct replay_guard *guard);        /* NULL is fine. */

/* Takes `once`. Returns 0, -EINVAL (not of that form), -ETIME (too old, or our
 * clocks differ), -EEXIST (it was seen) or -ENOSPC (too many) with `err`. */
int replay_guard_take(struct replay_guard *guard, const char *once, struct ef_time now, struct ef_error *err);

#endif
