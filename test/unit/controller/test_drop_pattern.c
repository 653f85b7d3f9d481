/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of how the class of dropped packets is found: a model of a switch that
 * drops what a rule says stands for the fabric, and the pattern must be the rule. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/util.h"
#include "controller/drop_pattern.h"

/* Two spines, three leaves, two hosts at each. */
static const char topology[] =
    "{\"switches\": ["
    "{\"name\":\"leaf1\",\"loopback\":\"10.255.0.1\",\"subnet\":\"10.1.0.0/24\",\"ports\":["
    "  {\"number\":1,\"peer\":{\"node\":\"spine1\"}},{\"number\":2,\"peer\":{\"node\":\"spine2\"}}]},"
    "{\"name\":\"leaf2\",\"loopback\":\"10.255.0.2\",\"subnet\":\"10.2.0.0/24\",\"ports\":["
    "  {\"number\":1,\"peer\":{\"node\":\"spine1\"}},{\"number\":2,\"peer\":{\"node\":\"spine2\"}}]},"
    "{\"name\":\"leaf3\",\"loopback\":\"10.255.0.3\",\"subnet\":\"10.3.0.0/24\",\"ports\":["
    "  {\"number\":1,\"peer\":{\"node\":\"spine1\"}},{\"number\":2,\"peer\":{\"node\":\"spine2\"}}]},"
    "{\"name\":\"spine1\",\"loopback\":\"10.255.1.1\",\"ports\":[{\"number\":1,\"peer\":{\"node\":\"leaf1\"}},"
    "  {\"number\":2,\"peer\":{\"node\":\"leaf2\"}},{\"number\":3,\"peer\":{\"node\":\"leaf3\"}}]},"
    "{\"name\":\"spine2\",\"loopback\":\"10.255.1.2\",\"ports\":[{\"number\":1,\"peer\":{\"node\":\"leaf1\"}},"
    "  {\"number\":2,\"peer\":{\"node\":\"leaf2\"}},{\"number\":3,\"peer\":{\"node\":\"leaf3\"}}]}],"
    "\"hosts\": ["
    "{\"name\":\"h1\",\"address\":\"10.1.0.11\",\"switch\":\"leaf1\"},"
    "{\"name\":\"h2\",\"address\":\"10.1.0.12\",\"switch\":\"leaf1\"},"
    "{\"name\":\"h3\",\"address\":\"10.2.0.11\",\"switch\":\"leaf2\"},"
    "{\"name\":\"h4\",\"address\":\"10.2.0.12\",\"switch\":\"leaf2\"},"
    "{\"name\":\"h5\",\"address\":\"10.3.0.11\",\"switch\":\"leaf3\"},"
    "{\"name\":\"h6\",\"address\":\"10.3.0.12\",\"switch\":\"leaf3\"},"
    "{\"name\":\"a1\",\"role\":\"analyzer\",\"address\":\"10.3.0.99\",\"switch\":\"leaf3\"}]}";

/* What the modelled switch `at` drops, on the way to `next` (NULL: to any). */
struct rule {
    const char *at, *next;
    int dst_port, proto;
    const char *src, *src_prefix, *dst;
    int longer_than;
    const char *dst_prefix;
    int src_port, shorter_than, last_dst_port; /* dst_port to last_dst_port. */
    const char *base_src, *base_dst;           /* Of the packet that it begins with. */
};

static struct fabric_map *map;
static json_t *document;

static int
set_up(void **state)
{
    document = json_loads(topology, 0, NULL);
    assert_non_null(document);
    map = fabric_map_create(document);
    return 0;
}

static int
tear_down(void **state)
{
    fabric_map_destroy(map);
    json_decref(document);
    return 0;
}

/* `prefixes`: "10.2.|10.3." */
static bool
starts_with_one_of(const char *address, const char *prefixes)
{
    for (const char *p = prefixes; p; p = strchr(p, '|') ? strchr(p, '|') + 1 : NULL) {
        if (!strncmp(address, p, strcspn(p, "|"))) {
            return true;
        }
    }
    return false;
}

