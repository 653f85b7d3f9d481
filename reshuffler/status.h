/* SPDX-License-Identifier: Apache-2.0 */
/* What a reshuffler says of itself: GET /v1/status and /metrics, and `status`
 * and `counters` on the control socket. All on the main thread. */
#ifndef RESHUFFLER_STATUS_H
#define RESHUFFLER_STATUS_H

#include "base/time.h"
#include "reshuffler/conf.h"
#include "reshuffler/congestion.h"
#include "reshuffler/members.h"
#include "reshuffler/responder.h"
#include "reshuffler/watch.h"
#include "reshuffler/worker.h"

struct ef_control;
struct ef_http_server;

/* What there is to tell about; pointers are borrowed. */
struct ef_reshuffler {
    const struct ef_conf *conf;
    struct ef_members members;
    struct ef_watch *watch;
    struct ef_congestion congestion;
    struct ef_worker *workers[EF_CONF_MAX_SOURCES];
    struct ef_responder *responders[EF_CONF_MAX_SOURCES]; /* None without --answer. */
    unsigned n_responders;
    unsigned n_workers;
    struct ef_time started_mono;
};

/* The counters of all workers. */
void ef_reshuffler_totals(const struct ef_reshuffler *r, struct ef_totals *sum);

/* Copies meant for the analyzer at index `i`, of `totals`. */
uint64_t ef_reshuffler_copies_to(const struct ef_reshuffler *r, const struct ef_totals *totals, unsigned i);

void ef_status_serve_http(struct ef_reshuffler *r, struct ef_http_server *server);
void ef_status_serve_control(struct ef_reshuffler *r, struct ef_control *control);

#endif
