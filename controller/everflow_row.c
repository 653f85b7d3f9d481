/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of table Everflow; see everflow_row.h. */
#include <config.h>

#include "controller/everflow_row.h"

#include <string.h>

#include "base/util.h"
#include "net/ovsdb_value.h"

json_t *
everflow_row_desired(const struct everflow_settings *s, const char *source_ip, const char *source_ip6)
{
    json_t *source =
        s->ttl_exceeded && source_ip6 ? json_pack("[s, [s, s]]", "set", source_ip, source_ip6) : json_string(source_ip);
    json_t *drop_copies =
        s->drop_copies && strcmp(s->drop_copies, "none") ? json_string(s->drop_copies) : json_pack("[s, []]", "set");
    json_t *probe_sources = s->probe_sources ? ef_ovsdb_set_of_array(s->probe_sources) : json_pack("[s, []]", "set");
    return json_pack("{s:o, s:o, s:s, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:o, s:s, s:b, s:I, s:b, s:o}",
                     "source_ip", source, "targets", ef_ovsdb_set_of_array(s->targets), "encap", s->encap, "classes",
                     ef_ovsdb_set_of_array(s->classes), "debug_dscp", (json_int_t) s->debug_dscp, "sample_bits",
                     (json_int_t) s->sample_bits, "sample_value", (json_int_t) s->sample_value, "truncate",
                     (json_int_t) s->truncate, "rate_kpps", (json_int_t) s->rate_kpps, "burst", (json_int_t) s->burst,
                     "decap", s->decap, "probe_sources", probe_sources, "routing", s->routing, "ttl_exceeded",
                     s->ttl_exceeded, "ttl_exceeded_rate", (json_int_t) s->ttl_exceeded_rate, "egress", s->egress,
                     "drop_copies", drop_copies);
}

bool
everflow_row_matches(const json_t *row, const json_t *desired)
{
    const char *column;
    json_t *wanted;
    json_object_foreach((json_t *) desired, column, wanted)
    {
        if (!ef_ovsdb_value_equal(json_object_get(row, column), wanted)) {
            return false;
        }
    }
    return true;
}

bool
everflow_row_is_ours(const json_t *row)
{
    json_t *ids = ef_ovsdb_map_object(json_object_get(row, "external_ids"));
    const char *owner = json_string_value(json_object_get(ids, "owner"));
    bool ours = owner && !strcmp(owner, EVERFLOW_OWNER);
    json_decref(ids);
    return ours;
}

json_t *
everflow_row_show(const json_t *row)
{
    static const struct {
        const char *name;
        bool many;
    } columns[] = {
        {"source_ip", false},    {"targets", true},       {"encap", false},
        {"classes", true},       {"debug_dscp", false},   {"sample_bits", false},
        {"sample_value", false}, {"truncate", false},     {"rate_kpps", false},
        {"burst", false},        {"decap", false},        {"probe_sources", true},
        {"routing", false},      {"ttl_exceeded", false}, {"ttl_exceeded_rate", false},
        {"egress", false},       {"drop_copies", false},  {"edge_ports", true},
    };
    json_t *out = json_object();
    for (size_t i = 0; i < EF_ARRAY_SIZE(columns); i++) {
        json_t *set = ef_ovsdb_set_elements(json_object_get(row, columns[i].name));
        if (columns[i].many) {
            json_object_set_new(out, columns[i].name, set ? set : json_array());
            continue;
        }
        json_t *first = json_array_get(set, 0);
        json_object_set(out, columns[i].name, first ? first : json_null());
        json_decref(set);
    }
    return out;
}

json_t *
everflow_row_show_map(const json_t *row, const char *column)
{
    json_t *map = ef_ovsdb_map_object(json_object_get(row, column));
    return map ? map : json_object();
}

json_t *
everflow_row_insert(const json_t *desired)
{
    json_t *row = json_copy((json_t *) desired);
    json_object_set_new(row, "external_ids", json_pack("[s, [[s, s]]]", "map", "owner", EVERFLOW_OWNER));
    return json_pack("[{s:s, s:s, s:[], s:[s], s:s, s:[{s:[s, []]}], s:i}, {s:s, s:s, s:s, s:o},"
                     " {s:s, s:s, s:[], s:{s:[s, s]}}]",
                     "op", "wait", "table", "Open_vSwitch", "where", "columns", "everflow", "until", "==", "rows",
                     "everflow", "set", "timeout", 0, "op", "insert", "table", "Everflow", "uuid-name", "everflow",
                     "row", row, "op", "update", "table", "Open_vSwitch", "where", "row", "everflow", "named-uuid",
                     "everflow");
}

json_t *
everflow_row_update(const char *uuid, const json_t *desired)
{
    return json_pack("[{s:s, s:s, s:[[s, s, [s, s]], [s, s, [s, [[s, s]]]]], s:O}]", "op", "update", "table",
                     "Everflow", "where", "_uuid", "==", "uuid", uuid, "external_ids", "includes", "map", "owner",
                     EVERFLOW_OWNER, "row", desired);
}

json_t *
everflow_row_remove(const char *uuid)
{
    return json_pack("[{s:s, s:s, s:[[s, s, [s, s]]], s:{s:[s, []]}}]", "op", "update", "table", "Open_vSwitch",
                     "where", "everflow", "includes", "uuid", uuid, "row", "everflow", "set");
}
