/* SPDX-License-Identifier: Apache-2.0 */
/* Orders and the probers that carry them out; see probe_orders.h. */
#include <config.h>

#include "controller/probe_orders.h"

#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/json.h"
#include "base/log.h"
#include "controller/document.h"
#include "controller/probe_orders_private.h"
#include "controller/text.h"
#include "net/http_client.h"

enum {
    MAX_OPEN = 256,
    MAX_KEPT = 1000,
    RETRY_MS = 1000,
    WATCH_MS = 200,
    ANSWER_MS = 2000,
    SILENCE_S = 60, /* After the end that was to be expected, a prober that does not say so is given up. */
    MAX_EXPIRES_S = 86400,
    DEFAULT_EXPIRES_S = 30,
};

const char *const probe_order_state_names[] = {"queued", "running", "done", "stopped", "refused", "expired", NULL};

/* --- States --------------------------------------------------------------- */

static bool
is_over(const struct probe_order *o)
{
    return o->state >= DONE;
}

static void
end(struct probe_order *o, enum probe_order_state state)
{
    o->state = state;
    o->ended = ef_time_real();
    ef_http_call_cancel(o->call);
    event_free(o->timer);
    o->call = NULL;
    o->timer = NULL;
    o->orders->n_open--;
    probe_order_changed(o);
    ef_log_info("probes", "%s: %s, %" PRIu64 " of %" PRIu64 " sent by %s%s%s", o->id, probe_order_state_names[state],
                o->sent, o->count, o->prober->name, *o->error ? ": " : "", o->error);
}

void
probe_order_again_in(struct probe_order *o, int ms)
{
    struct timeval tv = {ms / 1000, ms % 1000 * 1000};
    evtimer_add(o->timer, &tv);
}

static void
note_error(struct probe_order *o, const struct ef_http_result *http)
{
    ef_http_result_explain(http, o->error, sizeof o->error);
    text_make_printable(o->error);
}

/* What the prober says of the order. */
static void
take_numbers(struct probe_order *o, const struct ef_http_result *http)
{
    json_t *said = json_loadb(http->body, http->body_len, 0, NULL);
    const char *state = json_string_value(json_object_get(said, "state"));
    const char *error = json_string_value(json_object_get(said, "error"));
    json_int_t sent = json_integer_value(json_object_get(said, "sent")),
               failed = json_integer_value(json_object_get(said, "failed"));
    o->sent = sent > 0 ? (uint64_t) sent : 0;
    o->failed = failed > 0 ? (uint64_t) failed : 0;
    snprintf(o->error, sizeof o->error, "%s", error ? error : "");
    text_make_printable(o->error);
    bool done = state && !strcmp(state, "done"), stopped = state && !strcmp(state, "stopped");
    json_decref(said);
    if (done || stopped) {
        end(o, done ? DONE : STOPPED);
    } else {
        probe_order_again_in(o, WATCH_MS);
    }
}

static void
start_running(struct probe_order *o)
{
    o->state = RUNNING;
    o->error[0] = '\0';
    o->deadline = ef_time_add_ms(ef_time_mono(), (int64_t) ((double) o->count * o->interval_ms) + SILENCE_S * 1000);
    probe_order_changed(o);
    probe_order_again_in(o, WATCH_MS / 4);
}

/* A refusal says nothing new if asked again; for the rest, who knows. */
static bool
is_refusal(const struct ef_http_result *http)
{
    return http->status >= 400 && http->status < 500 && http->status != 409;
}

static bool
says(const struct ef_http_result *http, const char *code)
{
    return http->body && strstr(http->body, code);
}

static void
on_told(void *ctx, const struct ef_http_result *http)
{
    struct probe_order *o = ctx;
    o->call = NULL;
    if (http->status == 201 || (http->status == 409 && says(http, "\"exists\""))) {
        start_running(o); /* It exists if only the answer was lost. */
        return;
    }
    note_error(o, http);
    if (is_refusal(http)) {
        end(o, REFUSED);
    } else {
        probe_order_again_in(o, RETRY_MS);
    }
}

