/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what is told when copies get lost, on a modelled fabric: each switch sends its
 * copies over one of the shortest ways, places on it lose some. Time is injected. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "controller/alerts.h"
#include "controller/copy_shadow.h"
#include "controller/copy_watch.h"
#include "controller/copy_ways.h"

enum { N = 6, EVERY_MS = 500 };

static const char *const names[N] = {"leaf1", "leaf2", "leaf3", "leaf4", "spine1", "spine2"};

/* The way of each one's copies; the reshuffler is at leaf1. */
static const char *const ways[N] = {
    "leaf1>reshuffler1 ",
    "leaf2>spine2 spine2>leaf1 leaf1>reshuffler1 ",
    "leaf3>spine1 spine1>leaf1 leaf1>reshuffler1 ",
    "leaf4>spine2 spine2>leaf1 leaf1>reshuffler1 ",
    "spine1>leaf1 leaf1>reshuffler1 ",
    "spine2>leaf1 leaf1>reshuffler1 ",
};

struct model {
    json_t *document;
    struct alerts *alerts;
    struct copy_watch *watch;
    struct ef_time now;
    int64_t lost[N];
    struct ef_time last[N];
    bool is_quiet[N]; /* Sends few copies. */
    bool is_hidden[N];
    int64_t copies[N], per_pass; /* That came; and do in half a second. */
    bool has_cause;
};

/* Two spines, four leaves, a reshuffler and an analyzer at leaf1. */
static json_t *
fabric(void)
{
    json_t *switches = json_array(), *hosts = json_array();
    for (int i = 0; i < N; i++) {
        json_t *ports = json_array();
        for (int k = 0; k < N; k++) {
            if (strncmp(names[i], names[k], 4)) {
                json_array_append_new(ports, json_pack("{s:i, s:{s:s}}", "number", k + 1, "peer", "node", names[k]));
            }
        }
        json_array_append_new(switches, json_pack("{s:s, s:o}", "name", names[i], "ports", ports));
    }
    for (int i = 0; i < 2; i++) {
        json_array_append_new(hosts, json_pack("{s:s, s:s, s:s}", "name", i ? "analyzer1" : "reshuffler1", "role",
                                               i ? "analyzer" : "reshuffler", "switch", "leaf1"));
    }
    return json_pack("{s:o, s:o}", "switches", switches, "hosts", hosts);
}

static int
set_up(void **state)
{
    struct model *m = calloc(1, sizeof *m);
    assert_non_null(m);
    m->document = fabric();
    m->alerts = alerts_create();
    m->watch = copy_watch_create(m->document, m->alerts);
    m->now.ns = EF_NS_PER_S;
    *state = m;
    return 0;
}

static int
tear_down(void **state)
{
    struct model *m = *state;
    copy_watch_destroy(m->watch);
    alerts_destroy(m->alerts);
    json_decref(m->document);
    free(m);
    return 0;
}

/* Half a second, in which places lose 2 copies of each whose way they are on: "spine2>leaf1 ". */
static void
pass(struct model *m, const char *place)
{
    struct copy_heard heard[N];
    json_t *gaps = json_array();
    m->now = ef_time_add_ms(m->now, EVERY_MS);
    for (int i = 0; i < N; i++) {
        m->copies[i] += m->per_pass;
        heard[i] = (struct copy_heard){
            .name = names[i], .copies = m->copies[i], .is_busy = !m->is_quiet[i], .is_hidden = m->is_hidden[i]};
        if (place && strstr(ways[i], place)) {
            m->lost[i] += 2;
            m->last[i] = m->now;
        }
        if (m->last[i].ns) {
            json_array_append_new(gaps,
                                  json_pack("{s:s, s:I, s:f}", "sequence", names[i], "lost", (json_int_t) m->lost[i],
                                            "last_s_ago", (double) ef_time_diff_ns(m->now, m->last[i]) / EF_NS_PER_S));
        }
    }
    struct copy_look look = {gaps, heard, N, m->has_cause, true, m->now};
    copy_watch_look(m->watch, &look);
    json_decref(gaps);
}

static void
pass_for(struct model *m, const char *place, int s)
{
    for (int i = 0; i < s * 1000 / EVERY_MS; i++) {
        pass(m, place);
    }
}

