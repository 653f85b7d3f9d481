/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of lib/net/ovsdb_update: tables of cases. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "base/util.h"
#include "net/ovsdb_update.h"

static const char columns_text[] =
    "{\"i\":{\"type\":\"integer\"},\"r\":{\"type\":{\"key\":{\"type\":\"real\",\"minReal\":0}}},"
    "\"b\":{\"type\":\"boolean\"},\"s\":{\"type\":{\"key\":{\"type\":\"string\",\"maxLength\":9}}},"
    "\"o\":{\"type\":{\"key\":\"integer\",\"min\":0,\"max\":1}},"
    "\"set\":{\"type\":{\"key\":\"string\",\"min\":0,\"max\":\"unlimited\"}},"
    "\"map\":{\"type\":{\"key\":\"string\",\"value\":\"integer\",\"min\":0,\"max\":\"unlimited\"}}}";
static const char *const wanted[] = {"i", "r", "b", "s", "o", "set", "map", NULL};

#define DEFAULTS "\"r\":0.0,\"b\":false,\"s\":\"\",\"o\":[\"set\",[]],\"set\":[\"set\",[]],\"map\":[\"map\",[]]"
#define ROW(I, O, SET, MAP) "{\"i\":" I ",\"r\":0.0,\"b\":false,\"s\":\"\",\"o\":" O ",\"set\":" SET ",\"map\":" MAP "}"

static json_t *
load(const char *text)
{
    json_t *json = json_loads(text, JSON_DECODE_ANY, NULL);
    assert_non_null(json);
    return json;
}

/* Applies `update` to row "u", which is `before` (NULL: not there). */
static int
apply(const char *before, const char *update, json_t **rows)
{
    json_t *columns = load(columns_text), *change = load(update);
    *rows = json_object();
    if (before) {
        json_object_set_new(*rows, "u", load(before));
    }
    int rc = ef_ovsdb_update_row(*rows, columns, wanted, "u", change, 2);
    json_decref(columns);
    json_decref(change);
    return rc;
}

static void
updates_are_applied(void **state)
{
    static const struct {
        const char *before, *update, *after; /* NULL: no such row. */
    } cases[] = {
        {NULL, "{\"initial\":{}}", "{\"i\":0," DEFAULTS "}"},
        {NULL, "{\"insert\":{\"i\":7}}", "{\"i\":7," DEFAULTS "}"},
        {ROW("1", "2", "\"a\"", "[\"map\",[]]"), "{\"delete\":null}", NULL},
        {NULL, "{\"delete\":null}", NULL},
        /* Columns of one: the new value. */
        {ROW("1", "2", "\"a\"", "[\"map\",[]]"), "{\"modify\":{\"i\":5,\"o\":[\"set\",[]]}}",
         ROW("5", "[\"set\",[]]", "\"a\"", "[\"map\",[]]")},
        /* Sets: what is in one of both. */
        {ROW("1", "2", "\"a\"", "[\"map\",[]]"), "{\"modify\":{\"set\":\"b\"}}",
         ROW("1", "2", "[\"set\",[\"a\",\"b\"]]", "[\"map\",[]]")},
        {ROW("1", "2", "[\"set\",[\"a\",\"b\"]]", "[\"map\",[]]"), "{\"modify\":{\"set\":[\"set\",[\"a\",\"c\"]]}}",
         ROW("1", "2", "[\"set\",[\"b\",\"c\"]]", "[\"map\",[]]")},
        {ROW("1", "2", "\"a\"", "[\"map\",[]]"), "{\"modify\":{\"set\":\"a\"}}",
         ROW("1", "2", "[\"set\",[]]", "[\"map\",[]]")},
        /* Maps: added, changed, and taken away. */
        {ROW("1", "2", "\"a\"", "[\"map\",[[\"x\",1],[\"y\",2]]]"),
         "{\"modify\":{\"map\":[\"map\",[[\"x\",1],[\"y\",3],[\"z\",4]]]}}",
         ROW("1", "2", "\"a\"", "[\"map\",[[\"y\",3],[\"z\",4]]]")},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        json_t *rows, *after = cases[i].after ? load(cases[i].after) : NULL;
        assert_int_equal(apply(cases[i].before, cases[i].update, &rows), 0);
        if (after ? !json_equal(json_object_get(rows, "u"), after) : json_object_size(rows)) {
            fail_msg("case %zu: %s", i, json_dumps(rows, 0));
        }
        json_decref(after);
        json_decref(rows);
    }
}

static void
malformed_updates_are_refused(void **state)
{
    static const char row[] = ROW("1", "2", "\"a\"", "[\"map\",[[\"x\",1]]]");
    static const struct {
        const char *before, *update;
    } cases[] = {
        {NULL, "17"},
        {NULL, "{}"},
        {NULL, "{\"insert\":[]}"},
        {NULL, "{\"modify\":{\"i\":1}}"}, /* No such row. */
        {row, "{\"modify\":[]}"},
        {row, "{\"modify\":{\"nonsense\":1}}"},
        {row, "{\"modify\":{\"set\":[\"set\",1]}}"},
        {row, "{\"modify\":{\"map\":[\"set\",[]]}}"},
        {row, "{\"modify\":{\"map\":[\"map\",[[1,1]]]}}"},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        json_t *rows;
        if (apply(cases[i].before, cases[i].update, &rows) != -EPROTO) {
            fail_msg("case %zu", i);
        }
        json_decref(rows);
    }
}

static void
rows_are_bounded(void **state)
{
    json_t *rows = json_object(), *columns = load(columns_text), *insert = load("{\"insert\":{}}");
    assert_int_equal(ef_ovsdb_update_row(rows, columns, wanted, "a", insert, 2), 0);
    assert_int_equal(ef_ovsdb_update_row(rows, columns, wanted, "b", insert, 2), 0);
    assert_int_equal(ef_ovsdb_update_row(rows, columns, wanted, "b", insert, 2), 0); /* It replaces. */
    assert_int_equal(ef_ovsdb_update_row(rows, columns, wanted, "c", insert, 2), -ENOBUFS);
    json_decref(rows);
    json_decref(columns);
    json_decref(insert);
}

static void
defaults_are_of_their_type(void **state)
{
    static const struct {
        const char *type, *value; /* NULL: no type. */
    } cases[] = {
        {"\"integer\"", "0"},
        {"{\"key\":\"string\"}", "\"\""},
        {"\"uuid\"", "[\"uuid\",\"00000000-0000-0000-0000-000000000000\"]"},
        {"{\"key\":\"string\",\"value\":\"integer\",\"min\":1,\"max\":1}", "[\"map\",[[\"\",0]]]"},
        {"{\"key\":\"uuid\",\"min\":0,\"max\":1}", "[\"set\",[]]"},
        {"\"nonsense\"", NULL},
        {"17", NULL},
        {"{\"key\":17}", NULL},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        json_t *type = load(cases[i].type), *value = ef_ovsdb_default_value(type);
        json_t *expected = cases[i].value ? load(cases[i].value) : NULL;
        assert_true(expected ? json_equal(value, expected) : !value);
        json_decref(type);
        json_decref(value);
        json_decref(expected);
    }
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(updates_are_applied),
        cmocka_unit_test(malformed_updates_are_refused),
        cmocka_unit_test(rows_are_bounded),
        cmocka_unit_test(defaults_are_of_their_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
