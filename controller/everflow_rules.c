/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of table Everflow_Rule; see everflow_rules.h. */
#include <config.h>

#include "controller/everflow_rules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "controller/everflow_row.h"
#include "net/ovsdb_value.h"

/* More than anybody writes by hand; a switch can take more. */
enum { MAX_RULES = 1000, MAX_SAMPLE_BITS = 16 };
static const int64_t max_timeout_s = UINT32_MAX;

/* --- From the configuration ----------------------------------------------- */

static int
read_rule(const struct doc_place *place, int64_t sample_value, json_t **row, struct ef_error *err)
{
    static const char *const known[] = {"name", "match", "action", "sample_bits", "idle_timeout", "hard_timeout", NULL};
    struct doc_place action_place = doc_member(place, "action"), bits_place = doc_member(place, "sample_bits");
    int64_t sample_bits, idle_timeout, hard_timeout;
    const char *name, *match, *action;
    if (doc_check_keys(place, known, err) || doc_string(place, "name", NULL, &name, err) ||
        doc_string(place, "match", NULL, &match, err) || doc_string(place, "action", "mirror", &action, err) ||
        doc_integer(place, "sample_bits", 0, MAX_SAMPLE_BITS, 0, &sample_bits, err) ||
        doc_integer(place, "idle_timeout", 0, max_timeout_s, 0, &idle_timeout, err) ||
        doc_integer(place, "hard_timeout", 0, max_timeout_s, 0, &hard_timeout, err)) {
        return -EINVAL;
    }
    if (*name == EVERFLOW_RULES_OF_SETS) {
        struct doc_place name_place = doc_member(place, "name");
        return doc_error(&name_place, err, "must not begin with '%c'", EVERFLOW_RULES_OF_SETS);
    }
    if (strcmp(action, "mirror") && strcmp(action, "mark")) {
        return doc_error(&action_place, err, "must be one of mirror, mark");
    }
    if (sample_bits && !(sample_value & ((1 << sample_bits) - 1))) {
        return doc_error(&bits_place, err, "the low %lld bits of sample_value are 0, which is no sample",
                         (long long) sample_bits);
    }
    *row = json_pack("{s:s, s:s, s:s, s:I, s:I, s:I}", "name", name, "match", match, "action", action, "sample_bits",
                     (json_int_t) sample_bits, "idle_timeout", (json_int_t) idle_timeout, "hard_timeout",
                     (json_int_t) hard_timeout);
    return 0;
}

static const char *
rule_name(const json_t *row)
{
    const char *name = json_string_value(json_object_get(row, "name"));
    return name ? name : "";
}

static int
read_rules(const struct doc_place *list, int64_t sample_value, json_t *rules, struct ef_error *err)
{
    if (json_array_size(list->value) > MAX_RULES) {
        return doc_error(list, err, "more than %d", MAX_RULES);
    }
    for (size_t i = 0; i < json_array_size(list->value); i++) {
        struct doc_place place = doc_element(list, i);
        json_t *row = NULL;
        if (read_rule(&place, sample_value, &row, err)) {
            return -EINVAL;
        }
        for (size_t j = 0; j < i; j++) {
            if (!strcmp(rule_name(json_array_get(rules, j)), rule_name(row))) {
                struct doc_place name = doc_member(&place, "name");
                doc_error(&name, err, "'%.60s' is there twice", rule_name(row));
                json_decref(row);
                return -EINVAL;
            }
        }
        json_array_append_new(rules, row);
    }
    return 0;
}

int
everflow_rules_read(const struct doc_place *everflow, int64_t sample_value, json_t **out, struct ef_error *err)
{
    struct doc_place list;
    if (doc_array(everflow, "rules", false, &list, err)) {
        return -EINVAL;
    }
    *out = NULL;
    if (!list.value) {
        return 0;
    }
    json_t *rules = json_array();
    if (read_rules(&list, sample_value, rules, err)) {
        json_decref(rules);
        return -EINVAL;
    }
    *out = rules;
    return 0;
}

/* --- To the database ------------------------------------------------------ */

static json_t *
row_of(const json_t *rows, const json_t *reference)
{
    const char *uuid = ef_ovsdb_uuid(reference);
    return uuid ? json_object_get(rows, uuid) : NULL;
}

/* The first of `references` whose row has that name; its row in `row`. */
static json_t *
find_rule(const json_t *references, const json_t *rows, const char *name, json_t **row)
{
    json_t *reference;
    size_t i;
    json_array_foreach((json_t *) references, i, reference)
    {
        *row = row_of(rows, reference);
        if (*row && !strcmp(rule_name(*row), name)) {
            return reference;
        }
    }
    *row = NULL;
    return NULL;
}

static bool
is_of_set(const json_t *row)
{
    return *rule_name(row) == EVERFLOW_RULES_OF_SETS;
}

