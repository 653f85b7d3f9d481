/* SPDX-License-Identifier: Apache-2.0 */
/* The OVSDB client: connection, schema, monitor, lock, transactions; see
 * ovsdb_client.h. */
#include <config.h>

#include "net/ovsdb_client.h"

#include <errno.h>
#include <event2/event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/jsonrpc.h"
#include "net/ovsdb_remotes.h"
#include "net/ovsdb_update.h"

enum { DEFAULT_PROBE_MS = 5000, DEFAULT_BACKOFF_MIN_MS = 100, DEFAULT_BACKOFF_MAX_MS = 1500, MAX_ROWS = 65536 };
enum { NEXT_REMOTE_MS = 10 }; /* To the next server of a cluster; all of them refused: the back-off. */

static const char rows_monitor[] = "everflow", server_monitor[] = "everflow-server";
const char ef_ovsdb_lost[] = "the connection was lost";
static const char nothing_seen[] = "00000000-0000-0000-0000-000000000000";

struct ef_ovsdb_client {
    struct event_base *base;
    struct ef_ovsdb_config config;
    struct ef_ovsdb_remotes remotes;
    size_t remote;          /* In use or to be tried next. */
    struct ef_jsonrpc *rpc; /* NULL while waiting. */
    struct event *retry;
    int64_t backoff_ms;
    enum ef_ovsdb_state state;
    struct ef_error error;
    bool has_lock;
    json_t *columns;                  /* {table: {column: its schema}}, ours only; NULL: not read yet. */
    json_t *tables;                   /* {table: {uuid: row}} */
    char last_transaction[64];        /* That the tables have. */
    struct transaction *transactions; /* Not yet answered. */
};

struct transaction {
    struct transaction *next;
    struct ef_ovsdb_client *client;
    ef_ovsdb_done *done;
    void *ctx;
};

/* --- Connecting ----------------------------------------------------------- */

static void start_connecting(struct ef_ovsdb_client *client);

static void
set_state(struct ef_ovsdb_client *client, enum ef_ovsdb_state state)
{
    client->state = state;
    if (state == EF_OVSDB_READY) {
        client->error = EF_ERROR_INIT;
    } else {
        client->has_lock = false;
    }
    client->config.changed(client->config.ctx);
}

/* The wait before the next attempt, with the next remote: when all were tried, a
 * quarter more or less than the back-off, which then doubles. */
static int64_t
next_wait_ms(struct ef_ovsdb_client *client)
{
    client->remote = (client->remote + 1) % client->remotes.n;
    if (client->remote) {
        return NEXT_REMOTE_MS;
    }
    uint32_t random;
    evutil_secure_rng_get_bytes(&random, sizeof random);
    int64_t spread = client->backoff_ms / 2 * (random % 1024) / 1024 - client->backoff_ms / 4;
    int64_t wait = client->backoff_ms + spread;
    client->backoff_ms = EF_MIN(client->backoff_ms * 2, client->config.backoff_max_ms);
    return wait;
}

/* Ends all transactions that were not answered; tells their owners if `error`. */
static void
end_transactions(struct ef_ovsdb_client *client, const char *error)
{
    while (client->transactions) {
        struct transaction *t = client->transactions;
        client->transactions = t->next;
        if (error) {
            t->done(t->ctx, error);
        }
        free(t);
    }
}

/* Drops the connection; client->error says why. */
static void
give_up(struct ef_ovsdb_client *client, enum ef_ovsdb_state state)
{
    ef_jsonrpc_destroy(client->rpc);
    client->rpc = NULL;
    int64_t wait = next_wait_ms(client);
    struct timeval tv = {.tv_sec = wait / 1000, .tv_usec = wait % 1000 * 1000};
    event_add(client->retry, &tv);
    set_state(client, state);
    end_transactions(client, ef_ovsdb_lost);
}

