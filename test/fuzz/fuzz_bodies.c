/* SPDX-License-Identifier: Apache-2.0 */
/* What the controller answers to any body, over HTTP and with all that stands behind:
 * the first byte says to which path the rest is sent. Every input has a controller of
 * its own, with a topology, hosts and peers that nobody listens for. What it answers
 * must be JSON, an error must have a code and words, nothing may be a failure of
 * ours (500), and nothing may be left when it ends, whatever was under way.
 *
 *     d  POST /v1/diagnoses     t  POST /v1/tokens      w  POST /v1/webhooks
 *     s  POST /v1/switches      p  POST /v1/probes      b  POST /v1/debug
 *     c  POST /v1/counters      r  POST /v1/rules
 *     a  POST /v1/alerts/ID/acknowledge                 x  POST /v1/alerts/ID/resolve */
#include <config.h>

#include <event2/event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "controller/added_switches.h"
#include "controller/alerts.h"
#include "controller/alerts_kept.h"
#include "controller/api_debug.h"
#include "controller/ask_analyzers.h"
#include "controller/controller.h"
#include "controller/diagnoses.h"
#include "controller/diagnoses_kept.h"
#include "controller/events.h"
#include "controller/probe_orders.h"
#include "controller/rule_sets.h"
#include "controller/rule_sets_kept.h"
#include "controller/webhooks.h"
#include "fuzz/fuzz.h"
#include "net/http_client.h"
#include "net/http_pool.h"

enum {
    PATIENCE_S = 60,
    UNDER_WAY_MS = 5, /* A debug session is measured for some seconds: it ends with the controller. */
};

static bool is_alone;
static char directory[] = "/tmp/ef-fuzz-bodies-XXXXXX";
static char configuration_file[64], topology_file[64], server[64];

static void
must(bool holds)
{
    if (!holds) {
        abort();
    }
}

/* --- What the controller is given ---------------------------------------------- */

static void
write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    must(file && fputs(text, file) >= 0);
    must(!fclose(file));
}

static void
remove_files(void)
{
    unlink(configuration_file);
    unlink(topology_file);
    rmdir(directory);
}

