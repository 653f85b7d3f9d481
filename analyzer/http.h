/* SPDX-License-Identifier: Apache-2.0 */
/* What the analyzer answers over HTTP: GET /v1/traces, /v1/status, /metrics.
 * Everything runs on the server's event base; a long answer is made in slices
 * between which other requests are served. */
#ifndef EF_ANALYZER_HTTP_H
#define EF_ANALYZER_HTTP_H

#include "analyzer/analyzer.h"
#include "net/http_server.h"

/* Adds the routes. `analyzer` must outlive the server. */
void ef_http_serve(struct ef_analyzer *analyzer, struct ef_http_server *server);

/* The handler of GET /v1/traces, in http_traces.c; `ctx` is the analyzer. */
void ef_http_get_traces(struct ef_http_request *req, void *ctx);
extern const char *const ef_http_traces_params[];

#endif
