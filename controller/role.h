/* SPDX-License-Identifier: Apache-2.0 */
/* What who asks may do; each role may what those before it may. */
#ifndef CONTROLLER_ROLE_H
#define CONTROLLER_ROLE_H

#include <stdbool.h>

enum role {
    ROLE_NONE,     /* Nothing. */
    ROLE_VIEWER,   /* Look: every GET but those of tokens and the audit log. */
    ROLE_OPERATOR, /* Ask for work: counters, debug sessions, probes, diagnoses, alerts. */
    ROLE_ADMIN,    /* Change who and what there is: switches, topology, tokens, webhooks. */
};

const char *role_name(enum role role);

/* False if `text` (NULL is fine) names none. */
bool role_parse(const char *text, enum role *role);

/* What `method` on `path` takes. */
enum role role_needed(const char *method, const char *path);

#endif
