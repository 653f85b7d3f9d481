/* SPDX-License-Identifier: Apache-2.0 */
/* Analyzers for the reshufflers, reshufflers for the switches; see steering.h. */
#include <config.h>

#include "controller/steering.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "controller/controller.h"
#include "controller/fan_out.h"
#include "controller/shedding.h"

enum { EVERY_S = 1 };

/* A reshuffler. */
struct steered {
    struct steering *steering;
    const struct peer *peer;
    struct fan_out *asking, *telling;
    char last_error[300];
};

struct steering {
    struct controller *controller;
    struct event *timer;
    size_t n;
    struct steered *reshufflers;
    struct shedding_state *states; /* As many. */
};

/* --- Analyzers ------------------------------------------------------------- */

static json_t *
find_by_name(const json_t *list, const char *name)
{
    size_t i;
    json_t *one;
    json_array_foreach((json_t *) list, i, one)
    {
        const char *its = json_string_value(json_object_get(one, "name"));
        if (its && !strcmp(its, name)) {
            return one;
        }
    }
    return NULL;
}

/* What a reshuffler should have, with "draining" as `theirs` has it. NULL if the
 * configuration does not say where the analyzers are. */
static json_t *
wanted_analyzers(const struct configuration *c, const json_t *theirs)
{
    json_t *wanted = NULL;
    for (size_t i = 0; i < c->n_analyzers; i++) {
        const struct peer *a = &c->analyzers[i];
        if (!a->address) {
            continue;
        }
        const json_t *drains = json_object_get(find_by_name(theirs, a->name), "draining");
        wanted = wanted ? wanted : json_array();
        json_array_append_new(wanted, json_pack("{s:s, s:s, s:s?, s:I, s:s, s:b}", "name", a->name, "address",
                                                a->address, "address6", a->address6, "weight", (json_int_t) a->weight,
                                                "url", a->url, "draining", json_is_true(drains)));
    }
    return wanted;
}

/* True if `theirs` has all that `wanted` has, and no more analyzers. */
static bool
has_all(const json_t *theirs, const json_t *wanted)
{
    size_t i;
    json_t *one, *value;
    const char *key;
    if (json_array_size(theirs) != json_array_size(wanted)) {
        return false;
    }
    json_array_foreach((json_t *) wanted, i, one)
    {
        json_t *its = find_by_name(theirs, json_string_value(json_object_get(one, "name")));
        json_object_foreach(one, key, value)
        {
            if (!json_equal(json_object_get(its, key), value)) {
                return false;
            }
        }
    }
    return true;
}

static void
on_told(void *ctx, const struct fan_out_answer answers[], size_t n)
{
    struct steered *r = ctx;
    r->telling = NULL;
    for (size_t i = 0; i < n; i++) { /* One. */
        const char *error = answers[i].error;
        if (!*error) {
            ef_log_info("steering", "%s has the analyzers of the configuration now", r->peer->name);
        } else if (strcmp(error, r->last_error)) {
            ef_log_warn("steering", "%s does not take the analyzers: %s", r->peer->name, error);
        }
        memcpy(r->last_error, error, sizeof r->last_error);
    }
}

static void
tell_analyzers(struct steered *r, const json_t *status)
{
    struct controller *c = r->steering->controller;
    const json_t *theirs = json_object_get(status, "analyzers");
    json_t *wanted = wanted_analyzers(&c->configuration, theirs);
    if (wanted && !r->telling && json_is_array(theirs) && !has_all(theirs, wanted)) {
        json_t *body = json_pack("{s:O}", "analyzers", wanted);
        struct fan_out_request request = {
            .method = "PUT", .target = "/v1/analyzers", .program = "ef-reshuffler", .body = body};
        r->telling = fan_out_start(c->base, r->peer, 1, &request, on_told, r);
        json_decref(body);
    }
    json_decref(wanted);
}

/* --- Switches --------------------------------------------------------------- */

static void
move_switches(struct steering *s)
{
    struct controller *c = s->controller;
    for (size_t i = 0; i < c->n_switches; i++) {
        json_t *targets = shedding_targets(c->configuration.everflow.targets, s->states, s->n, i);
        managed_switch_set_targets(c->switches[i], targets);
        json_decref(targets);
    }
}

static void
on_asked(void *ctx, const struct fan_out_answer answers[], size_t n)
{
    struct steered *r = ctx;
    struct steering *s = r->steering;
    struct shedding_state *state = &s->states[r - s->reshufflers];
    r->asking = NULL;
    bool has_answered = n && !*answers[0].error;
    bool is_congested = has_answered && json_is_true(json_object_get(answers[0].body, "congested"));
    if (state->vips && shedding_note(state, has_answered, is_congested, ef_time_mono())) {
        ef_log_warn("steering", "%s is %s: %u of 4 parts of the switches that send to it send elsewhere", r->peer->name,
                    !has_answered  ? "down"
                    : is_congested ? "congested"
                                   : "well",
                    state->n_shed);
        move_switches(s);
    }
    if (has_answered) {
        tell_analyzers(r, answers[0].body);
    }
}

static void
on_time(evutil_socket_t fd, short what, void *arg)
{
    struct steering *s = arg;
    struct fan_out_request request = {.method = "GET", .target = "/v1/status", .program = "ef-reshuffler"};
    for (size_t i = 0; i < s->n; i++) {
        struct steered *r = &s->reshufflers[i];
        if (!r->asking) {
            r->asking = fan_out_start(s->controller->base, r->peer, 1, &request, on_asked, r);
        }
    }
}

/* --- Life --------------------------------------------------------------------- */

struct steering *
steering_start(struct controller *controller)
{
    static const struct timeval every = {.tv_sec = EVERY_S};
    const struct configuration *c = &controller->configuration;
    struct steering *s = calloc(1, sizeof *s);
    if (!s || !(s->reshufflers = calloc(c->n_reshufflers + 1, sizeof *s->reshufflers)) ||
        !(s->states = calloc(c->n_reshufflers + 1, sizeof *s->states)) ||
        !(s->timer = event_new(controller->base, -1, EV_PERSIST, on_time, s))) {
        abort(); /* Control path at start-up. */
    }
    s->controller = controller;
    s->n = c->n_reshufflers;
    for (size_t i = 0; i < s->n; i++) {
        s->reshufflers[i].steering = s;
        s->reshufflers[i].peer = &c->reshufflers[i];
        s->states[i].vips = c->reshufflers[i].vips;
    }
    event_add(s->timer, &every);
    event_active(s->timer, EV_TIMEOUT, 0);
    return s;
}

void
steering_stop(struct steering *s)
{
    if (!s) {
        return;
    }
    for (size_t i = 0; i < s->n; i++) {
        fan_out_cancel(s->reshufflers[i].asking);
        fan_out_cancel(s->reshufflers[i].telling);
    }
    event_free(s->timer);
    free(s->reshufflers);
    free(s->states);
    free(s);
}
