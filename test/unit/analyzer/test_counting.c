/* SPDX-License-Identifier: Apache-2.0 */
/* What a closed trace counts for: what is kept of it, the load of ports and
 * links, round trips of probes, counters by filter. */
#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/filter_counters.h"
#include "analyzer/keep.h"
#include "analyzer/load_table.h"
#include "packet/build.h"
#include "packet/probe_signature.h"

enum { MAX_PORTS = 128, MAX_COUNTERS = 8 };

#define START_NS (1795228200 * EF_NS_PER_S)

/* The three parts of a trace, which is finished. */
struct sample {
    struct ef_trace trace;
    struct ef_packet packet;
};

static void
finish(struct sample *s, int len)
{
    assert_true(len > 0);
    s->trace.n_bytes = (uint16_t) len;
    s->trace.wire_len = (uint32_t) len;
    s->trace.start.ns = START_NS;
    ef_packet_parse(&s->packet, s->trace.bytes, s->trace.n_bytes, s->trace.wire_len);
}

static void
make_tcp(struct sample *s, uint16_t srcport, uint16_t dstport)
{
    struct ef_build b;
    memset(s, 0, sizeof *s);
    ef_build_start(&b, s->trace.bytes, sizeof s->trace.bytes);
    ef_build_eth(&b);
    ef_build_ipv4(&b, "10.1.0.2", "10.4.0.3");
    ef_build_tcp(&b, srcport, dstport, EF_TCP_SYN);
    finish(s, ef_build_finish(&b));
}

static void
make_probe(struct sample *s)
{
    struct ef_build b;
    uint8_t signature[EF_PROBE_SIGNATURE_LEN];
    ef_probe_signature_write(&(struct ef_probe_signature){.probe_id = 7, .sequence = 1}, signature);
    memset(s, 0, sizeof *s);
    ef_build_start(&b, s->trace.bytes, sizeof s->trace.bytes);
    ef_build_eth(&b);
    ef_build_ipv4(&b, "10.1.0.2", "10.4.0.3");
    ef_build_udp(&b, 1000, 2000);
    ef_build_payload(&b, signature, sizeof signature);
    finish(s, ef_build_finish(&b));
}

/* A frame without IP, or RoCEv2 with `opcode` and `syndrome`. */
static void
make_bytes(struct sample *s, const uint8_t *bytes, size_t len)
{
    memset(s, 0, sizeof *s);
    memcpy(s->trace.bytes, bytes, len);
    finish(s, (int) len);
}

static void
make_ack(struct sample *s, uint8_t opcode, uint8_t syndrome)
{
    struct ef_build b;
    uint8_t bth[16] = {opcode, [12] = syndrome};
    memset(s, 0, sizeof *s);
    ef_build_start(&b, s->trace.bytes, sizeof s->trace.bytes);
    ef_build_eth(&b);
    ef_build_ipv4(&b, "10.1.0.2", "10.4.0.3");
    ef_build_udp(&b, 1000, 4791);
    ef_build_payload(&b, bth, sizeof bth);
    finish(s, ef_build_finish(&b));
}

static void
add_hop(struct sample *s, uint8_t number, uint8_t ttl, uint32_t port, int64_t switch_ns)
{
    struct ef_hop *hop = &s->trace.hops[s->trace.n_hops++];
    *hop = (struct ef_hop){.switch_address = {[10] = 0xff, 0xff, 10, 255, 0, number},
                           .arrival = {START_NS},
                           .switch_time = {START_NS + switch_ns},
                           .port = port,
                           .ttl = ttl,
                           .outer_ttl = ttl,
                           .flags = EF_HOP_HAS_IP | EF_HOP_HAS_PORT | EF_HOP_HAS_SWITCH_TIME};
}

/* --- What to keep ------------------------------------------------------------------ */

static bool
wants(const char *text, const struct sample *s)
{
    struct ef_keep keep;
    assert_int_equal(ef_keep_init(&keep, text, NULL), 0);
    bool answer = ef_keep_wants(&keep, &s->trace, &s->packet);
    ef_keep_deinit(&keep);
    return answer;
}

