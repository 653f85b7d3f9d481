/* SPDX-License-Identifier: Apache-2.0 */
/* The filter language as text: what is accepted and its normal form, and the
 * place and words of each error. */
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

#include "filter/filter.h"

static const struct {
    const char *text, *normal; /* NULL: the text itself. */
} accepted[] = {
    {"", NULL},
    {" \t ", ""},
    {"tcp", NULL},
    {"not tcp", "!tcp"},
    {"!!tcp", NULL},
    {"((tcp))", "tcp"},
    {"!(tcp)", "!tcp"},
    {"tcp and ip", "tcp && ip"},
    {"tcp&&ip||udp", "tcp && ip || udp"},
    {"(tcp or udp) and ip", "(tcp || udp) && ip"},
    {"tcp or (udp and ip)", "tcp || udp && ip"},
    {"not tcp.port == 80 and udp", "!(tcp.port == 80) && udp"},
    {"!tcp.port==80", "!(tcp.port == 80)"},
    {"tcp.port eq 0x50", "tcp.port == 80"},
    {"tcp.port le 0120", "tcp.port <= 80"},
    {"tcp.port == 0b1010000", "tcp.port == 80"},
    {"tcp.port ne 80", "tcp.port != 80"},
    {"tcp.port all_ne 80", "tcp.port != 80"},
    {"tcp.port any_ne 80", "tcp.port ~= 80"},
    {"tcp.port !== 80", "tcp.port ~= 80"},
    {"tcp.port all_eq 80", "tcp.port === 80"},
    {"any tcp.port > 80", "tcp.port > 80"},
    {"all tcp.port > 80", NULL},
    {"all tcp.port == 80", "tcp.port === 80"},
    {"any tcp.port != 80", "tcp.port ~= 80"},
    {"tcp.flags & 0x02", "tcp.flags & 0x2"},
    {"tcp.flags bitwise_and 0x12 == 0x02", "tcp.flags & 0x12 == 0x2"},
    {"ip.src & 255.0.0.0 == 10.0.0.0", NULL},
    {"tcp.port in {80}", NULL},
    {"tcp.port in {80,443 , 8000 .. 8099}", "tcp.port in {80, 443, 8000..8099}"},
    {"tcp.port not in {80}", "!(tcp.port in {80})"},
    {"tcp.port in {90..70}", NULL},
    {"ip.src == 10.1.2.99/24", "ip.src == 10.1.2.0/24"},
    {"ip.src == 10.1.2.3/32", "ip.src == 10.1.2.3"},
    {"ip.src == 0.0.0.0/0", NULL},
    {"ip.src in {10.0.0.0..10.0.0.255}", "ip.src in {10.0.0.0/24}"},
    {"ip.src in {10.0.0.0/24..10.0.1.9}", "ip.src in {10.0.0.0..10.0.1.9}"},
    {"ipv6.dst == 2001:DB8::1/64", "ipv6.dst == 2001:db8::/64"},
    {"ipv6.dst == ::ffff:10.0.0.1", NULL},
    {"ipv6.dst in {fe80::1..fe80::9}", NULL},
    {"ipv6.dst == ::/0", NULL},
    {"eth.src == 02-00-00-00-00-0A", "eth.src == 02:00:00:00:00:0a"},
    {"eth.src == 0200.0000.000a", "eth.src == 02:00:00:00:00:0a"},
    {"eth.src == 02000000000a", "eth.src == 02:00:00:00:00:0a"},
    {"eth.type == 2048", "eth.type == 0x800"},
    {"ip.src == ip.dst", NULL},
    {"all tcp.srcport < tcp.dstport", NULL},
    {"ip.flags.df == true", "ip.flags.df == 1"},
    {"ip.flags.df == False", "ip.flags.df == 0"},
    {"switch == 10.255.0.1", NULL},
    {"switch == 10.255.0.0/16", NULL},
    {"switch in {2001:db8::/32, 10.0.0.1..10.0.0.9}", NULL},
    {"outer.dst == ::ffff:10.0.0.1", "outer.dst == 10.0.0.1"},
    {"switch == ::ffff:0:0/96", "switch == 0.0.0.0/0"},
    {"trace.hops > 5 && trace.loop", NULL},
    {"trace.latency_us > 800", NULL},
    {"trace.latency_us > 800.5", "trace.latency_us > 800.500"},
    {"trace.latency_us > 800.050", NULL},
    {"trace.through == 10.255.0.1 || !trace.debug", NULL},
};

