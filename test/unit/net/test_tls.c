/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of lib/net/tls and lib/net/pki: our own client and server, with
 * certificates of our own authority, and with others. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/http_client.h"
#include "net/http_pool.h"
#include "net/http_server.h"
#include "net/pki.h"
#include "net/tls.h"

enum { ANSWER_BYTES = 3000000 };

static char directory[] = "/tmp/ef-test-tls-XXXXXX";

/* "DIRECTORY/NAME", good until the eighth next call. */
static const char *
path_of(const char *name)
{
    static char paths[8][100];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", directory, name);
    return path;
}

static int
make_certificates(void **state)
{
    static const char *const hosts[] = {"127.0.0.1", "::1", "localhost"};
    static const char *const elsewhere[] = {"192.0.2.1"};
    struct ef_error err;
    signal(SIGPIPE, SIG_IGN);
    return !mkdtemp(directory) || ef_pki_init(directory, &err) || ef_pki_init(path_of("other"), &err) ||
           ef_pki_sign(directory, "server", hosts, 3, &err) ||
           ef_pki_sign(directory, "elsewhere", elsewhere, 1, &err) || ef_pki_sign(directory, "client", NULL, 0, &err) ||
           ef_pki_sign(path_of("other"), "eve", hosts, 3, &err);
}

static int
remove_file(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    return remove(path);
}

static int
remove_certificates(void **state)
{
    libevent_global_shutdown();
    return nftw(directory, remove_file, 8, FTW_DEPTH | FTW_PHYS);
}

/* NAME.crt and NAME.key, and an authority; NULL: without. */
static struct ef_tls *
identity(const char *name, const char *ca)
{
    char cert[100] = "", key[100] = "";
    struct ef_tls *tls;
    struct ef_error err = EF_ERROR_INIT;
    if (name) {
        snprintf(cert, sizeof cert, "%s.crt", path_of(name));
        snprintf(key, sizeof key, "%s.key", path_of(name));
    }
    const struct ef_tls_files files = {name ? cert : NULL, name ? key : NULL, ca ? path_of(ca) : NULL};
    if (ef_tls_create(&files, &tls, &err)) {
        fail_msg("%s", err.text);
    }
    return tls;
}

/* --- One exchange ------------------------------------------------------------------- */

struct exchange {
    struct event_base *base;
    int status;
    size_t n_bytes;
    char error[256];
};

static void
get_much(struct ef_http_request *req, void *ctx)
{
    struct evbuffer *body = evbuffer_new();
    char *text = malloc(ANSWER_BYTES);
    memset(text, 'x', ANSWER_BYTES);
    evbuffer_add(body, text, ANSWER_BYTES);
    free(text);
    ef_http_reply(req, 200, "text/plain", body);
    evbuffer_free(body);
}

static const struct ef_http_route routes[] = {{"GET", "/much", NULL, get_much}, {0}};

static void
take_result(void *ctx, const struct ef_http_result *result)
{
    struct exchange *x = ctx;
    x->status = result->status;
    x->n_bytes = result->body_len;
    snprintf(x->error, sizeof x->error, "%s", result->error ? result->error : "");
    event_base_loopbreak(x->base);
}

/* Asks a server with the identity `server` as `client`, by the name `host`; both
 * identities are freed. */
static struct exchange
ask(struct ef_tls *server_tls, struct ef_tls *client_tls, const char *host)
{
    struct exchange x = {.base = event_base_new()};
    struct ef_http_server *server;
    struct ef_http_call *call;
    char url[200];
    assert_int_equal(ef_http_server_create(x.base, "127.0.0.1:0", server_tls, &server, NULL), 0);
    ef_http_server_add_routes(server, routes, NULL);
    snprintf(url, sizeof url, "https://%s%s", host, strrchr(ef_http_server_address(server), ':'));
    const struct ef_http_call_spec spec = {
        .server = url, .tls = client_tls, .target = "/much", .deadline_ms = 20000, .on_done = take_result, .ctx = &x};
    assert_int_equal(ef_http_call_start(x.base, &spec, &call, NULL), 0);
    event_base_dispatch(x.base);
    ef_http_server_destroy(server);
    event_base_free(x.base);
    ef_tls_destroy(server_tls);
    ef_tls_destroy(client_tls);
    return x;
}

static void
expect_refusal(struct exchange x, const char *text)
{
    assert_int_equal(x.status, 0);
    if (!strstr(x.error, text)) {
        fail_msg("'%s' is not in: %s", text, x.error);
    }
}