static void
test_keep_classes(void **state)
{
    static const uint8_t pause[60] = {0x01, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 1, 0x88, 0x08, 0x01, 0x01};
    struct sample plain, bgp, probe, pfc, nack, ack;
    make_tcp(&plain, 1000, 80);
    make_tcp(&bgp, 179, 1000);
    make_probe(&probe);
    make_bytes(&pfc, pause, sizeof pause);
    make_ack(&nack, 0x11, 0x60);
    make_ack(&ack, 0x11, 0x1f);
    assert_true(wants("all", &plain) && wants("all+probe", &plain));
    assert_false(wants("abnormal+debug+control+probe", &plain));
    assert_true(wants("control", &bgp) && wants("control", &pfc) && wants("control", &nack));
    assert_false(wants("control", &ack) || wants("control", &probe) || wants("probe", &bgp));
    assert_true(wants("debug+probe", &probe));
    plain.trace.debug = true;
    assert_true(wants("debug", &plain));
    assert_false(wants("abnormal", &plain));
    static const struct {
        enum ef_fate fate;
        bool is_abnormal;
    } fates[] = {{EF_FATE_UNKNOWN, false},
                 {EF_FATE_DELIVERED, false},
                 {EF_FATE_DROPPED, true},
                 {EF_FATE_UNSURE, true},
                 {EF_FATE_EXPIRED, true}};
    for (size_t i = 0; i < EF_ARRAY_SIZE(fates); i++) {
        plain.trace.fate = (uint8_t) fates[i].fate;
        assert_int_equal(wants("abnormal", &plain), fates[i].is_abnormal);
    }
    plain.trace.fate = EF_FATE_UNKNOWN;
    plain.trace.loop = true;
    assert_true(wants("abnormal+control", &plain));
}

static void
test_keep_filter(void **state)
{
    struct sample s, probe;
    make_tcp(&s, 1000, 80);
    make_probe(&probe);
    assert_true(wants("tcp.dstport == 80", &s));
    assert_false(wants("tcp.dstport == 81 || trace.loop", &s));
    assert_true(wants("trace.probe", &probe));
    assert_false(wants("trace.probe", &s));
    static const char *const wrong[] = {"", "abnormal+debg", "abnormal+", "tcp.prot == 1"};
    for (size_t i = 0; i < EF_ARRAY_SIZE(wrong); i++) {
        struct ef_keep keep;
        struct ef_error err = EF_ERROR_INIT;
        assert_int_equal(ef_keep_init(&keep, wrong[i], &err), -EINVAL);
        assert_true(err.text[0]);
    }
}

/* --- Load ----------------------------------------------------------------------------- */

static const struct ef_load_link *
link_of(const struct ef_load_table *t, uint8_t from, uint8_t to)
{
    for (uint32_t i = 0; i < ef_load_table_n_links(t); i++) {
        if (t->links[i].from[15] == from && t->links[i].to[15] == to) {
            return &t->links[i];
        }
    }
    return NULL;
}

static void
test_load(void **state)
{
    struct ef_load_table t;
    struct sample s;
    assert_int_equal(ef_load_table_init(&t, MAX_PORTS), 0);
    make_tcp(&s, 1000, 80);
    add_hop(&s, 1, 64, 5, 0);
    add_hop(&s, 2, 63, 6, 1000);
    add_hop(&s, 4, 61, 7, 3000); /* 3 is missing: no link from 2. */
    for (int i = 0; i < 10; i++) {
        ef_load_table_count(&t, &s.trace, false);
    }
    assert_int_equal(ef_load_table_n_ports(&t), 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(t.ports[i].port, 5 + i);
        assert_int_equal(ef_counter_get(&t.ports[i].packets), 10);
        assert_int_equal(ef_counter_get(&t.ports[i].bytes), 10 * s.trace.wire_len);
    }
    assert_int_equal(ef_load_table_n_links(&t), 1);
    assert_int_equal(ef_counter_get(&link_of(&t, 1, 2)->packets), 10);
    assert_int_equal(ef_counter_get(&link_of(&t, 1, 2)->rtts), 0);
    ef_load_table_deinit(&t);
}

