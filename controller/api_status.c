/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/topology, /v1/switches, /v1/status and /metrics. */
#include <config.h>

#include <string.h>

#include "controller/alerts.h"
#include "controller/controller.h"
#include "controller/link_watch.h"
#include "controller/peer_poll.h"
#include "controller/watchers.h"
#include "controller/webhooks.h"
#include "net/metrics.h"

static void
get_topology(struct ef_http_request *req, void *ctx)
{
    struct controller *c = ctx;
    ef_http_reply_json(req, 200, json_incref(c->topology.document));
}

/* --- Those that wait for the peers ---------------------------------------- */

static double
uptime_s(const struct controller *c)
{
    return (double) ef_time_diff_ns(ef_time_mono(), c->started) / 1e9;
}

static void
reply_status(void *ctx, void *request, json_t *analyzers, json_t *reshufflers)
{
    struct controller *c = ctx;
    ef_http_reply_json(request, 200,
                       json_pack("{s:s, s:s, s:f, s:{s:I, s:I}, s:O, s:O, s:{s:I, s:I, s:I}, s:o, s:o, s:o, s:o, s:o}",
                                 "role", "controller", "version", PACKAGE_VERSION, "uptime_s", uptime_s(c), "switches",
                                 "total", (json_int_t) c->n_switches, "configured",
                                 (json_int_t) controller_n_configured(c), "analyzers", analyzers, "reshufflers",
                                 reshufflers, "traces", "queries", (json_int_t) c->counters.queries, "returned",
                                 (json_int_t) c->counters.traces, "incomplete_answers",
                                 (json_int_t) c->counters.incomplete, "state", state_show(c->state), "watchers",
                                 watchers_show(c->watchers), "link_watch", link_watch_show(c->link_watch), "access",
                                 access_show(c->access), "webhooks", webhooks_show(c->webhooks)));
}

/* What the reshufflers collected of the switch with this address, together; no
 * object if none got anything. */
static json_t *
collected(const json_t *reshufflers, const char *address)
{
    json_t *sums = NULL, *reshuffler, *n;
    const char *key;
    size_t i;
    json_array_foreach(reshufflers, i, reshuffler)
    {
        json_t *account = json_object_get(json_object_get(reshuffler, "switches"), address);
        if (account && !sums) {
            sums = json_object();
        }
        json_object_foreach(account, key, n)
        {
            json_int_t before = json_integer_value(json_object_get(sums, key));
            json_object_set_new(sums, key, json_integer(before + json_integer_value(n)));
        }
    }
    return sums ? sums : json_null();
}

static void
reply_switches(void *ctx, void *request, json_t *analyzers, json_t *reshufflers)
{
    struct controller *c = ctx;
    json_t *list = json_array();
    for (size_t i = 0; i < c->n_switches; i++) {
        json_t *shown = managed_switch_show(c->switches[i]);
        const char *address = json_string_value(json_object_get(shown, "address"));
        json_object_set_new(shown, "collected", collected(reshufflers, address ? address : ""));
        json_array_append_new(list, shown);
    }
    ef_http_reply_json(request, 200, json_pack("{s:o}", "switches", list));
}

static void
add_peers(struct ef_metrics *m, const char *role, json_t *peers)
{
    size_t i;
    json_t *peer;
    json_array_foreach(peers, i, peer)
    {
        const char *state = json_string_value(json_object_get(peer, "state"));
        ef_metrics_value(m, state && !strcmp(state, "up"), "role", role, "name",
                         json_string_value(json_object_get(peer, "name")), NULL);
    }
}

/* The switches' own counters, as their databases say. */
static void
add_switches(struct ef_metrics *m, const struct controller *c)
{
    ef_metrics_family(m, "everflow_switch_configured", "gauge", "1 if the switch has its configuration");
    for (size_t i = 0; i < c->n_switches; i++) {
        const struct managed_switch *s = c->switches[i];
        ef_metrics_value(m, managed_switch_is_configured(s), "switch", managed_switch_name(s), NULL);
    }
    ef_metrics_family(m, "everflow_switch_drifts_total", "counter",
                      "how often others changed what the controller had configured");
    for (size_t i = 0; i < c->n_switches; i++) {
        ef_metrics_value(m, (double) managed_switch_drifts(c->switches[i]), "switch",
                         managed_switch_name(c->switches[i]), NULL);
    }
    ef_metrics_family(m, "everflow_switch_statistics_total", "counter", "statistics of table Everflow, by counter");
    for (size_t i = 0; i < c->n_switches; i++) {
        json_t *statistics = managed_switch_statistics(c->switches[i]), *value;
        const char *name;
        json_object_foreach(statistics, name, value)
        {
            ef_metrics_value(m, json_number_value(value), "switch", managed_switch_name(c->switches[i]), "counter",
                             name, NULL);
        }
        json_decref(statistics);
    }
}

