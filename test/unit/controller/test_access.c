/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what decides who may ask: roles, tokens, budgets of requests, requests
 * that come again. test/system/access.bats asks over HTTP. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "controller/audit.h"
#include "controller/replay_guard.h"
#include "controller/request_budget.h"
#include "controller/role.h"
#include "controller/tokens.h"

static void
a_role_is_needed_for_each_path(void **state)
{
    static const struct {
        const char *method, *path;
        enum role needed;
    } cases[] = {
        {"GET", "/v1/traces", ROLE_VIEWER},
        {"GET", "/metrics", ROLE_VIEWER},
        {"GET", "/v1/switches", ROLE_VIEWER},
        {"POST", "/v1/counters", ROLE_OPERATOR},
        {"DELETE", "/v1/counters/web", ROLE_OPERATOR},
        {"POST", "/v1/alerts/1/resolve", ROLE_OPERATOR},
        {"POST", "/v1/switches", ROLE_ADMIN},
        {"DELETE", "/v1/switches/leaf1", ROLE_ADMIN},
        {"PUT", "/v1/topology", ROLE_ADMIN},
        {"GET", "/v1/tokens", ROLE_ADMIN},
        {"DELETE", "/v1/tokens/alice", ROLE_ADMIN},
        {"GET", "/v1/audit", ROLE_ADMIN},
        {"GET", "/v1/tokensX", ROLE_VIEWER},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        assert_int_equal(role_needed(cases[i].method, cases[i].path), cases[i].needed);
    }
    enum role role;
    assert_true(role_parse("operator", &role) && role == ROLE_OPERATOR);
    assert_false(role_parse("root", &role));
    assert_false(role_parse(NULL, &role));
}

/* --- Tokens ------------------------------------------------------------------- */

static void
kept(void *ctx, const char *error)
{
    assert_null(error);
    ++*(int *) ctx;
}

static void
a_token_is_good_until_it_ends_or_is_revoked(void **unused)
{
    struct event_base *base = event_base_new();
    struct state_config config = {0};
    struct state_store *state;
    struct ef_error err = EF_ERROR_INIT;
    struct ef_time now = ef_time_real(), end = ef_time_add_ms(now, 1000);
    char secret[TOKEN_SECRET_SIZE], other[TOKEN_SECRET_SIZE];
    const char *name, *why;
    int n_kept = 0;
    assert_int_equal(state_create(base, &config, &state, &err), 0);
    assert_int_equal(tokens_issue(state, "alice", ROLE_OPERATOR, end, secret, kept, &n_kept, &err), 0);
    event_base_loop(base, EVLOOP_ONCE);
    assert_int_equal(n_kept, 1);
    assert_int_equal(tokens_issue(state, "alice", ROLE_VIEWER, end, other, kept, &n_kept, &err), -EEXIST);
    assert_int_equal(tokens_issue(state, "a b", ROLE_VIEWER, end, other, kept, &n_kept, &err), -EINVAL);
    assert_int_equal(tokens_issue(state, "bob", ROLE_ADMIN, (struct ef_time){0}, other, kept, &n_kept, &err), 0);
    event_base_loop(base, EVLOOP_ONCE);
    assert_string_not_equal(secret, other);
    assert_int_equal(strlen(secret), TOKEN_SECRET_SIZE - 1);

    assert_int_equal(tokens_check(state, secret, now, &name, &why), ROLE_OPERATOR);
    assert_string_equal(name, "alice");
    assert_int_equal(tokens_check(state, secret, ef_time_add_ms(end, 1), &name, &why), ROLE_NONE);
    assert_string_equal(why, "the token has expired");
    assert_int_equal(tokens_check(state, other, ef_time_add_ms(end, 1), &name, &why), ROLE_ADMIN);
    secret[10] = secret[10] == '0' ? '1' : '0';
    assert_int_equal(tokens_check(state, secret, now, &name, &why), ROLE_NONE);
    assert_int_equal(tokens_check(state, "", now, &name, &why), ROLE_NONE);

    /* Nothing that is kept is the secret. */
    char *rows = json_dumps(state_rows(state, STATE_TOKEN), 0);
    assert_null(strstr(rows, other + 4));
    free(rows);
    json_t *list = tokens_list(state);
    assert_int_equal(json_array_size(list), 2);
    assert_string_equal(json_string_value(json_object_get(json_array_get(list, 0), "name")), "alice");
    json_decref(list);

    assert_int_equal(tokens_revoke(state, "carol", kept, &n_kept), -ENOENT);
    assert_int_equal(tokens_revoke(state, "bob", kept, &n_kept), 0);
    event_base_loop(base, EVLOOP_ONCE);
    assert_int_equal(tokens_check(state, other, now, &name, &why), ROLE_NONE);
    assert_string_equal(why, "the token is not known, or was revoked");
    state_destroy(state);
    event_base_free(base);
}

