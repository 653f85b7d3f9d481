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
    json_t *rules;    /* As the switches get them. */
    json_t *switches; /* {name: true}; NULL: all. */
    struct ef_time expires;
    struct event *timer;
};

struct rule_sets {
    struct event_base *base;
    int64_t sample_value;
    struct rule_sets_switches switches;
    rule_sets_expired *expired;
    void *expired_ctx;
    TAILQ_HEAD(, rule_set) list; /* Oldest first. */
    size_t n;
};

/* --- Switches ------------------------------------------------------------- */

static size_t
n_switches(const struct rule_sets *sets)
{
    return sets->switches.count(sets->switches.ctx);
}

static const char *
switch_name(const struct rule_sets *sets, size_t number)
{
    return sets->switches.name(sets->switches.ctx, number);
}

static bool
is_member(const struct rule_set *set, const char *name)
{
    return !set->switches || json_object_get(set->switches, name);
}

/* All rules of all sets for one switch. */
static json_t *
rules_of_switch(const struct rule_sets *sets, size_t number)
{
    json_t *rules = json_array();
    const char *name = switch_name(sets, number);
    const struct rule_set *set;
    TAILQ_FOREACH(set, &sets->list, next)
    {
        if (is_member(set, name)) {
            json_array_extend(rules, set->rules);
        }
    }
    return rules;
}

void
rule_sets_tell_switch(const struct rule_sets *sets, size_t number)
{
    json_t *rules = rules_of_switch(sets, number);
    sets->switches.set_rules(sets->switches.ctx, number, rules);
    json_decref(rules);
}

