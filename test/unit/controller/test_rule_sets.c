/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of rules: what each switch is told, when they end, what is refused. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "controller/rule_sets.h"

enum { N_SWITCHES = 3 };

/* What the switches were told last, how often, and what they say of a rule. */
struct fixture {
    struct event_base *base;
    struct rule_sets *sets;
    json_t *rules[N_SWITCHES];
    unsigned n_told[N_SWITCHES];
    const char *pending, *refused; /* A rule's name. */
    size_t n_switches;             /* There are now. */
};

static const char *const names[N_SWITCHES] = {"leaf1", "leaf2", "spine1"};

static size_t
count_switches(void *ctx)
{
    return ((struct fixture *) ctx)->n_switches;
}

static const char *
switch_name(void *ctx, size_t number)
{
    return names[number];
}

static void
set_rules(void *ctx, size_t number, json_t *rules)
{
    struct fixture *f = ctx;
    json_decref(f->rules[number]);
    f->rules[number] = json_copy(rules);
    f->n_told[number]++;
}

static enum rule_state
rule_state(void *ctx, size_t number, const char *name, char *why, size_t size)
{
    struct fixture *f = ctx;
    if (number == 1 && f->refused && !strcmp(name, f->refused)) {
        snprintf(why, size, "match: no");
        return RULE_REFUSED;
    }
    return f->pending && !strcmp(name, f->pending) ? RULE_PENDING : RULE_INSTALLED;
}

static int
setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct rule_sets_switches calls = {
        .count = count_switches, .name = switch_name, .set_rules = set_rules, .rule_state = rule_state, .ctx = f};
    assert_non_null(f);
    f->base = event_base_new();
    f->sets = rule_sets_create(f->base, 4, &calls);
    f->n_switches = N_SWITCHES;
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;
    rule_sets_destroy(f->sets);
    for (size_t i = 0; i < N_SWITCHES; i++) {
        json_decref(f->rules[i]);
    }
    event_base_free(f->base);
    free(f);
    return 0;
}

static int
put(struct fixture *f, const char *owner, const char *name, const char *switch_names, const char *rules, int ms,
    struct ef_error *err)
{
    json_t *s = switch_names ? json_loads(switch_names, 0, NULL) : NULL, *r = json_loads(rules, JSON_DECODE_ANY, NULL);
    struct rule_set_spec spec = {
        .owner = owner, .name = name, .switches = s, .rules = r, .expires = ef_time_add_ms(ef_time_real(), ms)};
    int rc = rule_sets_put(f->sets, &spec, err);
    json_decref(s);
    json_decref(r);
    return rc;
}

/* "NAME HARD_TIMEOUT; ..." of one switch. */
static void
assert_rules(const struct fixture *f, size_t number, const char *wanted)
{
    char text[500] = "";
    size_t i;
    json_t *rule;
    json_array_foreach(f->rules[number], i, rule)
    {
        size_t len = strlen(text);
        snprintf(text + len, sizeof text - len, "%s %lld; ", json_string_value(json_object_get(rule, "name")),
                 (long long) json_integer_value(json_object_get(rule, "hard_timeout")));
    }
    assert_string_equal(text, wanted);
}

#define ONE "[{\"name\":\"a\",\"match\":\"tcp\"}]"
#define TWO \
    "[{\"name\":\"a\",\"match\":\"tcp\",\"hard_timeout\":5},{\"name\":\"b\",\"match\":\"udp\",\"action\":\"mark\"}]"

static void
each_switch_has_the_rules_of_its_sets(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(put(f, "debug", "1", NULL, TWO, 59500, NULL), 0);
    assert_rules(f, 0, "@debug/1/a 5; @debug/1/b 60; ");
    assert_int_equal(put(f, "ecmp", "1", "[\"leaf2\",\"spine1\"]", ONE, 1500, NULL), 0);
    assert_rules(f, 0, "@debug/1/a 5; @debug/1/b 60; ");
    assert_rules(f, 1, "@debug/1/a 5; @debug/1/b 60; @ecmp/1/a 2; ");
    assert_true(rule_sets_has(f->sets, "ecmp", "1"));
    /* Another in its place, elsewhere: each switch hears of it once. */
    unsigned told = f->n_told[1];
    assert_int_equal(put(f, "debug", "1", "[\"leaf1\"]", ONE, 60000, NULL), 0);
    assert_int_equal(f->n_told[1], told + 1);
    assert_rules(f, 0, "@debug/1/a 60; ");
    assert_rules(f, 1, "@ecmp/1/a 2; ");
    assert_false(rule_sets_remove(f->sets, "debug", "2"));
    assert_false(rule_sets_remove(f->sets, "ecmp2", "1"));
    assert_true(rule_sets_remove(f->sets, "debug", "1"));
    assert_rules(f, 0, "");
    assert_false(rule_sets_remove(f->sets, "debug", "1"));
    assert_rules(f, 2, "@ecmp/1/a 2; ");
}