/* --- Budgets ------------------------------------------------------------------ */

static void
a_budget_is_spent_and_fills_again(void **state)
{
    struct request_budget *b = request_budget_create(10, 3);
    struct ef_time t = {1000 * EF_NS_PER_S};
    for (int i = 0; i < 3; i++) {
        assert_true(request_budget_take(b, "10.1.0.7", t));
    }
    assert_false(request_budget_has(b, "10.1.0.7", t));
    assert_false(request_budget_take(b, "10.1.0.7", t));
    assert_true(request_budget_take(b, "10.1.0.8", t)); /* Another's. */
    t = ef_time_add_ms(t, 101);
    assert_true(request_budget_take(b, "10.1.0.7", t));
    assert_false(request_budget_take(b, "10.1.0.7", t));
    t = ef_time_add_ms(t, 3600 * 1000);
    for (int i = 0; i < 3; i++) {
        assert_true(request_budget_take(b, "10.1.0.7", t));
    }
    assert_false(request_budget_take(b, "10.1.0.7", t));
    request_budget_destroy(b);
}

/* Thousands of others do not empty anybody's bucket. */
static void
many_names_harm_none(void **state)
{
    struct request_budget *b = request_budget_create(1, 2);
    struct ef_time t = {1000 * EF_NS_PER_S};
    char name[32];
    for (int i = 0; i < 100000; i++) {
        snprintf(name, sizeof name, "host%d", i);
        assert_true(request_budget_take(b, name, t));
    }
    assert_true(request_budget_take(b, "me", t));
    request_budget_destroy(b);
}

/* --- What comes again ----------------------------------------------------------- */

static int
take(struct replay_guard *g, struct ef_time now, int64_t offset_ms, const char *random)
{
    char once[128];
    struct ef_error err = EF_ERROR_INIT;
    snprintf(once, sizeof once, "%lld-%s", (long long) (now.ns / EF_NS_PER_MS + offset_ms), random);
    return replay_guard_take(g, once, now, &err);
}

