/* SPDX-License-Identifier: Apache-2.0 */
/* What the analyzer answers over HTTP: /v1/traces, /v1/status, /v1/load,
 * /v1/latency, /v1/counters, /metrics.
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

/* The handlers of the topology, in http_topology.c; `ctx` is the analyzer. */
ef_http_handler ef_http_get_topology, ef_http_put_topology;

/* The handlers of load, in http_load.c; `ctx` is the analyzer. */
ef_http_handler ef_http_get_load, ef_http_get_latency;
extern const char *const ef_http_load_params[];

/* The handlers of counters, in http_counters.c, and what GET /v1/counters lists.
 * `ctx` is the analyzer. */
ef_http_handler ef_http_get_counters, ef_http_add_counter, ef_http_get_counter, ef_http_remove_counter;
extern const char *const ef_http_counter_params[];
json_t *ef_counters_json(const struct ef_analyzer *analyzer);

#endif
