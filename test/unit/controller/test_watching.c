/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what the watchers stand on: cases, loops, doubts, the budget of probes,
 * rates. Time is injected. */
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

#include "base/util.h"
#include "controller/alerts.h"
#include "controller/collection.h"
#include "controller/copy_delays.h"
#include "controller/drop_class.h"
#include "controller/drop_rate.h"
#include "controller/drop_witnesses.h"
#include "controller/loop_app.h"
#include "controller/probe_budget.h"
#include "controller/probe_round.h"
#include "controller/statistics.h"
#include "controller/watch_case.h"
#include "controller/watch_causes.h"

/* A trace with hops "a b c". */
static json_t *
trace_of(const char *fate, bool loop, const char *hops, const char *expected)
{
    char copy[256];
    json_t *list = json_array();
    snprintf(copy, sizeof copy, "%s", hops);
    for (char *save, *name = strtok_r(copy, " ", &save); name; name = strtok_r(NULL, " ", &save)) {
        json_array_append_new(list, json_pack("{s:s, s:s}", "name", name, "direction", "ingress"));
    }
    return json_pack("{s:s, s:b, s:o, s:s?}", "fate", fate, "loop", loop, "hops", list, "expected_name", expected);
}

static void
expect_case(json_t *trace, const char *app, const char *key)
{
    char is_app[8], is_key[WATCH_KEY_SIZE];
    int rc = watch_case_read(trace, is_app, is_key);
    if (!app) {
        assert_int_not_equal(rc, 0);
    } else {
        assert_int_equal(rc, 0);
        assert_string_equal(is_app, app);
        assert_string_equal(is_key, key);
    }
    json_decref(trace);
}

static void
traces_are_sorted_by_place(void **state)
{
    expect_case(trace_of("dropped", false, "leaf1 spine1", "leaf4"), "drop", "spine1>leaf4");
    expect_case(trace_of("delivered", false, "leaf1 spine1 leaf4", "leaf4"), NULL, NULL);
    expect_case(trace_of("unsure", false, "leaf1 spine1", "leaf4"), NULL, NULL);
    expect_case(trace_of("dropped", false, "", "leaf4"), NULL, NULL);
    /* One loop is one case, wherever packets come into it. */
    expect_case(trace_of("loop", true, "leaf2 spine1 leaf1 spine1 leaf1", NULL), "loop", "leaf1>spine1");
    expect_case(trace_of("loop", true, "leaf1 spine1 leaf1", NULL), "loop", "leaf1>spine1");
    expect_case(trace_of("loop", true, "x c a b c a b", NULL), "loop", "a>b>c");
}

static void
a_circle_is_what_comes_back(void **state)
{
    json_t *trace = trace_of("loop", true, "x c a b c a b", NULL), *circle = loop_app_circle(trace);
    char *text = json_dumps(circle, JSON_COMPACT);
    assert_string_equal(text, "[\"c\",\"a\",\"b\"]");
    free(text);
    json_decref(circle);
    json_decref(trace);
    trace = trace_of("delivered", false, "a b c", NULL);
    assert_null(loop_app_circle(trace));
    json_decref(trace);
}

static void
cases_are_bounded(void **state)
{
    struct watch_cases *cases = calloc(1, sizeof *cases);
    char key[32];
    struct watch_case *kept = watch_cases_get(cases, "drop", "kept");
    kept->running = (struct diagnosis *) cases; /* Only its being there counts. */
    for (int i = 0; i < 3 * WATCH_CASES; i++) {
        snprintf(key, sizeof key, "%d", i);
        struct watch_case *c = watch_cases_get(cases, "drop", key);
        assert_non_null(c);
        c->last = (struct ef_time){i + 1};
    }
    assert_ptr_equal(watch_cases_get(cases, "drop", "kept"), kept);
    snprintf(key, sizeof key, "%d", 3 * WATCH_CASES - 1);
    assert_int_equal(watch_cases_get(cases, "drop", key)->last.ns, 3 * WATCH_CASES);
    for (int i = 0; i < WATCH_CASES; i++) {
        cases->cases[i].running = kept->running;
    }
    assert_null(watch_cases_get(cases, "drop", "no room"));
    free(cases);
}

static void
a_trace_is_new_once(void **state)
{
    struct watch_seen *seen = calloc(1, sizeof *seen);
    assert_true(watch_seen_add(seen, 7));
    assert_false(watch_seen_add(seen, 7));
    for (uint64_t i = 100; i < 100 + WATCH_SEEN; i++) {
        assert_true(watch_seen_add(seen, i));
    }
    assert_true(watch_seen_add(seen, 7)); /* Long ago. */
    free(seen);
}

