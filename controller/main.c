/* SPDX-License-Identifier: Apache-2.0 */
/* ef-controller: configures the switches, and answers for the whole suite. */
#include <config.h>

#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/control_socket.h"
#include "base/daemon.h"
#include "base/log.h"
#include "base/signals.h"
#include "controller/alerts.h"
#include "controller/alerts_kept.h"
#include "controller/api_debug.h"
#include "controller/ask_analyzers.h"
#include "controller/collection.h"
#include "controller/added_switches.h"
#include "controller/controller.h"
#include "controller/event_stream.h"
#include "controller/events.h"
#include "controller/corrupt_watch.h"
#include "controller/counter_keeper.h"
#include "controller/diagnoses_kept.h"
#include "controller/drift_watch.h"
#include "controller/ecmp_watch.h"
#include "controller/link_watch.h"
#include "controller/peer_poll.h"
#include "controller/probe_orders.h"
#include "controller/rdma_watch.h"
#include "controller/rule_sets.h"
#include "controller/rule_sets_kept.h"
#include "controller/steering.h"
#include "controller/watch_switches.h"
#include "controller/watchers.h"
#include "controller/webhooks.h"
#include "net/http_pool.h"

static const char program[] = "ef-controller";

/* --- Command line --------------------------------------------------------- */

static int
set_config(void *ctx, const char *value, struct ef_error *err)
{
    *(const char **) ctx = value;
    return 0;
}

static const struct ef_option options[] = {
    {"config", 'c', "FILE", "the configuration, a JSON file; see ef-controller(8)", set_config},
    {0},
};

static void
print_usage(const struct ef_option_group *groups)
{
    printf("usage: %s --config FILE [OPTION]...\n\n"
           "Configures the switches of an Everflow for Open vSwitch, and answers questions\n"
           "about traces by asking all analyzers.\n",
           program);
    ef_options_print(groups, stdout);
}

/* Reads the command line. Returns -1 to go on, or the exit status. */
static int
parse_command_line(int argc, char *argv[], const char **config, struct ef_daemon *daemon)
{
    struct ef_option_group groups[] = {{"Options", options, config}, EF_DAEMON_GROUP(daemon), {0}};
    struct ef_error err = EF_ERROR_INIT;
    int rc = ef_options_parse(groups, argc, argv, &err);
    if (rc == EF_OPTIONS_HELP) {
        print_usage(groups);
        return 0;
    }
    if (rc == EF_OPTIONS_VERSION) {
        printf("%s (%s) %s\n", program, PACKAGE_NAME, PACKAGE_VERSION);
        return 0;
    }
    if (rc >= 0 && rc < argc) {
        rc = ef_error_set(&err, -EINVAL, "unexpected argument '%.60s'; see --help", argv[rc]);
    } else if (rc >= 0 && !*config) {
        rc = ef_error_set(&err, -EINVAL, "--config FILE is missing; see --help");
    }
    if (rc < 0) {
        fprintf(stderr, "%s: %s\n", program, err.text);
        return 2;
    }
    return -1;
}

/* --- The daemon ----------------------------------------------------------- */

size_t
controller_n_configured(const struct controller *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n_switches; i++) {
        n += managed_switch_is_configured(c->switches[i]);
    }
    return n;
}

static void
on_role_changed(void *ctx, bool is_active)
{
    struct controller *c = ctx;
    for (size_t i = 0; i < c->n_switches; i++) {
        managed_switch_set_active(c->switches[i], is_active);
    }
}

static int
start_switches(struct controller *c, struct ef_error *err)
{
    c->switches = calloc(c->topology.n_switches + 1, sizeof *c->switches);
    if (!c->switches) {
        return ef_error_set(err, -ENOMEM, "out of memory");
    }
    for (c->n_switches = 0; c->n_switches < c->topology.n_switches; c->n_switches++) {
        const struct topology_switch *node = &c->topology.switches[c->n_switches];
        int rc = managed_switch_create(c->base, node, &c->configuration.everflow, c->configuration.tls,
                                       &c->switches[c->n_switches], err);
        if (rc) {
            return ef_error_prefix(err, rc, "switch %s", node->name);
        }
        managed_switch_set_active(c->switches[c->n_switches], state_is_active(c->state));
    }
    state_watch_role(c->state, on_role_changed, c);
    c->added_switches = added_switches_create(c);
    return 0;
}

