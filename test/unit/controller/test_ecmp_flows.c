/* SPDX-License-Identifier: Apache-2.0 */
/* Shares of flows: the test's numbers, one count for each flow, no false alarm, which
 * prefixes are hit. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/chi_square.h"
#include "controller/ecmp_flows.h"

enum { LEAVES = 3, SPINES = 2 };

static json_t *
fabric(void)
{
    json_t *switches = json_array(), *hosts = json_array();
    for (int i = 1; i <= LEAVES; i++) {
        json_t *ports = json_array();
        for (int j = 1; j <= SPINES; j++) {
            json_array_append_new(ports, json_pack("{s:i, s:{s:o, s:i}}", "number", j, "peer", "node",
                                                   json_sprintf("spine%d", j), "port", i));
        }
        json_array_append_new(switches, json_pack("{s:o, s:s, s:o, s:o, s:o}", "name", json_sprintf("leaf%d", i),
                                                  "role", "leaf", "loopback", json_sprintf("10.255.0.%d", i), "subnet",
                                                  json_sprintf("10.%d.0.0/24", i), "ports", ports));
        json_array_append_new(hosts, json_pack("{s:o, s:s, s:o, s:o, s:i}", "name", json_sprintf("h%d", i), "role",
                                               "host", "address", json_sprintf("10.%d.0.11", i), "switch",
                                               json_sprintf("leaf%d", i), "port", 3));
    }
    for (int j = 1; j <= SPINES; j++) {
        json_t *ports = json_array();
        for (int i = 1; i <= LEAVES; i++) {
            json_array_append_new(ports, json_pack("{s:i, s:{s:o, s:i}}", "number", i, "peer", "node",
                                                   json_sprintf("leaf%d", i), "port", j));
        }
        json_array_append_new(switches, json_pack("{s:o, s:s, s:o, s:o}", "name", json_sprintf("spine%d", j), "role",
                                                  "spine", "loopback", json_sprintf("10.255.1.%d", j), "ports", ports));
    }
    return json_pack("{s:o, s:o}", "switches", switches, "hosts", hosts);
}

/* A packet of a flow from one leaf to another over a spine. */
static void
take(struct ecmp_flows *f, int second, int src, int dst, int spine, int port)
{
    json_t *trace = json_pack("{s:o, s:{s:o, s:o, s:i, s:i, s:i}, s:[{s:o}, {s:o}, {s:o}]}", "start",
                              json_sprintf("2026-11-21T02:30:%02d.000000000Z", second), "packet", "src",
                              json_sprintf("10.%d.0.11", src), "dst", json_sprintf("10.%d.0.11", dst), "proto", 6,
                              "srcport", port, "dstport", 80, "hops", "name", json_sprintf("leaf%d", src), "name",
                              json_sprintf("spine%d", spine), "name", json_sprintf("leaf%d", dst));
    assert_non_null(trace);
    ecmp_flows_take(f, trace);
    json_decref(trace);
}

static const struct ef_time start = {0};

static void
the_test(void **state)
{
    unsigned even[] = {50, 50, 50}, uneven[] = {60, 40}, none[] = {0, 0}, extreme[] = {1000, 0};
    /* From tables of the distribution. */
    assert_true(fabs(chi_square_tail(3.841459, 1) - 0.05) < 1e-6);
    assert_true(fabs(chi_square_tail(6.634897, 1) - 0.01) < 1e-6);
    assert_true(fabs(chi_square_tail(18.307038, 10) - 0.05) < 1e-6);
    assert_true(fabs(chi_square_tail(2, 2) - exp(-1)) < 1e-12);
    assert_true(fabs(chi_square_tail(0.1, 1) - 0.7518296) < 1e-6);
    assert_true(fabs(chi_square_even(even, 3) - 1) < 1e-12);
    assert_true(fabs(chi_square_even(uneven, 2) - 0.0455003) < 1e-6);
    assert_true(chi_square_even(none, 2) == 1);
    assert_true(chi_square_even(extreme, 2) < 1e-100);
    assert_true(chi_square_even(even, 1) == 1);
}

static void
a_heavy_flow_is_one_flow(void **state)
{
    json_t *document = fabric();
    struct ecmp_flows *f = ecmp_flows_create(document);
    struct ecmp_finding x[4];
    for (int i = 0; i < 100; i++) {
        take(f, 1, 1, 2, 1 + i % 2, 1000 + i);
    }
    for (int i = 0; i < 5000; i++) {
        take(f, 1, 1, 3, 1, 9);
    }
    assert_int_equal(ecmp_flows_judge(f, start, 1e6, NULL, x, 4), 0);
    assert_true(ecmp_flows_look(f, start, "leaf1", x));
    assert_int_equal(x->flows, 101);
    assert_int_equal(x->n_ways, 2);
    assert_false(ecmp_flows_look(f, start, "spine1", x)); /* It has no choice. */
    ecmp_flows_destroy(f);
    json_decref(document);
}