static struct ef_filter *
compile(const char *text)
{
    struct ef_filter *filter = NULL;
    struct ef_error err = EF_ERROR_INIT;
    if (ef_filter_compile(text, EF_FILTER_ANY, &filter, &err)) {
        fail_msg("%s: %s (at %d)", text, err.text, err.offset);
    }
    return filter;
}

static void
texts_have_a_normal_form(void **state)
{
    for (size_t i = 0; i < EF_ARRAY_SIZE(accepted); i++) {
        struct ef_filter *filter = compile(accepted[i].text);
        assert_string_equal(ef_filter_text(filter), accepted[i].normal ? accepted[i].normal : accepted[i].text);
        ef_filter_destroy(filter);
    }
}

/* The normal form compiles to the very same program. */
static void
normal_forms_compile_to_the_same(void **state)
{
    for (size_t i = 0; i < EF_ARRAY_SIZE(accepted); i++) {
        struct ef_filter *filter = compile(accepted[i].text);
        struct ef_filter *again = compile(ef_filter_text(filter));
        char *explained = ef_filter_explain(filter), *explained_again = ef_filter_explain(again);
        assert_string_equal(explained, explained_again);
        free(explained);
        free(explained_again);
        ef_filter_destroy(filter);
        ef_filter_destroy(again);
    }
}

static void
programs_are_explained(void **state)
{
    static const struct {
        const char *text, *program;
    } cases[] = {
        {"", "\nalways accept\n"},
        {"ip.ttl < 0", "ip.ttl < 0\nalways reject\n"},
        {"ip.ttl < 0 && tcp || udp", "ip.ttl < 0 && tcp || udp\nstart at 1\n"
                                     "0: has tcp  then accept, else 1\n1: has udp  then accept, else reject\n"},
        {"ip.dst == 192.16.0.0/16 && tcp.port != 80",
         "ip.dst == 192.16.0.0/16 && tcp.port != 80\n"
         "0: any ipv4[16:4] & 0xffffffff in 0xc0100000..0xc010ffff  then 1, else reject\n"
         "1: all tcp[0:2][2:2] & 0xffff not in 0x50  then accept, else reject\n"},
        {"!(tcp.flags & 0x02) || tcp.port in {80, 443}",
         "!(tcp.flags & 0x2) || tcp.port in {80, 443}\n"
         "0: any tcp[12:2] & 0x2 in 0x1..0xffff  then 1, else accept\n"
         "1: any tcp[0:2][2:2] & 0xffff in 0x50  then accept, else 2\n"
         "2: any tcp[0:2][2:2] & 0xffff in 0x1bb  then accept, else reject\n"},
        {"ip.ttl in {9, 7, 5, 3, 1, 11..13, 15, 17, 19..20, 18}",
         "ip.ttl in {9, 7, 5, 3, 1, 11..13, 15, 17, 19..20, 18}\n"
         "0: any ipv4[8:1] & 0xff in 0x1  then accept, else 1\n"
         "1: any ipv4[8:1] & 0xff in 0x3  then accept, else 2\n"
         "2: any ipv4[8:1] & 0xff in 0x5  then accept, else 3\n"
         "3: any ipv4[8:1] & 0xff in 0x7  then accept, else 4\n"
         "4: any ipv4[8:1] & 0xff in 0x9  then accept, else 5\n"
         "5: any ipv4[8:1] & 0xff in 0xb..0xd  then accept, else 6\n"
         "6: any ipv4[8:1] & 0xff in 0xf  then accept, else 7\n"
         "7: any ipv4[8:1] & 0xff in 0x11..0x14  then accept, else reject\n"},
        {"ip.ttl in {1, 3, 5, 7, 9, 11, 13, 15, 17..18}",
         "ip.ttl in {1, 3, 5, 7, 9, 11, 13, 15, 17..18}\n"
         "0: any ip.ttl & 255 in {1, 3, 5, 7, 9, 11, 13, 15, 17..18}  then accept, else reject\n"},
        {"ip.src == ip.dst", "ip.src == ip.dst\n0: any ip.src == ip.dst  then accept, else reject\n"},
        {"eth.type", "eth.type\n0: has eth.type  then accept, else reject\n"},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        struct ef_filter *filter = compile(cases[i].text);
        char *program = ef_filter_explain(filter);
        assert_string_equal(program, cases[i].program);
        free(program);
        ef_filter_destroy(filter);
    }
}

