/* SPDX-License-Identifier: Apache-2.0 */
/* One line of an analyzer's answer; see trace_record.h. */
#include <config.h>

#include "controller/trace_record.h"

#include <errno.h>
#include <string.h>

#include "base/util.h"

static bool
is_id(const char *text)
{
    return text && strlen(text) == 16 && strspn(text, "0123456789abcdefABCDEF") == 16;
}

static int
check_hops(json_t *hops, struct ef_error *err)
{
    size_t i;
    json_t *hop;
    if (!json_is_array(hops)) {
        return ef_error_set(err, -EPROTO, "a trace without hops");
    }
    json_array_foreach(hops, i, hop)
    {
        if (!json_is_string(json_object_get(hop, "switch"))) {
            return ef_error_set(err, -EPROTO, "a hop without a switch");
        }
    }
    return 0;
}

static int
check_trace(json_t *trace, struct ef_time *start, struct ef_error *err)
{
    const char *text = json_string_value(json_object_get(trace, "start"));
    if (!is_id(json_string_value(json_object_get(trace, "id")))) {
        return ef_error_set(err, -EPROTO, "a trace without an id");
    }
    if (!text || ef_time_parse(text, (struct ef_time){0}, start, NULL)) {
        return ef_error_set(err, -EPROTO, "a trace without a start");
    }
    if (!json_is_object(json_object_get(trace, "packet"))) {
        return ef_error_set(err, -EPROTO, "a trace without a packet");
    }
    return check_hops(json_object_get(trace, "hops"), err);
}

int
trace_record_parse(const char *line, size_t len, json_t **out, struct ef_time *start, struct ef_error *err)
{
    json_error_t where;
    json_t *record = json_loadb(line, len, 0, &where);
    if (!record) {
        return ef_error_set(err, -EPROTO, "a line that is not JSON: %s", where.text);
    }
    if (json_is_true(json_object_get(record, "end"))) {
        *out = record;
        return TRACE_RECORD_END;
    }
    if (check_trace(record, start, err)) {
        json_decref(record);
        return -EPROTO;
    }
    *out = record;
    return TRACE_RECORD_TRACE;
}

void
trace_record_name_hops(json_t *trace, const struct topology *topology)
{
    size_t i;
    json_t *hop;
    json_array_foreach(json_object_get(trace, "hops"), i, hop)
    {
        const struct topology_switch *s = topology_find(topology, json_string_value(json_object_get(hop, "switch")));
        if (s) {
            json_object_set_new(hop, "name", json_string(s->name));
        }
    }
}
