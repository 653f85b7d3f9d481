/* SPDX-License-Identifier: Apache-2.0 */
/* One switch and its Everflow row; see managed_switch.h. */
#include <config.h>

#include "controller/managed_switch_private.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/time.h"
#include "controller/everflow_row.h"
#include "controller/everflow_rules.h"
#include "controller/text.h"
#include "net/ovsdb_client.h"
#include "net/ovsdb_value.h"

enum { WRITE_INTERVAL_MS = 500, REFUSED_INTERVAL_MS = 5000, RELEASE_S = 2 };

/* A row that others changed so many times, each at most so long after the one
 * before, is one that somebody else puts right, too. */
enum { DISPUTE_CHANGES = 5, DISPUTE_MS = 20000 };
static const char disputed[] = "its Everflow row is changed by others again and again; is there another ef-controller?";

const char *const managed_switch_state_names[] = {"connecting", "unreachable", "configured", "error"};

/* --- State ---------------------------------------------------------------- */

static void
set_state(struct managed_switch *s, enum managed_switch_state state, const char *error)
{
    char text[sizeof s->error];
    snprintf(text, sizeof text, "%s", error);
    text_make_printable(text);
    bool changed = s->state != state || strcmp(s->error, text);
    if (s->state != state) {
        s->since = ef_time_real();
    }
    s->state = state;
    memcpy(s->error, text, sizeof text);
    if (changed && state == SWITCH_CONFIGURED) {
        ef_log_info("switches", "%s: configured", s->node->name);
    } else if (changed && *text) {
        ef_log_warn("switches", "%s: %s: %s", s->node->name, managed_switch_state_names[state], text);
    }
}

/* --- Rows ----------------------------------------------------------------- */

json_t *
managed_switch_root(const struct managed_switch *s)
{
    return json_object_iter_value(json_object_iter(ef_ovsdb_client_rows(s->client, "Open_vSwitch")));
}

const char *
managed_switch_row(const struct managed_switch *s, json_t **row)
{
    json_t *set = ef_ovsdb_set_elements(json_object_get(managed_switch_root(s), "everflow"));
    const char *uuid = ef_ovsdb_uuid(json_array_get(set, 0));
    *row = uuid ? json_object_get(ef_ovsdb_client_rows(s->client, "Everflow"), uuid) : NULL;
    json_decref(set);
    return uuid;
}

const json_t *
managed_switch_rule_rows(const struct managed_switch *s)
{
    return ef_ovsdb_client_rows(s->client, "Everflow_Rule");
}

/* --- Putting it right ----------------------------------------------------- */

static void reconcile(void *ctx);

static void
hold_writes(struct managed_switch *s, int ms)
{
    struct timeval tv = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
    event_add(s->hold, &tv);
}

static void
on_hold_over(evutil_socket_t fd, short what, void *arg)
{
    struct managed_switch *s = arg;
    s->refusal[0] = '\0';
    reconcile(s);
}

static void
on_written(void *ctx, const char *error)
{
    struct managed_switch *s = ctx;
    s->writing = false;
    if (error) {
        s->n_refusals++;
        snprintf(s->refusal, sizeof s->refusal, "%s", error);
    }
    hold_writes(s, error ? REFUSED_INTERVAL_MS : WRITE_INTERVAL_MS);
    reconcile(s);
}

/* Sends `operations` (taken over) unless one is on its way or it is too early. */
static void
write_row(struct managed_switch *s, json_t *operations)
{
    if (s->writing || event_pending(s->hold, EV_TIMEOUT, NULL)) {
        json_decref(operations);
    } else if (!ef_ovsdb_client_transact(s->client, operations, on_written, s)) {
        s->writing = true;
        s->n_writes++;
    }
}

/* True if the switch has the bridge that the topology says. */
static bool
has_bridge(const struct managed_switch *s)
{
    const char *uuid;
    json_t *bridge;
    if (!s->node->bridge) {
        return true;
    }
    json_object_foreach(ef_ovsdb_client_rows(s->client, "Bridge"), uuid, bridge)
    {
        const char *name = json_string_value(json_object_get(bridge, "name"));
        if (name && !strcmp(name, s->node->bridge)) {
            return true;
        }
    }
    return false;
}

