/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of lib/net/http_response: every answer is read the same whether its
 * bytes come at once, one by one, or cut in two at any place. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/http_response.h"

struct body {
    char text[256];
    size_t len;
};

static void
keep(void *ctx, const char *data, size_t len)
{
    struct body *body = ctx;
    assert_true(body->len + len < sizeof body->text);
    memcpy(body->text + body->len, data, len);
    body->len += len;
    body->text[body->len] = '\0';
}

/* Feeds [0, cut) and [cut, len) (or each byte alone if cut < 0), then the end.
 * A heap copy of each piece lets the sanitizer see reads beyond it. */
static int
feed(const char *text, int cut, struct ef_http_response *r, struct body *body, struct ef_error *err)
{
    memset(body, 0, sizeof *body);
    ef_http_response_init(r, keep, body);
    size_t len = strlen(text);
    int rc = 0;
    for (size_t from = 0; from < len && !rc;) {
        size_t to = cut < 0 ? from + 1 : from < (size_t) cut ? (size_t) cut : len;
        char *piece = malloc(to - from);
        memcpy(piece, text + from, to - from);
        rc = ef_http_response_feed(r, piece, to - from, err);
        free(piece);
        from = to;
    }
    return rc ? rc : ef_http_response_end(r, err);
}

static void
answers_are_read_however_they_are_cut(void **state)
{
    static const struct {
        const char *text, *body;
        int status;
    } cases[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello", 200},
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello, ignored", "hello", 200},
        {"HTTP/1.1 204\r\n\r\n", "", 204},
        {"HTTP/1.0 404 Not Found\nX: y\n\nuntil the end", "until the end", 404},
        {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "", 200},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\nA;x=y\r\n, chunked!\r\n0\r\n\r\n",
         "hello, chunked!", 200},
        {"HTTP/1.1 200 OK\r\ntransfer-encoding:chunked\r\n\r\n1\r\na\r\n0\r\nTrailer: t\r\n\r\n", "a", 200},
        {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 1\r\n\r\nx", "x", 201},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        for (int cut = -1; cut <= (int) strlen(cases[i].text); cut++) {
            static struct ef_http_response r;
            struct body body;
            assert_int_equal(feed(cases[i].text, cut, &r, &body, NULL), 1);
            assert_int_equal(r.status, cases[i].status);
            assert_string_equal(body.text, cases[i].body);
        }
    }
}

static void
wrong_answers_are_refused(void **state)
{
    static const char *const cases[] = {
        "",
        "SSH-2.0-OpenSSH\r\n",
        "HTTP/2 200\r\n\r\n",
        "HTTP/1.1 20\r\n\r\n",
        "HTTP/1.1 2000\r\n\r\n",
        "HTTP/1.1 000 x\r\n\r\n",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello!\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        for (int cut = -1; cut <= (int) strlen(cases[i]); cut++) {
            static struct ef_http_response r;
            struct body body;
            struct ef_error err = EF_ERROR_INIT;
            assert_int_equal(feed(cases[i], cut, &r, &body, &err), -EPROTO);
            assert_true(err.text[0]);
        }
    }
}

static void
heads_are_bounded(void **state)
{
    static struct ef_http_response r;
    struct body body = {.len = 0};
    char line[1000];
    memset(line, 'a', sizeof line);
    ef_http_response_init(&r, keep, &body);
    int rc = 0;
    for (int i = 0; i < 10 && !rc; i++) {
        rc = ef_http_response_feed(&r, line, sizeof line, NULL);
    }
    assert_int_equal(rc, -EPROTO);
    ef_http_response_init(&r, keep, &body);
    rc = ef_http_response_feed(&r, "HTTP/1.1 200 OK\r\n", 17, NULL);
    for (int i = 0; i < 300 && !rc; i++) {
        rc = ef_http_response_feed(&r, "a: b\r\n", 6, NULL);
    }
    assert_int_equal(rc, -EPROTO);
    /* A NUL would hide the rest of its line. */
    ef_http_response_init(&r, keep, &body);
    assert_int_equal(ef_http_response_feed(&r, "HTTP/1.1 200 OK\0\r\n", 18, NULL), -EPROTO);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_read_however_they_are_cut),
        cmocka_unit_test(wrong_answers_are_refused),
        cmocka_unit_test(heads_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
