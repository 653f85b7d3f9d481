/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of sums of counters over analyzers of which one answers anything at all: what
 * is no count is none, what says not what it is of is left out, and an answer that is
 * no JSON object is named as missing. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "controller/counter_sums.h"

enum { PATIENCE_S = 30 };

#define MOST "9223372036854775807"
#define VALUES "\"values\":[{\"start\":\"2026-11-21T02:30:00.000000000Z\",\"packets\":3,\"bytes\":300}]"
#define HONEST                                                                                               \
    "{\"name\":\"web\",\"packets\":10,\"bytes\":1000,\"groups\":[{\"group\":\"a\",\"packets\":10,\"bytes\":" \
    "1000," VALUES "}]," VALUES "}"

/* An analyzer that says the same to all, and what is told to who asked. */
struct world {
    struct event_base *base;
    const char *says[2];
    int says_status;
    struct evhttp *https[2];
    char urls[2][40];
    struct peer analyzers[2];
    bool is_late;
    int status;
    json_t *reply;
};

/* --- Asking ------------------------------------------------------------------------ */

static void
answer_with(struct evhttp_request *req, const char *text, int status)
{
    struct evbuffer *body = evbuffer_new();
    evbuffer_add(body, text, strlen(text));
    evhttp_send_reply(req, status, "as told", body);
    evbuffer_free(body);
}

static void
on_honest(struct evhttp_request *req, void *ctx)
{
    const struct world *w = ctx;
    answer_with(req, w->says[0], 200);
}

static void
on_hostile(struct evhttp_request *req, void *ctx)
{
    const struct world *w = ctx;
    answer_with(req, w->says[1], w->says_status);
}

static void
listen_as(struct world *w, int number, const char *name)
{
    struct sockaddr_in address;
    socklen_t len = sizeof address;
    w->https[number] = evhttp_new(w->base);
    evhttp_set_gencb(w->https[number], number ? on_hostile : on_honest, w);
    struct evhttp_bound_socket *bound = evhttp_bind_socket_with_handle(w->https[number], "127.0.0.1", 0);
    assert_non_null(bound);
    assert_int_equal(getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *) &address, &len), 0);
    snprintf(w->urls[number], sizeof w->urls[number], "http://127.0.0.1:%d", ntohs(address.sin_port));
    w->analyzers[number] = (struct peer){.name = name, .url = w->urls[number]};
}

static void
on_late(evutil_socket_t fd, short what, void *arg)
{
    struct world *w = arg;
    w->is_late = true;
    event_base_loopbreak(w->base);
}

static void
on_reply(void *ctx, int status, json_t *reply)
{
    struct world *w = ctx;
    w->status = status;
    w->reply = reply;
    event_base_loopbreak(w->base);
}

/* What is made of the answers of an honest and of a hostile analyzer (new reference). */
static json_t *
sum_of(const char *honest, const char *hostile, int hostile_status, answers_merge *merge, int *status)
{
    struct world w = {.base = event_base_new(), .says = {honest, hostile}, .says_status = hostile_status};
    struct fan_out_request request = {.method = "GET", .target = "/v1/counters", .program = "ef-analyzer"};
    struct timeval patience = {.tv_sec = PATIENCE_S};
    listen_as(&w, 0, "honest");
    listen_as(&w, 1, "hostile");
    struct controller c = {.base = w.base, .configuration = {.analyzers = w.analyzers, .n_analyzers = 2}};
    struct event *late = event_new(w.base, -1, 0, on_late, &w);
    assert_int_equal(event_add(late, &patience), 0);
    ask_analyzers_then(&c, &request, 200, merge, on_reply, &w);
    event_base_dispatch(w.base);
    if (w.is_late) {
        fail_msg("waited %d s in vain for the sum", PATIENCE_S);
    }
    event_free(late);
    evhttp_free(w.https[0]);
    evhttp_free(w.https[1]);
    event_base_free(w.base);
    *status = w.status;
    return w.reply;
}

static void
expect_json(const char *what, json_t *is, const char *expected)
{
    json_t *should = json_loads(expected, 0, NULL);
    assert_non_null(should);
    if (!json_equal(is, should)) {
        char *text = json_dumps(is, JSON_COMPACT);
        fail_msg("%s: %s, not %s", what, text, expected);
    }
    json_decref(should);
}

/* --- One counter ------------------------------------------------------------------- */