static void
set_rules(void *ctx, size_t number, json_t *rules)
{
    struct controller *c = ctx;
    managed_switch_set_rules(c->switches[number], rules);
}

static enum rule_state
rule_state(void *ctx, size_t number, const char *name, char *why, size_t size)
{
    const struct controller *c = ctx;
    return managed_switch_rule_state(c->switches[number], name, why, size);
}

static size_t
count_switches(void *ctx)
{
    return ((const struct controller *) ctx)->n_switches;
}

static const char *
switch_name(void *ctx, size_t number)
{
    return managed_switch_name(((const struct controller *) ctx)->switches[number]);
}

static void
start_rule_sets(struct controller *c)
{
    struct rule_sets_switches switches = {
        .count = count_switches, .name = switch_name, .set_rules = set_rules, .rule_state = rule_state, .ctx = c};
    c->rule_sets = rule_sets_create(c->base, c->configuration.everflow.sample_value, &switches);
    c->rule_sets_kept = rule_sets_kept_create(c->rule_sets, c->state);
}

/* Who is not the active one changes nothing. */
static bool
refuse_changes(struct ef_http_request *req, void *ctx)
{
    const struct controller *c = ctx;
    char why[600];
    if (!strcmp(ef_http_method(req), "GET") || !state_refuses(c->state, why, sizeof why)) {
        return false;
    }
    ef_http_reply_error(req, 503, "not_active", -1, "%s", why);
    return true;
}

static int
start_state(struct controller *c, struct ef_error *err)
{
    struct state_config config = {
        .database = c->configuration.database, .tls = c->configuration.tls, .self = c->configuration.listen};
    int rc = state_create(c->base, &config, &c->state, err);
    if (rc) {
        return rc;
    }
    c->access = access_create(&c->configuration.access, c->state, c->http);
    if (!c->access) {
        return ef_error_set(err, -ENOMEM, "out of memory");
    }
    ef_http_server_add_guard(c->http, refuse_changes, c);
    return 0;
}

/* Our daemons are asked again and again: over connections that are kept. */
static void
give_pool(struct controller *c)
{
    struct {
        struct peer *peers;
        size_t n;
    } all[] = {
        {c->configuration.analyzers, c->configuration.n_analyzers},
        {c->configuration.reshufflers, c->configuration.n_reshufflers},
        {c->configuration.probers, c->configuration.n_probers},
    };
    c->pool = ef_http_pool_create();
    for (size_t i = 0; i < EF_ARRAY_SIZE(all); i++) {
        for (size_t k = 0; k < all[i].n; k++) {
            all[i].peers[k].pool = c->pool;
        }
    }
}

/* HTTP comes before the switches: a second controller that finds its port busy
 * must not have touched any. */
static int
start(struct controller *c, const struct ef_daemon *daemon, struct ef_control **control, struct ef_error *err)
{
    c->started = ef_time_mono();
    c->base = event_base_new();
    if (!c->base) {
        return ef_error_set(err, -ENOMEM, "out of memory");
    }
    int rc = ef_http_server_create(c->base, c->configuration.listen, c->configuration.tls, &c->http, err);
    if (rc) {
        return rc;
    }
    ef_http_server_limit(c->http, daemon->max_connections);
    give_pool(c);
    rc = start_state(c, err);
    if (rc) {
        return rc;
    }
    api_access_add(c->access, c->http);
    api_openapi_add(c);
    api_traces_add(c);
    c->probes = probe_orders_create(c->base, &c->configuration, c->state);
    api_probes_add(c);
    api_rules_add(c);
    c->alerts = alerts_create();
    c->alerts_kept = alerts_kept_create(c->base, c->alerts, c->state);
    c->events = events_create(c->alerts);
    c->event_streams = event_streams_create(c->base, c->events, c->http);
    api_alerts_add(c);
    c->diagnoses = diagnoses_create(c);
    c->diagnoses_kept = diagnoses_kept_create(c->base, c->diagnoses, c->state);
    probe_budget_init(&c->probe_budget, (unsigned) c->configuration.watchers.orders,
                      (unsigned) c->configuration.watchers.probes_per_s, c->started);
    api_diagnoses_add(c);
    c->peer_polls = peer_polls_create(c->base, &c->configuration, c);
    api_status_add(c);
    api_switches_add(c);
    c->counter_keeper = counter_keeper_create(c);
    api_counters_add(c);
    api_config_add(c);
    api_load_add(c);
    rc = daemon->control ? ef_control_create(c->base, daemon->control, control, err) : 0;
    if (rc) {
        return rc;
    }
    control_commands_add(c, *control);
    rc = start_switches(c, err);
    if (!rc) {
        start_rule_sets(c);
        c->debug = api_debug_start(c);
        c->push = topology_push_start(c->base, &c->configuration, &c->topology);
        c->steering = steering_start(c);
        c->collection = collection_start(c);
        c->watchers = watchers_start(c);
        c->link_watch = link_watch_start(c);
        c->ecmp_watch = ecmp_watch_start(c);
        c->switch_watch = switch_watch_start(c);
        c->drift_watch = drift_watch_start(c);
        c->rdma_watch = rdma_watch_start(c);
        c->corrupt_watch = corrupt_watch_start(c);
        c->webhooks = webhooks_start(c);
        api_webhooks_add(c);
    }
    return rc;
}

