/* SPDX-License-Identifier: Apache-2.0 */
/* Rules: from the configuration into rows, and what of the database is changed
 * for them. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "controller/everflow_rules.h"
#include "net/ovsdb_value.h"

static json_t *
json(const char *text)
{
    json_t *value = json_loads(text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(value);
    return value;
}

static void
assert_json(json_t *have, const char *wanted_text)
{
    json_t *wanted = json(wanted_text);
    if (!json_equal(have, wanted)) {
        char *text = json_dumps(have, JSON_COMPACT | JSON_ENCODE_ANY);
        print_error("%s\nis not\n%s\n", text, wanted_text);
        free(text);
        fail();
    }
    json_decref(wanted);
    json_decref(have);
}

#define WEB_ROW                                                                                                 \
    "{\"name\":\"web\",\"match\":\"tcp,tp_dst=80\",\"action\":\"mirror\",\"sample_bits\":0,\"idle_timeout\":0," \
    "\"hard_timeout\":0}"
#define DNS_ROW                                                                                                \
    "{\"name\":\"dns\",\"match\":\"udp,tp_dst=53\",\"action\":\"mark\",\"sample_bits\":4,\"idle_timeout\":60," \
    "\"hard_timeout\":3600}"

static json_t *
read_text(const char *rules, int64_t sample_value, struct ef_error *err)
{
    struct doc_place everflow = {.value = json_pack("{s:o}", "rules", json(rules)), .path = "everflow"};
    json_t *out = NULL;
    int rc = everflow_rules_read(&everflow, sample_value, &out, err);
    assert_true(rc == 0 ? out != NULL : rc == -EINVAL && !out);
    json_decref(everflow.value);
    return out;
}

static void
rules_are_read(void **state)
{
    assert_json(read_text("[]", 1, NULL), "[]");
    assert_json(read_text("[{\"name\":\"web\",\"match\":\"tcp,tp_dst=80\"},{\"name\":\"dns\",\"match\":"
                          "\"udp,tp_dst=53\",\"action\":\"mark\",\"sample_bits\":4,\"idle_timeout\":60,"
                          "\"hard_timeout\":3600}]",
                          1, NULL),
                "[" WEB_ROW "," DNS_ROW "]");
    struct doc_place everflow = {.value = json_object(), .path = "everflow"};
    json_t *out = everflow.value;
    assert_int_equal(everflow_rules_read(&everflow, 1, &out, NULL), 0);
    assert_null(out); /* Not our business. */
    json_decref(everflow.value);
}

static void
wrong_rules_name_the_place(void **state)
{
#define RULE(TEXT) "[{\"name\":\"a\",\"match\":\"ip\"" TEXT "}]"
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"{}", "everflow.rules: must be an array"},
        {"[3]", "everflow.rules[0]: must be an object"},
        {"[{\"match\":\"ip\"}]", "everflow.rules[0].name: missing"},
        {"[{\"name\":\"a\"}]", "everflow.rules[0].match: missing"},
        {"[{\"name\":\"a\",\"match\":\"\"}]", "everflow.rules[0].match: must be a text that is not empty"},
        {RULE(",\"action\":\"drop\""), "everflow.rules[0].action: must be one of mirror, mark"},
        {RULE(",\"sample_bits\":17"), "everflow.rules[0].sample_bits: 17 is not between 0 and 16"},
        {RULE(",\"sample_bits\":2"), "everflow.rules[0].sample_bits: the low 2 bits of sample_value are 0"},
        {RULE(",\"idle_timeout\":-1"), "everflow.rules[0].idle_timeout: -1 is not between 0 and 4294967295"},
        {RULE(",\"hard_timeout\":\"1s\""), "everflow.rules[0].hard_timeout: must be a whole number"},
        {RULE(",\"actoin\":\"mark\""), "everflow.rules[0].actoin: unknown; did you mean action?"},
        {"[{\"name\":\"@a\",\"match\":\"ip\"}]", "everflow.rules[0].name: must not begin with '@'"},
        {"[{\"name\":\"a\",\"match\":\"ip\"},{\"name\":\"a\",\"match\":\"tcp\"}]",
         "everflow.rules[1].name: 'a' is there twice"},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        struct ef_error err = EF_ERROR_INIT;
        assert_null(read_text(cases[i].text, 4, &err));
        if (!strstr(err.text, cases[i].error)) {
            fail_msg("'%s' does not say '%s'", err.text, cases[i].error);
        }
    }
    json_t *many = json_array();
    for (int i = 0; i <= 1000; i++) {
        json_array_append_new(many, json_object());
    }
    char *text = json_dumps(many, 0);
    struct ef_error err = EF_ERROR_INIT;
    assert_null(read_text(text, 1, &err));
    assert_string_equal(err.text, "everflow.rules: more than 1000");
    free(text);
    json_decref(many);
}