/* --- Copies that get lost -------------------------------------------------- */

static struct ef_time now = {EF_NS_PER_S};

/* Notes once per half second; returns whether it grew in one of `n` of them. */
static bool
note(struct collection_gap *g, int n, int64_t first_step, int64_t second_step, int64_t delay_ms)
{
    struct ef_time start = now;
    for (int i = 0; i < n; i++) {
        now = ef_time_add_ms(now, 500);
        collection_gap_note(g, g->first + first_step, g->second + second_step, delay_ms, now);
    }
    return g->last.ns > start.ns;
}

static void
equal_counters_raise_no_doubt(void **state)
{
    struct collection_gap g = {.first = 1000, .second = 200}; /* Counted from different times on. */
    assert_false(note(&g, 100, 50, 50, 0));
    assert_false(note(&g, 1, 60, 45, 0)); /* What is on its way, */
    assert_false(note(&g, 1, 40, 55, 0)); /* comes. */
    assert_true(note(&g, 4, 50, 20, 0));
    assert_true(g.lost >= 90);
    assert_false(note(&g, 100, 50, 50, 0));
}

static void
a_counter_that_is_told_late_raises_no_doubt(void **state)
{
    struct collection_gap g = {0};
    bool grew = false;
    for (int i = 0; i < 20; i++) { /* Told each 5 s: all at once. */
        grew = note(&g, 1, 500, 50, 12000) || grew;
        grew = note(&g, 9, 0, 50, 12000) || grew;
    }
    assert_false(grew);
    grew = note(&g, 1, 500, 0, 12000); /* Now none arrives any more. */
    grew = note(&g, 9, 0, 0, 12000) || grew;
    grew = note(&g, 1, 500, 0, 12000) || grew;
    assert_true(grew);
}

static void
who_begins_anew_is_doubted(void **state)
{
    struct collection_gap g = {.first = 1000, .second = 1000};
    note(&g, 10, 10, 10, 0);
    assert_true(note(&g, 1, 10, -500, 0));
    assert_false(note(&g, 10, 10, 10, 0));
}

/* Whether what is missing explains that `n` of `of` traces since then lack a copy. */
static bool
explains(const struct collection_gap *g, struct ef_time since, unsigned n, unsigned of)
{
    return collection_gap_explains(g, &(struct collection_lack){n, of, since});
}

/* Half of the copies stand in a queue, or are lost there. */
static void
what_is_outstanding_explains_as_many_traces(void **state)
{
    struct collection_gap g = {.first = 5000, .second = 1000};
    note(&g, 20, 400, 400, 0);
    struct ef_time since = now;
    assert_false(explains(&g, since, 1, 1));
    note(&g, 1, 400, 320, 0); /* On its way. */
    assert_false(explains(&g, since, 60, 60));
    note(&g, 1, 400, 480, 0);
    assert_false(explains(&g, since, 60, 60));
    for (int i = 0; i < 8; i++) {
        note(&g, 1, 400, 330 + 10 * (i % 4), 0); /* Less than half of a look's: never sure to be lost. */
    }
    assert_int_equal(g.lost, 0);
    assert_true(explains(&g, since, 60, 60));
    assert_false(explains(&g, since, 1200, 1200)); /* So many were not. */
    note(&g, 30, 400, 400, 0);                     /* They were lost, but that is over. */
    assert_false(explains(&g, now, 60, 60));
    assert_false(explains(&(struct collection_gap){0}, since, 1, 1));
}

/* Few that are lost do not explain that all packets are dropped, but that few are. */
static void
some_that_are_lost_explain_some(void **state)
{
    struct collection_gap g = {.first = 5000, .second = 1000};
    note(&g, 20, 400, 400, 0);
    struct ef_time since = now;
    note(&g, 8, 400, 393, 0); /* One of 57. */
    assert_false(explains(&g, since, 60, 60));
    assert_true(explains(&g, since, 15, 436));
    assert_false(explains(&g, since, 60, 400));
    note(&g, 20, 400, 400, 0);
    since = now;
    note(&g, 8, 400, 360, 0); /* One of 10. */
    assert_true(explains(&g, since, 60, 60));
}

