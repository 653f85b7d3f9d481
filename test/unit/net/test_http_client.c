/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of lib/net/http_client against our own server on the same event base,
 * and against sockets that misbehave. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <stdio.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/address.h"
#include "net/http_client.h"
#include "net/http_server.h"

enum { N_LINES = 5000 };

struct fixture {
    struct event_base *base;
    struct ef_http_server *server;
    char url[160];
    unsigned n_written, n_gone; /* Of the server's stream. */
    struct ef_http_call *call;
    unsigned n_lines, pause_at, cancel_at;
    bool done;
    int status;
    char error[256], body[256];
    struct ef_http_request *held;
};

static void
get_lines(struct ef_http_request *req, void *ctx)
{
    struct fixture *f = ctx;
    if (f->n_written == N_LINES) {
        ef_http_stream_end(req);
        return;
    }
    struct evbuffer *out = evbuffer_new();
    char filler[1000];
    memset(filler, '.', sizeof filler);
    evbuffer_add_printf(out, "%u %.*s%s", f->n_written, (int) sizeof filler, filler,
                        f->n_written + 1 == N_LINES ? ""
                        : f->n_written % 2          ? "\r\n"
                                                    : "\n\n");
    f->n_written++;
    ef_http_stream_write(req, out);
    evbuffer_free(out);
}

static void
lines_gone(void *ctx)
{
    ((struct fixture *) ctx)->n_gone++;
}

static void
start_lines(struct ef_http_request *req, void *ctx)
{
    ef_http_stream_start(req, "application/x-ndjson", get_lines, lines_gone, ctx);
}

static void
post_size(struct ef_http_request *req, void *ctx)
{
    const char *data;
    ef_http_reply_json(req, 200, json_pack("{s:i}", "size", (int) ef_http_body(req, &data)));
}

static void
get_wrong(struct ef_http_request *req, void *ctx)
{
    ef_http_reply_error(req, 400, "bad", -1, "the reason");
}

static void
get_never(struct ef_http_request *req, void *ctx)
{
    ((struct fixture *) ctx)->held = req;
}

static const struct ef_http_route routes[] = {
    {"GET", "/lines", NULL, start_lines},
    {"POST", "/size", NULL, post_size},
    {"GET", "/wrong", NULL, get_wrong},
    {"GET", "/never", NULL, get_never},
    {0},
};

static int
setup(void **state)
{
    struct fixture *f = *state = calloc(1, sizeof *f);
    f->base = event_base_new();
    if (ef_http_server_create(f->base, "127.0.0.1:0", NULL, &f->server, NULL)) {
        return -1;
    }
    ef_http_server_add_routes(f->server, routes, f);
    snprintf(f->url, sizeof f->url, "http://%s", ef_http_server_address(f->server));
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;
    ef_http_server_destroy(f->server);
    if (f->held) {
        ef_http_reply(f->held, 200, NULL, NULL);
    }
    event_base_free(f->base);
    free(f);
    libevent_global_shutdown();
    return 0;
}

static void
take_line(void *ctx, char *line, size_t len)
{
    struct fixture *f = ctx;
    assert_int_equal(strtoul(line, NULL, 10), f->n_lines);
    assert_int_equal(line[len - 1], '.');
    f->n_lines++;
    if (f->n_lines == f->pause_at) {
        ef_http_call_pause(f->call);
    }
    if (f->n_lines == f->cancel_at) {
        ef_http_call_cancel(f->call);
        f->done = true;
    }
    assert_true(!f->cancel_at || f->n_lines <= f->cancel_at);
}

static void
take_result(void *ctx, const struct ef_http_result *result)
{
    struct fixture *f = ctx;
    assert_false(f->done);
    f->done = true;
    f->status = result->status;
    ef_http_result_explain(result, f->error, sizeof f->error);
    snprintf(f->body, sizeof f->body, "%s", result->body);
}

static void
start(struct fixture *f, struct ef_http_call_spec spec)
{
    spec.server = spec.server ? spec.server : f->url;
    spec.on_done = take_result;
    spec.ctx = f;
    f->done = false;
    assert_int_equal(ef_http_call_start(f->base, &spec, &f->call, NULL), 0);
}

static void
run(struct fixture *f, struct ef_http_call_spec spec)
{
    start(f, spec);
    while (!f->done) {
        event_base_loop(f->base, EVLOOP_ONCE);
    }
}

static void
lines_come_one_by_one(void **state)
{
    struct fixture *f = *state;
    run(f, (struct ef_http_call_spec){.target = "/lines", .on_line = take_line});
    assert_int_equal(f->status, 200);
    assert_int_equal(f->n_lines, N_LINES);
    assert_string_equal(f->body, "");
}

