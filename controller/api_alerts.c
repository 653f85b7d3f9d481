/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/alerts and /v1/alerts/ID; POST /v1/alerts/ID/acknowledge and resolve. */
#include <config.h>

#include <string.h>

#include "controller/alerts.h"
#include "controller/alerts_kept.h"
#include "controller/controller.h"

static const char *const list_params[] = {"state", "kind", NULL};

static void
get_alerts(struct ef_http_request *req, void *ctx)
{
    struct controller *c = ctx;
    const char *state = ef_http_param(req, "state");
    if (state && !alerts_is_state(state)) {
        ef_http_reply_error(req, 400, "bad_query", -1, "state: '%.40s' is none of active, open, acknowledged, resolved",
                            state);
        return;
    }
    ef_http_reply_json(req, 200,
                       json_pack("{s:o}", "alerts", alerts_list(c->alerts, state, ef_http_param(req, "kind"))));
}

/* The alert that the path names, or NULL: replied. */
static struct alert *
find_alert(struct ef_http_request *req, const struct controller *c)
{
    char id[32];
    struct alert *alert = ef_http_path_segment(req, 2, id, sizeof id) ? alerts_find(c->alerts, id) : NULL;
    if (!alert) {
        ef_http_reply_error(req, 404, "no_alert", -1, "there is no alert '%.31s'", id);
    }
    return alert;
}

static void
get_alert(struct ef_http_request *req, void *ctx)
{
    const struct alert *alert = find_alert(req, ctx);
    if (alert) {
        ef_http_reply_json(req, 200, alert_show(alert));
    }
}

/* The text under `key` of the body, which may be empty; `otherwise` without. False:
 * replied. The body's text is `*document`'s, which the caller releases. */
static bool
read_word(struct ef_http_request *req, const char *key, const char *otherwise, const char **word, json_t **document)
{
    const char *body;
    size_t len = ef_http_body(req, &body);
    *word = otherwise;
    *document = len ? json_loadb(body, len, JSON_REJECT_DUPLICATES, NULL) : json_object();
    const json_t *value = json_object_get(*document, key);
    if (!json_is_object(*document) || json_object_size(*document) > (value ? 1 : 0) ||
        (value && !json_is_string(value))) {
        ef_http_reply_error(req, 400, "bad_request", -1, "the body should be empty or {\"%s\": \"...\"}", key);
        json_decref(*document);
        return false;
    }
    *word = value ? json_string_value(value) : otherwise;
    return true;
}

static void
on_kept(void *ctx, json_t *alert, const char *error)
{
    struct ef_http_request *req = ctx;
    if (error) {
        ef_http_reply_error(req, 503, "not_kept", -1, "%s", error);
    } else {
        ef_http_reply_json(req, 200, json_incref(alert));
    }
}

static void
post_acknowledge(struct ef_http_request *req, void *ctx)
{
    struct controller *c = ctx;
    const char *by;
    json_t *document;
    struct alert *alert = find_alert(req, c);
    if (!alert || !read_word(req, "by", "", &by, &document)) {
        return;
    }
    if (!alerts_kept_acknowledge(c->alerts_kept, alert, by, on_kept, req)) {
        ef_http_reply_error(req, 409, "resolved", -1, "the alert is resolved");
    }
    json_decref(document);
}

static void
post_resolve(struct ef_http_request *req, void *ctx)
{
    struct controller *c = ctx;
    const char *why;
    json_t *document;
    struct alert *alert = find_alert(req, c);
    if (!alert || !read_word(req, "why", "by hand", &why, &document)) {
        return;
    }
    if (!alerts_kept_resolve(c->alerts_kept, alert, why, on_kept, req)) {
        ef_http_reply_json(req, 200, alert_show(alert)); /* It is already. */
    }
    json_decref(document);
}

void
api_alerts_add(struct controller *c)
{
    static const struct ef_http_route routes[] = {
        {"GET", "/v1/alerts", list_params, get_alerts},
        {"GET", "/v1/alerts/*", NULL, get_alert},
        {"POST", "/v1/alerts/*/acknowledge", NULL, post_acknowledge},
        {"POST", "/v1/alerts/*/resolve", NULL, post_resolve},
        {0},
    };
    ef_http_server_add_routes(c->http, routes, c);
}
