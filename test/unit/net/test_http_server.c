/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of lib/net/http_server through real sockets: the client is a thread
 * that speaks raw bytes, the server runs on the main thread's event base. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/thread.h>
#include <pthread.h>
#include <stdio.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "net/address.h"
#include "net/http_server.h"
#include "net/metrics.h"

enum { STREAM_CHUNKS = 200, CHUNK_BYTES = 65536, REPLY_BYTES = 1 << 16 };

struct fixture {
    struct event_base *base;
    struct ef_http_server *server;
    struct ef_net_address address;
    struct ef_http_request *deferred;
    unsigned n_produced, n_gone;
    size_t most_pending;
};

/* --- Handlers ------------------------------------------------------------- */

static void
get_echo(struct ef_http_request *req, void *ctx)
{
    const char *text = ef_http_param(req, "text"), *host = ef_http_header(req, "Host");
    ef_http_reply_json(req, 200, json_pack("{s:s*, s:s*}", "text", text, "host", host));
}

static void
post_echo(struct ef_http_request *req, void *ctx)
{
    const char *data;
    size_t len = ef_http_body(req, &data);
    struct evbuffer *body = evbuffer_new();
    evbuffer_add(body, data, len);
    ef_http_reply(req, 201, "text/plain", body);
    evbuffer_free(body);
}

static void
get_error(struct ef_http_request *req, void *ctx)
{
    ef_http_reply_error(req, 400, "bad_filter", 12, "expected a value: \xff");
}

static void
get_deferred(struct ef_http_request *req, void *ctx)
{
    ((struct fixture *) ctx)->deferred = req;
}

static void
get_metrics(struct ef_http_request *req, void *ctx)
{
    struct ef_metrics m;
    ef_metrics_init(&m);
    ef_metrics_single(&m, "everflow_up", "gauge", "a\\b\nc \"d\"", 1);
    ef_metrics_family(&m, "everflow_drops_total", "counter", "drops");
    ef_metrics_value(&m, 12345678901234.0, "reason", "a\"b\\c\nd", "x", "y", NULL);
    ef_metrics_reply(&m, req);
}

static void
produce(struct ef_http_request *req, void *ctx)
{
    struct fixture *f = ctx;
    f->most_pending = EF_MAX(f->most_pending, ef_http_stream_pending(req));
    if (f->n_produced == STREAM_CHUNKS) {
        ef_http_stream_end(req);
        return;
    }
    f->n_produced++;
    struct evbuffer *out = evbuffer_new();
    static char chunk[CHUNK_BYTES];
    memset(chunk, 'x', sizeof chunk);
    evbuffer_add(out, chunk, sizeof chunk);
    ef_http_stream_write(req, out);
    evbuffer_free(out);
}

static void
gone(void *ctx)
{
    struct fixture *f = ctx;
    f->n_gone++;
    event_base_loopbreak(f->base);
}

static void
get_stream(struct ef_http_request *req, void *ctx)
{
    ef_http_stream_start(req, "text/plain", produce, gone, ctx);
}

static const char *const echo_params[] = {"text", NULL};
static const struct ef_http_route routes[] = {
    {"GET", "/v1/echo", echo_params, get_echo},
    {"POST", "/v1/echo", NULL, post_echo},
    {"GET", "/v1/error", NULL, get_error},
    {"GET", "/v1/deferred", NULL, get_deferred},
    {"GET", "/v1/stream", NULL, get_stream},
    {"GET", "/metrics", NULL, get_metrics},
    {0},
};

/* --- The client ----------------------------------------------------------- */

struct client {
    struct fixture *f;
    const char *request;
    size_t len;
    size_t max_read; /* Closes the connection after so many bytes; 0: reads to the end. */
    char *reply;
    size_t reply_len;
};

static int
connect_to(const struct ef_net_address *address)
{
    int fd = socket(address->storage.ss_family, SOCK_STREAM, 0);
    if (connect(fd, (const struct sockaddr *) &address->storage, address->len)) {
        close(fd);
        return -1;
    }
    return fd;
}

