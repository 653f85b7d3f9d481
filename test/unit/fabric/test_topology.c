/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the fabric's model: what is generated, what is filled in, what is
 * refused and with which words. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "utilities/fabric/topology.h"

static struct ef_topology *
generate(int spines, int leaves, int hosts, int analyzers)
{
    struct ef_topology_shape shape = {spines, leaves, hosts, analyzers};
    struct ef_topology *t = NULL;
    struct ef_error err = EF_ERROR_INIT;
    assert_int_equal(ef_topology_generate("demo", &shape, &t, &err), 0);
    return t;
}

static struct ef_topology *
parse(const char *json)
{
    struct ef_topology *t = NULL;
    struct ef_error err = EF_ERROR_INIT;
    if (ef_topology_parse(json, "x", &t, &err)) {
        fail_msg("%s", err.text);
    }
    return t;
}

static void
assert_address(uint32_t address, const char *expected)
{
    char text[EF_ADDRESS_TEXT_SIZE];
    assert_string_equal(ef_address_format(address, text), expected);
}

static void
a_shape_becomes_a_clos_fabric(void **state)
{
    struct ef_topology *t = generate(2, 4, 2, 2);
    assert_int_equal(t->n_switches, 6);
    assert_int_equal(t->n_hosts, 11);
    const struct ef_topology_switch *leaf = ef_topology_switch(t, "leaf3");
    assert_address(leaf->loopback, "10.255.0.3");
    assert_int_equal(leaf->n_ports, 5);
    assert_string_equal(ef_topology_port(leaf, 2)->peer, "spine2");
    assert_int_equal(ef_topology_port(leaf, 2)->peer_port, 3);
    assert_string_equal(ef_topology_port(leaf, 4)->peer, "h6");
    assert_string_equal(ef_topology_port(leaf, 5)->peer, "analyzer2");
    assert_address(ef_topology_switch(t, "spine2")->loopback, "10.255.1.2");
    assert_address(ef_topology_host(t, "h6")->address, "10.3.0.12");
    assert_int_equal(ef_topology_host(t, "h6")->port, 4);
    assert_string_equal(ef_topology_host(t, "reshuffler1")->switch_name, "leaf1");
    assert_address(ef_topology_host(t, "analyzer2")->address, "10.3.0.201");
    assert_address(t->vip, "10.255.255.1");
    ef_topology_destroy(t);
}

static void
small_and_large_shapes(void **state)
{
    struct ef_topology *t = generate(0, 1, 3, 0);
    assert_int_equal(t->n_hosts, 3);
    ef_topology_destroy(t);
    t = generate(1, 1, 0, 3); /* All collectors on the one leaf. */
    assert_int_equal(t->switches[0].n_ports, 5);
    ef_topology_destroy(t);
    t = generate(16, 200, 9, 99);
    assert_address(ef_topology_switch(t, "leaf200")->loopback, "10.255.0.200");
    assert_address(ef_topology_host(t, "h1800")->address, "10.200.0.19");
    ef_topology_destroy(t);

    struct ef_topology_shape unconnected = {0, 2, 1, 0}, huge = {64, 250, 0, 0};
    struct ef_error err = EF_ERROR_INIT;
    assert_int_equal(ef_topology_generate("x", &unconnected, &t, &err), -EINVAL);
    assert_non_null(strstr(err.text, "2 leaves without a spine"));
    assert_int_equal(ef_topology_generate("x", &huge, &t, &err), -EINVAL);
    assert_non_null(strstr(err.text, "too large"));
}

/* Written, read and written again it is the same. */
static void
documents_survive_a_round_trip(void **state)
{
    struct ef_topology *t = generate(3, 5, 3, 4);
    json_t *json = ef_topology_to_json(t);
    char *text = json_dumps(json, 0);
    struct ef_topology *again = NULL;
    assert_int_equal(ef_topology_parse(text, NULL, &again, NULL), 0);
    json_t *json_again = ef_topology_to_json(again);
    assert_true(json_equal(json, json_again));
    json_decref(json_again);
    ef_topology_destroy(again);

    /* Under another name the derived names follow. */
    assert_int_equal(ef_topology_parse(text, "other", &again, NULL), 0);
    json_again = ef_topology_to_json(again);
    json_t *first = json_array_get(json_object_get(json_again, "switches"), 0);
    assert_string_equal(json_string_value(json_object_get(first, "netns")), "ef-other-leaf1");
    assert_string_equal(json_string_value(json_object_get(first, "ovsdb")), "unix:/run/everflow/other/leaf1/db.sock");
    json_decref(json_again);
    ef_topology_destroy(again);
    free(text);
    json_decref(json);
    ef_topology_destroy(t);
}