/* Switches that are added are connected to: in a network of our own, that is nobody. */
static void
prepare(void)
{
    char text[1500];
    is_alone = !unshare(CLONE_NEWNET) || !unshare(CLONE_NEWUSER | CLONE_NEWNET);
    must(mkdtemp(directory) != NULL);
    snprintf(configuration_file, sizeof configuration_file, "%s/controller.json", directory);
    snprintf(topology_file, sizeof topology_file, "%s/topology.json", directory);
    snprintf(server, sizeof server, "unix:%s/http", directory);
    snprintf(text, sizeof text,
             "{\"listen\":\"%s\",\"topology\":\"topology.json\","
             "\"analyzers\":[{\"name\":\"a1\",\"url\":\"unix:%s/a1\"}],\"reshufflers\":[],"
             "\"probers\":[{\"name\":\"p1\",\"url\":\"unix:%s/p1\"}],"
             "\"everflow\":{\"targets\":[\"10.255.255.1\"],\"encap\":\"erspan3\",\"classes\":[\"debug\"],"
             "\"edge_ports\":\"hosts\"}}",
             server, directory, directory);
    write_file(configuration_file, text);
    write_file(topology_file,
               "{\"name\":\"t\",\"vip\":\"10.255.255.1\",\"switches\":["
               "{\"name\":\"leaf1\",\"role\":\"leaf\",\"loopback\":\"10.255.0.1\",\"ovsdb\":\"unix:/nowhere/leaf1\","
               "\"ports\":[{\"number\":1,\"name\":\"up\",\"peer\":{\"node\":\"leaf2\",\"port\":1}},"
               "{\"number\":3,\"name\":\"h\",\"peer\":{\"node\":\"h1\"}}]},"
               "{\"name\":\"leaf2\",\"role\":\"leaf\",\"loopback\":\"10.255.0.2\",\"ovsdb\":\"unix:/nowhere/leaf2\","
               "\"ports\":[{\"number\":1,\"name\":\"up\",\"peer\":{\"node\":\"leaf1\",\"port\":1}},"
               "{\"number\":3,\"name\":\"h\",\"peer\":{\"node\":\"h2\"}}]}],"
               "\"hosts\":[{\"name\":\"h1\",\"role\":\"host\",\"address\":\"10.1.0.11\",\"mac\":\"02:00:00:00:00:01\","
               "\"switch\":\"leaf1\",\"port\":3},{\"name\":\"h2\",\"role\":\"host\",\"address\":\"10.2.0.11\","
               "\"mac\":\"02:00:00:00:00:02\",\"switch\":\"leaf2\",\"port\":3}]}");
    ef_log_set_level(EF_LOG_ERROR);
    atexit(remove_files);
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
set_rules(void *ctx, size_t number, json_t *rules)
{
    managed_switch_set_rules(((struct controller *) ctx)->switches[number], rules);
}

static enum rule_state
rule_state(void *ctx, size_t number, const char *name, char *why, size_t size)
{
    return managed_switch_rule_state(((const struct controller *) ctx)->switches[number], name, why, size);
}

static void
start_switches(struct controller *c)
{
    c->switches = calloc(c->topology.n_switches + 1, sizeof *c->switches);
    must(c->switches != NULL);
    for (; c->n_switches < c->topology.n_switches; c->n_switches++) {
        must(!managed_switch_create(c->base, &c->topology.switches[c->n_switches], &c->configuration.everflow, NULL,
                                    &c->switches[c->n_switches], NULL));
    }
    c->added_switches = added_switches_create(c);
    struct rule_sets_switches switches = {
        .count = count_switches, .name = switch_name, .set_rules = set_rules, .rule_state = rule_state, .ctx = c};
    c->rule_sets = rule_sets_create(c->base, c->configuration.everflow.sample_value, &switches);
    c->rule_sets_kept = rule_sets_kept_create(c->rule_sets, c->state);
}

/* As the program does, without what watches by itself. */
static void
start(struct controller *c)
{
    struct ef_error err = EF_ERROR_INIT;
    must(!configuration_load(configuration_file, &c->configuration, &err));
    must(!topology_load(c->configuration.topology_file, &c->topology, &err));
    c->started = ef_time_mono();
    c->base = event_base_new();
    must(!ef_http_server_create(c->base, c->configuration.listen, NULL, &c->http, &err));
    c->pool = ef_http_pool_create();
    struct state_config state = {.self = c->configuration.listen};
    must(!state_create(c->base, &state, &c->state, &err));
    c->access = access_create(&c->configuration.access, c->state, c->http);
    api_access_add(c->access, c->http);
    c->probes = probe_orders_create(c->base, &c->configuration, c->state);
    api_probes_add(c);
    api_rules_add(c);
    c->alerts = alerts_create();
    c->alerts_kept = alerts_kept_create(c->base, c->alerts, c->state);
    c->events = events_create(c->alerts);
    api_alerts_add(c);
    c->diagnoses = diagnoses_create(c);
    c->diagnoses_kept = diagnoses_kept_create(c->base, c->diagnoses, c->state);
    probe_budget_init(&c->probe_budget, (unsigned) c->configuration.watchers.orders,
                      (unsigned) c->configuration.watchers.probes_per_s, c->started);
    api_diagnoses_add(c);
    api_switches_add(c);
    api_counters_add(c);
    start_switches(c);
    c->debug = api_debug_start(c);
    c->webhooks = webhooks_start(c);
    api_webhooks_add(c);
}

static void
stop(struct controller *c)
{
    ask_analyzers_stop(c);
    ef_http_server_destroy(c->http);
    api_debug_stop(c->debug);
    diagnoses_kept_destroy(c->diagnoses_kept);
    diagnoses_destroy(c->diagnoses);
    webhooks_stop(c->webhooks);
    events_destroy(c->events);
    alerts_kept_destroy(c->alerts_kept);
    alerts_destroy(c->alerts);
    probe_orders_destroy(c->probes);
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
    event_base_free(c->base);
    topology_free(&c->topology);
    configuration_free(&c->configuration);
}

/* --- Asking -------------------------------------------------------------------- */

struct question {
    struct event_base *base;
    bool is_answered, is_late;
};

static void
check_answer(const struct ef_http_result *result)
{
    json_t *answer = json_loadb(result->body, result->body_len, 0, NULL);
    const json_t *error = json_object_get(answer, "error");
    const char *message = json_string_value(json_object_get(error, "message"));
    must(answer && result->status >= 200 && result->status != 500);
    must(result->status < 400 || (json_string_value(json_object_get(error, "code")) && message && *message));
    json_decref(answer);
}

static void
on_answer(void *ctx, const struct ef_http_result *result)
{
    struct question *q = ctx;
    q->is_answered = true;
    check_answer(result);
    event_base_loopbreak(q->base);
}

static void
on_late(evutil_socket_t fd, short what, void *arg)
{
    struct question *q = arg;
    q->is_late = true;
    event_base_loopbreak(q->base);
}

static void
ask(struct controller *c, const char *target, const char *body, size_t len, bool may_wait)
{
    struct question q = {.base = c->base};
    struct ef_http_call *call;
    struct ef_http_call_spec spec = {
        .server = server,
        .target = target,
        .method = "POST",
        .body = body,
        .body_len = len,
        .content_type = "application/json",
        .timeout_ms = PATIENCE_S * 1000,
        .on_done = on_answer,
        .ctx = &q,
    };
    struct timeval patience = {may_wait ? 0 : PATIENCE_S, may_wait ? UNDER_WAY_MS * 1000 : 0};
    struct event *late = event_new(c->base, -1, 0, on_late, &q);
    must(late && !event_add(late, &patience));
    must(!ef_http_call_start(c->base, &spec, &call, NULL));
    event_base_dispatch(c->base);
    event_free(late);
    must(q.is_answered || may_wait);
    if (!q.is_answered) {
        ef_http_call_cancel(call);
    }
}

static bool
target_of(struct controller *c, uint8_t kind, char *target, size_t size)
{
    static const char *const paths[] = {['d'] = "diagnoses", ['t'] = "tokens", ['w'] = "webhooks", ['s'] = "switches",
                                        ['p'] = "probes",    ['b'] = "debug",  ['c'] = "counters", ['r'] = "rules"};
    if (kind == 'a' || kind == 'x') {
        struct alert_report report = {.kind = "drop", .subject = "leaf1", .summary = "Something."};
        snprintf(target, size, "/v1/alerts/%s/%s", alert_id(alerts_raise(c->alerts, &report)),
                 kind == 'a' ? "acknowledge" : "resolve");
        return true;
    }
    if (kind >= EF_ARRAY_SIZE(paths) || !paths[kind] || (kind == 's' && !is_alone)) {
        return false;
    }
    snprintf(target, size, "/v1/%s", paths[kind]);
    return true;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct controller c = {0};
    char target[100];
    if (!*server) {
        prepare();
    }
    if (!size || size > EF_HTTP_MAX_BODY_BYTES) {
        return 0;
    }
    start(&c);
    if (target_of(&c, data[0], target, sizeof target)) {
        ask(&c, target, (const char *) data + 1, size - 1, data[0] == 'b');
    }
    stop(&c);
    return 0;
}
