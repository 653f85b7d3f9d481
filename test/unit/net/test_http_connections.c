/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of which connections lib/net/http_server keeps when there are too many:
 * clients are sockets of this thread, which runs the server in between. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/time.h"
#include "base/util.h"
#include "net/address.h"
#include "net/http_server.h"

enum { MAX = 8, PATIENCE_S = 60, MANY = 40 };

struct fixture {
    struct event_base *base;
    struct ef_http_server *server;
    struct ef_net_address address;
};

static void
get_one(struct ef_http_request *req, void *ctx)
{
    ef_http_reply_json(req, 200, json_pack("{s:i}", "one", 1));
}

static void
post_one(struct ef_http_request *req, void *ctx)
{
    get_one(req, ctx);
}

static void
produce(struct ef_http_request *req, void *ctx)
{
    static const char zeros[65536];
    struct evbuffer *out = evbuffer_new();
    evbuffer_add(out, zeros, sizeof zeros);
    ef_http_stream_write(req, out);
    evbuffer_free(out);
}

static void
gone(void *ctx)
{
}

static void
get_stream(struct ef_http_request *req, void *ctx)
{
    ef_http_stream_start(req, "text/plain", produce, gone, ctx);
}

static const struct ef_http_route routes[] = {
    {"GET", "/one", NULL, get_one},
    {"POST", "/one", NULL, post_one},
    {"GET", "/stream", NULL, get_stream},
    {0},
};

static int
setup(void **state)
{
    struct fixture *f = *state = calloc(1, sizeof *f);
    signal(SIGPIPE, SIG_IGN);
    f->base = event_base_new();
    int rc = ef_http_server_create(f->base, "127.0.0.1:0", NULL, &f->server, NULL);
    if (!rc) {
        ef_http_server_limit(f->server, MAX);
        ef_http_server_add_routes(f->server, routes, f);
        rc = ef_net_address_parse(ef_http_server_address(f->server), &f->address, NULL);
    }
    return rc;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;
    ef_http_server_destroy(f->server);
    event_base_free(f->base);
    free(f);
    libevent_global_shutdown();
    return 0;
}

/* --- Clients ---------------------------------------------------------------------- */

static void
run(struct fixture *f)
{
    static const struct timeval moment = {.tv_usec = 2000};
    event_base_loopexit(f->base, &moment);
    event_base_dispatch(f->base);
}

/* A connection from 127.0.0.`host`, which the server has seen. */
static int
connect_from(struct fixture *f, unsigned host)
{
    struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000000 | host)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *) &from, sizeof from), 0);
    assert_int_equal(connect(fd, (struct sockaddr *) &f->address.storage, f->address.len), 0);
    run(f);
    return fd;
}

static void
send_text(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

static bool
is_closed(int fd)
{
    char byte;
    ssize_t n = recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
    return n == 0 || (n < 0 && errno != EAGAIN);
}

/* Reads until the server closes; what came is in `reply`, NUL-terminated. */
static void
read_to_end(struct fixture *f, int fd, char *reply, size_t size)
{
    size_t len = 0;
    struct ef_time end = ef_time_add_ms(ef_time_mono(), PATIENCE_S * 1000);
    for (;;) {
        ssize_t n = recv(fd, reply + len, size - 1 - len, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN)) {
            break;
        }
        len += n > 0 ? (size_t) n : 0;
        assert_true(ef_time_before(ef_time_mono(), end)); /* The server closes the connection. */
        run(f);
    }
    reply[len] = '\0';
}

/* True if a client that asks at once gets its answer. */
static bool
is_answered(struct fixture *f, unsigned host)
{
    static const char request[] = "GET /one HTTP/1.1\r\nConnection: close\r\n\r\n";
    char reply[4096];
    int fd = connect_from(f, host);
    if (send(fd, request, strlen(request), MSG_NOSIGNAL) < 0) {
        close(fd);
        return false;
    }
    read_to_end(f, fd, reply, sizeof reply);
    close(fd);
    return strstr(reply, "{\"one\":1}") != NULL;
}

static struct ef_http_server_stats
stats_of(struct fixture *f)
{
    struct ef_http_server_stats stats;
    ef_http_server_stats(f->server, &stats);
    return stats;
}

static void
close_all(int fds[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        close(fds[i]);
    }
}

/* --- Tests ------------------------------------------------------------------------ */

static void
who_waits_longest_makes_room(void **state)
{
    struct fixture *f = *state;
    int fds[MANY];
    for (int i = 0; i < MANY; i++) {
        fds[i] = connect_from(f, 1);
        if (i % 3) { /* Nothing, half a line, half a header. */
            send_text(fds[i], i % 3 == 1 ? "GET /o" : "GET /one HTTP/1.1\r\nHost: a\r\nX-Slow: ");
        }
        run(f);
        assert_true(stats_of(f).connections_open <= MAX / 2);
    }
    assert_int_equal(stats_of(f).connections_displaced, MANY - MAX / 2);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(is_closed(fds[i]), i < MANY - MAX / 2);
    }
    assert_true(is_answered(f, 1));
    close_all(fds, MANY);
}