/* Subjects of the active alerts of the kind, sorted: "leaf2 leaf3 ". */
static const char *
told(const struct model *m)
{
    static char text[400];
    json_t *list = alerts_list(m->alerts, "active", "copies"), *by_subject = json_object(), *alert;
    const char *subject;
    size_t i, n = 0;
    json_array_foreach(list, i, alert)
    {
        json_object_set(by_subject, json_string_value(json_object_get(alert, "subject")), alert);
    }
    char *sorted = json_dumps(by_subject, JSON_SORT_KEYS | JSON_COMPACT);
    json_t *again = json_loads(sorted, 0, NULL);
    *text = '\0';
    json_object_foreach(again, subject, alert)
    {
        n += (size_t) snprintf(text + n, sizeof text - n, "%s ", subject);
    }
    free(sorted);
    json_decref(again);
    json_decref(by_subject);
    json_decref(list);
    return text;
}

static unsigned long long
n_raised(const struct model *m)
{
    struct alerts_counts counts;
    alerts_count(m->alerts, &counts);
    return counts.raised;
}

static json_t *
evidence_of(const struct model *m, const char *subject)
{
    json_t *alert = alert_show(alerts_active(m->alerts, "copies", subject));
    json_t *evidence = json_incref(json_object_get(alert, "evidence"));
    json_decref(alert);
    return evidence;
}

static void
expect_switches(const struct model *m, const char *subject, const char *expected)
{
    json_t *evidence = evidence_of(m, subject);
    char *text = json_dumps(json_object_get(evidence, "switches"), JSON_COMPACT);
    assert_string_equal(text, expected);
    free(text);
    json_decref(evidence);
}

static void
one_switch_alone_is_its_own(void **state)
{
    struct model *m = *state;
    pass_for(m, NULL, 5);
    pass_for(m, "leaf2>spine2 ", 5);
    assert_string_equal(told(m), ""); /* It may be a burst, or others may come. */
    pass_for(m, "leaf2>spine2 ", 3);
    assert_string_equal(told(m), "leaf2 ");
    pass_for(m, "leaf2>spine2 ", 30);
    assert_int_equal(n_raised(m), 1);
    pass_for(m, NULL, 29);
    assert_string_equal(told(m), "leaf2 ");
    pass_for(m, NULL, 3);
    assert_string_equal(told(m), "");
}

static void
what_is_behind_one_link_is_that_links(void **state)
{
    struct model *m = *state;
    pass_for(m, "spine2>leaf1 ", 6);
    assert_string_equal(told(m), "spine2>leaf1 ");
    expect_switches(m, "spine2>leaf1", "[\"leaf2\",\"leaf4\",\"spine2\"]");
    json_t *evidence = evidence_of(m, "spine2>leaf1");
    assert_string_equal(json_string_value(json_object_get(evidence, "device")), "spine2");
    assert_string_equal(json_string_value(json_object_get(json_object_get(evidence, "link"), "to")), "leaf1");
    json_decref(evidence);
    pass_for(m, "spine2>leaf1 ", 30);
    assert_int_equal(n_raised(m), 1);
    pass_for(m, NULL, 32);
    assert_string_equal(told(m), "");
}

static void
a_quiet_switch_is_no_witness(void **state)
{
    struct model *m = *state;
    m->is_quiet[5] = true;
    for (int i = 0; i < 12; i++) { /* spine2 sends nothing that could be lost. */
        pass(m, "leaf2>spine2 ");
        m->lost[3] += 2;
        m->last[3] = m->now;
    }
    pass_for(m, "leaf2>spine2 ", 1);
    assert_string_equal(told(m), "spine2>leaf1 ");
}

/* Nobody tells which of the two ways the copies took. */
static void
which_of_two_is_not_guessed(void **state)
{
    struct model *m = *state;
    struct copy_place place;
    struct copy_sender senders[] = {{"leaf2", COPIES_LOST}, {"leaf4", COPIES_LOST}, {"leaf1", COPIES_ARRIVE}};
    struct copy_ways *w = copy_ways_create(m->document);
    assert_false(copy_ways_common(w, senders, EF_ARRAY_SIZE(senders), &place));
    copy_ways_destroy(w);
}

static void
what_all_lose_is_lost_at_the_reshufflers_link(void **state)
{
    struct model *m = *state;
    pass_for(m, "leaf1>reshuffler1 ", 6);
    assert_string_equal(told(m), "leaf1>reshuffler1 ");
    json_t *evidence = evidence_of(m, "leaf1>reshuffler1");
    assert_int_equal(json_array_size(json_object_get(evidence, "switches")), N);
    json_decref(evidence);
}

static void
what_all_others_lose_is_lost_in_the_reshufflers_switch(void **state)
{
    struct model *m = *state;
    pass_for(m, ">leaf1 ", 6); /* Both its links to spines. */
    assert_string_equal(told(m), "leaf1 ");
}