/* Takes a trace with a copy of leaf2 that comes that late; clocks differ by 0.3 s. */
static void
take_late(struct copy_delays *delays, double late_s)
{
    char made[EF_TIME_TEXT_SIZE], came[EF_TIME_TEXT_SIZE];
    now = ef_time_add_ms(now, 20);
    ef_time_format(now, made);
    ef_time_format(ef_time_add_ms(now, (int64_t) (1000 * late_s) - 300), came);
    json_t *trace = json_pack("{s:s, s:[{s:s, s:s, s:s}, {s:s, s:s}]}", "analyzer", "analyzer1", "hops", "name",
                              "leaf2", "switch_time", made, "arrival", came, "name", "leaf1", "arrival", came);
    copy_delays_take(delays, trace, now);
    copy_delays_take(delays, trace, now); /* It is asked for again. */
    json_decref(trace);
}

static void
copies_that_come_late_are_doubted(void **state)
{
    struct copy_delays *delays = copy_delays_create();
    struct ef_time since = now;
    assert_false(copy_delays_are_long(delays, "analyzer1", "leaf2", since));
    for (int i = 0; i < 10; i++) {
        take_late(delays, 0.001 * i);
    }
    take_late(delays, 3); /* It stood still for a moment. */
    take_late(delays, 3);
    take_late(delays, 0.9);
    assert_false(copy_delays_are_long(delays, "analyzer1", "leaf2", since));
    take_late(delays, 3.5);
    assert_true(copy_delays_are_long(delays, "analyzer1", "leaf2", since));
    assert_false(copy_delays_are_long(delays, "analyzer1", "leaf1", since));
    assert_false(copy_delays_are_long(delays, "analyzer2", "leaf2", since));
    assert_false(copy_delays_are_long(delays, "analyzer1", "leaf2", ef_time_add_ms(now, 1)));
    now = ef_time_add_ms(now, 200000); /* Somebody has set a clock: that is usual in the end. */
    since = now;
    for (int i = 0; i < 10; i++) {
        take_late(delays, 3);
    }
    assert_false(copy_delays_are_long(delays, "analyzer1", "leaf2", since));
    json_t *odd = json_pack("{s:s, s:[{s:s, s:s, s:s}]}", "analyzer", "analyzer1", "hops", "name", "leaf2",
                            "switch_time", "1700-01-01T00:00:00Z", "arrival", "2200-01-01T00:00:00Z");
    for (int i = 0; i < 5; i++) {
        copy_delays_take(delays, odd, now);
    }
    assert_false(copy_delays_are_long(delays, "analyzer1", "leaf2", since));
    json_decref(odd);
    copy_delays_destroy(delays);
}

static void
a_witness_is_heard_by_what_comes_later(void **state)
{
    /* Of 500 copies 480 came; it last told 4 s ago, of 300. */
    const struct collection_told before = {.gathered = 480, .made = 300, .missed = -180, .most_missed = 20};
    struct collection_told later = before;
    assert_int_equal(drop_witness_judge(&before, &later), DROP_WITNESS_SILENT);
    later.is_looked = true;
    assert_int_equal(drop_witness_judge(&before, &later), DROP_WITNESS_SILENT);
    later.made = 500; /* What it tells now was made before. */
    later.missed = 20;
    assert_int_equal(drop_witness_judge(&before, &later), DROP_WITNESS_SILENT);
    later.made = 560; /* That not. */
    later.missed = 80;
    assert_int_equal(drop_witness_judge(&before, &later), DROP_WITNESS_LOST);
    later.is_looked = false;
    assert_int_equal(drop_witness_judge(&before, &later), DROP_WITNESS_SILENT);
    later = before;
    later.gathered = 540;
    later.is_heard = true;
    assert_int_equal(drop_witness_judge(&before, &later), DROP_WITNESS_HEARD);
    later.lost = 3;
    assert_int_equal(drop_witness_judge(&before, &later), DROP_WITNESS_LOSSY);
    later.gathered = 580;
    assert_int_equal(drop_witness_judge(&before, &later), DROP_WITNESS_HEARD);
}

/* --- How many are dropped ------------------------------------------------------ */

static void
few_drops_are_a_rate_if_they_go_on(void **state)
{
    static const struct {
        struct drop_rate rate;
        enum drop_rate_next next;
    } cases[] = {
        {{.dropped = 40, .dropped_last = 36, .is_seen = true}, DROP_RATE_RANDOM},
        {{.dropped = 1, .dropped_last = 1, .is_seen = true}, DROP_RATE_OVER},
        {{.dropped = 1, .dropped_last = 1}, DROP_RATE_AGAIN},
        {{.dropped = 1, .n_repeats = 1}, DROP_RATE_UNKNOWN},
        {{.dropped = 30, .dropped_last = 1, .is_less = true, .is_seen = true}, DROP_RATE_AGAIN},
        {{.dropped = 4, .dropped_last = 4, .is_seen = true}, DROP_RATE_AGAIN},
        {{.dropped = 4, .n_repeats = 1, .is_seen = true}, DROP_RATE_OVER}, /* It was one moment's. */
        {{.dropped = 4, .n_repeats = 1}, DROP_RATE_UNKNOWN},
        {{.dropped = 7, .dropped_last = 3, .n_repeats = 1, .is_seen = true}, DROP_RATE_RANDOM},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(drop_rate_judge(&cases[i].rate), cases[i].next);
    }
}

