/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the controller's documents: what the configuration and the topology
 * may say, and that each error names its place. */
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

#include "controller/configuration.h"
#include "controller/topology.h"

static char file[64];

static void
write_file(const char *text)
{
    FILE *f = fopen(file, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int
setup(void **state)
{
    strcpy(file, "/tmp/ef-test-doc-XXXXXX");
    int fd = mkstemp(file);
    if (fd >= 0) {
        close(fd);
    }
    return fd < 0;
}

static int
teardown(void **state)
{
    unlink(file);
    return 0;
}

#define EVERFLOW "\"everflow\":{\"targets\":[\"10.255.255.1\"],\"classes\":[\"tcp_syn\"]}"

static void
configuration_is_read(void **state)
{
    struct configuration c;
    write_file(
        "{\"listen\":\"[::1]:1\",\"topology\":\"t.json\",\"analyzers\":[{\"name\":\"a\",\"url\":\"unix:/a\"},"
        "{\"name\":\"b\",\"url\":\"http://127.0.0.1:8782\"}],\"everflow\":{\"targets\":[\"10.0.0.1\",\"fd00::1\"],"
        "\"classes\":[],\"encap\":\"gre\",\"sample_bits\":4,\"sample_value\":15,\"truncate\":128,\"rate_kpps\":50}}");
    assert_int_equal(configuration_load(file, &c, NULL), 0);
    assert_string_equal(c.listen, "[::1]:1");
    assert_string_equal(c.topology_file, "/tmp/t.json"); /* Beside the configuration. */
    assert_int_equal(c.n_analyzers, 2);
    assert_string_equal(c.analyzers[1].name, "b");
    assert_int_equal(c.n_reshufflers, 0);
    assert_string_equal(c.everflow.encap, "gre");
    assert_int_equal(c.everflow.sample_value, 15);
    assert_int_equal(c.everflow.truncate, 128);
    assert_int_equal(c.everflow.rate_kpps, 50);
    assert_int_equal(c.everflow.debug_dscp, 1);
    configuration_free(&c);
    write_file("{\"topology\":\"/etc/t.json\"," EVERFLOW "}");
    assert_int_equal(configuration_load(file, &c, NULL), 0);
    assert_string_equal(c.listen, "127.0.0.1:8780");
    assert_string_equal(c.topology_file, "/etc/t.json");
    assert_string_equal(c.everflow.encap, "erspan3");
    assert_string_equal(c.everflow.routing, "openflow");
    assert_false(c.everflow.egress);
    assert_string_equal(c.everflow.drop_copies, "none");
    assert_false(c.everflow.ttl_exceeded);
    assert_int_equal(c.everflow.ttl_exceeded_rate, 100);
    configuration_free(&c);
    write_file("{\"topology\":\"t\",\"everflow\":{\"targets\":[\"fd00::ff\"],\"classes\":[],\"routing\":\"native\","
               "\"ttl_exceeded\":true,\"ttl_exceeded_rate\":7,\"egress\":true,\"drop_copies\":\"chosen\","
               "\"probe_sources\":[\"fd00::/8\",\"fd00::1\",\"10.0.0.0/8\"]}}");
    assert_int_equal(configuration_load(file, &c, NULL), 0);
    assert_string_equal(c.everflow.routing, "native");
    assert_int_equal(json_array_size(c.everflow.probe_sources), 3);
    assert_true(c.everflow.egress);
    assert_string_equal(c.everflow.drop_copies, "chosen");
    assert_true(c.everflow.ttl_exceeded);
    assert_int_equal(c.everflow.ttl_exceeded_rate, 7);
    configuration_free(&c);
}

static void
wrong_configurations_name_the_place(void **state)
{
#define ANALYZERS(TEXT) "{\"topology\":\"t\"," EVERFLOW ",\"analyzers\":" TEXT "}"
#define DATABASE(VALUE) "{\"topology\":\"t\",\"database\":" VALUE "," EVERFLOW "}"
#define SETTINGS(TEXT) "{\"topology\":\"t\",\"everflow\":{" TEXT "}}"
#define TARGETS "\"targets\":[\"10.0.0.1\"],\"classes\":[],"
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"", ":1:0: '[' or '{' expected"},
        {"[]", ": the document is not an object"},
        {"{\"topology\":\"t\",\n\"topology\":\"t\"}", ":2:"},
        {"{" EVERFLOW "}", ": topology: missing"},
        {"{\"topology\":\"\"," EVERFLOW "}", ": topology: must be a text"},
        {"{\"topology\":3," EVERFLOW "}", ": topology: must be a text"},
        {"{\"topology\":\"t\"}", ": everflow: missing"},
        {"{\"topolgy\":\"t\"," EVERFLOW "}", ": topolgy: unknown; did you mean topology?"},
        {"{\"topology\":\"t\",\"listen\":\"x\"," EVERFLOW "}", ": listen: 'x' is not an address"},
        {DATABASE("3"), ": database: must be a text such as"},
        {DATABASE("[]"), ": database: must be a text such as"},
        {DATABASE("[3]"), ": database: '' is no OVSDB remote"},
        {DATABASE("[\"tcp:10.0.0.1:6641\",\"10.0.0.2\"]"), ": database: '10.0.0.2' is no OVSDB remote"},
        {DATABASE("\"ssl:10.0.0.1:6641\""), ": database: ssl: needs \"tls\""},
        {ANALYZERS("{}"), ": analyzers: must be an array"},
        {ANALYZERS("[1]"), ": analyzers[0]: must be an object"},
        {ANALYZERS("[{\"name\":\"a\",\"url\":\"unix:/a\"},{\"name\":\"b\"}]"), ": analyzers[1].url: missing"},
        {ANALYZERS("[{\"name\":\"a\",\"url\":\"ftp://x\"}]"), ": analyzers[0].url: 'ftp://x' is not a URL"},
        {ANALYZERS("[{\"name\":\"a\",\"url\":\"unix:/a\",\"port\":1}]"), ": analyzers[0].port: unknown"},
        {ANALYZERS("[{\"name\":\"a\",\"url\":\"unix:/a\"},{\"name\":\"a\",\"url\":\"unix:/a\"}]"),
         ": analyzers[1].name: 'a' is there twice"},
        {SETTINGS(""), ": everflow.targets: missing"},
        {SETTINGS("\"targets\":[]"), ": everflow.targets: empty"},
        {SETTINGS("\"targets\":[\"10.0.0.1\",\"x\"]"), ": everflow.targets[1]: 'x' is not an IP address"},
        {SETTINGS("\"targets\":[\"10.0.0.1\"]"), ": everflow.classes: missing"},
        {SETTINGS("\"targets\":[\"10.0.0.1\"],\"classes\":[\"tcp\"]"),
         ": everflow.classes[0]: must be one of tcp_syn, tcp_fin, tcp_rst, debug, bgp, pfc, rdma_nack, cnp"},
        {SETTINGS("\"targets\":[\"10.0.0.1\"],\"classes\":[\"debug\",\"debug\"]"),
         ": everflow.classes[1]: 'debug' is there twice"},
        {SETTINGS(TARGETS "\"encap\":\"vxlan\""), ": everflow.encap: must be one of gre, erspan2, erspan3"},
        {SETTINGS(TARGETS "\"debug_dscp\":6"), ": everflow.debug_dscp: 6 is not between 0 and 5"},
        {SETTINGS(TARGETS "\"truncate\":\"1\""), ": everflow.truncate: must be a whole number"},
        {SETTINGS(TARGETS "\"decap\":1"), ": everflow.decap: must be true or false"},
        {SETTINGS(TARGETS "\"ttl_exceeded\":\"yes\""), ": everflow.ttl_exceeded: must be true or false"},
        {SETTINGS(TARGETS "\"ttl_exceeded_rate\":0"), ": everflow.ttl_exceeded_rate: 0 is not between 1 and 1000000"},
        {SETTINGS(TARGETS "\"probe_sources\":[\"10.0.0.0/33\"]"),
         ": everflow.probe_sources[0]: '10.0.0.0/33' is not an IP address or prefix"},
        {SETTINGS(TARGETS "\"probe_sources\":[\"fd00::1\",\"fd00::/129\"]"),
         ": everflow.probe_sources[1]: 'fd00::/129' is not an IP address or prefix"},
        {SETTINGS(TARGETS "\"edge_ports\":\"all\""), ": everflow.edge_ports: must be one of none, hosts"},
        {SETTINGS(TARGETS "\"routing\":\"linux\""), ": everflow.routing: must be one of openflow, native"},
        {SETTINGS(TARGETS "\"egress\":1"), ": everflow.egress: must be true or false"},
        {SETTINGS(TARGETS "\"drop_copies\":true"), ": everflow.drop_copies: must be a text"},
        {SETTINGS(TARGETS "\"drop_copies\":\"some\""), ": everflow.drop_copies: must be one of none, chosen, all"},
        {SETTINGS(TARGETS "\"burst\":-1"), ": everflow.burst: -1 is not between 0 and 1000000"},
        {SETTINGS(TARGETS "\"sample_value\":0"), ": everflow.sample_value: 0 is not between 1 and 65535"},
        {SETTINGS(TARGETS "\"sample_bits\":3,\"sample_value\":8"),
         ": everflow.sample_value: 8 does not fit into 3 bits"},
        {SETTINGS(TARGETS "\"sample_bit\":3"), ": everflow.sample_bit: unknown; did you mean sample_bits?"},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        struct configuration c;
        struct ef_error err = EF_ERROR_INIT;
        write_file(cases[i].text);
        assert_int_equal(configuration_load(file, &c, &err), -EINVAL);
        assert_memory_equal(err.text, file, strlen(file));
        if (!strstr(err.text, cases[i].error)) {
            fail_msg("'%s' does not say '%s'", err.text, cases[i].error);
        }
    }
    struct configuration c;
    struct ef_error err = EF_ERROR_INIT;
    assert_int_equal(configuration_load("/nonexistent/file", &c, &err), -EINVAL);
    assert_non_null(strstr(err.text, "/nonexistent/file: No such file"));
}