static const struct {
    const char *text;
    int offset;
    const char *words; /* Part of the message. */
} refused[] = {
    {"tcp &&", 6, "expected a field or protocol, but the text ends"},
    {"&& tcp", 0, "expected a field or protocol, found '&&'"},
    {"tcp udp", 4, "expected '&&', '||' or the end, found 'udp'"},
    {"tcp) ", 3, "expected '&&', '||' or the end, found ')'"},
    {"(tcp", 4, "expected '&&', '||' or ')', but the text ends"},
    {"()", 1, "expected a field or protocol, found ')'"},
    {"tcp (udp)", 0, "functions ('tcp(...)') are not supported"},
    {"len(ip.src) == 4", 0, "functions ('len(...)') are not supported"},
    {"tcp xor udp", 4, "there is no 'xor'"},
    {"tcp ^^ udp", 4, "there is no '^^'"},
    {"tcp AND udp", 4, "small letters"},
    {"tcp | udp", 4, "'or' is written '||'"},
    {"tcp.port = 80", 9, "equality is written '=='"},
    {"tcp.port ==", 11, "expected a value, but the text ends"},
    {"tcp.port == == 80", 12, "expected a value, found '=='"},
    {"tcp.port == 80 == 80", 15, "a second '==' in one comparison"},
    {"10 <= ip.ttl <= 63", 13, "a second '<='"},
    {"80 == tcp.port", 0, "'80' is neither a field nor a protocol"},
    {"(tcp.flags & 2) == 2", 16, "compares a field, not an expression in parentheses"},
    {"tcp.flags == (2)", 13, "expected a value, found '('"},
    {"tcp.port in 80", 12, "expected '{'"},
    {"tcp.port in {}", 13, "expected a value, found '}'"},
    {"tcp.port in {80 81}", 16, "expected ',' or '}', found '81'"},
    {"tcp.port in {80,", 16, "expected a value, but the text ends"},
    {"tcp.port in {80;81}", 15, "separated by ','"},
    {"tcp.port in {70..}", 17, "expected a value, found '}'"},
    {"tcp.port not 80", 13, "expected 'in', found '80'"},
    {"tcp.port == \"80\"", 12, "without quotes"},
    {"tcp[0] == 4", 3, "slices"},
    {"eth.src[0:3] == 02:00:00", 7, "slices"},
    {"ip.src contains 01", 7, "'contains' is not supported"},
    {"ip.src matches x", 7, "'matches' is not supported"},
    {"ip.src ~ x", 7, "'~' (matches) is not supported"},
    {"ip.len + 1 == 4", 7, "arithmetic"},
    {"ip.addr#1 == 10.0.0.1", 7, "'#'"},
    {"tcp \x01", 4, "byte 0x01 means nothing here"},
    {"tcp.scrport == 80", 0, "there is no field 'tcp.scrport'; did you mean tcp.srcport?"},
    {"ip.sorce == 10.0.0.1", 0, "there is no field 'ip.sorce'; did you mean ip.src?"},
    {"tcp.prot == 80", 0, "did you mean tcp.port?"},
    {"swich == 10.0.0.1", 0, "did you mean switch?"},
    {"TCP", 0, "did you mean tcp?"},
    {"quux.corge", 0, "'quux.corge' is neither a field nor a protocol"},
    {"tcp == 1", 4, "tcp is a protocol, which only exists or not"},
    {"tcp & 1", 4, "tcp is a protocol"},
    {"tcp in {1}", 4, "tcp is a protocol"},
    {"any tcp", 4, "'any' and 'all' need a comparison"},
    {"tcp.port == 65536", 12, "65536 is too great: tcp.port is at most 65535"},
    {"tcp.port == 18446744073709551616", 12, "is too great"},
    {"ip.ttl in {1..300}", 14, "300 is too great: ip.ttl is at most 255"},
    {"ip.ttl & 0x100", 9, "0x100 is too great"},
    {"vxlan.vni == 16777216", 13, "at most 16777215"},
    {"tcp.port == http", 12, "'http' is not a number, which tcp.port needs"},
    {"tcp.port == 08", 12, "is not a number"},
    {"tcp.port == 0x", 12, "is not a number"},
    {"tcp.port == 0x0x1", 12, "is not a number"},
    {"tcp.port == 0b2", 12, "is not a number"},
    {"tcp.port == -1", 12, "'-1' is not a number"},
    {"tcp.port == 80.5", 12, "is not a number"},
    {"tcp.port==80and udp", 16, "expected '&&', '||' or the end, found 'udp'"},
    {"tcp.flags.syn == 2", 17, "'2' is not 0, 1, true or false"},
    {"tcp.flags.syn & 1", 16, "'&' does not apply to tcp.flags.syn"},
    {"tcp.flags & tcp.flags", 12, "'&' takes a value, not a field"},
    {"ip.src == 10.1.2", 10, "'10.1.2' is not an IPv4 address or prefix, which ip.src needs"},
    {"ip.src == 10.1.2.3/33", 19, "'33' is not a prefix length from 0 to 32"},
    {"ip.src == 10.1.2.3/", 19, "'' is not a prefix length"},
    {"ip.src == 10.1.2.3/-1", 19, "'-1' is not a prefix length"},
    {"ip.src == 10.1.2.3/255.255.255.0", 19, "is not a prefix length"},
    {"ip.src == ::1", 10, "is not an IPv4 address"},
    {"ip.src == localhost", 10, "is not an IPv4 address"},
    {"ip.src & 10.0.0.0/8", 9, "a mask is written as a value"},
    {"ipv6.src == 10.1.2.3", 12, "is not an IPv6 address"},
    {"ipv6.src == fe80::/129", 19, "'129' is not a prefix length from 0 to 128"},
    {"eth.src == 02:00:00", 11, "is not an Ethernet address"},
    {"eth.src == 02:00:00-00:00:01", 11, "is not an Ethernet address"},
    {"eth.src == 02:00:00:00:00:0g", 11, "is not an Ethernet address"},
    {"ip.src == tcp.port", 10, "ip.src cannot be compared with tcp.port"},
    {"switch == outer.dst", 10, "cannot be compared"},
    {"ip.len & 1 == ip.ttl", 14, "can be compared only with a value"},
    {"ip.ttl in {tcp.hdr_len}", 11, "only values may stand in braces"},
    {"trace.latency_us > 1.2345", 19, "is not a number of microseconds"},
    {"trace.latency_us > 1.-5", 19, "is not a number of microseconds"},
    {"trace.latency_us > 18446744073709551615", 19, "is too great"},
    {"trace.loop == 7", 14, "is not 0, 1, true or false"},
};