static void *
client_main(void *arg)
{
    struct client *c = arg;
    int fd = connect_to(&c->f->address);
    for (size_t sent = 0; sent < c->len;) {
        ssize_t n = send(fd, c->request + sent, c->len - sent, MSG_NOSIGNAL);
        if (n <= 0) {
            break;
        }
        sent += (size_t) n;
    }
    size_t total = 0;
    char buf[REPLY_BYTES];
    ssize_t n;
    while ((!c->max_read || total < c->max_read) && (n = read(fd, buf, sizeof buf)) > 0) {
        size_t room = REPLY_BYTES - 1 - EF_MIN(c->reply_len, (size_t) REPLY_BYTES - 1);
        memcpy(c->reply + c->reply_len, buf, EF_MIN((size_t) n, room));
        c->reply_len += EF_MIN((size_t) n, room);
        total += (size_t) n;
    }
    close(fd);
    c->reply[c->reply_len] = '\0';
    c->reply_len = total;
    event_base_loopbreak(c->f->base);
    return NULL;
}

/* Sends `request` and runs the server until the client has ended. Returns the
 * beginning of the reply, which the caller frees. */
static char *
exchange(struct fixture *f, const char *request, size_t len, size_t max_read, size_t *total)
{
    struct client c = {.f = f, .request = request, .len = len, .max_read = max_read, .reply = malloc(REPLY_BYTES)};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, client_main, &c), 0);
    event_base_loop(f->base, EVLOOP_NO_EXIT_ON_EMPTY);
    pthread_join(thread, NULL);
    if (total) {
        *total = c.reply_len;
    }
    return c.reply;
}

static char *
ask(struct fixture *f, const char *request)
{
    return exchange(f, request, strlen(request), 0, NULL);
}

/* --- Tests ---------------------------------------------------------------- */

static int
start_server(struct fixture *f, const char *address)
{
    evthread_use_pthreads();
    f->base = event_base_new();
    struct ef_error err = EF_ERROR_INIT;
    int rc = ef_http_server_create(f->base, address, NULL, &f->server, &err);
    if (!rc) {
        ef_http_server_add_routes(f->server, routes, f);
        rc = ef_net_address_parse(ef_http_server_address(f->server), &f->address, NULL);
    }
    return rc;
}

static int
setup(void **state)
{
    struct fixture *f = *state = calloc(1, sizeof *f);
    return start_server(f, "127.0.0.1:0");
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

static void
requests_are_routed_or_explained(void **state)
{
    static const struct {
        const char *request, *status, *part;
    } cases[] = {
        {"GET /v1/echo?text=a%20b HTTP/1.1\r\nHost: h\r\n", "200", "{\"text\":\"a b\",\"host\":\"h\"}\n"},
        {"GET /v1/echo HTTP/1.1\r\nHost: h\r\n", "200", "Content-Type: application/json\r\n"},
        {"GET /v1/echo?txet=1 HTTP/1.1\r\n", "400", "did you mean text?"},
        {"GET /v1/echo?text=%f HTTP/1.1\r\n", "400", "\"code\":\"bad_query\""},
        {"GET /v1/error HTTP/1.1\r\n", "400",
         "{\"error\":{\"code\":\"bad_filter\",\"message\":\"expected a value: ?\",\"offset\":12}}"},
        {"GET /v1/ecko HTTP/1.1\r\n", "404", "did you mean /v1/echo? (there are: /v1/echo, /v1/error"},
        {"GET / HTTP/1.1\r\n", "404", "there are: /v1/echo, /v1/error"},
        {"GET /v1/echo/ HTTP/1.1\r\n", "404", "\"code\":\"not_found\""},
        {"DELETE /v1/echo HTTP/1.1\r\n", "405", "Allow: GET, POST\r\n"},
        {"PUT /v1/echo HTTP/1.1\r\nContent-Length: 0\r\n", "405", "PUT is not possible on /v1/echo"},
        {"HEAD /v1/echo HTTP/1.1\r\n", "405", "Allow: GET, POST\r\n"},
        {"GET /metrics HTTP/1.1\r\n", "200",
         "# HELP everflow_up a\\\\b\\nc \"d\"\n# TYPE everflow_up gauge\neverflow_up 1\n"},
        {"GET /metrics HTTP/1.1\r\n", "200",
         "\neverflow_drops_total{reason=\"a\\\"b\\\\c\\nd\",x=\"y\"} 12345678901234\n"},
        {"GARBAGE\r\n", "400", ""},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        char request[512];
        snprintf(request, sizeof request, "%sConnection: close\r\n\r\n", cases[i].request);
        char *reply = ask(*state, request);
        char status[32];
        snprintf(status, sizeof status, " %s ", cases[i].status);
        assert_non_null(strstr(reply, cases[i].part));
        assert_non_null(strstr(reply, status));
        free(reply);
    }
}

static void
bodies_are_echoed_or_too_large(void **state)
{
    static const struct {
        size_t len;
        const char *status;
    } cases[] = {{0, "HTTP/1.1 201 "}, {5, "HTTP/1.1 201 "}, {EF_HTTP_MAX_BODY_BYTES + 1, "HTTP/1.1 413 "}};
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        char *request = malloc(cases[i].len + 200);
        int n = sprintf(request, "POST /v1/echo HTTP/1.1\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n",
                        cases[i].len);
        memset(request + n, 'b', cases[i].len);
        char *reply = exchange(*state, request, (size_t) n + cases[i].len, 0, NULL);
        assert_memory_equal(reply, cases[i].status, strlen(cases[i].status));
        if (cases[i].len == 5) {
            assert_non_null(strstr(reply, "\r\n\r\nbbbbb"));
        }
        free(reply);
        free(request);
    }
    /* A header beyond the limit is refused by the connection's end at least. */
    size_t len = EF_HTTP_MAX_HEADER_BYTES + 100;
    char *request = malloc(len);
    memset(request, 'a', len);
    memcpy(request, "GET /", 5);
    char *reply = exchange(*state, request, len, 0, NULL);
    assert_null(strstr(reply, " 200 "));
    free(reply);
    free(request);
}