static void
what_is_no_count_is_none(void **state)
{
    static const struct {
        const char *says, *packets; /* Of the sum; the honest one says 10. */
    } cases[] = {
        {"{\"packets\":5}", "15"},
        {"{\"packets\":\"5\"}", "10"},
        {"{\"packets\":5.5}", "10"},
        {"{\"packets\":1e300}", "10"},
        {"{\"packets\":-5}", "10"},
        {"{\"packets\":-9223372036854775808}", "10"},
        {"{\"packets\":null,\"bytes\":[]}", "10"},
        {"{\"packets\":{\"packets\":5}}", "10"},
        {"{\"packets\":" MOST "}", MOST},
        {"{}", "10"},
        {"{\"error\":{\"code\":\"no_counter\",\"message\":\"none\"}}", "10"},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        int status;
        json_t *sum = sum_of(HONEST, cases[i].says, 200, counter_sums_of_one, &status);
        json_t *packets = json_object_get(sum, "packets");
        char text[24];
        assert_int_equal(status, 200);
        snprintf(text, sizeof text, "%lld", (long long) json_integer_value(packets));
        assert_true(json_is_integer(packets));
        assert_string_equal(text, cases[i].packets);
        assert_null(json_object_get(sum, "incomplete"));
        json_decref(sum);
        /* The same when it is the first. */
        sum = sum_of(cases[i].says, HONEST, 200, counter_sums_of_one, &status);
        snprintf(text, sizeof text, "%lld", (long long) json_integer_value(json_object_get(sum, "packets")));
        assert_string_equal(text, cases[i].packets);
        json_decref(sum);
    }
}

static void
what_is_of_nothing_is_left_out(void **state)
{
    static const char *const hostile[] = {
        "{\"values\":5,\"groups\":5}",
        "{\"values\":{\"start\":\"x\"},\"groups\":{\"group\":\"a\"}}",
        "{\"values\":[5,null,[],\"x\",{},{\"start\":5},{\"packets\":5}]}",
        "{\"groups\":[5,null,[],\"x\",{},{\"group\":5,\"packets\":5},{\"group\":null}]}",
        "{\"groups\":[{\"group\":\"a\",\"values\":5},{\"group\":\"a\",\"values\":[[[[]]]]}]}",
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(hostile); i++) {
        int status;
        json_t *sum = sum_of(HONEST, hostile[i], 200, counter_sums_of_one, &status);
        expect_json(hostile[i], sum, HONEST);
        json_decref(sum);
        json_t *reversed = sum_of(hostile[i], HONEST, 200, counter_sums_of_one, &status), *should;
        should = json_loads("{" VALUES "}", 0, NULL);
        assert_true(json_equal(json_object_get(reversed, "values"), json_object_get(should, "values")));
        assert_int_equal(json_array_size(json_object_get(reversed, "groups")), 1);
        json_decref(should);
        json_decref(reversed);
    }
}

static void
sums_stay_within_what_a_number_holds(void **state)
{
    int status;
    json_t *sum = sum_of(HONEST,
                         "{\"packets\":" MOST ",\"bytes\":" MOST ","
                         "\"values\":[{\"start\":\"2026-11-21T02:30:00.000000000Z\",\"packets\":" MOST "}],"
                         "\"groups\":[{\"group\":\"a\",\"bytes\":" MOST "}]}",
                         200, counter_sums_of_one, &status);
    expect_json("most", sum,
                "{\"name\":\"web\",\"packets\":" MOST ",\"bytes\":" MOST ","
                "\"values\":[{\"start\":\"2026-11-21T02:30:00.000000000Z\",\"packets\":" MOST ",\"bytes\":300}],"
                "\"groups\":[{\"group\":\"a\",\"packets\":10,\"bytes\":" MOST "," VALUES "}]}");
    json_decref(sum);
}

static void
what_is_no_object_is_missing(void **state)
{
    static const struct {
        const char *says;
        int status;
        const char *error;
    } cases[] = {
        {"", 200, "its answer is not a JSON object"},
        {"5", 200, "its answer is not a JSON object"},
        {"[{\"packets\":5}]", 200, "its answer is not a JSON object"},
        {"{\"packets\":5,\"values\":[{\"start\":\"2026", 200, "its answer is not a JSON object"},
        {"{\"packets\":5}{", 200, "its answer is not a JSON object"},
        {"{\"packets\":99999999999999999999}", 200, "its answer is not a JSON object"},
        {"{\"packets\":\"\xff\"}", 200, "its answer is not a JSON object"},
        {"{\"packets\":5}", 500, NULL},
        {"", 404, NULL},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        int status;
        json_t *sum = sum_of(HONEST, cases[i].says, cases[i].status, counter_sums_of_one, &status);
        json_t *missing = json_array_get(json_object_get(sum, "incomplete"), 0);
        const char *error = json_string_value(json_object_get(missing, "error"));
        assert_int_equal(status, 200);
        assert_int_equal(json_integer_value(json_object_get(sum, "packets")), 10);
        assert_int_equal(json_array_size(json_object_get(sum, "incomplete")), 1);
        assert_string_equal(json_string_value(json_object_get(missing, "analyzer")), "hostile");
        assert_true(error && *error);
        if (cases[i].error) {
            assert_string_equal(error, cases[i].error);
        }
        json_decref(sum);
    }
}

