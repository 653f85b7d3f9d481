/* SPDX-License-Identifier: Apache-2.0 */
/* POST and GET /v1/diagnoses; GET and DELETE /v1/diagnoses/ID. */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/controller.h"
#include "controller/diagnoses_kept.h"

/* One that was begun or stopped, and is being kept. */
struct keeping {
    struct controller *controller;
    struct ef_http_request *http;
    char id[17];
    bool was_begun;
};

static void
on_kept(void *ctx, const char *error)
{
    struct keeping *k = ctx;
    struct diagnosis *d = diagnoses_find(k->controller->diagnoses, k->id);
    if (error || !d) {
        if (d && k->was_begun) {
            diagnosis_stop(d, "it could not be kept"); /* Nobody knows of it. */
        }
        ef_http_reply_error(k->http, 503, "not_kept", -1, "%s", error ? error : "it was forgotten meanwhile");
    } else {
        ef_http_reply_json(k->http, k->was_begun ? 202 : 200, diagnosis_show(d));
    }
    free(k);
}

static void
keep(struct controller *c, struct ef_http_request *req, const struct diagnosis *d, bool was_begun)
{
    struct keeping *k = malloc(sizeof *k);
    if (!k) {
        abort(); /* Control path. */
    }
    *k = (struct keeping){.controller = c, .http = req, .was_begun = was_begun};
    snprintf(k->id, sizeof k->id, "%s", diagnosis_id(d));
    diagnoses_kept_put(c->diagnoses_kept, d, on_kept, k);
}

static void
post_diagnoses(struct ef_http_request *req, void *ctx)
{
    struct controller *c = ctx;
    const char *body;
    struct diagnosis *d;
    struct ef_error err = EF_ERROR_INIT;
    json_error_t where;
    size_t len = ef_http_body(req, &body);
    json_t *document = json_loadb(body, len, JSON_REJECT_DUPLICATES, &where);
    if (!document) {
        ef_http_reply_error(req, 400, "bad_request", -1, "the body is not JSON: %s", where.text);
        return;
    }
    int rc = diagnoses_start(c->diagnoses, document, "operator", &d, &err);
    json_decref(document);
    if (!rc) {
        keep(c, req, d, true);
    } else if (rc == -ENOSPC) {
        ef_http_reply_error(req, 409, "too_many", -1, "%s", err.text);
    } else if (rc == -ENOENT) {
        ef_http_reply_error(req, 404, "not_found", -1, "%s", err.text);
    } else {
        ef_http_reply_error(req, 400, "bad_request", -1, "%s", err.text);
    }
}

static void
get_diagnoses(struct ef_http_request *req, void *ctx)
{
    struct controller *c = ctx;
    ef_http_reply_json(req, 200, json_pack("{s:o}", "diagnoses", diagnoses_list(c->diagnoses)));
}

/* The one that the path names, or NULL: replied. */
static struct diagnosis *
find(struct ef_http_request *req, const struct controller *c)
{
    struct diagnosis *d = diagnoses_find(c->diagnoses, ef_http_last_segment(req));
    if (!d) {
        ef_http_reply_error(req, 404, "no_diagnosis", -1, "there is no diagnosis '%.40s'", ef_http_last_segment(req));
    }
    return d;
}

static void
get_diagnosis(struct ef_http_request *req, void *ctx)
{
    const struct diagnosis *d = find(req, ctx);
    if (d) {
        ef_http_reply_json(req, 200, diagnosis_show(d));
    }
}

static void
delete_diagnosis(struct ef_http_request *req, void *ctx)
{
    struct diagnosis *d = find(req, ctx);
    if (d) {
        diagnosis_stop(d, "stopped on demand");
        keep(ctx, req, d, false);
    }
}

void
api_diagnoses_add(struct controller *c)
{
    static const struct ef_http_route routes[] = {
        {"POST", "/v1/diagnoses", NULL, post_diagnoses},
        {"GET", "/v1/diagnoses", NULL, get_diagnoses},
        {"GET", "/v1/diagnoses/*", NULL, get_diagnosis},
        {"DELETE", "/v1/diagnoses/*", NULL, delete_diagnosis},
        {0},
    };
    ef_http_server_add_routes(c->http, routes, c);
}
