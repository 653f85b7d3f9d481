/* SPDX-License-Identifier: Apache-2.0 */
/* Probes that were ordered: each order waits here until its prober takes it, is
 * watched while that carries it out, and kept with its numbers afterwards.
 *
 *     if (probe_orders_add(orders, document, &shown, &err)) refuse;
 *     const struct probe_order *o = probe_orders_find(orders, "00c0ffee00c0ffee");
 *
 * An order is told to the prober under an id that we choose, so that it may be
 * told again when the answer was lost. A prober that does not answer, or has no
 * room, is asked again each second until the order expires; what it refuses is
 * over. What became of the probes themselves, the traces say (probe_results.h).
 *
 * Orders that are kept (probe_order_keep()) are taken up again by a controller that
 * starts, or becomes the active one: the prober knows them by their ids.
 *
 * Everything runs on the event base's thread. */
#ifndef CONTROLLER_PROBE_ORDERS_H
#define CONTROLLER_PROBE_ORDERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"
#include "controller/configuration.h"

struct event_base;
struct probe_orders;
struct state_store;

enum { PROBE_ORDER_MAX_COUNT = 1000000 };

struct probe_order; /* One order. */

/* `configuration` and `state` are borrowed. */
struct probe_orders *probe_orders_create(struct event_base *base, const struct configuration *configuration,
                                         struct state_store *state);
void probe_orders_destroy(struct probe_orders *orders); /* NULL is fine. */

/* Takes {"packet", "count", "interval_ms", "prober", "expires_s"}. Returns 0 with
 * `*order`, or with `err` -EINVAL (it is wrong), -ENOENT (no such prober),
 * -ENOSPC (too many are not over yet). */
int probe_orders_add(struct probe_orders *orders, const json_t *document, struct probe_order **order,
                     struct ef_error *err);

/* Has the state keep an order that was just added, so that it outlives us; it begins
 * once it is kept. `done` is told that, or why not: then the order is gone. */
typedef void probe_order_done(void *ctx, struct probe_order *order, const char *error);
void probe_order_keep(struct probe_order *order, probe_order_done *done, void *ctx);

struct probe_order *probe_orders_find(const struct probe_orders *orders, const char *id); /* NULL: none. */

/* Ends it, and has the prober end it. One that is over stays as it is. */
void probe_order_stop(struct probe_order *order);

/* Takes one that is over from the list: nobody else shall look at it. */
void probe_order_forget(struct probe_order *order);

/* {"id", "prober", "state": "queued" | "running" | "done" | "stopped" | "refused" | "expired", "error", "packet",
 * "count", "interval_ms", "sent", "failed", "created", "ended"}, a new reference. */
json_t *probe_order_show(const struct probe_order *order);
json_t *probe_orders_list(const struct probe_orders *orders); /* An array, the newest last. */

/* What results need. */
const char *probe_order_id(const struct probe_order *order);
bool probe_order_is_over(const struct probe_order *order);
const char *probe_order_error(const struct probe_order *order); /* "": none. */
uint64_t probe_order_count(const struct probe_order *order);
uint64_t probe_order_sent(const struct probe_order *order);
struct ef_time probe_order_created(const struct probe_order *order);

#endif
