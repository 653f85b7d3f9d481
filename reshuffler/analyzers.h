/* SPDX-License-Identifier: Apache-2.0 */
/* The analyzers over HTTP: who they are, how they are, and changing that while
 * copies flow (members.h).
 *
 *     GET    /v1/analyzers             {"analyzers": [...]}
 *     PUT    /v1/analyzers             {"analyzers": [{"name", "address", "weight", "url", "draining"}, ...]}: these,
 * no others POST   /v1/analyzers             {"name", ...}: adds one, or changes what is given of the one of that name
 *     DELETE /v1/analyzers?name=NAME   removes one
 *
 * Each change is answered with the analyzers as they are then, and holds until the
 * daemon ends. On the main thread. */
#ifndef RESHUFFLER_ANALYZERS_H
#define RESHUFFLER_ANALYZERS_H

#include <jansson.h>

#include "reshuffler/status.h"

struct ef_metrics;

/* The list, with states, copies and health (new reference). */
json_t *ef_analyzers_json(const struct ef_reshuffler *r);

void ef_analyzers_add_metrics(const struct ef_reshuffler *r, const struct ef_totals *totals, struct ef_metrics *m);

void ef_analyzers_serve_http(struct ef_reshuffler *r, struct ef_http_server *server);

#endif
