/* SPDX-License-Identifier: Apache-2.0 */
/* The OVSDB client: connection, schema, monitor, transactions; see
 * ovsdb_client.h. */
#include <config.h>

#include "net/ovsdb_client.h"

#include <errno.h>
#include <event2/event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/address.h"
#include "net/jsonrpc.h"

enum { DEFAULT_PROBE_MS = 5000, DEFAULT_BACKOFF_MIN_MS = 100, DEFAULT_BACKOFF_MAX_MS = 1500, MAX_ROWS = 65536 };

struct ef_ovsdb_client {
    struct event_base *base;
    struct ef_ovsdb_config config;
    struct ef_net_address address;
    struct ef_jsonrpc *rpc; /* NULL while waiting. */
    struct event *retry;
    int64_t backoff_ms;
    enum ef_ovsdb_state state;
    struct ef_error error;
    json_t *tables;                   /* {table: {uuid: row}} */
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
        json_object_clear(client->tables);
    }
    client->config.changed(client->config.ctx);
}

/* The wait before the next attempt: a quarter more or less than the back-off,
 * which then doubles. */
static int64_t
next_wait_ms(struct ef_ovsdb_client *client)
{
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
    end_transactions(client, "the connection was lost");
}

static void
lose(struct ef_ovsdb_client *client, const char *why)
{
    ef_error_set(&client->error, -ENOTCONN, "%.200s: %.250s", client->config.remote, why);
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

/* Applies {uuid: {"old":..., "new":...}} to a table's rows. */
static int
update_table(json_t *rows, json_t *updates)
{
    const char *uuid;
    json_t *update;
    if (!rows || !json_is_object(updates)) {
        return -EPROTO;
    }
    json_object_foreach(updates, uuid, update)
    {
        json_t *row = json_object_get(update, "new");
        if (!json_is_object(update) || (row && !json_is_object(row))) {
            return -EPROTO;
        }
        if (row) {
            if (json_object_size(rows) >= MAX_ROWS || json_object_set(rows, uuid, row)) {
                return -EPROTO;
            }
        } else {
            json_object_del(rows, uuid);
        }
    }
    return 0;
}

static int
update_tables(struct ef_ovsdb_client *client, json_t *updates)
{
    const char *name;
    json_t *table_updates;
    if (!json_is_object(updates)) {
        return -EPROTO;
    }
    json_object_foreach(updates, name, table_updates)
    {
        if (update_table(json_object_get(client->tables, name), table_updates)) {
            return -EPROTO;
        }
    }
    return 0;
}

static void
on_notified(void *ctx, const char *method, json_t *params)
{
    struct ef_ovsdb_client *client = ctx;
    if (strcmp(method, "update") || client->state != EF_OVSDB_READY) {
        return;
    }
    if (update_tables(client, json_array_get(params, 1))) {
        lose(client, "malformed update of rows");
    } else {
        client->config.changed(client->config.ctx);
    }
}

/* --- The steps after connecting: schema, then monitor --------------------- */

static void
got_rows(void *ctx, json_t *result, const char *error)
{
    struct ef_ovsdb_client *client = ctx;
    if (error) {
        lose(client, error);
        return;
    }
    json_object_clear(client->tables);
    for (const struct ef_ovsdb_table *t = client->config.tables; t->name; t++) {
        json_object_set_new(client->tables, t->name, json_object());
    }
    if (update_tables(client, result)) {
        lose(client, "malformed rows");
        return;
    }
    client->backoff_ms = client->config.backoff_min_ms;
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
        json_object_set_new(requests, t->name, json_pack("{s:o}", "columns", columns));
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

static void
got_schema(void *ctx, json_t *result, const char *error)
{
    struct ef_ovsdb_client *client = ctx;
    if (error) {
        ef_error_set(&client->error, -ENOENT, "%.200s: database %s: %.200s", client->config.remote,
                     client->config.database, error);
    }
    if (error || check_schema(client, result)) {
        client->backoff_ms = client->config.backoff_max_ms;
        give_up(client, EF_OVSDB_UNSUITABLE);
        return;
    }
    ef_jsonrpc_call(client->rpc, "monitor",
                    json_pack("[s, s, o]", client->config.database, "everflow", monitor_requests(client)), got_rows,
                    client);
}

static void
on_connected(void *ctx)
{
    struct ef_ovsdb_client *client = ctx;
    ef_jsonrpc_call(client->rpc, "get_schema", json_pack("[s]", client->config.database), got_schema, client);
}

static void
start_connecting(struct ef_ovsdb_client *client)
{
    static const struct ef_jsonrpc_handlers handlers = {on_connected, on_notified, on_closed};
    ef_jsonrpc_connect(client->base, &client->address, &handlers, client->config.probe_ms, client, &client->rpc);
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
    transaction->done(transaction->ctx, error ? error : find_error(result, text, sizeof text));
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

static int
parse_remote(const char *remote, struct ef_net_address *address, struct ef_error *err)
{
    if (!strncmp(remote, "ssl:", 4)) {
        return ef_error_set(err, -EPROTONOSUPPORT, "'%.80s': ssl is not there yet; use unix:/path or tcp:ADDRESS:PORT",
                            remote);
    }
    bool tcp = !strncmp(remote, "tcp:", 4);
    if (!tcp && strncmp(remote, "unix:", 5)) {
        return ef_error_set(err, -EINVAL, "'%.80s' is no OVSDB remote; write unix:/path or tcp:ADDRESS:PORT", remote);
    }
    return ef_net_address_parse(tcp ? remote + 4 : remote, address, err);
}

int
ef_ovsdb_remote_check(const char *remote, struct ef_error *err)
{
    struct ef_net_address address;
    return parse_remote(remote, &address, err);
}

int
ef_ovsdb_client_create(struct event_base *base, const struct ef_ovsdb_config *config, struct ef_ovsdb_client **out,
                       struct ef_error *err)
{
    struct ef_net_address address;
    int rc = parse_remote(config->remote, &address, err);
    if (rc) {
        return rc;
    }
    struct ef_ovsdb_client *client = calloc(1, sizeof *client);
    if (!client || !(client->retry = evtimer_new(base, on_retry, client))) {
        abort(); /* Control path. */
    }
    client->base = base;
    client->config = *config;
    client->config.remote = strdup(config->remote);
    client->config.probe_ms = config->probe_ms ? config->probe_ms : DEFAULT_PROBE_MS;
    client->config.backoff_min_ms = config->backoff_min_ms ? config->backoff_min_ms : DEFAULT_BACKOFF_MIN_MS;
    client->config.backoff_max_ms = config->backoff_max_ms ? config->backoff_max_ms : DEFAULT_BACKOFF_MAX_MS;
    client->backoff_ms = client->config.backoff_min_ms;
    client->address = address;
    client->error = EF_ERROR_INIT;
    client->tables = json_object();
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
        json_decref(client->tables);
        free((char *) client->config.remote);
        free(client);
    }
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
