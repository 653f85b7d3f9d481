/* SPDX-License-Identifier: Apache-2.0 */
/* One switch and its Everflow row; see managed_switch.h. */
#include <config.h>

#include "controller/managed_switch.h"

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

enum state { CONNECTING, UNREACHABLE, CONFIGURED, ERROR };
static const char *const state_names[] = {"connecting", "unreachable", "configured", "error"};

struct managed_switch {
    const struct topology_switch *node;
    struct ef_ovsdb_client *client;
    struct event *hold;  /* Pending while we must not write. */
    json_t *desired;     /* The row. */
    const json_t *rules; /* Of the configuration, borrowed; NULL: whatever they are. */
    json_t *set_rules;   /* Of sets. */
    json_t *all_rules;   /* Both. */
    enum state state;
    struct ef_time since; /* Real time; of `state`. */
    char error[600];
    char refusal[512]; /* Why the last write was not taken, or is not tried again yet. */
    bool is_active;
    bool writing;
    bool was_right;         /* The row, when we saw it last. */
    unsigned n_changes;     /* By others, in a row. */
    struct ef_time changed; /* The last of them, monotonic. */
    uint64_t n_writes, n_refusals, n_drifts;
    struct ef_time drifted; /* Real time; of the last of n_drifts. */
    char drift[200];        /* What it was. */
    void (*released)(void *ctx);
    void *released_ctx;
    struct ef_time asked; /* Monotonic: when we asked whether ovs-vswitchd lives; 0: we did not. */
    json_int_t asked_cfg; /* The number that it should copy; -1: not in the database yet. */
};

/* --- State ---------------------------------------------------------------- */

static void
set_state(struct managed_switch *s, enum state state, const char *error)
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
    if (changed && state == CONFIGURED) {
        ef_log_info("switches", "%s: configured", s->node->name);
    } else if (changed && *text) {
        ef_log_warn("switches", "%s: %s: %s", s->node->name, state_names[state], text);
    }
}

/* --- Rows ----------------------------------------------------------------- */

/* The only row of the root table, or NULL. */
static json_t *
root_row(const struct managed_switch *s)
{
    return json_object_iter_value(json_object_iter(ef_ovsdb_client_rows(s->client, "Open_vSwitch")));
}

/* The Everflow row that the root refers to: its UUID (borrowed, NULL if there
 * is none) and the row. */
static const char *
everflow_row(const struct managed_switch *s, json_t **row)
{
    json_t *set = ef_ovsdb_set_elements(json_object_get(root_row(s), "everflow"));
    const char *uuid = ef_ovsdb_uuid(json_array_get(set, 0));
    *row = uuid ? json_object_get(ef_ovsdb_client_rows(s->client, "Everflow"), uuid) : NULL;
    json_decref(set);
    return uuid;
}

static const json_t *
rule_rows(const struct managed_switch *s)
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
        set_state(s, ERROR, error ? error : "the switch reports an error without a reason");
    } else if (everflow_rules_refused(json_object_get(row, "rules"), rule_rows(s), refused, sizeof refused)) {
        set_state(s, ERROR, refused);
    } else if (!has_bridge(s)) {
        snprintf(refused, sizeof refused,
                 "it has no bridge '%.100s', which the topology names; efctl switch show lists its bridges",
                 s->node->bridge);
        set_state(s, ERROR, refused);
    } else {
        set_state(s, CONFIGURED, "");
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
    set_state(s, ERROR, disputed);
    if (!event_pending(s->hold, EV_TIMEOUT, NULL)) {
        hold_writes(s, DISPUTE_MS - since_change_ms(s)); /* To look again. */
    }
}

/* What makes `row`, whose UUID is `uuid`, right; or if it is NULL, one that is. */
static json_t *
operations(const struct managed_switch *s, const char *uuid, const json_t *row)
{
    json_t *wanted = json_copy(s->desired), *for_rules = json_array();
    json_object_set_new(
        wanted, "rules",
        everflow_rules_write(s->all_rules, !s->rules, json_object_get(row, "rules"), rule_rows(s), for_rules));
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
           everflow_rules_match(s->all_rules, !s->rules, json_object_get(row, "rules"), rule_rows(s));
}

