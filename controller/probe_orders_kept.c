/* SPDX-License-Identifier: Apache-2.0 */
/* Orders for probes in the state: written when they are added and when their state
 * changes, read by a controller that starts or follows; see probe_orders.h. */
#include <config.h>

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/util.h"
#include "controller/probe_orders_private.h"
#include "net/http_client.h"

/* --- Writing ---------------------------------------------------------------- */

/* What is shown, and until when it is to be carried out. */
static json_t *
document_of(const struct probe_order *o)
{
    char deadline[EF_TIME_TEXT_SIZE];
    struct ef_time real = ef_time_add_ns(ef_time_real(), ef_time_diff_ns(o->deadline, ef_time_mono()));
    json_t *document = probe_order_show(o);
    json_object_set_new(document, "deadline", json_string(ef_time_format(real, deadline)));
    return document;
}

void
probe_order_changed(struct probe_order *o)
{
    if (o->is_kept && state_is_active(o->orders->state)) {
        /* Should it be lost, the prober is asked again after a restart. */
        state_put(o->orders->state, STATE_PROBE_ORDER, o->id, document_of(o), NULL, NULL);
    }
}

void
probe_order_unkeep(struct probe_order *o)
{
    if (o->is_kept && state_is_active(o->orders->state)) {
        o->is_kept = false;
        state_delete(o->orders->state, STATE_PROBE_ORDER, o->id, NULL, NULL);
    }
}

/* The one who waits for an order to be kept; it has its own copy of the id, since
 * the order may be gone by then. */
struct keeping {
    struct probe_orders *orders;
    char id[17];
    probe_order_done *done;
    void *ctx;
};

static void
on_put(void *ctx, const char *error)
{
    struct keeping *k = ctx;
    struct probe_order *o = probe_orders_find(k->orders, k->id);
    error = error || o ? error : "the order was forgotten meanwhile";
    if (!error) {
        if (o->timer) {
            probe_order_again_in(o, 0);
        }
        k->done(k->ctx, o, NULL);
    } else {
        if (o) {
            k->orders->n_open -= o->timer != NULL;
            probe_order_free(o);
        }
        k->done(k->ctx, NULL, error);
    }
    free(k);
}

void
probe_order_keep(struct probe_order *o, probe_order_done *done, void *ctx)
{
    struct keeping *k = malloc(sizeof *k);
    if (!k) {
        abort(); /* Control path. */
    }
    *k = (struct keeping){.orders = o->orders, .done = done, .ctx = ctx};
    memcpy(k->id, o->id, sizeof k->id);
    o->is_kept = true;
    event_del(o->timer);
    state_put(o->orders->state, STATE_PROBE_ORDER, o->id, document_of(o), on_put, k);
}

/* --- Reading ---------------------------------------------------------------- */

/* The state that `name` is called, or -1. */
static int
state_of(const char *name)
{
    for (int i = 0; name && probe_order_state_names[i]; i++) {
        if (!strcmp(name, probe_order_state_names[i])) {
            return i;
        }
    }
    return -1;
}

static struct ef_time
time_member(const json_t *document, const char *key)
{
    struct ef_time t = {0};
    const char *text = json_string_value(json_object_get(document, key));
    if (text) {
        ef_time_parse(text, ef_time_real(), &t, NULL);
    }
    return t;
}

static uint64_t
count_member(const json_t *document, const char *key)
{
    json_int_t n = json_integer_value(json_object_get(document, key));
    return n > 0 ? (uint64_t) n : 0;
}

/* False if it is no order, or its prober is not in our configuration. */
static bool
read_document(const struct configuration *configuration, const json_t *document, struct probe_order *o)
{
    const char *error = json_string_value(json_object_get(document, "error"));
    const char *prober = json_string_value(json_object_get(document, "prober"));
    int state = state_of(json_string_value(json_object_get(document, "state")));
    o->prober = prober ? probe_orders_prober(configuration, prober) : NULL;
    o->packet = json_object_get(document, "packet");
    if (state < 0 || !o->prober || !json_is_object(o->packet)) {
        return false;
    }
    o->state = (enum probe_order_state) state;
    snprintf(o->error, sizeof o->error, "%s", error ? error : "");
    o->interval_ms = json_number_value(json_object_get(document, "interval_ms"));
    o->count = count_member(document, "count");
    o->sent = count_member(document, "sent");
    o->failed = count_member(document, "failed");
    o->created = time_member(document, "created");
    o->ended = time_member(document, "ended");
    struct ef_time left = time_member(document, "deadline");
    o->deadline = ef_time_add_ns(ef_time_mono(), ef_time_diff_ns(left, ef_time_real()));
    return true;
}

/* The active controller knows its orders better than what it wrote of them. */
static void
take(struct probe_orders *orders, const char *id, json_t *document)
{
    struct probe_order read = {0}, *o = malloc(sizeof *o);
    if (!o) {
        abort(); /* Control path. */
    }
    if (!read_document(orders->configuration, document, &read)) {
        ef_log_warn("probes", "%.20s: an order that this configuration does not know what to do with", id);
        free(o);
        return;
    }
    *o = read;
    o->orders = orders;
    o->packet = json_incref(read.packet);
    o->is_kept = true;
    snprintf(o->id, sizeof o->id, "%s", id);
    probe_orders_insert(orders, o);
    if (o->timer) {
        probe_order_again_in(o, 0); /* The prober is told or asked, once we are the active one. */
    }
}

void
probe_orders_row_changed(void *ctx, const char *id, json_t *document)
{
    struct probe_orders *orders = ctx;
    struct probe_order *o = probe_orders_find(orders, id);
    if (state_is_active(orders->state) || strlen(id) != sizeof o->id - 1) {
        return;
    }
    if (o) {
        orders->n_open -= o->timer != NULL;
        probe_order_free(o);
    }
    if (document) {
        take(orders, id, document);
    }
}