static void
on_watched(void *ctx, const struct ef_http_result *http)
{
    struct probe_order *o = ctx;
    o->call = NULL;
    if (http->status == 200) {
        take_numbers(o, http);
        return;
    }
    note_error(o, http);
    if (http->status == 404) {
        end(o, STOPPED); /* It began anew and forgot. */
    } else {
        probe_order_again_in(o, RETRY_MS);
    }
}

/* --- Questions ------------------------------------------------------------ */

static void
call(struct probe_order *o, const char *method, const char *target, const char *body,
     void (*on_done)(void *ctx, const struct ef_http_result *http))
{
    struct ef_error err = EF_ERROR_INIT;
    struct ef_http_call_spec spec = {
        .server = o->prober->url,
        .tls = o->prober->tls,
        .pool = o->prober->pool,
        .target = target,
        .method = method,
        .program = "ef-prober",
        .body = body,
        .body_len = body ? strlen(body) : 0,
        .content_type = body ? "application/json" : NULL,
        .timeout_ms = ANSWER_MS,
        .deadline_ms = ANSWER_MS,
        .max_bytes = 1 << 20,
        .on_done = on_done,
        .ctx = o,
    };
    if (ef_http_call_start(o->orders->base, &spec, &o->call, &err)) {
        snprintf(o->error, sizeof o->error, "%.299s", err.text);
        o->call = NULL;
        probe_order_again_in(o, RETRY_MS);
    }
}

static void
tell(struct probe_order *o)
{
    json_t *order = json_pack("{s:s, s:O, s:I, s:f}", "id", o->id, "packet", o->packet, "count", (json_int_t) o->count,
                              "interval_ms", o->interval_ms);
    char *body = json_dumps(order, JSON_COMPACT | EF_JSON_REALS);
    json_decref(order);
    if (!body) {
        abort(); /* Control path. */
    }
    call(o, "POST", "/v1/probes", body, on_told);
    free(body);
}

static void
watch(struct probe_order *o)
{
    char target[64];
    snprintf(target, sizeof target, "/v1/probes/%s", o->id);
    call(o, "GET", target, NULL, on_watched);
}

static void
on_timer(evutil_socket_t fd, short what, void *ctx)
{
    struct probe_order *o = ctx;
    bool late = ef_time_before(o->deadline, ef_time_mono());
    if (!state_is_active(o->orders->state)) {
        probe_order_again_in(o, RETRY_MS);
    } else if (late) {
        end(o, o->state == QUEUED ? EXPIRED : STOPPED);
    } else if (o->state == QUEUED) {
        tell(o);
    } else {
        watch(o);
    }
}

/* --- Ending ---------------------------------------------------------------- */

struct probe_order_farewell {
    LIST_ENTRY(probe_order_farewell) next;
    struct ef_http_call *call;
};

/* Nothing follows from the answer: should it be lost, the prober's limits bound what
 * is sent. */
static void
on_stopped(void *ctx, const struct ef_http_result *http)
{
    struct probe_order_farewell *farewell = ctx;
    LIST_REMOVE(farewell, next);
    free(farewell);
}

static void
tell_to_stop(const struct probe_order *o)
{
    char target[64];
    struct probe_order_farewell *farewell = calloc(1, sizeof *farewell);
    if (!farewell) {
        abort(); /* Control path. */
    }
    snprintf(target, sizeof target, "/v1/probes/%s", o->id);
    struct ef_http_call_spec spec = {
        .server = o->prober->url,
        .tls = o->prober->tls,
        .pool = o->prober->pool,
        .target = target,
        .method = "DELETE",
        .timeout_ms = ANSWER_MS,
        .deadline_ms = ANSWER_MS,
        .on_done = on_stopped,
        .ctx = farewell,
    };
    if (ef_http_call_start(o->orders->base, &spec, &farewell->call, NULL)) {
        free(farewell);
    } else {
        LIST_INSERT_HEAD(&o->orders->farewells, farewell, next);
    }
}

