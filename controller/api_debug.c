/* SPDX-License-Identifier: Apache-2.0 */
/* /v1/debug; see api_debug.h. */
#include <config.h>

#include "controller/api_debug.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/random.h>

#include "base/log.h"
#include "base/util.h"
#include "controller/controller.h"
#include "controller/debug_match.h"
#include "controller/debug_measure.h"
#include "controller/debug_place.h"
#include "controller/debug_sessions.h"
#include "controller/debug_watch.h"
#include "controller/document.h"

enum { MAX_ORDERS = 32, MAX_SAMPLE = 1 << DEBUG_MAX_SAMPLE_BITS };

/* A request for a session that is not answered yet. */
struct order {
    TAILQ_ENTRY(order) next;
    struct api_debug *api;
    struct ef_http_request *http;
    char id[DEBUG_ID_SIZE];
    json_t *document; /* The session to be. */
    unsigned bits;
    struct ef_time start, end; /* Real time; `start` 0: once it is admitted. */
    int64_t duration_s;        /* If there is no `end`. */
    struct debug_load traced;  /* For whatever reason, before it was measured for. */
    bool has_bad_filter;
    struct ef_error err;
};

struct api_debug {
    struct controller *controller;
    struct debug_sessions *sessions;
    struct debug_watch *watch;
    struct debug_measure *measure; /* For the first of `orders`, or NULL. */
    TAILQ_HEAD(, order) orders;
    size_t n_orders;
};

/* --- Numbers -------------------------------------------------------------- */

static json_t *
show_load(const struct debug_load *load)
{
    return json_pack("{s:f, s:f}", "copies_per_s", load->copies_per_s, "bits_per_s", load->bits_per_s);
}

static json_t *
show_measured(const struct api_debug *api)
{
    struct debug_load measured;
    return debug_watch_measured(api->watch, &measured) ? show_load(&measured) : json_null();
}

/* --- Looking -------------------------------------------------------------- */

static void
list_sessions(struct ef_http_request *http, void *ctx)
{
    struct api_debug *api = ctx;
    struct debug_load used = debug_sessions_used(api->sessions);
    json_t *list = json_array();
    const struct debug_session *s;
    TAILQ_FOREACH(s, debug_sessions_all(api->sessions), next)
    {
        json_array_append_new(list, debug_session_show(s));
    }
    ef_http_reply_json(http, 200,
                       json_pack("{s:o, s:o, s:o, s:o}", "sessions", list, "capacity",
                                 show_load(&api->controller->configuration.capacity), "used", show_load(&used),
                                 "measured", show_measured(api)));
}

static const struct debug_session *
session_asked_for(struct api_debug *api, struct ef_http_request *http)
{
    const char *id = ef_http_last_segment(http);
    const struct debug_session *s = debug_sessions_find(api->sessions, id);
    if (!s) {
        ef_http_reply_error(http, 404, "no_session", -1, "there is no debug session '%.40s'", id);
    }
    return s;
}

static void
get_session(struct ef_http_request *http, void *ctx)
{
    const struct debug_session *s = session_asked_for(ctx, http);
    if (s) {
        ef_http_reply_json(http, 200, debug_session_show(s));
    }
}

/* --- Ending --------------------------------------------------------------- */

/* A session that is being removed. */
struct removal {
    struct ef_http_request *http;
    json_t *shown;
};

static void
on_removed(void *ctx, const char *error)
{
    struct removal *r = ctx;
    if (error) {
        ef_http_reply_error(r->http, 503, "not_kept", -1, "%s", error);
    } else {
        ef_http_reply_json(r->http, 200, json_incref(r->shown));
    }
    json_decref(r->shown);
    free(r);
}

static void
delete_session(struct ef_http_request *http, void *ctx)
{
    struct api_debug *api = ctx;
    const struct debug_session *s = session_asked_for(api, http);
    if (!s) {
        return;
    }
    struct removal *r = malloc(sizeof *r);
    if (!r) {
        abort(); /* Control path. */
    }
    *r = (struct removal){http, debug_session_show(s)};
    state_delete(api->controller->state, STATE_DEBUG_SESSION, s->id, on_removed, r);
}

/* --- Reading a request ---------------------------------------------------- */

/* Marks need what clears them again: NULL if all is there. */
static const char *
what_is_missing(const struct everflow_settings *everflow)
{
    if (!everflow->edge_hosts) {
        return "\"edge_ports\" must be \"hosts\" under \"everflow\" in the controller's configuration, so that hosts "
               "neither set the debug bit nor see it";
    }
    return everflow_has_class(everflow, "debug") ? NULL
                                                 : "\"classes\" under \"everflow\" in the controller's configuration "
                                                   "must have \"debug\", or no switch copies "
                                                   "what is marked";
}