static void
a_request_is_taken_once(void **state)
{
    static const char *const bad[] = {
        "",
        "-",
        "1-",
        "x-0123456789abcdef",
        "1763733600000-0123456789abcde",
        "1763733600000-0123456789ABCDEF",
        "1763733600000-0123456789abcdef ",
        "9999999999999999-0123456789abcdef",
        "-1-0123456789abcdef",
    };
    struct ef_time t = {1763733600 * EF_NS_PER_S};
    struct replay_guard *g = replay_guard_create(t);
    struct ef_error err = EF_ERROR_INIT;
    for (size_t i = 0; i < EF_ARRAY_SIZE(bad); i++) {
        assert_int_equal(replay_guard_take(g, bad[i], t, &err), -EINVAL);
    }
    assert_int_equal(take(g, t, 0, "0123456789abcdef"), 0);
    assert_int_equal(take(g, t, 0, "0123456789abcdef"), -EEXIST);
    assert_int_equal(take(g, t, 0, "0123456789abcdee"), 0);
    assert_int_equal(take(g, t, 61000, "0123456789abcdef"), -ETIME);
    assert_int_equal(take(g, t, -5000, "0123456789abcdef"), -ETIME); /* Before the start. */

    /* From the future edge of the window to its past edge, it stays known. */
    assert_int_equal(take(g, t, 59000, "aaaaaaaaaaaaaaaa"), 0);
    for (int64_t later = 1000; later < 59000 + 60000; later += 500) {
        struct ef_time now = ef_time_add_ms(t, later);
        assert_int_equal(take(g, now, 59000 - later, "aaaaaaaaaaaaaaaa"), -EEXIST);
    }
    /* And then it is too old, known or not. */
    assert_int_not_equal(take(g, ef_time_add_ms(t, 300000), 59000 - 300000, "aaaaaaaaaaaaaaaa"), 0);
    assert_int_equal(take(g, ef_time_add_ms(t, 600000), 59000 - 600000, "aaaaaaaaaaaaaaaa"), -ETIME);
    replay_guard_destroy(g);
}

static void
what_is_remembered_is_bounded(void **state)
{
    struct ef_time t = {1763733600 * EF_NS_PER_S};
    struct replay_guard *g = replay_guard_create(t);
    char random[32];
    for (int i = 0; i < REPLAY_GUARD_MAX_SEEN; i++) {
        snprintf(random, sizeof random, "%016x", i);
        assert_int_equal(take(g, t, 0, random), 0);
    }
    assert_int_equal(take(g, t, 0, "ffffffffffffffff"), -ENOSPC);
    assert_int_equal(take(g, ef_time_add_ms(t, 121000), 0, "ffffffffffffffff"), 0);
    replay_guard_destroy(g);
}

/* --- The audit log ------------------------------------------------------------ */

static void
the_audit_log_keeps_the_newest(void **state)
{
    char path[] = "/tmp/ef-test-audit-XXXXXX", line[256];
    int fd = mkstemp(path), n_lines = 0;
    struct audit *a = audit_create(path);
    assert_true(fd >= 0);
    for (int i = 0; i < AUDIT_MAX_ENTRIES + 10; i++) {
        audit_add(a, json_pack("{s:i}", "n", i));
    }
    json_t *list = audit_list(a, 3);
    assert_int_equal(json_array_size(list), 3);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 2), "n")), AUDIT_MAX_ENTRIES + 9);
    assert_true(json_is_string(json_object_get(json_array_get(list, 0), "time")));
    json_decref(list);
    list = audit_list(a, 10 * AUDIT_MAX_ENTRIES);
    assert_int_equal(json_array_size(list), AUDIT_MAX_ENTRIES);
    json_decref(list);
    FILE *f = fdopen(fd, "r");
    while (fgets(line, sizeof line, f)) {
        json_t *entry = json_loads(line, 0, NULL);
        assert_int_equal(json_integer_value(json_object_get(entry, "n")), n_lines++);
        json_decref(entry);
    }
    fclose(f);
    assert_int_equal(n_lines, AUDIT_MAX_ENTRIES + 10);
    assert_int_equal(audit_n_lost(a), 0);
    audit_destroy(a);
    unlink(path);

    a = audit_create("/nonexistent/audit");
    audit_add(a, json_object());
    audit_add(a, json_object());
    assert_int_equal(audit_n_lost(a), 2);
    assert_int_equal(audit_n_entries(a), 2);
    audit_destroy(a);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_role_is_needed_for_each_path),
        cmocka_unit_test(a_token_is_good_until_it_ends_or_is_revoked),
        cmocka_unit_test(a_budget_is_spent_and_fills_again),
        cmocka_unit_test(many_names_harm_none),
        cmocka_unit_test(a_request_is_taken_once),
        cmocka_unit_test(what_is_remembered_is_bounded),
        cmocka_unit_test(the_audit_log_keeps_the_newest),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("access", tests, NULL, NULL);
}