/* What is in a database: web as it should be, dns not, and one too many. */
#define COLUMN "[\"set\",[[\"uuid\",\"u1\"],[\"uuid\",\"u2\"],[\"uuid\",\"u3\"]]]"
#define ROWS                                                                                                \
    "{\"u1\":" WEB_ROW ",\"u2\":{\"name\":\"dns\",\"match\":\"udp\",\"action\":\"mark\",\"sample_bits\":4," \
    "\"idle_timeout\":60,\"hard_timeout\":3600,\"statistics\":[\"map\",[[\"packets\",7]]],"                 \
    "\"status\":[\"map\",[[\"state\",\"error\"],[\"error\",\"match: no\"]]]},"                              \
    "\"u3\":{\"name\":[\"set\",[]],\"match\":\"ip\",\"action\":[\"set\",[]]},\"u4\":" DNS_ROW "}"

static void
only_differences_are_written(void **state)
{
    json_t *desired = json("[" WEB_ROW "," DNS_ROW ",{\"name\":\"new\",\"match\":\"icmp\"}]"),
           *operations = json_array();
    json_t *column = json(COLUMN), *rows = json(ROWS);
    assert_false(everflow_rules_match(desired, false, column, rows));
    assert_json(everflow_rules_write(desired, false, column, rows, operations),
                "[\"set\",[[\"uuid\",\"u1\"],[\"uuid\",\"u2\"],[\"named-uuid\",\"rule2\"]]]");
    assert_json(operations,
                "[{\"op\":\"update\",\"table\":\"Everflow_Rule\",\"where\":[[\"_uuid\",\"==\",[\"uuid\",\"u2\"]]],"
                "\"row\":" DNS_ROW "},{\"op\":\"insert\",\"table\":\"Everflow_Rule\",\"uuid-name\":\"rule2\","
                "\"row\":{\"name\":\"new\",\"match\":\"icmp\"}}]");
    json_decref(desired);
    desired = json("[" WEB_ROW "]");
    assert_false(everflow_rules_match(desired, false, column, rows)); /* There is more. */
    operations = json_array();
    assert_json(everflow_rules_write(desired, false, column, rows, operations), "[\"uuid\",\"u1\"]");
    assert_json(operations, "[]");
    json_t *one = json("[\"uuid\",\"u1\"]");
    assert_true(everflow_rules_match(desired, false, one, rows));
    assert_false(everflow_rules_match(desired, false, one, NULL));
    assert_false(everflow_rules_match(desired, false, NULL, NULL));
    json_decref(one);
    json_decref(desired);
    desired = json("[]");
    operations = json_array();
    assert_json(everflow_rules_write(desired, false, column, rows, operations), "[\"set\",[]]");
    assert_json(operations, "[]");
    assert_true(everflow_rules_match(desired, false, NULL, NULL));
    json_decref(desired);
    json_decref(column);
    json_decref(rows);
}