static void
both_sides_know_each_other(void **state)
{
    struct exchange x = ask(identity("server", "ca.crt"), identity("client", "ca.crt"), "127.0.0.1");
    assert_string_equal(x.error, "");
    assert_int_equal(x.status, 200);
    assert_int_equal(x.n_bytes, ANSWER_BYTES);
    assert_int_equal(ask(identity("server", "ca.crt"), identity("client", "ca.crt"), "localhost").status, 200);
    /* A server that asks nobody who he is. */
    assert_int_equal(ask(identity("server", NULL), identity(NULL, "ca.crt"), "127.0.0.1").status, 200);
}

static void
strangers_are_refused(void **state)
{
    expect_refusal(ask(identity("server", "ca.crt"), identity(NULL, "ca.crt"), "127.0.0.1"), "certificate required");
    expect_refusal(ask(identity("server", "other/ca.crt"), identity("client", "ca.crt"), "127.0.0.1"), "unknown ca");
    expect_refusal(ask(identity("other/eve", NULL), identity("client", "ca.crt"), "127.0.0.1"),
                   "its certificate is refused: ");
    expect_refusal(ask(identity("elsewhere", "ca.crt"), identity("client", "ca.crt"), "127.0.0.1"),
                   "its certificate is refused: IP address mismatch");
    expect_refusal(ask(identity("elsewhere", "ca.crt"), identity("client", "ca.crt"), "localhost"),
                   "its certificate is refused: hostname mismatch");
}

static void
plain_and_tls_do_not_mix(void **state)
{
    expect_refusal(ask(NULL, identity("client", "ca.crt"), "127.0.0.1"), "TLS: ");

    struct event_base *base = event_base_new();
    struct ef_tls *tls = identity("server", "ca.crt"), *no_cert = identity(NULL, "ca.crt");
    struct ef_http_server *server;
    struct ef_error err = EF_ERROR_INIT;
    assert_int_equal(ef_http_server_create(base, "0.0.0.0:0", NULL, &server, &err), -EACCES);
    assert_int_equal(ef_http_server_create(base, "127.0.0.1:0", no_cert, &server, &err), -EINVAL);
    assert_non_null(strstr(err.text, "takes a certificate"));
    assert_int_equal(ef_http_server_create(base, "0.0.0.0:0", tls, &server, &err), 0);
    ef_http_server_destroy(server);
    ef_tls_destroy(tls);
    ef_tls_destroy(no_cert);

    struct ef_http_call *call;
    const struct ef_http_call_spec spec = {.server = "https://127.0.0.1:1", .target = "/", .on_done = take_result};
    assert_int_equal(ef_http_call_start(base, &spec, &call, &err), -EINVAL);
    assert_non_null(strstr(err.text, "--tls-ca"));
    event_base_free(base);
}

/* A connection that is kept is one of the same identity, to the same name. */
static void
kept_connections_keep_to_their_peer(void **state)
{
    struct exchange x = {.base = event_base_new()};
    struct ef_tls *server_tls = identity("server", "ca.crt"),
                  *tls[] = {identity("client", "ca.crt"), identity("server", "ca.crt")};
    static const char *const hosts[] = {"127.0.0.1", "localhost"};
    struct ef_http_pool *pool = ef_http_pool_create();
    struct ef_http_pool_stats stats;
    struct ef_http_server *server;
    assert_int_equal(ef_http_server_create(x.base, "127.0.0.1:0", server_tls, &server, NULL), 0);
    ef_http_server_add_routes(server, routes, NULL);
    for (unsigned i = 0; i < 8; i++) {
        char url[200];
        struct ef_http_call *call;
        snprintf(url, sizeof url, "https://%s%s", hosts[i % 2], strrchr(ef_http_server_address(server), ':'));
        const struct ef_http_call_spec spec = {.server = url,
                                               .tls = tls[i / 2 % 2],
                                               .pool = pool,
                                               .target = "/much",
                                               .deadline_ms = 20000,
                                               .on_done = take_result,
                                               .ctx = &x};
        assert_int_equal(ef_http_call_start(x.base, &spec, &call, NULL), 0);
        event_base_dispatch(x.base);
        assert_int_equal(x.status, 200);
        assert_int_equal(x.n_bytes, ANSWER_BYTES);
        ef_http_pool_stats(pool, &stats);
        assert_int_equal(stats.idle, i < 4 ? i + 1 : 4);
        assert_int_equal(stats.reused, i < 4 ? 0 : i - 3);
    }
    struct ef_http_server_stats served;
    ef_http_server_stats(server, &served);
    assert_int_equal(served.connections_open, 4);
    ef_http_pool_destroy(pool);
    ef_http_server_destroy(server);
    event_base_free(x.base);
    ef_tls_destroy(server_tls);
    ef_tls_destroy(tls[0]);
    ef_tls_destroy(tls[1]);
}

