/* SPDX-License-Identifier: Apache-2.0 */
/* Giving up root: from then on the process is an ordinary user who may do the
 * few things that its work needs, and can never get back more.
 *
 *     static const int needed[] = {CAP_NET_RAW, -1};
 *     if (ef_privileges_drop("everflow", needed, &err)) fail;
 *
 * Capabilities belong to a thread, and new threads inherit them: call it before
 * the first one is started. What root alone may open (a log, a key) is opened
 * before. */
#ifndef EF_BASE_PRIVILEGES_H
#define EF_BASE_PRIVILEGES_H

#include "base/error.h"

/* Becomes `user`, in that user's groups, with the capabilities `needed` (ends
 * with -1; permitted and effective, not inherited by programs that are run) and
 * none beside. Returns 0 or a negative errno with `err`: -ENOENT (no such user),
 * -EPERM (we are not root). On failure the process must end: it may be neither. */
int ef_privileges_drop(const char *user, const int *needed, struct ef_error *err);

#endif