/* Tells the switches of `set` and of `other`, which may be NULL, each once. */
static void
tell_members(const struct rule_sets *sets, const struct rule_set *set, const struct rule_set *other)
{
    for (size_t i = 0; i < n_switches(sets); i++) {
        const char *name = switch_name(sets, i);
        if (is_member(set, name) || (other && is_member(other, name))) {
            rule_sets_tell_switch(sets, i);
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
        json_decref(set->switches);
        free(set);
    }
}

static void
take_away(struct rule_set *set)
{
    struct rule_sets *sets = set->sets;
    TAILQ_REMOVE(&sets->list, set, next);
    sets->n--;
    tell_members(sets, set, NULL);
    free_set(set);
}

static void
on_expired(evutil_socket_t fd, short what, void *arg)
{
    struct rule_set *set = arg;
    struct rule_sets *sets = set->sets;
    char owner[sizeof set->owner], name[sizeof set->name];
    memcpy(owner, set->owner, sizeof owner);
    memcpy(name, set->name, sizeof name);
    ef_log_info("rules", "%s/%s: expired", owner, name);
    take_away(set);
    if (sets->expired) {
        sets->expired(sets->expired_ctx, owner, name);
    }
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

static bool
is_switch(const struct rule_sets *sets, const char *name)
{
    for (size_t i = 0; i < n_switches(sets); i++) {
        if (!strcmp(switch_name(sets, i), name)) {
            return true;
        }
    }
    return false;
}

static int
read_member(const struct rule_sets *sets, const struct doc_place *place, bool may_be_away, struct rule_set *set,
            struct ef_error *err)
{
    const char *name = json_string_value(place->value);
    char shown[61];
    if (name && (may_be_away || is_switch(sets, name))) {
        json_object_set_new(set->switches, name, json_true());
        return 0;
    }
    snprintf(shown, sizeof shown, "%s", name ? name : "");
    return doc_error(place, err, "there is no switch '%s'", text_make_printable(shown));
}

static int
read_switches(const struct rule_sets *sets, const struct rule_set_spec *spec, struct rule_set *set,
              struct ef_error *err)
{
    const json_t *switches = spec->switches;
    struct doc_place list = {.value = (json_t *) switches, .path = "switches"};
    size_t n = json_array_size(switches);
    set->switches = n ? json_object() : NULL;
    if (switches && !json_is_null(switches) && !json_is_array(switches)) {
        return doc_error(&list, err, "must be an array of names");
    }
    for (size_t i = 0; i < n; i++) {
        struct doc_place place = doc_element(&list, i);
        if (read_member(sets, &place, spec->may_be_away, set, err)) {
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
    for (size_t i = 0; i < n_switches(sets); i++) {
        const char *name = switch_name(sets, i);
        if (!is_member(set, name)) {
            continue;
        }
        json_t *all = rules_of_switch(sets, i);
        size_t n = json_array_size(all) + json_array_size(set->rules);
        n -= before && is_member(before, name) ? json_array_size(before->rules) : 0;
        json_decref(all);
        if (n > RULE_SETS_MAX_RULES) {
            return ef_error_set(err, -ENOSPC, "switch %s would have more than %d rules", name, RULE_SETS_MAX_RULES);
        }
    }
    return 0;
}

static int
read_set(const struct rule_sets *sets, const struct rule_set_spec *spec, struct rule_set *set, struct ef_error *err)
{
    int64_t left_s = 0;
    int rc = read_names(spec, set, err);
    rc = rc ? rc : read_switches(sets, spec, set, err);
    rc = rc ? rc : read_expiry(spec, set, &left_s, err);
    return rc ? rc : read_rules(sets, spec->rules, left_s, set, err);
}

/* --- Putting and removing ------------------------------------------------- */

/* Puts `set` where `before` is, which goes, or at the end. The switches hear of
 * it once. */
static void
put_in_place(struct rule_sets *sets, struct rule_set *set, struct rule_set *before)
{
    if (before) {
        TAILQ_INSERT_BEFORE(before, set, next);
        TAILQ_REMOVE(&sets->list, before, next);
    } else {
        TAILQ_INSERT_TAIL(&sets->list, set, next);
        sets->n++;
    }
    tell_members(sets, set, before);
    free_set(before);
}

/* Reads `spec` into `*set`, and finds the one whose place it takes. */
static int
prepare(const struct rule_sets *sets, const struct rule_set_spec *spec, struct rule_set **set, struct rule_set **before,
        struct ef_error *err)
{
    *set = calloc(1, sizeof **set);
    if (!*set) {
        abort(); /* Control path. */
    }
    int rc = read_set(sets, spec, *set, err);
    *before = rc ? NULL : find(sets, (*set)->owner, (*set)->name);
    rc = rc ? rc : check_room(sets, *set, *before, err);
    if (rc) {
        free_set(*set);
    }
    return rc;
}

int
rule_sets_check(const struct rule_sets *sets, const struct rule_set_spec *spec, struct ef_error *err)
{
    struct rule_set *set, *before;
    int rc = prepare(sets, spec, &set, &before, err);
    if (!rc) {
        free_set(set);
    }
    return rc;
}

int
rule_sets_put(struct rule_sets *sets, const struct rule_set_spec *spec, struct ef_error *err)
{
    struct rule_set *set, *before;
    int rc = prepare(sets, spec, &set, &before, err);
    if (rc) {
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
            snprintf(why, size, "%s refuses rule '%.60s': %s", switch_name(set->sets, number),
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
    for (size_t i = 0; i < n_switches(set->sets); i++) {
        bool has_it = is_member(set, switch_name(set->sets, i));
        enum rule_state state = has_it ? state_at(set, i, why, size) : RULE_INSTALLED;
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

/* The names of those that have it, or will when they are there. */
static json_t *
show_switches(const struct rule_set *set)
{
    json_t *list = json_array(), *value;
    const char *name;
    for (size_t i = 0; !set->switches && i < n_switches(set->sets); i++) {
        json_array_append_new(list, json_string(switch_name(set->sets, i)));
    }
    json_object_foreach(set->switches, name, value)
    {
        json_array_append_new(list, json_string(name));
    }
    return list;
}

static json_t *
show_set(const struct rule_set *set)
{
    char why[300] = "", expires[EF_TIME_TEXT_SIZE];
    enum rule_state state = state_of(set, why, sizeof why);
    return json_pack("{s:s, s:s, s:s, s:s?, s:o, s:O, s:s}", "owner", set->owner, "name", set->name, "state",
                     state_names[state], "error", state == RULE_REFUSED ? why : NULL, "switches", show_switches(set),
                     "rules", set->rules, "expires", ef_time_format(set->expires, expires));
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
rule_sets_create(struct event_base *base, int64_t sample_value, const struct rule_sets_switches *switches)
{
    struct rule_sets *sets = calloc(1, sizeof *sets);
    if (!sets) {
        abort(); /* Control path at start-up. */
    }
    sets->base = base;
    sets->sample_value = sample_value;
    sets->switches = *switches;
    TAILQ_INIT(&sets->list);
    return sets;
}

void
rule_sets_on_expired(struct rule_sets *sets, rule_sets_expired *expired, void *ctx)
{
    sets->expired = expired;
    sets->expired_ctx = ctx;
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
