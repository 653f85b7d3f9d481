/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of rules that end; see rule_sets.h. */
#include <config.h>

#include "controller/rule_sets.h"

#include <ctype.h>
#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/log.h"
#include "base/util.h"
#include "controller/document.h"
#include "controller/everflow_rules.h"
#include "controller/text.h"

enum { MAX_NAME = 40 };

static const char *const state_names[] = {"pending", "installed", "refused"};

struct rule_set {
    TAILQ_ENTRY(rule_set) next;
    struct rule_sets *sets;
    char owner[MAX_NAME + 1], name[MAX_NAME + 1];
    json_t *rules;   /* As the switches get them. */
    bool *is_member; /* A flag for each switch. */
    struct ef_time expires;
    struct event *timer;
};

struct rule_sets {
    struct event_base *base;
    const struct topology *topology;
    int64_t sample_value;
    struct rule_sets_switches switches;
    TAILQ_HEAD(, rule_set) list; /* Oldest first. */
    size_t n;
};

/* --- Switches ------------------------------------------------------------- */

/* All rules of all sets for one switch. */
static json_t *
rules_of_switch(const struct rule_sets *sets, size_t number)
{
    json_t *rules = json_array();
    const struct rule_set *set;
    TAILQ_FOREACH(set, &sets->list, next)
    {
        if (set->is_member[number]) {
            json_array_extend(rules, set->rules);
        }
    }
    return rules;
}

static void
tell_members(const struct rule_sets *sets, const bool *is_member)
{
    for (size_t i = 0; i < sets->topology->n_switches; i++) {
        if (is_member[i]) {
            json_t *rules = rules_of_switch(sets, i);
            sets->switches.set_rules(sets->switches.ctx, i, rules);
            json_decref(rules);
        }
    }
}

/* --- Sets ----------------------------------------------------------------- */

static struct rule_set *
find(const struct rule_sets *sets, const char *owner, const char *name)
{
    struct rule_set *set;
    TAILQ_FOREACH(set, &sets->list, next)
    {
        if (!strcmp(set->owner, owner) && !strcmp(set->name, name)) {
            return set;
        }
    }
    return NULL;
}

static void
free_set(struct rule_set *set)
{
    if (set) {
        if (set->timer) {
            event_free(set->timer);
        }
        json_decref(set->rules);
        free(set->is_member);
        free(set);
    }
}

static void
take_away(struct rule_set *set)
{
    struct rule_sets *sets = set->sets;
    TAILQ_REMOVE(&sets->list, set, next);
    sets->n--;
    tell_members(sets, set->is_member);
    free_set(set);
}

static void
on_expired(evutil_socket_t fd, short what, void *arg)
{
    struct rule_set *set = arg;
    ef_log_info("rules", "%s/%s: expired", set->owner, set->name);
    take_away(set);
}

/* --- Reading -------------------------------------------------------------- */

static bool
is_name(const char *text)
{
    size_t len = text ? strlen(text) : 0;
    for (size_t i = 0; i < len; i++) {
        if (!isalnum((unsigned char) text[i]) && !strchr("._-", text[i])) {
            return false;
        }
    }
    return len && len <= MAX_NAME;
}

static int
read_names(const struct rule_set_spec *spec, struct rule_set *set, struct ef_error *err)
{
    const char *wrong = !is_name(spec->owner) ? "owner" : !is_name(spec->name) ? "name" : NULL;
    if (wrong) {
        return ef_error_set(err, -EINVAL, "%s: must be 1 to %d letters, digits, '.', '_' or '-'", wrong, MAX_NAME);
    }
    snprintf(set->owner, sizeof set->owner, "%s", spec->owner);
    snprintf(set->name, sizeof set->name, "%s", spec->name);
    return 0;
}

static int
read_member(const struct topology *topology, const struct doc_place *place, struct rule_set *set, struct ef_error *err)
{
    const char *name = json_string_value(place->value);
    for (size_t i = 0; name && i < topology->n_switches; i++) {
        if (!strcmp(topology->switches[i].name, name)) {
            set->is_member[i] = true;
            return 0;
        }
    }
    char shown[61];
    snprintf(shown, sizeof shown, "%s", name ? name : "");
    return doc_error(place, err, "the topology has no switch '%s'", text_make_printable(shown));
}

static int
read_switches(const struct rule_sets *sets, const json_t *switches, struct rule_set *set, struct ef_error *err)
{
    struct doc_place list = {.value = (json_t *) switches, .path = "switches"};
    size_t n = json_array_size(switches);
    set->is_member = calloc(sets->topology->n_switches + 1, sizeof *set->is_member);
    if (!set->is_member) {
        abort(); /* Control path. */
    }
    if (switches && !json_is_null(switches) && !json_is_array(switches)) {
        return doc_error(&list, err, "must be an array of names");
    }
    for (size_t i = 0; !n && i < sets->topology->n_switches; i++) {
        set->is_member[i] = true;
    }
    for (size_t i = 0; i < n; i++) {
        struct doc_place place = doc_element(&list, i);
        if (read_member(sets->topology, &place, set, err)) {
            return -EINVAL;
        }
    }
    return 0;
}

