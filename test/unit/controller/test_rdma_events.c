/* SPDX-License-Identifier: Apache-2.0 */
/* Pauses and complaints of RDMA: read from the bytes of copies, counted by port and queue
 * pair, pauses followed to where they begin. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "controller/alerts.h"
#include "controller/rdma_events.h"
#include "controller/rdma_losses.h"

/* leaf1 - spine1 - leaf2; h1 at leaf1, h2 at leaf2. */
static const char topology[] =
    "{\"switches\":[{\"name\":\"leaf1\",\"loopback\":\"10.255.0.1\",\"ports\":[{\"number\":1,\"peer\":{\"node\":"
    "\"spine1\"}},{\"number\":3,"
    "\"peer\":{"
    "\"node\":\"h1\"}}]},{\"name\":\"spine1\",\"loopback\":\"10.255.1.1\",\"ports\":[{\"number\":1,\"peer\":{\"node\":"
    "\"leaf1\"}},{\"number\":2,"
    "\"peer\":{\"node\":\"leaf2\"}}]},{\"name\":\"leaf2\",\"loopback\":\"10.255.0.2\",\"ports\":[{\"number\":1,"
    "\"peer\":{\"node\":\"spine1\"}},{"
    "\"number\":3,\"peer\":{\"node\":\"h2\"}}]}],\"hosts\":[{\"name\":\"h1\",\"address\":\"10.1.0.11\",\"switch\":"
    "\"leaf1\"},{\"name\":\"h2\",\"address\":\"10.2.0.11\",\"switch\":\"leaf2\"}]}";

#define PFC "0180c200000102ef0a01000b8808010100080000000000 00ffff0000000000000000"
#define RESUME "0180c200000102ef0a01000b880801010008000000000000000000000000000000000000"
#define PAUSE "0180c200000102ef0a01000b88080001ffff"
#define ROCE                                               \
    "02ef0aff000202ef0a02000b0800450000300016400040112656" \
    "0a02000b0a01000bc00112b7001c0000"

static int64_t clock_ms;

static struct ef_time
now(void)
{
    struct ef_time base;
    ef_time_parse("2026-11-21T02:30:00Z", (struct ef_time){0}, &base, NULL);
    return ef_time_add_ms(base, clock_ms);
}

/* A copy of `hex`, without its blanks. */
static void
take(struct rdma_events *e, const char *hex, const char *at, int port)
{
    char start[EF_TIME_TEXT_SIZE], bytes[300];
    size_t n = 0;
    for (; *hex; hex++) {
        if (*hex != ' ') {
            bytes[n++] = *hex;
        }
    }
    bytes[n] = '\0';
    json_t *trace = json_pack("{s:s, s:s, s:{s:s, s:s, s:s}, s:[{s:s, s:i, s:s}]}", "id", "00c0ffee00c0ffee", "start",
                              ef_time_format(now(), start), "packet", "hex", bytes, "src", "10.2.0.11", "dst",
                              "10.1.0.11", "hops", "name", at, "port", port, "direction", "ingress");
    assert_non_null(trace);
    rdma_events_take(e, trace);
    json_decref(trace);
}

static struct rdma_events *
events(json_t **document)
{
    clock_ms = 0;
    *document = json_loads(topology, 0, NULL);
    assert_non_null(*document);
    return rdma_events_create(*document);
}

static void
a_few_pauses_are_no_storm(void **state)
{
    json_t *document;
    struct rdma_events *e = events(&document);
    struct rdma_storm storms[4];
    struct ef_time since = now();
    for (int i = 0; i < 19; i++) {
        take(e, PFC, "leaf1", 3);
        take(e, RESUME, "leaf1", 3);
    }
    assert_int_equal(rdma_events_storms(e, since, now(), storms, 4), 0);
    take(e, PFC, "leaf1", 3);
    assert_int_equal(rdma_events_storms(e, since, now(), storms, 4), 1);
    assert_int_equal(storms->pauses, 20);
    assert_int_equal(storms->resumes, 19);
    assert_int_equal(storms->classes, 8);
    /* The same, but in a minute. */
    clock_ms = 60000;
    assert_int_equal(rdma_events_storms(e, since, now(), storms, 4), 0);
    rdma_events_destroy(e);
    json_decref(document);
}

