/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes from a database server, through a real socket into the OVSDB client:
 * its first call has id 0 (get_schema), its second id 1 (monitor), so that a
 * corpus can go all the way to updates of rows. What it then takes for rows is
 * read as the controller reads it. */
#include <config.h>

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "controller/everflow_row.h"
#include "fuzz/fuzz.h"
#include "net/address.h"
#include "net/ovsdb_client.h"
#include "net/ovsdb_value.h"

enum { MAX_BYTES = 60000 }; /* Fits into a socket's buffer. */

static struct event_base *base;
static struct ef_net_address address;
static char remote[64];
static int listener = -1;
static struct ef_ovsdb_client *client;

static void
remove_socket(void)
{
    ef_net_unlink(&address);
}

static void
begin(void)
{
    base = event_base_new();
    snprintf(remote, sizeof remote, "unix:/tmp/ef-fuzz-jsonrpc.%ld", (long) getpid());
    if (!base || ef_net_address_parse(remote, &address, NULL) || (listener = ef_net_listen(&address, 4, NULL)) < 0) {
        abort();
    }
    atexit(remove_socket);
}

static void
look_at_rows(void *ctx)
{
    const char *uuid;
    json_t *row, *rows = client ? ef_ovsdb_client_rows(client, "Everflow") : NULL;
    json_object_foreach(rows, uuid, row)
    {
        json_t *shown = everflow_row_show(row), *map = everflow_row_show_map(row, "statistics");
        json_t *set = ef_ovsdb_set_elements(json_object_get(row, "targets"));
        ef_ovsdb_uuid(json_array_get(set, 0));
        everflow_row_is_ours(row);
        everflow_row_matches(row, row);
        json_decref(shown);
        json_decref(map);
        json_decref(set);
    }
}

static int
accept_one(void)
{
    int fd;
    while ((fd = accept(listener, NULL, NULL)) < 0) {
        event_base_loop(base, EVLOOP_ONCE);
    }
    return fd;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const root[] = {"everflow", NULL};
    static const char *const everflow[] = {"targets", "statistics", "external_ids", NULL};
    static const struct ef_ovsdb_table tables[] = {{"Open_vSwitch", root, NULL}, {"Everflow", everflow, NULL}, {0}};
    const struct ef_ovsdb_config config = {.remote = remote,
                                           .database = "Open_vSwitch",
                                           .tables = tables,
                                           .changed = look_at_rows,
                                           .backoff_min_ms = 10000};
    if (size > MAX_BYTES) {
        return 0;
    }
    if (!base) {
        begin();
    }
    client = NULL;
    if (ef_ovsdb_client_create(base, &config, &client, NULL)) {
        abort();
    }
    int fd = accept_one();
    if (size && write(fd, data, size) != (ssize_t) size) {
        abort();
    }
    shutdown(fd, SHUT_WR);
    enum ef_ovsdb_state state = EF_OVSDB_CONNECTING;
    while (state != EF_OVSDB_UNREACHABLE && state != EF_OVSDB_UNSUITABLE) {
        event_base_loop(base, EVLOOP_ONCE);
        state = ef_ovsdb_client_state(client);
    }
    ef_ovsdb_client_destroy(client);
    close(fd);
    return 0;
}