static void
keep_alive_serves_several(void **state)
{
    static const char one[] = "GET /v1/echo?text=1 HTTP/1.1\r\n\r\n",
                      last[] = "GET /v1/echo?text=2 HTTP/1.1\r\nConnection: close\r\n\r\n";
    char request[256];
    snprintf(request, sizeof request, "%s%s%s", one, one, last);
    char *reply = ask(*state, request);
    char *first = strstr(reply, "{\"text\":\"1\"}");
    assert_non_null(first);
    assert_non_null(strstr(first + 1, "{\"text\":\"1\"}"));
    assert_non_null(strstr(first + 1, "{\"text\":\"2\"}"));
    free(reply);
}

static void
stream_is_produced_as_it_drains(void **state)
{
    struct fixture *f = *state;
    size_t total;
    static const char request[] = "GET /v1/stream HTTP/1.1\r\nConnection: close\r\n\r\n";
    char *reply = exchange(f, request, sizeof request - 1, 0, &total);
    assert_non_null(strstr(reply, "Transfer-Encoding: chunked\r\n"));
    assert_int_equal(f->n_produced, STREAM_CHUNKS);
    assert_true(total > (size_t) STREAM_CHUNKS * CHUNK_BYTES);
    assert_true(f->most_pending < 2 * CHUNK_BYTES);
    assert_int_equal(f->n_gone, 0);
    free(reply);
    struct ef_http_server_stats stats;
    ef_http_server_stats(f->server, &stats);
    assert_int_equal(stats.streams_open, 0);
}

static void
stream_is_cancelled_by_its_client(void **state)
{
    struct fixture *f = *state;
    static const char request[] = "GET /v1/stream HTTP/1.1\r\n\r\n";
    free(exchange(f, request, sizeof request - 1, 1000, NULL));
    while (!f->n_gone) {
        event_base_loop(f->base, EVLOOP_ONCE);
    }
    assert_true(f->n_produced < STREAM_CHUNKS);
    struct ef_http_server_stats stats;
    ef_http_server_stats(f->server, &stats);
    assert_int_equal(stats.streams_open, 0);
    assert_int_equal(stats.streams_cancelled, 1);
}

/* Destroying the server tells the stream and leaves the deferred request
 * valid: its late reply goes nowhere. */
static void
destroy_ends_what_is_open(void **state)
{
    struct fixture *f = *state;
    static const char deferred[] = "GET /v1/deferred HTTP/1.1\r\n\r\n", stream[] = "GET /v1/stream HTTP/1.1\r\n\r\n";
    int fds[2] = {connect_to(&f->address), connect_to(&f->address)};
    assert_int_equal(write(fds[0], deferred, sizeof deferred - 1), sizeof deferred - 1);
    assert_int_equal(write(fds[1], stream, sizeof stream - 1), sizeof stream - 1);
    while (!f->deferred || !f->n_produced) {
        event_base_loop(f->base, EVLOOP_ONCE);
    }
    ef_http_server_destroy(f->server);
    f->server = NULL;
    assert_int_equal(f->n_gone, 1);
    ef_http_reply_error(f->deferred, 500, "late", -1, "too late");
    close(fds[0]);
    close(fds[1]);
}

