/* SPDX-License-Identifier: Apache-2.0 */
/* What others see of a switch; see managed_switch.h. */
#include <config.h>

#include <stdio.h>
#include <string.h>

#include "controller/everflow_row.h"
#include "controller/everflow_rules.h"
#include "controller/managed_switch_private.h"
#include "net/ovsdb_client.h"
#include "net/ovsdb_value.h"

bool
managed_switch_is_configured(const struct managed_switch *s)
{
    return s->state == SWITCH_CONFIGURED;
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
    managed_switch_row(s, &row);
    json_t *status =
        ef_ovsdb_map_object(everflow_rules_status(json_object_get(row, "rules"), managed_switch_rule_rows(s), name));
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

/* A number of a map of OVSDB, or -1. */
static int64_t
map_number(const json_t *map, const char *key)
{
    json_t *pairs = json_array_get(map, 1), *pair;
    size_t i;
    json_array_foreach(pairs, i, pair)
    {
        const char *have = json_string_value(json_array_get(pair, 0));
        if (have && !strcmp(have, key)) {
            return json_integer_value(json_array_get(pair, 1));
        }
    }
    return -1;
}

int64_t
managed_switch_counter(const struct managed_switch *s, const char *name)
{
    json_t *row;
    managed_switch_row(s, &row);
    return map_number(json_object_get(row, "statistics"), name);
}

struct ef_time
managed_switch_refreshed(const struct managed_switch *s)
{
    return s->refreshed;
}

bool
managed_switch_rule_counts(const struct managed_switch *s, const char *name, int64_t *packets, int64_t *bytes)
{
    const char *uuid;
    json_t *rule;
    json_object_foreach((json_t *) managed_switch_rule_rows(s), uuid, rule)
    {
        const char *have = json_string_value(json_object_get(rule, "name"));
        if (have && !strcmp(have, name)) {
            *packets = map_number(json_object_get(rule, "statistics"), "packets");
            *bytes = map_number(json_object_get(rule, "statistics"), "bytes");
            return *packets >= 0 && *bytes >= 0;
        }
    }
    return false;
}

json_t *
managed_switch_statistics(const struct managed_switch *s)
{
    json_t *row;
    managed_switch_row(s, &row);
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
    json_t *root = managed_switch_root(s), *bridges = json_array(), *bridge;
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
    managed_switch_row(s, &row);
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:s?, s:s, s:o, s:o, s:o, s:o, s:o}", "name", s->node->name, "address", s->node->loopback,
        "ovsdb", s->node->ovsdb, "state", managed_switch_state_names[s->state], "error", s->error[0] ? s->error : NULL,
        "since", ef_time_format(s->since, since), "config", row ? everflow_row_show(row) : json_null(), "statistics",
        everflow_row_show_map(row, "statistics"), "status", everflow_row_show_map(row, "status"), "rules",
        everflow_rules_show(json_object_get(row, "rules"), managed_switch_rule_rows(s)), "drift", drift_show(s));
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
