/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what a fault is told: which packets, where, how much, and its way
 * through JSON. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "utilities/fabric/fault.h"
#include "utilities/fabric/fault_match.h"

/* The match as text, to compare. */
static const char *
show(const struct ef_fault_match *m)
{
    static char text[256];
    snprintf(text, sizeof text, "%x %x/%x %x/%x %u-%u %u-%u %u-%u %u-%u %u-%u", m->families, m->source, m->source_mask,
             m->destination, m->destination_mask, m->protocol.low, m->protocol.high, m->source_port.low,
             m->source_port.high, m->destination_port.low, m->destination_port.high, m->dscp.low, m->dscp.high,
             m->length.low, m->length.high);
    for (char *max; (max = strstr(text, "-4294967295"));) {
        memmove(max + 2, max + 11, strlen(max + 11) + 1);
        max[1] = '*';
    }
    return text;
}

static void
filters_become_matches(void **state)
{
    static const struct {
        const char *filter, *match, *openflow;
    } cases[] = {
        {"", "7 0/0 0/0 0-* 0-* 0-* 0-* 0-*", "ip"},
        {"ip", "2 0/0 0/0 0-* 0-* 0-* 0-* 0-*", "ip"},
        {"ipv6 && udp", "4 0/0 0/0 17-17 0-* 0-* 0-* 0-*", NULL},
        {"icmp", "2 0/0 0/0 1-1 0-* 0-* 0-* 0-*", "ip,nw_proto=1"},
        {"ip.src == 10.1.2.0/24 and ip.dst == 10.4.0.12", "2 a010200/ffffff00 a04000c/ffffffff 0-* 0-* 0-* 0-* 0-*",
         "ip,nw_src=10.1.2.0/255.255.255.0,nw_dst=10.4.0.12/255.255.255.255"},
        {"tcp.dstport == 443", "6 0/0 0/0 6-6 0-* 443-443 0-* 0-*", "ip,nw_proto=6,tp_dst=443"},
        {"udp.srcport in {1000..2000} && ip", "2 0/0 0/0 17-17 1000-2000 0-* 0-* 0-*", NULL},
        {"frame.len > 1024", "7 0/0 0/0 0-* 0-* 0-* 0-* 1025-*", NULL},
        {"frame.len >= 100 && frame.len < 200", "7 0/0 0/0 0-* 0-* 0-* 0-* 100-199", NULL},
        {"ip.proto == 47 && ip.dsfield.dscp == 1", "2 0/0 0/0 47-47 0-* 0-* 1-1 0-*", "ip,nw_proto=47,ip_dscp=1"},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        struct ef_fault_match match;
        char openflow[256];
        assert_int_equal(ef_fault_match_parse(cases[i].filter, &match, NULL), 0);
        assert_string_equal(show(&match), cases[i].match);
        int rc = ef_fault_match_to_openflow(&match, openflow, sizeof openflow, NULL);
        assert_int_equal(rc, cases[i].openflow ? 0 : -EINVAL);
        if (!rc) {
            assert_string_equal(openflow, cases[i].openflow);
        }
    }
}

static void
what_cannot_be_followed_is_refused(void **state)
{
    static const char *const filters[] = {
        "tcp || udp",
        "!tcp",
        "ip.src != 10.0.0.1",
        "ip.src == 10.0.0.1 && ip.src == 10.0.0.2",
        "ip.src > 10.0.0.1",
        "ip.src in {10.0.0.1..10.0.0.2}",
        "tcp.flags.syn == 1",
        "ip.addr == 10.0.0.1",
        "tcp.port == 80",
        "udp.srcport in {1, 5}",
        "ip.dst ==",
        "frame.len < 0",
        "tcp.srcport == tcp.dstport",
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(filters); i++) {
        struct ef_error err = EF_ERROR_INIT;
        struct ef_fault_match match;
        assert_int_equal(ef_fault_match_parse(filters[i], &match, &err), -EINVAL);
        assert_true(err.text[0]);
    }
}

