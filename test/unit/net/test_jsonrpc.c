/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of lib/net/json_framer, jsonrpc and ovsdb_value: messages cut at every
 * byte, a peer that lies, is silent or goes away. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <event2/event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/address.h"
#include "net/json_framer.h"
#include "net/jsonrpc.h"
#include "net/ovsdb_value.h"

/* --- Framing -------------------------------------------------------------- */

static void
messages_are_found_however_they_are_cut(void **state)
{
    static const char text[] = " {\"a\":\"}]\\\"{\"}\n[1,[2],{}][\"\\\\\"]{}";
    static const size_t ends[] = {14, 25, 31, 33};
    for (size_t cut = 0; cut < sizeof text; cut++) {
        struct ef_json_framer f = {.max_bytes = 100};
        size_t n = 0, at = 0;
        while (at < sizeof text - 1) {
            size_t to = at < cut ? cut : sizeof text - 1, used;
            int rc = ef_json_framer_scan(&f, text + at, to - at, &used, NULL);
            assert_true(rc >= 0 && used > 0);
            at += used;
            if (rc) {
                assert_int_equal(at, ends[n++]);
            }
        }
        assert_int_equal(n, EF_ARRAY_SIZE(ends));
    }
}

static void
what_is_no_message_is_refused(void **state)
{
    static const char *const bad[] = {"x", "}", "]", "{}x", "\"text\"", "1", "\xff", "{} 1"};
    for (size_t i = 0; i < EF_ARRAY_SIZE(bad); i++) {
        struct ef_json_framer f = {.max_bytes = 100};
        struct ef_error err = EF_ERROR_INIT;
        int rc = 0;
        for (const char *p = bad[i]; *p && rc >= 0;) {
            size_t used;
            rc = ef_json_framer_scan(&f, p, strlen(p), &used, &err);
            p += used;
        }
        assert_int_equal(rc, -EPROTO);
        assert_true(err.text[0]);
    }
    char deep[EF_JSON_FRAMER_MAX_DEPTH + 1];
    memset(deep, '[', sizeof deep);
    struct ef_json_framer f = {.max_bytes = 1000};
    size_t used;
    assert_int_equal(ef_json_framer_scan(&f, deep, sizeof deep, &used, NULL), -EPROTO);
    struct ef_json_framer g = {.max_bytes = 10};
    assert_int_equal(ef_json_framer_scan(&g, "[\"aaaaaaaaaaaaaaa\"]", 19, &used, NULL), -EMSGSIZE);
}

/* --- One connection ------------------------------------------------------- */

struct fixture {
    struct event_base *base;
    struct ef_net_address address;
    char dir[32];
    int listener, peer;
    struct ef_jsonrpc *rpc;
    bool connected, destroy_in_reply;
    unsigned n_notified, n_replies;
    char closed[256], reply[256], method[64];
};

static void
connected(void *ctx)
{
    ((struct fixture *) ctx)->connected = true;
}

static void
notified(void *ctx, const char *method, json_t *params)
{
    struct fixture *f = ctx;
    f->n_notified++;
    snprintf(f->method, sizeof f->method, "%s %zu", method, json_array_size(params));
}

static void
closed(void *ctx, const char *why)
{
    struct fixture *f = ctx;
    snprintf(f->closed, sizeof f->closed, "%s", why);
}