/* A copy at egress and one of a drop are of ports, or of none, but no hop of the way. */
static void
test_load_egress_and_drop(void **state)
{
    struct ef_load_table t;
    struct sample s;
    assert_int_equal(ef_load_table_init(&t, MAX_PORTS), 0);
    make_tcp(&s, 1000, 80);
    add_hop(&s, 1, 64, 5, 0);
    add_hop(&s, 1, 63, 6, 10);
    s.trace.hops[1].flags |= EF_HOP_EGRESS;
    add_hop(&s, 2, 63, 7, 1000);
    add_hop(&s, 2, 63, 7, 1010);
    s.trace.hops[3].drop = 1;
    ef_load_table_count(&t, &s.trace, false);
    assert_int_equal(ef_load_table_n_ports(&t), 3);
    assert_true(t.ports[1].is_egress && !t.ports[0].is_egress);
    assert_int_equal(ef_load_table_n_links(&t), 1);
    assert_int_equal(ef_counter_get(&link_of(&t, 1, 2)->packets), 1);
    ef_load_table_deinit(&t);
}

static void
test_load_is_bounded(void **state)
{
    enum { N = MAX_PORTS + 100 };
    struct ef_load_table t;
    struct sample s;
    assert_int_equal(ef_load_table_init(&t, MAX_PORTS), 0);
    make_tcp(&s, 1000, 80);
    for (uint32_t i = 0; i < N; i++) {
        s.trace.n_hops = 0;
        add_hop(&s, 1, 64, i, 0);
        ef_load_table_count(&t, &s.trace, false);
    }
    assert_int_equal(ef_load_table_n_ports(&t), MAX_PORTS);
    assert_int_equal(ef_counter_get(&t.uncounted), N - MAX_PORTS);
    ef_load_table_deinit(&t);
}

static void
test_round_trips(void **state)
{
    struct ef_load_table t;
    struct sample s;
    assert_int_equal(ef_load_table_init(&t, MAX_PORTS), 0);
    for (int i = 1; i <= 100; i++) {
        make_probe(&s);
        add_hop(&s, 1, 64, 5, 0);
        add_hop(&s, 2, 63, 6, 4000000); /* Its clock is not asked. */
        add_hop(&s, 1, 62, 8, i * 1000);
        ef_load_table_count(&t, &s.trace, true);
        ef_load_table_count(&t, &s.trace, false); /* Any other packet measures nothing. */
    }
    const struct ef_load_link *link = link_of(&t, 1, 2);
    assert_int_equal(ef_counter_get(&link->rtts), 100);
    assert_int_equal(ef_counter_get(&link->rtt_min_ns), 1000 + 1);
    assert_int_equal(ef_counter_get(&link->rtt_max_ns), 100000);
    assert_int_equal(ef_counter_get(&link->rtt_sum_ns), 5050 * 1000);
    assert_int_equal(ef_counter_get(&link_of(&t, 2, 1)->rtts), 0);
    uint64_t sum = 0;
    for (unsigned i = 0; i < EF_HISTOGRAM_BUCKETS; i++) {
        uint64_t n = ef_counter_get(&link->rtt_buckets[i]);
        assert_true(!i || ef_histogram_bucket_ns(i) > ef_histogram_bucket_ns(i - 1));
        assert_true(!n || ef_histogram_bucket_ns(i) <= 100000);
        sum += n;
    }
    assert_int_equal(sum, 100);
    ef_load_table_deinit(&t);
}

/* --- Counters by filter ------------------------------------------------------------------ */