static void
pausing_stops_the_sender(void **state)
{
    struct fixture *f = *state;
    f->pause_at = 3;
    start(f, (struct ef_http_call_spec){.target = "/lines", .on_line = take_line, .timeout_ms = 100});
    /* The server fills the kernel's buffers and stops; nothing times out. */
    unsigned before;
    struct timeval nap = {.tv_usec = 150000};
    do {
        before = f->n_written;
        event_base_loopexit(f->base, &nap);
        event_base_dispatch(f->base);
    } while (f->n_written != before);
    assert_true(f->n_lines < 200);
    assert_false(f->done);
    ef_http_call_resume(f->call);
    while (!f->done) {
        event_base_loop(f->base, EVLOOP_ONCE);
    }
    assert_int_equal(f->n_lines, N_LINES);
    assert_int_equal(f->status, 200);
}

static void
cancelling_is_seen_by_the_server(void **state)
{
    struct fixture *f = *state;
    f->cancel_at = 7;
    run(f, (struct ef_http_call_spec){.target = "/lines", .on_line = take_line});
    while (!f->n_gone) {
        event_base_loop(f->base, EVLOOP_ONCE);
    }
    assert_int_equal(f->n_lines, 7);
}

static void
bodies_go_there_and_back(void **state)
{
    struct fixture *f = *state;
    char body[100000];
    memset(body, 'x', sizeof body);
    run(f, (struct ef_http_call_spec){.target = "/size", .method = "POST", .body = body, .body_len = sizeof body});
    assert_int_equal(f->status, 200);
    assert_string_equal(f->body, "{\"size\":100000}\n");
    run(f, (struct ef_http_call_spec){.target = "/wrong", .on_line = take_line});
    assert_int_equal(f->status, 400);
    assert_string_equal(f->error, "the reason");
    assert_int_equal(f->n_lines, 0);
}

static void
failures_are_told_in_words(void **state)
{
    struct fixture *f = *state;
    run(f, (struct ef_http_call_spec){.target = "/never", .timeout_ms = 50});
    assert_int_equal(f->status, 0);
    assert_non_null(strstr(f->error, "no answer within 0.1 s"));
    run(f, (struct ef_http_call_spec){.target = "/lines", .on_line = take_line, .max_bytes = 500});
    assert_non_null(strstr(f->error, "a line of more than 500 bytes"));
    run(f, (struct ef_http_call_spec){.server = "unix:/nonexistent/socket", .target = "/", .program = "ef-x"});
    assert_string_equal(f->error, "unix:/nonexistent/socket: no such socket: is ef-x running?");
    /* A port that was just given back. */
    struct ef_net_address address;
    assert_int_equal(ef_net_address_parse("127.0.0.1:0", &address, NULL), 0);
    close(ef_net_listen(&address, 1, NULL));
    char text[EF_NET_ADDRESS_TEXT_SIZE], url[160];
    snprintf(url, sizeof url, "http://%s", ef_net_address_format(&address, text));
    run(f, (struct ef_http_call_spec){.server = url, .target = "/", .program = "ef-analyzer"});
    assert_non_null(strstr(f->error, "connection refused: is ef-analyzer running?"));
}

static void
urls_are_checked(void **state)
{
    static const char *const good[] = {"http://127.0.0.1:1",  "http://127.0.0.1",    "http://[::1]/",
                                       "http://[::1]:8/",     "http://localhost:80", "unix:/x",
                                       "https://127.0.0.1:1", "https://[::1]",       "https://localhost/"};
    static const char *const bad[] = {"",
                                      "127.0.0.1:1",
                                      "https://name:1",
                                      "https://",
                                      "https:127.0.0.1",
                                      "http://[::1",
                                      "http://name:1",
                                      "http://127.0.0.1:1/x",
                                      "http://127.0.0.1:99999",
                                      "unix:",
                                      "ftp://127.0.0.1"};
    for (size_t i = 0; i < EF_ARRAY_SIZE(good); i++) {
        assert_int_equal(ef_http_server_url_check(good[i], NULL), 0);
    }
    for (size_t i = 0; i < EF_ARRAY_SIZE(bad); i++) {
        struct ef_error err = EF_ERROR_INIT;
        assert_int_equal(ef_http_server_url_check(bad[i], &err), -EINVAL);
        assert_true(err.text[0]);
    }
    struct fixture *f = *state;
    struct ef_http_call *call;
    struct ef_http_call_spec spec = {.server = f->url, .target = "/a b HTTP/1.1\r\n", .on_done = take_result};
    assert_int_equal(ef_http_call_start(f->base, &spec, &call, NULL), -EINVAL);
}

static void
blocking_fetch_reports_both_ways(void **state)
{
    struct ef_http_answer answer;
    struct ef_error err = EF_ERROR_INIT;
    struct ef_http_call_spec spec = {.server = "unix:/nonexistent", .target = "/", .program = "ef-controller"};
    assert_int_equal(ef_http_fetch(&spec, &answer, &err), -EIO);
    assert_non_null(strstr(err.text, "is ef-controller running?"));
    ef_http_answer_deinit(&answer);
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(lines_come_one_by_one),
        TEST(pausing_stops_the_sender),
        TEST(cancelling_is_seen_by_the_server),
        TEST(bodies_go_there_and_back),
        TEST(failures_are_told_in_words),
        TEST(urls_are_checked),
        TEST(blocking_fetch_reports_both_ways),
    };
    signal(SIGPIPE, SIG_IGN); /* As every daemon does. */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