#define SWITCH(NAME, LOOPBACK) "{\"name\":\"" NAME "\",\"loopback\":\"" LOOPBACK "\",\"ovsdb\":\"unix:/" NAME "\"}"

static void
topology_finds_switches(void **state)
{
    struct topology t;
    write_file("{\"name\":\"x\",\"switches\":[" SWITCH("s2", "10.255.0.2") "," SWITCH("s1", "10.255.0.1") "," SWITCH(
        "s6", "fd00::6") "]}");
    assert_int_equal(topology_load(file, &t, NULL), 0);
    assert_int_equal(t.n_switches, 3);
    assert_string_equal(t.switches[0].name, "s2");
    assert_string_equal(topology_find(&t, "10.255.0.1")->name, "s1");
    assert_string_equal(topology_find(&t, "::ffff:10.255.0.2")->name, "s2");
    assert_string_equal(topology_find(&t, "fd00:0::6")->name, "s6");
    assert_null(topology_find(&t, "10.255.0.3"));
    assert_null(topology_find(&t, "nonsense"));
    topology_free(&t);
    write_file("{\"switches\":[]}");
    assert_int_equal(topology_load(file, &t, NULL), 0);
    assert_null(topology_find(&t, "10.255.0.1"));
    topology_free(&t);
}

static void
wrong_topologies_name_the_place(void **state)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"{}", ": switches: missing"},
        {"{\"switches\":[3]}", ": switches[0]: must be an object"},
        {"{\"switches\":[{\"name\":\"a\"}]}", ": switches[0].loopback: missing"},
        {"{\"switches\":[" SWITCH("a", "10.0.0.300") "]}", ": switches[0].loopback: '10.0.0.300' is not an IP address"},
        {"{\"switches\":[{\"name\":\"a\",\"loopback\":\"1.1.1.1\",\"loopback6\":\"1.1.1.2\",\"ovsdb\":\"unix:/a\"}]}",
         ": switches[0].loopback6: '1.1.1.2' is not an IPv6 address beside an IPv4 loopback"},
        {"{\"switches\":[{\"name\":\"a\",\"loopback\":\"fd00::1\",\"loopback6\":\"fd00::2\",\"ovsdb\":\"unix:/a\"}]}",
         ": switches[0].loopback6: 'fd00::2' is not an IPv6 address beside an IPv4 loopback"},
        {"{\"switches\":[{\"name\":\"a\",\"loopback\":\"1.1.1.1\",\"ovsdb\":\"ssl:1.1.1.1\"}]}",
         ": switches[0].ovsdb: '1.1.1.1' is not an address"},
        {"{\"switches\":[" SWITCH("a", "10.0.0.1") "," SWITCH("a", "10.0.0.2") "]}", ".name: 'a' is there twice"},
        {"{\"switches\":[" SWITCH("a", "10.0.0.1") "," SWITCH("b", "10.0.0.1") "]}",
         ".loopback: 10.0.0.1 is also that of"},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        struct topology t;
        struct ef_error err = EF_ERROR_INIT;
        write_file(cases[i].text);
        assert_int_equal(topology_load(file, &t, &err), -EINVAL);
        if (!strstr(err.text, cases[i].error)) {
            fail_msg("'%s' does not say '%s'", err.text, cases[i].error);
        }
    }
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(configuration_is_read),
        cmocka_unit_test(wrong_configurations_name_the_place),
        cmocka_unit_test(topology_finds_switches),
        cmocka_unit_test(wrong_topologies_name_the_place),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
