/* SPDX-License-Identifier: Apache-2.0 */
/* Cursors of pages: what is written is read again; what was not written is refused. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "trace/trace_page.h"

static const struct ef_trace_page_question question = {"tcp.port == 80", "trace.loop", NULL};
static const struct ef_trace_page page = {{{1763692200123456789}, 0xfedcba9876543210}, {INT64_MIN}};

static void
test_round_trip(void **state)
{
    struct ef_trace_page again;
    struct ef_error err = EF_ERROR_INIT;
    char text[EF_TRACE_PAGE_TEXT_SIZE];
    ef_trace_page_format(&page, &question, text);
    assert_int_equal(strlen(text), sizeof text - 1);
    assert_int_equal(ef_trace_page_parse(text, &question, &again, &err), 0);
    assert_int_equal(ef_trace_key_compare(again.before, page.before), 0);
    assert_int_equal(again.from.ns, page.from.ns);
}

static void
test_other_questions(void **state)
{
    static const struct ef_trace_page_question others[] = {
        {"tcp.port == 81", "trace.loop", NULL},
        {"tcp.port == 80", NULL, NULL},
        {"tcp.port == 80", "trace.loop", "12"},
        {"trace.loop", "tcp.port == 80", NULL},
    };
    struct ef_trace_page_question same = {question.filter, question.condition, ""};
    struct ef_trace_page again;
    struct ef_error err = EF_ERROR_INIT;
    char text[EF_TRACE_PAGE_TEXT_SIZE];
    ef_trace_page_format(&page, &question, text);
    for (size_t i = 0; i < EF_ARRAY_SIZE(others); i++) {
        assert_true(ef_trace_page_parse(text, &others[i], &again, &err) < 0);
        assert_non_null(strstr(err.text, "another question"));
    }
    assert_int_equal(ef_trace_page_parse(text, &same, &again, &err), 0);
}

static void
test_no_cursors(void **state)
{
    struct ef_trace_page again;
    struct ef_error err = EF_ERROR_INIT;
    char text[EF_TRACE_PAGE_TEXT_SIZE + 1] = "";
    ef_trace_page_format(&page, &question, text);
    for (size_t i = 0; text[i]; i++) {
        char kept = text[i];
        text[i] = 'g';
        assert_true(ef_trace_page_parse(text, &question, &again, &err) < 0);
        text[i] = '\0';
        assert_true(ef_trace_page_parse(text, &question, &again, &err) < 0);
        text[i] = kept;
    }
    text[strlen(text)] = '0';
    assert_true(ef_trace_page_parse(text, &question, &again, &err) < 0);
}

static void
test_order(void **state)
{
    struct ef_trace_key key = {{7}, UINT64_MAX}, after = ef_trace_key_after(key);
    assert_int_equal(after.start.ns, 8);
    assert_int_equal(after.id, 0);
    assert_true(ef_trace_key_compare(key, after) < 0 && ef_trace_key_compare(after, key) > 0);
    assert_int_equal(ef_trace_key_compare(key, key), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_other_questions),
        cmocka_unit_test(test_no_cursors),
        cmocka_unit_test(test_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
