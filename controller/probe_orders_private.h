/* SPDX-License-Identifier: Apache-2.0 */
/* What probe_orders.c (what is done with orders) and probe_orders_kept.c (what the
 * state knows of them) share. For these two only. */
#ifndef CONTROLLER_PROBE_ORDERS_PRIVATE_H
#define CONTROLLER_PROBE_ORDERS_PRIVATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/time.h"
#include "controller/configuration.h"
#include "controller/probe_orders.h"
#include "controller/state.h"

struct event;
struct ef_http_call;

enum probe_order_state { QUEUED, RUNNING, DONE, STOPPED, REFUSED, EXPIRED };
extern const char *const probe_order_state_names[]; /* NULL-terminated. */

struct probe_order {
    TAILQ_ENTRY(probe_order) next;
    struct probe_orders *orders;
    char id[17];
    const struct peer *prober;
    json_t *packet;
    double interval_ms;
    uint64_t count, sent, failed;
    enum probe_order_state state;
    char error[300];
    struct ef_time created, ended; /* Real time. */
    struct ef_time deadline;   /* Monotonic: until when a prober must have taken it, then until when it must be over. */
    struct event *timer;       /* NULL once it is over. */
    struct ef_http_call *call; /* The question that is open, or NULL. */
    bool is_kept;              /* The state knows it: see probe_orders_kept.c. */
};

struct probe_order_farewell; /* A prober is being told to end one. */

struct probe_orders {
    struct event_base *base;
    const struct configuration *configuration;
    struct state_store *state;
    TAILQ_HEAD(probe_order_list, probe_order) list; /* Oldest first. */
    LIST_HEAD(, probe_order_farewell) farewells;
    size_t n, n_open;
};

/* Its prober is told, or asked, so much later. */
void probe_order_again_in(struct probe_order *o, int ms);

void probe_order_free(struct probe_order *o);

/* The configuration's prober with this name (NULL: the first), or NULL. */
const struct peer *probe_orders_prober(const struct configuration *c, const char *name);

/* Puts one that was filled into the list; one that is not over gets its
 * timer, which is not started. */
void probe_orders_insert(struct probe_orders *orders, struct probe_order *o);

/* --- probe_orders_kept.c --- */

/* Tells the state, if it keeps the order, what it is now, or that it is forgotten. */
void probe_order_changed(struct probe_order *o);
void probe_order_unkeep(struct probe_order *o);

/* For state_watch(). */
void probe_orders_row_changed(void *orders, const char *id, json_t *document);

#endif
