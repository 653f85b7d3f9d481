/* SPDX-License-Identifier: Apache-2.0 */
/* Counters by filter: GET and POST /v1/counters, GET and DELETE
 * /v1/counters/NAME. Each analyzer has its own; here they are added, removed and
 * summed by name (counter_sums.h). That they exist, the state knows, too, and counter_keeper.c sees
 * to it that analyzers have them. */
#include <config.h>

#include <event2/buffer.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/ask_analyzers.h"
#include "controller/counter_keeper.h"
#include "controller/counter_sums.h"
#include "controller/switch_names.h"
#include "net/http_query.h"

enum { MAX_NAME = 200 };
/* The analyzers' intervals are of so many seconds; "step" is several of them. */
enum { MAX_STEP_S = 86400 };
static const char *const time_params[] = {"start", "end", NULL}, *const counter_params[] = {"start", "end", "step",
                                                                                            NULL};

/* --- Requests ---------------------------------------------------------------------- */

static void
list_counters(struct ef_http_request *http, void *ctx)
{
    struct fan_out_request request = {.method = "GET", .target = "/v1/counters", .program = "ef-analyzer"};
    ask_analyzers(http, ctx, &request, 200, counter_sums_of_lists);
}

/* A counter being added or removed. */
struct counter_change {
    struct controller *controller;
    struct ef_http_request *http;
    char name[MAX_NAME + 1];
    json_t *document; /* To be kept. */
    json_t *answer;   /* Once it is. */
    bool was_kept;
};

static struct counter_change *
change_create(struct controller *c, struct ef_http_request *http, const char *name)
{
    struct counter_change *change = calloc(1, sizeof *change);
    if (!change) {
        abort(); /* Control path. */
    }
    change->controller = c;
    change->http = http;
    snprintf(change->name, sizeof change->name, "%s", name);
    return change;
}

static void
change_free(struct counter_change *change)
{
    json_decref(change->document);
    json_decref(change->answer);
    free(change);
}

static void
on_counter_kept(void *ctx, const char *error)
{
    struct counter_change *change = ctx;
    if (error) {
        counter_keeper_forget(change->controller->counter_keeper, change->name); /* It will remove it. */
        ef_http_reply_error(change->http, 503, "not_kept", -1, "%s", error);
    } else {
        ef_http_reply_json(change->http, 201, json_incref(change->answer));
    }
    change_free(change);
}

/* Only a counter that an analyzer finds right is kept. */
static void
on_counter_added(void *ctx, int status, json_t *answer)
{
    struct counter_change *change = ctx;
    if (status != 201) {
        ef_http_reply_json(change->http, status, answer);
        change_free(change);
        return;
    }
    change->answer = answer;
    state_put(change->controller->state, STATE_COUNTER, change->name, json_incref(change->document), on_counter_kept,
              change);
}

/* Puts addresses in place of the names of switches. False if it is no filter: replied. */
static bool
name_no_switches(const struct controller *c, struct ef_http_request *http, json_t *document)
{
    struct ef_error err = EF_ERROR_INIT;
    char *plain;
    if (switch_names_compile(c, json_string_value(json_object_get(document, "filter")), EF_FILTER_ANY, &plain, &err)) {
        ef_http_reply_error(http, 400, "bad_filter", err.offset, "%s", err.text);
        return false;
    }
    if (plain) {
        json_object_set_new(document, "filter", json_string(plain));
    }
    free(plain);
    return true;
}

static void
add_counter(struct ef_http_request *http, void *ctx)
{
    struct controller *c = ctx;
    const char *body;
    size_t len = ef_http_body(http, &body);
    json_t *document = json_loadb(body, len, JSON_REJECT_DUPLICATES, NULL);
    if (!document) {
        ef_http_reply_error(http, 400, "bad_request", -1, "the body is not JSON");
        return;
    }
    if (!name_no_switches(c, http, document)) {
        json_decref(document);
        return;
    }
    const char *name = json_string_value(json_object_get(document, "name"));
    const char *group_by = json_string_value(json_object_get(document, "group_by"));
    if (group_by && !strcmp(group_by, "none")) {
        json_object_del(document, "group_by"); /* It is as if it said nothing. */
    }
    json_t *kept = name ? state_get(c->state, STATE_COUNTER, name) : NULL;
    if (kept && !json_equal(kept, document)) { /* As it is, it may be added again: the first answer may be lost. */
        ef_http_reply_error(http, 409, "exists", -1,
                            "there is a counter '%.*s' with another filter or other groups; remove it first", MAX_NAME,
                            name);
    } else {
        struct counter_change *change = change_create(c, http, name ? name : "");
        struct fan_out_request request = {
            .method = "POST", .target = "/v1/counters", .program = "ef-analyzer", .body = document};
        change->document = json_incref(document);
        ask_analyzers_then(c, &request, 201, counter_sums_of_one, on_counter_added, change);
    }
    json_decref(document);
}