static void
one_address_has_half_of_them(void **state)
{
    struct fixture *f = *state;
    int fds[MANY], other = connect_from(f, 2);
    for (int i = 0; i < MANY; i++) {
        fds[i] = connect_from(f, 1);
    }
    assert_false(is_closed(other));
    send_text(other, "GET /one HTTP/1.1\r\nConnection: close\r\n\r\n");
    char reply[4096];
    read_to_end(f, other, reply, sizeof reply);
    assert_non_null(strstr(reply, "{\"one\":1}"));
    close(other);
    close_all(fds, MANY);
}

static void
many_addresses_have_no_more_than_all(void **state)
{
    struct fixture *f = *state;
    int fds[MANY];
    for (int i = 0; i < MANY; i++) {
        fds[i] = connect_from(f, 10 + (unsigned) i);
        assert_true(stats_of(f).connections_open <= MAX);
    }
    assert_int_equal(stats_of(f).connections_open, MAX);
    assert_true(is_answered(f, 1));
    close_all(fds, MANY);
}

static void
answers_are_not_interrupted_for_newcomers(void **state)
{
    struct fixture *f = *state;
    int fds[MAX / 2];
    for (int i = 0; i < MAX / 2; i++) { /* They do not read. */
        fds[i] = connect_from(f, 1);
        send_text(fds[i], "GET /stream HTTP/1.1\r\n\r\n");
        run(f);
    }
    assert_int_equal(stats_of(f).streams_open, MAX / 2);
    int late = connect_from(f, 1);
    assert_true(is_closed(late));
    assert_int_equal(stats_of(f).streams_open, MAX / 2);
    assert_true(is_answered(f, 2));
    close(late);

    /* But those who take nothing are, after a while. */
    struct ef_time end = ef_time_add_ms(ef_time_mono(), PATIENCE_S * 1000);
    while (!is_answered(f, 1)) {
        assert_true(ef_time_before(ef_time_mono(), end));
        run(f);
    }
    assert_int_equal(stats_of(f).streams_open, MAX / 2 - 1);
    close_all(fds, MAX / 2);
}

static void
half_sent_bodies_are_bounded(void **state)
{
    enum { N = 24, BODY = 1 << 20 };
    struct fixture *f = *state;
    int fds[N];
    static char body[BODY];
    memset(body, 'b', sizeof body);
    ef_http_server_limit(f->server, 2 * N + 2);
    for (int i = 0; i < N; i++) {
        fds[i] = connect_from(f, 1);
        send_text(fds[i], "POST /one HTTP/1.1\r\nContent-Length: 1048577\r\n\r\n");
        for (size_t sent = 0; sent < BODY && !is_closed(fds[i]);) {
            ssize_t n = send(fds[i], body + sent, BODY - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
            sent += n > 0 ? (size_t) n : 0;
            run(f);
        }
        assert_true(is_answered(f, 1));
    }
    assert_true(stats_of(f).connections_too_large >= N - EF_HTTP_MAX_UNANSWERED_BYTES / BODY);
    close_all(fds, N);
}

static void
requests_of_two_lengths_are_refused(void **state)
{
    static const char *const heads[] = {
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
        "Content-Length: 0\r\nContent-Length: 0\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: identity\r\n",
        "Transfer-Encoding : chunked\r\n",
        "Content-Length: +0\r\n",
        "Content-Length: 0x0\r\n",
        "Content-Length: -1\r\n",
        "Content-Length:\r\n",
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(heads); i++) {
        char request[512], reply[8192];
        int fd = connect_from(*state, 1);
        snprintf(request, sizeof request, "POST /one HTTP/1.1\r\n%s\r\n0\r\n\r\nGET /one HTTP/1.1\r\n\r\n", heads[i]);
        send_text(fd, request);
        read_to_end(*state, fd, reply, sizeof reply);
        assert_memory_equal(reply, "HTTP/1.1 400 ", 13);
        assert_null(strstr(reply, "HTTP/1.1 200 "));
        close(fd);
    }
}

static void
chunked_requests_and_pipelines_are_answered(void **state)
{
    char reply[8192];
    int fd = connect_from(*state, 1);
    send_text(fd, "POST /one HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n"
                  "POST /one HTTP/1.1\r\nContent-Length: 2\r\n\r\nab"
                  "GET /one HTTP/1.1\r\nConnection: close\r\n\r\n");
    read_to_end(*state, fd, reply, sizeof reply);
    const char *first = strstr(reply, "{\"one\":1}"), *second = first ? strstr(first + 1, "{\"one\":1}") : NULL;
    assert_non_null(second);
    assert_non_null(strstr(second + 1, "{\"one\":1}"));
    close(fd);
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(who_waits_longest_makes_room),
        TEST(one_address_has_half_of_them),
        TEST(many_addresses_have_no_more_than_all),
        TEST(answers_are_not_interrupted_for_newcomers),
        TEST(half_sent_bodies_are_bounded),
        TEST(requests_of_two_lengths_are_refused),
        TEST(chunked_requests_and_pipelines_are_answered),
    };
    return cmocka_run_group_tests_name("net/http_connections", tests, NULL, NULL);
}
