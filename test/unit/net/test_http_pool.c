/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of lib/net/http_pool through the client, against a server that does what a
 * script says: which answers leave a connection to be used again, and what becomes
 * of a request whose connection was closed just then. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/util.h"
#include "net/http_client.h"
#include "net/http_pool.h"

enum { PATIENCE_S = 60, MANY = 40, PEER_CONNECTIONS = 32 };

#define OK "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define CLOSE "" /* The connection, without an answer. */

struct connection {
    LIST_ENTRY(connection) next;
    struct fixture *fixture;
    struct bufferevent *bev;
};

struct fixture {
    struct event_base *base;
    struct evconnlistener *listener;
    struct ef_http_pool *pool;
    LIST_HEAD(, connection) connections; /* The server's. */
    const char *const *script;           /* The answers to its requests, in order; the last one is the rest's. */
    char url[64], target[64];            /* The target that was asked last. */
    unsigned n_accepted, n_requests, n_open;
    unsigned n_done, n_failed;
    char error[256];
};

/* --- The server --------------------------------------------------------------- */

static void
end_connection(struct connection *c)
{
    c->fixture->n_open--;
    LIST_REMOVE(c, next);
    bufferevent_free(c->bev);
    free(c);
}

static void
on_request(struct bufferevent *bev, void *arg)
{
    struct connection *c = arg;
    struct fixture *f = c->fixture;
    struct evbuffer *in = bufferevent_get_input(bev);
    char method[16], text[4096];
    ssize_t n = evbuffer_copyout(in, text, sizeof text - 1);
    assert_true(n > 0);
    text[n] = '\0';
    if (!strstr(text, "\r\n\r\n")) {
        fail_msg("not a request in one piece: %s", text);
    }
    assert_int_equal(sscanf(text, "%15s %63s", method, f->target), 2);
    evbuffer_drain(in, evbuffer_get_length(in));
    f->n_requests++;
    const char *answer = *f->script;
    f->script += f->script[1] != NULL;
    if (!*answer) {
        end_connection(c);
    } else {
        bufferevent_write(bev, answer, strlen(answer));
    }
}

static void
on_end(struct bufferevent *bev, short what, void *arg)
{
    end_connection(arg);
}

static void
end_when_sent(struct bufferevent *bev, void *arg)
{
    end_connection(arg);
}

static void
on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address, int len, void *arg)
{
    struct fixture *f = arg;
    struct connection *c = calloc(1, sizeof *c);
    c->fixture = f;
    c->bev = bufferevent_socket_new(f->base, fd, BEV_OPT_CLOSE_ON_FREE);
    LIST_INSERT_HEAD(&f->connections, c, next);
    f->n_accepted++;
    f->n_open++;
    bufferevent_setcb(c->bev, on_request, NULL, on_end, c);
    bufferevent_enable(c->bev, EV_READ | EV_WRITE);
}

static int
setup(void **state)
{
    struct fixture *f = *state = calloc(1, sizeof *f);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    f->base = event_base_new();
    f->pool = ef_http_pool_create();
    LIST_INIT(&f->connections);
    f->listener = evconnlistener_new_bind(f->base, on_accept, f, LEV_OPT_CLOSE_ON_FREE, 128,
                                          (struct sockaddr *) &address, sizeof address);
    if (!f->listener || getsockname(evconnlistener_get_fd(f->listener), (struct sockaddr *) &address, &len)) {
        return -1;
    }
    snprintf(f->url, sizeof f->url, "http://127.0.0.1:%u", ntohs(address.sin_port));
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;
    ef_http_pool_destroy(f->pool);
    while (!LIST_EMPTY(&f->connections)) {
        end_connection(LIST_FIRST(&f->connections));
    }
    evconnlistener_free(f->listener);
    event_base_free(f->base);
    free(f);
    libevent_global_shutdown();
    return 0;
}

/* --- The client --------------------------------------------------------------- */

static void
take_result(void *ctx, const struct ef_http_result *result)
{
    struct fixture *f = ctx;
    f->n_done++;
    f->n_failed += result->status != 200;
    ef_http_result_explain(result, f->error, sizeof f->error);
}