static void
wrong_texts_are_refused_at_their_place(void **state)
{
    for (size_t i = 0; i < EF_ARRAY_SIZE(refused); i++) {
        struct ef_filter *filter;
        struct ef_error err = EF_ERROR_INIT;
        if (ef_filter_compile(refused[i].text, EF_FILTER_ANY, &filter, &err) != -EINVAL) {
            fail_msg("accepted: %s", refused[i].text);
        }
        assert_null(filter);
        if (err.offset != refused[i].offset || !strstr(err.text, refused[i].words)) {
            fail_msg("%s: '%s' at %d, expected '%s' at %d", refused[i].text, err.text, err.offset, refused[i].words,
                     refused[i].offset);
        }
        assert_int_equal(ef_filter_compile(refused[i].text, EF_FILTER_ANY, &filter, NULL), -EINVAL);
    }
}

static void
fields_belong_in_the_filter_or_the_condition(void **state)
{
    static const struct {
        const char *text;
        enum ef_filter_kind kind;
        const char *words; /* NULL: accepted. */
    } cases[] = {
        {"tcp && switch == 10.0.0.1 && outer.dst == 10.0.0.2", EF_FILTER_PACKET, NULL},
        {"trace.loop && switch == 10.0.0.1", EF_FILTER_CONDITION, NULL},
        {"trace.loop", EF_FILTER_PACKET, "trace.loop is about traces: it belongs in the condition"},
        {"tcp", EF_FILTER_CONDITION, "tcp is about packets: it belongs in the filter"},
        {"outer.src == 10.0.0.1", EF_FILTER_CONDITION, "outer.src is about packets"},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        struct ef_filter *filter;
        struct ef_error err = EF_ERROR_INIT;
        int rc = ef_filter_compile(cases[i].text, cases[i].kind, &filter, &err);
        assert_int_equal(rc, cases[i].words ? -EINVAL : 0);
        if (cases[i].words) {
            assert_non_null(strstr(err.text, cases[i].words));
        }
        ef_filter_destroy(filter);
    }
}