/* The row is as it should be; what does the switch itself say of it? */
static void
judge_status(struct managed_switch *s, const json_t *row)
{
    json_t *status = everflow_row_show_map(row, "status");
    const char *state = json_string_value(json_object_get(status, "state"));
    const char *error = json_string_value(json_object_get(status, "error"));
    char refused[sizeof s->error];
    if (state && !strcmp(state, "error")) {
        set_state(s, SWITCH_ERROR, error ? error : "the switch reports an error without a reason");
    } else if (everflow_rules_refused(json_object_get(row, "rules"), managed_switch_rule_rows(s), refused,
                                      sizeof refused)) {
        set_state(s, SWITCH_ERROR, refused);
    } else if (!has_bridge(s)) {
        snprintf(refused, sizeof refused,
                 "it has no bridge '%.100s', which the topology names; efctl switch show lists its bridges",
                 s->node->bridge);
        set_state(s, SWITCH_ERROR, refused);
    } else {
        set_state(s, SWITCH_CONFIGURED, "");
    }
    json_decref(status);
}

static int
since_change_ms(const struct managed_switch *s)
{
    int64_t ms = ef_time_diff_ns(ef_time_mono(), s->changed) / EF_NS_PER_MS;
    return s->n_changes ? (int) EF_MIN(ms, DISPUTE_MS) : DISPUTE_MS;
}

static bool
is_disputed(const struct managed_switch *s)
{
    return s->n_changes >= DISPUTE_CHANGES && since_change_ms(s) < DISPUTE_MS;
}

/* What of the row (NULL: it is gone) is not as it should be, into s->drift. */
static void
note_difference(struct managed_switch *s, const json_t *row)
{
    const char *column;
    json_t *wanted;
    int n = snprintf(s->drift, sizeof s->drift, "%s", row ? "" : "the row was removed");
    json_object_foreach(row ? s->desired : NULL, column, wanted)
    {
        bool fits = n >= 0 && (size_t) n < sizeof s->drift;
        if (fits && !ef_ovsdb_value_equal(json_object_get(row, column), wanted)) {
            n += snprintf(s->drift + n, sizeof s->drift - (size_t) n, "%s%s", n ? ", " : "", column);
        }
    }
    if (!*s->drift) {
        snprintf(s->drift, sizeof s->drift, "rules");
    }
}

/* Two that put the row right in turns would do so for ever, each finding it
 * configured half of the time. */
static void
note_change_by_others(struct managed_switch *s, const json_t *row)
{
    s->n_drifts++;
    s->drifted = ef_time_real();
    note_difference(s, row);
    ef_log_warn("switches", "%s: changed by others: %s", s->node->name, s->drift);
    s->n_changes = since_change_ms(s) < DISPUTE_MS ? s->n_changes + 1 : 1;
    s->changed = ef_time_mono();
    if (is_disputed(s)) {
        snprintf(s->refusal, sizeof s->refusal, "%s", disputed);
        hold_writes(s, REFUSED_INTERVAL_MS);
    }
}

/* The row is as it should be, but will it stay so? */
static void
judge_row(struct managed_switch *s, const json_t *row)
{
    if (!is_disputed(s)) {
        judge_status(s, row);
        return;
    }
    set_state(s, SWITCH_ERROR, disputed);
    if (!event_pending(s->hold, EV_TIMEOUT, NULL)) {
        hold_writes(s, DISPUTE_MS - since_change_ms(s)); /* To look again. */
    }
}

/* What makes `row`, whose UUID is `uuid`, right; or if it is NULL, one that is. */
static json_t *
operations(const struct managed_switch *s, const char *uuid, const json_t *row)
{
    json_t *wanted = json_copy(s->desired), *for_rules = json_array();
    json_object_set_new(wanted, "rules",
                        everflow_rules_write(s->all_rules, !s->rules, json_object_get(row, "rules"),
                                             managed_switch_rule_rows(s), for_rules));
    json_t *all = row ? everflow_row_update(uuid, wanted) : everflow_row_insert(wanted);
    json_array_extend(all, for_rules);
    json_decref(for_rules);
    json_decref(wanted);
    return all;
}

