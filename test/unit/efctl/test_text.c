/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of efctl's texts: units, escaping, width, tables, options among words. */
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

#include "base/time.h"
#include "base/util.h"
#include "utilities/efctl/command.h"
#include "utilities/efctl/table.h"
#include "utilities/efctl/text.h"

static void
durations_are_scaled(void **state)
{
    static const struct {
        double us;
        const char *text;
    } cases[] = {
        {0, "0 us"},          {0.04, "0 us"},      {0.05, "0.1 us"},    {-3.25, "-3.2 us"},      {12.345, "12.3 us"},
        {999.94, "999.9 us"}, {999.95, "1.00 ms"}, {1203.5, "1.20 ms"}, {999994.9, "999.99 ms"}, {999995, "1 s"},
        {-2500000, "-2.5 s"}, {3600e6, "3600 s"},  {1e300, "1e+294 s"},
    };
    char buf[EFCTL_TEXT_SIZE];
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        assert_string_equal(efctl_format_duration_us(cases[i].us, buf), cases[i].text);
    }
}

static void
other_numbers_are_scaled(void **state)
{
    char buf[EFCTL_TEXT_SIZE];
    assert_string_equal(efctl_format_uptime(59, buf), "59 s");
    assert_string_equal(efctl_format_uptime(60, buf), "1 min");
    assert_string_equal(efctl_format_uptime(3 * 3600 + 12 * 60 + 7, buf), "3 h 12 min");
    assert_string_equal(efctl_format_uptime(2 * 86400 + 4 * 3600, buf), "2 d 4 h");
    assert_string_equal(efctl_format_age("1970-01-01T00:00:10Z", 130 * EF_NS_PER_S, buf), "2 min ago");
    assert_string_equal(efctl_format_age("1970-01-01T00:00:10Z", 0, buf), "0 s ago");
    assert_string_equal(efctl_format_age("-9000000000000000000", INT64_MAX, buf), "-9000000000000000000");
    assert_string_equal(efctl_format_age("1700-01-01T00:00:00Z", INT64_MAX, buf), "106751 d 23 h ago");
    assert_string_equal(efctl_format_age("?", 0, buf), "?");
    assert_string_equal(efctl_format_bytes(0, buf), "0 B");
    assert_string_equal(efctl_format_bytes(1023, buf), "1023 B");
    assert_string_equal(efctl_format_bytes(1536, buf), "1.5 KiB");
    assert_string_equal(efctl_format_bytes(512 << 20, buf), "512 MiB");
    assert_string_equal(efctl_format_bytes((512 << 20) - 1, buf), "512 MiB");
    assert_string_equal(efctl_format_bytes(INT64_MAX, buf), "8192 PiB");
    assert_string_equal(efctl_format_count(0, buf), "0");
    assert_string_equal(efctl_format_count(999, buf), "999");
    assert_string_equal(efctl_format_count(-1000, buf), "-1,000");
    assert_string_equal(efctl_format_count(-100, buf), "-100");
    assert_string_equal(efctl_format_count(INT64_MAX, buf), "9,223,372,036,854,775,807");
    assert_string_equal(efctl_format_count(INT64_MIN, buf), "-9,223,372,036,854,775,808");
}

static void
times_are_cut_and_turned_to_utc(void **state)
{
    char buf[EFCTL_TEXT_SIZE];
    const char *time = "2026-11-21T03:30:00.123456789+01:00";
    assert_string_equal(efctl_format_time(time, 0, buf), "2026-11-21T02:30:00Z");
    assert_string_equal(efctl_format_time(time, 6, buf), "2026-11-21T02:30:00.123456Z");
    assert_string_equal(efctl_format_time(time, 9, buf), "2026-11-21T02:30:00.123456789Z");
    assert_string_equal(efctl_format_time("(no time)", 9, buf), "(no time)");
}

