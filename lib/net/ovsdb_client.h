/* SPDX-License-Identifier: Apache-2.0 */
/* A client of one OVSDB database (RFC 7047, ovsdb-server(7)): stays connected,
 * keeps a copy of chosen columns of chosen tables, and changes rows.
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
 * They are kept all the same, and a server that knows the transaction that we
 * saw last sends only what came after it ("monitor_cond_since").
 *
 * A database served by a cluster has several remotes, which are tried in turns.
 * With `leader_only`, only the leader of a majority is READY: others may be
 * behind, and locks are known to the leader alone. A lock ("one of several
 * programs is the active one") is asked for once the rows are there:
 *
 *     .remote = "tcp:10.0.0.1:6641,tcp:10.0.0.2:6641", .leader_only = true, .lock = "everflow_controller"
 *     if (ef_ovsdb_client_has_lock(client)) ...
 *
 * A transaction that must not be done without the lock has an operation
 * {"op": "assert", "lock": NAME}, since the server knows better who has it.
 *
 * Thread-safety: none; one event base's thread. `changed` comes from the event
 * loop and must not destroy the client. Every message is taken as hostile: its
 * types are checked, its size bounded; one that is wrong ends the connection. */
#ifndef EF_NET_OVSDB_CLIENT_H
#define EF_NET_OVSDB_CLIENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/time.h"

struct event_base;
struct ef_ovsdb_client;
struct ef_tls;

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
    const char *remote;   /* As ovsdb_remotes.h has it. Not used later. */
    const char *database; /* The rest is borrowed for the client's life. */
    const struct ef_ovsdb_table *tables;
    const struct ef_tls *tls; /* For ssl:, with an authority of its own; NULL: there is no ssl:. */
    const char *lock;         /* NULL: none. */
    bool leader_only;
    void (*changed)(void *ctx);
    /* A row is now `row`, or was deleted (NULL); `changed` follows. Not called for
     * what the client finds when it becomes READY. May be NULL. */
    void (*row_changed)(void *ctx, const char *table, const char *uuid, json_t *row);
    void *ctx;
    int64_t probe_ms;                       /* 0: 5000. */
    int64_t backoff_min_ms, backoff_max_ms; /* 0: 100 and 1500. */
};

/* Checks the form of `remote`. Returns 0 or -EINVAL with `err`. */
int ef_ovsdb_remote_check(const char *remote, struct ef_error *err);

/* Starts to connect. Returns 0, or -EINVAL with `err`: not a remote, or ssl
 * without `tls`. */
int ef_ovsdb_client_create(struct event_base *base, const struct ef_ovsdb_config *config,
                           struct ef_ovsdb_client **client, struct ef_error *err);

/* NULL is fine. Functions of outstanding transactions are not called. */
void ef_ovsdb_client_destroy(struct ef_ovsdb_client *client);

/* READY, and the server said that the lock is ours. */
bool ef_ovsdb_client_has_lock(const struct ef_ovsdb_client *client);

/* The remote that we are or were connected to, or try. Borrowed. */
const char *ef_ovsdb_client_remote(const struct ef_ovsdb_client *client);

enum ef_ovsdb_state ef_ovsdb_client_state(const struct ef_ovsdb_client *client);

/* Why it is not READY, in words ("" if nothing is known against it). */
const char *ef_ovsdb_client_error(const struct ef_ovsdb_client *client);

/* The rows of a monitored table: an object from UUID to {column: value} (see
 * ovsdb_value.h). Borrowed until the event loop goes on; NULL unless READY. */
json_t *ef_ovsdb_client_rows(const struct ef_ovsdb_client *client, const char *table);

/* How a transaction went: `error` is NULL if it was committed (what it changed is in
 * the rows already); `ef_ovsdb_lost` itself if the connection ended before the
 * answer, so that nobody knows. */
extern const char ef_ovsdb_lost[];
typedef void ef_ovsdb_done(void *ctx, const char *error);

/* Runs `operations` (an array of RFC 7047 operations, taken over) as one
 * transaction; `done` comes once from the event loop, unless the client is
 * destroyed before. Returns 0, or -ENOTCONN if the client is not READY. */
int ef_ovsdb_client_transact(struct ef_ovsdb_client *client, json_t *operations, ef_ovsdb_done *done, void *ctx);

#endif
