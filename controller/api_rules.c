/* SPDX-License-Identifier: Apache-2.0 */
/* GET and POST /v1/rules, DELETE /v1/rules/NAME: sets of rules that switches have
 * for a time (rule_sets.h). All are shown; only those that were made here, whose
 * owner is "operator", can be made and removed here. */
#include <config.h>

#include <errno.h>
#include <string.h>

#include "controller/controller.h"
#include "controller/document.h"
#include "controller/rule_sets.h"

static const char owner[] = "operator";

static void
get_rules(struct ef_http_request *req, void *ctx)
{
    const struct controller *c = ctx;
    ef_http_reply_json(req, 200, json_pack("{s:o}", "rule_sets", rule_sets_show(c->rule_sets, NULL)));
}

static int
put_set(struct controller *c, const struct doc_place *root, const char **name, struct ef_error *err)
{
    static const char *const known[] = {"name", "switches", "rules", "duration_s", NULL};
    struct doc_place switches, rules;
    int64_t duration_s;
    if (doc_check_keys(root, known, err) || doc_string(root, "name", NULL, name, err) ||
        doc_array(root, "switches", false, &switches, err) || doc_array(root, "rules", true, &rules, err) ||
        doc_integer(root, "duration_s", 1, RULE_SETS_MAX_S, 3600, &duration_s, err)) {
        return -EINVAL;
    }
    struct rule_set_spec spec = {
        .owner = owner,
        .name = *name,
        .switches = switches.value,
        .rules = rules.value,
        .expires = ef_time_add_ms(ef_time_real(), duration_s * 1000),
    };
    return rule_sets_put(c->rule_sets, &spec, err);
}

static json_t *
show_one(const struct controller *c, const char *name)
{
    json_t *all = rule_sets_show(c->rule_sets, owner), *set, *found = NULL;
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

static void
post_rules(struct ef_http_request *req, void *ctx)
{
    struct controller *c = ctx;
    struct ef_error err = EF_ERROR_INIT;
    struct doc_place root = {0};
    json_error_t where;
    const char *body, *name;
    size_t len = ef_http_body(req, &body);
    root.value = json_loadb(body, len, JSON_REJECT_DUPLICATES, &where);
    if (!root.value) {
        ef_http_reply_error(req, 400, "bad_request", -1, "the body is not JSON: %s", where.text);
        return;
    }
    int rc = put_set(c, &root, &name, &err);
    if (!rc) {
        ef_http_reply_json(req, 201, show_one(c, name));
    } else if (rc == -ENOSPC) {
        ef_http_reply_error(req, 409, "too_many", -1, "%s", err.text);
    } else {
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
    rule_sets_remove(c->rule_sets, owner, name);
    ef_http_reply_json(req, 200, shown);
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