static void
what_is_left_out_is_filled_in(void **state)
{
    struct ef_topology *t = parse(
        "{\"switches\":["
        "{\"name\":\"a\",\"ports\":[{\"peer\":{\"node\":\"b\"}},{\"peer\":{\"node\":\"b\"}}]},"
        "{\"name\":\"b\",\"loopback\":\"10.255.0.1\",\"ports\":[{\"number\":7,\"peer\":{\"node\":\"a\"}}]}],"
        "\"hosts\":[{\"name\":\"h\",\"switch\":\"a\"},{\"name\":\"r\",\"role\":\"reshuffler\",\"switch\":\"a\"}]}");
    const struct ef_topology_switch *a = ef_topology_switch(t, "a"), *b = ef_topology_switch(t, "b");
    assert_string_equal(a->role, "leaf");
    assert_string_equal(b->role, "spine");
    assert_address(a->loopback, "10.255.0.2"); /* The first is taken. */
    assert_int_equal(a->n_ports, 4);
    assert_int_equal(a->ports[0].peer_port, 7);
    assert_int_equal(b->n_ports, 2);
    assert_int_equal(b->ports[0].number, 1); /* Sorted; made for a's second link. */
    assert_int_equal(b->ports[0].peer_port, 2);
    assert_string_equal(a->ports[1].name, "b-2");
    assert_int_equal(ef_topology_host(t, "h")->port, 3);
    assert_address(ef_topology_host(t, "r")->address, "10.1.0.201");
    assert_false(b->subnet.len);
    ef_topology_destroy(t);
}

