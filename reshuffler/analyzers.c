/* SPDX-License-Identifier: Apache-2.0 */
/* The analyzers over HTTP; see analyzers.h. */
#include <config.h>

#include "reshuffler/analyzers.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "base/log.h"
#include "net/http_server.h"
#include "net/metrics.h"

static const char *const states[] = {
    [EF_ANALYZER_UP] = "up",
    [EF_ANALYZER_DRAINING] = "draining",
    [EF_ANALYZER_DOWN] = "down",
};

/* --- Showing ------------------------------------------------------------------- */

/* NULL, which becomes null, for one that nobody asks. */
static json_t *
health_json(const struct ef_watch *watch, unsigned i)
{
    const struct ef_health *h = ef_watch_health(watch, i);
    double load = ef_watch_load(watch, i);
    if (!h) {
        return NULL;
    }
    double since_s = h->since.ns ? (double) ef_time_diff_ns(ef_time_mono(), h->since) / EF_NS_PER_S : -1;
    const char *error = ef_watch_error(watch, i);
    return json_pack("{s:b, s:s?, s:o?, s:I, s:o?, s:I}", "answered", h->has_answered, "error", *error ? error : NULL,
                     "changed_s_ago", since_s < 0 ? NULL : json_real(since_s), "failures", (json_int_t) h->n_failures,
                     "load", load < 0 ? NULL : json_real(load), "copies_lost", (json_int_t) ef_watch_lost(watch, i));
}

static json_t *
analyzer_json(const struct ef_reshuffler *r, const struct ef_totals *totals, unsigned i)
{
    const struct ef_plan *plan = ef_members_plan(&r->members);
    const struct ef_member *a = &plan->analyzers[i];
    char address[INET6_ADDRSTRLEN], address6[INET6_ADDRSTRLEN];
    return json_pack("{s:s, s:s, s:s?, s:i, s:s?, s:b, s:s, s:I, s:o?}", "name", a->name, "address",
                     ef_address_format(a->address, address), "address6",
                     ef_member_has_address6(a) ? ef_address_format(a->address6, address6) : NULL, "weight",
                     (int) a->weight, "url", *a->url ? a->url : NULL, "draining", a->is_draining, "state",
                     states[plan->states[i]], "copies", (json_int_t) ef_reshuffler_copies_to(r, totals, i), "health",
                     health_json(r->watch, i));
}

json_t *
ef_analyzers_json(const struct ef_reshuffler *r)
{
    const struct ef_plan *plan = ef_members_plan(&r->members);
    struct ef_totals totals;
    json_t *list = json_array();
    ef_reshuffler_totals(r, &totals);
    for (unsigned i = 0; i < plan->n_analyzers; i++) {
        if (plan->states[i] != EF_ANALYZER_NONE) {
            json_array_append_new(list, analyzer_json(r, &totals, i));
        }
    }
    return list;
}

void
ef_analyzers_add_metrics(const struct ef_reshuffler *r, const struct ef_totals *totals, struct ef_metrics *m)
{
    const struct ef_plan *plan = ef_members_plan(&r->members);
    ef_metrics_family(m, "everflow_copies_steered_total", "counter", "copies meant for each analyzer");
    for (unsigned i = 0; i < plan->n_analyzers; i++) {
        if (plan->states[i] != EF_ANALYZER_NONE) {
            ef_metrics_value(m, (double) ef_reshuffler_copies_to(r, totals, i), "analyzer", plan->analyzers[i].name,
                             NULL);
        }
    }
    ef_metrics_family(m, "everflow_analyzer_up", "gauge",
                      "1 if the analyzer gets its copies, 0 if it is down or draining");
    for (unsigned i = 0; i < plan->n_analyzers; i++) {
        if (plan->states[i] != EF_ANALYZER_NONE) {
            ef_metrics_value(m, plan->states[i] == EF_ANALYZER_UP, "analyzer", plan->analyzers[i].name, NULL);
        }
    }
}

/* --- Changing ------------------------------------------------------------------- */

static void
reply_error(struct ef_http_request *req, int rc, const struct ef_error *err)
{
    switch (rc) {
    case -ENOENT:
        ef_http_reply_error(req, 404, "not_found", -1, "%s", err->text);
        return;
    case -EBUSY:
        ef_http_reply_error(req, 503, "busy", -1, "%s", err->text);
        return;
    case -ENOMEM:
        ef_http_reply_error(req, 503, "out_of_memory", -1, "%s", err->text);
        return;
    default:
        ef_http_reply_error(req, 400, "bad_request", -1, "%s", err->text);
    }
}

