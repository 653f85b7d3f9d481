/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of ef-controller share: one struct, built by main.c, alive as
 * long as the process. Everything runs on one event base. */
#ifndef CONTROLLER_CONTROLLER_H
#define CONTROLLER_CONTROLLER_H

#include <sys/queue.h>

#include "base/time.h"
#include "controller/configuration.h"
#include "controller/managed_switch.h"
#include "controller/state.h"
#include "controller/probe_budget.h"
#include "controller/topology.h"
#include "controller/topology_push.h"
#include "net/http_server.h"

struct access_control;
struct api_debug;
struct ef_control;
struct alerts;
struct alerts_kept;
struct event_streams;
struct events;
struct webhooks;
struct collection;
struct diagnoses;
struct diagnoses_kept;
struct peer_polls;
struct probe_orders;
struct switch_watch;
struct drift_watch;
struct watchers;
struct rule_sets;
struct rule_sets_kept;
struct link_watch;
struct ecmp_watch;
struct rdma_watch;
struct corrupt_watch;

struct controller {
    struct event_base *base;
    struct configuration configuration;
    struct topology topology;
    struct managed_switch **switches; /* Those of the topology, by their number there; then those added at run time. */
    size_t n_switches;
    struct added_switches *added_switches;
    struct ef_http_server *http;
    struct ef_http_pool *pool; /* Of connections to our daemons. */
    struct state_store *state; /* What must not be forgotten; and who is active. */
    struct access_control *access;
    struct topology_push *push;
    struct peer_polls *peer_polls;
    LIST_HEAD(, question) questions; /* Of ask_analyzers.c, on their way. */
    struct probe_orders *probes;
    struct alerts *alerts;
    struct alerts_kept *alerts_kept;
    struct events *events;
    struct event_streams *event_streams;
    struct webhooks *webhooks;
    struct diagnoses *diagnoses;
    struct diagnoses_kept *diagnoses_kept;
    struct collection *collection;     /* NULL: without probers nobody asks. */
    struct watchers *watchers;         /* NULL: all are off. */
    struct switch_watch *switch_watch; /* NULL: off. */
    struct drift_watch *drift_watch;   /* NULL: off. */
    struct probe_budget probe_budget;  /* Of all diagnoses together. */
    struct counter_keeper *counter_keeper;
    struct steering *steering;
    struct rule_sets *rule_sets;
    struct rule_sets_kept *rule_sets_kept;
    struct api_debug *debug;
    struct link_watch *link_watch;       /* Or NULL. */
    struct ecmp_watch *ecmp_watch;       /* Or NULL. */
    struct rdma_watch *rdma_watch;       /* Or NULL. */
    struct corrupt_watch *corrupt_watch; /* Or NULL. */
    struct ef_time started;              /* Monotonic. */
    struct {
        uint64_t queries, traces, incomplete; /* Answers to /v1/traces; traces in them; those not complete. */
    } counters;
};

size_t controller_n_configured(const struct controller *c);

/* Add the routes of /v1/traces, /v1/probes, /v1/rules, /v1/counters, /v1/alerts
 * /v1/diagnoses, /v1/load and /v1/latency, and of all others. */
void api_traces_add(struct controller *c);
void api_probes_add(struct controller *c);
void api_rules_add(struct controller *c);
void api_status_add(struct controller *c);
void api_counters_add(struct controller *c);
void api_switches_add(struct controller *c);
void api_config_add(struct controller *c);
void api_load_add(struct controller *c);
void api_alerts_add(struct controller *c);
void api_diagnoses_add(struct controller *c);
void api_webhooks_add(struct controller *c);

/* Adds GET /v1/openapi.json. */
void api_openapi_add(struct controller *c);

/* Add "counters" and "status" to the control socket. */
void control_commands_add(struct controller *c, struct ef_control *control);

#endif
