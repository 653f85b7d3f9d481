/* SPDX-License-Identifier: Apache-2.0 */
/* Orders over HTTP; see serve.h. */
#include <config.h>

#include "guided-prober/serve.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/control_socket.h"
#include "base/json.h"
#include "base/log.h"
#include "base/signals.h"
#include "base/time.h"
#include "guided-prober/orders.h"
#include "net/http_server.h"
#include "net/metrics.h"

struct server {
    const struct prober_conf *conf;
    struct event_base *base;
    struct prober_orders *orders;
    struct ef_http_server *http;
    struct ef_control *control;
    struct ef_tls *tls;
    struct ef_time started; /* Monotonic. */
};

/* --- What is asked -------------------------------------------------------- */

static void
reply_refusal(struct ef_http_request *req, int rc, const char *text)
{
    switch (rc) {
    case -EACCES:
        ef_http_reply_error(req, 403, "refused", -1, "%s", text);
        break;
    case -EEXIST:
        ef_http_reply_error(req, 409, "exists", -1, "%s", text);
        break;
    case -EBUSY:
        ef_http_reply_error(req, 409, "too_many", -1, "%s", text);
        break;
    default:
        ef_http_reply_error(req, 400, "bad_request", -1, "%s", text);
        break;
    }
}

static void
post_probes(struct ef_http_request *req, void *ctx)
{
    struct server *s = ctx;
    const char *body;
    struct ef_error err = EF_ERROR_INIT;
    json_error_t where;
    json_t *shown;
    size_t len = ef_http_body(req, &body);
    json_t *order = json_loadb(body, len, JSON_REJECT_DUPLICATES, &where);
    if (!order) {
        ef_http_reply_error(req, 400, "bad_request", -1, "the body is not JSON: %s", where.text);
        return;
    }
    int rc = prober_orders_add(s->orders, order, &shown, &err);
    json_decref(order);
    if (rc) {
        reply_refusal(req, rc, err.text);
    } else {
        ef_http_reply_json(req, 201, shown);
    }
}

static void
get_probes(struct ef_http_request *req, void *ctx)
{
    ef_http_reply_json(req, 200, json_pack("{s:o}", "probes", prober_orders_list(((struct server *) ctx)->orders)));
}

static void
reply_order(struct ef_http_request *req, const struct server *s)
{
    json_t *shown = prober_orders_show(s->orders, ef_http_last_segment(req));
    if (shown) {
        ef_http_reply_json(req, 200, shown);
    } else {
        ef_http_reply_error(req, 404, "no_probes", -1, "there are no probes '%.40s'", ef_http_last_segment(req));
    }
}

static void
get_order(struct ef_http_request *req, void *ctx)
{
    reply_order(req, ctx);
}

static void
stop_order(struct ef_http_request *req, void *ctx)
{
    prober_orders_stop(((struct server *) ctx)->orders, ef_http_last_segment(req));
    reply_order(req, ctx);
}

static double
uptime_s(const struct server *s)
{
    return (double) ef_time_diff_ns(ef_time_mono(), s->started) / EF_NS_PER_S;
}

static json_t *
status_json(const struct server *s)
{
    struct prober_orders_stats n;
    prober_orders_stats(s->orders, &n);
    return json_pack(
        "{s:s, s:s, s:f, s:s, s:I, s:I, s:{s:I, s:I, s:I}, s:I, s:I}", "role", "prober", "version", PACKAGE_VERSION,
        "uptime_s", uptime_s(s), "sink", s->conf->sink, "rate_limit", (json_int_t) s->conf->limits.rate, "total_limit",
        (json_int_t) s->conf->limits.total, "orders", "taken", (json_int_t) n.taken, "refused", (json_int_t) n.refused,
        "running", (json_int_t) n.running, "probes_sent", (json_int_t) n.sent, "probes_failed", (json_int_t) n.failed);
}

static void
get_status(struct ef_http_request *req, void *ctx)
{
    ef_http_reply_json(req, 200, status_json(ctx));
}