static struct ef_http_call *
start(struct fixture *f, const char *method, const char *target)
{
    struct ef_http_call *call;
    struct ef_http_call_spec spec = {.server = f->url,
                                     .pool = f->pool,
                                     .method = method,
                                     .target = target,
                                     .timeout_ms = PATIENCE_S * 1000,
                                     .on_done = take_result,
                                     .ctx = f};
    assert_int_equal(ef_http_call_start(f->base, &spec, &call, NULL), 0);
    return call;
}

static void
give_up(evutil_socket_t fd, short what, void *arg)
{
    fail_msg("nothing came of it in %d s", PATIENCE_S);
}

/* Runs until `*number` is `value`. */
static void
wait_for(struct fixture *f, const unsigned *number, unsigned value)
{
    struct timeval patience = {.tv_sec = PATIENCE_S};
    struct event *late = evtimer_new(f->base, give_up, NULL);
    event_add(late, &patience);
    while (*number != value) {
        event_base_loop(f->base, EVLOOP_ONCE);
    }
    event_free(late);
}

static void
ask(struct fixture *f, const char *method, const char *target)
{
    unsigned n = f->n_done;
    start(f, method, target);
    wait_for(f, &f->n_done, n + 1);
}

static struct ef_http_pool_stats
stats_of(const struct fixture *f)
{
    struct ef_http_pool_stats stats;
    ef_http_pool_stats(f->pool, &stats);
    return stats;
}

/* --- Tests -------------------------------------------------------------------- */

static void
one_connection_serves_many_requests(void **state)
{
    static const char *const script[] = {OK,
                                         "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
                                         "HTTP/1.1 204 No Content\r\n\r\n", OK, NULL};
    struct fixture *f = *state;
    f->script = script;
    for (int i = 0; i < 10; i++) {
        ask(f, i % 2 ? "GET" : "DELETE", "/x");
    }
    assert_int_equal(f->n_requests, 10);
    assert_int_equal(f->n_accepted, 1);
    assert_int_equal(f->n_failed, 1); /* The 204. */
    assert_int_equal(stats_of(f).reused, 9);
    assert_int_equal(stats_of(f).idle, 1);
}

static void
calls_at_once_have_their_own(void **state)
{
    static const char *const script[] = {OK, NULL};
    struct fixture *f = *state;
    f->script = script;
    for (int i = 0; i < MANY; i++) {
        start(f, NULL, "/x");
    }
    wait_for(f, &f->n_done, MANY);
    assert_int_equal(f->n_accepted, MANY);
    assert_int_equal(stats_of(f).idle, PEER_CONNECTIONS);
    wait_for(f, &f->n_open, PEER_CONNECTIONS);
    for (int i = 0; i < PEER_CONNECTIONS; i++) {
        start(f, NULL, "/x");
    }
    wait_for(f, &f->n_done, MANY + PEER_CONNECTIONS);
    assert_int_equal(f->n_accepted, MANY);
    assert_int_equal(f->n_failed, 0);
}

/* What leaves a doubt whether the next answer would be ours. */
static void
doubtful_connections_are_closed(void **state)
{
    static const char *const answers[] = {
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nConnection: keep-alive, close\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    };
    struct fixture *f = *state;
    for (unsigned i = 0; i < EF_ARRAY_SIZE(answers); i++) {
        const char *const script[] = {answers[i], NULL};
        f->script = script;
        ask(f, "GET", "/x");
        assert_int_equal(f->n_accepted, i + 1);
        assert_int_equal(stats_of(f).idle, 0);
        wait_for(f, &f->n_open, 0);
    }
    assert_int_equal(f->n_failed, 0);
}

static void
a_closed_connection_is_noticed(void **state)
{
    static const char *const script[] = {OK, NULL};
    struct fixture *f = *state;
    f->script = script;
    ask(f, "GET", "/x");
    assert_int_equal(stats_of(f).idle, 1);
    end_connection(LIST_FIRST(&f->connections));
    ask(f, "GET", "/x"); /* The end is on its way, or has been seen. */
    assert_int_equal(f->n_accepted, 2);
    assert_int_equal(f->n_failed, 0);
    /* One that speaks without having been asked. */
    bufferevent_write(LIST_FIRST(&f->connections)->bev, OK, strlen(OK));
    wait_for(f, &f->n_open, 0);
    assert_int_equal(stats_of(f).idle, 0);
}