static bool
is_dropped(const struct rule *rule, const struct probe_flow *f, const char *next)
{
    return (!rule->next || !strcmp(rule->next, next)) &&
           (!rule->dst_port || rule->dst_port == f->dst_port ||
            (f->dst_port > rule->dst_port && f->dst_port <= rule->last_dst_port)) &&
           (!rule->proto || rule->proto == f->proto) && (!rule->src || !strcmp(rule->src, f->src)) &&
           (!rule->src_prefix || starts_with_one_of(f->src, rule->src_prefix)) &&
           (!rule->dst || !strcmp(rule->dst, f->dst)) &&
           (!rule->dst_prefix || starts_with_one_of(f->dst, rule->dst_prefix)) &&
           (!rule->src_port || rule->src_port == f->src_port) &&
           (!rule->shorter_than || (f->length ? f->length : probe_flow_shortest(f)) < rule->shorter_than) &&
           (!rule->longer_than || (f->length ? f->length : probe_flow_shortest(f)) > rule->longer_than);
}

/* ECMP by the fields that a switch takes. */
static const char *
next_of(const struct probe_flow *f, const char *at)
{
    const char *next[FABRIC_MAP_NEXT], *to = fabric_map_switch_of(map, f->dst);
    char key[160];
    int len = snprintf(key, sizeof key, "%s %s %d %d %d", f->src, f->dst, f->proto, f->src_port, f->dst_port);
    size_t n = fabric_map_next(map, at, to, next, FABRIC_MAP_NEXT);
    return n ? next[ef_hash64(key, (size_t) len) % n] : to;
}

static void
probe(struct drop_pattern *p, const struct rule *rule, const struct drop_variation *v)
{
    struct probe_round_order result = {.sent = 4, .traced = 4, .reached = 4};
    const char *next = next_of(&v->flow, v->at);
    if (!strcmp(v->at, rule->at) && is_dropped(rule, &v->flow, next)) {
        result.failed = 4;
    } else {
        result.passed = 4;
        result.n_next = 1;
        snprintf(result.next[0].name, sizeof result.next[0].name, "%s", next);
    }
    drop_pattern_note(p, v, &result);
}

static void
probe_all(struct drop_pattern *p, const struct rule *rule, const struct drop_variation variations[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        probe(p, rule, &variations[i]);
    }
    drop_pattern_solve(p);
}

/* The rounds of the application. The base is one that the rule drops. */
static void
diagnose(struct drop_pattern *p, const struct rule *rule)
{
    struct probe_flow base = {.src = "10.1.0.11",
                              .dst = "10.3.0.11",
                              .proto = PROBE_FLOW_TCP,
                              .src_port = 40000,
                              .dst_port = 443,
                              .length = rule->longer_than ? 1400 : 60,
                              .flags = "S"};
    struct drop_variation variations[PROBE_ROUND_ORDERS];
    if (rule->base_src) {
        snprintf(base.src, sizeof base.src, "%s", rule->base_src);
        snprintf(base.dst, sizeof base.dst, "%s", rule->base_dst);
    }
    while (!is_dropped(rule, &base, next_of(&base, rule->at))) {
        base.src_port++;
        assert_true(base.src_port < 40100);
    }
    drop_pattern_init(p, map, rule->at, &base);
    p->subnets[0] = fabric_map_subnet(map, fabric_map_switch_of(map, base.src), false);
    p->subnets[1] = fabric_map_subnet(map, "leaf3", false);
    const struct drop_variation first = {DROP_BASE, base, rule->at};
    probe(p, rule, &first);
    probe_all(p, rule, variations, drop_pattern_ports(p, variations, PROBE_ROUND_ORDERS));
    probe_all(p, rule, variations, drop_pattern_more_ports(p, variations, PROBE_ROUND_ORDERS));
    probe_all(p, rule, variations, drop_pattern_variations(p, variations, PROBE_ROUND_ORDERS));
    p->is_retry = true;
    probe_all(p, rule, variations, drop_pattern_variations(p, variations, PROBE_ROUND_ORDERS));
}

