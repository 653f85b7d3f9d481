/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the command line: what is right is taken, what is wrong explained. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reshuffler/conf.h"

enum { MAX_WORDS = 24 };

/* Parses `line` (words separated by blanks) as the arguments. */
static int
parse(const char *line, struct ef_conf *conf, struct ef_error *err)
{
    static char text[1024]; /* The configuration borrows from it. */
    char *argv[MAX_WORDS] = {"ef-reshuffler"}, *save = NULL;
    int argc = 1;
    strncpy(text, line, sizeof text - 1);
    for (char *word = strtok_r(text, " ", &save); word && argc < MAX_WORDS; word = strtok_r(NULL, " ", &save)) {
        argv[argc++] = word;
    }
    return ef_conf_parse(conf, argc, argv, err);
}

static void
right_is_taken(void **state)
{
    static struct ef_conf conf;
    struct ef_error err = EF_ERROR_INIT;
    int rc =
        parse("--vip 10.255.255.1,10.255.255.2 --vip=10.255.255.3 --source afpacket:eth0 -s pcap:x --sink ip@there "
              "-a a1=10.1.0.21 --analyzer a2=10.2.0.21 --ring 8M --http 127.0.0.1:8790 --name r7",
              &conf, &err);
    assert_int_equal(rc, 0);
    assert_int_equal(conf.plan.n_vips, 3);
    assert_int_equal(conf.plan.vips[2][15], 3);
    assert_int_equal(conf.plan.n_analyzers, 2);
    assert_string_equal(conf.plan.analyzers[1].name, "a2");
    assert_int_equal(conf.n_sources, 2);
    assert_string_equal(conf.sink, "ip@there");
    assert_int_equal(conf.ring_bytes, 8 << 20);
    assert_string_equal(conf.name, "r7");
    assert_true(conf.plan.serves[EF_IP4] && !conf.plan.serves[EF_IP6]);
    ef_conf_deinit(&conf);
    rc = parse("--vip fd00::1 -s afpacket:eth0 -a a=fd00::2", &conf, &err);
    assert_int_equal(rc, 0);
    assert_true(conf.plan.serves[EF_IP6] && !conf.plan.serves[EF_IP4]);
    assert_string_equal(conf.sink, "ip");
    ef_conf_deinit(&conf);
    rc = parse("--vip 10.9.9.9,fd00::1 -s afpacket:eth0 -a a=10.0.0.1,address6=fd00::2,weight=7", &conf, &err);
    assert_int_equal(rc, 0);
    assert_true(conf.plan.serves[EF_IP4] && conf.plan.serves[EF_IP6]);
    assert_int_equal(conf.plan.destinations[EF_IP4][0][15], 1);
    assert_int_equal(conf.plan.destinations[EF_IP6][0][0], 0xfd);
    ef_conf_deinit(&conf);
}

static void
wrong_is_explained(void **state)
{
#define OTHERS " --source pcap:x --analyzer a=10.0.0.1"
    static const struct {
        const char *line, *text;
    } cases[] = {
        {"", "--vip is required"},
        {"--vip 10.9.9.9", "--analyzer is required"},
        {"--vip 10.9.9.9 -a a=10.0.0.1", "--source is required"},
        {"--vip 10.9.9", "--vip: '10.9.9' is not an IPv4 or IPv6 address"},
        {"--vip 10.9.9.9,", "--vip: '' is not an IPv4 or IPv6 address"},
        {"--vip 10.9.9.9,10.9.9.9", "--vip: 10.9.9.9 is there twice"},
        {"--vip 0.0.0.0", "is not the address of one machine"},
        {"--vip 255.255.255.255", "is not the address of one machine"},
        {"--vip 224.0.0.5", "is not the address of one machine"},
        {"--vip ff02::1", "is not the address of one machine"},
        {"--vip ::", "is not the address of one machine"},
        {"--analyzer a", "'a' should read NAME=ADDRESS"},
        {"--analyzer =10.0.0.1", "'' is not a name"},
        {"--analyzer a/b=10.0.0.1", "'a/b' is not a name of 1 to 63 letters"},
        {"--analyzer a=10.0.0.1 --analyzer a=10.0.0.2", "the name 'a' is there twice"},
        {"--analyzer a=10.0.0.1 --analyzer b=10.0.0.1", "'a' and 'b' have the same address"},
        {"--vip 10.9.9.9 -s pcap:x -a a=10.9.9.9", "copies would come back"},
        {"--vip 10.9.9.9 -s pcap:x -a a=fd00::1", "'a' needs an IPv4 address"},
        {"--vip fd00::1 -s pcap:x -a a=10.0.0.1", "'a' needs an IPv6 address"},
        {"--vip fd00::1,10.9.9.9" OTHERS, "'a' needs an IPv6 address too (address6=)"},
        {"--vip fd00::1,10.9.9.9 -s pcap:x -a a=fd00::2", "'a' needs an IPv4 address too"},
        {"--vip fd00::1,10.9.9.9 -s pcap:x -a a=10.0.0.1,address6=fd00::1", "copies would come back"},
        {"--analyzer a=10.0.0.1,address6=10.0.0.2", "address6: '10.0.0.2' is not an IPv6 address"},
        {"--analyzer a=fd00::1,address6=fd00::2", "'a' has two IPv6 addresses"},
        {"--analyzer a=10.0.0.1,address6=fd00::1 --analyzer b=10.0.0.2,address6=fd00::1",
         "'a' and 'b' have the same address"},
        {"--source pcap:x --source pcap:x", "'pcap:x' is there twice"},
        {"--sink ip --sink ip", "--sink: only one"},
        {"--vip 10.9.9.9 --sink pcap:o --source pcap:y" OTHERS, "copies of one --source only"},
        {"--ring 1K", "--ring"},
        {"--vpi 10.9.9.9", "did you mean --vip?"},
        {"--vip 10.9.9.9" OTHERS " more", "'more' is not an option"},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        static struct ef_conf conf;
        struct ef_error err = EF_ERROR_INIT;
        assert_true(parse(cases[i].line, &conf, &err) < 0);
        if (!strstr(err.text, cases[i].text)) {
            fail_msg("'%s': %s", cases[i].line, err.text);
        }
        ef_conf_deinit(&conf);
    }
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_is_taken),
        cmocka_unit_test(wrong_is_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