static bool
is_right(const struct managed_switch *s, const json_t *row)
{
    return row && everflow_row_matches(row, s->desired) &&
           everflow_rules_match(s->all_rules, !s->rules, json_object_get(row, "rules"), managed_switch_rule_rows(s));
}

static void
reconcile_rows(struct managed_switch *s)
{
    json_t *row;
    if (s->released) {
        return;
    }
    if (!managed_switch_root(s)) {
        set_state(s, SWITCH_ERROR, "the database has no root row; start ovs-vswitchd, or run ovs-vsctl init");
        return;
    }
    const char *uuid = managed_switch_row(s, &row);
    if (uuid && !row) {
        return; /* The update that brings the row is on its way. */
    }
    if (row && !everflow_row_is_ours(row)) {
        set_state(s, SWITCH_ERROR,
                  "foreign row: its Everflow was configured by someone else; to hand it over: "
                  "ovs-vsctl clear Open_vSwitch . everflow");
        return;
    }
    bool right = is_right(s, row), was_right = s->was_right;
    s->was_right = right;
    if (right) {
        judge_row(s, row);
        return;
    }
    if (!s->is_active) {
        set_state(s, SWITCH_CONNECTING, "not as it should be, which the active controller sees to");
        return;
    }
    if (was_right) {
        note_change_by_others(s, row);
    }
    if (s->refusal[0]) {
        set_state(s, SWITCH_ERROR, s->refusal);
    } else {
        set_state(s, SWITCH_CONNECTING, "");
    }
    write_row(s, operations(s, uuid, row));
}

/* The switch writes all its statistics at once, of rules, too. */
static void
note_statistics(struct managed_switch *s)
{
    int64_t rx_packets = managed_switch_counter(s, "rx_packets");
    if (rx_packets != s->rx_packets) {
        s->rx_packets = rx_packets;
        s->refreshed = ef_time_mono();
    }
}

/* The database or the connection is not what it was. */
static void
reconcile(void *ctx)
{
    struct managed_switch *s = ctx;
    if (!s->client) {
        return; /* Still inside managed_switch_create(). */
    }
    enum ef_ovsdb_state state = ef_ovsdb_client_state(s->client);
    s->was_right &= state == EF_OVSDB_READY; /* What a restart changes is nobody's doing. */
    switch (state) {
    case EF_OVSDB_READY:
        note_statistics(s);
        reconcile_rows(s);
        break;
    case EF_OVSDB_CONNECTING:
        set_state(s, SWITCH_CONNECTING, "");
        break;
    case EF_OVSDB_UNREACHABLE:
        s->refusal[0] = '\0';
        event_del(s->hold); /* A switch that comes back is put right at once. */
        set_state(s, SWITCH_UNREACHABLE, ef_ovsdb_client_error(s->client));
        break;
    case EF_OVSDB_UNSUITABLE:
        set_state(s, SWITCH_ERROR, ef_ovsdb_client_error(s->client));
        break;
    }
}

/* --- Life ----------------------------------------------------------------- */