static void
reply_to_a_gone_client_is_harmless(void **state)
{
    struct fixture *f = *state;
    static const char request[] = "GET /v1/deferred HTTP/1.1\r\n\r\n";
    int fd = connect_to(&f->address);
    assert_int_equal(write(fd, request, sizeof request - 1), sizeof request - 1);
    while (!f->deferred) {
        event_base_loop(f->base, EVLOOP_ONCE);
    }
    close(fd);
    ef_http_reply_json(f->deferred, 200, json_object());
    event_base_loop(f->base, EVLOOP_NONBLOCK);
}

static void
addresses_are_refused_with_a_reason(void **state)
{
    struct fixture *f = *state;
    struct ef_http_server *server;
    struct ef_error err = EF_ERROR_INIT;
    assert_int_equal(ef_http_server_create(f->base, "0.0.0.0:8080", NULL, &server, &err), -EACCES);
    assert_non_null(strstr(err.text, "plain HTTP is only served on loopback"));
    assert_int_equal(ef_http_server_create(f->base, "8080", NULL, &server, &err), -EINVAL);
    assert_int_equal(ef_http_server_create(f->base, ef_http_server_address(f->server), NULL, &server, &err),
                     -EADDRINUSE);
    assert_non_null(strstr(err.text, "another process already does"));
}

static void
unix_sockets_are_served_and_replaced(void **state)
{
    char dir[] = "/tmp/ef-test-http-XXXXXX", path[64], address[80];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/s", dir);
    snprintf(address, sizeof address, "unix:%s", path);
    /* A file that a killed process left. */
    struct ef_net_address stale;
    assert_int_equal(ef_net_address_parse(address, &stale, NULL), 0);
    int fd = ef_net_listen(&stale, 1, NULL);
    assert_true(fd >= 0);
    close(fd);
    struct fixture f = {0};
    assert_int_equal(start_server(&f, address), 0);
    char *reply = ask(&f, "GET /v1/echo?text=unix HTTP/1.1\r\nConnection: close\r\n\r\n");
    assert_non_null(strstr(reply, "{\"text\":\"unix\"}"));
    free(reply);
    struct ef_http_server *second;
    struct ef_error err = EF_ERROR_INIT;
    assert_int_equal(ef_http_server_create(f.base, address, NULL, &second, &err), -EADDRINUSE);
    ef_http_server_destroy(f.server);
    event_base_free(f.base);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(rmdir(dir), 0);
}

/* CPU time of this process. */
static double
cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double) t.tv_sec + (double) t.tv_nsec / 1e9;
}

static int
connect_to_server(const struct fixture *f)
{
    int fd = socket(f->address.storage.ss_family, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *) &f->address.storage, f->address.len), 0);
    return fd;
}

/* Runs the server for half a second. */
static void
run_a_while(struct fixture *f)
{
    static const struct timeval a_while = {.tv_usec = 500000};
    event_base_loopexit(f->base, &a_while);
    event_base_dispatch(f->base);
}

static void
no_file_descriptor_left_costs_no_core(void **state)
{
    struct fixture *f = *state;
    struct rlimit before, none;
    char reply[1024];
    ssize_t len = -1;
    int fd = connect_to_server(f), next = dup(fd);
    static const char request[] = "GET /v1/echo?text=late HTTP/1.1\r\nConnection: close\r\n\r\n";
    assert_int_equal(send(fd, request, strlen(request), 0), strlen(request));
    close(next);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = (rlim_t) next;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    double start = cpu_s();
    run_a_while(f);
    double spent = cpu_s() - start;
    assert_int_equal(recv(fd, reply, sizeof reply, MSG_DONTWAIT), -1);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_true(spent < 0.1);
    for (int i = 0; i < 20 && len < 0; i++) {
        run_a_while(f);
        len = recv(fd, reply, sizeof reply - 1, MSG_DONTWAIT);
    }
    assert_true(len > 0);
    reply[len] = '\0';
    assert_non_null(strstr(reply, "{\"text\":\"late\"}"));
    close(fd);
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(requests_are_routed_or_explained),
        TEST(bodies_are_echoed_or_too_large),
        TEST(keep_alive_serves_several),
        TEST(stream_is_produced_as_it_drains),
        TEST(stream_is_cancelled_by_its_client),
        TEST(destroy_ends_what_is_open),
        TEST(reply_to_a_gone_client_is_harmless),
        TEST(addresses_are_refused_with_a_reason),
        TEST(no_file_descriptor_left_costs_no_core),
        TEST(unix_sockets_are_served_and_replaced),
    };
    signal(SIGPIPE, SIG_IGN); /* As every daemon does. */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