static void
get_metrics(struct ef_http_request *req, void *ctx)
{
    const struct server *s = ctx;
    struct prober_orders_stats n;
    struct ef_metrics m;
    prober_orders_stats(s->orders, &n);
    ef_metrics_init(&m);
    ef_metrics_single(&m, "everflow_uptime_seconds", "gauge", "time since the start", uptime_s(s));
    ef_metrics_single(&m, "everflow_probes_sent_total", "counter", "probes sent", (double) n.sent);
    ef_metrics_single(&m, "everflow_probes_failed_total", "counter", "probes that were not sent", (double) n.failed);
    ef_metrics_family(&m, "everflow_probe_orders_total", "counter", "orders that came");
    ef_metrics_value(&m, (double) n.taken, "result", "taken", NULL);
    ef_metrics_value(&m, (double) n.refused, "result", "refused", NULL);
    ef_metrics_single(&m, "everflow_probe_orders_running", "gauge", "orders that are carried out", (double) n.running);
    ef_metrics_reply(&m, req);
}

static const struct ef_http_route routes[] = {
    {"POST", "/v1/probes", NULL, post_probes},
    {"GET", "/v1/probes", NULL, get_probes},
    {"GET", "/v1/probes/*", NULL, get_order},
    {"DELETE", "/v1/probes/*", NULL, stop_order},
    {"GET", "/v1/status", NULL, get_status},
    {"GET", "/metrics", NULL, get_metrics},
    {0},
};

static int
show_status(void *ctx, int argc, char *const argv[], struct evbuffer *reply, struct ef_error *err)
{
    json_t *json = status_json(ctx);
    char *text = json_dumps(json, JSON_INDENT(2) | EF_JSON_REALS);
    json_decref(json);
    evbuffer_add_printf(reply, "%s\n", text ? text : "out of memory");
    free(text);
    return 0;
}

/* --- Life ----------------------------------------------------------------- */

static int
open_all(struct server *s, const struct prober_targets *targets, struct ef_error *err)
{
    const struct prober_conf *conf = s->conf;
    s->base = event_base_new();
    if (!s->base) {
        return ef_error_set(err, -ENOMEM, "out of memory");
    }
    int rc = prober_orders_create(s->base, targets, conf, &s->orders, err);
    rc = rc ? rc : ef_tls_create(&conf->tls, &s->tls, err);
    rc = rc ? rc : ef_http_server_create(s->base, conf->http, s->tls, &s->http, err);
    rc = rc || !conf->daemon.control ? rc : ef_control_create(s->base, conf->daemon.control, &s->control, err);
    if (rc) {
        return rc;
    }
    ef_http_server_limit(s->http, conf->daemon.max_connections);
    ef_http_server_add_routes(s->http, routes, s);
    if (s->control) {
        ef_control_add(s->control, "status", "", "the status as JSON, as GET /v1/status gives it", show_status, s);
    }
    return 0;
}

static void
close_all(struct server *s)
{
    ef_http_server_destroy(s->http);
    ef_control_destroy(s->control);
    prober_orders_destroy(s->orders);
    ef_tls_destroy(s->tls);
    if (s->base) {
        event_base_free(s->base);
    }
}

static int
loop(struct server *s, struct prober_conf *conf, struct ef_error *err)
{
    struct ef_signals *signals;
    int rc = ef_signals_create(s->base, &signals, err);
    if (rc) {
        return rc;
    }
    rc = ef_daemon_ready(&conf->daemon, err);
    if (!rc) {
        ef_log_info("main", "ef-prober %s takes orders at %s", PACKAGE_VERSION, ef_http_server_address(s->http));
        event_base_dispatch(s->base);
    }
    ef_signals_destroy(signals);
    return rc;
}

int
prober_serve(struct prober_conf *conf, const struct prober_targets *targets, struct ef_error *err)
{
    struct server s = {.conf = conf, .started = ef_time_mono()};
    int rc = ef_daemon_begin(&conf->daemon, err);
    if (rc) {
        return rc;
    }
    rc = open_all(&s, targets, err);
    rc = rc ? rc : loop(&s, conf, err);
    close_all(&s);
    ef_daemon_end(&conf->daemon);
    return rc;
}
