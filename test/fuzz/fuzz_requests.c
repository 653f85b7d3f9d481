/* SPDX-License-Identifier: Apache-2.0 */
/* What anybody may write into a request: the first byte says which of the readers
 * gets the rest. It is refused with words, or what was read holds.
 *
 *     r  rules of "everflow", and a set of rules for a time (POST /v1/rules)
 *     m  an analyzer of the reshuffler (POST /v1/analyzers)
 *     f  a filter that names switches, of traces and of a debug session
 *     t  a topology for the analyzer (PUT /v1/topology)
 *     c  a counter of the analyzer (POST /v1/counters)
 *     p  a cursor of GET /v1/traces
 *     a  "access" of the configuration */
#include <config.h>

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/current_topology.h"
#include "analyzer/filter_counters.h"
#include "controller/access.h"
#include "controller/debug_match.h"
#include "controller/document.h"
#include "controller/everflow_rules.h"
#include "controller/rule_sets.h"
#include "filter/filter.h"
#include "fuzz/fuzz.h"
#include "reshuffler/member.h"
#include "trace/trace_page.h"

static void
check(bool condition)
{
    if (!condition) {
        abort();
    }
}

static void
check_refusal(int rc, const struct ef_error *err)
{
    check(rc == 0 || (rc < 0 && *err->text));
}

/* --- Rules -------------------------------------------------------------------- */

static size_t
count_switches(void *ctx)
{
    return 1;
}

static const char *
switch_name(void *ctx, size_t number)
{
    return "leaf1";
}

static void
set_rules(void *ctx, size_t number, json_t *rules)
{
    check(json_is_array(rules));
}

static enum rule_state
rule_state(void *ctx, size_t number, const char *name, char *why, size_t size)
{
    return RULE_PENDING;
}

static void
try_set(const json_t *document)
{
    static const struct rule_sets_switches switches = {
        .count = count_switches, .name = switch_name, .set_rules = set_rules, .rule_state = rule_state};
    struct ef_error err = EF_ERROR_INIT;
    const char *name = json_string_value(json_object_get(document, "name"));
    struct event_base *base = event_base_new();
    struct rule_sets *sets = rule_sets_create(base, 1, &switches);
    struct rule_set_spec spec = {
        .owner = "operator",
        .name = name ? name : "",
        .switches = json_object_get(document, "switches"),
        .rules = json_object_get(document, "rules"),
        .expires = ef_time_add_ms(ef_time_real(), 60000),
    };
    int rc = rule_sets_put(sets, &spec, &err);
    check_refusal(rc, &err);
    check(rule_sets_has(sets, "operator", spec.name) == !rc);
    json_decref(rule_sets_show(sets, NULL));
    rule_sets_destroy(sets);
    event_base_free(base);
}

static void
try_rules(json_t *document)
{
    struct doc_place root = {.value = document};
    struct ef_error err = EF_ERROR_INIT;
    json_t *rules = NULL;
    int rc = everflow_rules_read(&root, 1, &rules, &err);
    check_refusal(rc, &err);
    if (!rc) {
        json_decref(rules);
    }
    try_set(document);
}

/* --- Others ------------------------------------------------------------------- */

static void
try_member(const json_t *document)
{
    struct ef_member member;
    struct ef_error err = EF_ERROR_INIT;
    ef_member_init(&member);
    int rc = ef_member_from_json(document, &member, &err);
    check_refusal(rc, &err);
    check(rc || *member.name);
}

/* What is refused changes nothing, what is taken is shown as it was given. */
static void
try_topology(const json_t *document)
{
    struct ef_current_topology *topology;
    struct ef_error err = EF_ERROR_INIT;
    check(!ef_current_topology_create(1, &topology));
    int rc = ef_current_topology_set(topology, document, &err);
    check_refusal(rc, &err);
    check(rc ? !ef_current_topology_document(topology)
             : json_equal(ef_current_topology_document(topology), document) && *ef_current_topology_digest(topology));
    ef_current_topology_destroy(topology);
}