/* What is left until it expires, in whole seconds; or -EINVAL. */
static int
read_expiry(const struct rule_set_spec *spec, struct rule_set *set, int64_t *left_s, struct ef_error *err)
{
    int64_t left_ns = ef_time_diff_ns(spec->expires, ef_time_real());
    if (left_ns <= 0) {
        return ef_error_set(err, -EINVAL, "expires: is not in the future");
    }
    *left_s = left_ns / EF_NS_PER_S + (left_ns % EF_NS_PER_S != 0);
    if (*left_s > RULE_SETS_MAX_S) {
        return ef_error_set(err, -EINVAL, "expires: is more than %d s from now", RULE_SETS_MAX_S);
    }
    set->expires = spec->expires;
    return 0;
}

/* The rules under names that are theirs alone, and never in force for longer than
 * the set. */
static int
read_rules(const struct rule_sets *sets, const json_t *rules, int64_t left_s, struct rule_set *set,
           struct ef_error *err)
{
    struct doc_place document = {.value = json_pack("{s:O?}", "rules", rules)};
    json_t *rule;
    size_t i;
    int rc = everflow_rules_read(&document, sets->sample_value, &set->rules, err);
    json_decref(document.value);
    if (rc) {
        return rc;
    }
    if (!json_array_size(set->rules)) {
        return ef_error_set(err, -EINVAL, "rules: there are none");
    }
    json_array_foreach(set->rules, i, rule)
    {
        const char *own = json_string_value(json_object_get(rule, "name"));
        json_int_t hard_timeout = json_integer_value(json_object_get(rule, "hard_timeout"));
        json_object_set_new(rule, "name",
                            json_sprintf("%c%s/%s/%s", EVERFLOW_RULES_OF_SETS, set->owner, set->name, own));
        if (!hard_timeout || hard_timeout > left_s) {
            json_object_set_new(rule, "hard_timeout", json_integer(left_s));
        }
    }
    return 0;
}

static int
check_room(const struct rule_sets *sets, const struct rule_set *set, const struct rule_set *before,
           struct ef_error *err)
{
    if (!before && sets->n >= RULE_SETS_MAX) {
        return ef_error_set(err, -ENOSPC, "there are %d sets of rules already", RULE_SETS_MAX);
    }
    for (size_t i = 0; i < sets->topology->n_switches; i++) {
        if (!set->is_member[i]) {
            continue;
        }
        json_t *all = rules_of_switch(sets, i);
        size_t n = json_array_size(all) + json_array_size(set->rules);
        n -= before && before->is_member[i] ? json_array_size(before->rules) : 0;
        json_decref(all);
        if (n > RULE_SETS_MAX_RULES) {
            return ef_error_set(err, -ENOSPC, "switch %s would have more than %d rules",
                                sets->topology->switches[i].name, RULE_SETS_MAX_RULES);
        }
    }
    return 0;
}

static int
read_set(const struct rule_sets *sets, const struct rule_set_spec *spec, struct rule_set *set, struct ef_error *err)
{
    int64_t left_s = 0;
    int rc = read_names(spec, set, err);
    rc = rc ? rc : read_switches(sets, spec->switches, set, err);
    rc = rc ? rc : read_expiry(spec, set, &left_s, err);
    return rc ? rc : read_rules(sets, spec->rules, left_s, set, err);
}

/* --- Putting and removing ------------------------------------------------- */

/* Puts `set` where `before` is, which goes, or at the end. The switches hear of
 * it once. */
static void
put_in_place(struct rule_sets *sets, struct rule_set *set, struct rule_set *before)
{
    bool *concerned = malloc(sets->topology->n_switches + 1);
    if (!concerned) {
        abort(); /* Control path. */
    }
    for (size_t i = 0; i < sets->topology->n_switches; i++) {
        concerned[i] = set->is_member[i] || (before && before->is_member[i]);
    }
    if (before) {
        TAILQ_INSERT_BEFORE(before, set, next);
        TAILQ_REMOVE(&sets->list, before, next);
    } else {
        TAILQ_INSERT_TAIL(&sets->list, set, next);
        sets->n++;
    }
    free_set(before);
    tell_members(sets, concerned);
    free(concerned);
}

