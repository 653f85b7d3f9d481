/* SPDX-License-Identifier: Apache-2.0 */
/* The health of analyzers; see watch.h. */
#include <config.h>

#include "reshuffler/watch.h"

#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "net/http_client.h"
#include "reshuffler/reach.h"

enum { MAX_ANSWER_BYTES = 16384 };

/* One analyzer, by its index. */
struct watched {
    struct ef_watch *watch;
    unsigned i;
    char url[EF_MEMBER_URL_BYTES]; /* Whom `health` is about; "": nobody. */
    char name[EF_MEMBER_NAME_BYTES];
    struct ef_http_call *call;
    struct ef_health health;
    struct ef_reach reach;
    uint64_t n_reports; /* That it had been sent when it was asked. */
    double load;
    uint64_t lost;
    char error[160];
};

struct ef_watch {
    struct event_base *base;
    struct ef_members *members;
    struct event *tick;
    const struct ef_tls *tls;
    ef_watch_reports *reports; /* NULL: not compared. */
    void *reports_ctx;
    char target[64]; /* What is asked for. */
    bool was_everyone_away;
    struct watched watched[EF_PLAN_MAX_ANALYZERS];
};

static bool
is_everyone_away(const struct ef_plan *plan)
{
    unsigned n = 0, n_up = 0;
    for (unsigned i = 0; i < plan->n_analyzers; i++) {
        n += plan->states[i] != EF_ANALYZER_NONE;
        n_up += plan->states[i] == EF_ANALYZER_UP;
    }
    return n && !n_up;
}

/* Says it once when it begins and once when it ends. */
static void
note_alarm(struct ef_watch *w)
{
    bool is_now = is_everyone_away(ef_members_plan(w->members));
    if (is_now && !w->was_everyone_away) {
        ef_log_error("watch", "ALL analyzers are down or draining: every copy is discarded until one is back");
    } else if (!is_now && w->was_everyone_away) {
        ef_log_info("watch", "copies have an analyzer to go to again");
    }
    w->was_everyone_away = is_now;
}

static void
put_in_force(struct watched *w)
{
    if (ef_members_set_down(w->watch->members, w->i, w->health.is_down)) {
        ef_log_error("watch", "out of memory: analyzer %s stays as it was", w->name);
        return;
    }
    if (w->health.is_down) {
        ef_log_warn("watch", "analyzer %s is down: %s; its copies go to the others", w->name, w->error);
    } else {
        ef_log_info("watch", "analyzer %s is up again and gets its copies", w->name);
    }
}

static void
note(struct watched *w, bool is_good)
{
    if (ef_health_note(&w->health, is_good, ef_time_mono())) {
        put_in_force(w);
    }
}

/* Whether our reports come; an analyzer that does not say is believed. */
static bool
is_reached(struct watched *w, const json_t *report)
{
    const json_t *arrived = json_object_get(report, "reports");
    return !w->watch->reports || !json_is_integer(arrived) ||
           ef_reach_note(&w->reach, w->n_reports, (uint64_t) json_integer_value(arrived), w->lost, ef_time_mono());
}

static void
read_report(struct watched *w, const json_t *report)
{
    const json_t *load = json_object_get(report, "load"), *lost = json_object_get(report, "copies_lost");
    const char *why = json_string_value(json_object_get(report, "why"));
    bool is_ready = json_is_true(json_object_get(report, "ready"));
    w->load = json_is_number(load) ? json_number_value(load) : -1;
    w->lost = json_integer_value(lost) > 0 ? (uint64_t) json_integer_value(lost) : 0;
    bool is_good = is_reached(w, report) && is_ready;
    if (!is_ready) {
        snprintf(w->error, sizeof w->error, "%s", why ? why : "it does not say that it is ready");
    } else {
        snprintf(w->error, sizeof w->error, "%s", is_good ? "" : "it answers, but nothing that we send it arrives");
    }
    note(w, is_good);
}

static void
on_answer(void *ctx, const struct ef_http_result *result)
{
    struct watched *w = ctx;
    json_t *report = result->status == 200 ? json_loadb(result->body, result->body_len, 0, NULL) : NULL;
    w->call = NULL;
    if (json_is_object(report)) {
        read_report(w, report);
    } else if (result->status == 200) {
        snprintf(w->error, sizeof w->error, "what it answers is not JSON");
        note(w, false);
    } else {
        ef_http_result_explain(result, w->error, sizeof w->error);
        note(w, false);
    }
    json_decref(report);
}