/* A set of all switches is also of one that comes; one of names, when its name is there. */
static void
switches_come_and_go(void **state)
{
    struct fixture *f = *state;
    struct ef_error err = EF_ERROR_INIT;
    json_t *away = json_pack("[s, s]", "leaf2", "spine1"), *rules = json_loads(ONE, 0, NULL);
    struct rule_set_spec spec = {.owner = "operator",
                                 .name = "kept",
                                 .switches = away,
                                 .rules = rules,
                                 .expires = ef_time_add_ms(ef_time_real(), 60000)};
    f->n_switches = 2;
    assert_int_equal(put(f, "debug", "1", NULL, ONE, 60000, NULL), 0);
    assert_int_equal(f->n_told[2], 0);
    assert_int_equal(rule_sets_check(f->sets, &spec, &err), -EINVAL);
    assert_string_equal(err.text, "switches[1]: there is no switch 'spine1'");
    spec.may_be_away = true;
    assert_int_equal(rule_sets_check(f->sets, &spec, &err), 0);
    assert_false(rule_sets_has(f->sets, "operator", "kept"));
    assert_int_equal(rule_sets_put(f->sets, &spec, &err), 0);
    f->n_switches = N_SWITCHES;
    rule_sets_tell_switch(f->sets, 2);
    assert_rules(f, 2, "@debug/1/a 60; @operator/kept/a 60; ");
    f->n_switches = 1;
    assert_true(rule_sets_remove(f->sets, "operator", "kept"));
    assert_rules(f, 0, "@debug/1/a 60; ");
    json_decref(away);
    json_decref(rules);
}

static void
note_expired(void *ctx, const char *owner, const char *name)
{
    struct fixture *f = ctx;
    assert_string_equal(owner, "debug");
    assert_string_equal(name, "1");
    f->pending = "expired";
}

static void
a_set_ends_when_it_expires(void **state)
{
    struct fixture *f = *state;
    rule_sets_on_expired(f->sets, note_expired, f);
    assert_int_equal(put(f, "debug", "1", NULL, ONE, 50, NULL), 0);
    assert_int_equal(put(f, "debug", "2", NULL, ONE, 60000, NULL), 0);
    struct ef_time end = ef_time_add_ms(ef_time_mono(), 10000);
    while (rule_sets_has(f->sets, "debug", "1") && ef_time_before(ef_time_mono(), end)) {
        event_base_loop(f->base, EVLOOP_ONCE);
    }
    assert_false(rule_sets_has(f->sets, "debug", "1"));
    assert_string_equal(f->pending, "expired");
    assert_rules(f, 1, "@debug/2/a 60; ");
}

static void
what_switches_say(void **state)
{
    struct fixture *f = *state;
    char why[200] = "";
    assert_int_equal(put(f, "debug", "1", NULL, TWO, 60000, NULL), 0);
    assert_int_equal(rule_sets_state(f->sets, "debug", "1", why, sizeof why), RULE_INSTALLED);
    assert_int_equal(rule_sets_state(f->sets, "debug", "2", why, sizeof why), RULE_PENDING);
    f->pending = "@debug/1/b";
    assert_int_equal(rule_sets_state(f->sets, "debug", "1", why, sizeof why), RULE_PENDING);
    f->refused = "@debug/1/a";
    assert_int_equal(rule_sets_state(f->sets, "debug", "1", why, sizeof why), RULE_REFUSED);
    assert_string_equal(why, "leaf2 refuses rule 'a': match: no");
    json_t *shown = rule_sets_show(f->sets, "debug"), *none = rule_sets_show(f->sets, "other");
    assert_int_equal(json_array_size(none), 0);
    json_t *set = json_array_get(shown, 0);
    assert_string_equal(json_string_value(json_object_get(set, "state")), "refused");
    assert_string_equal(json_string_value(json_object_get(set, "error")), why);
    assert_int_equal(json_array_size(json_object_get(set, "switches")), N_SWITCHES);
    json_decref(shown);
    json_decref(none);
}

