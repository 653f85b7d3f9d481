/* SPDX-License-Identifier: Apache-2.0 */
/* Counters by filter: GET and POST /v1/counters, GET and DELETE
 * /v1/counters/NAME. Each analyzer has its own; here they are added, removed and
 * summed by name. The controller keeps nothing of them. */
#include <config.h>

#include <event2/buffer.h>
#include <stdlib.h>
#include <string.h>

#include "controller/ask_analyzers.h"
#include "net/http_query.h"

static const char *const time_params[] = {"start", "end", NULL};

/* --- Sums ------------------------------------------------------------------------ */

static void
add_number(json_t *sum, const json_t *part, const char *key)
{
    json_int_t n = json_integer_value(json_object_get(sum, key)) + json_integer_value(json_object_get(part, key));
    json_object_set_new(sum, key, json_integer(n));
}

/* Adds `part` to the entry of `list` with the same `key`, or as a new one. */
static json_t *
add_to_list(json_t *list, const json_t *part, const char *key)
{
    size_t i;
    json_t *entry;
    json_array_foreach(list, i, entry)
    {
        if (json_equal(json_object_get(entry, key), json_object_get(part, key))) {
            add_number(entry, part, "packets");
            add_number(entry, part, "bytes");
            return entry;
        }
    }
    entry = json_deep_copy(part);
    json_array_append_new(list, entry);
    return entry;
}

static void
add_all(json_t *list, const json_t *parts, const char *key)
{
    size_t i;
    const json_t *part;
    json_array_foreach((json_t *) parts, i, part)
    {
        if (json_is_object(part)) {
            json_t *entry = add_to_list(list, part, key);
            if (!strcmp(key, "name")) {
                json_int_t n = json_integer_value(json_object_get(entry, "analyzers"));
                json_object_set_new(entry, "analyzers", json_integer(n + 1));
            }
        }
    }
}

static json_t *
merge_lists(const struct controller *c, const struct fan_out_answer answers[], size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        if (!*answers[i].error) {
            add_all(list, json_object_get(answers[i].body, "counters"), "name");
        }
    }
    return json_pack("{s:o}", "counters", list);
}

static int
by_start(const void *a, const void *b)
{
    const char *start_a = json_string_value(json_object_get(*(json_t *const *) a, "start"));
    const char *start_b = json_string_value(json_object_get(*(json_t *const *) b, "start"));
    return strcmp(start_a ? start_a : "", start_b ? start_b : ""); /* All are written alike. */
}

static json_t *
sorted(const json_t *list)
{
    size_t n = json_array_size(list);
    json_t **entries = calloc(n + 1, sizeof *entries), *result = json_array();
    for (size_t i = 0; entries && i < n; i++) {
        entries[i] = json_array_get(list, i);
    }
    if (entries) {
        qsort(entries, n, sizeof *entries, by_start);
    }
    for (size_t i = 0; entries && i < n; i++) {
        json_array_append(result, entries[i]);
    }
    free(entries);
    return result;
}

static json_t *
merge_one(const struct controller *c, const struct fan_out_answer answers[], size_t n)
{
    json_t *sum = NULL, *values = json_array();
    for (size_t i = 0; i < n; i++) {
        if (*answers[i].error || !json_is_object(answers[i].body)) {
            continue;
        }
        add_all(values, json_object_get(answers[i].body, "values"), "start");
        if (sum) {
            add_number(sum, answers[i].body, "packets");
            add_number(sum, answers[i].body, "bytes");
        } else {
            sum = json_copy(answers[i].body);
        }
    }
    sum = sum ? sum : json_object();
    if (json_object_get(sum, "values")) {
        json_object_set_new(sum, "values", sorted(values));
    }
    json_decref(values);
    return sum;
}

/* --- Requests ---------------------------------------------------------------------- */

static void
list_counters(struct ef_http_request *http, void *ctx)
{
    struct fan_out_request request = {.method = "GET", .target = "/v1/counters", .program = "ef-analyzer"};
    ask_analyzers(http, ctx, &request, 200, merge_lists);
}

static void
add_counter(struct ef_http_request *http, void *ctx)
{
    const char *body;
    size_t len = ef_http_body(http, &body);
    json_t *document = json_loadb(body, len, JSON_REJECT_DUPLICATES, NULL);
    if (!document) {
        ef_http_reply_error(http, 400, "bad_request", -1, "the body is not JSON");
        return;
    }
    struct fan_out_request request = {
        .method = "POST", .target = "/v1/counters", .program = "ef-analyzer", .body = document};
    ask_analyzers(http, ctx, &request, 201, merge_one);
    json_decref(document);
}

static void
ask_about_one(struct ef_http_request *http, struct controller *c, const char *method)
{
    const char *name = ef_http_last_segment(http);
    if (strlen(name) > 200) {
        ef_http_reply_error(http, 404, "no_counter", -1, "no counter has such a long name");
        return;
    }
    struct evbuffer *target = evbuffer_new();
    if (!target) {
        abort(); /* Control path. */
    }
    evbuffer_add_printf(target, "/v1/counters/%s", name);
    for (size_t i = 0; time_params[i] && !strcmp(method, "GET"); i++) {
        ef_http_query_append(target, time_params[i], ef_http_param(http, time_params[i]));
    }
    evbuffer_add(target, "", 1);
    struct fan_out_request request = {
        .method = method, .target = (const char *) evbuffer_pullup(target, -1), .program = "ef-analyzer"};
    ask_analyzers(http, c, &request, 200, merge_one);
    evbuffer_free(target);
}

static void
get_counter(struct ef_http_request *http, void *ctx)
{
    ask_about_one(http, ctx, "GET");
}

static void
remove_counter(struct ef_http_request *http, void *ctx)
{
    ask_about_one(http, ctx, "DELETE");
}

void
api_counters_add(struct controller *c)
{
    static const struct ef_http_route routes[] = {
        {"GET", "/v1/counters", NULL, list_counters},
        {"POST", "/v1/counters", NULL, add_counter},
        {"GET", "/v1/counters/*", time_params, get_counter},
        {"DELETE", "/v1/counters/*", NULL, remove_counter},
        {0},
    };
    ef_http_server_add_routes(c->http, routes, c);
}