static int
read_time(const struct doc_place *root, const char *key, struct ef_time now, struct ef_time *out, struct ef_error *err)
{
    struct ef_error why = EF_ERROR_INIT;
    struct doc_place place = doc_member(root, key);
    const char *text;
    if (!place.value) {
        return 0;
    }
    if (doc_string(root, key, NULL, &text, err)) {
        return -EINVAL;
    }
    return ef_time_parse(text, now, out, &why) ? doc_error(&place, err, "%s", why.text) : 0;
}

/* From `start` (default: once it is admitted) to `end`, or for `duration_s`. */
static int
read_span(const struct doc_place *root, struct order *o)
{
    struct ef_time now = ef_time_real();
    struct doc_place end_place = doc_member(root, "end"), duration_place = doc_member(root, "duration_s");
    if (read_time(root, "start", now, &o->start, &o->err) || read_time(root, "end", now, &o->end, &o->err) ||
        doc_integer(root, "duration_s", 1, DEBUG_MAX_S, 600, &o->duration_s, &o->err)) {
        return -EINVAL;
    }
    if (end_place.value && duration_place.value) {
        return doc_error(&duration_place, &o->err, "is not needed beside \"end\"");
    }
    o->duration_s = end_place.value ? 0 : o->duration_s;
    o->start = ef_time_before(o->start, now) ? (struct ef_time){0} : o->start;
    struct ef_time start = o->start.ns ? o->start : now;
    struct ef_time end = o->duration_s ? ef_time_add_ms(start, o->duration_s * 1000) : o->end;
    if (ef_time_diff_ns(end, start) < EF_NS_PER_S) {
        return doc_error(&end_place, &o->err, "must be 1 s after the start, at least");
    }
    if (ef_time_diff_ns(end, now) / EF_NS_PER_S > DEBUG_MAX_S) {
        return doc_error(&end_place, &o->err, "is more than %d s from now", DEBUG_MAX_S);
    }
    return 0;
}

/* Now that it is admitted. False if its end came before. */
static bool
write_span(struct order *o)
{
    char text[EF_TIME_TEXT_SIZE];
    struct ef_time now = ef_time_real(), start = ef_time_before(now, o->start) ? o->start : now;
    struct ef_time end = o->duration_s ? ef_time_add_ms(start, o->duration_s * 1000) : o->end;
    json_object_set_new(o->document, "created", json_string(ef_time_format(now, text)));
    json_object_set_new(o->document, "start", json_string(ef_time_format(start, text)));
    json_object_set_new(o->document, "end", json_string(ef_time_format(end, text)));
    json_object_set_new(o->document, "state", json_string(ef_time_before(now, start) ? "scheduled" : "active"));
    return ef_time_before(now, end);
}

static int
read_sample(const struct controller *c, const struct doc_place *root, struct order *o)
{
    struct doc_place place = doc_member(root, "sample");
    int64_t sample;
    if (doc_integer(root, "sample", 1, MAX_SAMPLE, 1, &sample, &o->err)) {
        return -EINVAL;
    }
    if (sample & (sample - 1)) {
        return doc_error(&place, &o->err, "must be a power of two: 1 packet of so many is marked");
    }
    for (o->bits = 0; 1 << o->bits < sample; o->bits++) {
    }
    if (o->bits && !(c->configuration.everflow.sample_value & (sample - 1))) {
        return doc_error(&place, &o->err, "the low %u bits of sample_value in the controller's configuration are 0",
                         o->bits);
    }
    json_object_set_new(o->document, "sample", json_integer(sample));
    json_object_set_new(o->document, "requested_sample", json_integer(sample));
    return 0;
}

static int
read_filter(const struct doc_place *root, struct order *o)
{
    struct doc_place place = doc_member(root, "filter");
    const char *filter = place.value ? json_string_value(place.value) : "";
    json_t *matches;
    if (!filter) {
        return doc_error(&place, &o->err, "must be a string");
    }
    if (debug_matches(filter, &matches, &o->err)) {
        o->has_bad_filter = true;
        return -EINVAL;
    }
    json_object_set_new(o->document, "filter", json_string(filter));
    json_object_set_new(o->document, "matches", matches);
    return 0;
}

