/* SPDX-License-Identifier: Apache-2.0 */
/* GET and POST /v1/counters; GET and DELETE /v1/counters/NAME. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/http.h"
#include "packet/packet.h"

const char *const ef_http_counter_params[] = {"start", "end", NULL};

static json_t *
info_json(const struct ef_counter_info *info)
{
    char added[EF_TIME_TEXT_SIZE], by[EF_GROUP_BY_TEXT_SIZE];
    ef_time_format(info->added, added);
    return json_pack("{s:s, s:s, s:s, s:s, s:I, s:I}", "name", info->name, "filter", info->filter, "group_by",
                     ef_group_by_format(info->by, by), "added", added, "packets", (json_int_t) info->total.packets,
                     "bytes", (json_int_t) info->total.bytes);
}

json_t *
ef_counters_json(const struct ef_analyzer *analyzer)
{
    json_t *list = json_array();
    struct ef_counter_info info;
    for (unsigned i = 0; ef_filter_counters_get(analyzer->counters, i, &info); i++) {
        json_array_append_new(list, info_json(&info));
    }
    return list;
}

void
ef_http_get_counters(struct ef_http_request *req, void *ctx)
{
    ef_http_reply_json(req, 200, json_pack("{s:o}", "counters", ef_counters_json(ctx)));
}

static void
reply_add_error(struct ef_http_request *req, int rc, const struct ef_error *err)
{
    if (rc == -EEXIST) {
        ef_http_reply_error(req, 409, "exists", -1, "%s", err->text);
    } else if (rc == -ENOSPC) {
        ef_http_reply_error(req, 409, "too_many", -1, "%s", err->text);
    } else if (rc == -ENOMEM) {
        ef_http_reply_error(req, 409, "too_little_memory", -1, "%s", err->text);
    } else {
        ef_http_reply_error(req, 400, err->offset >= 0 ? "bad_filter" : "bad_name", err->offset, "%s", err->text);
    }
}

/* Adds what the body says; replies. */
static void
add_counter(struct ef_http_request *req, const struct ef_analyzer *analyzer, const char *name, const char *filter,
            const char *group_by)
{
    struct ef_error err = EF_ERROR_INIT;
    struct ef_group_by by;
    struct ef_counter_info info;
    if (ef_group_by_parse(group_by, &by, &err)) {
        ef_http_reply_error(req, 400, "bad_group", -1, "group_by: %s", err.text);
        return;
    }
    int rc = ef_filter_counters_add(analyzer->counters, name, filter, by, &err);
    if (rc) {
        reply_add_error(req, rc, &err);
        return;
    }
    ef_filter_counters_get(analyzer->counters, (unsigned) ef_filter_counters_find(analyzer->counters, name), &info);
    ef_http_reply_json(req, 201, info_json(&info));
}

void
ef_http_add_counter(struct ef_http_request *req, void *ctx)
{
    const char *body, *name, *filter = "", *group_by = NULL;
    size_t len = ef_http_body(req, &body);
    json_t *document = json_loadb(body, len, JSON_REJECT_DUPLICATES, NULL);
    if (json_unpack(document, "{s:s, s?s, s?s !}", "name", &name, "filter", &filter, "group_by", &group_by)) {
        ef_http_reply_error(req, 400, "bad_request", -1,
                            "the body should be {\"name\": \"...\", \"filter\": \"...\", \"group_by\": \"...\"} and "
                            "nothing else");
    } else {
        add_counter(req, ctx, name, filter, group_by);
    }
    json_decref(document);
}

static void
reply_no_counter(struct ef_http_request *req)
{
    ef_http_reply_error(req, 404, "no_counter", -1, "there is no counter '%.64s'", ef_http_last_segment(req));
}

void
ef_http_remove_counter(struct ef_http_request *req, void *ctx)
{
    const struct ef_analyzer *analyzer = ctx;
    if (ef_filter_counters_remove(analyzer->counters, ef_http_last_segment(req))) {
        reply_no_counter(req);
    } else {
        ef_http_reply_json(req, 200, json_pack("{s:s}", "removed", ef_http_last_segment(req)));
    }
}