static void
test_counter_counts(void **state)
{
    struct ef_filter_counters *c;
    struct ef_counter_info info;
    struct ef_counter_interval intervals[EF_COUNTER_INTERVALS];
    struct sample web, other;
    make_tcp(&web, 1000, 80);
    make_tcp(&other, 1000, 81);
    assert_int_equal(ef_filter_counters_create(2, MAX_COUNTERS, &c), 0);
    assert_int_equal(ef_filter_counters_add(c, "web", "tcp.dstport==80", (struct ef_group_by){0}, NULL), 0);
    assert_int_equal(ef_filter_counters_add(c, "everything", "", (struct ef_group_by){0}, NULL), 0);
    for (unsigned i = 0; i < 30; i++) { /* One a second, by both workers. */
        web.trace.start.ns = other.trace.start.ns = START_NS + i * EF_NS_PER_S;
        ef_filter_counters_count(c, i % 2, &web.trace);
        ef_filter_counters_count(c, i % 2, &other.trace);
    }
    assert_true(ef_filter_counters_get(c, 0, &info));
    assert_string_equal(info.name, "web");
    assert_int_equal(info.total.packets, 30);
    assert_int_equal(info.total.bytes, 30 * web.trace.wire_len);
    assert_true(ef_filter_counters_get(c, 1, &info));
    assert_int_equal(info.total.packets, 60);
    assert_false(ef_filter_counters_get(c, 2, &info));
    assert_int_equal(ef_filter_counters_intervals(c, 0, intervals), 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(intervals[i].start.ns, START_NS + i * EF_COUNTER_INTERVAL_S * EF_NS_PER_S);
        assert_int_equal(intervals[i].values.packets, 10);
    }
    ef_filter_counters_destroy(c);
}

static void
test_counter_names(void **state)
{
    struct ef_filter_counters *c;
    struct ef_error err = EF_ERROR_INIT;
    char name[16];
    assert_int_equal(ef_filter_counters_create(1, MAX_COUNTERS, &c), 0);
    assert_int_equal(ef_filter_counters_add(c, "a", "tcp", (struct ef_group_by){0}, NULL), 0);
    assert_int_equal(ef_filter_counters_add(c, "a", "(tcp)", (struct ef_group_by){0}, NULL), 0);
    assert_int_equal(ef_filter_counters_add(c, "a", "udp", (struct ef_group_by){0}, &err), -EEXIST);
    assert_int_equal(ef_filter_counters_add(c, "b", "tcp &&", (struct ef_group_by){0}, &err), -EINVAL);
    assert_int_equal(ef_filter_counters_add(c, "b/c", "tcp", (struct ef_group_by){0}, &err), -EINVAL);
    assert_int_equal(ef_filter_counters_add(c, "", "tcp", (struct ef_group_by){0}, &err), -EINVAL);
    assert_int_equal(ef_filter_counters_remove(c, "b"), -ENOENT);
    for (int i = 1; i < MAX_COUNTERS; i++) {
        snprintf(name, sizeof name, "n%d", i);
        assert_int_equal(ef_filter_counters_add(c, name, "tcp", (struct ef_group_by){0}, NULL), 0);
    }
    assert_int_equal(ef_filter_counters_add(c, "more", "tcp", (struct ef_group_by){0}, &err), -ENOSPC);
    /* The place is free when the worker has had its turn, not before. */
    assert_int_equal(ef_filter_counters_remove(c, "a"), 0);
    assert_int_equal(ef_filter_counters_find(c, "a"), -ENOENT);
    assert_int_equal(ef_filter_counters_add(c, "more", "tcp", (struct ef_group_by){0}, &err), -ENOSPC);
    ef_filter_counters_turn(c, 0);
    assert_int_equal(ef_filter_counters_add(c, "more", "tcp", (struct ef_group_by){0}, &err), 0);
    ef_filter_counters_destroy(c);
}

/* The ring of intervals: what is older than an hour makes room, and is never taken for newer. */
static void
test_counter_forgets(void **state)
{
    struct ef_filter_counters *c;
    struct ef_counter_info info;
    struct ef_counter_interval intervals[EF_COUNTER_INTERVALS];
    struct sample s;
    make_tcp(&s, 1000, 80);
    assert_int_equal(ef_filter_counters_create(1, MAX_COUNTERS, &c), 0);
    assert_int_equal(ef_filter_counters_add(c, "all", "", (struct ef_group_by){0}, NULL), 0);
    for (int i = 0; i < EF_COUNTER_INTERVALS + 5; i++) {
        s.trace.start.ns = START_NS + i * EF_COUNTER_INTERVAL_S * EF_NS_PER_S;
        ef_filter_counters_count(c, 0, &s.trace);
    }
    s.trace.start.ns = START_NS;
    ef_filter_counters_count(c, 0, &s.trace);
    unsigned n = ef_filter_counters_intervals(c, 0, intervals);
    assert_int_equal(n, EF_COUNTER_INTERVALS);
    assert_int_equal(intervals[0].start.ns, START_NS + 5 * EF_COUNTER_INTERVAL_S * EF_NS_PER_S);
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(intervals[i].values.packets, 1);
    }
    assert_true(ef_filter_counters_get(c, 0, &info));
    assert_int_equal(info.total.packets, EF_COUNTER_INTERVALS + 6);
    ef_filter_counters_destroy(c);
}

