/* SPDX-License-Identifier: Apache-2.0 */
/* The control socket of a daemon: a Unix stream socket that takes one line,
 * "COMMAND [ARGUMENT...]", answers with text and closes. Every daemon has
 * help, log-level and version; it adds counters, status, explain ...
 *
 *     ef_control_add(control, "counters", "", "all counters, one per line", show_counters, analyzer);
 *
 *     $ efctl daemon /run/everflow/ef-analyzer.ctl counters
 *
 * Runs on one libevent base; handlers are called on its thread. */
#ifndef EF_BASE_CONTROL_SOCKET_H
#define EF_BASE_CONTROL_SOCKET_H

#include "base/error.h"

struct event_base;
struct evbuffer;
struct ef_control;

/* Writes the answer into `reply`; argv[0] is the command. Returns 0, or a
 * negative errno with `err`, which is sent as "error: ..." instead. */
typedef int ef_control_handler(void *ctx, int argc, char *const argv[], struct evbuffer *reply, struct ef_error *err);

/* Listens on `path` (mode 0600; a stale socket is replaced, a live one is
 * -EADDRINUSE). Returns 0 or a negative errno with `err`; the caller frees
 * `*control` with ef_control_destroy(). */
int ef_control_create(struct event_base *base, const char *path, struct ef_control **control, struct ef_error *err);

/* Closes and unlinks the socket. NULL is fine. */
void ef_control_destroy(struct ef_control *control);

/* Adds a command; `usage` (its arguments) and `help` are shown by "help". The
 * strings are borrowed. */
void ef_control_add(struct ef_control *control, const char *name, const char *usage, const char *help,
                    ef_control_handler *handler, void *ctx);

#endif
