/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of lib/net/http_query and address: what is read, what is refused. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <event2/buffer.h>
#include <string.h>

#include "net/address.h"
#include "net/http_query.h"

static const char *const known[] = {"filter", "limit", "start", NULL};

static void
parameters_are_decoded(void **state)
{
    struct ef_http_query q;
    assert_int_equal(ef_http_query_parse(&q, "filter=ip.dst%20%3d%3D+10.0.0.1&&limit=&start", known, NULL), 0);
    assert_string_equal(ef_http_query_get(&q, "filter"), "ip.dst == 10.0.0.1");
    assert_string_equal(ef_http_query_get(&q, "limit"), "");
    assert_string_equal(ef_http_query_get(&q, "start"), "");
    assert_null(ef_http_query_get(&q, "end"));
    ef_http_query_deinit(&q);
    assert_int_equal(ef_http_query_parse(&q, NULL, known, NULL), 0);
    assert_null(ef_http_query_get(&q, "filter"));
    ef_http_query_deinit(&q);
}

static void
wrong_parameters_are_explained(void **state)
{
    static const struct {
        const char *text, *message;
        int offset;
    } cases[] = {
        {"limit=1&fliter=x", "unknown parameter 'fliter'; did you mean filter? (known: filter, limit, start)", 8},
        {"zzzzzzzzz=1", "unknown parameter 'zzzzzzzzz'; known: filter, limit, start", 0},
        {"limit=1&limit=2", "parameter 'limit' is given twice", 8},
        {"filter=%4", "'%' must be followed by two hexadecimal digits other than 00", 7},
        {"filter=a%zz", "'%' must be followed by two hexadecimal digits other than 00", 8},
        {"filter=a%00b", "'%' must be followed by two hexadecimal digits other than 00", 8},
        {"%", "'%' must be followed by two hexadecimal digits other than 00", 0},
        {"=", "unknown parameter ''; known: filter, limit, start", 0},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        struct ef_http_query q;
        struct ef_error err = EF_ERROR_INIT;
        assert_int_equal(ef_http_query_parse(&q, cases[i].text, known, &err), -EINVAL);
        assert_string_equal(err.text, cases[i].message);
        assert_int_equal(err.offset, cases[i].offset);
    }
}

static void
what_is_written_is_read_back(void **state)
{
    static const char text[] = "a b&c=d%\"\xc3\xa4/?+#";
    struct evbuffer *url = evbuffer_new();
    ef_http_query_append(url, "filter", text);
    ef_http_query_append(url, "start", NULL);
    ef_http_query_append(url, "limit", "5");
    evbuffer_add(url, "", 1);
    struct ef_http_query q;
    const char *written = (const char *) evbuffer_pullup(url, -1);
    assert_int_equal(*written, '?');
    assert_int_equal(ef_http_query_parse(&q, written + 1, known, NULL), 0);
    assert_string_equal(ef_http_query_get(&q, "filter"), text);
    assert_string_equal(ef_http_query_get(&q, "limit"), "5");
    ef_http_query_deinit(&q);
    evbuffer_free(url);
}

static void
addresses_are_read_and_written(void **state)
{
    static const struct {
        const char *text, *back;
        bool local;
    } cases[] = {
        {"127.0.0.1:80", "127.0.0.1:80", true}, {"127.9.9.9:0", "127.9.9.9:0", true},
        {"localhost:1", "127.0.0.1:1", true},   {"[::1]:65535", "[::1]:65535", true},
        {"0.0.0.0:80", "0.0.0.0:80", false},    {"[::]:80", "[::]:80", false},
        {"10.0.0.1:8", "10.0.0.1:8", false},    {"unix:/tmp/x", "unix:/tmp/x", true},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        struct ef_net_address a;
        char text[EF_NET_ADDRESS_TEXT_SIZE];
        assert_int_equal(ef_net_address_parse(cases[i].text, &a, NULL), 0);
        assert_string_equal(ef_net_address_format(&a, text), cases[i].back);
        assert_int_equal(ef_net_address_is_local(&a), cases[i].local);
    }
    static const char *const bad[] = {
        "",        "80",    ":80",   "127.0.0.1", "::1:80", "[127.0.0.1]:80", "127.0.0.1:x", "127.0.0.1:65536",
        "host:80", "unix:", "[::1]", "[]:1",      "[:80",   "1.2.3:4"};
    for (size_t i = 0; i < EF_ARRAY_SIZE(bad); i++) {
        struct ef_net_address a;
        struct ef_error err = EF_ERROR_INIT;
        assert_int_equal(ef_net_address_parse(bad[i], &a, &err), -EINVAL);
        assert_true(err.text[0]);
    }
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_are_decoded),
        cmocka_unit_test(wrong_parameters_are_explained),
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(addresses_are_read_and_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
