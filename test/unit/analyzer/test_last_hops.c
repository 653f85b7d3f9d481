/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the table of last hops: the longest prefix counts, hosts with several
 * switches, and errors that name the place. */
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
#include <unistd.h>

#include "analyzer/last_hops.h"
#include "base/util.h"
#include "packet/packet.h"

static int
load(const char *text, struct ef_last_hops **last_hops, struct ef_error *err)
{
    char path[] = "/tmp/ef-last-hops-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    int rc = ef_last_hops_load(path, last_hops, err);
    unlink(path);
    return rc;
}

#define SWITCHES                                                                                                       \
    "\"switches\":[{\"name\":\"leaf1\",\"loopback\":\"10.255.0.1\"},{\"name\":\"leaf2\",\"loopback\":\"10.255.0.2\"}," \
    "{\"name\":\"leaf6\",\"loopback\":\"fd00:ff::6\"}]"

static void
the_longest_prefix_counts(void **state)
{
    static const struct {
        const char *address, *switches[2];
    } cases[] = {
        {"10.1.0.11", {"10.255.0.1"}},
        {"10.1.0.12", {"10.255.0.2"}},
        {"10.1.7.7", {"10.255.0.2"}},
        {"10.2.0.1", {NULL}},
        {"10.3.0.1", {"10.255.0.1", "10.255.0.2"}},
        {"10.255.0.2", {"10.255.0.2"}}, /* A switch itself. */
        {"fd00:6::1", {"fd00:ff::6"}},
        {"fd00:7::1", {NULL}},
    };
    struct ef_last_hops *l;
    struct ef_error err;
    assert_int_equal(load("{" SWITCHES ",\"hosts\":[{\"address\":\"10.1.0.11\",\"switch\":\"leaf1\"},"
                          "{\"address\":\"10.1.0.0/16\",\"switch\":\"leaf2\"},"
                          "{\"address\":\"10.3.0.1\",\"switch\":\"leaf1\"},"
                          "{\"address\":\"10.3.0.1\",\"switch\":\"leaf2\"},"
                          "{\"address\":\"fd00:6::/64\",\"switch\":\"leaf6\"}]}",
                          &l, &err),
                     0);
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        uint8_t address[16];
        assert_int_equal(ef_address_parse(cases[i].address, address), 0);
        const struct ef_last_hop *last = ef_last_hops_find(l, address);
        assert_int_equal(!last, !cases[i].switches[0]);
        for (unsigned k = 0; k < 2 && last && cases[i].switches[k]; k++) {
            assert_int_equal(ef_address_parse(cases[i].switches[k], address), 0);
            assert_true(ef_last_hop_is(last, address));
            assert_int_equal(last->n_switches, cases[i].switches[1] ? 2 : 1);
        }
    }
    ef_last_hops_destroy(l);
}

/* The last switch of both addresses of a host is known by both of its own. */
static void
addresses_of_both_versions(void **state)
{
    static const char *const destinations[] = {"10.1.0.11", "fd00:e::11", "10.255.0.7", "fd00:ff::7"};
    struct ef_last_hops *l;
    struct ef_error err;
    uint8_t address[16];
    assert_int_equal(
        load("{\"switches\":[{\"name\":\"leaf7\",\"loopback\":\"10.255.0.7\",\"loopback6\":\"fd00:ff::7\"}],"
             "\"hosts\":[{\"address\":\"10.1.0.11\",\"address6\":\"fd00:e::11\",\"switch\":\"leaf7\"}]}",
             &l, &err),
        0);
    for (size_t i = 0; i < EF_ARRAY_SIZE(destinations); i++) {
        assert_int_equal(ef_address_parse(destinations[i], address), 0);
        const struct ef_last_hop *last = ef_last_hops_find(l, address);
        assert_non_null(last);
        assert_int_equal(last->n_switches, 2);
        assert_int_equal(ef_address_parse("10.255.0.7", address), 0);
        assert_true(ef_last_hop_is(last, address));
        assert_int_equal(ef_address_parse("fd00:ff::7", address), 0);
        assert_true(ef_last_hop_is(last, address));
    }
    ef_last_hops_destroy(l);
}

static void
errors_name_the_place(void **state)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"{", "line 1"},
        {"[]", "\"switches\" and \"hosts\""},
        {"{\"switches\":[],\"hosts\":{}}", "\"switches\" and \"hosts\""},
        {"{\"switches\":[{\"name\":\"a\"}],\"hosts\":[]}", "switches[0].loopback: ''"},
        {"{\"switches\":[7],\"hosts\":[]}", "switches[0].loopback"},
        {"{" SWITCHES ",\"hosts\":[{\"address\":\"10.1.0.1/33\",\"switch\":\"leaf1\"}]}", "hosts[0].address"},
        {"{\"switches\":[{\"name\":\"a\",\"loopback\":\"10.0.0.1\",\"loopback6\":\"x\"}],\"hosts\":[]}",
         "switches[0].loopback6: 'x'"},
        {"{" SWITCHES ",\"hosts\":[{\"address\":\"10.1.0.1\",\"address6\":\"y\",\"switch\":\"leaf1\"}]}",
         "hosts[0].address6: 'y'"},
        {"{" SWITCHES ",\"hosts\":[{\"address\":\"x\",\"switch\":\"leaf1\"}]}", "hosts[0].address: 'x'"},
        {"{" SWITCHES ",\"hosts\":[{\"address\":\"10.1.0.1\",\"switch\":\"leaf9\"}]}", "no switch 'leaf9'"},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        struct ef_last_hops *l;
        struct ef_error err = EF_ERROR_INIT;
        assert_int_equal(load(cases[i].text, &l, &err), -EINVAL);
        assert_non_null(strstr(err.text, cases[i].error));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_longest_prefix_counts),
        cmocka_unit_test(addresses_of_both_versions),
        cmocka_unit_test(errors_name_the_place),
    };
    return cmocka_run_group_tests_name("analyzer/last_hops", tests, NULL, NULL);
}