/* The time that a parameter says, or `otherwise`. False if it is none: replied. */
static bool
time_param(struct ef_http_request *req, const char *name, struct ef_time otherwise, struct ef_time *time)
{
    const char *text = ef_http_param(req, name);
    struct ef_error err = EF_ERROR_INIT;
    *time = otherwise;
    if (text && ef_time_parse(text, ef_time_real(), time, &err)) {
        ef_http_reply_error(req, 400, "bad_time", -1, "%s: %s", name, err.text);
        return false;
    }
    return true;
}

static json_t *
values_json(const struct ef_counter_interval intervals[], unsigned n, struct ef_time start, struct ef_time end)
{
    json_t *values = json_array();
    for (unsigned i = 0; i < n; i++) {
        const struct ef_counter_interval *v = &intervals[i];
        struct ef_time last = ef_time_add_ns(v->start, EF_COUNTER_INTERVAL_S * EF_NS_PER_S - 1);
        char text[EF_TIME_TEXT_SIZE];
        if (!ef_time_before(last, start) && !ef_time_before(end, v->start)) {
            ef_time_format(v->start, text);
            json_array_append_new(values,
                                  json_pack("{s:s, s:I, s:I}", "start", text, "packets", (json_int_t) v->values.packets,
                                            "bytes", (json_int_t) v->values.bytes));
        }
    }
    return values;
}

/* What a group is of, in words and in parts. */
static json_t *
group_json(const struct ef_counter_group_info *group)
{
    char text[EF_GROUP_TEXT_SIZE], address[64];
    const struct ef_group_key *key = &group->key;
    json_t *json = json_pack("{s:s}", "group", ef_group_key_format(key, text));
    ef_address_format(key->address, address);
    if (key->what == EF_GROUP_SWITCH || key->what == EF_GROUP_PORT) {
        json_object_set_new(json, "switch", json_string(address));
    }
    if (key->what == EF_GROUP_PORT) {
        json_object_set_new(json, "port", key->has_port ? json_integer(key->port) : json_null());
        json_object_set_new(json, "direction", json_string(key->is_egress ? "egress" : "ingress"));
    }
    json_object_set_new(json, "packets", json_integer((json_int_t) group->total.packets));
    json_object_set_new(json, "bytes", json_integer((json_int_t) group->total.bytes));
    return json;
}

/* The groups of counter `i`, with their values. */
static json_t *
groups_json(struct ef_filter_counters *counters, unsigned i, struct ef_time start, struct ef_time end)
{
    struct ef_counter_interval intervals[EF_COUNTER_INTERVALS];
    struct ef_counter_group_info *groups;
    json_t *list = json_array();
    unsigned n = ef_filter_counters_groups(counters, i, &groups);
    for (unsigned k = 0; k < n; k++) {
        unsigned n_values = ef_filter_counters_group_intervals(counters, i, &groups[k].key, intervals);
        json_t *group = group_json(&groups[k]);
        json_object_set_new(group, "values", values_json(intervals, n_values, start, end));
        json_array_append_new(list, group);
    }
    free(groups);
    return list;
}

void
ef_http_get_counter(struct ef_http_request *req, void *ctx)
{
    const struct ef_analyzer *analyzer = ctx;
    struct ef_counter_interval intervals[EF_COUNTER_INTERVALS];
    struct ef_counter_info info;
    struct ef_time start, end;
    int i = ef_filter_counters_find(analyzer->counters, ef_http_last_segment(req));
    if (i < 0) {
        reply_no_counter(req);
        return;
    }
    if (!time_param(req, "start", (struct ef_time){INT64_MIN}, &start) ||
        !time_param(req, "end", (struct ef_time){INT64_MAX}, &end)) {
        return;
    }
    ef_filter_counters_get(analyzer->counters, (unsigned) i, &info);
    unsigned n = ef_filter_counters_intervals(analyzer->counters, (unsigned) i, intervals);
    json_t *answer = info_json(&info);
    json_object_set_new(answer, "interval_s", json_integer(EF_COUNTER_INTERVAL_S));
    json_object_set_new(answer, "values", values_json(intervals, n, start, end));
    if (info.by.kind != EF_GROUP_BY_NONE) {
        json_object_set_new(answer, "groups", groups_json(analyzer->counters, (unsigned) i, start, end));
    }
    ef_http_reply_json(req, 200, answer);
}