static void
mistakes_are_named(void **state)
{
    static const struct {
        const char *json, *error;
    } cases[] = {
        {"{", "line 1, column 1"},
        {"[]", "the document is not an object"},
        {"{\"switches\":{}}", "switches is not an array"},
        {"{\"switches\":[]}", "at least one switch"},
        {"{\"switches\":[{\"name\":\"a\",\"lopback\":\"10.0.0.1\"}]}",
         "switches[0] has an unknown member 'lopback'; did you mean 'loopback'?"},
        {"{\"switches\":[{\"name\":5}]}", "switches[0].name is not a string"},
        {"{\"switches\":[{\"name\":\"averylongname\"}]}", "switches[0].name: 'averylongname' is longer than 11"},
        {"{\"switches\":[{\"name\":\"A\"}]}", "'A' is no name for a node"},
        {"{\"switches\":[{\"name\":\"br0\"}]}", "cannot be called 'br0'"},
        {"{\"switches\":[{}]}", "'' is no name for a node"},
        {"{\"switches\":[{\"name\":\"a\"},{\"name\":\"a\"}]}", "two switches are called 'a'"},
        {"{\"switches\":[{\"name\":\"a\"},{\"name\":\"b\"}]}", "switches a and b are not connected"},
        {"{\"switches\":[{\"name\":\"a\",\"loopback\":\"10.0.0\"}]}",
         "switches[0].loopback: '10.0.0' is not an IPv4 address"},
        {"{\"switches\":[{\"name\":\"a\",\"loopback\":\"127.0.0.1\"}]}", "a: 127.0.0.1 cannot be routed"},
        {"{\"switches\":[{\"name\":\"a\",\"subnet\":\"10.0.0.1/24\"}]}", "has bits set after the first 24"},
        {"{\"switches\":[{\"name\":\"a\",\"subnet\":\"10.0.0.0/31\"}]}", "not a subnet of length 8 to 30"},
        {"{\"switches\":[{\"name\":\"a\",\"mac\":\"02:00\"}]}", "switches[0].mac: '02:00' is not a MAC address"},
        {"{\"switches\":[{\"name\":\"a\",\"mac\":\"01:00:00:00:00:01\"}]}", "multicast MAC"},
        {"{\"switches\":[{\"name\":\"a\",\"ports\":[{}]}]}", "switches[0].ports[0] has no peer"},
        {"{\"switches\":[{\"name\":\"a\",\"ports\":[{\"peer\":{\"node\":\"z\"}}]}]}",
         "switch a: port 1 leads to 'z', which is neither"},
        {"{\"switches\":[{\"name\":\"a\",\"ports\":[{\"peer\":{\"node\":\"a\"}}]}]}", "leads to the switch itself"},
        {"{\"switches\":[{\"name\":\"a\",\"ports\":[{\"number\":0,\"peer\":{\"node\":\"a\"}}]}]}",
         "switches[0].ports[0].number is not a number from 1"},
        {"{\"switches\":[{\"name\":\"a\",\"ports\":[{\"number\":1,\"peer\":{\"node\":\"b\"}},{\"number\":1,\"peer\":{"
         "\"node\":"
         "\"b\"}}]},{\"name\":\"b\"}]}",
         "switch a has two ports 1"},
        {"{\"switches\":[{\"name\":\"a\",\"ports\":[{\"number\":1,\"peer\":{\"node\":\"b\",\"port\":5}}]},"
         "{\"name\":\"b\",\"ports\":[{\"number\":5,\"peer\":{\"node\":\"a\",\"port\":2}}]}]}",
         "port 1 leads to port 5 of b, which leads elsewhere"},
        {"{\"switches\":[{\"name\":\"a\"}],\"hosts\":[{\"name\":\"h\"}]}", "host h is at no switch"},
        {"{\"switches\":[{\"name\":\"a\"}],\"hosts\":[{\"name\":\"h\",\"switch\":\"b\"}]}",
         "host h is at switch 'b', which is not there"},
        {"{\"switches\":[{\"name\":\"a\"}],\"hosts\":[{\"name\":\"a\",\"switch\":\"a\"}]}", "two nodes are called 'a'"},
        {"{\"switches\":[{\"name\":\"a\"}],\"hosts\":[{\"name\":\"h\",\"switch\":\"a\",\"role\":\"king\"}]}",
         "hosts[0].role: 'king' is not host, reshuffler or analyzer"},
        {"{\"switches\":[{\"name\":\"a\"}],\"hosts\":[{\"name\":\"h\",\"switch\":\"a\",\"address\":\"10.255.0.1\"},"
         "{\"name\":\"g\",\"switch\":\"a\",\"address\":\"10.255.0.1\"}]}",
         "both have the address 10.255.0.1"},
        {"{\"switches\":[{\"name\":\"a\",\"subnet\":\"10.1.0.0/30\"}],\"hosts\":[{\"name\":\"h\",\"switch\":\"a\"},"
         "{\"name\":\"g\",\"switch\":\"a\"}]}",
         "subnet of a has no address left for host g"},
        {"{\"switches\":[{\"name\":\"a\",\"mac\":\"02:00:00:00:00:01\"}],\"hosts\":[{\"name\":\"h\",\"switch\":\"a\","
         "\"mac\":\"02:00:00:00:00:01\"}]}",
         "a and h have the same MAC address"},
        {"{\"vip\":\"10.255.0.9\",\"switches\":[{\"name\":\"a\",\"loopback\":\"10.255.0.9\"}]}",
         "the address 10.255.0.9"},
        {"{\"switches\":[{\"name\":\"a\",\"subnet\":\"10.1.0.0/24\",\"ports\":[{\"peer\":{\"node\":\"b\"}}]},"
         "{\"name\":\"b\",\"subnet\":\"10.0.0.0/8\"}]}",
         "the subnets of a and b overlap"},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        struct ef_topology *t;
        struct ef_error err = EF_ERROR_INIT;
        assert_int_equal(ef_topology_parse(cases[i].json, "x", &t, &err), -EINVAL);
        if (!strstr(err.text, cases[i].error)) {
            fail_msg("%s\n gave: %s\n not: %s", cases[i].json, err.text, cases[i].error);
        }
    }
}

static void
names_of_fabrics(void **state)
{
    static const char *const good[] = {"demo", "a", "lab_2", "fifteen_letters"};
    static const char *const bad[] = {"", "Demo", "a-b", "../x", "sixteen__letters", "a b", "."};
    for (size_t i = 0; i < EF_ARRAY_SIZE(good); i++) {
        assert_int_equal(ef_fabric_name_check(good[i], NULL), 0);
    }
    for (size_t i = 0; i < EF_ARRAY_SIZE(bad); i++) {
        assert_int_equal(ef_fabric_name_check(bad[i], NULL), -EINVAL);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shape_becomes_a_clos_fabric),
        cmocka_unit_test(small_and_large_shapes),
        cmocka_unit_test(documents_survive_a_round_trip),
        cmocka_unit_test(what_is_left_out_is_filled_in),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(names_of_fabrics),
    };
    return cmocka_run_group_tests_name("fabric/topology", tests, NULL, NULL);
}