static void
no_false_alarm(void **state)
{
    json_t *document = fabric();
    struct ecmp_finding x[4];
    srand48(7);
    for (int round = 0; round < 300; round++) {
        struct ecmp_flows *f = ecmp_flows_create(document);
        for (int i = 0; i < 200; i++) {
            take(f, 1, 1 + i % 3, 1 + (i + 1) % 3, 1 + (drand48() < 0.5), i);
        }
        assert_int_equal(ecmp_flows_judge(f, start, 1e6, NULL, x, 4), 0);
        ecmp_flows_destroy(f);
    }
    json_decref(document);
}

static void
a_skewed_switch(void **state)
{
    json_t *document = fabric();
    struct ecmp_flows *f = ecmp_flows_create(document);
    struct ecmp_finding x[4];
    char class[200];
    for (int i = 0; i < 120; i++) {
        take(f, 1, 2, 1 + 2 * (i % 2), i % 10 ? 2 : 1, i);
        take(f, 1, 1, 2 + i % 2, 1 + i / 2 % 2, i);
    }
    assert_int_equal(ecmp_flows_judge(f, start, 1e6, NULL, x, 4), 1);
    assert_string_equal(x->at, "leaf2");
    assert_string_equal(x->ways[0].to, "spine2");
    assert_int_equal(x->ways[0].flows, 108);
    assert_string_equal(ecmp_finding_class(x, class, sizeof class), "all traffic");
    assert_int_equal(ecmp_flows_judge(f, start, 1e6, "leaf1", x, 4), 0);
    assert_int_equal(ecmp_flows_judge(f, start, 1e6, "leaf2", x, 4), 1);
    struct ef_time later;
    ef_time_parse("2026-11-21T02:30:02Z", start, &later, NULL);
    assert_int_equal(ecmp_flows_judge(f, later, 1e6, NULL, x, 4), 0);
    ecmp_flows_destroy(f);
    json_decref(document);
}

/* What was even before a fault is not counted with it, and a fault that is over is none. */
static void
only_what_is_now_counts(void **state)
{
    json_t *document = fabric();
    struct ecmp_flows *f = ecmp_flows_create(document);
    struct ecmp_finding x[4];
    for (int i = 0; i < 300; i++) {
        take(f, 1, 1, 2 + i % 2, 1 + i / 2 % 2, i);
    }
    assert_int_equal(ecmp_flows_judge(f, start, 1e6, NULL, x, 4), 0);
    for (int i = 0; i < 40; i++) {
        take(f, 2, 1, 2 + i % 2, 2, 1000 + i);
    }
    assert_int_equal(ecmp_flows_judge(f, start, 1e6, NULL, x, 4), 1);
    assert_string_equal(x->ways[0].to, "spine2");
    assert_true(x->flows >= 40 && x->flows < 50);
    assert_true(x->p < 1e-6);
    for (int i = 0; i < 60; i++) {
        take(f, 3, 1, 2 + i % 2, 1 + i / 2 % 2, 2000 + i);
    }
    assert_int_equal(ecmp_flows_judge(f, start, 1e6, NULL, x, 4), 0);
    ecmp_flows_destroy(f);
    json_decref(document);
}

/* A prefix of three that is hit is found by its own flows, before it shows in all. */
static void
a_prefix_among_others(void **state)
{
    json_t *document = fabric();
    struct ecmp_flows *f = ecmp_flows_create(document);
    struct ecmp_finding x[4];
    char class[200];
    for (int i = 0; i < 36; i++) {
        take(f, 1, 3, 2, 2, i);
        take(f, 1, 3, 1, 1 + i % 2, 100 + i);
        take(f, 1, 3, 1, 1, 200 + i); /* So that all together are even. */
    }
    assert_int_equal(ecmp_flows_judge(f, start, 1e6, NULL, x, 4), 1);
    assert_string_equal(x->at, "leaf3");
    assert_true(x->is_some);
    assert_non_null(strstr(ecmp_finding_class(x, class, sizeof class), "10."));
    ecmp_flows_destroy(f);
    json_decref(document);
}