static void
lose(struct ef_ovsdb_client *client, const char *why)
{
    ef_error_set(&client->error, -ENOTCONN, "%.200s: %.250s", ef_ovsdb_client_remote(client), why);
    give_up(client, EF_OVSDB_UNREACHABLE);
}

static void
on_closed(void *ctx, const char *why)
{
    lose(ctx, why);
}

static void
on_retry(evutil_socket_t fd, short what, void *arg)
{
    start_connecting(arg);
}

/* --- Rows ----------------------------------------------------------------- */

/* What is known of them may be anything now. */
static void
forget_rows(struct ef_ovsdb_client *client)
{
    json_object_clear(client->tables);
    for (const struct ef_ovsdb_table *t = client->config.tables; t->name; t++) {
        json_object_set_new(client->tables, t->name, json_object());
    }
    snprintf(client->last_transaction, sizeof client->last_transaction, "%s", nothing_seen);
}

static void
tell_of_row(struct ef_ovsdb_client *client, const char *table, const char *uuid, json_t *row)
{
    if (client->config.row_changed && client->state == EF_OVSDB_READY) {
        client->config.row_changed(client->config.ctx, table, uuid, row);
    }
}

/* Applies {uuid: update2} to a table's rows. */
static int
update_table(struct ef_ovsdb_client *client, const struct ef_ovsdb_table *table, json_t *updates)
{
    json_t *rows = json_object_get(client->tables, table->name),
           *columns = json_object_get(client->columns, table->name);
    const char *uuid;
    json_t *update;
    if (!json_is_object(updates)) {
        return -EPROTO;
    }
    json_object_foreach(updates, uuid, update)
    {
        int rc = ef_ovsdb_update_row(rows, columns, table->columns, uuid, update, MAX_ROWS);
        if (rc) {
            return rc;
        }
        tell_of_row(client, table->name, uuid, json_object_get(rows, uuid));
    }
    return 0;
}

/* Applies {table: {uuid: update2}}, after which the tables are as `transaction`
 * left them. */
static int
update_tables(struct ef_ovsdb_client *client, json_t *updates, const json_t *transaction)
{
    const char *id = json_string_value(transaction);
    if (!json_is_object(updates) || !id || strlen(id) >= sizeof client->last_transaction) {
        return -EPROTO;
    }
    for (const struct ef_ovsdb_table *t = client->config.tables; t->name; t++) {
        json_t *table_updates = json_object_get(updates, t->name);
        int rc = table_updates ? update_table(client, t, table_updates) : 0;
        if (rc) {
            return rc;
        }
    }
    strcpy(client->last_transaction, id);
    return 0;
}

static void
lose_rows(struct ef_ovsdb_client *client, int rc)
{
    forget_rows(client);
    lose(client, rc == -ENOBUFS ? "more rows than are kept" : "malformed rows");
}

static void
on_update(struct ef_ovsdb_client *client, json_t *params)
{
    int rc = update_tables(client, json_array_get(params, 2), json_array_get(params, 1));
    if (rc) {
        lose_rows(client, rc);
    } else {
        client->config.changed(client->config.ctx);
    }
}

/* --- The lock ------------------------------------------------------------- */

static void
got_lock(void *ctx, json_t *result, const char *error)
{
    struct ef_ovsdb_client *client = ctx;
    if (error) {
        lose(client, error);
    } else if (json_is_true(json_object_get(result, "locked"))) {
        client->has_lock = true;
        client->config.changed(client->config.ctx);
    } /* Otherwise there is a notification when its owner has gone. */
}

static void
on_lock_changed(struct ef_ovsdb_client *client, const json_t *name, bool has_lock)
{
    if (client->config.lock && json_is_string(name) && !strcmp(json_string_value(name), client->config.lock)) {
        client->has_lock = has_lock;
        client->config.changed(client->config.ctx);
    }
}

/* --- The steps after connecting: server, schema, monitor, lock ------------ */

