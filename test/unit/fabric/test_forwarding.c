/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what a topology means to a switch: its routes, its flows, and how
 * an answer of ofproto/trace is read. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "utilities/fabric/flows.h"
#include "utilities/fabric/plan.h"
#include "utilities/fabric/routes.h"
#include "utilities/fabric/trace_path.h"

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

static struct ef_topology *
generate(int spines, int leaves, int hosts, int analyzers)
{
    struct ef_topology_shape shape = {spines, leaves, hosts, analyzers};
    struct ef_topology *t = NULL;
    assert_int_equal(ef_topology_generate("demo", &shape, &t, NULL), 0);
    return t;
}

static const struct ef_route *
find_route(const struct ef_routes *routes, const char *prefix)
{
    char text[EF_ADDRESS_TEXT_SIZE];
    for (size_t i = 0; i < routes->n_routes; i++) {
        if (!strcmp(ef_prefix_format(routes->routes[i].prefix, text), prefix)) {
            return &routes->routes[i];
        }
    }
    return NULL;
}

static void
assert_ports(const struct ef_topology *t, const char *sw, const char *prefix, size_t n, int first, int last)
{
    struct ef_routes routes;
    ef_routes_init(&routes, t, ef_topology_switch(t, sw));
    const struct ef_route *route = find_route(&routes, prefix);
    if (!route || route->n_ports != n || route->ports[0] != first || route->ports[n - 1] != last) {
        fail_msg("%s has not %zu ports from %d to %d for %s", sw, n, first, last, prefix);
    }
    ef_routes_deinit(&routes);
}

static void
routes_take_all_shortest_paths(void **state)
{
    struct ef_topology *t = generate(2, 4, 2, 2);
    assert_ports(t, "leaf1", "10.1.0.11/32", 1, 3, 3);
    assert_ports(t, "leaf1", "10.4.0.0/24", 2, 1, 2);
    assert_ports(t, "leaf1", "10.255.0.4/32", 2, 1, 2);
    assert_ports(t, "leaf1", "10.255.1.2/32", 1, 2, 2);
    assert_ports(t, "leaf1", "10.255.255.1/32", 1, 5, 5);
    assert_ports(t, "leaf2", "10.255.255.1/32", 2, 1, 2);
    assert_ports(t, "spine1", "10.3.0.0/24", 1, 3, 3);
    assert_ports(t, "spine1", "10.255.255.1/32", 1, 1, 1);
    assert_ports(t, "spine1", "10.255.1.2/32", 4, 1, 4); /* Down and up again. */
    ef_topology_destroy(t);
}

/* a - b - c in a row, with a host outside its leaf's subnet and a reshuffler at
 * each end: the nearest one is taken, both from the middle. */
static void
routes_of_odd_topologies(void **state)
{
    struct ef_topology *t =
        parse("{\"switches\":[{\"name\":\"a\"},{\"name\":\"b\",\"ports\":[{\"peer\":{\"node\":\"a\"}},{\"peer\":{"
              "\"node\":\"c\"}}]},"
              "{\"name\":\"c\"}],\"hosts\":[{\"name\":\"h\",\"switch\":\"a\",\"address\":\"192.0.2.7\"},"
              "{\"name\":\"r1\",\"role\":\"reshuffler\",\"switch\":\"a\"},{\"name\":\"r2\",\"role\":\"reshuffler\","
              "\"switch\":\"c\"}]}");
    assert_ports(t, "c", "192.0.2.7/32", 1, 1, 1);
    assert_ports(t, "a", "192.0.2.7/32", 1, 2, 2);
    assert_ports(t, "b", "10.255.255.1/32", 2, 1, 2);
    assert_ports(t, "c", "10.255.255.1/32", 1, 2, 2);
    ef_topology_destroy(t);
}

/* Each of `lines` (up to NULL) must be a line of `text`. */
static void
assert_lines(const char *text, const char *const lines[])
{
    for (; *lines; lines++) {
        const char *at = strstr(text, *lines);
        if (!at || (at != text && at[-1] != '\n') || at[strlen(*lines)] != '\n') {
            fail_msg("no line %s\nin\n%s", *lines, text);
        }
    }
}

