/* SPDX-License-Identifier: Apache-2.0 */
/* Probes that others order while the program runs, as JSON:
 *
 *     {"id": "00c0ffee00c0ffee", "packet": {"dst": "h3", "via": ["leaf1", "spine1"], "proto": "tcp"},
 *      "count": 10, "interval_ms": 100}
 *
 * "packet" has the fields of format.h. All orders share one output and the
 * limits: what would exceed them is refused, nothing is put off.
 *
 * An order that is over is remembered with its numbers, until MAX_REMEMBERED
 * newer ones are. Everything runs on the event base's thread. */
#ifndef PROBER_ORDERS_H
#define PROBER_ORDERS_H

#include <jansson.h>

#include "guided-prober/conf.h"

struct event_base;
struct prober_orders;

/* `targets` and `conf` are borrowed. Returns 0 or a negative errno with `err`. */
int prober_orders_create(struct event_base *base, const struct prober_targets *targets, const struct prober_conf *conf,
                         struct prober_orders **orders, struct ef_error *err);
void prober_orders_destroy(struct prober_orders *orders); /* NULL is fine. */

/* Takes an order and starts it. Returns 0 with what prober_orders_show() says of
 * it (a new reference), or with `err` -EINVAL (it is wrong), -EACCES (not
 * allowed), -EEXIST (the id is taken), -EBUSY (with those that run it would be too much). */
int prober_orders_add(struct prober_orders *orders, const json_t *order, json_t **shown, struct ef_error *err);

/* {"id", "state": "running" | "done" | "stopped", "count", "interval_ms", "sent", "failed", "error", "started",
 * "ended"} (a new reference), or NULL: not known. All: an array. */
json_t *prober_orders_show(const struct prober_orders *orders, const char *id);
json_t *prober_orders_list(const struct prober_orders *orders);

/* Ends an order; one that is over stays as it is. Returns 0 or -ENOENT. */
int prober_orders_stop(struct prober_orders *orders, const char *id);

struct prober_orders_stats {
    uint64_t taken, refused, running, sent, failed;
};
void prober_orders_stats(const struct prober_orders *orders, struct prober_orders_stats *stats);

#endif
