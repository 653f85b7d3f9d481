/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the Prometheus text format (version 0.0.4), one family after another:
 *
 *     struct ef_metrics m;
 *     ef_metrics_init(&m);
 *     ef_metrics_family(&m, "everflow_drops_total", "counter", "copies discarded, by reason");
 *     ef_metrics_value(&m, n, "reason", "worker_busy", NULL);
 *     ef_metrics_reply(&m, req);            // or ef_metrics_deinit(&m)
 *
 * Label values and help texts are escaped. One thread per struct. */
#ifndef EF_NET_METRICS_H
#define EF_NET_METRICS_H

#include "net/http_server.h"

struct ef_metrics {
    struct evbuffer *text;
    const char *name; /* The family that values belong to; borrowed. */
};

void ef_metrics_init(struct ef_metrics *metrics);
void ef_metrics_deinit(struct ef_metrics *metrics);

/* Starts a family: its HELP and TYPE lines. `type` is "counter" or "gauge";
 * `name` must live until the next family. */
void ef_metrics_family(struct ef_metrics *metrics, const char *name, const char *type, const char *help);

/* One sample: label names and values in pairs, ended by NULL. */
void ef_metrics_value(struct ef_metrics *metrics, double value, ...) __attribute__((sentinel));

/* A family with one sample without labels. */
void ef_metrics_single(struct ef_metrics *metrics, const char *name, const char *type, const char *help, double value);

/* Replies with all of it and releases `metrics`. */
void ef_metrics_reply(struct ef_metrics *metrics, struct ef_http_request *req);

#endif
