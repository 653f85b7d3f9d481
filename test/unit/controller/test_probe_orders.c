/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of controller/probe_orders: ending an order, with a prober that hears it and
 * with one that does not answer before the controller ends. That nothing
 * is left behind then is for the address sanitizer to say. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/probe_orders.h"
#include "controller/state.h"
#include "net/http_pool.h"
#include "net/http_server.h"

enum { PATIENCE_S = 60 };

struct fixture {
    struct event_base *base;
    struct ef_http_server *server; /* The prober. */
    struct state_store *state;
    struct peer prober;
    struct configuration configuration;
    struct probe_orders *orders;
    char url[160];
    unsigned n_told, n_ended;
    char ended[32];
};

static void
take_order(struct ef_http_request *req, void *ctx)
{
    struct fixture *f = ctx;
    f->n_told++;
    ef_http_reply_json(req, 200, json_pack("{s:s, s:i}", "state", "running", "sent", 0));
}

static void
end_order(struct ef_http_request *req, void *ctx)
{
    struct fixture *f = ctx;
    f->n_ended++;
    snprintf(f->ended, sizeof f->ended, "%s", ef_http_last_segment(req));
    ef_http_reply_json(req, 200, json_object());
}

static const struct ef_http_route routes[] = {
    {"POST", "/v1/probes", NULL, take_order},
    {"GET", "/v1/probes/*", NULL, take_order},
    {"DELETE", "/v1/probes/*", NULL, end_order},
    {0},
};

static int
setup(void **state)
{
    static const struct state_config in_memory = {0};
    struct fixture *f = *state = calloc(1, sizeof *f);
    f->base = event_base_new();
    if (ef_http_server_create(f->base, "127.0.0.1:0", NULL, &f->server, NULL) ||
        state_create(f->base, &in_memory, &f->state, NULL)) {
        return -1;
    }
    ef_http_server_add_routes(f->server, routes, f);
    snprintf(f->url, sizeof f->url, "http://%s", ef_http_server_address(f->server));
    f->prober = (struct peer){.name = "prober1", .url = f->url, .pool = ef_http_pool_create()};
    f->configuration.probers = &f->prober;
    f->configuration.n_probers = 1;
    f->orders = probe_orders_create(f->base, &f->configuration, f->state);
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;
    probe_orders_destroy(f->orders);
    state_destroy(f->state);
    ef_http_pool_destroy(f->prober.pool);
    ef_http_server_destroy(f->server);
    event_base_free(f->base);
    free(f);
    libevent_global_shutdown();
    return 0;
}

static struct probe_order *
add_order(struct fixture *f)
{
    struct probe_order *order;
    json_t *document = json_pack("{s:{s:s}, s:i}", "packet", "dst", "10.1.0.2", "count", 100);
    assert_int_equal(probe_orders_add(f->orders, document, &order, NULL), 0);
    json_decref(document);
    return order;
}

static void
give_up(evutil_socket_t fd, short what, void *arg)
{
    fail_msg("the prober heard nothing in %d s", PATIENCE_S);
}

static void
wait_for(struct fixture *f, const unsigned *number, unsigned value)
{
    struct timeval patience = {.tv_sec = PATIENCE_S};
    struct event *late = evtimer_new(f->base, give_up, NULL);
    event_add(late, &patience);
    while (*number < value) {
        event_base_loop(f->base, EVLOOP_ONCE);
    }
    event_free(late);
}

static void
the_prober_is_told_the_end(void **state)
{
    struct fixture *f = *state;
    struct probe_order *order = add_order(f);
    wait_for(f, &f->n_told, 1);
    probe_order_stop(order);
    assert_true(probe_order_is_over(order));
    wait_for(f, &f->n_ended, 1);
    assert_non_null(probe_orders_find(f->orders, f->ended));
    probe_order_stop(order); /* It is over. */
    probe_order_forget(order);
}

static void
nothing_is_left_when_all_ends_at_once(void **state)
{
    struct fixture *f = *state;
    struct probe_order *orders[3] = {add_order(f), add_order(f), add_order(f)};
    wait_for(f, &f->n_told, 3);
    for (int i = 0; i < 3; i++) {
        probe_order_stop(orders[i]);
    }
    probe_order_forget(orders[1]);
    assert_int_equal(f->n_ended, 0); /* Their ends are on their way in teardown(). */
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(the_prober_is_told_the_end),
        TEST(nothing_is_left_when_all_ends_at_once),
    };
    signal(SIGPIPE, SIG_IGN); /* As every daemon does. */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