/* --- Groups of counters ---------------------------------------------------------------------- */

static struct ef_group_by
by_text(const char *text)
{
    struct ef_group_by by;
    assert_int_equal(ef_group_by_parse(text, &by, NULL), 0);
    return by;
}

/* Of which `n_grouped` can have groups, EF_COUNTER_GROUPS_MIN of them. */
static struct ef_filter_counters *
make_grouped(unsigned n_workers, unsigned n_grouped)
{
    struct ef_filter_counters *c;
    assert_int_equal(ef_filter_counters_create(n_workers, MAX_COUNTERS, &c), 0);
    ef_filter_counters_give_groups(c, n_workers * n_grouped * ef_counter_groups_memory(EF_COUNTER_GROUPS_MIN));
    return c;
}

/* What the counter's group of this text counted; false if there is none. */
static bool
group_is(struct ef_filter_counters *c, const char *name, const char *group, uint64_t packets)
{
    struct ef_counter_group_info *groups;
    char text[EF_GROUP_TEXT_SIZE];
    bool is_so = false;
    unsigned n = ef_filter_counters_groups(c, (unsigned) ef_filter_counters_find(c, name), &groups);
    for (unsigned i = 0; i < n; i++) {
        is_so |= !strcmp(ef_group_key_format(&groups[i].key, text), group) && groups[i].total.packets == packets;
    }
    free(groups);
    return is_so;
}

static unsigned
n_groups(struct ef_filter_counters *c, const char *name)
{
    struct ef_counter_group_info *groups;
    unsigned n = ef_filter_counters_groups(c, (unsigned) ef_filter_counters_find(c, name), &groups);
    free(groups);
    return n;
}

static void
test_group_by_texts(void **state)
{
    static const char *const right[] = {"none", "switch", "port", "src/0", "src/24", "dst/64", "dst/128"};
    static const char *const wrong[] = {"", "ports", "src", "src/", "src/129", "dst/-1", "dst/8x", "24", "src/24 "};
    char text[EF_GROUP_BY_TEXT_SIZE];
    struct ef_group_by by;
    for (size_t i = 0; i < EF_ARRAY_SIZE(right); i++) {
        assert_string_equal(ef_group_by_format(by_text(right[i]), text), right[i]);
    }
    for (size_t i = 0; i < EF_ARRAY_SIZE(wrong); i++) {
        struct ef_error err = EF_ERROR_INIT;
        assert_int_equal(ef_group_by_parse(wrong[i], &by, &err), -EINVAL);
        assert_true(err.text[0]);
    }
    assert_int_equal(by_text(NULL).kind, EF_GROUP_BY_NONE);
}

/* Once for each switch and port, however often the packet was seen there. */
static void
test_groups_of_hops(void **state)
{
    struct ef_filter_counters *c = make_grouped(2, 1);
    struct sample s;
    make_tcp(&s, 1000, 80);
    add_hop(&s, 1, 64, 5, 0);
    add_hop(&s, 1, 63, 6, 10);
    s.trace.hops[1].flags |= EF_HOP_EGRESS;
    add_hop(&s, 2, 63, 5, 20);
    s.trace.hops[2].flags &= (uint8_t) ~EF_HOP_HAS_PORT;
    add_hop(&s, 1, 62, 5, 30);
    assert_int_equal(ef_filter_counters_add(c, "none", "", by_text("none"), NULL), 0);
    assert_int_equal(ef_filter_counters_add(c, "switch", "", by_text("switch"), NULL), 0);
    ef_filter_counters_count(c, 0, &s.trace);
    ef_filter_counters_count(c, 1, &s.trace);
    assert_int_equal(n_groups(c, "none"), 0);
    assert_int_equal(n_groups(c, "switch"), 2);
    assert_true(group_is(c, "switch", "10.255.0.1", 2) && group_is(c, "switch", "10.255.0.2", 2));
    ef_filter_counters_destroy(c);

    c = make_grouped(1, 1);
    assert_int_equal(ef_filter_counters_add(c, "port", "", by_text("port"), NULL), 0);
    ef_filter_counters_count(c, 0, &s.trace);
    assert_int_equal(n_groups(c, "port"), 3);
    assert_true(group_is(c, "port", "10.255.0.1 port 5 ingress", 1) &&
                group_is(c, "port", "10.255.0.1 port 6 egress", 1) &&
                group_is(c, "port", "10.255.0.2 port unknown", 1));
    ef_filter_counters_destroy(c);
}