static void
try_counter(json_t *document)
{
    const char *name, *filter = "", *group_by = NULL;
    struct ef_error err = EF_ERROR_INIT;
    struct ef_filter_counters *counters;
    struct ef_group_by by;
    char text[EF_GROUP_BY_TEXT_SIZE];
    if (json_unpack(document, "{s:s, s?s, s?s !}", "name", &name, "filter", &filter, "group_by", &group_by)) {
        return; /* No counter, whatever it says. */
    }
    int rc = ef_group_by_parse(group_by, &by, &err);
    check_refusal(rc, &err);
    if (rc) {
        return;
    }
    check(!ef_group_by_parse(ef_group_by_format(by, text), &by, &err));
    check(!ef_filter_counters_create(1, 4, &counters));
    ef_filter_counters_give_groups(counters, 1 << 20);
    rc = ef_filter_counters_add(counters, name, filter, by, &err);
    check_refusal(rc, &err);
    check(rc || !ef_filter_counters_add(counters, name, filter, by, &err)); /* The same again is fine. */
    check(!ef_filter_counters_remove(counters, name) == !rc);
    ef_filter_counters_destroy(counters);
}

static void
try_access(json_t *document)
{
    struct doc_place root = {.value = document};
    struct access_settings settings;
    struct ef_error err = EF_ERROR_INIT;
    check_refusal(access_settings_read(&root, &settings, &err), &err);
}

/* What has no names any more is the same filter. */
static void
try_filter(const char *text)
{
    static const struct ef_filter_name list[] = {
        {"leaf1", {{[10] = 0xff, 0xff, 10, 255, 0, 1}}, 1},
        {"spine1", {{[10] = 0xff, 0xff, 10, 255, 1, 1}, {0xfd, [15] = 1}}, 2},
    };
    static const struct ef_filter_names names = {list, 2};
    struct ef_filter *filter, *plain;
    struct ef_error err = EF_ERROR_INIT;
    json_t *matches;
    int rc = ef_filter_compile_named(text, EF_FILTER_ANY, &names, &filter, &err);
    check_refusal(rc, &err);
    if (!rc) {
        rc = ef_filter_compile(ef_filter_text(filter), EF_FILTER_ANY, &plain, &err);
        check(rc ? strlen(ef_filter_text(filter)) > 60000 || strstr(err.text, "at most")
                 : !strcmp(ef_filter_text(filter), ef_filter_text(plain)));
        ef_filter_destroy(filter);
        ef_filter_destroy(plain);
    }
    rc = debug_matches(text, &matches, &err);
    check_refusal(rc, &err);
    if (!rc) {
        check(json_array_size(matches) >= 1 && json_array_size(matches) <= DEBUG_MATCHES_MAX);
        json_decref(matches);
    }
}

static void
try_cursor(const char *text)
{
    static const struct ef_trace_page_question question = {"tcp", NULL, NULL};
    struct ef_trace_page page;
    struct ef_error err = EF_ERROR_INIT;
    char again[EF_TRACE_PAGE_TEXT_SIZE];
    int rc = ef_trace_page_parse(text, &question, &page, &err);
    check_refusal(rc, &err);
    if (!rc) {
        ef_trace_page_format(&page, &question, again);
        check(!strcmp(text, again));
    }
}

static void
try_document(char kind, const char *text, size_t len)
{
    json_t *document = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
    if (kind == 'r') {
        try_rules(document);
    } else if (kind == 'm') {
        try_member(document);
    } else if (kind == 't') {
        try_topology(document);
    } else if (kind == 'c') {
        try_counter(document);
    } else if (json_is_object(document)) {
        try_access(document);
    }
    json_decref(document);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = size ? calloc(1, size) : NULL;
    if (!text) {
        return 0;
    }
    memcpy(text, data + 1, size - 1);
    switch (data[0]) {
    case 'f':
        try_filter(text);
        break;
    case 'p':
        try_cursor(text);
        break;
    case 'r':
    case 'm':
    case 't':
    case 'c':
    case 'a':
        try_document((char) data[0], text, size - 1);
        break;
    default:
        break;
    }
    free(text);
    return 0;
}