/* --- Files ---------------------------------------------------------------------------- */

static void
write_text(const char *name, const char *text)
{
    FILE *file = fopen(path_of(name), "w");
    fputs(text, file);
    fclose(file);
}

/* Each member of `files` is the name of a file, or NULL. */
static void
expect_wrong_files(struct ef_tls_files files, const char *text)
{
    struct ef_tls *tls;
    struct ef_error err = EF_ERROR_INIT;
    const struct ef_tls_files paths = {files.cert ? path_of(files.cert) : NULL, files.key ? path_of(files.key) : NULL,
                                       files.ca ? path_of(files.ca) : NULL};
    assert_int_equal(ef_tls_create(&paths, &tls, &err), -EINVAL);
    assert_null(tls);
    if (!strstr(err.text, text)) {
        fail_msg("'%s' is not in: %s", text, err.text);
    }
}

static void
wrong_files_are_explained(void **state)
{
    struct ef_tls *tls;
    assert_int_equal(ef_tls_create(&(struct ef_tls_files){0}, &tls, NULL), 0);
    assert_null(tls);
    write_text("garbage", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n");
    write_text("empty", "");
    expect_wrong_files((struct ef_tls_files){"server.crt", NULL, NULL}, "needs its key");
    expect_wrong_files((struct ef_tls_files){"none.crt", "server.key", NULL}, "none.crt: No such file");
    expect_wrong_files((struct ef_tls_files){"garbage", "server.key", NULL}, "garbage: ");
    expect_wrong_files((struct ef_tls_files){"empty", "server.key", NULL}, "empty: no start line");
    expect_wrong_files((struct ef_tls_files){"server.crt", "empty", NULL}, "empty: ");
    expect_wrong_files((struct ef_tls_files){"server.crt", "client.key", NULL}, "client.key: key values mismatch");
    expect_wrong_files((struct ef_tls_files){NULL, NULL, "none"}, "none: No such file");
    expect_wrong_files((struct ef_tls_files){NULL, NULL, "garbage"}, "garbage: ");
    expect_wrong_files((struct ef_tls_files){NULL, NULL, "empty"}, "empty: ");
}

static void
authority_is_careful(void **state)
{
    static const char *const bad_hosts[] = {"a,DNS:b", "", "a b", "10.0.0.1/24", "a:b"};
    static const char *const bad_names[] = {"", ".", "..", "../x", "a/b", "a b", "a\n"};
    struct stat st;
    struct ef_error err = EF_ERROR_INIT;
    assert_int_equal(stat(path_of("ca.key"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(stat(path_of("server.key"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(ef_pki_init(directory, &err), -EEXIST);
    assert_int_equal(ef_pki_sign(directory, "client", NULL, 0, &err), -EEXIST);
    assert_int_equal(ef_pki_sign("/nonexistent", "x", NULL, 0, &err), -ENOENT);
    for (size_t i = 0; i < EF_ARRAY_SIZE(bad_hosts); i++) {
        assert_int_equal(ef_pki_sign(directory, "x", &bad_hosts[i], 1, &err), -EINVAL);
    }
    for (size_t i = 0; i < EF_ARRAY_SIZE(bad_names); i++) {
        assert_int_equal(ef_pki_sign(directory, bad_names[i], NULL, 0, &err), -EINVAL);
    }
    write_text("other/ca.key", "no key");
    assert_int_equal(ef_pki_sign(path_of("other"), "x", NULL, 0, &err), -EINVAL);
    assert_int_equal(access(path_of("x.key"), F_OK), -1);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_sides_know_each_other), cmocka_unit_test(strangers_are_refused),
        cmocka_unit_test(plain_and_tls_do_not_mix),   cmocka_unit_test(wrong_files_are_explained),
        cmocka_unit_test(authority_is_careful),       cmocka_unit_test(kept_connections_keep_to_their_peer),
    };
    return cmocka_run_group_tests(tests, make_certificates, remove_certificates);
}
