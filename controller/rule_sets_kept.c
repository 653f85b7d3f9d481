/* SPDX-License-Identifier: Apache-2.0 */
/* Operators' sets of rules in the state; see rule_sets_kept.h. */
#include <config.h>

#include "controller/rule_sets_kept.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

struct rule_sets_kept {
    struct rule_sets *sets;
    struct state_store *state;
};

/* The row is what there should be; what cannot be is left out and said. */
static void
on_row_changed(void *ctx, const char *name, json_t *document)
{
    struct rule_sets_kept *k = ctx;
    struct ef_error err = EF_ERROR_INIT;
    const char *expires = json_string_value(json_object_get(document, "expires"));
    struct rule_set_spec spec = {.owner = RULE_SETS_OPERATOR,
                                 .name = name,
                                 .switches = json_object_get(document, "switches"),
                                 .may_be_away = true,
                                 .rules = json_object_get(document, "rules")};
    if (!document) {
        rule_sets_remove(k->sets, RULE_SETS_OPERATOR, name);
        return;
    }
    bool is_time = expires && !ef_time_parse(expires, ef_time_real(), &spec.expires, &err);
    if (is_time && ef_time_before(spec.expires, ef_time_real())) {
        rule_sets_remove(k->sets, RULE_SETS_OPERATOR, name); /* The active one removes the row. */
    } else if (!is_time || rule_sets_put(k->sets, &spec, &err)) {
        ef_log_warn("rules", "%.60s: a set that cannot be put: %s", name, err.text);
    }
}

/* Those that expired while nobody was active. */
static void
on_role_changed(void *ctx, bool is_active)
{
    struct rule_sets_kept *k = ctx;
    const char *name;
    json_t *document;
    json_object_foreach(is_active ? state_rows(k->state, STATE_RULE_SET) : NULL, name, document)
    {
        if (!rule_sets_has(k->sets, RULE_SETS_OPERATOR, name)) {
            state_delete(k->state, STATE_RULE_SET, name, NULL, NULL);
        }
    }
}

static void
on_expired(void *ctx, const char *owner, const char *name)
{
    struct rule_sets_kept *k = ctx;
    if (state_is_active(k->state) && !strcmp(owner, RULE_SETS_OPERATOR)) {
        state_delete(k->state, STATE_RULE_SET, name, NULL, NULL);
    }
}

int
rule_sets_kept_put(struct rule_sets_kept *k, const struct rule_set_spec *spec, state_done *done, void *ctx,
                   struct ef_error *err)
{
    char expires[EF_TIME_TEXT_SIZE];
    struct rule_set_spec operators = *spec;
    operators.owner = RULE_SETS_OPERATOR;
    int rc = rule_sets_check(k->sets, &operators, err);
    if (rc) {
        return rc;
    }
    json_t *document = json_pack("{s:O?, s:O, s:s}", "switches", spec->switches, "rules", spec->rules, "expires",
                                 ef_time_format(spec->expires, expires));
    if (!document) {
        abort(); /* Control path: out of memory. */
    }
    state_put(k->state, STATE_RULE_SET, spec->name, document, done, ctx);
    return 0;
}

void
rule_sets_kept_remove(struct rule_sets_kept *k, const char *name, state_done *done, void *ctx)
{
    state_delete(k->state, STATE_RULE_SET, name, done, ctx);
}

struct rule_sets_kept *
rule_sets_kept_create(struct rule_sets *sets, struct state_store *state)
{
    struct rule_sets_kept *k = malloc(sizeof *k);
    if (!k) {
        abort(); /* Control path, at the start. */
    }
    *k = (struct rule_sets_kept){sets, state};
    state_watch(state, STATE_RULE_SET, on_row_changed, k);
    state_watch_role(state, on_role_changed, k);
    rule_sets_on_expired(sets, on_expired, k);
    return k;
}

void
rule_sets_kept_destroy(struct rule_sets_kept *k)
{
    free(k);
}