static int
read_order(const struct controller *c, const struct doc_place *root, struct order *o)
{
    static const char *const known[] = {"servers", "filter", "start", "end", "duration_s", "sample", NULL};
    struct doc_place servers;
    if (!json_is_object(root->value)) {
        return ef_error_set(&o->err, -EINVAL, "the body must be an object");
    }
    if (doc_check_keys(root, known, &o->err) || doc_array(root, "servers", true, &servers, &o->err) ||
        read_span(root, o) || read_sample(c, root, o) || read_filter(root, o)) {
        return -EINVAL;
    }
    json_t *places = debug_places(&c->topology, servers.value, &o->err);
    if (!places) {
        return -EINVAL;
    }
    json_object_set(o->document, "servers", servers.value);
    json_object_set_new(o->document, "places", places);
    json_object_set_new(o->document, "hops", json_integer(debug_places_hops(&c->topology, places)));
    return 0;
}

/* --- Admission ------------------------------------------------------------ */

static void work_on(struct api_debug *api);

static void
free_order(struct order *o)
{
    TAILQ_REMOVE(&o->api->orders, o, next);
    o->api->n_orders--;
    json_decref(o->document);
    free(o);
}

static void
on_kept(void *ctx, const char *error)
{
    struct order *o = ctx;
    struct api_debug *api = o->api;
    const struct debug_session *s = debug_sessions_find(api->sessions, o->id);
    if (error) {
        ef_http_reply_error(o->http, 503, "not_kept", -1, "%s", error);
    } else {
        ef_http_reply_json(o->http, 201, s ? debug_session_show(s) : json_incref(o->document));
    }
    free_order(o);
    work_on(api);
}

static void
admit(struct order *o, const struct debug_traffic *traffic, const struct debug_load *cost, enum debug_how how)
{
    json_object_set_new(o->document, "note", json_null());
    json_object_set_new(o->document, "expected", show_load(cost));
    json_object_set_new(o->document, "traffic",
                        json_pack("{s:f, s:f, s:f, s:s}", "packets_per_s", traffic->packets_per_s, "bytes_per_copy",
                                  traffic->bytes_per_copy, "copies", traffic->copies, "from",
                                  how == DEBUG_BOUND ? "bound" : "measured"));
    ef_log_info("debug", "session %s: %.0f copies/s and %.0f bits/s expected", o->id, cost->copies_per_s,
                cost->bits_per_s);
    debug_sessions_put(o->api->sessions, o->id, json_deep_copy(o->document), on_kept, o);
}

static void
refuse(struct order *o, const struct debug_traffic *traffic, const struct debug_load *cost,
       const struct debug_load *used)
{
    const struct debug_load *capacity = &o->api->controller->configuration.capacity;
    int bits = debug_bits_that_fit(capacity, used, traffic, o->bits);
    char fits[60] = "nothing of it would fit", message[400];
    if (bits >= 0) {
        snprintf(fits, sizeof fits, "\"sample\": %d would fit", 1 << bits);
    }
    snprintf(message, sizeof message,
             "%.0f copies/s and %.0f bits/s are expected; of the capacity of %.0f and %.0f, %.0f and %.0f are used; %s",
             cost->copies_per_s, cost->bits_per_s, capacity->copies_per_s, capacity->bits_per_s, used->copies_per_s,
             used->bits_per_s, fits);
    ef_log_info("debug", "a session is refused: %s", message);
    ef_http_reply_json(o->http, 429,
                       json_pack("{s:{s:s, s:s, s:o, s:o, s:o, s:o}}", "error", "code", "over_capacity", "message",
                                 message, "expected", show_load(cost), "capacity", show_load(capacity), "used",
                                 show_load(used), "sample_that_fits",
                                 bits >= 0 ? json_integer(1 << bits) : json_null()));
}

static void
on_measured(void *ctx, const struct debug_traffic *traffic, enum debug_how how, bool is_refused, const char *error)
{
    struct order *o = ctx;
    struct api_debug *api = o->api;
    api->measure = NULL;
    if (!error) {
        struct debug_load used = debug_sessions_used(api->sessions), cost = debug_cost(traffic, o->bits);
        used.copies_per_s = EF_MAX(used.copies_per_s, o->traced.copies_per_s);
        used.bits_per_s = EF_MAX(used.bits_per_s, o->traced.bits_per_s);
        if (!debug_fits(&api->controller->configuration.capacity, &used, &cost)) {
            refuse(o, traffic, &cost, &used);
        } else if (write_span(o)) {
            admit(o, traffic, &cost, how);
            return;
        } else {
            ef_http_reply_error(o->http, 400, "bad_request", -1, "end: came while the traffic was measured");
        }
    } else if (is_refused) {
        ef_http_reply_error(o->http, 400, "bad_filter", -1, "%s", error);
    } else {
        ef_http_reply_error(o->http, 503, "not_measured", -1, "%s", error);
    }
    free_order(o);
    work_on(api);
}