void
probe_order_stop(struct probe_order *o)
{
    if (!is_over(o)) {
        tell_to_stop(o);
        end(o, STOPPED);
    }
}

/* --- Taking --------------------------------------------------------------- */

const struct peer *
probe_orders_prober(const struct configuration *c, const char *name)
{
    for (size_t i = 0; i < c->n_probers; i++) {
        if (!name || !strcmp(c->probers[i].name, name)) {
            return &c->probers[i];
        }
    }
    return NULL;
}

static int
read_order(const struct configuration *c, const json_t *document, struct probe_order *o, int64_t *expires_s,
           struct ef_error *err)
{
    static const char *const known[] = {"packet", "count", "interval_ms", "prober", "expires_s", NULL};
    struct doc_place root = {.value = (json_t *) document}, packet;
    const char *prober = NULL;
    int64_t count;
    if (doc_check_keys(&root, known, err) || doc_object(&root, "packet", true, &packet, err) ||
        doc_integer(&root, "count", 1, PROBE_ORDER_MAX_COUNT, 1, &count, err) ||
        doc_integer(&root, "expires_s", 1, MAX_EXPIRES_S, DEFAULT_EXPIRES_S, expires_s, err) ||
        (json_object_get(document, "prober") && doc_string(&root, "prober", NULL, &prober, err))) {
        return -EINVAL;
    }
    const json_t *interval = json_object_get(document, "interval_ms");
    o->interval_ms = interval ? json_number_value(interval) : 100;
    if (interval && (!json_is_number(interval) || !(o->interval_ms >= 0 && o->interval_ms <= 3600000))) {
        return ef_error_set(err, -EINVAL, "interval_ms: must be a number from 0 to 3600000");
    }
    o->prober = probe_orders_prober(c, prober);
    if (!o->prober) {
        return prober ? ef_error_set(err, -ENOENT, "prober: there is none named '%.60s'", prober)
                      : ef_error_set(err, -ENOENT, "the controller's configuration has no \"probers\"");
    }
    o->packet = packet.value;
    o->count = (uint64_t) count;
    return 0;
}

void
probe_order_free(struct probe_order *o)
{
    TAILQ_REMOVE(&o->orders->list, o, next);
    o->orders->n--;
    ef_http_call_cancel(o->call);
    if (o->timer) {
        event_free(o->timer);
    }
    json_decref(o->packet);
    free(o);
}

void
probe_order_forget(struct probe_order *o)
{
    if (is_over(o)) {
        probe_order_unkeep(o);
        probe_order_free(o);
    }
}

static void
forget_oldest(struct probe_orders *orders)
{
    struct probe_order *o;
    TAILQ_FOREACH(o, &orders->list, next)
    {
        if (is_over(o)) {
            probe_order_unkeep(o);
            probe_order_free(o);
            return;
        }
    }
}

void
probe_orders_insert(struct probe_orders *orders, struct probe_order *o)
{
    if (orders->n >= MAX_KEPT) {
        forget_oldest(orders);
    }
    struct probe_order *before = TAILQ_LAST(&orders->list, probe_order_list);
    while (before && ef_time_before(o->created, before->created)) {
        before = TAILQ_PREV(before, probe_order_list, next);
    }
    if (before) {
        TAILQ_INSERT_AFTER(&orders->list, before, o, next);
    } else {
        TAILQ_INSERT_HEAD(&orders->list, o, next);
    }
    orders->n++;
    if (!is_over(o)) {
        o->timer = evtimer_new(orders->base, on_timer, o);
        orders->n_open++;
    }
}