static void
stop(struct controller *c, struct ef_control *control)
{
    peer_polls_destroy(c->peer_polls); /* These two reply, so that no request is left over. */
    ask_analyzers_stop(c);
    ef_http_server_destroy(c->http);
    api_debug_stop(c->debug);
    watchers_stop(c->watchers);
    switch_watch_stop(c->switch_watch);
    drift_watch_stop(c->drift_watch);
    collection_stop(c->collection);
    diagnoses_kept_destroy(c->diagnoses_kept);
    diagnoses_destroy(c->diagnoses); /* They use the next three. */
    link_watch_stop(c->link_watch);
    ecmp_watch_stop(c->ecmp_watch);
    rdma_watch_stop(c->rdma_watch);
    corrupt_watch_stop(c->corrupt_watch);
    webhooks_stop(c->webhooks);
    event_streams_destroy(c->event_streams);
    events_destroy(c->events);
    alerts_kept_destroy(c->alerts_kept);
    alerts_destroy(c->alerts);
    probe_orders_destroy(c->probes);
    counter_keeper_destroy(c->counter_keeper);
    ef_control_destroy(control);
    steering_stop(c->steering);
    topology_push_stop(c->push);
    rule_sets_kept_destroy(c->rule_sets_kept);
    rule_sets_destroy(c->rule_sets);
    added_switches_destroy(c->added_switches);
    for (size_t i = 0; i < c->n_switches; i++) {
        managed_switch_destroy(c->switches[i]);
    }
    free(c->switches);
    access_destroy(c->access);
    state_destroy(c->state);
    ef_http_pool_destroy(c->pool);
    if (c->base) {
        event_base_free(c->base);
    }
    topology_free(&c->topology);
    configuration_free(&c->configuration);
}

static int
run(struct controller *c, struct ef_daemon *daemon, struct ef_error *err)
{
    struct ef_signals *signals;
    int rc = ef_signals_create(c->base, &signals, err);
    if (rc) {
        return rc;
    }
    rc = ef_daemon_ready(daemon, err);
    if (!rc) {
        ef_log_info("main", "%s %s listens on %s, %zu switches, %zu analyzers", program, PACKAGE_VERSION,
                    ef_http_server_address(c->http), c->n_switches, c->configuration.n_analyzers);
        event_base_dispatch(c->base);
        ef_log_info("main", "the switches keep their configuration");
    }
    ef_signals_destroy(signals);
    return rc;
}

int
main(int argc, char *argv[])
{
    struct ef_daemon daemon = {.program = program};
    struct controller c = {0};
    struct ef_control *control = NULL;
    struct ef_error err = EF_ERROR_INIT;
    const char *config = NULL;
    int status = parse_command_line(argc, argv, &config, &daemon);
    if (status >= 0) {
        return status;
    }
    int rc = configuration_load(config, &c.configuration, &err);
    rc = rc ? rc : topology_load(c.configuration.topology_file, &c.topology, &err);
    rc = rc || daemon.check_only ? rc : ef_daemon_begin(&daemon, &err);
    if (!rc && daemon.check_only) {
        ef_daemon_say_checked(&daemon);
    } else if (!rc) {
        rc = start(&c, &daemon, &control, &err);
        rc = rc ? rc : run(&c, &daemon, &err);
        ef_daemon_end(&daemon);
    }
    if (rc) {
        fprintf(stderr, "%s: %s\n", program, err.text);
    }
    stop(&c, control);
    return rc ? 1 : 0;
}
