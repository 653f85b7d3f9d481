/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of events: numbered, kept, read from anywhere, and what is missed is told. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "controller/alerts.h"
#include "controller/events.h"

struct fixture {
    struct alerts *alerts;
    struct events *events;
    int n_woken;
};

static void
raise_one(struct fixture *f, int i)
{
    char subject[32];
    snprintf(subject, sizeof subject, "s%d", i);
    struct alert_report report = {.kind = "drop", .subject = subject, .summary = "x"};
    alerts_raise(f->alerts, &report);
}

static void
woken(void *ctx)
{
    ((struct fixture *) ctx)->n_woken++;
}

static int
begin(void **state)
{
    static struct fixture f;
    f = (struct fixture){.alerts = alerts_create()};
    f.events = events_create(f.alerts);
    *state = &f;
    return 0;
}

static int
end(void **state)
{
    struct fixture *f = *state;
    events_destroy(f->events);
    alerts_destroy(f->alerts);
    return 0;
}

static const char *
subject_of(const struct event_text *event)
{
    static char subject[64];
    json_t *alert = json_loads(event->data, 0, NULL);
    snprintf(subject, sizeof subject, "%s", json_string_value(json_object_get(alert, "subject")));
    json_decref(alert);
    return subject;
}

static void
each_change_is_an_event(void **state)
{
    struct fixture *f = *state;
    struct event_text event;
    uint64_t after = 0;
    assert_false(events_read(f->events, &after, &event));
    struct events_listener *listener = events_listen(f->events, woken, f);
    raise_one(f, 1);
    raise_one(f, 2);
    alerts_resolve(f->alerts, "drop", "s1", "gone");
    assert_int_equal(f->n_woken, 3);
    assert_int_equal(events_newest(f->events), 3);
    static const char *const subjects[] = {"s1", "s2", "s1"};
    for (int i = 0; i < 3; i++) {
        assert_true(events_read(f->events, &after, &event));
        assert_int_equal(event.number, i + 1);
        assert_int_equal(event.n_missed, 0);
        assert_string_equal(event.type, "alert");
        assert_string_equal(subject_of(&event), subjects[i]);
    }
    assert_false(events_read(f->events, &after, &event));
    events_unlisten(f->events, listener);
    raise_one(f, 3);
    assert_int_equal(f->n_woken, 3);
}

static void
a_slow_reader_is_told_what_it_missed(void **state)
{
    struct fixture *f = *state;
    struct event_text event;
    uint64_t after = 2;
    for (int i = 1; i <= EVENTS_KEPT + 10; i++) {
        raise_one(f, i);
    }
    assert_true(events_read(f->events, &after, &event));
    assert_int_equal(event.number, 11);
    assert_int_equal(event.n_missed, 8); /* 3 to 10. */
    assert_int_equal(after, 11);
    assert_true(events_read(f->events, &after, &event));
    assert_int_equal(event.n_missed, 0);
    /* One who read the events of a controller before us. */
    after = 1000000;
    assert_true(events_read(f->events, &after, &event));
    assert_int_equal(event.number, 11);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_change_is_an_event, begin, end),
        cmocka_unit_test_setup_teardown(a_slow_reader_is_told_what_it_missed, begin, end),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("events", tests, NULL, NULL);
}