bool
everflow_rules_match(const json_t *desired, bool only_sets, const json_t *column, const json_t *rows)
{
    json_t *references = ef_ovsdb_set_elements(column), *reference, *rule, *row;
    size_t i, n = 0;
    json_array_foreach(references, i, reference)
    {
        n += !only_sets || is_of_set(row_of(rows, reference));
    }
    /* With names that are all different, as many, each of which is there, are the same. */
    bool same = n == json_array_size(desired);
    json_array_foreach((json_t *) desired, i, rule)
    {
        same = same && find_rule(references, rows, rule_name(rule), &row) && everflow_row_matches(row, rule);
    }
    json_decref(references);
    return same;
}

json_t *
everflow_rules_write(const json_t *desired, bool only_sets, const json_t *column, const json_t *rows,
                     json_t *operations)
{
    json_t *have = ef_ovsdb_set_elements(column), *want = json_array(), *other, *rule, *row;
    size_t i;
    json_array_foreach(have, i, other)
    {
        if (only_sets && !is_of_set(row_of(rows, other))) {
            json_array_append(want, other);
        }
    }
    json_array_foreach((json_t *) desired, i, rule)
    {
        json_t *reference = find_rule(have, rows, rule_name(rule), &row);
        if (!reference) {
            char symbol[32];
            snprintf(symbol, sizeof symbol, "rule%zu", i);
            json_array_append_new(operations, json_pack("{s:s, s:s, s:s, s:O}", "op", "insert", "table",
                                                        "Everflow_Rule", "uuid-name", symbol, "row", rule));
            json_array_append_new(want, json_pack("[s, s]", "named-uuid", symbol));
            continue;
        }
        if (!everflow_row_matches(row, rule)) {
            json_array_append_new(operations,
                                  json_pack("{s:s, s:s, s:[[s, s, O]], s:O}", "op", "update", "table", "Everflow_Rule",
                                            "where", "_uuid", "==", reference, "row", rule));
        }
        json_array_append(want, reference);
    }
    json_t *set = ef_ovsdb_set_of_array(want);
    json_decref(want);
    json_decref(have);
    return set;
}

/* --- What the switch says ------------------------------------------------- */

bool
everflow_rules_refused(const json_t *column, const json_t *rows, char *text, size_t size)
{
    json_t *references = ef_ovsdb_set_elements(column), *reference;
    bool refused = false;
    size_t i;
    json_array_foreach(references, i, reference)
    {
        const json_t *row = row_of(rows, reference);
        json_t *status = is_of_set(row) ? NULL : everflow_row_show_map(row, "status");
        const char *state = json_string_value(json_object_get(status, "state"));
        const char *error = json_string_value(json_object_get(status, "error"));
        if (!refused && state && !strcmp(state, "error")) {
            snprintf(text, size, "rule '%.60s' is refused: %s", rule_name(row), error ? error : "without a reason");
            refused = true;
        }
        json_decref(status);
    }
    json_decref(references);
    return refused;
}

const json_t *
everflow_rules_status(const json_t *column, const json_t *rows, const char *name)
{
    json_t *references = ef_ovsdb_set_elements(column), *row;
    find_rule(references, rows, name, &row);
    json_decref(references);
    return json_object_get(row, "status");
}

static json_t *
show_rule(const json_t *row)
{
    static const char *const columns[] = {"name", "match", "action", "sample_bits", "idle_timeout", "hard_timeout"};
    json_t *out = json_object();
    for (size_t i = 0; i < EF_ARRAY_SIZE(columns); i++) {
        json_t *set = ef_ovsdb_set_elements(json_object_get(row, columns[i])), *first = json_array_get(set, 0);
        json_object_set(out, columns[i], first ? first : json_null());
        json_decref(set);
    }
    json_object_set_new(out, "statistics", everflow_row_show_map(row, "statistics"));
    json_object_set_new(out, "status", everflow_row_show_map(row, "status"));
    return out;
}

static int
compare_names(const void *a, const void *b)
{
    const json_t *const *x = a, *const *y = b;
    return strcmp(rule_name(*x), rule_name(*y));
}

json_t *
everflow_rules_show(const json_t *column, const json_t *rows)
{
    json_t *references = ef_ovsdb_set_elements(column), *reference, *out = json_array();
    const json_t **sorted = calloc(json_array_size(references) + 1, sizeof *sorted);
    size_t i, n = 0;
    if (!sorted) {
        abort(); /* Control path. */
    }
    json_array_foreach(references, i, reference)
    {
        sorted[n] = row_of(rows, reference);
        n += sorted[n] != NULL;
    }
    qsort(sorted, n, sizeof *sorted, compare_names);
    for (i = 0; i < n; i++) {
        json_array_append_new(out, show_rule(sorted[i]));
    }
    free(sorted);
    json_decref(references);
    return out;
}