static void
reconcile_rows(struct managed_switch *s)
{
    json_t *row;
    if (s->released) {
        return;
    }
    if (!root_row(s)) {
        set_state(s, ERROR, "the database has no root row; start ovs-vswitchd, or run ovs-vsctl init");
        return;
    }
    const char *uuid = everflow_row(s, &row);
    if (uuid && !row) {
        return; /* The update that brings the row is on its way. */
    }
    if (row && !everflow_row_is_ours(row)) {
        set_state(s, ERROR,
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
        set_state(s, CONNECTING, "not as it should be, which the active controller sees to");
        return;
    }
    if (was_right) {
        note_change_by_others(s, row);
    }
    if (s->refusal[0]) {
        set_state(s, ERROR, s->refusal);
    } else {
        set_state(s, CONNECTING, "");
    }
    write_row(s, operations(s, uuid, row));
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
        reconcile_rows(s);
        break;
    case EF_OVSDB_CONNECTING:
        set_state(s, CONNECTING, "");
        break;
    case EF_OVSDB_UNREACHABLE:
        s->refusal[0] = '\0';
        event_del(s->hold); /* A switch that comes back is put right at once. */
        set_state(s, UNREACHABLE, ef_ovsdb_client_error(s->client));
        break;
    case EF_OVSDB_UNSUITABLE:
        set_state(s, ERROR, ef_ovsdb_client_error(s->client));
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
    const char *uuid = everflow_row(s, &row);
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

/* --- Whether it lives --------------------------------------------------------- */

enum { LIFE_MS = 3000, LIFE_AGAIN_MS = 30000 };

static json_int_t
root_number(const struct managed_switch *s, const char *column)
{
    return json_integer_value(json_object_get(root_row(s), column));
}

static void
on_asked(void *ctx, const char *error)
{
    struct managed_switch *s = ctx;
    if (s->asked.ns && !error) {
        s->asked_cfg = root_number(s, "next_cfg");
    }
}

static void
ask_for_life(struct managed_switch *s)
{
    s->asked = ef_time_mono();
    s->asked_cfg = -1;
    if (managed_switch_is_reached(s)) {
        json_t *add = json_pack("[{s:s, s:s, s:[], s:[[s, s, i]]}]", "op", "mutate", "table", "Open_vSwitch", "where",
                                "mutations", "next_cfg", "+=", 1);
        ef_ovsdb_client_transact(s->client, add, on_asked, s);
    }
}

enum switch_life
managed_switch_check(struct managed_switch *s)
{
    if (!s->asked.ns) {
        ask_for_life(s);
    }
    int64_t ms = ef_time_diff_ns(ef_time_mono(), s->asked) / EF_NS_PER_MS;
    bool answered = s->asked_cfg >= 0 && root_number(s, "cur_cfg") >= s->asked_cfg;
    if (answered && ms > LIFE_AGAIN_MS) {
        s->asked.ns = 0; /* The answer is old. */
    }
    return answered ? SWITCH_ALIVE : ms < LIFE_MS ? SWITCH_ASKED : SWITCH_DEAD;
}

void
managed_switch_forget_check(struct managed_switch *s)
{
    s->asked.ns = 0;
}

bool
managed_switch_is_reached(const struct managed_switch *s)
{
    return ef_ovsdb_client_state(s->client) == EF_OVSDB_READY;
}

/* --- Being looked at ------------------------------------------------------ */

bool
managed_switch_is_configured(const struct managed_switch *s)
{
    return s->state == CONFIGURED;
}

const char *
managed_switch_name(const struct managed_switch *s)
{
    return s->node->name;
}

enum rule_state
managed_switch_rule_state(const struct managed_switch *s, const char *name, char *why, size_t size)
{
    json_t *row;
    everflow_row(s, &row);
    json_t *status = ef_ovsdb_map_object(everflow_rules_status(json_object_get(row, "rules"), rule_rows(s), name));
    const char *state = json_string_value(json_object_get(status, "state"));
    const char *error = json_string_value(json_object_get(status, "error"));
    enum rule_state said = !state ? RULE_PENDING : strcmp(state, "error") ? RULE_INSTALLED : RULE_REFUSED;
    if (said == RULE_REFUSED) {
        snprintf(why, size, "%s", error ? error : "without a reason");
    }
    json_decref(status);
    return said;
}

uint64_t
managed_switch_writes(const struct managed_switch *s)
{
    return s->n_writes;
}

uint64_t
managed_switch_refusals(const struct managed_switch *s)
{
    return s->n_refusals;
}

json_t *
managed_switch_statistics(const struct managed_switch *s)
{
    json_t *row;
    everflow_row(s, &row);
    return everflow_row_show_map(row, "statistics");
}

uint64_t
managed_switch_drifts(const struct managed_switch *s)
{
    return s->n_drifts;
}

static json_t *
drift_show(const struct managed_switch *s)
{
    char last[EF_TIME_TEXT_SIZE];
    return json_pack("{s:I, s:s?, s:s?}", "count", (json_int_t) s->n_drifts, "last",
                     s->n_drifts ? ef_time_format(s->drifted, last) : NULL, "what", s->n_drifts ? s->drift : NULL);
}

/* The names of the ports whose UUIDs `set` has. */
static json_t *
port_names(const struct managed_switch *s, const json_t *set)
{
    json_t *names = json_array(), *uuids = ef_ovsdb_set_elements(set), *element;
    const json_t *ports = ef_ovsdb_client_rows(s->client, "Port");
    size_t i;
    json_array_foreach(uuids, i, element)
    {
        const char *uuid = ef_ovsdb_uuid(element);
        json_t *name = uuid ? json_object_get(json_object_get(ports, uuid), "name") : NULL;
        if (json_is_string(name)) {
            json_array_append(names, name);
        }
    }
    json_decref(uuids);
    return names;
}

json_t *
managed_switch_discovered(const struct managed_switch *s)
{
    json_t *root = root_row(s), *bridges = json_array(), *bridge;
    const char *uuid;
    json_object_foreach(ef_ovsdb_client_rows(s->client, "Bridge"), uuid, bridge)
    {
        json_t *shown = json_pack("{s:O?, s:O?}", "name", json_object_get(bridge, "name"), "datapath_type",
                                  json_object_get(bridge, "datapath_type"));
        json_object_set_new(shown, "ports", port_names(s, json_object_get(bridge, "ports")));
        json_array_append_new(bridges, shown);
    }
    json_t *version = ef_ovsdb_set_elements(json_object_get(root, "ovs_version"));
    json_t *ids = ef_ovsdb_map_object(json_object_get(root, "external_ids"));
    json_t *all = json_pack("{s:O?, s:O?, s:o}", "ovs_version", json_array_get(version, 0), "hostname",
                            json_object_get(ids, "hostname"), "bridges", bridges);
    json_decref(version);
    json_decref(ids);
    return all;
}

json_t *
managed_switch_show(const struct managed_switch *s)
{
    char since[EF_TIME_TEXT_SIZE];
    json_t *row;
    everflow_row(s, &row);
    return json_pack("{s:s, s:s, s:s, s:s, s:s?, s:s, s:o, s:o, s:o, s:o, s:o}", "name", s->node->name, "address",
                     s->node->loopback, "ovsdb", s->node->ovsdb, "state", state_names[s->state], "error",
                     s->error[0] ? s->error : NULL, "since", ef_time_format(s->since, since), "config",
                     row ? everflow_row_show(row) : json_null(), "statistics", everflow_row_show_map(row, "statistics"),
                     "status", everflow_row_show_map(row, "status"), "rules",
                     everflow_rules_show(json_object_get(row, "rules"), rule_rows(s)), "drift", drift_show(s));
}

/* An optional value: a set of at most one. */
static json_t *
only_element(const json_t *row, const char *column)
{
    json_t *set = ef_ovsdb_set_elements(json_object_get(row, column)), *value = json_incref(json_array_get(set, 0));
    json_decref(set);
    return value;
}

json_t *
managed_switch_ports(const struct managed_switch *s)
{
    json_t *list = json_array(), *row;
    const char *uuid;
    json_object_foreach(ef_ovsdb_client_rows(s->client, "Interface"), uuid, row)
    {
        json_array_append_new(list, json_pack("{s:O?, s:o*, s:o*}", "name", json_object_get(row, "name"), "number",
                                              only_element(row, "ofport"), "link", only_element(row, "link_state")));
    }
    return list;
}
