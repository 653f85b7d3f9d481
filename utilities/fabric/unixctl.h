/* SPDX-License-Identifier: Apache-2.0 */
/* The control socket of an Open vSwitch daemon (what ovs-appctl talks to):
 * JSON-RPC over a Unix socket. Talking to it directly answers in a fraction of
 * the time that a process per question takes.
 *
 *     struct ef_unixctl *u;
 *     if (!ef_unixctl_open("demo", "leaf1", &u, &err)) {
 *         const char *params[] = {"br0", "in_port=1,ip", NULL};
 *         rc = ef_unixctl_call(u, "ofproto/trace", params, &text, &err);
 *         ef_unixctl_close(u);
 *     }
 *
 * One thread per connection. */
#ifndef EF_FABRIC_UNIXCTL_H
#define EF_FABRIC_UNIXCTL_H

#include "base/error.h"

struct ef_unixctl;

/* Connects to ovs-vswitchd of switch `sw` of fabric `name`. Returns 0 or a
 * negative errno with `err` (-ESRCH: it does not run). */
int ef_unixctl_open(const char *name, const char *sw, struct ef_unixctl **unixctl, struct ef_error *err);

/* NULL is fine. */
void ef_unixctl_close(struct ef_unixctl *unixctl);

/* Asks `method` with the NULL-terminated `params`; the answer's text is the
 * caller's to free. Returns 0, -EINVAL with what the daemon said against it, or
 * another negative errno with `err` (-ETIMEDOUT after five seconds). */
int ef_unixctl_call(struct ef_unixctl *unixctl, const char *method, const char *const params[], char **answer,
                    struct ef_error *err);

#endif