static int
make_topology(void **state)
{
    const struct ef_topology_shape shape = {2, 2, 1, 1};
    return ef_topology_generate("t", &shape, (struct ef_topology **) state, NULL);
}

static int
free_topology(void **state)
{
    ef_topology_destroy(*state);
    return 0;
}

static void
places_are_switches_ports_and_hosts(void **state)
{
    static const struct {
        const char *text, *node;
        int port;
    } cases[] = {{"leaf1", "leaf1", 0}, {"leaf1:2", "leaf1", 2}, {"spine2:leaf2", "spine2", 2}, {"h2", "h2", 0}};
    static const char *const bad[] = {"", "leaf3", "leaf1:", "leaf1:9", "leaf1:h2", "h1:1", "leaf1234567890123:1"};
    struct ef_fault fault = {0};
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        assert_int_equal(ef_fault_place(*state, cases[i].text, &fault, NULL), 0);
        assert_string_equal(fault.node, cases[i].node);
        assert_int_equal(fault.port, cases[i].port);
        assert_int_equal(fault.at_host, cases[i].text[0] == 'h');
    }
    for (size_t i = 0; i < EF_ARRAY_SIZE(bad); i++) {
        assert_int_equal(ef_fault_place(*state, bad[i], &fault, NULL), -EINVAL);
    }
}

static void
rates_are_what_the_kind_means(void **state)
{
    static const struct {
        const char *kind, *text;
        double rate; /* 0: refused. */
    } cases[] = {
        {"random-drop", "0.25", 0.25}, {"random-drop", "1%", 0.01}, {"random-drop", "1", 1},
        {"random-drop", "0", 0},       {"random-drop", "101%", 0},  {"random-drop", "5mbit", 0},
        {"random-drop", "nan", 0},     {"random-drop", "x", 0},     {"queue", "5mbit", 5e6},
        {"queue", "100bit", 0},        {"queue", "0.1", 0},         {"pfc-storm", "200", 200},
        {"pfc-storm", "-1", 0},        {"blackhole", "1", 0},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        struct ef_fault fault = {.kind = ef_fault_kind_find(cases[i].kind, NULL)};
        int rc = ef_fault_rate_parse(cases[i].text, &fault, NULL);
        assert_int_equal(rc, cases[i].rate > 0 ? 0 : -EINVAL);
        if (!rc) {
            assert_float_equal(fault.rate, cases[i].rate, 1e-9);
        }
    }
}

static void
faults_survive_json(void **state)
{
    struct ef_fault fault = {.kind = &ef_fault_delay, .id = 7, .delay_ns = 50000, .seed = 99}, back;
    assert_int_equal(ef_fault_place(*state, "leaf1:spine2", &fault, NULL), 0);
    snprintf(fault.match_text, sizeof fault.match_text, "tcp");
    assert_int_equal(ef_fault_match_parse(fault.match_text, &fault.match, NULL), 0);
    fault.since = ef_time_real();
    json_t *json = ef_fault_to_json(*state, &fault);
    assert_int_equal(ef_fault_from_json(*state, json, &back), 0);
    assert_ptr_equal(back.kind, fault.kind);
    assert_int_equal(back.id, 7);
    assert_string_equal(back.node, "leaf1");
    assert_int_equal(back.port, 2);
    assert_int_equal(back.delay_ns, 50000);
    assert_int_equal(back.seed, 99);
    assert_int_equal(back.since.ns, fault.since.ns);
    assert_memory_equal(&back.match, &fault.match, sizeof back.match);
    json_object_set_new(json, "kind", json_string("nonsense"));
    assert_int_equal(ef_fault_from_json(*state, json, &back), -EINVAL);
    json_decref(json);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filters_become_matches),
        cmocka_unit_test(what_cannot_be_followed_is_refused),
        cmocka_unit_test(places_are_switches_ports_and_hosts),
        cmocka_unit_test(rates_are_what_the_kind_means),
        cmocka_unit_test(faults_survive_json),
    };
    return cmocka_run_group_tests_name("fault", tests, make_topology, free_topology);
}
