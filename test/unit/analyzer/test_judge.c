/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of verdicts on packets that were corrupted in what identifies them: their
 * trace begins behind the link, with a wrong checksum. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "analyzer/judge.h"
#include "packet/build.h"
#include "packet/probe_signature.h"

enum { LEAF1 = 1, SPINE1 = 9 };

static const char topology[] =
    "{\"switches\": [{\"name\": \"leaf1\", \"loopback\": \"10.255.0.1\"}, {\"name\": \"leaf2\", \"loopback\": "
    "\"10.255.0.2\"}], \"hosts\": [{\"address\": \"10.1.0.0/24\", \"switch\": \"leaf1\"}, {\"address\": "
    "\"10.2.0.0/24\", \"switch\": \"leaf2\"}]}";

struct fixture {
    struct ef_last_hops *last_hops;
    struct ef_judge judge;
};

static int
set_up(void **state)
{
    static struct fixture f;
    struct ef_error err = EF_ERROR_INIT;
    json_t *document = json_loads(topology, 0, NULL);
    memset(&f, 0, sizeof f);
    assert_int_equal(ef_last_hops_create(document, &f.last_hops, &err), 0);
    json_decref(document);
    f.judge.last_hops = f.last_hops;
    assert_int_equal(ef_judge_init(&f.judge), 0);
    *state = &f;
    return 0;
}

static int
tear_down(void **state)
{
    struct fixture *f = *state;
    ef_judge_deinit(&f->judge);
    ef_last_hops_destroy(f->last_hops);
    return 0;
}

/* What is wrong with the packet, and what it carries. */
enum wrong { RIGHT, PAYLOAD, IP };

/* A packet from `src` that `first` saw first: true if it is told to be corrupt there. */
static bool
is_corrupt(struct fixture *f, const char *src, uint8_t first, enum wrong wrong, bool is_probe)
{
    struct ef_build b;
    struct ef_trace t;
    struct ef_packet p;
    uint8_t signature[EF_PROBE_SIGNATURE_LEN] = {0};
    struct ef_copy copy = {.switch_address = {[10] = 0xff, 0xff, 10, 255, 0, first}};
    if (is_probe) {
        ef_probe_signature_write(&(struct ef_probe_signature){1, 2, {3}}, signature);
    }
    memset(&t, 0, sizeof t);
    ef_build_start(&b, t.bytes, sizeof t.bytes);
    ef_build_eth(&b);
    ef_build_ipv4(&b, src, "10.2.0.11");
    ef_build_tcp(&b, 1, 2, EF_TCP_SYN);
    ef_build_payload(&b, signature, sizeof signature);
    t.n_bytes = (uint16_t) ef_build_finish(&b);
    t.wire_len = t.n_bytes;
    t.bytes[14 + 20 + 5] ^= wrong == PAYLOAD; /* The sequence number. */
    t.bytes[14 + 4] ^= wrong == IP;           /* The identification. */
    ef_packet_parse(&p, t.bytes, t.n_bytes, t.wire_len);
    ef_hop_of_copy(&t.hops[0], &copy, &p, (struct ef_time){1});
    t.n_hops = 1;
    ef_trace_finish(&t, 0);
    uint64_t before = ef_counter_get(&f->judge.corrupt);
    ef_judge_trace(&f->judge, &t);
    assert_int_equal(t.corrupt, t.hops[0].flags & EF_HOP_CORRUPT ? 1 : 0);
    assert_int_equal(ef_counter_get(&f->judge.corrupt) - before, t.corrupt);
    return t.corrupt;
}

static void
learn(struct fixture *f, unsigned n, enum wrong wrong)
{
    for (unsigned i = 0; i < n; i++) {
        assert_false(is_corrupt(f, "10.1.0.11", LEAF1, wrong, false));
    }
}

static void
a_wrong_ip_header_inside_the_fabric_is_corrupt(void **state)
{
    assert_true(is_corrupt(*state, "10.1.0.11", SPINE1, IP, false));
    assert_false(is_corrupt(*state, "10.1.0.11", LEAF1, IP, false));
    assert_false(is_corrupt(*state, "10.1.0.11", SPINE1, RIGHT, false));
    assert_false(is_corrupt(*state, "192.0.2.1", SPINE1, IP, false)); /* Who knows where that came from. */
}

static void
a_wrong_checksum_counts_where_hosts_send_right_ones(void **state)
{
    struct fixture *f = *state;
    assert_false(is_corrupt(f, "10.1.0.11", SPINE1, PAYLOAD, false)); /* Nothing was learned. */
    learn(f, 100, RIGHT);
    assert_true(is_corrupt(f, "10.1.0.11", SPINE1, PAYLOAD, false));
    assert_false(is_corrupt(f, "10.1.0.11", LEAF1, PAYLOAD, false));
}

/* Virtual hosts leave checksums to network cards that are not there. */
static void
a_wrong_checksum_says_nothing_where_hosts_send_such(void **state)
{
    struct fixture *f = *state;
    learn(f, 100, RIGHT);
    learn(f, 10, PAYLOAD);
    assert_false(is_corrupt(f, "10.1.0.11", SPINE1, PAYLOAD, false));
}

static void
a_probe_is_wrong_on_purpose(void **state)
{
    struct fixture *f = *state;
    learn(f, 100, RIGHT);
    assert_false(is_corrupt(f, "10.1.0.11", SPINE1, PAYLOAD, true));
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_wrong_ip_header_inside_the_fabric_is_corrupt, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_wrong_checksum_counts_where_hosts_send_right_ones, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_wrong_checksum_says_nothing_where_hosts_send_such, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_probe_is_wrong_on_purpose, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
