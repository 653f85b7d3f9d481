/* SPDX-License-Identifier: Apache-2.0 */
/* A client of one OVSDB server (RFC 7047): stays connected, keeps a copy of
 * chosen columns of chosen tables, and changes rows.
 *
 *     static const char *const columns[] = {"source_ip", "status", NULL};
 *     static const struct ef_ovsdb_table tables[] = {
 *         {"Everflow", columns, "this Open vSwitch has no Everflow table; it needs the patched build"},
 *         {0},
 *     };
 *     struct ef_ovsdb_config config = {
 *         .remote = "unix:/run/openvswitch/db.sock", .database = "Open_vSwitch",
 *         .tables = tables, .changed = reconcile, .ctx = s,
 *     };
 *     if (ef_ovsdb_client_create(base, &config, &client, &err)) fail;
 *     ...
 *     static void reconcile(void *ctx)       // state or rows are not what they were
 *     {
 *         if (ef_ovsdb_client_state(client) == EF_OVSDB_READY) look at ef_ovsdb_client_rows(client, "Everflow");
 *     }
 *
 * A connection that ends is taken up again, after waits that double from
 * `backoff_min_ms` to `backoff_max_ms` and are spread by a quarter, so that
 * many switches do not come back at the same moment. While there is no
 * connection there are no rows: what they were says nothing of what they are.
 *
 * Thread-safety: none; one event base's thread. `changed` comes from the event
 * loop and must not destroy the client. Every message is taken as hostile: its
 * types are checked, its size bounded; one that is wrong ends the connection. */
#ifndef EF_NET_OVSDB_CLIENT_H
#define EF_NET_OVSDB_CLIENT_H

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"
#include "base/time.h"

struct event_base;
struct ef_ovsdb_client;

enum ef_ovsdb_state {
    EF_OVSDB_CONNECTING,  /* First attempt, or connected and reading the schema and the rows. */
    EF_OVSDB_READY,       /* Rows are there and kept up to date. */
    EF_OVSDB_UNREACHABLE, /* Waiting for the next attempt; see the error. */
    EF_OVSDB_UNSUITABLE,  /* The database lacks what we need; tried again now and then. */
};

struct ef_ovsdb_table {
    const char *name;           /* NULL ends the list. */
    const char *const *columns; /* To be monitored; NULL-terminated. */
    const char *absent;         /* Said when the table or a column is not in the schema; may be NULL. */
};

struct ef_ovsdb_config {
    const char *remote;   /* "unix:/path" or "tcp:ADDRESS:PORT". Copied. */
    const char *database; /* The rest is borrowed for the client's life. */
    const struct ef_ovsdb_table *tables;
    void (*changed)(void *ctx);
    void *ctx;
    int64_t probe_ms;                       /* 0: 5000. */
    int64_t backoff_min_ms, backoff_max_ms; /* 0: 100 and 1500. */
};

/* Checks the form of `remote`. Returns 0, -EINVAL, or -EPROTONOSUPPORT for ssl,
 * with `err`. */
int ef_ovsdb_remote_check(const char *remote, struct ef_error *err);

/* Starts to connect. Returns 0 or the errors of ef_ovsdb_remote_check(). */
int ef_ovsdb_client_create(struct event_base *base, const struct ef_ovsdb_config *config,
                           struct ef_ovsdb_client **client, struct ef_error *err);

/* NULL is fine. Functions of outstanding transactions are not called. */
void ef_ovsdb_client_destroy(struct ef_ovsdb_client *client);

enum ef_ovsdb_state ef_ovsdb_client_state(const struct ef_ovsdb_client *client);

/* Why it is not READY, in words ("" if nothing is known against it). */
const char *ef_ovsdb_client_error(const struct ef_ovsdb_client *client);

/* The rows of a monitored table: an object from UUID to {column: value} (see
 * ovsdb_value.h). Borrowed until the event loop goes on; NULL unless READY. */
json_t *ef_ovsdb_client_rows(const struct ef_ovsdb_client *client, const char *table);

/* How a transaction went: `error` is NULL if it was committed. */
typedef void ef_ovsdb_done(void *ctx, const char *error);

/* Runs `operations` (an array of RFC 7047 operations, taken over) as one
 * transaction; `done` comes once from the event loop, unless the client is
 * destroyed before. Returns 0, or -ENOTCONN if the client is not READY. */
int ef_ovsdb_client_transact(struct ef_ovsdb_client *client, json_t *operations, ef_ovsdb_done *done, void *ctx);

#endif
