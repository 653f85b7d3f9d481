/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of asking peers for their status: one that says nothing holds a poll up,
 * which ends with its owner, too; nothing is left of it then (the sanitizers look). */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <event2/event.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "controller/peer_poll.h"

enum { PATIENCE_S = 30, MAX_CLIENTS = 8 };

/* A peer that takes connections and never says anything, and one that nobody listens for. */
struct world {
    struct event_base *base;
    struct evconnlistener *listener;
    int clients[MAX_CLIENTS];
    int n_clients, n_done;
    int wanted_clients;
    bool is_late;
    char url[60];
    struct peer analyzers[1], reshufflers[1];
    struct configuration configuration;
    struct peer_polls *polls;
    json_t *analyzers_seen, *reshufflers_seen;
};

static void
on_client(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *from, int len, void *ctx)
{
    struct world *w = ctx;
    assert_true(w->n_clients < MAX_CLIENTS);
    w->clients[w->n_clients++] = fd;
    if (w->n_clients == w->wanted_clients) {
        event_base_loopbreak(w->base);
    }
}

static void
on_late(evutil_socket_t fd, short what, void *arg)
{
    struct world *w = arg;
    w->is_late = true;
    event_base_loopbreak(w->base);
}

static void
on_done(void *ctx, void *request, json_t *analyzers, json_t *reshufflers)
{
    struct world *w = ctx;
    assert_ptr_equal(request, &w->n_done);
    w->n_done++;
    json_decref(w->analyzers_seen);
    json_decref(w->reshufflers_seen);
    w->analyzers_seen = json_deep_copy(analyzers);
    w->reshufflers_seen = json_deep_copy(reshufflers);
    event_base_loopbreak(w->base);
}

static void
begin(struct world *w)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof address;
    *w = (struct world){.base = event_base_new()};
    w->listener = evconnlistener_new_bind(w->base, on_client, w, LEV_OPT_CLOSE_ON_FREE, MAX_CLIENTS,
                                          (struct sockaddr *) &address, sizeof address);
    assert_non_null(w->listener);
    assert_int_equal(getsockname(evconnlistener_get_fd(w->listener), (struct sockaddr *) &address, &len), 0);
    snprintf(w->url, sizeof w->url, "http://127.0.0.1:%d", ntohs(address.sin_port));
    w->analyzers[0] = (struct peer){.name = "silent", .url = w->url};
    w->reshufflers[0] = (struct peer){.name = "nobody", .url = "unix:/nonexistent/reshuffler.sock"};
    w->configuration = (struct configuration){
        .analyzers = w->analyzers, .n_analyzers = 1, .reshufflers = w->reshufflers, .n_reshufflers = 1};
    w->polls = peer_polls_create(w->base, &w->configuration, w);
}

static void
end(struct world *w)
{
    peer_polls_destroy(w->polls);
    for (int i = 0; i < w->n_clients; i++) {
        close(w->clients[i]);
    }
    evconnlistener_free(w->listener);
    event_base_free(w->base);
    json_decref(w->analyzers_seen);
    json_decref(w->reshufflers_seen);
    w->analyzers_seen = w->reshufflers_seen = NULL;
}

/* Until a callback breaks the loop; fails when none does. */
static void
dispatch(struct world *w, const char *what)
{
    struct event *late = event_new(w->base, -1, 0, on_late, w);
    assert_int_equal(event_add(late, &(struct timeval){.tv_sec = PATIENCE_S}), 0);
    event_base_dispatch(w->base);
    event_free(late);
    if (w->is_late) {
        fail_msg("waited %d s in vain for %s", PATIENCE_S, what);
    }
}

static const char *
text_of(const json_t *list, const char *key)
{
    const char *text = json_string_value(json_object_get(json_array_get(list, 0), key));
    return text ? text : "(none)";
}

static void
those_on_their_way_end_with_their_owner(void **state)
{
    struct world w;
    begin(&w);
    w.wanted_clients = 3;
    for (int i = 0; i < w.wanted_clients; i++) {
        peer_polls_start(w.polls, on_done, &w.n_done);
    }
    dispatch(&w, "three connections");
    assert_int_equal(w.n_done, 0);
    peer_polls_destroy(w.polls);
    w.polls = NULL;
    assert_int_equal(w.n_done, 3);
    assert_string_equal(text_of(w.analyzers_seen, "state"), "down");
    assert_string_equal(text_of(w.analyzers_seen, "error"), "was not waited for");
    event_base_loop(w.base, EVLOOP_NONBLOCK);
    assert_int_equal(w.n_done, 3);
    end(&w);
}

static void
one_that_has_just_begun_ends_with_its_owner(void **state)
{
    struct world w;
    begin(&w);
    peer_polls_start(w.polls, on_done, &w.n_done);
    end(&w);
    assert_int_equal(w.n_done, 1);
}

static void
who_says_nothing_is_down(void **state)
{
    struct world w;
    begin(&w);
    peer_polls_start(w.polls, on_done, &w.n_done);
    dispatch(&w, "the end of the poll");
    assert_int_equal(w.n_done, 1);
    assert_string_equal(text_of(w.analyzers_seen, "name"), "silent");
    assert_string_equal(text_of(w.analyzers_seen, "state"), "down");
    assert_string_equal(text_of(w.reshufflers_seen, "name"), "nobody");
    assert_string_equal(text_of(w.reshufflers_seen, "state"), "down");
    end(&w);
}

static void
nobody_to_ask_is_an_answer(void **state)
{
    struct world w;
    begin(&w);
    w.configuration.n_analyzers = w.configuration.n_reshufflers = 0;
    peer_polls_start(w.polls, on_done, &w.n_done);
    assert_int_equal(w.n_done, 0); /* From the event loop only. */
    dispatch(&w, "the end of the poll");
    assert_int_equal(json_array_size(w.analyzers_seen) + json_array_size(w.reshufflers_seen), 0);
    end(&w);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_on_their_way_end_with_their_owner),
        cmocka_unit_test(one_that_has_just_begun_ends_with_its_owner),
        cmocka_unit_test(who_says_nothing_is_down),
        cmocka_unit_test(nobody_to_ask_is_an_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