static void
got_rows(void *ctx, json_t *result, const char *error)
{
    struct ef_ovsdb_client *client = ctx;
    if (error) {
        lose(client, error);
        return;
    }
    if (!json_is_true(json_array_get(result, 0))) {
        forget_rows(client); /* Everything comes anew. */
    }
    int rc = update_tables(client, json_array_get(result, 2), json_array_get(result, 1));
    if (rc) {
        lose_rows(client, rc);
        return;
    }
    client->backoff_ms = client->config.backoff_min_ms;
    if (client->config.lock) {
        ef_jsonrpc_call(client->rpc, "lock", json_pack("[s]", client->config.lock), got_lock, client);
    }
    set_state(client, EF_OVSDB_READY);
}

static json_t *
monitor_requests(const struct ef_ovsdb_client *client)
{
    json_t *requests = json_object();
    for (const struct ef_ovsdb_table *t = client->config.tables; t->name; t++) {
        json_t *columns = json_array();
        for (const char *const *c = t->columns; *c; c++) {
            json_array_append_new(columns, json_string(*c));
        }
        json_object_set_new(requests, t->name, json_pack("[{s:o}]", "columns", columns));
    }
    return requests;
}

/* Sets client->error if the schema lacks a table or a column that we need. */
static int
check_schema(struct ef_ovsdb_client *client, json_t *schema)
{
    for (const struct ef_ovsdb_table *t = client->config.tables; t->name; t++) {
        json_t *table = json_object_get(json_object_get(schema, "tables"), t->name);
        json_t *columns = json_object_get(table, "columns");
        if (!columns) {
            return t->absent ? ef_error_set(&client->error, -ENOENT, "%s", t->absent)
                             : ef_error_set(&client->error, -ENOENT, "the database has no table %s", t->name);
        }
        for (const char *const *c = t->columns; *c; c++) {
            if (!json_object_get(columns, *c)) {
                return ef_error_set(&client->error, -ENOENT, "the database's table %s has no column %s%s%s", t->name,
                                    *c, t->absent ? "; " : "", t->absent ? t->absent : "");
            }
        }
    }
    return 0;
}

/* What we need of a schema that was checked: a whole one is large. */
static json_t *
our_columns(const struct ef_ovsdb_client *client, json_t *schema)
{
    json_t *tables = json_object();
    for (const struct ef_ovsdb_table *t = client->config.tables; t->name; t++) {
        json_t *all = json_object_get(json_object_get(json_object_get(schema, "tables"), t->name), "columns");
        json_t *columns = json_object();
        for (const char *const *c = t->columns; *c; c++) {
            json_object_set(columns, *c, json_object_get(all, *c));
        }
        json_object_set_new(tables, t->name, columns);
    }
    return tables;
}

/* Rows of another schema are not ours to go on with. */
static void
take_schema(struct ef_ovsdb_client *client, json_t *schema)
{
    json_t *columns = our_columns(client, schema);
    if (!json_equal(client->columns, columns)) {
        forget_rows(client);
    }
    json_decref(client->columns);
    client->columns = columns;
}

static void
got_schema(void *ctx, json_t *result, const char *error)
{
    struct ef_ovsdb_client *client = ctx;
    if (error) {
        ef_error_set(&client->error, -ENOENT, "%.200s: database %s: %.200s", ef_ovsdb_client_remote(client),
                     client->config.database, error);
    }
    if (error || check_schema(client, result)) {
        client->backoff_ms = client->config.backoff_max_ms;
        give_up(client, EF_OVSDB_UNSUITABLE);
        return;
    }
    take_schema(client, result);
    ef_jsonrpc_call(client->rpc, "monitor_cond_since",
                    json_pack("[s, s, o, s]", client->config.database, rows_monitor, monitor_requests(client),
                              client->last_transaction),
                    got_rows, client);
}

static void
ask_for_schema(struct ef_ovsdb_client *client)
{
    ef_jsonrpc_call(client->rpc, "get_schema", json_pack("[s]", client->config.database), got_schema, client);
}