static void
unrelated_switches_are_told_each_for_itself(void **state)
{
    struct model *m = *state;
    for (int i = 0; i < 14; i++) {
        pass(m, "leaf2>spine2 ");
        m->lost[2] += 3;
        m->last[2] = m->now;
    }
    assert_string_equal(told(m), ""); /* Others may come. */
    for (int i = 0; i < 6; i++) {
        pass(m, "leaf2>spine2 ");
        m->lost[2] += 3;
        m->last[2] = m->now;
    }
    assert_string_equal(told(m), "leaf2 leaf3 ");
}

/* All lose 2 of 1,000 copies: bursts do that. */
static void
few_of_many_are_no_news(void **state)
{
    struct model *m = *state;
    m->per_pass = 998;
    pass_for(m, "spine2>leaf1 ", 20);
    assert_string_equal(told(m), "");
    m->per_pass = 98;
    pass_for(m, NULL, 40);
    pass_for(m, "spine2>leaf1 ", 9);
    assert_string_equal(told(m), "spine2>leaf1 ");
}

/* One loses far more than the other that is on its way. */
static void
who_loses_far_less_has_another_reason(void **state)
{
    struct model *m = *state;
    for (int i = 0; i < 20; i++) {
        m->lost[1] += 100;
        m->lost[5] += i % 2;
        m->last[1] = m->last[5] = ef_time_add_ms(m->now, EVERY_MS);
        pass(m, NULL);
    }
    assert_string_equal(told(m), "leaf2 spine2 "); /* And not the link between them and the reshuffler. */
}

/* One was told already when the others came. */
static void
who_was_told_alone_is_taken_into_the_common_place(void **state)
{
    struct model *m = *state;
    pass_for(m, "leaf2>spine2 ", 7);
    assert_string_equal(told(m), "leaf2 ");
    pass_for(m, "spine2>leaf1 ", 5);
    assert_string_equal(told(m), "spine2>leaf1 ");
}

/* The first loses some seconds before the others do. */
static void
others_may_begin_later(void **state)
{
    struct model *m = *state;
    pass_for(m, "leaf2>spine2 ", 4);
    pass_for(m, "spine2>leaf1 ", 5);
    assert_string_equal(told(m), "spine2>leaf1 ");
    assert_int_equal(n_raised(m), 1);
}

/* Of a link that is slow it is known what it loses, of one switch, too. */
static void
raise_slow(struct model *m, double queue_us)
{
    struct alert_report slow = {
        .kind = "latency",
        .subject = "leaf1-spine2",
        .summary = "slow",
        .evidence = json_pack("{s:{s:s, s:s}, s:f}", "link", "from", "leaf1", "to", "spine2", "queue_us", queue_us),
    };
    alerts_raise(m->alerts, &slow);
}

static void
a_slow_link_is_to_blame(void **state)
{
    struct model *m = *state;
    m->is_quiet[5] = true;
    raise_slow(m, 90000);
    pass_for(m, "leaf2>spine2 ", 6);
    assert_string_equal(told(m), "spine2>leaf1 ");
    for (int i = 0; i < 20; i++) { /* Not on its way. */
        m->lost[0] += 2;
        m->last[0] = ef_time_add_ms(m->now, EVERY_MS);
        pass(m, NULL);
    }
    assert_string_equal(told(m), "leaf1 spine2>leaf1 ");
}

/* A bit slower is not so slow that it has no room; and what spine2 sends all comes that way. */
static void
a_slow_link_that_has_room_is_not(void **state)
{
    struct model *m = *state;
    m->is_quiet[5] = true;
    raise_slow(m, 1200);
    pass_for(m, "leaf2>spine2 ", 8);
    assert_string_equal(told(m), "leaf2 ");
}

static void
a_slow_link_that_others_copies_cross_is_not(void **state)
{
    struct model *m = *state;
    raise_slow(m, 90000);
    pass_for(m, "leaf2>spine2 ", 8);
    assert_string_equal(told(m), "leaf2 ");
}

/* A queue overflows now and then: those behind it lose copies at different times. */
static void
those_who_lose_now_and_then_have_a_place_in_common(void **state)
{
    struct model *m = *state;
    m->is_quiet[1] = m->is_quiet[3] = true;
    for (int i = 0; i < 14; i++) {
        m->lost[5] += 40;
        m->last[5] = ef_time_add_ms(m->now, EVERY_MS);
        pass(m, NULL);
    }
    assert_string_equal(told(m), "spine2 ");
    pass_for(m, NULL, 4);
    for (int i = 0; i < 14; i++) {
        m->lost[1] += 40;
        m->last[1] = ef_time_add_ms(m->now, EVERY_MS);
        pass(m, NULL);
    }
    assert_string_equal(told(m), "spine2>leaf1 ");
}