static void
what_got_no_answer_is_asked_once_more(void **state)
{
    static const char *const closes_once[] = {OK, CLOSE, OK, NULL}, *const closes_twice[] = {CLOSE, CLOSE, OK, NULL};
    struct fixture *f = *state;
    f->script = closes_once;
    ask(f, "GET", "/first");
    ask(f, "GET", "/second");
    assert_string_equal(f->target, "/second");
    assert_int_equal(f->n_accepted, 2);
    assert_int_equal(f->n_requests, 3);
    assert_int_equal(f->n_failed, 0);
    assert_int_equal(stats_of(f).idle, 1);
    f->script = closes_twice; /* The new connection's end is an answer of its own. */
    ask(f, "GET", "/third");
    assert_int_equal(f->n_requests, 5);
    assert_int_equal(f->n_failed, 1);
    assert_non_null(strstr(f->error, "closed without an answer"));
}

static void
what_got_part_of_an_answer_is_not_asked_again(void **state)
{
    static const char *const script[] = {OK, "HTTP/1.1 2", OK, NULL};
    struct fixture *f = *state;
    f->script = script;
    ask(f, "GET", "/x");
    start(f, "GET", "/x");
    wait_for(f, &f->n_requests, 2);
    bufferevent_setcb(LIST_FIRST(&f->connections)->bev, NULL, end_when_sent, on_end, LIST_FIRST(&f->connections));
    wait_for(f, &f->n_done, 2);
    assert_int_equal(f->n_failed, 1);
    assert_int_equal(f->n_requests, 2);
    assert_int_equal(f->n_accepted, 1);
}

/* Who can say whether it was done before the connection ended? */
static void
what_may_not_be_repeated_has_a_new_connection(void **state)
{
    static const char *const script[] = {OK, OK, CLOSE, OK, NULL};
    struct fixture *f = *state;
    f->script = script;
    ask(f, "GET", "/x");
    ask(f, "POST", "/x");
    assert_int_equal(f->n_accepted, 2);
    assert_int_equal(stats_of(f).idle, 2);
    ask(f, "POST", "/x");
    assert_int_equal(f->n_accepted, 3);
    assert_int_equal(f->n_requests, 3);
    assert_int_equal(f->n_failed, 1);
}

static void
a_cancelled_call_closes_its_connection(void **state)
{
    static const char *const script[] = {OK, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", NULL};
    struct fixture *f = *state;
    f->script = script;
    ask(f, "GET", "/x");
    struct ef_http_call *call = start(f, "GET", "/x");
    wait_for(f, &f->n_requests, 2);
    ef_http_call_cancel(call);
    wait_for(f, &f->n_open, 0);
    assert_int_equal(f->n_accepted, 1);
    assert_int_equal(stats_of(f).idle, 0);
}

static void
names_have_connections_of_their_own(void **state)
{
    static const char *const script[] = {OK, NULL};
    struct fixture *f = *state;
    f->script = script;
    ask(f, "GET", "/x");
    char port[8];
    snprintf(port, sizeof port, "%s", strrchr(f->url, ':') + 1);
    snprintf(f->url, sizeof f->url, "http://localhost:%s", port);
    ask(f, "GET", "/x");
    assert_int_equal(f->n_accepted, 2);
    assert_int_equal(f->n_failed, 0);
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(one_connection_serves_many_requests),
        TEST(calls_at_once_have_their_own),
        TEST(doubtful_connections_are_closed),
        TEST(a_closed_connection_is_noticed),
        TEST(what_got_no_answer_is_asked_once_more),
        TEST(what_got_part_of_an_answer_is_not_asked_again),
        TEST(what_may_not_be_repeated_has_a_new_connection),
        TEST(a_cancelled_call_closes_its_connection),
        TEST(names_have_connections_of_their_own),
    };
    signal(SIGPIPE, SIG_IGN); /* As every daemon does. */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