/* Starts to measure for the first order, if there is one. Called when none is. */
static void
work_on(struct api_debug *api)
{
    struct order *o = TAILQ_FIRST(&api->orders);
    if (!o) {
        return;
    }
    const struct everflow_settings *everflow = &api->controller->configuration.everflow;
    double hops = (double) json_integer_value(json_object_get(o->document, "hops"));
    struct debug_question question = {
        .id = o->id,
        .places = json_object_get(o->document, "places"),
        .matches = json_object_get(o->document, "matches"),
        .copies = hops * (everflow->egress ? 2 : 1),
        .bits = o->bits,
    };
    debug_watch_measured(api->watch, &o->traced);
    api->measure = debug_measure_start(api->sessions, api->controller, &question, on_measured, o);
}

static size_t
n_sessions(const struct api_debug *api)
{
    size_t n = 0;
    const struct debug_session *s;
    TAILQ_FOREACH(s, debug_sessions_all(api->sessions), next)
    {
        n += ef_time_before(ef_time_real(), s->end);
    }
    return n;
}

/* False if it cannot be: replied. */
static bool
check_room(struct api_debug *api, struct ef_http_request *http)
{
    const char *missing = what_is_missing(&api->controller->configuration.everflow);
    if (missing) {
        ef_http_reply_error(http, 409, "not_configured", -1, "%s", missing);
    } else if (api->n_orders >= MAX_ORDERS) {
        ef_http_reply_error(http, 503, "busy", -1, "%d requests for debug sessions wait already", MAX_ORDERS);
    } else if (n_sessions(api) + api->n_orders >= DEBUG_SESSIONS_MAX) {
        ef_http_reply_error(http, 409, "too_many", -1, "there are %d debug sessions already", DEBUG_SESSIONS_MAX);
    } else {
        return true;
    }
    return false;
}

static void
add_session(struct ef_http_request *http, void *ctx)
{
    struct api_debug *api = ctx;
    const char *body;
    size_t len = ef_http_body(http, &body);
    struct doc_place root = {.value = json_loadb(body, len, JSON_REJECT_DUPLICATES, NULL)};
    if (!root.value) {
        ef_http_reply_error(http, 400, "bad_request", -1, "the body is not JSON");
        return;
    }
    struct order *o = calloc(1, sizeof *o);
    uint64_t id;
    if (!o || getrandom(&id, sizeof id, 0) != sizeof id) {
        abort(); /* Control path. */
    }
    o->api = api;
    o->http = http;
    o->err = EF_ERROR_INIT;
    snprintf(o->id, sizeof o->id, "%016llx", (unsigned long long) id);
    o->document = json_pack("{s:s}", "id", o->id);
    TAILQ_INSERT_TAIL(&api->orders, o, next);
    api->n_orders++;
    bool is_right = !read_order(api->controller, &root, o);
    json_decref(root.value);
    if (!is_right) {
        ef_http_reply_error(http, 400, o->has_bad_filter ? "bad_filter" : "bad_request", o->err.offset, "%s",
                            o->err.text);
        free_order(o);
    } else if (!check_room(api, http)) {
        free_order(o);
    } else if (TAILQ_FIRST(&api->orders) == o) {
        work_on(api);
    }
}

/* --- Life ----------------------------------------------------------------- */

struct api_debug *
api_debug_start(struct controller *c)
{
    static const struct ef_http_route routes[] = {
        {"GET", "/v1/debug", NULL, list_sessions},
        {"POST", "/v1/debug", NULL, add_session},
        {"GET", "/v1/debug/*", NULL, get_session},
        {"DELETE", "/v1/debug/*", NULL, delete_session},
        {0},
    };
    struct api_debug *api = calloc(1, sizeof *api);
    if (!api) {
        abort(); /* Control path, at the start. */
    }
    api->controller = c;
    TAILQ_INIT(&api->orders);
    api->sessions = debug_sessions_create(c);
    api->watch = debug_watch_create(c, api->sessions);
    ef_http_server_add_routes(c->http, routes, api);
    return api;
}

void
api_debug_stop(struct api_debug *api)
{
    if (api) {
        debug_measure_cancel(api->measure);
        while (!TAILQ_EMPTY(&api->orders)) {
            struct order *o = TAILQ_FIRST(&api->orders);
            ef_http_reply_error(o->http, 503, "not_measured", -1, "the controller ends"); /* Or the request leaks. */
            free_order(o);
        }
        debug_watch_destroy(api->watch);
        debug_sessions_destroy(api->sessions);
        free(api);
    }
}