static void
make_tcp6(struct sample *s, const char *src, const char *dst)
{
    struct ef_build b;
    memset(s, 0, sizeof *s);
    ef_build_start(&b, s->trace.bytes, sizeof s->trace.bytes);
    ef_build_eth(&b);
    ef_build_ipv6(&b, src, dst);
    ef_build_tcp(&b, 1000, 80, EF_TCP_SYN);
    finish(s, ef_build_finish(&b));
}

static void
test_groups_of_prefixes(void **state)
{
    static const uint8_t arp[60] = {[12] = 0x08, [13] = 0x06};
    static const struct {
        const char *by, *of_ipv4, *of_ipv6;
    } cases[] = {
        {"src/20", "10.1.0.0/20", "2001::/20"},
        {"dst/31", "10.4.0.2/31", "2001:db8::/31"},
        {"dst/64", "10.4.0.3/32", "2001:db8:0:4::/64"},
        {"src/0", "0.0.0.0/0", "::/0"},
        {"src/128", "10.1.0.2/32", "2001:db8:0:1::2/128"},
    };
    struct sample v4, v6, other;
    make_tcp(&v4, 1000, 80);
    make_tcp6(&v6, "2001:db8:0:1::2", "2001:db8:0:4::3");
    make_bytes(&other, arp, sizeof arp);
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        struct ef_filter_counters *c = make_grouped(1, 1);
        assert_int_equal(ef_filter_counters_add(c, "c", "", by_text(cases[i].by), NULL), 0);
        ef_filter_counters_count(c, 0, &v4.trace);
        ef_filter_counters_count(c, 0, &v6.trace);
        ef_filter_counters_count(c, 0, &v6.trace);
        ef_filter_counters_count(c, 0, &other.trace);
        assert_int_equal(n_groups(c, "c"), 3);
        assert_true(group_is(c, "c", cases[i].of_ipv4, 1) && group_is(c, "c", cases[i].of_ipv6, 2) &&
                    group_is(c, "c", "none", 1));
        ef_filter_counters_destroy(c);
    }
}

/* What has no room is "other", once a packet; the sums and the values over time stay whole. */
static void
test_groups_are_bounded(void **state)
{
    enum { N = EF_COUNTER_GROUPS_MIN + 10 };
    struct ef_filter_counters *c = make_grouped(1, 1);
    struct ef_counter_interval intervals[EF_COUNTER_INTERVALS];
    struct ef_counter_group_info *groups;
    struct ef_error err = EF_ERROR_INIT;
    struct sample s;
    make_tcp(&s, 1000, 80);
    assert_int_equal(ef_filter_counters_add(c, "c", "", by_text("port"), NULL), 0);
    for (uint32_t i = 0; i < N; i++) {
        s.trace.n_hops = 0;
        s.trace.start.ns = START_NS + i * EF_COUNTER_INTERVAL_S * EF_NS_PER_S;
        add_hop(&s, 1, 64, i, 0);
        add_hop(&s, 1, 63, i + N, 0);
        ef_filter_counters_count(c, 0, &s.trace);
    }
    /* Two a packet, less "other"; of the last packet with room one or both. */
    unsigned n = ef_filter_counters_groups(c, 0, &groups);
    assert_int_equal(n, EF_COUNTER_GROUPS_MIN);
    assert_int_equal(groups[n - 1].key.what, EF_GROUP_OTHER);
    assert_int_equal(groups[n - 1].total.packets, N - (EF_COUNTER_GROUPS_MIN - 1) / 2);
    assert_int_equal(ef_filter_counters_group_intervals(c, 0, &groups[n - 1].key, intervals),
                     N - (EF_COUNTER_GROUPS_MIN - 1) / 2);
    assert_int_equal(ef_filter_counters_group_intervals(c, 0, &groups[0].key, intervals), 1);
    free(groups);
    /* The memory is of one counter's groups; it is there again once that has gone. */
    assert_int_equal(ef_filter_counters_add(c, "d", "", by_text("switch"), &err), -ENOSPC);
    assert_int_equal(ef_filter_counters_add(c, "d", "", by_text("none"), &err), 0);
    assert_int_equal(ef_filter_counters_add(c, "c", "", by_text("switch"), &err), -EEXIST);
    assert_int_equal(ef_filter_counters_add(c, "c", "", by_text("port"), &err), 0);
    assert_int_equal(ef_filter_counters_remove(c, "c"), 0);
    ef_filter_counters_turn(c, 0);
    assert_int_equal(ef_filter_counters_add(c, "e", "", by_text("switch"), &err), 0);
    assert_int_equal(n_groups(c, "e"), 0);
    ef_filter_counters_destroy(c);
}

