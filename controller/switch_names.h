/* SPDX-License-Identifier: Apache-2.0 */
/* Filters as people ask the controller: they may name switches of the topology, where
 * analyzers know addresses only.
 *
 *     char *plain;
 *     if (switch_names_compile(c, "switch == leaf1", EF_FILTER_PACKET, &plain, &err)) refuse;
 *     ask_analyzers(plain ? plain : text);
 *     free(plain);
 *
 * A switch with addresses of both versions of IP stands for the one that its copies
 * come from, by "targets" of the configuration; for both if those are of both.
 * Called by api_traces.c and api_counters.c. Pure. */
#ifndef CONTROLLER_SWITCH_NAMES_H
#define CONTROLLER_SWITCH_NAMES_H

#include "base/error.h"
#include "filter/filter.h"

struct controller;

/* Checks `text` (NULL: nothing to check). `*plain` is the same filter with addresses
 * in place of names, for the caller to free(), or NULL if it names no switch. Returns
 * 0; -EINVAL with `err` and its offset in `text`; or -ENOMEM. */
int switch_names_compile(const struct controller *c, const char *text, enum ef_filter_kind kind, char **plain,
                         struct ef_error *err);

#endif