static double
number_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static void
add_http(struct ef_metrics *m, const struct controller *c)
{
    struct ef_http_server_stats http;
    ef_http_server_stats(c->http, &http);
    ef_metrics_single(m, "everflow_http_requests_total", "counter", "HTTP requests", (double) http.requests);
    ef_metrics_single(m, "everflow_http_answers_total", "counter", "HTTP answers that were begun",
                      (double) http.answers);
    ef_metrics_single(m, "everflow_http_answer_seconds_total", "counter", "time until answers were begun, together",
                      (double) http.waiting_ns / 1e9);
    ef_metrics_family(m, "everflow_http_errors_total", "counter", "HTTP answers that were errors");
    ef_metrics_value(m, (double) http.client_errors, "class", "4xx", NULL);
    ef_metrics_value(m, (double) http.server_errors, "class", "5xx", NULL);
    ef_metrics_single(m, "everflow_http_connections", "gauge", "open HTTP connections", (double) http.connections_open);
    ef_metrics_family(m, "everflow_http_connections_closed_total", "counter",
                      "HTTP connections that the server closed to protect itself, by reason");
    ef_metrics_value(m, (double) http.connections_displaced, "reason", "room_for_others", NULL);
    ef_metrics_value(m, (double) http.connections_too_slow, "reason", "too_slow", NULL);
    ef_metrics_value(m, (double) http.connections_too_large, "reason", "too_large", NULL);
    json_t *access = access_show(c->access);
    ef_metrics_family(m, "everflow_http_refused_total", "counter", "HTTP requests refused, by status");
    ef_metrics_value(m, number_of(access, "refused_401"), "status", "401", NULL);
    ef_metrics_value(m, number_of(access, "refused_403"), "status", "403", NULL);
    ef_metrics_value(m, number_of(access, "refused_429"), "status", "429", NULL);
    ef_metrics_single(m, "everflow_audit_lost_total", "counter", "entries that the audit log lacks",
                      number_of(access, "audit_lost"));
    json_decref(access);
}

/* Active alerts by kind, which are few, not by subject. */
static void
add_alerts(struct ef_metrics *m, const struct controller *c)
{
    struct alerts_counts n;
    alerts_count(c->alerts, &n);
    ef_metrics_family(m, "everflow_alerts", "gauge", "alerts, by state");
    ef_metrics_value(m, (double) n.open, "state", "open", NULL);
    ef_metrics_value(m, (double) n.acknowledged, "state", "acknowledged", NULL);
    ef_metrics_value(m, (double) n.resolved, "state", "resolved", NULL);
    ef_metrics_single(m, "everflow_alerts_raised_total", "counter", "alerts that were raised", (double) n.raised);
    json_t *active = alerts_list(c->alerts, "active", NULL), *kinds = json_object(), *alert, *count;
    const char *kind;
    size_t i;
    json_array_foreach(active, i, alert)
    {
        kind = json_string_value(json_object_get(alert, "kind"));
        json_object_set_new(kinds, kind, json_integer(json_integer_value(json_object_get(kinds, kind)) + 1));
    }
    ef_metrics_family(m, "everflow_alerts_active", "gauge", "alerts that are not resolved, by kind");
    json_object_foreach(kinds, kind, count)
    {
        ef_metrics_value(m, json_number_value(count), "kind", kind, NULL);
    }
    json_decref(kinds);
    json_decref(active);
}

static void
add_state(struct ef_metrics *m, const struct controller *c)
{
    ef_metrics_single(m, "everflow_active", "gauge", "1 if this controller is the one that changes things",
                      state_is_active(c->state));
    if (c->configuration.database) {
        json_t *state = state_show(c->state);
        ef_metrics_single(m, "everflow_state_connected", "gauge", "1 if the controller has its database",
                          json_is_true(json_object_get(state, "connected")));
        json_decref(state);
    }
}

static void
reply_metrics(void *ctx, void *request, json_t *analyzers, json_t *reshufflers)
{
    struct controller *c = ctx;
    struct ef_metrics m;
    ef_metrics_init(&m);
    ef_metrics_single(&m, "everflow_uptime_seconds", "gauge", "time since the start", uptime_s(c));
    ef_metrics_single(&m, "everflow_trace_queries_total", "counter", "questions for traces",
                      (double) c->counters.queries);
    ef_metrics_single(&m, "everflow_traces_returned_total", "counter", "traces in the answers",
                      (double) c->counters.traces);
    ef_metrics_single(&m, "everflow_incomplete_answers_total", "counter", "answers that lacked an analyzer's part",
                      (double) c->counters.incomplete);
    ef_metrics_family(&m, "everflow_peer_up", "gauge", "1 if the daemon answers the controller");
    add_peers(&m, "analyzer", analyzers);
    add_peers(&m, "reshuffler", reshufflers);
    add_switches(&m, c);
    add_http(&m, c);
    add_alerts(&m, c);
    add_state(&m, c);
    ef_metrics_reply(&m, request);
}

static void
get_switches(struct ef_http_request *req, void *ctx)
{
    struct controller *c = ctx;
    peer_polls_start(c->peer_polls, reply_switches, req);
}

static void
get_status(struct ef_http_request *req, void *ctx)
{
    struct controller *c = ctx;
    peer_polls_start(c->peer_polls, reply_status, req);
}

static void
get_metrics(struct ef_http_request *req, void *ctx)
{
    struct controller *c = ctx;
    peer_polls_start(c->peer_polls, reply_metrics, req);
}

void
api_status_add(struct controller *c)
{
    static const struct ef_http_route routes[] = {
        {"GET", "/v1/topology", NULL, get_topology},
        {"GET", "/v1/switches", NULL, get_switches},
        {"GET", "/v1/status", NULL, get_status},
        {"GET", "/metrics", NULL, get_metrics},
        {0},
    };
    ef_http_server_add_routes(c->http, routes, c);
}