/* Rules of sets, where the others are none of our business. */
static void
others_are_left_alone_if_only_sets_are_ours(void **state)
{
    json_t *desired = json("[{\"name\":\"@d/1/a\",\"match\":\"tcp\"}]"), *none = json("[]"), *operations = json_array();
    json_t *column = json("[\"set\",[[\"uuid\",\"u1\"],[\"uuid\",\"u2\"]]]");
    json_t *rows = json("{\"u1\":" WEB_ROW ",\"u2\":{\"name\":\"@d/1/a\",\"match\":\"tcp\",\"status\":"
                        "[\"map\",[[\"state\",\"error\"],[\"error\",\"match: no\"]]]}}");
    char text[100];
    assert_true(everflow_rules_match(desired, true, column, rows));
    assert_false(everflow_rules_match(desired, false, column, rows));
    assert_false(everflow_rules_match(none, true, column, rows));
    assert_json(everflow_rules_write(none, true, column, rows, operations), "[\"uuid\",\"u1\"]");
    assert_json(operations, "[]");
    operations = json_array();
    json_t *web_only = json("[\"uuid\",\"u1\"]");
    assert_true(everflow_rules_match(none, true, web_only, rows));
    assert_json(everflow_rules_write(desired, true, web_only, rows, operations),
                "[\"set\",[[\"uuid\",\"u1\"],[\"named-uuid\",\"rule0\"]]]");
    json_decref(operations);
    /* A refusal is that of who put it there. */
    assert_false(everflow_rules_refused(column, rows, text, sizeof text));
    assert_json(json_deep_copy(everflow_rules_status(column, rows, "@d/1/a")),
                "[\"map\",[[\"state\",\"error\"],[\"error\",\"match: no\"]]]");
    assert_null(everflow_rules_status(column, rows, "@d/1/b"));
    assert_null(everflow_rules_status(NULL, NULL, "@d/1/a"));
    json_decref(web_only);
    json_decref(desired);
    json_decref(none);
    json_decref(column);
    json_decref(rows);
}

/* Two with one name: the second goes. */
static void
doubles_are_removed(void **state)
{
    json_t *desired = json("[" WEB_ROW "]"), *operations = json_array();
    json_t *column = json("[\"set\",[[\"uuid\",\"u1\"],[\"uuid\",\"u2\"]]]");
    json_t *rows = json("{\"u1\":" WEB_ROW ",\"u2\":" WEB_ROW "}");
    assert_false(everflow_rules_match(desired, false, column, rows));
    assert_json(everflow_rules_write(desired, false, column, rows, operations), "[\"uuid\",\"u1\"]");
    assert_json(operations, "[]");
    json_decref(desired);
    json_decref(column);
    json_decref(rows);
}

static void
what_the_switch_says_is_shown(void **state)
{
    json_t *column = json(COLUMN), *rows = json(ROWS), *one = json("[\"uuid\",\"u1\"]");
    char text[100];
    assert_true(everflow_rules_refused(column, rows, text, sizeof text));
    assert_string_equal(text, "rule 'dns' is refused: match: no");
    assert_false(everflow_rules_refused(one, rows, text, sizeof text));
    assert_false(everflow_rules_refused(NULL, NULL, text, sizeof text));
    assert_json(everflow_rules_show(NULL, NULL), "[]");
    assert_json(everflow_rules_show(column, rows),
                "[{\"name\":null,\"match\":\"ip\",\"action\":null,\"sample_bits\":null,\"idle_timeout\":null,"
                "\"hard_timeout\":null,\"statistics\":{},\"status\":{}},"
                "{\"name\":\"dns\",\"match\":\"udp\",\"action\":\"mark\",\"sample_bits\":4,\"idle_timeout\":60,"
                "\"hard_timeout\":3600,\"statistics\":{\"packets\":7},\"status\":{\"state\":\"error\",\"error\":"
                "\"match: no\"}},"
                "{\"name\":\"web\",\"match\":\"tcp,tp_dst=80\",\"action\":\"mirror\",\"sample_bits\":0,"
                "\"idle_timeout\":0,\"hard_timeout\":0,\"statistics\":{},\"status\":{}}]");
    /* What no server would send. */
    json_t *odd = json("[\"set\",[3,[\"uuid\",\"gone\"],[\"uuid\"]]]");
    assert_json(everflow_rules_show(odd, rows), "[]");
    json_decref(odd);
    json_decref(one);
    json_decref(column);
    json_decref(rows);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_are_read),
        cmocka_unit_test(wrong_rules_name_the_place),
        cmocka_unit_test(only_differences_are_written),
        cmocka_unit_test(others_are_left_alone_if_only_sets_are_ours),
        cmocka_unit_test(doubles_are_removed),
        cmocka_unit_test(what_the_switch_says_is_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