int
rule_sets_put(struct rule_sets *sets, const struct rule_set_spec *spec, struct ef_error *err)
{
    struct rule_set *set = calloc(1, sizeof *set);
    if (!set) {
        abort(); /* Control path. */
    }
    int rc = read_set(sets, spec, set, err);
    struct rule_set *before = rc ? NULL : find(sets, set->owner, set->name);
    rc = rc ? rc : check_room(sets, set, before, err);
    if (rc) {
        free_set(set);
        return rc;
    }
    int64_t left_us = EF_MAX(ef_time_diff_ns(set->expires, ef_time_real()) / 1000, 0);
    struct timeval tv = {.tv_sec = left_us / 1000000, .tv_usec = left_us % 1000000};
    set->sets = sets;
    set->timer = evtimer_new(sets->base, on_expired, set);
    if (!set->timer || evtimer_add(set->timer, &tv)) {
        abort(); /* Control path. */
    }
    put_in_place(sets, set, before);
    return 0;
}

bool
rule_sets_remove(struct rule_sets *sets, const char *owner, const char *name)
{
    struct rule_set *set = find(sets, owner, name);
    if (set) {
        take_away(set);
    }
    return set != NULL;
}

/* --- Looking -------------------------------------------------------------- */

bool
rule_sets_has(const struct rule_sets *sets, const char *owner, const char *name)
{
    return find(sets, owner, name) != NULL;
}

/* How the set fares at one switch. */
static enum rule_state
state_at(const struct rule_set *set, size_t number, char *why, size_t size)
{
    const struct rule_sets_switches *switches = &set->sets->switches;
    enum rule_state all = RULE_INSTALLED;
    json_t *rule;
    size_t i;
    json_array_foreach(set->rules, i, rule)
    {
        const char *name = json_string_value(json_object_get(rule, "name"));
        char text[256] = "";
        enum rule_state state = switches->rule_state(switches->ctx, number, name, text, sizeof text);
        if (state == RULE_REFUSED) {
            snprintf(why, size, "%s refuses rule '%.60s': %s", set->sets->topology->switches[number].name,
                     name + strlen(set->owner) + strlen(set->name) + strlen("@//"), text_make_printable(text));
            return RULE_REFUSED;
        }
        all = state == RULE_PENDING ? RULE_PENDING : all;
    }
    return all;
}

static enum rule_state
state_of(const struct rule_set *set, char *why, size_t size)
{
    enum rule_state all = RULE_INSTALLED;
    for (size_t i = 0; i < set->sets->topology->n_switches; i++) {
        enum rule_state state = set->is_member[i] ? state_at(set, i, why, size) : RULE_INSTALLED;
        if (state == RULE_REFUSED) {
            return RULE_REFUSED;
        }
        all = state == RULE_PENDING ? RULE_PENDING : all;
    }
    return all;
}

enum rule_state
rule_sets_state(const struct rule_sets *sets, const char *owner, const char *name, char *why, size_t size)
{
    const struct rule_set *set = find(sets, owner, name);
    return set ? state_of(set, why, size) : RULE_PENDING;
}

static json_t *
show_set(const struct rule_set *set)
{
    char why[300] = "", expires[EF_TIME_TEXT_SIZE];
    enum rule_state state = state_of(set, why, sizeof why);
    json_t *switches = json_array();
    for (size_t i = 0; i < set->sets->topology->n_switches; i++) {
        if (set->is_member[i]) {
            json_array_append_new(switches, json_string(set->sets->topology->switches[i].name));
        }
    }
    return json_pack("{s:s, s:s, s:s, s:s?, s:o, s:O, s:s}", "owner", set->owner, "name", set->name, "state",
                     state_names[state], "error", state == RULE_REFUSED ? why : NULL, "switches", switches, "rules",
                     set->rules, "expires", ef_time_format(set->expires, expires));
}

json_t *
rule_sets_show(const struct rule_sets *sets, const char *owner)
{
    json_t *list = json_array();
    const struct rule_set *set;
    TAILQ_FOREACH(set, &sets->list, next)
    {
        if (!owner || !strcmp(owner, set->owner)) {
            json_array_append_new(list, show_set(set));
        }
    }
    return list;
}

/* --- Life ----------------------------------------------------------------- */

struct rule_sets *
rule_sets_create(struct event_base *base, const struct topology *topology, int64_t sample_value,
                 const struct rule_sets_switches *switches)
{
    struct rule_sets *sets = calloc(1, sizeof *sets);
    if (!sets) {
        abort(); /* Control path at start-up. */
    }
    sets->base = base;
    sets->topology = topology;
    sets->sample_value = sample_value;
    sets->switches = *switches;
    TAILQ_INIT(&sets->list);
    return sets;
}

void
rule_sets_destroy(struct rule_sets *sets)
{
    if (!sets) {
        return;
    }
    while (!TAILQ_EMPTY(&sets->list)) {
        struct rule_set *set = TAILQ_FIRST(&sets->list);
        TAILQ_REMOVE(&sets->list, set, next);
        free_set(set);
    }
    free(sets);
}
