/* SPDX-License-Identifier: Apache-2.0 */
/* What the controller must not forget: rows in tables, each a JSON document
 * known by its key, in an OVSDB database of our own schema (everflow.ovsschema)
 * that stock ovsdb-servers serve, one or a cluster. All of it is also here, in
 * memory, and is read from there.
 *
 *     state_watch(state, STATE_PROBE_ORDER, order_changed, orders);  // each row that is found, then each change
 *     json_t *document = state_get(state, STATE_COUNTER, "web");     // borrowed, or NULL
 *
 *     state_put(state, STATE_COUNTER, "web", document, on_kept, request);
 *     static void on_kept(void *ctx, const char *error)
 *     {
 *         if (error) ef_http_reply_error(ctx, 503, "not_kept", -1, "%s", error);
 *         else ef_http_reply_json(ctx, 201, ...);       // it survives us from here on
 *     }
 *
 * Rules for those who use it:
 *
 *     - A change is true once `done` came without an error: it is in the database
 *       (in a cluster: on most of its servers) and in what state_get() shows. If
 *       `done` has an error, the change was not made, or, if the text says so, may
 *       have been. Never acknowledge before.
 *     - Of several controllers with one database, one is active, by an OVSDB lock.
 *       Only it may change rows, and do things to the world (write to switches,
 *       start probes). The others follow, and answer questions. Ask
 *       state_is_active(), or have state_watch_role() tell. On the way to being
 *       active the rows come first: when the role changes, all are known.
 *     - HTTP requests other than GET need not ask: main.c refuses them with 503
 *       while this controller is not active.
 *     - Without a database everything is in memory, this controller is always
 *       active, and a restart forgets; the functions behave alike.
 *     - While the database cannot be reached, the last known rows stay readable.
 *
 * Documents are values: what is given is taken over and then never changed; what
 * is shown is borrowed, must not be changed, and is valid until the event loop
 * goes on. Members of a document with the name of a column of its table (see
 * state_tables.h) are copied there, for those who query the database itself.
 *
 * Callbacks come from the event loop, never from inside a call of these functions.
 * One event base's thread. */
#ifndef CONTROLLER_STATE_H
#define CONTROLLER_STATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "controller/state_tables.h"

struct ef_tls;
struct event_base;
struct state_store;

enum { STATE_MAX_KEY_BYTES = 255, STATE_MAX_DOCUMENT_BYTES = 4 << 20, STATE_PUT_DEADLINE_MS = 5000 };

struct state_config {
    const char *database;     /* Remotes as ovsdb_remotes.h has them; NULL: memory only. */
    const struct ef_tls *tls; /* For ssl:; borrowed. */
    const char *self;         /* How others reach this controller: told to those who ask the standby. Borrowed. */
};

/* Returns 0 or -EINVAL with `err`. The database need not be there yet. */
int state_create(struct event_base *base, const struct state_config *config, struct state_store **state,
                 struct ef_error *err);

/* Functions of changes that are on their way are not called. NULL is fine. */
void state_destroy(struct state_store *state);

/* --- Reading ---------------------------------------------------------------- */

/* The document with this key, or NULL. Borrowed. */
json_t *state_get(const struct state_store *state, enum state_table table, const char *key);

/* All of a table: an object from key to document. Borrowed. */
json_t *state_rows(const struct state_store *state, enum state_table table);

/* --- Changing --------------------------------------------------------------- */

/* `error` NULL: done. Otherwise why not, in words that say what to do. */
typedef void state_done(void *ctx, const char *error);

/* Creates or replaces a row. `document` (an object) is taken over. `done` may be
 * NULL for what may be lost; it is called once, at most 5 s later. */
void state_put(struct state_store *state, enum state_table table, const char *key, json_t *document, state_done *done,
               void *ctx);

/* A row that is not there is deleted, too. */
void state_delete(struct state_store *state, enum state_table table, const char *key, state_done *done, void *ctx);

/* --- Being told ------------------------------------------------------------- */

/* The row `key` is now `document`, or is gone (NULL). Not called for a change that
 * left it equal. Those who watch before the event loop runs are told of all rows. */
typedef void state_changed(void *ctx, const char *key, json_t *document);
void state_watch(struct state_store *state, enum state_table table, state_changed *changed, void *ctx);

/* This controller has become active, or is not any more. */
typedef void state_role_changed(void *ctx, bool is_active);
void state_watch_role(struct state_store *state, state_role_changed *changed, void *ctx);

/* --- Being looked at -------------------------------------------------------- */

bool state_is_active(const struct state_store *state);

/* True while the rows are told that the database had when we first followed it: nothing happened, they are only
 * known from now on. */
bool state_is_first_load(const struct state_store *state);

/* True if there is a database. */
bool state_is_durable(const struct state_store *state);

/* If changes are refused now, why and what to do, into `buf`; false if they are not. */
bool state_refuses(const struct state_store *state, char *buf, size_t size);

/* What GET /v1/status shows of it (new reference). */
json_t *state_show(const struct state_store *state);

#endif
