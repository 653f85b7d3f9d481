/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the texts that name sources and sinks, and of what a wrong one is
 * answered with. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "io/sink.h"
#include "io/source.h"
#include "io/spec.h"

static void
wrong_sources_are_explained(void **state)
{
    static const struct {
        const char *spec, *text;
        int rc;
    } cases[] = {
        {"afpakcet:eth0", "unknown source 'afpakcet:eth0'; did you mean afpacket?", -EINVAL},
        {"erf:0", "(known: afpacket:IFACE[@NETNS], pcap:FILE, dpdk:DEVICE[,ARGUMENTS][#QUEUE/QUEUES])", -EINVAL},
        {"", "unknown source ''", -EINVAL},
        {"eth0", "unknown source 'eth0'", -EINVAL},
        {"afpacket", "source 'afpacket': should read afpacket:IFACE[@NETNS]", -EINVAL},
        {"afpacket:", "should read afpacket:IFACE[@NETNS]", -EINVAL},
        {"afpacket:@ns", "should read afpacket:IFACE[@NETNS]", -EINVAL},
        {"afpacket:eth0@", "the name of a network namespace must follow '@'", -EINVAL},
        {"afpacket:an-interface-name-too-long", "is too long: at most 15 bytes", -EINVAL},
        {"afpacket:eth0@no-such-namespace-there", "no network namespace 'no-such-namespace-there'", -ENOENT},
        {"afpacket:eth0@../net", "is not the name of a network namespace", -EINVAL},
        {"pcap:/nonexistent/file.pcap", "No such file", -ENOENT},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        struct ef_source *source;
        struct ef_error err = EF_ERROR_INIT;
        assert_int_equal(ef_source_open(cases[i].spec, 0, &source, &err), cases[i].rc);
        assert_null(source);
        if (!strstr(err.text, cases[i].text)) {
            fail_msg("'%s': %s", cases[i].spec, err.text);
        }
    }
}

static void
wrong_sinks_are_explained(void **state)
{
    static const struct {
        const char *spec, *text;
        int rc;
    } cases[] = {
        {"pcpa:x",
         "unknown sink 'pcpa:x'; did you mean pcap? (known: ip[@NETNS], pcap:FILE, dpdk:DEVICE[,ARGUMENTS]#MAC)",
         -EINVAL},
        {"ip:eth0", "sink 'ip:eth0': should read ip[@NETNS]", -EINVAL},
        {"ip@", "the name of a network namespace must follow '@'", -EINVAL},
        {"ip@no-such-namespace-there", "no network namespace 'no-such-namespace-there'", -ENOENT},
        {"ipx", "unknown sink 'ipx'; did you mean ip?", -EINVAL},
        {"pcap", "should read pcap:FILE", -EINVAL},
        {"pcap:/nonexistent/file.pcap", "No such file", -EIO},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        struct ef_sink *sink;
        struct ef_error err = EF_ERROR_INIT;
        assert_int_equal(ef_sink_open(cases[i].spec, &sink, &err), cases[i].rc);
        assert_null(sink);
        if (!strstr(err.text, cases[i].text)) {
            fail_msg("'%s': %s", cases[i].spec, err.text);
        }
    }
}

static void
namespaces_are_split_off(void **state)
{
    char name[8];
    const char *netns;
    assert_int_equal(ef_spec_split_netns("eth0.12", name, sizeof name, &netns, NULL), 0);
    assert_string_equal(name, "eth0.12");
    assert_null(netns);
    assert_int_equal(ef_spec_split_netns("eth0@a@b", name, sizeof name, &netns, NULL), 0);
    assert_string_equal(name, "eth0");
    assert_string_equal(netns, "a@b");
    assert_int_equal(ef_spec_split_netns("eth0.123@a", name, sizeof name, &netns, NULL), -EINVAL);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_sources_are_explained),
        cmocka_unit_test(wrong_sinks_are_explained),
        cmocka_unit_test(namespaces_are_split_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
