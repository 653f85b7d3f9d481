/* SPDX-License-Identifier: Apache-2.0 */
/* Orders taken and carried out; see orders.h. */
#include <config.h>

#include "guided-prober/orders.h"

#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/random.h>

#include "base/log.h"
#include "base/parse_number.h"
#include "guided-prober/output.h"
#include "guided-prober/read_order.h"
#include "guided-prober/stream.h"

enum { MAX_RUNNING = 64, MAX_REMEMBERED = 1000, BATCHES_AT_ONCE = 16 };

enum state { RUNNING, DONE, STOPPED };
static const char *const state_names[] = {"running", "done", "stopped"};

struct order {
    TAILQ_ENTRY(order) next;
    struct prober_orders *orders;
    uint64_t id;
    enum state state;
    struct prober_craft *craft; /* While it runs. */
    struct prober_stream stream;
    struct event *timer;
    uint64_t sent, failed;
    int last_error;
    struct ef_time started, ended; /* Real time. */
};

struct prober_orders {
    struct event_base *base;
    const struct prober_targets *targets;
    const struct prober_conf *conf;
    struct prober_output *output;
    TAILQ_HEAD(, order) list; /* Oldest first. */
    size_t n;
    struct prober_orders_stats stats;
};

/* --- Running -------------------------------------------------------------- */

static void
end_order(struct order *o, enum state state)
{
    o->state = state;
    o->ended = ef_time_real();
    event_free(o->timer);
    free(o->craft);
    o->timer = NULL;
    o->craft = NULL;
    o->orders->stats.running--;
    ef_log_info("orders", "probes %016" PRIx64 ": %s, %" PRIu64 " sent, %" PRIu64 " failed", o->id, state_names[state],
                o->sent, o->failed);
}

static void
schedule(struct order *o)
{
    int64_t wait_ns = EF_MAX(ef_time_diff_ns(prober_stream_due(&o->stream), ef_time_mono()), 0);
    struct timeval tv = {wait_ns / EF_NS_PER_S, (wait_ns % EF_NS_PER_S + 999) / 1000};
    evtimer_add(o->timer, &tv);
}

/* The output counts for all orders, but sends for one at a time. */
static void
send_due(struct order *o)
{
    struct ef_sink_stats before, after;
    prober_output_stats(o->stream.output, &before);
    for (int i = 0; i < BATCHES_AT_ONCE && !prober_stream_done(&o->stream); i++) {
        struct ef_time now = ef_time_mono();
        if (ef_time_before(now, prober_stream_due(&o->stream))) {
            break;
        }
        prober_stream_send(&o->stream, now);
    }
    prober_output_stats(o->stream.output, &after);
    uint64_t sent = after.packets - before.packets;
    uint64_t failed = after.failed - before.failed + after.too_big - before.too_big;
    o->sent += sent;
    o->failed += failed;
    o->orders->stats.sent += sent;
    o->orders->stats.failed += failed;
    if (failed) {
        o->last_error = after.too_big > before.too_big ? EMSGSIZE : prober_output_last_error(o->stream.output);
    }
}

static void
on_timer(evutil_socket_t fd, short what, void *ctx)
{
    struct order *o = ctx;
    send_due(o);
    if (prober_stream_done(&o->stream)) {
        end_order(o, DONE);
    } else {
        schedule(o);
    }
}

/* --- Taking --------------------------------------------------------------- */

static struct order *
find(const struct prober_orders *orders, uint64_t id)
{
    struct order *o;
    TAILQ_FOREACH(o, &orders->list, next)
    {
        if (o->id == id) {
            return o;
        }
    }
    return NULL;
}

/* Probes a second of all that run and one more with this interval. */
static double
rate_with(const struct prober_orders *orders, int64_t interval_ns)
{
    double rate = 1e9 / (double) interval_ns;
    const struct order *o;
    TAILQ_FOREACH(o, &orders->list, next)
    {
        rate += o->state == RUNNING ? 1e9 / (double) o->stream.interval_ns : 0;
    }
    return rate;
}

static int
check_room(const struct prober_orders *orders, const struct prober_order_text *text, struct ef_error *err)
{
    if (find(orders, text->id)) {
        return ef_error_set(err, -EEXIST, "there are probes %016" PRIx64 " already", text->id);
    }
    if (orders->stats.running >= MAX_RUNNING) {
        return ef_error_set(err, -EBUSY, "%d orders run already; ask again when one is over", MAX_RUNNING);
    }
    double rate = rate_with(orders, text->interval_ns);
    if (rate > 1.0001 * (double) orders->conf->limits.rate) {
        return ef_error_set(err, -EBUSY,
                            "%.0f probes a second with those that run, more than the %" PRIu64 " of --rate-limit", rate,
                            orders->conf->limits.rate);
    }
    return 0;
}

static void
forget(struct prober_orders *orders, struct order *o)
{
    TAILQ_REMOVE(&orders->list, o, next);
    orders->n--;
    if (o->timer) {
        event_free(o->timer);
    }
    free(o->craft);
    free(o);
}

static void
forget_oldest(struct prober_orders *orders)
{
    struct order *o;
    TAILQ_FOREACH(o, &orders->list, next)
    {
        if (o->state != RUNNING) {
            forget(orders, o);
            return;
        }
    }
}