/* --- What probes may cost ---------------------------------------------------- */

static void
probes_stay_within_the_budget(void **state)
{
    struct probe_budget b;
    probe_budget_init(&b, 10, 100, now);
    assert_true(probe_budget_take(&b, 6, 60, now));
    assert_false(probe_budget_take(&b, 6, 10, now)); /* Too many orders. */
    assert_false(probe_budget_take(&b, 2, 60, now)); /* Too many probes. */
    assert_true(probe_budget_take(&b, 2, 40, now));
    probe_budget_return(&b, 8);
    assert_false(probe_budget_take(&b, 1, 10, now));
    now = ef_time_add_ms(now, 500);
    assert_true(probe_budget_take(&b, 1, 50, now));
    /* What is larger than a second's worth waits for a full bucket, and for its debt. */
    now = ef_time_add_ms(now, 1000);
    assert_true(probe_budget_take(&b, 1, 300, now));
    now = ef_time_add_ms(now, 1500);
    assert_false(probe_budget_take(&b, 1, 1, now));
    assert_int_equal(b.taken, 60 + 40 + 50 + 300);
}

/* Against values from the literature (Newcombe 1998, table I, method 3). */
static void
wilson_intervals_are_right(void **state)
{
    double low, high;
    statistics_wilson(81, 263, &low, &high);
    assert_true(fabs(low - 0.2553) < 0.0001 && fabs(high - 0.3662) < 0.0001);
    statistics_wilson(0, 20, &low, &high);
    assert_true(low == 0 && fabs(high - 0.1611) < 0.0001);
    statistics_wilson(29, 29, &low, &high);
    assert_true(fabs(low - 0.8830) < 0.0001 && high == 1);
    statistics_wilson(0, 0, &low, &high);
    assert_true(low == 0 && high == 1);
    assert_true(statistics_is_less(0, 400, 21, 60)); /* What was lost a moment ago is not any more. */
    assert_false(statistics_is_less(40, 400, 6, 60));
    assert_false(statistics_is_less(0, 400, 1, 60)); /* That may be chance. */
    assert_false(statistics_is_less(21, 60, 0, 400));
    assert_false(statistics_is_less(0, 0, 60, 60)); /* Nothing was seen. */
}

/* --- Causes ---------------------------------------------------------------- */

static void
raise_cause(struct alerts *alerts, const char *kind, json_t *evidence)
{
    struct alert_report report = {.kind = kind, .subject = kind, .summary = "s", .evidence = evidence};
    alerts_raise(alerts, &report);
}

static void
a_cause_explains_what_it_touches(void **state)
{
    struct alerts *alerts = alerts_create();
    json_t *link = json_pack("{s:s, s:s}", "from", "leaf1", "to", "spine2"),
           *back = json_pack("{s:s, s:s}", "from", "spine2", "to", "leaf1"),
           *other = json_pack("{s:s, s:s}", "from", "leaf1", "to", "spine1");
    assert_false(watch_causes_explain(alerts, "drop", "leaf1", link, NULL));
    raise_cause(alerts, "link", json_pack("{s:s, s:O}", "device", "leaf1", "link", link));
    assert_true(watch_causes_explain(alerts, "drop", "leaf1", link, NULL));
    assert_true(watch_causes_explain(alerts, "drop", "spine2", back, NULL));
    assert_false(watch_causes_explain(alerts, "drop", "leaf1", other, NULL));
    assert_false(watch_causes_explain(alerts, "drop", "leaf1", NULL, NULL));
    raise_cause(alerts, "switch", json_pack("{s:s}", "device", "spine1"));
    assert_true(watch_causes_explain(alerts, "drop", "leaf1", other, NULL));
    assert_true(watch_causes_explain(alerts, "drop", "spine1", NULL, NULL));
    assert_false(watch_causes_explain(alerts, "loop", "spine1", other, NULL)); /* That was seen. */
    alerts_resolve(alerts, "switch", "switch", "up");
    assert_false(watch_causes_explain(alerts, "drop", "leaf1", other, NULL));
    raise_cause(alerts, "copies", json_pack("{s:s}", "device", "leaf1"));
    assert_false(watch_causes_explain(alerts, "drop", "leaf1", other, NULL)); /* It was seen there. */
    alerts_resolve(alerts, "copies", "copies", "none was lost");
    alerts_resolve(alerts, "link", "link", "up");
    raise_cause(alerts, "copies",
                json_pack("{s:s, s:O, s:[s, s]}", "device", "spine2", "link", back, "switches", "leaf2", "spine2"));
    assert_true(watch_causes_explain(alerts, "drop", "leaf1", link, NULL));  /* Was it seen at spine2? */
    assert_true(watch_causes_explain(alerts, "drop", "spine2", NULL, NULL)); /* "spine2 is down". */
    assert_false(watch_causes_explain(alerts, "drop", "leaf2", other, NULL));
    assert_false(watch_causes_explain(alerts, "drop", "spine2", back, NULL)); /* leaf1 loses none. */
    json_decref(link);
    json_decref(back);
    json_decref(other);
    alerts_destroy(alerts);
}