int
managed_switch_create(struct event_base *base, const struct topology_switch *node,
                      const struct everflow_settings *settings, const struct ef_tls *tls, struct managed_switch **out,
                      struct ef_error *err)
{
    static const char absent[] = "this Open vSwitch has no Everflow table; it needs the patched build";
    static const char *const root_columns[] = {"everflow", "ovs_version", "external_ids", "next_cfg", "cur_cfg", NULL};
    static const char *const bridge_columns[] = {"name", "datapath_type", "ports", NULL};
    static const char *const port_columns[] = {"name", NULL};
    static const char *const interface_columns[] = {"name", "ofport", "link_state", NULL};
    static const char *const everflow_columns[] = {
        "source_ip",    "targets",   "encap",        "classes",           "debug_dscp", "sample_bits",  "truncate",
        "sample_value", "rate_kpps", "decap",        "probe_sources",     "burst",      "external_ids", "statistics",
        "status",       "routing",   "ttl_exceeded", "ttl_exceeded_rate", "egress",     "drop_copies",  "rules",
        "edge_ports",   NULL};
    static const char *const rule_columns[] = {"name",         "match",  "action",     "sample_bits", "idle_timeout",
                                               "hard_timeout", "status", "statistics", NULL};
    static const struct ef_ovsdb_table tables[] = {{"Open_vSwitch", root_columns, absent},
                                                   {"Everflow", everflow_columns, absent},
                                                   {"Everflow_Rule", rule_columns, absent},
                                                   {"Bridge", bridge_columns, absent},
                                                   {"Port", port_columns, absent},
                                                   {"Interface", interface_columns, absent},
                                                   {0}};
    struct managed_switch *s = calloc(1, sizeof *s);
    if (!s || !(s->hold = evtimer_new(base, on_hold_over, s)) ||
        !(s->desired = everflow_row_desired(settings, node->loopback, node->loopback6))) {
        abort(); /* Control path, at the start. */
    }
    s->rules = settings->rules;
    s->set_rules = json_array();
    s->all_rules = s->rules ? json_copy(settings->rules) : json_array();
    if (settings->edge_hosts && node->edge_ports) {
        json_object_set_new(s->desired, "edge_ports", ef_ovsdb_set_of_array(node->edge_ports));
    }
    s->node = node;
    s->since = ef_time_real();
    struct ef_ovsdb_config config = {.remote = node->ovsdb,
                                     .database = "Open_vSwitch",
                                     .tables = tables,
                                     .tls = tls,
                                     .changed = reconcile,
                                     .ctx = s};
    int rc = ef_ovsdb_client_create(base, &config, &s->client, err);
    if (rc) {
        managed_switch_destroy(s);
        return rc;
    }
    *out = s;
    return 0;
}

void
managed_switch_destroy(struct managed_switch *s)
{
    if (s) {
        ef_ovsdb_client_destroy(s->client);
        event_free(s->hold);
        json_decref(s->desired);
        json_decref(s->set_rules);
        json_decref(s->all_rules);
        free(s);
    }
}

/* --- Ending it ------------------------------------------------------------ */

static void
on_release_over(evutil_socket_t fd, short what, void *arg)
{
    struct managed_switch *s = arg;
    s->released(s->released_ctx);
}

static void
on_row_removed(void *ctx, const char *error)
{
    struct managed_switch *s = ctx;
    if (error) {
        ef_log_warn("switches", "%s: its Everflow row stays: %s", s->node->name, error);
    }
    event_active(s->hold, EV_TIMEOUT, 1);
}

void
managed_switch_release(struct managed_switch *s, void (*done)(void *ctx), void *ctx)
{
    static const struct timeval deadline = {.tv_sec = RELEASE_S};
    json_t *row;
    const char *uuid = managed_switch_row(s, &row);
    s->released = done;
    s->released_ctx = ctx;
    event_del(s->hold);
    event_assign(s->hold, event_get_base(s->hold), -1, 0, on_release_over, s);
    event_add(s->hold, &deadline);
    if (!s->is_active || !row || !everflow_row_is_ours(row) ||
        ef_ovsdb_client_transact(s->client, everflow_row_remove(uuid), on_row_removed, s)) {
        event_active(s->hold, EV_TIMEOUT, 1);
    }
}

/* --- What it should be ---------------------------------------------------- */

void
managed_switch_set_active(struct managed_switch *s, bool is_active)
{
    if (s->is_active != is_active) {
        s->is_active = is_active;
        s->was_right = false; /* What the active one before us did, we did not see. */
        s->n_changes = 0;
        reconcile(s);
    }
}

void
managed_switch_set_targets(struct managed_switch *s, const json_t *targets)
{
    json_t *set = ef_ovsdb_set_of_array((json_t *) targets);
    if (ef_ovsdb_value_equal(json_object_get(s->desired, "targets"), set)) {
        json_decref(set);
        return;
    }
    json_object_set_new(s->desired, "targets", set);
    s->was_right = false; /* Nobody else has changed the row. */
    reconcile(s);
}

void
managed_switch_set_rules(struct managed_switch *s, json_t *rules)
{
    if (json_equal(s->set_rules, rules)) {
        return;
    }
    json_decref(s->set_rules);
    s->set_rules = json_copy(rules);
    json_array_clear(s->all_rules);
    json_array_extend(s->all_rules, (json_t *) s->rules);
    json_array_extend(s->all_rules, s->set_rules);
    s->was_right = false; /* Nobody else has changed the row. */
    reconcile(s);
}
