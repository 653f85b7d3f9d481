/* SPDX-License-Identifier: Apache-2.0 */
/* POST and GET /v1/probes; GET and DELETE /v1/probes/ID, which asks the analyzers
 * for the probes' traces. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "controller/controller.h"
#include "controller/probe_orders.h"
#include "controller/probe_results.h"
#include "controller/trace_query.h"

/* Probes are found by when their traces started; the analyzers' clocks may differ
 * a little from ours. */
enum { CLOCKS_DIFFER_MS = 5000, TRACES_AT_ONCE = 256 };

static void
on_kept(void *ctx, struct probe_order *order, const char *error)
{
    if (error) {
        ef_http_reply_error(ctx, 503, "not_kept", -1, "%s", error);
    } else {
        ef_http_reply_json(ctx, 202, probe_order_show(order));
    }
}

static void
post_probes(struct ef_http_request *req, void *ctx)
{
    struct controller *c = ctx;
    const char *body;
    struct probe_order *order;
    struct ef_error err = EF_ERROR_INIT;
    json_error_t where;
    size_t len = ef_http_body(req, &body);
    json_t *document = json_loadb(body, len, JSON_REJECT_DUPLICATES, &where);
    if (!document) {
        ef_http_reply_error(req, 400, "bad_request", -1, "the body is not JSON: %s", where.text);
        return;
    }
    int rc = probe_orders_add(c->probes, document, &order, &err);
    json_decref(document);
    if (!rc) {
        probe_order_keep(order, on_kept, req);
    } else if (rc == -ENOSPC) {
        ef_http_reply_error(req, 409, "too_many", -1, "%s", err.text);
    } else if (rc == -ENOENT) {
        ef_http_reply_error(req, 404, "no_prober", -1, "%s", err.text);
    } else {
        ef_http_reply_error(req, 400, "bad_request", -1, "%s", err.text);
    }
}

static void
get_probes(struct ef_http_request *req, void *ctx)
{
    ef_http_reply_json(req, 200, json_pack("{s:o}", "probes", probe_orders_list(((struct controller *) ctx)->probes)));
}

/* The order that the path names, or NULL: replied. */
static struct probe_order *
find_order(struct ef_http_request *req, const struct controller *c)
{
    struct probe_order *order = probe_orders_find(c->probes, ef_http_last_segment(req));
    if (!order) {
        ef_http_reply_error(req, 404, "no_probes", -1, "there are no probes '%.40s'", ef_http_last_segment(req));
    }
    return order;
}

static void
delete_order(struct ef_http_request *req, void *ctx)
{
    struct probe_order *order = find_order(req, ctx);
    if (order) {
        probe_order_stop(order);
        ef_http_reply_json(req, 200, probe_order_show(order));
    }
}

/* --- Results -------------------------------------------------------------- */

/* A question for results on its way. */
struct results_request {
    struct ef_http_request *http;
    struct trace_query *query;
    struct probe_results *results;
    json_t *shown; /* The order as it was. */
    uint64_t sent;
};

static void
finish(struct results_request *r)
{
    json_t *results = probe_results_show(r->results, r->sent);
    json_object_set_new(results, "incomplete", trace_query_incomplete(r->query));
    json_object_set_new(r->shown, "results", results);
    ef_http_reply_json(r->http, 200, r->shown);
    trace_query_destroy(r->query);
    probe_results_destroy(r->results);
    free(r);
}

static void
on_traces(void *ctx)
{
    struct results_request *r = ctx;
    struct trace_item *item;
    for (int i = 0; i < TRACES_AT_ONCE; i++) {
        int rc = trace_query_next(r->query, &item);
        if (rc == TRACE_QUERY_END) {
            finish(r);
            return;
        }
        if (rc == TRACE_QUERY_WAIT) {
            return;
        }
        probe_results_add(r->results, item->json, item->len);
        free(item);
    }
    trace_query_wake(r->query);
}

static void
get_order(struct ef_http_request *req, void *ctx)
{
    struct controller *c = ctx;
    const struct probe_order *order = find_order(req, c);
    if (!order) {
        return;
    }
    struct results_request *r = calloc(1, sizeof *r);
    if (!r) {
        abort(); /* Control path. */
    }
    struct ef_time start = ef_time_add_ms(probe_order_created(order), -CLOCKS_DIFFER_MS);
    struct trace_question question = {.condition = "trace.probe", .start = &start};
    r->http = req;
    r->shown = probe_order_show(order);
    r->sent = probe_order_sent(order);
    r->results = probe_results_create(probe_order_id(order), probe_order_count(order));
    r->query = trace_query_start(c->base, &question, &c->configuration, &c->topology, on_traces, r);
}

void
api_probes_add(struct controller *c)
{
    static const struct ef_http_route routes[] = {
        {"POST", "/v1/probes", NULL, post_probes},
        {"GET", "/v1/probes", NULL, get_probes},
        {"GET", "/v1/probes/*", NULL, get_order},
        {"DELETE", "/v1/probes/*", NULL, delete_order},
        {0},
    };
    ef_http_server_add_routes(c->http, routes, c);
}