/* Which of equal ways packets take is not always found out. */
static void
a_cause_explains_what_one_of_several_should_have_seen(void **state)
{
    struct alerts *alerts = alerts_create();
    json_t *unseen = json_pack("[s, s]", "spine1", "spine2"), *one = json_pack("[s]", "spine1");
    raise_cause(alerts, "switch", json_pack("{s:s}", "device", "spine2"));
    assert_false(watch_causes_explain(alerts, "drop", "leaf1", NULL, NULL));
    assert_false(watch_causes_explain(alerts, "drop", "leaf1", NULL, one));
    assert_true(watch_causes_explain(alerts, "drop", "leaf1", NULL, unseen));
    alerts_resolve(alerts, "switch", "switch", "up");
    raise_cause(alerts, "link", json_pack("{s:{s:s, s:s}}", "link", "from", "spine2", "to", "leaf1"));
    assert_false(watch_causes_explain(alerts, "drop", "leaf1", NULL, one));
    assert_false(watch_causes_explain(alerts, "drop", "leaf2", NULL, unseen));
    assert_true(watch_causes_explain(alerts, "drop", "leaf1", NULL, unseen));
    alerts_resolve(alerts, "link", "link", "up");
    raise_cause(alerts, "copies", json_pack("{s:s, s:[s, s]}", "device", "leaf1", "switches", "spine2", "leaf3"));
    assert_false(watch_causes_explain(alerts, "drop", "leaf1", NULL, one));
    assert_true(watch_causes_explain(alerts, "drop", "leaf1", NULL, unseen));
    json_decref(unseen);
    json_decref(one);
    alerts_destroy(alerts);
}

/* Of 12 probes that were sent once more. */
static void
what_is_not_seen_to_be_dropped_again_is_not_confirmed(void **state)
{
    static const struct {
        unsigned failed, passed;
        bool is_doubtful, is_confirmed;
    } cases[] = {
        {12, 0, false, true}, {6, 0, false, true},  {5, 0, false, false},
        {6, 6, false, false}, {0, 0, false, false}, {12, 0, true, false}, /* Copies are being lost. */
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        const struct probe_round_order o = {.count = 12,
                                            .sent = 12,
                                            .failed = cases[i].failed,
                                            .passed = cases[i].passed,
                                            .is_doubtful = cases[i].is_doubtful};
        assert_int_equal(drop_is_confirmed(&o), cases[i].is_confirmed);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(traces_are_sorted_by_place),
        cmocka_unit_test(a_circle_is_what_comes_back),
        cmocka_unit_test(cases_are_bounded),
        cmocka_unit_test(a_trace_is_new_once),
        cmocka_unit_test(equal_counters_raise_no_doubt),
        cmocka_unit_test(a_counter_that_is_told_late_raises_no_doubt),
        cmocka_unit_test(who_begins_anew_is_doubted),
        cmocka_unit_test(what_is_outstanding_explains_as_many_traces),
        cmocka_unit_test(some_that_are_lost_explain_some),
        cmocka_unit_test(copies_that_come_late_are_doubted),
        cmocka_unit_test(a_witness_is_heard_by_what_comes_later),
        cmocka_unit_test(few_drops_are_a_rate_if_they_go_on),
        cmocka_unit_test(probes_stay_within_the_budget),
        cmocka_unit_test(wilson_intervals_are_right),
        cmocka_unit_test(a_cause_explains_what_it_touches),
        cmocka_unit_test(a_cause_explains_what_one_of_several_should_have_seen),
        cmocka_unit_test(what_is_not_seen_to_be_dropped_again_is_not_confirmed),
    };
    return cmocka_run_group_tests_name("watching", tests, NULL, NULL);
}