struct counting {
    struct ef_filter_counters *counters;
    unsigned number;
    uint64_t n;
    _Atomic bool stop;
};

static void *
count_on(void *arg)
{
    struct counting *w = arg;
    struct sample s;
    make_tcp(&s, 1000, 80);
    while (!atomic_load(&w->stop)) {
        for (int i = 0; i < 16; i++, w->n++) {
            ef_filter_counters_count(w->counters, w->number, &s.trace);
        }
        ef_filter_counters_turn(w->counters, w->number);
    }
    return NULL;
}

/* Counters come and go while workers count: none uses a filter that is gone, and
 * the one that stays misses nothing. */
static void
test_counters_change_under_workers(void **state)
{
    enum { WORKERS = 2, ROUNDS = 300 };
    struct ef_filter_counters *c;
    struct ef_counter_info info;
    struct ef_counter_interval intervals[EF_COUNTER_INTERVALS];
    struct counting workers[WORKERS];
    pthread_t threads[WORKERS];
    c = make_grouped(WORKERS, 4);
    assert_int_equal(ef_filter_counters_add(c, "stays", "tcp", by_text("src/8"), NULL), 0);
    for (unsigned i = 0; i < WORKERS; i++) {
        workers[i] = (struct counting){.counters = c, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, count_on, &workers[i]), 0);
    }
    for (int i = 0; i < ROUNDS; i++) {
        int rc = ef_filter_counters_add(c, "comes", "tcp.dstport == 80", by_text("dst/24"), NULL);
        assert_true(!rc || rc == -ENOSPC);
        ef_filter_counters_intervals(c, 0, intervals);
        n_groups(c, "stays");
        rc = rc ? rc : ef_filter_counters_remove(c, "comes");
        assert_true(!rc || rc == -ENOSPC);
    }
    uint64_t sum = 0;
    for (unsigned i = 0; i < WORKERS; i++) {
        atomic_store(&workers[i].stop, true);
        pthread_join(threads[i], NULL);
        sum += workers[i].n;
    }
    assert_true(ef_filter_counters_get(c, 0, &info));
    assert_string_equal(info.name, "stays");
    assert_int_equal(info.total.packets, sum);
    assert_true(group_is(c, "stays", "10.0.0.0/8", sum));
    ef_filter_counters_destroy(c);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keep_classes),
        cmocka_unit_test(test_keep_filter),
        cmocka_unit_test(test_load),
        cmocka_unit_test(test_load_egress_and_drop),
        cmocka_unit_test(test_load_is_bounded),
        cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_counter_counts),
        cmocka_unit_test(test_counter_names),
        cmocka_unit_test(test_counter_forgets),
        cmocka_unit_test(test_group_by_texts),
        cmocka_unit_test(test_groups_of_hops),
        cmocka_unit_test(test_groups_of_prefixes),
        cmocka_unit_test(test_groups_are_bounded),
        cmocka_unit_test(test_counters_change_under_workers),
    };
    return cmocka_run_group_tests_name("analyzer/counting", tests, NULL, NULL);
}