static void
wrong_sets_are_refused(void **state)
{
    static const struct {
        const char *owner, *name, *switches, *rules;
        int ms;
        const char *error;
    } cases[] = {
        {"", "1", NULL, ONE, 1000, "owner: must be 1 to 40 letters"},
        {"debug", "a/b", NULL, ONE, 1000, "name: must be 1 to 40 letters"},
        {"debug", "12345678901234567890123456789012345678901", NULL, ONE, 1000, "name: must be 1 to 40 letters"},
        {"debug", "1", "[\"leaf1\",\"leaf9\"]", ONE, 1000, "switches[1]: there is no switch 'leaf9'"},
        {"debug", "1", "[7]", ONE, 1000, "switches[0]: there is no switch ''"},
        {"debug", "1", "{}", ONE, 1000, "switches: must be an array of names"},
        {"debug", "1", NULL, "[]", 1000, "rules: there are none"},
        {"debug", "1", NULL, "7", 1000, "rules: must be an array"},
        {"debug", "1", NULL, "[{\"name\":\"a\"}]", 1000, "rules[0].match: missing"},
        {"debug", "1", NULL, "[{\"name\":\"@a\",\"match\":\"ip\"}]", 1000, "rules[0].name: must not begin with '@'"},
        {"debug", "1", NULL, "[{\"name\":\"a\",\"match\":\"ip\",\"sample_bits\":2}]", 1000, "the low 2 bits"},
        {"debug", "1", NULL, ONE, -1, "expires: is not in the future"},
        {"debug", "1", NULL, ONE, RULE_SETS_MAX_S * 1000 + 2000, "expires: is more than 604800 s from now"},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        struct ef_error err = EF_ERROR_INIT;
        assert_int_equal(put(f, cases[i].owner, cases[i].name, cases[i].switches, cases[i].rules, cases[i].ms, &err),
                         -EINVAL);
        if (!strstr(err.text, cases[i].error)) {
            fail_msg("'%s' does not say '%s'", err.text, cases[i].error);
        }
    }
    assert_int_equal(f->n_told[0], 0);
}

static void
there_is_an_end_to_sets_and_rules(void **state)
{
    struct fixture *f = *state;
    char name[20];
    json_t *many = json_array();
    for (int i = 0; i < RULE_SETS_MAX_RULES; i++) {
        snprintf(name, sizeof name, "r%d", i);
        json_array_append_new(many, json_pack("{s:s, s:s}", "name", name, "match", "ip"));
    }
    char *rules = json_dumps(many, JSON_COMPACT);
    struct ef_error err = EF_ERROR_INIT;
    assert_int_equal(put(f, "a", "1", "[\"spine1\"]", rules, 60000, NULL), 0);
    assert_int_equal(put(f, "a", "1", "[\"spine1\"]", rules, 60000, NULL), 0); /* In its place. */
    assert_int_equal(put(f, "a", "2", NULL, ONE, 60000, &err), -ENOSPC);
    assert_string_equal(err.text, "switch spine1 would have more than 1000 rules");
    free(rules);
    json_decref(many);
    for (int i = 1; i < RULE_SETS_MAX; i++) {
        snprintf(name, sizeof name, "n%d", i);
        assert_int_equal(put(f, "a", name, "[\"leaf1\"]", ONE, 60000, NULL), 0);
    }
    assert_int_equal(put(f, "b", "1", "[\"leaf1\"]", ONE, 60000, &err), -ENOSPC);
    assert_int_equal(put(f, "a", "n1", "[\"leaf1\"]", ONE, 60000, NULL), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_switch_has_the_rules_of_its_sets, setup, teardown),
        cmocka_unit_test_setup_teardown(switches_come_and_go, setup, teardown),
        cmocka_unit_test_setup_teardown(a_set_ends_when_it_expires, setup, teardown),
        cmocka_unit_test_setup_teardown(what_switches_say, setup, teardown),
        cmocka_unit_test_setup_teardown(wrong_sets_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(there_is_an_end_to_sets_and_rules, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
