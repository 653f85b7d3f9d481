/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the controller for traces and takes them one by one as they arrive, so
 * that an answer of any size needs the memory of one trace:
 *
 *     struct efctl_trace_sink sink = {take, &state};
 *     rc = efctl_trace_fetch(&client, &query, &sink, &end, &failure);
 *
 * The answer's last line says whether it is whole; without it the transfer was
 * cut short, which is an error. */
#ifndef EFCTL_TRACE_FETCH_H
#define EFCTL_TRACE_FETCH_H

#include <jansson.h>

#include "utilities/efctl/client.h"
#include "utilities/efctl/trace_view.h"

/* Called for each trace, which is borrowed. Returns 0, or a negative errno to
 * stop. */
struct efctl_trace_sink {
    int (*take)(void *ctx, json_t *trace);
    void *ctx;
};

/* Path and query of GET /v1/traces in `format`; the caller frees it. */
char *efctl_trace_path(const struct efctl_trace_query *query, const char *format);

/* Fetches. `*end` is the last line, {"end":true,"more":...}, the caller's to
 * json_decref(). Returns 0 or a negative errno with `failure` (the sink's own
 * errno without). */
int efctl_trace_fetch(const struct efctl_client *client, const struct efctl_trace_query *query,
                      const struct efctl_trace_sink *sink, json_t **end, struct efctl_failure *failure);

#endif