/* What the server says of our database in its own, or NULL. */
static json_t *
find_database(const struct ef_ovsdb_client *client, json_t *updates)
{
    const char *uuid;
    json_t *update;
    json_object_foreach(json_object_get(updates, "Database"), uuid, update)
    {
        json_t *row = json_object_get(update, "new");
        const char *name = json_string_value(json_object_get(row, "name"));
        if (name && !strcmp(name, client->config.database)) {
            return row;
        }
    }
    return NULL;
}

/* A server that is not the leader, or lost touch with the majority, is of no use
 * to us; false if we left it. */
static bool
check_leader(struct ef_ovsdb_client *client, json_t *updates)
{
    json_t *database = find_database(client, updates);
    const char *model = json_string_value(json_object_get(database, "model"));
    if (model && !strcmp(model, "clustered") &&
        !(json_is_true(json_object_get(database, "leader")) && json_is_true(json_object_get(database, "connected")))) {
        lose(client, "it is not the leader of a majority of its cluster");
        return false;
    }
    return true;
}

static void
got_server(void *ctx, json_t *result, const char *error)
{
    struct ef_ovsdb_client *client = ctx;
    /* A server too old to have a database of its own knows no clusters. */
    if (error || check_leader(client, result)) {
        ask_for_schema(client);
    }
}

static void
on_connected(void *ctx)
{
    struct ef_ovsdb_client *client = ctx;
    if (client->config.leader_only) {
        ef_jsonrpc_call(client->rpc, "monitor",
                        json_pack("[s, s, {s:{s:[s, s, s, s]}}]", "_Server", server_monitor, "Database", "columns",
                                  "name", "model", "leader", "connected"),
                        got_server, client);
    } else {
        ask_for_schema(client);
    }
}

static void
on_notified(void *ctx, const char *method, json_t *params)
{
    struct ef_ovsdb_client *client = ctx;
    const char *monitor = json_string_value(json_array_get(params, 0));
    if (!strcmp(method, "update") && monitor && !strcmp(monitor, server_monitor)) {
        check_leader(client, json_array_get(params, 1));
    } else if (client->state != EF_OVSDB_READY) {
        return;
    } else if (!strcmp(method, "update3")) {
        on_update(client, params);
    } else if (!strcmp(method, "locked") || !strcmp(method, "stolen")) {
        on_lock_changed(client, json_array_get(params, 0), !strcmp(method, "locked"));
    }
}

static void
start_connecting(struct ef_ovsdb_client *client)
{
    static const struct ef_jsonrpc_handlers handlers = {on_connected, on_notified, on_closed};
    const struct ef_ovsdb_remote *remote = &client->remotes.list[client->remote];
    ef_jsonrpc_connect(client->base, &remote->address, remote->is_ssl ? client->config.tls : NULL, &handlers,
                       client->config.probe_ms, client, &client->rpc);
}

/* --- Transactions --------------------------------------------------------- */

/* The first operation that failed; the server appends one more for an error of
 * the commit itself. Returns NULL if there is none. */
static const char *
find_error(json_t *results, char *buf, size_t size)
{
    size_t i;
    json_t *result;
    if (!json_is_array(results)) {
        return "malformed answer to a transaction";
    }
    json_array_foreach(results, i, result)
    {
        const char *error = json_string_value(json_object_get(result, "error"));
        const char *details = json_string_value(json_object_get(result, "details"));
        if (error) {
            snprintf(buf, size, "%.100s%s%.300s", error, details ? ": " : "", details ? details : "");
            return buf;
        }
    }
    return NULL;
}

static void
got_results(void *ctx, json_t *result, const char *error)
{
    struct transaction *transaction = ctx, **link = &transaction->client->transactions;
    while (*link != transaction) {
        link = &(*link)->next;
    }
    *link = transaction->next;
    char text[512];
    transaction->done(transaction->ctx, error ? ef_ovsdb_lost : find_error(result, text, sizeof text));
    free(transaction);
}

