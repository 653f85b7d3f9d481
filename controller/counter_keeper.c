/* SPDX-License-Identifier: Apache-2.0 */
/* Counters that analyzers should have; see counter_keeper.h. */
#include <config.h>

#include "controller/counter_keeper.h"

#include <event2/event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "controller/controller.h"
#include "controller/fan_out.h"
#include "controller/text.h"

enum { LOOK_INTERVAL_S = 2, MAX_FORGOTTEN = 1000 };

struct counter_keeper {
    struct controller *controller;
    struct event *timer;  /* Pending unless `call` is there. */
    struct fan_out *call; /* The question that is open, or NULL. */
    json_t *forgotten;    /* {name: true} */
    json_t *work;         /* What is to be put right: [{"analyzer": index, "name", "document" or null}]. */
};

static void work_on(struct counter_keeper *k);

/* --- Finding what is wrong ------------------------------------------------------ */

static bool
has_counter(const json_t *counters, const char *name)
{
    size_t i;
    json_t *counter;
    json_array_foreach((json_t *) counters, i, counter)
    {
        const char *have = json_string_value(json_object_get(counter, "name"));
        if (have && !strcmp(have, name)) {
            return true;
        }
    }
    return false;
}

static void
add_work(struct counter_keeper *k, size_t analyzer, const char *name, json_t *document)
{
    json_array_append_new(
        k->work, json_pack("{s:I, s:s, s:O?}", "analyzer", (json_int_t) analyzer, "name", name, "document", document));
}

static void
compare(struct counter_keeper *k, size_t analyzer, const json_t *counters)
{
    const char *name;
    json_t *value;
    json_object_foreach(state_rows(k->controller->state, STATE_COUNTER), name, value)
    {
        if (!has_counter(counters, name)) {
            add_work(k, analyzer, name, value);
        }
    }
    json_object_foreach(k->forgotten, name, value)
    {
        if (has_counter(counters, name) && !state_get(k->controller->state, STATE_COUNTER, name)) {
            add_work(k, analyzer, name, NULL);
        }
    }
}

/* What no analyzer has any more need not be remembered. */
static void
drop_forgotten(struct counter_keeper *k, const struct fan_out_answer answers[], size_t n)
{
    const char *name;
    json_t *value;
    void *next;
    json_object_foreach_safe(k->forgotten, next, name, value)
    {
        bool may_be_there = false;
        for (size_t i = 0; i < n; i++) {
            may_be_there |= answers[i].status != 200 || has_counter(json_object_get(answers[i].body, "counters"), name);
        }
        if (!may_be_there) {
            json_object_del(k->forgotten, name);
        }
    }
}

static void
on_lists(void *ctx, const struct fan_out_answer answers[], size_t n)
{
    struct counter_keeper *k = ctx;
    k->call = NULL;
    for (size_t i = 0; i < n; i++) {
        json_t *counters = json_object_get(answers[i].body, "counters");
        if (answers[i].status == 200 && json_is_array(counters)) {
            compare(k, i, counters);
        }
    }
    drop_forgotten(k, answers, n);
    work_on(k);
}

static void
look_again_later(struct counter_keeper *k)
{
    static const struct timeval interval = {.tv_sec = LOOK_INTERVAL_S};
    event_add(k->timer, &interval);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct counter_keeper *k = arg;
    struct controller *c = k->controller;
    static const struct fan_out_request request = {.method = "GET", .target = "/v1/counters", .program = "ef-analyzer"};
    bool is_needed = json_object_size(state_rows(c->state, STATE_COUNTER)) || json_object_size(k->forgotten);
    if (is_needed && state_is_active(c->state)) {
        k->call =
            fan_out_start(c->base, c->configuration.analyzers, c->configuration.n_analyzers, &request, on_lists, k);
    } else {
        look_again_later(k);
    }
}

/* --- Putting it right ----------------------------------------------------------- */

static void
on_worked(void *ctx, const struct fan_out_answer answers[], size_t n)
{
    struct counter_keeper *k = ctx;
    json_t *done = json_array_get(k->work, 0);
    char name[100];
    k->call = NULL;
    snprintf(name, sizeof name, "%.90s", json_string_value(json_object_get(done, "name")));
    text_make_printable(name);
    if (*answers[0].error) {
        ef_log_warn("counters", "%s: counter '%s': %s", answers[0].peer->name, name, answers[0].error);
    } else {
        ef_log_info("counters", "%s: counter '%s' is %s", answers[0].peer->name, name,
                    json_is_object(json_object_get(done, "document")) ? "installed again" : "removed");
    }
    json_array_remove(k->work, 0);
    work_on(k);
}

/* Starts the first piece of work, or rests. */
static void
work_on(struct counter_keeper *k)
{
    json_t *first = json_array_get(k->work, 0);
    if (!first || !state_is_active(k->controller->state)) {
        json_array_clear(k->work);
        look_again_later(k);
        return;
    }
    json_t *document = json_object_get(first, "document");
    bool adds = json_is_object(document);
    char *target = NULL;
    if (asprintf(&target, "/v1/counters%s%s", adds ? "" : "/",
                 adds ? "" : json_string_value(json_object_get(first, "name"))) < 0) {
        abort(); /* Control path. */
    }
    struct fan_out_request request = {
        .method = adds ? "POST" : "DELETE", .target = target, .program = "ef-analyzer", .body = adds ? document : NULL};
    const struct peer *peer =
        &k->controller->configuration.analyzers[json_integer_value(json_object_get(first, "analyzer"))];
    k->call = fan_out_start(k->controller->base, peer, 1, &request, on_worked, k);
    free(target);
}

void
counter_keeper_forget(struct counter_keeper *k, const char *name)
{
    if (json_object_size(k->forgotten) < MAX_FORGOTTEN) {
        json_object_set_new(k->forgotten, name, json_true());
    }
}

/* --- Life ----------------------------------------------------------------------- */

/* One that is there again is not forgotten any more. */
static void
on_counter_changed(void *ctx, const char *name, json_t *document)
{
    struct counter_keeper *k = ctx;
    if (document) {
        json_object_del(k->forgotten, name);
    }
}

struct counter_keeper *
counter_keeper_create(struct controller *c)
{
    struct counter_keeper *k = calloc(1, sizeof *k);
    if (!k || !(k->timer = evtimer_new(c->base, on_timer, k))) {
        abort(); /* Control path, at the start. */
    }
    k->controller = c;
    k->forgotten = json_object();
    k->work = json_array();
    state_watch(c->state, STATE_COUNTER, on_counter_changed, k);
    look_again_later(k);
    return k;
}

void
counter_keeper_destroy(struct counter_keeper *k)
{
    if (k) {
        fan_out_cancel(k->call);
        event_free(k->timer);
        json_decref(k->forgotten);
        json_decref(k->work);
        free(k);
    }
}
