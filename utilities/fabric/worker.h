/* SPDX-License-Identifier: Apache-2.0 */
/* A process that works for a fabric after the command that started it has ended:
 * it holds packets back (fault_relay.c), sends frames (fault_inject.c) or makes
 * traffic (traffic.c). It is a child of the command, starts in the namespace that
 * the thread was in, and holds a pidfile in the fabric's folder; so `down` finds
 * it, whatever was killed.
 *
 *     struct ef_work work = {prepare, run, &context};
 *     rc = ef_worker_start(ef_state_path("demo", NULL, "traffic.pid", path), &work, &err);
 *     ...
 *     ef_worker_stop(path);
 */
#ifndef EF_FABRIC_WORKER_H
#define EF_FABRIC_WORKER_H

#include "base/error.h"

/* What the child does. `prepare` opens what it needs, and its failure is that
 * of ef_worker_start(); the child ends when `run` returns. Both get `ctx`. */
struct ef_work {
    int (*prepare)(void *ctx, struct ef_error *err);
    void (*run)(void *ctx);
    void *ctx;
};

/* Returns 0 when the child is prepared, or a negative errno with `err`. */
int ef_worker_start(const char *pidfile, const struct ef_work *work, struct ef_error *err);

/* Ends the process that holds `pidfile`, if there is one, and removes the file. */
void ef_worker_stop(const char *pidfile);

#endif