static void
when_none_answers_rightly_it_is_said(void **state)
{
    static const struct {
        const char *says; /* With status 404, both. */
        const char *code;
    } cases[] = {
        {"{\"error\":{\"code\":\"no_counter\",\"message\":\"there is none\"}}", "no_counter"},
        {"{\"error\":5}", "no_analyzer"},
        {"5", "no_analyzer"},
        {"", "no_analyzer"},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        int status;
        json_t *reply = sum_of("nonsense", cases[i].says, 404, counter_sums_of_one, &status);
        const json_t *error = json_object_get(reply, "error");
        assert_int_equal(status, strcmp(cases[i].code, "no_analyzer") ? 404 : 503);
        assert_string_equal(json_string_value(json_object_get(error, "code")), cases[i].code);
        assert_true(*json_string_value(json_object_get(error, "message")));
        json_decref(reply);
    }
}

/* --- Lists ------------------------------------------------------------------------- */

static void
lists_have_what_has_a_name(void **state)
{
    static const char honest[] = "{\"counters\":[{\"name\":\"web\",\"packets\":10,\"bytes\":1000}]}";
    static const struct {
        const char *says, *sum;
    } cases[] = {
        {"{\"counters\":5}", "{\"counters\":[{\"name\":\"web\",\"packets\":10,\"bytes\":1000,\"analyzers\":1}]}"},
        {"{\"counters\":[5,{},{\"name\":7},null]}",
         "{\"counters\":[{\"name\":\"web\",\"packets\":10,\"bytes\":1000,\"analyzers\":1}]}"},
        {"{\"counters\":[{\"name\":\"web\",\"packets\":" MOST ",\"analyzers\":" MOST "}]}",
         "{\"counters\":[{\"name\":\"web\",\"packets\":" MOST ",\"bytes\":1000,\"analyzers\":2}]}"},
        {"{\"counters\":[{\"name\":\"own\",\"analyzers\":" MOST "}]}",
         "{\"counters\":[{\"name\":\"web\",\"packets\":10,\"bytes\":1000,\"analyzers\":1},"
         "{\"name\":\"own\",\"packets\":0,\"bytes\":0,\"analyzers\":1}]}"},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        int status;
        json_t *list = sum_of(honest, cases[i].says, 200, counter_sums_of_lists, &status);
        expect_json(cases[i].says, list, cases[i].sum);
        json_decref(list);
    }
}

/* --- Steps ------------------------------------------------------------------------- */

static void
values_without_a_time_are_not_joined(void **state)
{
    json_t *answer = json_loads("{\"values\":[5,{\"start\":\"no time\",\"packets\":1},{\"packets\":2},"
                                "{\"start\":\"2026-11-21T02:30:10.000000000Z\",\"packets\":" MOST "},"
                                "{\"start\":\"2026-11-21T02:30:50.000000000Z\",\"packets\":4,\"bytes\":\"4\"}],"
                                "\"groups\":[5,{\"values\":7},{\"group\":\"a\"}]}",
                                0, NULL);
    counter_sums_join(answer, 60);
    expect_json("joined", answer,
                "{\"values\":[{\"start\":\"2026-11-21T02:30:00.000000000Z\",\"packets\":" MOST ",\"bytes\":0}],"
                "\"interval_s\":60,\"groups\":[5,{\"values\":[]},{\"group\":\"a\",\"values\":[]}]}");
    json_decref(answer);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_count_is_none),
        cmocka_unit_test(what_is_of_nothing_is_left_out),
        cmocka_unit_test(sums_stay_within_what_a_number_holds),
        cmocka_unit_test(what_is_no_object_is_missing),
        cmocka_unit_test(when_none_answers_rightly_it_is_said),
        cmocka_unit_test(lists_have_what_has_a_name),
        cmocka_unit_test(values_without_a_time_are_not_joined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