static void
reply_analyzers(struct ef_http_request *req, const struct ef_reshuffler *r)
{
    ef_http_reply_json(req, 200, json_pack("{s:o}", "analyzers", ef_analyzers_json(r)));
}

static void
reply_changed(struct ef_http_request *req, const struct ef_reshuffler *r, int rc, const struct ef_error *err)
{
    if (rc) {
        reply_error(req, rc, err);
        return;
    }
    ef_log_info("analyzers", "the analyzers have changed by HTTP: %u places",
                ef_members_plan(&r->members)->n_analyzers);
    reply_analyzers(req, r);
}

static void
get_analyzers(struct ef_http_request *req, void *ctx)
{
    reply_analyzers(req, ctx);
}

/* The body as JSON, or NULL after an error was replied. */
static json_t *
read_body(struct ef_http_request *req)
{
    const char *body;
    json_error_t why;
    size_t len = ef_http_body(req, &body);
    json_t *json = json_loadb(body ? body : "", len, JSON_REJECT_DUPLICATES, &why);
    if (!json) {
        ef_http_reply_error(req, 400, "bad_request", why.position, "the body is not JSON: %.100s", why.text);
    }
    return json;
}

static int
replace(struct ef_reshuffler *r, const json_t *body, struct ef_error *err)
{
    static struct ef_member members[EF_PLAN_MAX_ANALYZERS]; /* The main thread alone. */
    const json_t *list = json_object_get(body, "analyzers");
    size_t n = json_array_size(list);
    if (!json_is_array(list) || json_object_size(body) != 1) {
        return ef_error_set(err, -EINVAL, "the body should read {\"analyzers\": [...]}");
    }
    if (n > EF_PLAN_MAX_ANALYZERS) {
        return ef_error_set(err, -ENOSPC, "at most %d analyzers", EF_PLAN_MAX_ANALYZERS);
    }
    for (size_t i = 0; i < n; i++) {
        ef_member_init(&members[i]);
        if (ef_member_from_json(json_array_get(list, i), &members[i], err)) {
            return ef_error_prefix(err, -EINVAL, "analyzers[%zu]", i);
        }
    }
    return ef_members_replace(&r->members, members, n, err);
}

static void
put_analyzers(struct ef_http_request *req, void *ctx)
{
    struct ef_error err = EF_ERROR_INIT;
    json_t *body = read_body(req);
    if (body) {
        reply_changed(req, ctx, replace(ctx, body, &err), &err);
        json_decref(body);
    }
}

/* What the body leaves out stays as it is. */
static int
put_one(struct ef_reshuffler *r, const json_t *body, struct ef_error *err)
{
    const struct ef_plan *plan = ef_members_plan(&r->members);
    const char *name = json_string_value(json_object_get(body, "name"));
    int i = name ? ef_plan_find(plan, name) : -1;
    struct ef_member member;
    ef_member_init(&member);
    if (i >= 0) {
        member = plan->analyzers[i];
    }
    int rc = ef_member_from_json(body, &member, err);
    return rc ? rc : ef_members_put(&r->members, &member, err);
}

static void
post_analyzer(struct ef_http_request *req, void *ctx)
{
    struct ef_error err = EF_ERROR_INIT;
    json_t *body = read_body(req);
    if (body) {
        reply_changed(req, ctx, put_one(ctx, body, &err), &err);
        json_decref(body);
    }
}

static void
delete_analyzer(struct ef_http_request *req, void *ctx)
{
    struct ef_reshuffler *r = ctx;
    struct ef_error err = EF_ERROR_INIT;
    const char *name = ef_http_param(req, "name");
    if (!name) {
        ef_http_reply_error(req, 400, "bad_query", -1, "which? say ?name=NAME");
        return;
    }
    reply_changed(req, r, ef_members_remove(&r->members, name, &err), &err);
}

void
ef_analyzers_serve_http(struct ef_reshuffler *r, struct ef_http_server *server)
{
    static const char *const name[] = {"name", NULL};
    static const struct ef_http_route routes[] = {
        {"GET", "/v1/analyzers", NULL, get_analyzers},
        {"PUT", "/v1/analyzers", NULL, put_analyzers},
        {"POST", "/v1/analyzers", NULL, post_analyzer},
        {"DELETE", "/v1/analyzers", name, delete_analyzer},
        {0},
    };
    ef_http_server_add_routes(server, routes, r);
}
