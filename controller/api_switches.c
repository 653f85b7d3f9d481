/* SPDX-License-Identifier: Apache-2.0 */
/* POST /v1/switches, GET and DELETE /v1/switches/NAME; GET /v1/switches, which
 * also asks the reshufflers, is in api_status.c. */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/added_switches.h"
#include "controller/controller.h"
#include "controller/text.h"

/* One that is being added or removed. */
struct switch_change {
    struct ef_http_request *http;
    json_t *document;
    int status;
};

static void
on_kept(void *ctx, const char *error)
{
    struct switch_change *change = ctx;
    if (error) {
        ef_http_reply_error(change->http, 503, "not_kept", -1, "%s", error);
        json_decref(change->document);
    } else {
        ef_http_reply_json(change->http, change->status, change->document);
    }
    free(change);
}

static struct switch_change *
change_create(struct ef_http_request *http, int status, json_t *document)
{
    struct switch_change *change = malloc(sizeof *change);
    if (!change) {
        abort(); /* Control path. */
    }
    *change = (struct switch_change){http, document, status};
    return change;
}

static void
post_switches(struct ef_http_request *req, void *ctx)
{
    struct controller *c = ctx;
    const char *body;
    size_t len = ef_http_body(req, &body);
    struct ef_error err = EF_ERROR_INIT;
    json_error_t where;
    json_t *order = json_loadb(body, len, JSON_REJECT_DUPLICATES, &where);
    if (!json_is_object(order)) {
        ef_http_reply_error(req, 400, "bad_request", -1, "the body is no JSON object: %s", where.text);
        json_decref(order);
        return;
    }
    int rc = 0;
    json_t *document = added_switches_read(c, order, &rc, &err);
    json_decref(order);
    if (document) {
        state_put(c->state, STATE_SWITCH, json_string_value(json_object_get(document, "name")), json_incref(document),
                  on_kept, change_create(req, 201, document));
    } else if (rc == -EEXIST) {
        ef_http_reply_error(req, 409, "exists", -1, "%s", err.text);
    } else if (rc == -ENOSPC) {
        ef_http_reply_error(req, 409, "too_many", -1, "%s", err.text);
    } else {
        ef_http_reply_error(req, 400, "bad_request", -1, "%s", err.text);
    }
}

/* The switch that the path names, or NULL: replied. */
static struct managed_switch *
find_switch(struct ef_http_request *req, const struct controller *c)
{
    const char *name = ef_http_last_segment(req);
    for (size_t i = 0; i < c->n_switches; i++) {
        if (!strcmp(managed_switch_name(c->switches[i]), name)) {
            return c->switches[i];
        }
    }
    ef_http_reply_error(req, 404, "no_switch", -1, "there is no switch '%.70s'", name);
    return NULL;
}

static void
get_switch(struct ef_http_request *req, void *ctx)
{
    const struct managed_switch *s = find_switch(req, ctx);
    if (s) {
        json_t *shown = managed_switch_show(s), *discovered = managed_switch_discovered(s);
        json_object_update(shown, discovered);
        json_decref(discovered);
        ef_http_reply_json(req, 200, shown);
    }
}

static void
delete_switch(struct ef_http_request *req, void *ctx)
{
    struct controller *c = ctx;
    if (!find_switch(req, c)) {
        return;
    }
    const char *name = ef_http_last_segment(req);
    if (!state_get(c->state, STATE_SWITCH, name)) {
        ef_http_reply_error(req, 409, "in_topology", -1, "switch '%.70s' is in the topology file; remove it there",
                            name);
        return;
    }
    state_delete(c->state, STATE_SWITCH, name, on_kept, change_create(req, 200, json_pack("{s:s}", "removed", name)));
}

void
api_switches_add(struct controller *c)
{
    static const struct ef_http_route routes[] = {
        {"POST", "/v1/switches", NULL, post_switches},
        {"GET", "/v1/switches/*", NULL, get_switch},
        {"DELETE", "/v1/switches/*", NULL, delete_switch},
        {0},
    };
    ef_http_server_add_routes(c->http, routes, c);
}