static void
a_storm_is_followed_to_its_origin(void **state)
{
    json_t *document;
    struct rdma_events *e = events(&document);
    struct rdma_storm storms[4];
    struct ef_time since = now();
    char text[300];
    for (int i = 0; i < 30; i++, clock_ms += 10) {
        take(e, PFC, "leaf2", 3);
        take(e, PFC, "spine1", 2);
        take(e, PAUSE, "leaf1", 1);
    }
    assert_int_equal(rdma_events_storms(e, since, now(), storms, 4), 3);
    for (int i = 0; i < 3; i++) {
        assert_string_equal(storms[i].origin, "h2");
        assert_string_equal(storms[i].origin_to, "leaf2");
        assert_false(storms[i].is_circle);
        if (!strcmp(storms[i].at, "leaf1")) {
            assert_int_equal(storms[i].n_way, 3);
            assert_int_equal(storms[i].classes, 0); /* Not by priority. */
            rdma_storm_text(&storms[i], text, sizeof text);
            assert_non_null(strstr(text, "leaf1 is paused on port 1 by spine1: 30 pauses"));
            assert_non_null(strstr(text, "it begins at h2, which pauses leaf2."));
        }
    }
    json_t *shown = rdma_storm_show(&storms[0]);
    assert_string_equal(json_string_value(json_object_get(shown, "device")), "h2");
    json_decref(shown);
    rdma_events_destroy(e);
    json_decref(document);
}

static void
a_circle_has_no_origin(void **state)
{
    json_t *document;
    struct rdma_events *e = events(&document);
    struct rdma_storm storms[4];
    struct ef_time since = now();
    for (int i = 0; i < 30; i++) {
        take(e, PFC, "leaf2", 1);
        take(e, PFC, "spine1", 2);
    }
    assert_int_equal(rdma_events_storms(e, since, now(), storms, 4), 2);
    assert_true(storms[0].is_circle && storms[1].is_circle);
    rdma_events_destroy(e);
    json_decref(document);
}

static void
complaints_by_queue_pair(void **state)
{
    json_t *document;
    struct rdma_events *e = events(&document);
    struct rdma_burst bursts[8];
    struct ef_time since = now();
    char text[300];
    for (int i = 0; i < 60; i++) {
        take(e, ROCE "8100ffff400001020000004e00000000", "leaf2", 3); /* CNP */
    }
    for (int i = 0; i < 12; i++) {
        take(e, ROCE "1100ffff000001010000004e6000004e", "leaf2", 3); /* NAK of the sequence */
        take(e, ROCE "1100ffff000001030000004e2e00004e", "leaf2", 3); /* RNR */
        take(e, ROCE "1100ffff000001040000004e0000004e", "leaf2", 3); /* ACK */
        take(e, ROCE "0600ffff000001040000004e0000004e", "leaf2", 3); /* A write */
    }
    for (int i = 0; i < 9; i++) {
        take(e, ROCE "1100ffff000001050000004e6200004e", "leaf2", 3); /* Remote access error, but few. */
    }
    assert_int_equal(rdma_events_bursts(e, since, bursts, 8), 3);
    assert_int_equal(bursts[0].kind, RDMA_SEQUENCE);
    assert_int_equal(bursts[0].n, 12);
    assert_int_equal(bursts[0].queue_pair, 0x101);
    assert_int_equal(bursts[0].first_psn, 0x4e);
    assert_string_equal(bursts[0].from_name, "h2");
    assert_string_equal(bursts[0].from_switch, "leaf2");
    assert_string_equal(bursts[0].to_name, "h1");
    assert_int_equal(bursts[1].kind, RDMA_RNR);
    assert_int_equal(bursts[2].kind, RDMA_CNP);
    assert_string_equal(rdma_burst_text(&bursts[0], text, sizeof text),
                        "h2 tells h1, queue pair 0x101, that packets are missing (sequence error): 12 times in 0.0 s.");
    json_t *shown = rdma_burst_show(&bursts[1]);
    assert_string_equal(json_string_value(json_object_get(shown, "kind")), "rnr");
    json_decref(shown);
    rdma_events_destroy(e);
    json_decref(document);
}

/* Cut, of others' switches, or no frames at all. */
static void
nonsense(void **state)
{
    json_t *document,
        *no_hops = json_loads("{\"start\":\"2026-11-21T02:30:00Z\",\"packet\":{\"hex\":\"zz\"}}", 0, NULL);
    struct rdma_events *e = events(&document);
    struct rdma_storm storms[2];
    struct rdma_burst bursts[2];
    char cut[200];
    const char *frames[] = {PFC, PAUSE, ROCE "1100ffff000001010000004e6000004e"};
    for (int i = 0; i < 40; i++) {
        take(e, PFC, "leaf9", 3);
        rdma_events_take(e, no_hops);
        for (size_t k = 0; k < 3; k++) {
            for (size_t len = 0; len < 28; len += 3) {
                snprintf(cut, sizeof cut, "%.*s", (int) len, frames[k]);
                take(e, cut, "leaf1", 3);
            }
        }
    }
    assert_int_equal(rdma_events_storms(e, (struct ef_time){0}, now(), storms, 2), 0);
    assert_int_equal(rdma_events_bursts(e, (struct ef_time){0}, bursts, 2), 0);
    rdma_events_destroy(e);
    json_decref(document);
    json_decref(no_hops);
}