static void
got_reply(void *ctx, json_t *result, const char *error)
{
    struct fixture *f = ctx;
    char *text = result ? json_dumps(result, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    snprintf(f->reply, sizeof f->reply, "%s", text ? text : error);
    free(text);
    f->n_replies++;
    if (f->destroy_in_reply) {
        ef_jsonrpc_destroy(f->rpc);
        f->rpc = NULL;
    }
}

static const struct ef_jsonrpc_handlers handlers = {connected, notified, closed};

static int
setup(void **state)
{
    struct fixture *f = *state = calloc(1, sizeof *f);
    f->base = event_base_new();
    strcpy(f->dir, "/tmp/ef-test-rpc-XXXXXX");
    char address[64];
    if (!mkdtemp(f->dir)) {
        return -1;
    }
    snprintf(address, sizeof address, "unix:%s/s", f->dir);
    ef_net_address_parse(address, &f->address, NULL);
    f->listener = ef_net_listen(&f->address, 4, NULL);
    ef_jsonrpc_connect(f->base, &f->address, NULL, &handlers, 5000, f, &f->rpc);
    while (!f->connected) {
        event_base_loop(f->base, EVLOOP_ONCE);
    }
    f->peer = accept(f->listener, NULL, NULL);
    return f->peer < 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;
    ef_jsonrpc_destroy(f->rpc);
    close(f->peer);
    close(f->listener);
    ef_net_unlink(&f->address);
    rmdir(f->dir);
    event_base_free(f->base);
    free(f);
    libevent_global_shutdown();
    return 0;
}

static void
tell(struct fixture *f, const char *text, size_t len)
{
    if (len) {
        assert_int_equal(write(f->peer, text, len), len);
        event_base_loop(f->base, EVLOOP_ONCE);
    }
}

static void
read_from(struct fixture *f, char *buf, size_t size)
{
    event_base_loop(f->base, EVLOOP_ONCE);
    ssize_t n = read(f->peer, buf, size - 1);
    assert_true(n > 0);
    buf[n] = '\0';
}

static void
calls_are_answered_however_the_bytes_come(void **state)
{
    struct fixture *f = *state;
    char answer[200], buf[512];
    size_t cuts = 60;
    for (size_t cut = 0; cut < cuts; cut++) {
        ef_jsonrpc_call(f->rpc, "ask", json_pack("[i]", (int) cut), got_reply, f);
        read_from(f, buf, sizeof buf);
        json_t *call = json_loads(buf, 0, NULL);
        int n = snprintf(
            answer, sizeof answer,
            "{\"id\":%lld,\"result\":{\"n\":%zu},\"error\":null}{\"method\":\"update\",\"params\":[1],\"id\":null}",
            (long long) json_integer_value(json_object_get(call, "id")), cut);
        json_decref(call);
        cuts = (size_t) n;
        tell(f, answer, cut);
        tell(f, answer + cut, (size_t) n - cut);
        char expected[32];
        snprintf(expected, sizeof expected, "{\"n\":%zu}", cut);
        assert_string_equal(f->reply, expected);
        assert_int_equal(f->n_notified, cut + 1);
        assert_string_equal(f->method, "update 1");
    }
    assert_int_equal(f->n_replies, cuts);
}

static void
echoes_are_answered_and_requests_refused(void **state)
{
    struct fixture *f = *state;
    char buf[512];
    static const char echo[] = "{\"method\":\"echo\",\"params\":[\"x\"],\"id\":\"e\"}";
    tell(f, echo, sizeof echo - 1);
    read_from(f, buf, sizeof buf);
    assert_string_equal(buf, "{\"error\":null,\"id\":\"e\",\"result\":[\"x\"]}");
    static const char other[] = "{\"method\":\"steal\",\"params\":[],\"id\":7}";
    tell(f, other, sizeof other - 1);
    read_from(f, buf, sizeof buf);
    assert_string_equal(buf, "{\"error\":\"unknown method\",\"id\":7,\"result\":null}");
    assert_int_equal(f->n_notified, 0);
}

static void
errors_are_put_into_words(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *error, *words;
    } cases[] = {
        {"\"no\"", "no"},
        {"{\"error\":\"a\",\"details\":\"b\"}", "a: b"},
        {"{\"error\":[]}", "refused without a reason"},
        {"17", "refused without a reason"},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        char text[200];
        ef_jsonrpc_call(f->rpc, "m", json_array(), got_reply, f);
        int n = snprintf(text, sizeof text, "{\"id\":%zu,\"result\":null,\"error\":%s}", i, cases[i].error);
        tell(f, text, (size_t) n);
        assert_string_equal(f->reply, cases[i].words);
    }
}

static void
lies_end_the_connection(void **state)
{
    static const char *const lies[] = {
        "{\"id\":99,\"result\":1,\"error\":null}",
        "{\"id\":\"x\",\"result\":1}",
        "{}",
        "[]",
        "{\"method\":\"a\"}",
        "{\"method\":\"a\",\"params\":{}}",
        "{\"method\":1,\"params\":[],\"id\":null}",
        "{\"a\":}",
        "garbage",
        "{\"method\":\"\xff\",\"params\":[],\"id\":null}",
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(lies); i++) {
        assert_int_equal(setup(state), 0);
        struct fixture *f = *state;
        ef_jsonrpc_call(f->rpc, "m", json_array(), got_reply, f);
        tell(f, lies[i], strlen(lies[i]));
        while (!f->closed[0]) {
            event_base_loop(f->base, EVLOOP_ONCE);
        }
        assert_int_equal(f->n_replies, 1); /* The call was told. */
        teardown(state);
    }
}

