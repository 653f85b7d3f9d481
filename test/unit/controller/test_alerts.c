/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of alerts: one for its kind and subject while it is active, bounded, told
 * to the listener. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "controller/alerts.h"

static struct alert *
raise_one(struct alerts *alerts, const char *subject, const char *summary)
{
    struct alert_report report = {.kind = "drop", .subject = subject, .severity = ALERT_CRITICAL, .summary = summary};
    return alerts_raise(alerts, &report);
}

static json_int_t
number(const struct alert *alert, const char *key)
{
    json_t *shown = alert_show(alert);
    json_int_t n = json_integer_value(json_object_get(shown, key));
    json_decref(shown);
    return n;
}

static void
expect_text(const struct alert *alert, const char *key, const char *expected)
{
    json_t *shown = alert_show(alert);
    const char *text = json_string_value(json_object_get(shown, key));
    if (expected) {
        assert_non_null(text);
        assert_string_equal(text, expected);
    } else {
        assert_null(text);
    }
    json_decref(shown);
}

static size_t
n_listed(const struct alerts *alerts, const char *state, const char *kind)
{
    json_t *list = alerts_list(alerts, state, kind);
    size_t n = json_array_size(list);
    json_decref(list);
    return n;
}

static void
the_same_is_one(void **state)
{
    struct alerts *alerts = alerts_create();
    struct alert *a = raise_one(alerts, "spine1>leaf4", "first");
    assert_ptr_equal(raise_one(alerts, "spine1>leaf4", "second"), a);
    assert_ptr_not_equal(raise_one(alerts, "spine1>leaf3", "other"), a);
    assert_int_equal(number(a, "count"), 2);
    expect_text(a, "summary", "second");
    expect_text(a, "state", "open");
    assert_ptr_equal(alerts_find(alerts, alert_id(a)), a);
    assert_null(alerts_find(alerts, "0"));
    assert_int_equal(n_listed(alerts, NULL, NULL), 2);
    assert_int_equal(n_listed(alerts, "active", "drop"), 2);
    assert_int_equal(n_listed(alerts, "active", "loop"), 0);
    alerts_destroy(alerts);
}

static void
acknowledged_stays_so_and_resolved_begins_anew(void **state)
{
    struct alerts *alerts = alerts_create();
    struct alert *a = raise_one(alerts, "x", "it is broken");
    assert_true(alert_acknowledge(a, "mo\033nika"));
    raise_one(alerts, "x", "it is broken");
    expect_text(a, "state", "acknowledged");
    expect_text(a, "acknowledged_by", "mo?nika");
    assert_false(alerts_resolve(alerts, "loop", "x", "no"));
    assert_true(alerts_resolve(alerts, "drop", "x", "probes pass again"));
    assert_false(alerts_resolve(alerts, "drop", "x", "again"));
    expect_text(a, "resolved_why", "probes pass again");
    assert_false(alert_acknowledge(a, "too late"));
    struct alert *b = raise_one(alerts, "x", "it is broken");
    assert_ptr_not_equal(a, b);
    assert_int_equal(number(b, "count"), 1);
    expect_text(b, "acknowledged", NULL);
    assert_int_equal(n_listed(alerts, "resolved", NULL), 1);
    alerts_destroy(alerts);
}

static void
evidence_stays_until_there_is_other(void **state)
{
    struct alerts *alerts = alerts_create();
    struct alert_report report = {
        .kind = "drop", .subject = "x", .summary = "s", .evidence = json_pack("{s:i}", "n", 1)};
    struct alert *a = alerts_raise(alerts, &report);
    raise_one(alerts, "x", "s");
    json_t *shown = alert_show(a);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(shown, "evidence"), "n")), 1);
    json_decref(shown);
    alerts_destroy(alerts);
}

static void
memory_is_bounded(void **state)
{
    struct alerts *alerts = alerts_create();
    struct alerts_counts counts;
    char subject[32];
    for (int i = 0; i < ALERTS_MAX; i++) {
        snprintf(subject, sizeof subject, "%d", i);
        raise_one(alerts, subject, "s");
    }
    alerts_resolve(alerts, "drop", "500", "done");
    raise_one(alerts, "one more", "s");
    assert_null(alerts_active(alerts, "drop", "500")); /* The resolved one went first, */
    assert_non_null(alerts_active(alerts, "drop", "0"));
    raise_one(alerts, "and one", "s");
    assert_null(alerts_active(alerts, "drop", "0")); /* then the oldest. */
    alerts_count(alerts, &counts);
    assert_int_equal(counts.open, ALERTS_MAX);
    assert_int_equal(counts.forgotten, 2);
    assert_int_equal(n_listed(alerts, NULL, NULL), ALERTS_MAX);
    alerts_destroy(alerts);
}

static void
count_change(void *ctx, const struct alert *alert)
{
    ++*(int *) ctx;
}

static void
each_change_is_told(void **state)
{
    struct alerts *alerts = alerts_create();
    int n = 0;
    alerts_on_change(alerts, count_change, &n);
    struct alert *a = raise_one(alerts, "x", "s");
    raise_one(alerts, "x", "s");
    alert_acknowledge(a, "");
    alert_acknowledge(a, "");
    alert_resolve(a, "why");
    alert_resolve(a, "why");
    assert_int_equal(n, 4);
    alerts_destroy(alerts);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_is_one),
        cmocka_unit_test(acknowledged_stays_so_and_resolved_begins_anew),
        cmocka_unit_test(evidence_stays_until_there_is_other),
        cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(each_change_is_told),
    };
    return cmocka_run_group_tests_name("alerts", tests, NULL, NULL);
}