int
ef_ovsdb_client_transact(struct ef_ovsdb_client *client, json_t *operations, ef_ovsdb_done *done, void *ctx)
{
    if (client->state != EF_OVSDB_READY) {
        json_decref(operations);
        return -ENOTCONN;
    }
    struct transaction *transaction = malloc(sizeof *transaction);
    if (!transaction) {
        abort(); /* Control path. */
    }
    *transaction = (struct transaction){client->transactions, client, done, ctx};
    client->transactions = transaction;
    json_array_insert_new(operations, 0, json_string(client->config.database));
    ef_jsonrpc_call(client->rpc, "transact", operations, got_results, transaction);
    return 0;
}

/* --- Life ----------------------------------------------------------------- */

int
ef_ovsdb_remote_check(const char *remote, struct ef_error *err)
{
    struct ef_ovsdb_remotes remotes;
    return ef_ovsdb_remotes_parse(remote, &remotes, err);
}

static int
check_ssl(const struct ef_ovsdb_remotes *remotes, const struct ef_tls *tls, struct ef_error *err)
{
    for (size_t i = 0; i < remotes->n; i++) {
        if (remotes->list[i].is_ssl && !tls) {
            return ef_error_set(err, -EINVAL, "'%.80s': ssl needs a certificate, its key and an authority",
                                remotes->list[i].text);
        }
    }
    return 0;
}

int
ef_ovsdb_client_create(struct event_base *base, const struct ef_ovsdb_config *config, struct ef_ovsdb_client **out,
                       struct ef_error *err)
{
    struct ef_ovsdb_remotes remotes;
    int rc = ef_ovsdb_remotes_parse(config->remote, &remotes, err);
    rc = rc ? rc : check_ssl(&remotes, config->tls, err);
    if (rc) {
        return rc;
    }
    struct ef_ovsdb_client *client = calloc(1, sizeof *client);
    if (!client || !(client->retry = evtimer_new(base, on_retry, client))) {
        abort(); /* Control path. */
    }
    client->base = base;
    client->config = *config;
    client->config.probe_ms = config->probe_ms ? config->probe_ms : DEFAULT_PROBE_MS;
    client->config.backoff_min_ms = config->backoff_min_ms ? config->backoff_min_ms : DEFAULT_BACKOFF_MIN_MS;
    client->config.backoff_max_ms = config->backoff_max_ms ? config->backoff_max_ms : DEFAULT_BACKOFF_MAX_MS;
    client->backoff_ms = client->config.backoff_min_ms;
    client->remotes = remotes;
    client->error = EF_ERROR_INIT;
    client->tables = json_object();
    forget_rows(client);
    *out = client;
    start_connecting(client);
    return 0;
}

void
ef_ovsdb_client_destroy(struct ef_ovsdb_client *client)
{
    if (client) {
        ef_jsonrpc_destroy(client->rpc);
        end_transactions(client, NULL);
        event_free(client->retry);
        json_decref(client->columns);
        json_decref(client->tables);
        free(client);
    }
}

bool
ef_ovsdb_client_has_lock(const struct ef_ovsdb_client *client)
{
    return client->has_lock;
}

const char *
ef_ovsdb_client_remote(const struct ef_ovsdb_client *client)
{
    return client->remotes.list[client->remote].text;
}

enum ef_ovsdb_state
ef_ovsdb_client_state(const struct ef_ovsdb_client *client)
{
    return client->state;
}

const char *
ef_ovsdb_client_error(const struct ef_ovsdb_client *client)
{
    return client->error.text;
}

json_t *
ef_ovsdb_client_rows(const struct ef_ovsdb_client *client, const char *table)
{
    return client->state == EF_OVSDB_READY ? json_object_get(client->tables, table) : NULL;
}
