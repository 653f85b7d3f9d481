/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of orders: what is refused and why, that all probes of one go out in
 * time and are counted, and that the limits hold for all orders together. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <event2/event.h>

#include "base/time.h"
#include "guided-prober/orders.h"
#include "unit/prober/probe.h"

static struct event_base *base;
static const struct prober_conf conf = {.limits = {1000, 500}, .sink = "pcap:/dev/null"};
static struct prober_orders *orders;

static int
setup(void **state)
{
    base = event_base_new();
    return !base || prober_orders_create(base, small_topology(), &conf, &orders, NULL);
}

static int
teardown(void **state)
{
    prober_orders_destroy(orders);
    event_base_free(base);
    return 0;
}

static int
add(const char *text, json_t **shown, struct ef_error *err)
{
    json_t *order = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(order);
    int rc = prober_orders_add(orders, order, shown, err);
    json_decref(order);
    return rc;
}

static const char *
member(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

#define PACKET "\"packet\":{\"dst\":\"h2\",\"src\":\"h1\"}"

static void
what_is_wrong_is_said(void **state)
{
    static const struct {
        const char *order;
        int rc;
        const char *error;
    } cases[] = {
        {"[]", -EINVAL, "an order must be an object"},
        {"{}", -EINVAL, "packet: must be an object of fields"},
        {"{" PACKET ",\"cont\":1}", -EINVAL, "cont: unknown; an order has id, packet, count and interval_ms"},
        {"{" PACKET ",\"count\":0}", -EINVAL, "count: must be a whole number from 1 to 1000000000"},
        {"{" PACKET ",\"interval_ms\":-1}", -EINVAL, "interval_ms: must be a number from 0 to 3600000"},
        {"{" PACKET ",\"id\":\"xyz\"}", -EINVAL, "id: must be a text of up to 16 hexadecimal digits"},
        {"{\"packet\":{\"dst\":[]}}", -EINVAL, "packet: dst is required: a switch or host of the topology"},
        {"{\"packet\":{\"dst\":\"h2\",\"ttl\":{}}}", -EINVAL,
         "packet: ttl: must be a text, a whole number, true or false"},
        {"{\"packet\":{\"dst\":\"h2\",\"via\":[1,{}]}}", -EINVAL, "packet: via: must be texts"},
        {"{\"packet\":{\"dst\":\"h2\",\"tll\":1}}", -EINVAL, "packet: no field 'tll'; did you mean ttl?"},
        {"{\"packet\":{\"dst\":\"192.0.2.1\",\"src\":\"h1\"}}", -EACCES,
         "packet: dst: '192.0.2.1' is neither a switch nor a host of the topology; probes go nowhere else"},
        {"{" PACKET ",\"count\":501}", -EACCES, "501 probes are more than the 500 of --total-limit"},
        {"{" PACKET ",\"interval_ms\":0.5}", -EACCES,
         "an interval of 500000 ns is shorter than --rate-limit 1000 a second allows"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ef_error err = EF_ERROR_INIT;
        json_t *shown = NULL;
        assert_int_equal(add(cases[i].order, &shown, &err), cases[i].rc);
        assert_string_equal(err.text, cases[i].error);
    }
    struct prober_orders_stats stats;
    prober_orders_stats(orders, &stats);
    assert_int_equal(stats.refused, sizeof cases / sizeof cases[0]);
    assert_int_equal(stats.taken, 0);
}

/* Until the order is over, at most 10 s. */
static json_t *
run(const char *id)
{
    struct ef_time end = ef_time_add_ms(ef_time_mono(), 10000);
    json_t *shown = prober_orders_show(orders, id);
    while (!strcmp(member(shown, "state"), "running") && ef_time_before(ef_time_mono(), end)) {
        json_decref(shown);
        event_base_loop(base, EVLOOP_ONCE);
        shown = prober_orders_show(orders, id);
    }
    return shown;
}

static void
all_probes_of_an_order_go_out(void **state)
{
    struct ef_error err = EF_ERROR_INIT;
    json_t *shown;
    struct ef_time start = ef_time_mono();
    assert_int_equal(add("{" PACKET ",\"id\":\"C0FFEE\",\"count\":100,\"interval_ms\":1}", &shown, &err), 0);
    assert_string_equal(member(shown, "id"), "0000000000c0ffee");
    assert_string_equal(member(shown, "state"), "running");
    json_decref(shown);
    shown = run("c0ffee");
    assert_string_equal(member(shown, "state"), "done");
    assert_int_equal(json_integer_value(json_object_get(shown, "sent")), 100);
    assert_int_equal(json_integer_value(json_object_get(shown, "failed")), 0);
    assert_true(ef_time_diff_ns(ef_time_mono(), start) >= 99 * EF_NS_PER_MS); /* Not faster than asked for. */
    json_decref(shown);
    assert_int_equal(add("{" PACKET ",\"id\":\"c0ffee\"}", &shown, &err), -EEXIST);
    assert_string_equal(err.text, "there are probes 0000000000c0ffee already");
}

static void
limits_hold_for_all_together(void **state)
{
    struct ef_error err = EF_ERROR_INIT;
    json_t *first, *second, *list;
    assert_int_equal(add("{" PACKET ",\"id\":\"1\",\"count\":500,\"interval_ms\":2}", &first, &err), 0);
    assert_int_equal(add("{" PACKET ",\"id\":\"2\",\"count\":500,\"interval_ms\":1}", &second, &err), -EBUSY);
    assert_string_equal(err.text, "1500 probes a second with those that run, more than the 1000 of --rate-limit");
    assert_int_equal(prober_orders_stop(orders, "1"), 0);
    assert_int_equal(prober_orders_stop(orders, "3"), -ENOENT);
    assert_int_equal(prober_orders_stop(orders, "no id"), -ENOENT);
    assert_int_equal(add("{" PACKET ",\"id\":\"2\",\"count\":5,\"interval_ms\":0}", &second, &err), 0);
    json_decref(first);
    json_decref(second);
    json_decref(run("2"));
    list = prober_orders_list(orders);
    assert_int_equal(json_array_size(list), 2);
    assert_string_equal(member(json_array_get(list, 0), "state"), "stopped");
    assert_string_equal(member(json_array_get(list, 1), "state"), "done");
    json_decref(list);
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_wrong_is_said),
        TEST(all_probes_of_an_order_go_out),
        TEST(limits_hold_for_all_together),
    };
    return cmocka_run_group_tests_name("prober/orders", tests, NULL, NULL);
}