static void
what_a_terminal_would_obey_is_escaped(void **state)
{
    static const struct {
        const char *text, *escaped;
    } cases[] = {
        {"plain text, 100 %", "plain text, 100 %"},
        {"\033[2J\a\t\n\r\x7f", "\\x1b[2J\\x07\\x09\\x0a\\x0d\\x7f"},
        {"stra\u00dfe \u2192 \u65e5\u672c \U0001f600", "stra\u00dfe \u2192 \u65e5\u672c \U0001f600"},
        {"\xc2\x9b"
         "31m",
         "\\u009b31m"}, /* CSI as one C1 character */
        {"\x9b"
         "31m",
         "\\x9b31m"}, /* and as a byte */
        {"a\u202e"
         "b\u2066\u200b\ufeff",
         "a\\u202eb\\u2066\\u200b\\ufeff"},
        {"\xc0\x9b\xe0\x80\x9b", "\\xc0\\x9b\\xe0\\x80\\x9b"}, /* overlong */
        {"\xed\xa0\x80\xf5\x80\x80\x80", "\\xed\\xa0\\x80\\xf5\\x80\\x80\\x80"},
        {"cut \xe2\x86", "cut \\xe2\\x86"},
        {"", ""},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        char *escaped = efctl_escape(cases[i].text), *again = efctl_escape(escaped);
        assert_string_equal(escaped, cases[i].escaped);
        assert_string_equal(again, escaped);
        free(escaped);
        free(again);
    }
    assert_int_equal(efctl_text_width("stra\u00dfe \u2192"), 8);
}

static void
columns_line_up(void **state)
{
    char *text;
    size_t size;
    struct efctl_output out = {.file = open_memstream(&text, &size)};
    struct efctl_table *table = efctl_table_create(1);
    static const char *const head[] = {"NAME", ">N", "LAST", NULL};
    efctl_table_head(table, head);
    efctl_table_cell(table, EFCTL_PLAIN, "\u00fc");
    efctl_table_cell_right(table, EFCTL_PLAIN, "%d", 100);
    efctl_table_end_row(table);
    efctl_table_cell(table, EFCTL_PLAIN, "a free line, longer than any column");
    efctl_table_end_line(table);
    efctl_table_cell(table, EFCTL_PLAIN, "longer");
    efctl_table_cell_right(table, EFCTL_PLAIN, "%s", "");
    efctl_table_cell(table, EFCTL_PLAIN, "x");
    efctl_table_append(table, EFCTL_BAD, "y");
    efctl_table_end_row(table);
    for (int i = 0; i < 40; i++) {
        efctl_table_cell(table, EFCTL_PLAIN, "%d", i);
    }
    efctl_table_end_line(table);
    efctl_table_print(table, &out);
    efctl_table_destroy(table);
    efctl_table_destroy(NULL);
    fclose(out.file);
    assert_string_equal(text, " NAME      N  LAST\n"
                              " \u00fc       100\n"
                              "a free line, longer than any column\n"
                              " longer       xy\n"
                              "01234567891011\n");
    free(text);
}

static int
run_nothing(struct efctl_context *context, int argc, char *argv[])
{
    return EFCTL_OK;
}

static const struct efctl_command command = {"test", "[WORD]...", "Nothing", NULL, true, run_nothing};

static void
options_may_stand_among_words(void **state)
{
    static const struct {
        const char *line, *words, *url;
    } cases[] = {
        {"test", "", NULL},
        {"test a b", "a b", NULL},
        {"test a --controller http://x b", "a b", "http://x"},
        {"test --controller=http://y a -c http://z", "a", "http://z"},
        {"test a -- --controller b --", "a --controller b --", NULL},
        {"test -- a", "a", NULL},
        {"test a --", "a", NULL},
        {"test - a", "- a", NULL},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        char line[128], joined[128] = "", *argv[16], *save = NULL;
        int argc = 0;
        snprintf(line, sizeof line, "%s", cases[i].line);
        for (char *w = strtok_r(line, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
            argv[argc++] = w;
        }
        struct efctl_context context = {{NULL}, {NULL}};
        assert_int_equal(efctl_command_parse(&command, &context, NULL, &argc, argv), EFCTL_GO_ON);
        for (int w = 0; w < argc; w++) {
            strcat(w ? strcat(joined, " ") : joined, argv[w]);
        }
        assert_string_equal(joined, cases[i].words);
        assert_true(cases[i].url ? !strcmp(context.client.url, cases[i].url) : !context.client.url);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_are_scaled),
        cmocka_unit_test(other_numbers_are_scaled),
        cmocka_unit_test(times_are_cut_and_turned_to_utc),
        cmocka_unit_test(what_a_terminal_would_obey_is_escaped),
        cmocka_unit_test(columns_line_up),
        cmocka_unit_test(options_may_stand_among_words),
    };
    return cmocka_run_group_tests_name("efctl text", tests, NULL, NULL);
}