/* One says that it made more than came, of which no number is missing: the queue that has them is named when
 * those of others are missing, too. */
static void
late_copies_are_told_late(void **state)
{
    struct model *m = *state;
    struct copy_heard heard[N];
    for (int i = 0; i < N; i++) {
        heard[i] = (struct copy_heard){.name = names[i], .is_busy = i != 1 && i != 5};
    }
    for (int i = 0; i < 29 + 6; i++) {
        json_t *gaps = json_pack("[{s:s, s:i, s:f}]", "uplink", "leaf2", "lost", 40 * i + 1, "last_s_ago", 0.1);
        struct copy_look look = {gaps, heard, N, false, true, m->now};
        m->now = ef_time_add_ms(m->now, EVERY_MS);
        copy_watch_look(m->watch, &look);
        json_decref(gaps);
        if (i == 28) {
            assert_string_equal(told(m), "");
        }
    }
    assert_string_equal(told(m), "leaf2 ");
}

static void
analyzers_and_known_causes_stay_as_they_are(void **state)
{
    struct model *m = *state;
    m->has_cause = true;
    pass_for(m, "spine2>leaf1 ", 10);
    assert_string_equal(told(m), "");
    for (int i = 0; i < 10; i++) {
        json_t *gaps = json_pack("[{s:s, s:i, s:f}, {s:s, s:i, s:f}]", "analyzer", "analyzer1", "lost", 2 * i + 1,
                                 "last_s_ago", 0.1, "switch", "leaf2", "lost", i, "last_s_ago", 0.1);
        m->now = ef_time_add_ms(m->now, EVERY_MS);
        copy_watch_look(m->watch, &(struct copy_look){.gaps = gaps, .now = m->now});
        json_decref(gaps);
    }
    assert_string_equal(told(m), "analyzer1 ");
}

static void
of_all_analyzers_together_it_is_said_where(void **state)
{
    struct model *m = *state;
    for (int i = 0; i < 10; i++) {
        json_t *gaps = json_pack("[{s:s, s:i, s:f}]", "analyzer", "all", "lost", 2 * i + 1, "last_s_ago", 0.1);
        m->now = ef_time_add_ms(m->now, EVERY_MS);
        copy_watch_look(m->watch, &(struct copy_look){.gaps = gaps, .now = m->now});
        json_decref(gaps);
    }
    json_t *alert = alert_show(alerts_active(m->alerts, "copies", "all"));
    assert_non_null(
        strstr(json_string_value(json_object_get(alert, "summary")), " lost between reshufflers and analyzers ("));
    json_decref(alert);
}

/* What a failed switch swallows is told as that switch's failure; what others lose is not. */
static void
copies_that_a_failure_swallows_are_no_news(void **state)
{
    struct model *m = *state;
    m->is_hidden[2] = true;
    pass_for(m, "leaf3>spine1 ", 15);
    assert_string_equal(told(m), "");
    pass_for(m, "leaf2>spine2 ", 9);
    assert_string_equal(told(m), "leaf2 ");
    m->is_hidden[2] = false;
    pass_for(m, "leaf3>spine1 ", 9); /* It is back, and still loses some. */
    assert_string_equal(told(m), "leaf2 leaf3 ");
}

static void
expect_shadow(const struct model *m, const char *name, const char *expected)
{
    char what[COPY_SHADOW_TEXT];
    struct copy_ways *w = copy_ways_create(m->document);
    bool falls = copy_shadow_falls_on(w, m->alerts, name, what);
    assert_int_equal(falls, expected != NULL);
    if (expected) {
        assert_string_equal(what, expected);
    }
    copy_ways_destroy(w);
}

/* The reshuffler is at leaf1. */
static void
a_failure_swallows_copies_that_may_come_through_it(void **state)
{
    struct model *m = *state;
    expect_shadow(m, "leaf4", NULL);
    struct alert_report spine = {
        .kind = "switch", .subject = "spine1", .summary = "s", .evidence = json_pack("{s:s}", "device", "spine1")};
    alerts_raise(m->alerts, &spine);
    expect_shadow(m, "leaf4", "spine1, which has failed");
    expect_shadow(m, "spine1", NULL); /* It makes none. */
    expect_shadow(m, "spine2", NULL);
    expect_shadow(m, "leaf1", NULL);
    expect_shadow(m, "nobody", NULL);
    alerts_resolve(m->alerts, "switch", "spine1", "it answers");
    expect_shadow(m, "leaf4", NULL);
    struct alert_report link = {
        .kind = "link",
        .subject = "leaf1-spine2",
        .summary = "s",
        .evidence = json_pack("{s:s, s:{s:s, s:s}}", "device", "leaf1", "link", "from", "leaf1", "to", "spine2"),
    };
    alerts_raise(m->alerts, &link); /* Either end tells of it. */
    expect_shadow(m, "leaf4", "the link between leaf1 and spine2, which is down");
    expect_shadow(m, "spine2", "the link between leaf1 and spine2, which is down");
    expect_shadow(m, "spine1", NULL);
}