static void
the_pattern_is_the_rule(void **state)
{
    static const struct {
        struct rule rule;
        const char *next, *text;
        bool beyond_link;
    } cases[] = {
        {{.at = "spine1", .next = "leaf3"}, "leaf3", "all packets", false},
        {{.at = "leaf1", .next = "spine2"}, "spine2", "all packets", false},
        {{.at = "leaf1", .next = "spine1", .dst_port = 443}, "spine1", "packets to port 443", false},
        {{.at = "leaf1", .next = "spine2", .proto = PROBE_FLOW_TCP}, "spine2", "all TCP packets", false},
        {{.at = "spine2", .next = "leaf3", .dst_port = 443, .proto = PROBE_FLOW_TCP},
         "leaf3",
         "TCP packets to port 443",
         false},
        {{.at = "spine1", .next = "leaf3", .src = "10.1.0.11"}, "leaf3", "packets from 10.1.0.11", false},
        {{.at = "spine1", .next = "leaf3", .dst_port = 443, .src_prefix = "10.1.0."},
         "leaf3",
         "packets from 10.1.0.0/24 to port 443",
         false},
        {{.at = "leaf1", .next = "spine2", .dst = "10.3.0.11"}, "spine2", "packets to 10.3.0.11", false},
        {{.at = "spine1"}, "leaf3", "all packets", true},
        {{.at = "spine1", .next = "leaf3", .longer_than = 700},
         "leaf3",
         "packets of more than 72 to 1399 bytes",
         false},
        {{.at = "spine1", .next = "leaf3", .shorter_than = 300}, "leaf3", "packets of less than 1400 bytes", false},
        {{.at = "leaf1", .next = "spine2", .dst_prefix = "10.3.0."}, "spine2", "packets to 10.3.0.0/24", false},
        {{.at = "leaf1", .next = "spine1", .proto = PROBE_FLOW_TCP, .dst_port = 443, .dst_prefix = "10.3.0."},
         "spine1",
         "TCP packets to 10.3.0.0/24 to port 443",
         false},
        {{.at = "spine1", .next = "leaf3", .proto = PROBE_FLOW_TCP, .src_prefix = "10.1.0."},
         "leaf3",
         "TCP packets from 10.1.0.0/24",
         false},
        {{.at = "spine1", .next = "leaf3", .src = "10.1.0.11", .dst = "10.3.0.11"},
         "leaf3",
         "packets from 10.1.0.11 to 10.3.0.11",
         false},
        {{.at = "spine1", .next = "leaf3", .src_port = 40007}, "leaf3", "packets from port 40007", false},
        {{.at = "spine1", .next = "leaf3", .proto = PROBE_FLOW_TCP, .dst_port = 443, .longer_than = 700},
         "leaf3",
         "TCP packets to port 443 of more than 72 to 1399 bytes",
         false},
        /* A prefix that has some leaves and not others; ports beside the one that was seen. */
        {{.at = "spine1",
          .next = "leaf3",
          .src_prefix = "10.2.|10.3.",
          .base_src = "10.2.0.11",
          .base_dst = "10.3.0.12"},
         "leaf3",
         "packets from 10.2.0.0/15",
         false},
        {{.at = "spine1",
          .next = "leaf3",
          .src_prefix = "10.1.|10.2.",
          .base_src = "10.1.0.11",
          .base_dst = "10.3.0.12"},
         "leaf3",
         "packets from 10.1.0.11 and others",
         false},
        {{.at = "spine1", .next = "leaf3", .dst_port = 1, .last_dst_port = 6000},
         "leaf3",
         "packets to port 443 and others",
         false},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        struct drop_pattern p;
        char text[256];
        diagnose(&p, &cases[i].rule);
        drop_pattern_text(&p, text, sizeof text);
        assert_non_null(p.next);
        assert_string_equal(p.next, cases[i].next);
        assert_string_equal(text, cases[i].text);
        assert_int_equal(p.beyond_link, cases[i].beyond_link);
        assert_false(p.next_is_dead);
    }
}