int
probe_orders_add(struct probe_orders *orders, const json_t *document, struct probe_order **out, struct ef_error *err)
{
    struct probe_order read = {0};
    int64_t expires_s;
    uint64_t id;
    int rc = read_order(orders->configuration, document, &read, &expires_s, err);
    if (rc) {
        return rc;
    }
    if (orders->n_open >= MAX_OPEN) {
        return ef_error_set(err, -ENOSPC, "%d orders are not over yet; ask again later", MAX_OPEN);
    }
    struct probe_order *o = malloc(sizeof *o);
    if (!o || getrandom(&id, sizeof id, 0) != sizeof id) {
        abort(); /* Control path. */
    }
    *o = read;
    o->orders = orders;
    o->packet = json_incref(read.packet);
    snprintf(o->id, sizeof o->id, "%016" PRIx64, id);
    o->created = ef_time_real();
    o->deadline = ef_time_add_ms(ef_time_mono(), expires_s * 1000);
    probe_orders_insert(orders, o);
    probe_order_again_in(o, 0);
    *out = o;
    return 0;
}

/* --- Looking -------------------------------------------------------------- */

struct probe_order *
probe_orders_find(const struct probe_orders *orders, const char *id)
{
    struct probe_order *o;
    TAILQ_FOREACH(o, &orders->list, next)
    {
        if (!strcmp(o->id, id)) {
            return o;
        }
    }
    return NULL;
}

json_t *
probe_order_show(const struct probe_order *o)
{
    char created[EF_TIME_TEXT_SIZE], ended[EF_TIME_TEXT_SIZE];
    return json_pack("{s:s, s:s, s:s, s:s?, s:O, s:I, s:f, s:I, s:I, s:s, s:s?}", "id", o->id, "prober",
                     o->prober->name, "state", probe_order_state_names[o->state], "error", *o->error ? o->error : NULL,
                     "packet", o->packet, "count", (json_int_t) o->count, "interval_ms", o->interval_ms, "sent",
                     (json_int_t) o->sent, "failed", (json_int_t) o->failed, "created",
                     ef_time_format(o->created, created), "ended", is_over(o) ? ef_time_format(o->ended, ended) : NULL);
}

json_t *
probe_orders_list(const struct probe_orders *orders)
{
    json_t *list = json_array();
    const struct probe_order *o;
    TAILQ_FOREACH(o, &orders->list, next)
    {
        json_array_append_new(list, probe_order_show(o));
    }
    return list;
}

const char *
probe_order_id(const struct probe_order *o)
{
    return o->id;
}

bool
probe_order_is_over(const struct probe_order *o)
{
    return is_over(o);
}

const char *
probe_order_error(const struct probe_order *o)
{
    return o->error;
}

uint64_t
probe_order_count(const struct probe_order *o)
{
    return o->count;
}

uint64_t
probe_order_sent(const struct probe_order *o)
{
    return o->sent;
}

struct ef_time
probe_order_created(const struct probe_order *o)
{
    return o->created;
}

/* --- Life ----------------------------------------------------------------- */

struct probe_orders *
probe_orders_create(struct event_base *base, const struct configuration *configuration, struct state_store *state)
{
    struct probe_orders *orders = calloc(1, sizeof *orders);
    if (!orders) {
        abort(); /* Control path at start-up. */
    }
    orders->base = base;
    orders->configuration = configuration;
    orders->state = state;
    TAILQ_INIT(&orders->list);
    LIST_INIT(&orders->farewells);
    state_watch(state, STATE_PROBE_ORDER, probe_orders_row_changed, orders);
    return orders;
}

void
probe_orders_destroy(struct probe_orders *orders)
{
    if (!orders) {
        return;
    }
    while (!TAILQ_EMPTY(&orders->list)) {
        probe_order_free(TAILQ_FIRST(&orders->list));
    }
    struct probe_order_farewell *farewell;
    while ((farewell = LIST_FIRST(&orders->farewells))) {
        ef_http_call_cancel(farewell->call);
        LIST_REMOVE(farewell, next);
        free(farewell);
    }
    free(orders);
}