/* --- The ways -------------------------------------------------------------------- */

static void
without_a_reshuffler_there_are_no_ways(void **state)
{
    struct model *m = *state;
    struct copy_place place;
    struct copy_sender senders[] = {{"leaf2", COPIES_LOST}, {"leaf4", COPIES_LOST}, {"nobody", COPIES_LOST}};
    json_t *bare = json_pack("{s:O}", "switches", json_object_get(m->document, "switches"));
    struct copy_ways *w = copy_ways_create(bare);
    assert_false(copy_ways_common(w, senders, EF_ARRAY_SIZE(senders), &place));
    assert_false(copy_ways_may_cross(w, "leaf2", &(struct copy_place){"spine2", "leaf1"}));
    copy_ways_destroy(w);
    json_decref(bare);
    json_t *nothing = json_object();
    w = copy_ways_create(nothing);
    assert_false(copy_ways_common(w, senders, EF_ARRAY_SIZE(senders), &place));
    copy_ways_destroy(w);
    json_decref(nothing);
}

static void
copies_cross_what_is_on_a_shortest_way(void **state)
{
    struct model *m = *state;
    struct copy_ways *w = copy_ways_create(m->document);
    assert_true(copy_ways_may_cross(w, "leaf2", &(struct copy_place){"spine2", "leaf1"}));
    assert_true(copy_ways_may_cross(w, "leaf2", &(struct copy_place){"leaf1", "reshuffler1"}));
    assert_true(copy_ways_may_cross(w, "leaf2", &(struct copy_place){"spine1", NULL}));
    assert_false(copy_ways_may_cross(w, "leaf2", &(struct copy_place){"leaf1", "spine2"}));
    assert_false(copy_ways_may_cross(w, "leaf2", &(struct copy_place){"leaf3", "spine2"}));
    assert_false(copy_ways_may_cross(w, "leaf1", &(struct copy_place){"leaf1", NULL})); /* It is theirs. */
    assert_false(copy_ways_may_cross(w, "nobody", &(struct copy_place){"leaf1", NULL}));
    assert_true(copy_ways_must_cross(w, "spine2", &(struct copy_place){"spine2", "leaf1"}));
    assert_true(copy_ways_must_cross(w, "leaf2", &(struct copy_place){"leaf1", NULL}));
    assert_false(copy_ways_must_cross(w, "leaf2", &(struct copy_place){"spine2", "leaf1"}));
    copy_ways_destroy(w);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(few_of_many_are_no_news),
        TEST(of_all_analyzers_together_it_is_said_where),
        TEST(who_loses_far_less_has_another_reason),
        TEST(one_switch_alone_is_its_own),
        TEST(what_is_behind_one_link_is_that_links),
        TEST(a_quiet_switch_is_no_witness),
        TEST(which_of_two_is_not_guessed),
        TEST(what_all_lose_is_lost_at_the_reshufflers_link),
        TEST(what_all_others_lose_is_lost_in_the_reshufflers_switch),
        TEST(unrelated_switches_are_told_each_for_itself),
        TEST(who_was_told_alone_is_taken_into_the_common_place),
        TEST(others_may_begin_later),
        TEST(a_slow_link_is_to_blame),
        TEST(a_slow_link_that_has_room_is_not),
        TEST(a_slow_link_that_others_copies_cross_is_not),
        TEST(those_who_lose_now_and_then_have_a_place_in_common),
        TEST(late_copies_are_told_late),
        TEST(analyzers_and_known_causes_stay_as_they_are),
        TEST(copies_that_a_failure_swallows_are_no_news),
        TEST(a_failure_swallows_copies_that_may_come_through_it),
        TEST(without_a_reshuffler_there_are_no_ways),
        TEST(copies_cross_what_is_on_a_shortest_way),
    };
#undef TEST
    return cmocka_run_group_tests_name("copy_watch", tests, NULL, NULL);
}