static void
start(struct prober_orders *orders, struct prober_craft *craft, const struct prober_order_text *text)
{
    struct order *o = calloc(1, sizeof *o);
    if (!o || !(o->timer = evtimer_new(orders->base, on_timer, o))) {
        abort(); /* Control path. */
    }
    o->orders = orders;
    o->id = text->id;
    o->craft = craft;
    o->stream = (struct prober_stream){
        .craft = craft, .output = orders->output, .count = text->count, .interval_ns = text->interval_ns};
    o->started = ef_time_real();
    TAILQ_INSERT_TAIL(&orders->list, o, next);
    orders->n++;
    orders->stats.running++;
    orders->stats.taken++;
    if (orders->n > MAX_REMEMBERED) {
        forget_oldest(orders);
    }
    ef_log_info("orders", "probes %016" PRIx64 ": %" PRIu64 " of them, one each %.3f ms", o->id, text->count,
                (double) text->interval_ns / EF_NS_PER_MS);
    prober_stream_start(&o->stream, ef_time_mono());
    schedule(o);
}

static int
take(struct prober_orders *orders, const json_t *document, struct prober_order_text *text, struct ef_error *err)
{
    int rc = prober_read_order(document, text, err);
    if (rc) {
        return rc;
    }
    if (!text->has_id && getrandom(&text->id, sizeof text->id, 0) != sizeof text->id) {
        return ef_error_set(err, -EBUSY, "no random number: %s", strerror(errno));
    }
    if (text->format.has_eth && !text->format.n_via && !prober_output_takes_frames(orders->output)) {
        return ef_error_set(err, -EINVAL, "packet: a frame needs a prober with --sink packet:INTERFACE, or via");
    }
    rc = prober_format_resolve(&text->format, orders->targets, prober_output_netns(orders->conf->sink), err);
    if (rc) {
        return ef_error_prefix(err, rc, "packet");
    }
    rc = prober_limits_check(&orders->conf->limits, text->count, &text->interval_ns, err);
    return rc ? rc : check_room(orders, text, err);
}

int
prober_orders_add(struct prober_orders *orders, const json_t *document, json_t **shown, struct ef_error *err)
{
    struct prober_order_text text;
    struct prober_craft *craft = NULL;
    char id[17];
    int rc = take(orders, document, &text, err);
    if (!rc) {
        craft = malloc(sizeof *craft);
        rc = craft ? prober_craft_init(craft, &text.format, text.id, err) : ef_error_set(err, -EBUSY, "out of memory");
    }
    if (rc) {
        free(craft);
        orders->stats.refused++;
        return rc;
    }
    start(orders, craft, &text);
    snprintf(id, sizeof id, "%016" PRIx64, text.id);
    *shown = prober_orders_show(orders, id);
    return 0;
}

int
prober_orders_stop(struct prober_orders *orders, const char *id)
{
    uint64_t number;
    struct order *o = prober_read_id(id, &number) ? NULL : find(orders, number);
    if (!o) {
        return -ENOENT;
    }
    if (o->state == RUNNING) {
        end_order(o, STOPPED);
    }
    return 0;
}

/* --- Showing -------------------------------------------------------------- */

static json_t *
time_or_null(struct ef_time t, bool has)
{
    char text[EF_TIME_TEXT_SIZE];
    return has ? json_string(ef_time_format(t, text)) : json_null();
}

static json_t *
show(const struct order *o)
{
    char id[17];
    snprintf(id, sizeof id, "%016" PRIx64, o->id);
    const char *error = o->last_error == EMSGSIZE ? "larger than the link's MTU"
                        : o->last_error           ? strerror(o->last_error)
                                                  : NULL;
    return json_pack("{s:s, s:s, s:I, s:f, s:I, s:I, s:s?, s:o, s:o}", "id", id, "state", state_names[o->state],
                     "count", (json_int_t) o->stream.count, "interval_ms",
                     (double) o->stream.interval_ns / EF_NS_PER_MS, "sent", (json_int_t) o->sent, "failed",
                     (json_int_t) o->failed, "error", error, "started", time_or_null(o->started, true), "ended",
                     time_or_null(o->ended, o->state != RUNNING));
}

json_t *
prober_orders_show(const struct prober_orders *orders, const char *id)
{
    uint64_t number;
    const struct order *o = prober_read_id(id, &number) ? NULL : find(orders, number);
    return o ? show(o) : NULL;
}

json_t *
prober_orders_list(const struct prober_orders *orders)
{
    json_t *list = json_array();
    const struct order *o;
    TAILQ_FOREACH(o, &orders->list, next)
    {
        json_array_append_new(list, show(o));
    }
    return list;
}

void
prober_orders_stats(const struct prober_orders *orders, struct prober_orders_stats *stats)
{
    *stats = orders->stats;
}

/* --- Life ----------------------------------------------------------------- */

int
prober_orders_create(struct event_base *base, const struct prober_targets *targets, const struct prober_conf *conf,
                     struct prober_orders **out, struct ef_error *err)
{
    struct prober_orders *orders = calloc(1, sizeof *orders);
    *out = NULL;
    if (!orders) {
        return ef_error_set(err, -ENOMEM, "out of memory");
    }
    TAILQ_INIT(&orders->list);
    orders->base = base;
    orders->targets = targets;
    orders->conf = conf;
    int rc = prober_output_open(conf->sink, &orders->output, err);
    if (rc) {
        free(orders);
        return rc;
    }
    *out = orders;
    return 0;
}

void
prober_orders_destroy(struct prober_orders *orders)
{
    if (!orders) {
        return;
    }
    while (!TAILQ_EMPTY(&orders->list)) {
        forget(orders, TAILQ_FIRST(&orders->list));
    }
    prober_output_close(orders->output);
    free(orders);
}