/* Of few flows to a prefix, two went the other way: it is not therefore even. */
static void
few_flows_tell_no_class(void **state)
{
    struct ecmp_finding x = {.at = "leaf1",
                             .n_ways = 2,
                             .ways = {{"spine1", 34}, {"spine2", 2}},
                             .flows = 36,
                             .n_classes = 3,
                             .classes = {{.dst = "leaf2", .flows = {12, 0}},
                                         {.dst = "leaf3", .flows = {12, 0}},
                                         {.dst = "leaf4", .flows = {10, 2}}}};
    ecmp_finding_judge(&x);
    assert_true(x.classes[0].is_uneven && x.classes[1].is_uneven && !x.classes[2].is_uneven);
    assert_false(x.is_some);
    x.classes[2].flows[0] = 14;
    x.classes[2].flows[1] = 12;
    ecmp_finding_judge(&x);
    assert_true(x.is_some);
}

static void
only_some_prefixes(void **state)
{
    json_t *document = fabric();
    struct ecmp_flows *f = ecmp_flows_create(document);
    struct ecmp_finding x[4];
    char class[200];
    for (int i = 0; i < 200; i++) {
        take(f, 1, 1, 2, 1, i);
        take(f, 1, 1, 3, 1 + i % 2, i);
    }
    assert_int_equal(ecmp_flows_judge(f, start, 1e6, NULL, x, 4), 1);
    assert_string_equal(x->at, "leaf1");
    assert_string_equal(ecmp_finding_class(x, class, sizeof class), "packets to 10.2.0.0/24 (leaf2)");
    json_t *shown = ecmp_finding_show(x);
    assert_int_equal(json_array_size(json_object_get(shown, "prefixes")), 2);
    json_decref(shown);
    ecmp_flows_destroy(f);
    json_decref(document);
}

/* The copies of a spine do not arrive, or the packets do not: then one sees flows over the
 * other only, which is no share. */
static void
what_is_not_seen_is_not_uneven(void **state)
{
    json_t *document = fabric();
    struct ecmp_flows *f = ecmp_flows_create(document);
    struct ecmp_finding x[4];
    for (int i = 0; i < 200; i++) {
        take(f, 1, 1, 2, i % 2 ? 1 : 9, i); /* There is no spine9. */
    }
    assert_int_equal(ecmp_flows_judge(f, start, 1e6, NULL, x, 4), 0);
    assert_true(ecmp_flows_look(f, start, "leaf1", x));
    assert_int_equal(x->flows, 100);
    assert_int_equal(x->unknown, 100);
    /* But if nearly all are seen, they are. */
    for (int i = 0; i < 900; i++) {
        take(f, 1, 1, 2, 1, 1000 + i);
    }
    assert_int_equal(ecmp_flows_judge(f, start, 1e6, NULL, x, 4), 1);
    ecmp_flows_destroy(f);
    json_decref(document);
}

/* What is no trace, or of others' switches, is left out. */
static void
nonsense(void **state)
{
    static const char *const traces[] = {"{}",
                                         "[]",
                                         "{\"packet\":7,\"hops\":{}}",
                                         "{\"packet\":{\"src\":\"10.1.0.11\",\"dst\":\"10.2.0.11\"},\"start\":\"x\"}",
                                         "{\"packet\":{\"src\":\"10.1.0.11\",\"dst\":\"192.0.2.1\"},"
                                         "\"start\":\"2026-11-21T02:30:00Z\",\"hops\":[{\"name\":\"leaf1\"}]}",
                                         "{\"packet\":{\"src\":\"10.1.0.11\",\"dst\":\"10.2.0.11\"},"
                                         "\"start\":\"2026-11-21T02:30:00Z\",\"hops\":[{\"name\":\"leaf1\"},7,"
                                         "{\"name\":\"leaf9\"},{\"name\":\"spine1\"}]}"};
    json_t *document = fabric();
    struct ecmp_flows *f = ecmp_flows_create(document);
    struct ecmp_finding x[4];
    for (size_t i = 0; i < sizeof traces / sizeof *traces; i++) {
        json_t *trace = json_loads(traces[i], 0, NULL);
        assert_non_null(trace);
        ecmp_flows_take(f, trace);
        json_decref(trace);
    }
    assert_true(ecmp_flows_look(f, start, "leaf1", x));
    assert_int_equal(x->flows, 0);
    assert_int_equal(x->unknown, 1); /* It went from leaf1 to who knows where. */
    ecmp_flows_destroy(f);
    json_decref(document);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_test),
        cmocka_unit_test(a_heavy_flow_is_one_flow),
        cmocka_unit_test(no_false_alarm),
        cmocka_unit_test(a_skewed_switch),
        cmocka_unit_test(only_what_is_now_counts),
        cmocka_unit_test(a_prefix_among_others),
        cmocka_unit_test(few_flows_tell_no_class),
        cmocka_unit_test(only_some_prefixes),
        cmocka_unit_test(nonsense),
        cmocka_unit_test(what_is_not_seen_is_not_uneven),
    };
    return cmocka_run_group_tests_name("controller/ecmp_flows", tests, NULL, NULL);
}