static void
silence_is_probed_then_given_up(void **state)
{
    struct fixture *f = *state;
    ef_jsonrpc_destroy(f->rpc);
    close(f->peer);
    f->connected = false;
    ef_jsonrpc_connect(f->base, &f->address, NULL, &handlers, 30, f, &f->rpc);
    f->peer = accept(f->listener, NULL, NULL);
    while (!f->closed[0]) {
        event_base_loop(f->base, EVLOOP_ONCE);
    }
    assert_string_equal(f->closed, "the peer is silent");
    char buf[256] = "";
    assert_true(read(f->peer, buf, sizeof buf - 1) > 0);
    assert_non_null(strstr(buf, "\"echo\""));
}

static void
ends_are_told(void **state)
{
    struct fixture *f = *state;
    close(f->peer);
    f->peer = -1;
    while (!f->closed[0]) {
        event_base_loop(f->base, EVLOOP_ONCE);
    }
    assert_string_equal(f->closed, "connection closed by the peer");
    ef_jsonrpc_destroy(f->rpc);
    struct ef_net_address nowhere;
    ef_net_address_parse("unix:/nonexistent/socket", &nowhere, NULL);
    f->closed[0] = '\0';
    ef_jsonrpc_connect(f->base, &nowhere, NULL, &handlers, 1000, f, &f->rpc);
    ef_jsonrpc_call(f->rpc, "m", json_array(), got_reply, f);
    while (!f->closed[0]) {
        event_base_loop(f->base, EVLOOP_ONCE);
    }
    assert_string_equal(f->closed, "No such file or directory");
    assert_string_equal(f->reply, "No such file or directory");
}

static void
callbacks_may_destroy(void **state)
{
    struct fixture *f = *state;
    f->destroy_in_reply = true;
    ef_jsonrpc_call(f->rpc, "m", json_array(), got_reply, f);
    ef_jsonrpc_call(f->rpc, "m", json_array(), got_reply, f);
    static const char both[] = "{\"id\":0,\"result\":1,\"error\":null}{\"id\":1,\"result\":2,\"error\":null}";
    tell(f, both, sizeof both - 1);
    assert_int_equal(f->n_replies, 1);
    assert_null(f->rpc);
}

/* --- Values --------------------------------------------------------------- */

static json_t *
value(const char *text)
{
    json_t *json = json_loads(text, JSON_DECODE_ANY, NULL);
    assert_non_null(json);
    return json;
}

static void
values_are_compared_as_sets_and_maps(void **state)
{
    static const struct {
        const char *a, *b;
        bool equal;
    } cases[] = {
        {"\"x\"", "[\"set\",[\"x\"]]", true},
        {"[\"set\",[\"x\",\"y\"]]", "[\"set\",[\"y\",\"x\"]]", true},
        {"[\"set\",[]]", "[\"set\",[]]", true},
        {"[\"set\",[]]", "\"x\"", false},
        {"1", "2", false},
        {"[\"uuid\",\"a\"]", "[\"set\",[[\"uuid\",\"a\"]]]", true},
        {"[\"map\",[[\"a\",\"b\"],[\"c\",\"d\"]]]", "[\"map\",[[\"c\",\"d\"],[\"a\",\"b\"]]]", true},
        {"[\"map\",[]]", "[\"set\",[]]", false},
        {"{}", "{}", false},
        {"null", "null", false},
        {"[\"map\",[[1,2]]]", "[\"map\",[[1,2]]]", false},
        {"[\"set\",[null]]", "[\"set\",[null]]", false},
        {"[\"set\"]", "[\"set\"]", false},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        json_t *a = value(cases[i].a), *b = value(cases[i].b);
        assert_int_equal(ef_ovsdb_value_equal(a, b), cases[i].equal);
        json_decref(a);
        json_decref(b);
    }
    assert_false(ef_ovsdb_value_equal(NULL, NULL));
    json_t *object = value("{\"owner\":\"me\"}"), *map = ef_ovsdb_map_of_object(object),
           *back = ef_ovsdb_map_object(map);
    assert_true(json_equal(object, back));
    json_decref(object);
    json_decref(map);
    json_decref(back);
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_are_found_however_they_are_cut),
        cmocka_unit_test(what_is_no_message_is_refused),
        TEST(calls_are_answered_however_the_bytes_come),
        TEST(echoes_are_answered_and_requests_refused),
        TEST(errors_are_put_into_words),
        cmocka_unit_test(lies_end_the_connection),
        TEST(silence_is_probed_then_given_up),
        TEST(ends_are_told),
        TEST(callbacks_may_destroy),
        cmocka_unit_test(values_are_compared_as_sets_and_maps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