static void
ask(struct watched *w)
{
    struct ef_error err = EF_ERROR_INIT;
    struct ef_http_call_spec spec = {
        .server = w->url,
        .tls = w->watch->tls,
        .target = w->watch->target,
        .program = "ef-analyzer",
        .timeout_ms = EF_HEALTH_TIMEOUT_MS,
        .deadline_ms = EF_HEALTH_TIMEOUT_MS,
        .max_bytes = MAX_ANSWER_BYTES,
        .on_done = on_answer,
        .ctx = w,
    };
    w->n_reports = w->watch->reports ? w->watch->reports(w->watch->reports_ctx) : 0;
    if (ef_http_call_start(w->watch->base, &spec, &w->call, &err)) {
        snprintf(w->error, sizeof w->error, "%.150s", err.text);
        w->call = NULL;
        note(w, false);
    }
}

/* Whoever has the index now is new, or is asked elsewhere: nothing is known. */
static void
begin(struct watched *w, const char *name, const char *url)
{
    ef_http_call_cancel(w->call);
    w->call = NULL;
    w->health = (struct ef_health){0};
    w->reach = (struct ef_reach){0};
    w->load = -1;
    w->lost = 0;
    w->error[0] = '\0';
    snprintf(w->name, sizeof w->name, "%s", name);
    snprintf(w->url, sizeof w->url, "%s", url);
}

static void
attend(struct watched *w, const struct ef_plan *plan)
{
    bool is_there = w->i < plan->n_analyzers && plan->states[w->i] != EF_ANALYZER_NONE;
    const char *name = is_there ? plan->analyzers[w->i].name : "", *url = is_there ? plan->analyzers[w->i].url : "";
    if (strcmp(w->name, name) || strcmp(w->url, url)) {
        begin(w, name, url);
    }
    if (is_there && w->health.is_down != w->watch->members->is_down[w->i]) {
        put_in_force(w);
    }
    if (*w->url && !w->call) {
        ask(w);
    }
}

static void
on_tick(evutil_socket_t fd, short what, void *ctx)
{
    struct ef_watch *w = ctx;
    for (unsigned i = 0; i < EF_PLAN_MAX_ANALYZERS; i++) {
        attend(&w->watched[i], ef_members_plan(w->members));
    }
    ef_plan_cell_reclaim(&w->members->cell);
    note_alarm(w);
}

int
ef_watch_create(struct event_base *base, struct ef_members *members, struct ef_watch **out, struct ef_error *err)
{
    static const struct timeval every = {.tv_usec = EF_HEALTH_ASK_EVERY_MS * 1000};
    struct ef_watch *w = calloc(1, sizeof *w);
    if (!w) {
        return ef_error_set(err, -ENOMEM, "out of memory");
    }
    w->base = base;
    w->members = members;
    snprintf(w->target, sizeof w->target, "/v1/health");
    for (unsigned i = 0; i < EF_PLAN_MAX_ANALYZERS; i++) {
        w->watched[i].watch = w;
        w->watched[i].i = i;
        w->watched[i].load = -1;
    }
    w->tick = event_new(base, -1, EV_PERSIST, on_tick, w);
    if (!w->tick || event_add(w->tick, &every)) {
        ef_watch_destroy(w);
        return ef_error_set(err, -ENOMEM, "out of memory");
    }
    *out = w;
    return 0;
}

void
ef_watch_compare_reports(struct ef_watch *w, uint64_t sender, ef_watch_reports *reports, void *ctx)
{
    snprintf(w->target, sizeof w->target, "/v1/health?reshuffler=%016" PRIx64, sender);
    w->reports = reports;
    w->reports_ctx = ctx;
}

void
ef_watch_use_tls(struct ef_watch *w, const struct ef_tls *tls)
{
    w->tls = tls;
}

void
ef_watch_destroy(struct ef_watch *w)
{
    if (!w) {
        return;
    }
    for (unsigned i = 0; i < EF_PLAN_MAX_ANALYZERS; i++) {
        ef_http_call_cancel(w->watched[i].call);
    }
    if (w->tick) {
        event_free(w->tick);
    }
    free(w);
}

const struct ef_health *
ef_watch_health(const struct ef_watch *watch, unsigned i)
{
    return *watch->watched[i].url ? &watch->watched[i].health : NULL;
}

const char *
ef_watch_error(const struct ef_watch *watch, unsigned i)
{
    return watch->watched[i].error;
}

double
ef_watch_load(const struct ef_watch *watch, unsigned i)
{
    return watch->watched[i].load;
}

uint64_t
ef_watch_lost(const struct ef_watch *watch, unsigned i)
{
    return watch->watched[i].lost;
}
