/* SPDX-License-Identifier: Apache-2.0 */
/* GET and POST /v1/webhooks, DELETE /v1/webhooks/NAME. */
#include <config.h>

#include <stdio.h>
#include <stdlib.h>

#include "controller/controller.h"
#include "controller/webhooks.h"

static void
get_webhooks(struct ef_http_request *req, void *ctx)
{
    const struct controller *c = ctx;
    ef_http_reply_json(req, 200, json_pack("{s:o}", "webhooks", webhooks_show(c->webhooks)));
}

/* One that is being added or removed. */
struct webhook_change {
    struct controller *controller;
    struct ef_http_request *http;
    json_t *shown;                   /* What is removed, or NULL: */
    char name[WEBHOOK_MAX_NAME + 1]; /* what is added. */
};

static void
on_kept(void *ctx, const char *error)
{
    struct webhook_change *change = ctx;
    if (error) {
        json_decref(change->shown);
        ef_http_reply_error(change->http, 503, "not_kept", -1, "%s", error);
    } else if (change->shown) {
        ef_http_reply_json(change->http, 200, change->shown);
    } else {
        json_t *shown = webhooks_show_one(change->controller->webhooks, change->name);
        ef_http_reply_json(change->http, 201, shown ? shown : json_pack("{s:s}", "name", change->name));
    }
    free(change);
}

static struct webhook_change *
change_create(struct controller *c, struct ef_http_request *http, json_t *shown)
{
    struct webhook_change *change = calloc(1, sizeof *change);
    if (!change) {
        abort(); /* Control path. */
    }
    change->controller = c;
    change->http = http;
    change->shown = shown;
    return change;
}

/* Keeps `document`, taken over. */
static void
add(struct controller *c, struct ef_http_request *req, json_t *document)
{
    const char *name = json_string_value(json_object_get(document, "name"));
    if (state_get(c->state, STATE_WEBHOOK, name)) {
        ef_http_reply_error(req, 409, "exists", -1, "there is a webhook '%s' already; remove it first", name);
        json_decref(document);
    } else if (json_object_size(state_rows(c->state, STATE_WEBHOOK)) >= WEBHOOKS_MAX) {
        ef_http_reply_error(req, 409, "too_many", -1, "there are %d webhooks already", WEBHOOKS_MAX);
        json_decref(document);
    } else {
        struct webhook_change *change = change_create(c, req, NULL);
        snprintf(change->name, sizeof change->name, "%s", name);
        state_put(c->state, STATE_WEBHOOK, change->name, document, on_kept, change);
    }
}

static void
post_webhooks(struct ef_http_request *req, void *ctx)
{
    const char *body;
    size_t len = ef_http_body(req, &body);
    struct ef_error err = EF_ERROR_INIT;
    json_t *order = json_loadb(body, len, JSON_REJECT_DUPLICATES, NULL), *document = NULL;
    if (!json_is_object(order)) {
        ef_http_reply_error(req, 400, "bad_request", -1, "the body is no JSON object");
    } else if (webhook_read_order(order, &document, &err)) {
        ef_http_reply_error(req, 400, "bad_request", -1, "%s", err.text);
    } else {
        add(ctx, req, document);
    }
    json_decref(order);
}

static void
delete_webhook(struct ef_http_request *req, void *ctx)
{
    struct controller *c = ctx;
    const char *name = ef_http_last_segment(req);
    json_t *shown = webhooks_show_one(c->webhooks, name);
    if (!shown) {
        ef_http_reply_error(req, 404, "no_webhook", -1, "there is no webhook '%.50s'", name);
    } else if (!state_get(c->state, STATE_WEBHOOK, name)) {
        ef_http_reply_error(req, 409, "in_configuration", -1,
                            "'%.50s' is in the controller's configuration; remove it there", name);
        json_decref(shown);
    } else {
        state_delete(c->state, STATE_WEBHOOK, name, on_kept, change_create(c, req, shown));
    }
}

void
api_webhooks_add(struct controller *c)
{
    static const struct ef_http_route routes[] = {
        {"GET", "/v1/webhooks", NULL, get_webhooks},
        {"POST", "/v1/webhooks", NULL, post_webhooks},
        {"DELETE", "/v1/webhooks/*", NULL, delete_webhook},
        {0},
    };
    ef_http_server_add_routes(c->http, routes, c);
}
