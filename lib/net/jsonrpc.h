/* SPDX-License-Identifier: Apache-2.0 */
/* JSON-RPC 1.0 over one stream connection, as OVSDB speaks it (RFC 7047): our
 * calls and their replies, notifications from the peer, "echo" in both
 * directions, and a probe of its own that notices a peer that is silent.
 *
 *     static const struct ef_jsonrpc_handlers handlers = {connected, notified, closed};
 *     ef_jsonrpc_connect(base, &address, NULL, &handlers, 5000, client, &rpc);
 *     ef_jsonrpc_call(rpc, "list_dbs", json_array(), got_dbs, client);
 *
 * A connection that fails or ends is not taken up again here (ovsdb_client.c
 * does that): `closed` comes once, after each outstanding call got its reply
 * function called with an error; then only ef_jsonrpc_destroy() is of use.
 *
 * Thread-safety: none. All callbacks come from the event loop; any of them may
 * destroy the connection. */
#ifndef EF_NET_JSONRPC_H
#define EF_NET_JSONRPC_H

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"

struct event_base;
struct ef_net_address;
struct ef_jsonrpc;
struct ef_tls;

enum { EF_JSONRPC_MAX_BYTES = 16 << 20 }; /* Longest message, and most that waits to be sent. */

struct ef_jsonrpc_handlers {
    void (*connected)(void *ctx);
    /* A notification, or a request other than "echo" (which is refused by us).
     * `params` is an array, borrowed. */
    void (*notified)(void *ctx, const char *method, json_t *params);
    void (*closed)(void *ctx, const char *why);
};

/* The answer to a call: `result` (borrowed), or NULL and `error` in words. */
typedef void ef_jsonrpc_reply(void *ctx, json_t *result, const char *error);

/* Begins to connect; with `tls` (borrowed; NULL: in plain), to a peer whose
 * certificate its authority signed, whatever its name, as Open vSwitch does: a
 * switch's certificate does not name its address. `probe_ms`: after so long a silence an echo is sent, after
 * twice as long the connection is given up; also the limit for connecting.
 * Failure to connect is told to `closed`, never from inside this call. */
void ef_jsonrpc_connect(struct event_base *base, const struct ef_net_address *address, const struct ef_tls *tls,
                        const struct ef_jsonrpc_handlers *handlers, int64_t probe_ms, void *ctx,
                        struct ef_jsonrpc **rpc);

/* Outstanding calls are forgotten, their functions not called. NULL is fine. */
void ef_jsonrpc_destroy(struct ef_jsonrpc *rpc);

/* Calls `method`; takes `params` (an array) over. `reply` is called exactly
 * once unless the connection is destroyed before. */
void ef_jsonrpc_call(struct ef_jsonrpc *rpc, const char *method, json_t *params, ef_jsonrpc_reply *reply, void *ctx);

#endif