static void
a_prefix_has_all_and_nothing_else(void **state)
{
    static const struct {
        const char *dropped[4], *passed[4], *prefix;
    } cases[] = {
        {{"10.2.0.11", "10.3.0.11"}, {"10.1.0.11", "10.4.0.11"}, "10.2.0.0/15"},
        {{"10.2.0.11"}, {"10.1.0.11"}, NULL},
        {{"10.1.0.11", "10.3.0.11"}, {"10.2.0.11"}, NULL},
        {{"10.1.0.11", "10.1.0.12"}, {0}, "10.1.0.8/29"},
        {{"10.1.0.11", "10.1.0.11"}, {"10.1.0.12"}, "10.1.0.11/32"},
        {{"0.0.0.1", "255.0.0.1"}, {0}, "0.0.0.0/0"},
        {{"fd00:1::11", "fd00:1::12"}, {"fd00:2::11", "10.0.0.1", "nobody"}, "fd00:1::10/126"},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        struct drop_prefix_set set = {0};
        char text[DROP_PREFIX_TEXT];
        for (size_t k = 0; k < 4; k++) {
            if (cases[i].dropped[k]) {
                drop_prefix_note(&set, cases[i].dropped[k], true);
            }
            if (cases[i].passed[k]) {
                drop_prefix_note(&set, cases[i].passed[k], false);
            }
        }
        assert_int_equal(drop_prefix_find(&set, text), cases[i].prefix != NULL);
        if (cases[i].prefix) {
            assert_string_equal(text, cases[i].prefix);
        }
    }
}

/* A leaf that drops on all its ways: no link is named. */
static void
no_link_is_named_where_all_ways_drop(void **state)
{
    static const struct rule rule = {.at = "leaf1", .dst_port = 443};
    struct drop_pattern p;
    char text[256];
    diagnose(&p, &rule);
    drop_pattern_text(&p, text, sizeof text);
    assert_null(p.next);
    assert_string_equal(text, "packets to port 443");
}

/* Nothing that is sent to the next switch arrives, from no side. */
static void
a_dead_switch_is_told_from_a_broken_link(void **state)
{
    struct probe_flow base = {
        .src = "10.1.0.11", .dst = "10.3.0.11", .proto = PROBE_FLOW_TCP, .src_port = 1, .dst_port = 2};
    struct probe_round_order failed = {.sent = 4, .traced = 4, .reached = 4, .failed = 4};
    struct drop_variation variations[PROBE_ROUND_ORDERS];
    struct drop_pattern p;
    unsigned n_alive = 0;
    drop_pattern_init(&p, map, "spine1", &base);
    size_t n = drop_pattern_variations(&p, variations, PROBE_ROUND_ORDERS);
    for (size_t i = 0; i < n; i++) {
        n_alive += variations[i].field == DROP_ALIVE;
        drop_pattern_note(&p, &variations[i], &failed);
    }
    drop_pattern_solve(&p);
    assert_int_equal(n_alive, 1); /* Over spine2, the only other neighbour. */
    assert_true(p.next_is_dead);
    p.next_is_heard = true; /* It makes copies, so it gets packets. */
    drop_pattern_solve(&p);
    assert_false(p.next_is_dead);
}

static void
who_should_have_seen_it_is_the_next_or_all_that_may_be(void **state)
{
    struct probe_flow base = {
        .src = "10.1.0.11", .dst = "10.3.0.11", .proto = PROBE_FLOW_TCP, .src_port = 1, .dst_port = 2};
    const char *names[FABRIC_MAP_NEXT];
    struct drop_pattern p;
    drop_pattern_init(&p, map, "leaf1", &base);
    assert_int_equal(drop_pattern_unseen(&p, names), 2);
    assert_string_equal(names[0], "spine1");
    assert_string_equal(names[1], "spine2");
    drop_pattern_went(&p, "spine2");
    assert_int_equal(drop_pattern_unseen(&p, names), 1);
    assert_string_equal(names[0], "spine2");
    drop_pattern_init(&p, map, "leaf3", &base); /* Only the host is behind it. */
    assert_int_equal(drop_pattern_unseen(&p, names), 0);
}

/* Of the packets for elsewhere nobody tells whose copies arrive: they say nothing of
 * the switch, and only the link to the next one remains. */
