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
    return text && strlen(text) == 16 && strspn(text, "0123456789abcdef") == 16;
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

/* Adds `name_key` with the name of the switch whose address is under `key`. */
static void
add_name(json_t *object, const char *key, const char *name_key, const struct topology *topology)
{
    const char *address = json_string_value(json_object_get(object, key));
    const struct topology_switch *s = address ? topology_find(topology, address) : NULL;
    if (s) {
        json_object_set_new(object, name_key, json_string(s->name));
    }
}

void
trace_record_name_hops(json_t *trace, const struct topology *topology)
{
    size_t i;
    json_t *hop;
    json_array_foreach(json_object_get(trace, "hops"), i, hop)
    {
        add_name(hop, "switch", "name", topology);
    }
    add_name(trace, "expected", "expected_name", topology);
}