/* Repeats `head` and `tail` around "tcp". */
static char *
nested(const char *head, const char *tail, size_t n)
{
    char *text = calloc(1, n * (strlen(head) + strlen(tail)) + 5), *end = text; /* Room for one letter more. */
    for (size_t i = 0; i < n; i++) {
        end = stpcpy(end, head);
    }
    end = stpcpy(end, "tcp");
    for (size_t i = 0; i < n; i++) {
        end = stpcpy(end, tail);
    }
    return text;
}

static void
nesting_and_length_are_bounded(void **state)
{
    static const struct {
        const char *head, *tail, *words;
        size_t n;
    } cases[] = {
        {"(", ")", NULL, 100},
        {"(", ")", "nested deeper than 100", 101},
        {"!", "", NULL, 100},
        {"!", "", "nested deeper than 100", 101},
        {"!(", ")", NULL, 50},
        {"(", "", "nested deeper than 100", 60000},
        {"!", "", "nested deeper than 100", 60000},
        {"ip||", "", NULL, 16000},
        {"ip && (udp || ", ")", NULL, 100},
        {"ip||", "", "at most 65535 bytes", 17000},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        char *text = nested(cases[i].head, cases[i].tail, cases[i].n);
        struct ef_filter *filter;
        struct ef_error err = EF_ERROR_INIT;
        int rc = ef_filter_compile(text, EF_FILTER_PACKET, &filter, &err);
        assert_int_equal(rc, cases[i].words ? -EINVAL : 0);
        if (cases[i].words) {
            assert_non_null(strstr(err.text, cases[i].words));
        }
        ef_filter_destroy(filter);
        free(text);
    }
}

static void
errors_are_shown_with_a_caret(void **state)
{
    char buf[512], small[8];
    struct ef_error err = EF_ERROR_INIT;
    struct ef_filter *filter;
    const char *text = "tcp && ip.sorce == 10.0.0.1";
    ef_filter_compile(text, EF_FILTER_PACKET, &filter, &err);
    assert_string_equal(ef_filter_error_format(text, &err, buf, sizeof buf),
                        "tcp && ip.sorce == 10.0.0.1\n       ^\n"
                        "there is no field 'ip.sorce'; did you mean ip.src?");
    text = "tcp\n&&";
    ef_filter_compile(text, EF_FILTER_PACKET, &filter, &err);
    assert_string_equal(ef_filter_error_format(text, &err, buf, sizeof buf),
                        "tcp &&\n      ^\nexpected a field or protocol, but the text ends");
    char *head = nested("(ip||ip) && ", "", 40), *longer = NULL;
    assert_int_equal(asprintf(&longer, "%sx", head), 484);
    free(head);
    ef_filter_compile(longer, EF_FILTER_PACKET, &filter, &err);
    assert_int_equal(err.offset, 480);
    ef_filter_error_format(longer, &err, buf, sizeof buf);
    assert_ptr_equal(strchr(buf, '^'), strchr(buf, '\n') + 1 + 60);
    free(longer);
    assert_int_equal(strlen(ef_filter_error_format(text, &err, small, sizeof small)), sizeof small - 1);
    ef_error_set(&err, -EINVAL, "without a place");
    assert_string_equal(ef_filter_error_format(text, &err, buf, sizeof buf), "without a place");
}

static void
field_names_can_be_listed(void **state)
{
    const char *help;
    size_t n_packet = 0, n_condition = 0;
    for (const char *name; (name = ef_filter_field_name(EF_FILTER_PACKET, n_packet, &help)); n_packet++) {
        assert_true(strncmp(name, "trace.", 6) && *help);
        ef_filter_destroy(compile(name));
    }
    for (const char *name; (name = ef_filter_field_name(EF_FILTER_CONDITION, n_condition, &help)); n_condition++) {
        assert_true(!strncmp(name, "trace.", 6) || !strcmp(name, "switch"));
    }
    assert_true(n_packet > 80 && n_condition == 12);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_have_a_normal_form),
        cmocka_unit_test(normal_forms_compile_to_the_same),
        cmocka_unit_test(programs_are_explained),
        cmocka_unit_test(wrong_texts_are_refused_at_their_place),
        cmocka_unit_test(fields_belong_in_the_filter_or_the_condition),
        cmocka_unit_test(nesting_and_length_are_bounded),
        cmocka_unit_test(errors_are_shown_with_a_caret),
        cmocka_unit_test(field_names_can_be_listed),
    };
    return cmocka_run_group_tests_name("filter_text", tests, NULL, NULL);
}