static void
who_is_not_heard_is_no_witness(void **state)
{
    struct probe_flow base = {
        .src = "10.1.0.11", .dst = "10.3.0.11", .proto = PROBE_FLOW_TCP, .src_port = 1, .dst_port = 2};
    struct probe_round_order failed = {.sent = 4, .traced = 4, .reached = 4, .failed = 4};
    struct drop_variation variations[PROBE_ROUND_ORDERS];
    for (int is_heard = 0; is_heard < 2; is_heard++) {
        struct drop_pattern p;
        drop_pattern_init(&p, map, "spine1", &base);
        p.unheard[0] = "leaf1";
        p.unheard[1] = "leaf2";
        p.n_unheard = is_heard ? 0 : 2;
        size_t n = drop_pattern_variations(&p, variations, PROBE_ROUND_ORDERS);
        for (size_t i = 0; i < n; i++) {
            drop_pattern_note(&p, &variations[i], &failed);
        }
        drop_pattern_solve(&p);
        assert_int_equal(p.beyond_link, is_heard);
        assert_int_equal(p.matters[DROP_DST_ELSEWHERE], is_heard ? DROP_MATTERS_NOT : DROP_NOT_KNOWN);
        assert_string_equal(p.next, "leaf3");
    }
}

/* What nobody has a trace of says nothing. */
static void
silence_is_no_drop(void **state)
{
    struct probe_flow base = {
        .src = "10.1.0.11", .dst = "10.3.0.11", .proto = PROBE_FLOW_TCP, .src_port = 1, .dst_port = 2};
    struct probe_round_order silent = {.sent = 4};
    struct drop_variation variations[PROBE_ROUND_ORDERS];
    struct drop_pattern p;
    drop_pattern_init(&p, map, "spine1", &base);
    size_t n = drop_pattern_variations(&p, variations, PROBE_ROUND_ORDERS);
    for (size_t i = 0; i < n; i++) {
        drop_pattern_note(&p, &variations[i], &silent);
    }
    drop_pattern_solve(&p);
    assert_false(p.next_is_dead);
    assert_false(p.beyond_link);
    assert_int_equal(p.matters[DROP_DST_PORT], DROP_NOT_KNOWN);
}

static void
the_map_knows_neighbours_and_hosts(void **state)
{
    const char *names[FABRIC_MAP_NEXT];
    assert_int_equal(fabric_map_next(map, "leaf1", "leaf3", names, FABRIC_MAP_NEXT), 2);
    assert_int_equal(fabric_map_next(map, "leaf1", "leaf3", names, 1), 1);
    assert_int_equal(fabric_map_next(map, "nobody", "leaf3", names, FABRIC_MAP_NEXT), 0);
    assert_int_equal(fabric_map_neighbours(map, "spine1", names, FABRIC_MAP_NEXT), 3);
    assert_string_equal(fabric_map_switch_of(map, "10.2.0.12"), "leaf2");
    assert_string_equal(fabric_map_switch_of(map, "spine2"), "spine2");
    assert_null(fabric_map_switch_of(map, "192.0.2.1"));
    assert_string_equal(fabric_map_address_of(map, "h3"), "10.2.0.11");
    assert_int_equal(fabric_map_port(map, "spine1", "leaf3"), 3);
    assert_int_equal(fabric_map_port(map, "spine1", "spine2"), 0);
    assert_string_equal(fabric_map_behind(map, "leaf1", 2), "spine2");
    assert_null(fabric_map_behind(map, "leaf1", 9));
    assert_int_equal(fabric_map_hosts_beside(map, "10.3.0.11", names, FABRIC_MAP_NEXT), 1); /* No analyzer. */
    assert_string_equal(names[0], "10.3.0.12");
    assert_int_equal(fabric_map_hosts_elsewhere(map, "10.3.0.11", names, FABRIC_MAP_NEXT), 2);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_pattern_is_the_rule),
        cmocka_unit_test(a_prefix_has_all_and_nothing_else),
        cmocka_unit_test(no_link_is_named_where_all_ways_drop),
        cmocka_unit_test(a_dead_switch_is_told_from_a_broken_link),
        cmocka_unit_test(who_should_have_seen_it_is_the_next_or_all_that_may_be),
        cmocka_unit_test(who_is_not_heard_is_no_witness),
        cmocka_unit_test(silence_is_no_drop),
        cmocka_unit_test(the_map_knows_neighbours_and_hosts),
    };
    return cmocka_run_group_tests_name("drop_pattern", tests, set_up, tear_down);
}