/* --- What was lost on the way ------------------------------------------------ */

/* A trace of a packet of h1 to h2, or back, with these hops: "leaf1 spine1 leaf2!"; "!": corrupt there. */
static void
take_data(struct rdma_losses *l, bool is_back, int port, const char *hops, const char *fate, const char *expected)
{
    char copy[64], start[EF_TIME_TEXT_SIZE];
    json_t *list = json_array();
    snprintf(copy, sizeof copy, "%s", hops);
    for (char *save, *name = strtok_r(copy, " ", &save); name; name = strtok_r(NULL, " ", &save)) {
        char *mark = strchr(name, '!');
        if (mark) {
            *mark = '\0';
        }
        json_array_append_new(list, json_pack("{s:s, s:b}", "name", name, "corrupt", mark != NULL));
    }
    json_t *trace = json_pack("{s:s, s:s, s:s, s:s?, s:o, s:{s:s, s:s, s:i, s:i}}", "id", "00000000000000aa", "start",
                              ef_time_format(now(), start), "fate", fate, "expected_name", expected, "hops", list,
                              "packet", "src", is_back ? "10.2.0.11" : "10.1.0.11", "dst",
                              is_back ? "10.1.0.11" : "10.2.0.11", "proto", 17, "dstport", port);
    assert_non_null(trace);
    rdma_losses_take(l, trace);
    json_decref(trace);
}

static void
expect_loss(const struct rdma_losses *l, const struct alerts *alerts, struct ef_time since, const char *expected)
{
    char text[RDMA_LOSSES_TEXT];
    struct rdma_loss loss;
    bool is_found = rdma_losses_find(l, alerts, "10.1.0.11", "10.2.0.11", since, &loss);
    assert_string_equal(rdma_loss_text(&loss, text), expected);
    json_t *shown = rdma_loss_show(&loss);
    assert_int_equal(is_found, json_is_object(shown));
    if (is_found && loss.n_traces) {
        assert_string_equal(json_string_value(json_array_get(json_object_get(shown, "traces"), 0)), "00000000000000aa");
    }
    json_decref(shown);
}

static const char nothing_seen[] = "None of the packets in question was seen to be dropped or corrupted.";

static void
missing_packets_are_tied_to_where_they_were_lost(void **state)
{
    json_t *document = json_loads(topology, 0, NULL);
    struct rdma_losses *l = rdma_losses_create(document);
    struct alerts *alerts = alerts_create();
    clock_ms = 0;
    struct ef_time since = now();
    expect_loss(l, alerts, since, nothing_seen);
    take_data(l, true, 4791, "leaf2 spine1", "dropped", "leaf1");       /* The other way. */
    take_data(l, false, 4792, "leaf1 spine1", "dropped", "leaf2");      /* No RoCE. */
    take_data(l, false, 4791, "leaf1 spine1 leaf2", "delivered", NULL); /* It came. */
    take_data(l, false, 4791, "", "dropped", "leaf2");
    expect_loss(l, alerts, since, nothing_seen);
    take_data(l, false, 4791, "leaf1 spine1 leaf2!", "delivered", NULL);
    expect_loss(l, alerts, since, "Traces tell of 1 of these packets that was corrupted between spine1 and leaf2.");
    take_data(l, false, 4791, "leaf1", "dropped", "leaf2"); /* There is one way to it. */
    take_data(l, false, 4791, "leaf1", "dropped", "spine1");
    expect_loss(l, alerts, since, "Traces tell of 2 of these packets that were dropped between leaf1 and spine1.");
    clock_ms = 5000;
    expect_loss(l, alerts, now(), nothing_seen); /* Long ago. */
    alerts_destroy(alerts);
    rdma_losses_destroy(l);
    json_decref(document);
}

static void
raise_drop(struct alerts *alerts, const char *from, const char *to)
{
    struct alert_report report = {
        .kind = "drop",
        .subject = from,
        .summary = "s",
        .evidence = json_pack("{s:s, s:o?}", "device", from, "link",
                              to ? json_pack("{s:s, s:s}", "from", from, "to", to) : NULL),
    };
    alerts_raise(alerts, &report);
}

