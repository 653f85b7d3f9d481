/* SPDX-License-Identifier: Apache-2.0 */
/* The process that some faults need while they last: it holds packets back
 * (fault_relay.c) or sends frames (fault_inject.c). It is a child of the command
 * that made the fault and outlives it, works in the namespace that the thread
 * was in, and holds the pidfile faults/ID.pid; so `down` finds it twice, by
 * its namespace and by its pidfile, whatever was killed. */
#ifndef EF_FABRIC_FAULT_PROCESS_H
#define EF_FABRIC_FAULT_PROCESS_H

#include "utilities/fabric/fault.h"

/* What the child does. `prepare` opens what it needs, and its failure is that
 * of ef_fault_process_start(); `run` does not return. Both get `ctx`. */
struct ef_fault_work {
    int (*prepare)(void *ctx, struct ef_error *err);
    void (*run)(void *ctx);
    void *ctx;
};

/* Returns 0 when the child is prepared, or a negative errno with `err`. */
int ef_fault_process_start(const struct ef_topology *t, const struct ef_fault *fault, const struct ef_fault_work *work,
                           struct ef_error *err);

/* Ends it; nothing happens if it is gone. */
void ef_fault_process_stop(const struct ef_topology *t, const struct ef_fault *fault);

#endif
