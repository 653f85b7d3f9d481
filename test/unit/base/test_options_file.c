/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of options in a file: what is set, in which order, and what is said of
 * each mistake. */
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
#include <sys/stat.h>
#include <unistd.h>

#include "base/options_file.h"

static char path[] = "/tmp/ef-test-options-XXXXXX";

struct seen {
    char names[100]; /* All names, each with a ';'. */
    int verbose;
};

static int
add_name(void *ctx, const char *value, struct ef_error *err)
{
    struct seen *seen = ctx;
    size_t len = strlen(seen->names);
    if (!strcmp(value, "bad")) {
        return ef_error_set(err, -EINVAL, "--name: bad");
    }
    snprintf(seen->names + len, sizeof seen->names - len, "%s;", value);
    return 0;
}

static int
set_verbose(void *ctx, const char *value, struct ef_error *err)
{
    assert_null(value);
    ((struct seen *) ctx)->verbose++;
    return 0;
}

static int
set_file(void *ctx, const char *value, struct ef_error *err)
{
    return 0;
}

static const struct ef_option table[] = {
    {"name", 'n', "NAME", "a name", add_name},
    {"verbose", 'v', NULL, "more", set_verbose},
    {"conf", 0, "FILE", "options", set_file, true},
    {0},
};

static void
write_file(const char *text, size_t len)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
}

static int
parse(struct seen *seen, struct ef_error *err)
{
    struct ef_option_group groups[] = {{"Options", table, seen}, {0}};
    char *argv[] = {"p", "--name=first", "--conf", path, "--name=last"};
    memset(seen, 0, sizeof *seen);
    return ef_options_parse(groups, 5, argv, err);
}

static void
a_file_stands_where_it_is_named(void **state)
{
    static const char text[] = "# comment\n\n  name = a b # c  \r\nname=d\nverbose = yes\n\tverbose\t=\tno\nname = e=f";
    struct seen seen;
    struct ef_error err = EF_ERROR_INIT;
    write_file(text, sizeof text - 1);
    assert_int_equal(parse(&seen, &err), 5);
    assert_string_equal(seen.names, "first;a b # c;d;e=f;last;");
    assert_int_equal(seen.verbose, 1);
}

static void
mistakes_are_named_with_their_line(void **state)
{
    static const struct {
        const char *text, *error;
        int code;
    } cases[] = {
        {"\nname\n", ":2: 'name' is not of the form option = value", -EINVAL},
        {"nmae = a", ":1: unknown option --nmae; did you mean --name?", -EINVAL},
        {"name =", ":1: 'name' has no value", -EINVAL},
        {"verbose = 1", ":1: 'verbose' is yes or no", -EINVAL},
        {"# x\nname = bad\n", ":2: --name: bad", -EINVAL},
        {"conf = /etc/passwd", ":1: 'conf' is for the command line only", -EINVAL},
        {"= a", ":1: unknown option --; see --help", -EINVAL},
        {"help = yes", ":1: 'help' is for the command line only", -EINVAL},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        struct seen seen;
        struct ef_error err = EF_ERROR_INIT;
        char expected[256];
        write_file(cases[i].text, strlen(cases[i].text));
        assert_int_equal(parse(&seen, &err), cases[i].code);
        snprintf(expected, sizeof expected, "%s%s", path, cases[i].error);
        assert_string_equal(err.text, expected);
    }
}

static void
what_is_no_text_file_is_refused(void **state)
{
    struct seen seen;
    struct ef_error err = EF_ERROR_INIT;
    write_file("name = a\0b", 10);
    assert_int_equal(parse(&seen, &err), -EINVAL);
    assert_non_null(strstr(err.text, "is no text"));
    char *big = malloc(EF_OPTIONS_FILE_MAX_BYTES + 1);
    assert_non_null(big);
    memset(big, '\n', EF_OPTIONS_FILE_MAX_BYTES + 1);
    write_file(big, EF_OPTIONS_FILE_MAX_BYTES + 1);
    assert_int_equal(parse(&seen, &err), -EFBIG);
    write_file(big, EF_OPTIONS_FILE_MAX_BYTES);
    assert_int_equal(parse(&seen, &err), 5);
    free(big);
    unlink(path);
    assert_int_equal(parse(&seen, &err), -ENOENT);
    assert_int_equal(mkfifo(path, 0600), 0); /* Which nobody writes to: must not wait. */
    assert_int_equal(parse(&seen, &err), -EINVAL);
    assert_non_null(strstr(err.text, "not a file"));
}

static int
make_path(void **state)
{
    int fd = mkstemp(path);
    close(fd);
    return fd < 0;
}

static int
remove_path(void **state)
{
    return unlink(path);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_stands_where_it_is_named),
        cmocka_unit_test(mistakes_are_named_with_their_line),
        cmocka_unit_test(what_is_no_text_file_is_refused),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("options file", tests, make_path, remove_path);
}