static void
alerts_about_links_on_the_way_tell_of_it_too(void **state)
{
    json_t *document = json_loads(topology, 0, NULL);
    struct rdma_losses *l = rdma_losses_create(document);
    struct alerts *alerts = alerts_create();
    struct rdma_loss loss;
    clock_ms = 0;
    raise_drop(alerts, "leaf2", "spine1"); /* The other way. */
    assert_false(rdma_losses_find(l, alerts, "10.1.0.11", "10.2.0.11", now(), &loss));
    raise_drop(alerts, "spine1", "leaf2");
    assert_true(rdma_losses_find(l, alerts, "10.1.0.11", "10.2.0.11", now(), &loss));
    assert_string_equal(loss.from, "spine1");
    assert_string_equal(loss.to, "leaf2");
    assert_int_equal(strlen(loss.alert), 16);
    assert_false(rdma_losses_find(l, alerts, "10.9.0.11", "10.2.0.11", now(), &loss));
    alerts_resolve(alerts, "drop", "spine1", "over");
    alerts_resolve(alerts, "drop", "leaf2", "over");
    assert_false(rdma_losses_find(l, alerts, "10.1.0.11", "10.2.0.11", now(), &loss));
    raise_drop(alerts, "spine1", NULL); /* All that comes through it. */
    assert_true(rdma_losses_find(l, alerts, "10.1.0.11", "10.2.0.11", now(), &loss));
    alerts_destroy(alerts);
    rdma_losses_destroy(l);
    json_decref(document);
}

/* Two spines: the trace knows the leaves, an alert which of the ways it is. */
static void
of_several_ways_an_alert_knows_which(void **state)
{
    static const char two_ways[] =
        "{\"switches\":["
        "{\"name\":\"leaf1\",\"loopback\":\"1\",\"ports\":[{\"number\":1,\"peer\":{\"node\":\"spine1\"}},"
        "{\"number\":2,\"peer\":{\"node\":\"spine2\"}}]},"
        "{\"name\":\"leaf2\",\"loopback\":\"2\",\"ports\":[{\"number\":1,\"peer\":{\"node\":\"spine1\"}},"
        "{\"number\":2,\"peer\":{\"node\":\"spine2\"}}]},"
        "{\"name\":\"spine1\",\"loopback\":\"3\",\"ports\":[{\"number\":1,\"peer\":{\"node\":\"leaf1\"}},"
        "{\"number\":2,\"peer\":{\"node\":\"leaf2\"}}]},"
        "{\"name\":\"spine2\",\"loopback\":\"4\",\"ports\":[{\"number\":1,\"peer\":{\"node\":\"leaf1\"}},"
        "{\"number\":2,\"peer\":{\"node\":\"leaf2\"}}]}],"
        "\"hosts\":[{\"name\":\"h1\",\"address\":\"10.1.0.11\",\"switch\":\"leaf1\"},"
        "{\"name\":\"h2\",\"address\":\"10.2.0.11\",\"switch\":\"leaf2\"}]}";
    json_t *document = json_loads(two_ways, 0, NULL);
    assert_non_null(document);
    struct rdma_losses *l = rdma_losses_create(document);
    struct alerts *alerts = alerts_create();
    clock_ms = 0;
    take_data(l, false, 4791, "leaf1", "dropped", "leaf2");
    raise_drop(alerts, "spine1", "leaf2"); /* It was not seen there. */
    expect_loss(l, alerts, now(), "Traces tell of 1 of these packets that was dropped between leaf1 and leaf2.");
    raise_drop(alerts, "leaf1", "spine2");
    expect_loss(l, alerts, now(), "Traces tell of 1 of these packets that was dropped between leaf1 and spine2.");
    alerts_destroy(alerts);
    rdma_losses_destroy(l);
    json_decref(document);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_few_pauses_are_no_storm),
        cmocka_unit_test(a_storm_is_followed_to_its_origin),
        cmocka_unit_test(a_circle_has_no_origin),
        cmocka_unit_test(complaints_by_queue_pair),
        cmocka_unit_test(nonsense),
        cmocka_unit_test(missing_packets_are_tied_to_where_they_were_lost),
        cmocka_unit_test(of_several_ways_an_alert_knows_which),
        cmocka_unit_test(alerts_about_links_on_the_way_tell_of_it_too),
    };
    return cmocka_run_group_tests_name("controller/rdma_events", tests, NULL, NULL);
}