/* False if it cannot be the name of a counter: replied. */
static bool
check_name(struct ef_http_request *http, const char *name)
{
    if (strlen(name) > MAX_NAME) {
        ef_http_reply_error(http, 404, "no_counter", -1, "no counter has such a long name");
        return false;
    }
    return true;
}

/* A counter that is asked for with a step. */
struct stepped {
    struct ef_http_request *http;
    int64_t step_s;
};

static void
reply_stepped(void *ctx, int status, json_t *answer)
{
    struct stepped *s = ctx;
    if (status == 200) {
        counter_sums_join(answer, s->step_s);
    }
    ef_http_reply_json(s->http, status, answer);
    free(s);
}

/* False if it is no step: replied. */
static bool
read_step(struct ef_http_request *http, int64_t *step_s)
{
    const char *text = ef_http_param(http, "step");
    struct ef_error err = EF_ERROR_INIT;
    int64_t ns;
    *step_s = COUNTER_INTERVAL_S;
    if (!text) {
        return true;
    }
    if (ef_duration_parse(text, &ns, &err)) {
        ef_http_reply_error(http, 400, "bad_query", -1, "step: %s", err.text);
        return false;
    }
    *step_s = ns / EF_NS_PER_S;
    if (ns <= 0 || ns % (COUNTER_INTERVAL_S * EF_NS_PER_S) || *step_s > MAX_STEP_S) {
        ef_http_reply_error(http, 400, "bad_query", -1, "step: '%.40s' is not a multiple of %d s up to a day", text,
                            COUNTER_INTERVAL_S);
        return false;
    }
    return true;
}

static void
get_counter(struct ef_http_request *http, void *ctx)
{
    const char *name = ef_http_last_segment(http);
    int64_t step_s;
    if (!check_name(http, name) || !read_step(http, &step_s)) {
        return;
    }
    struct stepped *stepped = malloc(sizeof *stepped);
    if (!stepped) {
        abort(); /* Control path. */
    }
    *stepped = (struct stepped){http, step_s};
    struct evbuffer *target = evbuffer_new();
    if (!target) {
        abort(); /* Control path. */
    }
    evbuffer_add_printf(target, "/v1/counters/%s", name);
    for (size_t i = 0; time_params[i]; i++) {
        ef_http_query_append(target, time_params[i], ef_http_param(http, time_params[i]));
    }
    evbuffer_add(target, "", 1);
    struct fan_out_request request = {
        .method = "GET", .target = (const char *) evbuffer_pullup(target, -1), .program = "ef-analyzer"};
    ask_analyzers_then(ctx, &request, 200, counter_sums_of_one, reply_stepped, stepped);
    evbuffer_free(target);
}

static json_t *
merge_removed(const struct controller *c, const struct fan_out_answer answers[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *name = json_string_value(json_object_get(answers[i].body, "removed"));
        if (!*answers[i].error && name) {
            return json_pack("{s:s}", "removed", name);
        }
    }
    return json_object();
}

/* A kept one is gone though no analyzer says so: those that are away lose it later. */
static void
on_counter_removed(void *ctx, int status, json_t *answer)
{
    struct counter_change *change = ctx;
    if (status != 200 && change->was_kept) {
        json_decref(answer);
        status = 200;
        answer = json_pack("{s:s}", "removed", change->name);
    }
    ef_http_reply_json(change->http, status, answer);
    change_free(change);
}

static void
on_counter_forgotten(void *ctx, const char *error)
{
    struct counter_change *change = ctx;
    char target[sizeof change->name + 20];
    if (error) {
        ef_http_reply_error(change->http, 503, "not_kept", -1, "%s", error);
        change_free(change);
        return;
    }
    counter_keeper_forget(change->controller->counter_keeper, change->name);
    snprintf(target, sizeof target, "/v1/counters/%s", change->name);
    struct fan_out_request request = {.method = "DELETE", .target = target, .program = "ef-analyzer"};
    ask_analyzers_then(change->controller, &request, 200, merge_removed, on_counter_removed, change);
}

static void
remove_counter(struct ef_http_request *http, void *ctx)
{
    struct controller *c = ctx;
    const char *name = ef_http_last_segment(http);
    if (check_name(http, name)) {
        struct counter_change *change = change_create(c, http, name);
        change->was_kept = state_get(c->state, STATE_COUNTER, name);
        state_delete(c->state, STATE_COUNTER, name, on_counter_forgotten, change);
    }
}

void
api_counters_add(struct controller *c)
{
    static const struct ef_http_route routes[] = {
        {"GET", "/v1/counters", NULL, list_counters},
        {"POST", "/v1/counters", NULL, add_counter},
        {"GET", "/v1/counters/*", counter_params, get_counter},
        {"DELETE", "/v1/counters/*", NULL, remove_counter},
        {0},
    };
    ef_http_server_add_routes(c->http, routes, c);
}