static void
flows_of_a_leaf(void **state)
{
    static const char *const lines[] = {
        "flow add table=0,priority=490,arp,actions=drop",
        "flow add table=0,priority=400,ip,nw_dst=10.255.0.1,actions=set_field:02:ef:0a:ff:00:01->eth_dst,LOCAL",
        "flow add table=0,priority=400,ipv6,ipv6_dst=fd00::aff:1,actions=set_field:02:ef:0a:ff:00:01->eth_dst,LOCAL",
        "flow add table=0,priority=300,in_port=LOCAL,actions=goto_table:1",
        "flow add table=0,priority=200,ip,nw_ttl=1,actions=set_field:02:ef:0a:ff:00:01->eth_dst,LOCAL",
        "flow add table=0,priority=100,ip,actions=load:0->NXM_OF_IN_PORT[],dec_ttl,goto_table:1",
        "flow add table=1,priority=132,ip,nw_dst=10.1.0.11/32,actions=set_field:02:ef:0a:ff:00:01->eth_src,"
        "set_field:02:ef:0a:01:00:0b->eth_dst,output:3",
        "flow add table=1,priority=124,ip,nw_dst=10.2.0.0/24,actions=set_field:02:ef:0a:ff:00:01->eth_src,group:1",
        "flow add "
        "table=1,priority=124,ipv6,ipv6_dst=fd00::a02:0/120,actions=set_field:02:ef:0a:ff:00:01->eth_src,group:1",
        "flow add table=1,priority=132,ip,nw_dst=10.255.1.2/32,actions=set_field:02:ef:0a:ff:00:01->eth_src,"
        "set_field:02:ef:0a:ff:01:02->eth_dst,output:2",
        "flow add table=1,priority=0,actions=drop",
        NULL,
    };
    struct ef_topology *t = generate(2, 2, 1, 1);
    char *flows = ef_flows_of_switch(t, ef_topology_switch(t, "leaf1"));
    assert_lines(flows, lines);
    assert_memory_equal(flows, "group add group_id=1,type=select,selection_method=hash,", 55);
    free(flows);
    ef_topology_destroy(t);
}

/* Two switches must not choose alike, or the second of two choices in a row
 * would always be the same. */
static void
seeds_differ(void **state)
{
    struct ef_topology *t = generate(2, 3, 1, 1);
    char *one = ef_flows_of_switch(t, ef_topology_switch(t, "leaf1"));
    char *two = ef_flows_of_switch(t, ef_topology_switch(t, "leaf2"));
    const char *name = "selection_method_param=";
    const char *a = strstr(one, name), *b = strstr(two, name);
    assert_non_null(a);
    assert_non_null(b);
    assert_int_not_equal(strtoull(a + strlen(name), NULL, 10), strtoull(b + strlen(name), NULL, 10));
    free(one);
    free(two);
    ef_topology_destroy(t);
}

static void
links_are_made_once_with_room_for_copies(void **state)
{
    static const char *const lines[] = {
        "netns add ef-demo-leaf1",
        "netns add ef-demo-analyzer1",
        "link add name spine1 netns ef-demo-leaf1 mtu 1700 group 61166 type veth peer name leaf1 netns ef-demo-spine1 "
        "mtu 1700 "
        "group 61166",
        "link add name h1 netns ef-demo-leaf1 mtu 1500 group 61166 type veth peer name eth0 netns ef-demo-h1 address "
        "02:ef:0a:01:00:0b mtu 1500 group 61166",
        "link add name analyzer1 netns ef-demo-leaf1 mtu 1700 group 61166 type veth peer name eth0 netns "
        "ef-demo-analyzer1 "
        "address 02:ef:0a:01:00:ca mtu 1700 group 61166",
        NULL,
    };
    struct ef_topology *t = generate(1, 1, 1, 1);
    char *plan = ef_plan_links(t);
    size_t n = 0;
    assert_lines(plan, lines);
    for (const char *at = plan; (at = strstr(at, "link add")); at++) {
        n++;
    }
    assert_int_equal(n, 4);
    free(plan);
    ef_topology_destroy(t);
}

static void
answers_of_ofproto_trace(void **state)
{
    static const struct {
        const char *answer, *name;
    } cases[] = {
        {"Flow: x\n\nFinal flow: y\nMegaflow: z\nDatapath actions: "
         "set(eth(src=02:ef:0a:ff:00:01,dst=02:ef:0a:ff:01:01)),set(ipv4(ttl=63)),spine1\n",
         "spine1"},
        {"\nDatapath actions: br0", "br0"},
        {"\nDatapath actions: drop\n", ""},
        {"\nDatapath actions: hash(l4(0)),recirc(0x1)\nx\nDatapath actions: h1\n", "h1"},
        {"\nDatapath actions: \n", ""},
    };
    char name[IFNAMSIZ];
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        assert_int_equal(ef_trace_answer_output(cases[i].answer, name), 0);
        assert_string_equal(name, cases[i].name);
    }
    assert_int_equal(ef_trace_answer_output("", name), -EPROTO);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(routes_take_all_shortest_paths),
        cmocka_unit_test(routes_of_odd_topologies),
        cmocka_unit_test(flows_of_a_leaf),
        cmocka_unit_test(seeds_differ),
        cmocka_unit_test(links_are_made_once_with_room_for_copies),
        cmocka_unit_test(answers_of_ofproto_trace),
    };
    return cmocka_run_group_tests_name("fabric/forwarding", tests, NULL, NULL);
}
