/* SPDX-License-Identifier: Apache-2.0 */
/* GET and POST /v1/rules, DELETE /v1/rules/NAME: sets of rules that switches have
 * for a time (rule_sets.h). All are shown; only those that were made here, whose
 * owner is "operator", can be made and removed here. */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/controller.h"
#include "controller/document.h"
#include "controller/rule_sets_kept.h"

static void
get_rules(struct ef_http_request *req, void *ctx)
{
    const struct controller *c = ctx;
    ef_http_reply_json(req, 200, json_pack("{s:o}", "rule_sets", rule_sets_show(c->rule_sets, NULL)));
}

static json_t *
show_one(const struct controller *c, const char *name)
{
    json_t *all = rule_sets_show(c->rule_sets, RULE_SETS_OPERATOR), *set, *found = NULL;
    size_t i;
    json_array_foreach(all, i, set)
    {
        if (!strcmp(json_string_value(json_object_get(set, "name")), name)) {
            found = json_incref(set);
        }
    }
    json_decref(all);
    return found;
}

/* One that is being put or removed. */
struct rules_change {
    struct controller *controller;
    struct ef_http_request *http;
    json_t *shown; /* What is removed, or NULL: */
    char name[64]; /* what is put. */
};

static void
on_kept(void *ctx, const char *error)
{
    struct rules_change *change = ctx;
    json_t *shown = change->shown;
    if (!error && !shown && !(shown = show_one(change->controller, change->name))) {
        error = "another change took its place; look, and repeat it"; /* Or its room. */
    }
    if (error) {
        ef_http_reply_error(change->http, 503, "not_kept", -1, "%s", error);
        json_decref(shown);
    } else {
        ef_http_reply_json(change->http, change->shown ? 200 : 201, shown);
    }
    free(change);
}

static struct rules_change *
change_create(struct controller *c, struct ef_http_request *http, json_t *shown)
{
    struct rules_change *change = calloc(1, sizeof *change);
    if (!change) {
        abort(); /* Control path. */
    }
    change->controller = c;
    change->http = http;
    change->shown = shown;
    return change;
}

static int
put_set(struct controller *c, struct ef_http_request *req, const struct doc_place *root, struct ef_error *err)
{
    static const char *const known[] = {"name", "switches", "rules", "duration_s", NULL};
    struct doc_place switches, rules;
    const char *name;
    int64_t duration_s;
    if (doc_check_keys(root, known, err) || doc_string(root, "name", NULL, &name, err) ||
        doc_array(root, "switches", false, &switches, err) || doc_array(root, "rules", true, &rules, err) ||
        doc_integer(root, "duration_s", 1, RULE_SETS_MAX_S, 3600, &duration_s, err)) {
        return -EINVAL;
    }
    struct rule_set_spec spec = {
        .name = name,
        .switches = switches.value,
        .rules = rules.value,
        .expires = ef_time_add_ms(ef_time_real(), duration_s * 1000),
    };
    struct rules_change *change = change_create(c, req, NULL);
    snprintf(change->name, sizeof change->name, "%s", name);
    int rc = rule_sets_kept_put(c->rule_sets_kept, &spec, on_kept, change, err);
    if (rc) {
        free(change);
    }
    return rc;
}

static void
post_rules(struct ef_http_request *req, void *ctx)
{
    struct controller *c = ctx;
    struct ef_error err = EF_ERROR_INIT;
    struct doc_place root = {0};
    json_error_t where;
    const char *body;
    size_t len = ef_http_body(req, &body);
    root.value = json_loadb(body, len, JSON_REJECT_DUPLICATES, &where);
    if (!root.value) {
        ef_http_reply_error(req, 400, "bad_request", -1, "the body is not JSON: %s", where.text);
        return;
    }
    int rc = put_set(c, req, &root, &err);
    if (rc == -ENOSPC) {
        ef_http_reply_error(req, 409, "too_many", -1, "%s", err.text);
    } else if (rc) {
        ef_http_reply_error(req, 400, "bad_request", -1, "%s", err.text);
    }
    json_decref(root.value);
}

static void
delete_rules(struct ef_http_request *req, void *ctx)
{
    struct controller *c = ctx;
    const char *name = ef_http_last_segment(req);
    json_t *shown = show_one(c, name);
    if (!shown) {
        ef_http_reply_error(req, 404, "no_rules", -1, "there is no set of rules '%.40s'", name);
        return;
    }
    rule_sets_kept_remove(c->rule_sets_kept, name, on_kept, change_create(c, req, shown));
}

void
api_rules_add(struct controller *c)
{
    static const struct ef_http_route routes[] = {
        {"GET", "/v1/rules", NULL, get_rules},
        {"POST", "/v1/rules", NULL, post_rules},
        {"DELETE", "/v1/rules/*", NULL, delete_rules},
        {0},
    };
    ef_http_server_add_routes(c->http, routes, c);
}
