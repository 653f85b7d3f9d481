/* SPDX-License-Identifier: Apache-2.0 */
/* The trace that an application begins with, as its options say: "trace" is an id,
 * or "filter" and "last_s" (300) mean the newest that matches and fulfils the
 * application's condition.
 *
 *     rc = trace_search_start(c, options, "trace.drop", found, ctx, &search, err);
 *
 *     static void found(void *ctx, const json_t *trace)      // borrowed; NULL: there is none
 *
 * `found` is called once, from the event loop, and the search is over then. One
 * thread. */
#ifndef CONTROLLER_TRACE_SEARCH_H
#define CONTROLLER_TRACE_SEARCH_H

#include <jansson.h>

#include "base/error.h"

struct controller;
struct trace_search;

/* Returns 0 with `*search`, or -EINVAL with `err`: the options are wrong. `condition`
 * is borrowed. */
int trace_search_start(struct controller *c, const json_t *options, const char *condition,
                       void (*found)(void *ctx, const json_t *trace), void *ctx, struct trace_search **search,
                       struct ef_error *err);

/* Releases it, over or not; then `found` does not come any more. NULL is fine. */
void trace_search_cancel(struct trace_search *search);

#endif
